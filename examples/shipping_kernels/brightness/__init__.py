"""Brightens arrays on a Vulkan device, with kernels that were compiled when the package was built."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import lapilli as lp

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILE = files(__name__) / "kernels.lpk"


@cache
def _bundle(device: lp.Device) -> lp.KernelBundle:
    return lp.load_kernel_bundle(device.default_context, _FILE, [device])


def brighten(values: NDArray[Any], amount: float, device: lp.Device | None = None) -> NDArray[Any]:
    """Returns `values` + `amount`, at most 1.

    Args:
        values: float32, one dimension.
        amount: what is added.
        device: where; None: the default device.
    """
    chosen = device or lp.device()
    array = lp.asarray(values, device=chosen)
    _bundle(chosen).get_kernel("brighten")[array.size](amount, array)
    return array.numpy()
