"""Fixtures of the tests of kernels from source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit

SHADERS = Path(__file__).resolve().parents[1] / "shaders"


@pytest.fixture
def context(device: lp.Device) -> lp.Context:
    """A context of one device, of its own for each test."""
    return lp.Context([device])


@pytest.fixture
def queue(context: lp.Context) -> lp.Queue:
    """A queue of that context."""
    return lp.Queue(context.devices[0], context=context)


@pytest.fixture
def built(context: lp.Context) -> Callable[..., lp.KernelBundle]:
    """Builds source."""

    def build(language: lp.SourceLanguage, source: str | bytes, *props: object) -> lp.KernelBundle:
        made = lp.create_kernel_bundle_from_source(context, language, source)
        return lp.build(made, props=props)

    return build


@pytest.fixture(params=["built", "from a file", "through the dialect"])
def shader(
    request: pytest.FixtureRequest,
    built: Callable[..., lp.KernelBundle],
    context: lp.Context,
    tmp_path: Path,
) -> Callable[..., lp.Kernel]:
    """Returns the kernel of a shader in tests/shaders, of its binary; out of a bundle file; read and written."""

    def kernel(name: str, *props: object) -> lp.Kernel:
        binary = (SHADERS / f"{name}.spv").read_bytes()
        if request.param == "through the dialect":
            binary = emit(deserialise(binary), TargetEnv()).binary
        bundle = built(lp.SourceLanguage.SPIRV, binary, *props)
        found = bundle.ext_oneapi_get_kernel("main")
        if request.param == "built":
            return found
        bundle.save(tmp_path / "shader.lpk")
        return lp.load_kernel_bundle(context, tmp_path / "shader.lpk").get_kernel("main")

    return kernel
