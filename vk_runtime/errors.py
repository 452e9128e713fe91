"""VkResult as exceptions: the one place where a result code is judged.

RuntimeFailure
└── VulkanError                a Vulkan call failed; .function .result
MemoryAllocationError
└── VulkanMemoryError          VK_ERROR_OUT_OF_*_MEMORY, VK_ERROR_FRAGMENT…; .function .result
DeviceLostError                VK_ERROR_DEVICE_LOST
KernelNotSupportedError
└── ArrayRangeError            an array is larger than a descriptor shows
InvalidError
├── OutOfContextError          a native buffer on another context's device, also KernelArgumentError (`bundle_errors`)
└── ConstraintError            a call that the bundle's state does not have, also TypeError (`bundle_errors`)
"""

from __future__ import annotations

from functools import lru_cache

from ..ir.errors import DeviceLostError, KernelNotSupportedError, MemoryAllocationError, RuntimeFailure
from .constants import (
    VK_ERROR_DEVICE_LOST,
    VK_ERROR_FRAGMENTATION,
    VK_ERROR_FRAGMENTED_POOL,
    VK_ERROR_OUT_OF_DEVICE_MEMORY,
    VK_ERROR_OUT_OF_HOST_MEMORY,
    VK_ERROR_OUT_OF_POOL_MEMORY,
)
from .headers import ffi

_OUT_OF_MEMORY = (
    VK_ERROR_OUT_OF_HOST_MEMORY,
    VK_ERROR_OUT_OF_DEVICE_MEMORY,
    VK_ERROR_OUT_OF_POOL_MEMORY,
    VK_ERROR_FRAGMENTED_POOL,
    VK_ERROR_FRAGMENTATION,
)


class VulkanError(RuntimeFailure):
    """A Vulkan call returned an error."""

    code = "LP4501"

    def __init__(self, function: str, result: int, detail: str = "") -> None:
        super().__init__(f"{function} returned {result_name(result)}{detail}")
        self.function = function
        self.result = result


class VulkanMemoryError(MemoryAllocationError):
    """A Vulkan call found no memory."""

    def __init__(self, function: str, result: int, detail: str = "") -> None:
        super().__init__(f"{function} returned {result_name(result)}{detail}")
        self.function = function
        self.result = result


class ArrayRangeError(KernelNotSupportedError):
    """An array is larger than a descriptor of the device shows; the same kernel may still reach it by its address."""


@lru_cache(maxsize=1)
def _result_names() -> dict[int, str]:
    return dict(ffi.typeof("VkResult").elements)


def result_name(result: int) -> str:
    """Returns the spelling of a VkResult: ``VK_ERROR_DEVICE_LOST (-4)``."""
    name = _result_names().get(result)
    return f"{name} ({result})" if name else f"VkResult {result}"


def check(result: int, function: str, device_name: str = "") -> None:
    """Raises what a VkResult means; success and status codes (not negative) pass.

    Raises:
        MemoryAllocationError: no memory of the host, the device or a pool.
        DeviceLostError: the driver lost the device.
        RuntimeFailure: any other error.
    """
    if result >= 0:
        return
    detail = f" on device '{device_name}'" if device_name else ""
    if result in _OUT_OF_MEMORY:
        raise VulkanMemoryError(function, result, detail)
    if result == VK_ERROR_DEVICE_LOST:
        raise DeviceLostError(
            f"{function} returned {result_name(result)}{detail}: the driver reset or lost the device; "
            "arrays and queues on it cannot be used any more, start a new process"
        )
    raise VulkanError(function, result, detail)
