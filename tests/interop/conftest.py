"""The fixtures `renderer`, a program with Vulkan objects of its own, and `theirs`, a context of its VkDevice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lapilli as lp
from lapilli.vk_runtime.runtime import runtime

from .renderer import FEATURES, Renderer


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    """Skips where the system's loader has no device: the ``vulkan`` package needs it."""
    pytest.importorskip("vulkan", exc_type=OSError)
    if not any(device.physical.instance.entry.source == "loader" for device in runtime().devices):
        pytest.skip("the system's Vulkan loader lists no device")
    with Renderer() as made:
        yield made
        lp.vulkan.release_instance(made.instance)


@pytest.fixture
def theirs(renderer: Renderer) -> Iterator[lp.Context]:
    """A context of the renderer's VkDevice."""
    lp.vulkan.make_platform(renderer.instance)
    device = lp.vulkan.make_device(renderer.physical)
    context = lp.vulkan.make_context(
        renderer.device, device=device, queue_family=renderer.family, features=FEATURES
    )
    yield context
    lp.vulkan.release_context(context)
