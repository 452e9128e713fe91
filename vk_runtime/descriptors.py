"""Descriptor sets: which buffers a dispatch sees, in the binding model DESCRIPTOR.

Sets are cached by (layout, buffers) and reused: a launch with the arrays of an earlier one writes no
descriptor.  A set that fell out of the cache goes back to its layout's free sets once no submission holds it.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir.errors import KernelNotSupportedError
from ..ir.kernel_info import UNIFORM_BLOCK_BYTES, BufferParameter, KernelInfo
from .constants import (
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
    VK_SHADER_STAGE_COMPUTE_BIT,
)
from .element_counts import MOST_BYTES, check_count
from .errors import ArrayRangeError
from .handle import Handle
from .headers import NULL, ffi, make, make_array
from .image_descriptors import IMAGE_TYPES, Shown, image_info, shown_by_binding
from .made import Made

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .tracked import Tracked

SETS_PER_POOL = 64
CACHED_SETS = 512
"""Descriptor sets that are kept for reuse, per layout."""


def _range(buffer: Any, kind: int, block_bytes: int) -> int:
    """Returns the bytes that a descriptor shows."""
    if kind in (VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC):
        return block_bytes
    # The last vector of 16 bytes of a uniform buffer may be only partly the array's.
    is_uniform = kind == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
    return int(buffer.padded_nbytes if is_uniform else buffer.nbytes)


def _is_own(kernel: KernelInfo | None, binding: int) -> bool:
    """Whether a buffer is a parameter of a kernel written in Python, whose uniform blocks have one size."""
    return kernel is not None and any(
        isinstance(p, BufferParameter) and p.binding == binding and p.ndim > 0 for p in kernel.parameters
    )


def _parameter(kernel: KernelInfo, binding: int) -> BufferParameter | None:
    """Returns the array parameter at a binding."""
    arrays = [p for p in kernel.parameters if isinstance(p, BufferParameter)]
    return next((p for p in arrays if p.binding == binding), None)


def _argument(kernel: KernelInfo | None, binding: int) -> str:
    """Returns what messages call the array at a binding."""
    if kernel is None:
        return f"the array at binding {binding}"
    parameter = _parameter(kernel, binding)
    return f"kernel '{kernel.name}', argument '{parameter.name if parameter else '?'}': the array"


def _buffer_info(buffer: Any, kind: int, block_bytes: int) -> Any:
    shown = _range(buffer, kind, block_bytes)
    return make("VkDescriptorBufferInfo", buffer=buffer.raw, offset=buffer.offset_bytes, range=shown)


class DescriptorSet:
    """A VkDescriptorSet that is written once for a tuple of buffers; recycled when nobody holds it.

    Args:
        free: the sets of its layout that nobody holds, of which `raw` becomes one.
    """

    __slots__ = ("__weakref__", "_free", "raw")

    def __init__(self, free: deque[Any]) -> None:
        self.raw: Any = None
        self._free = free

    def __del__(self) -> None:
        # deque.append is atomic, so this is safe wherever the last reference goes.
        raw = getattr(self, "raw", None)  # Ctrl-C may have come before it was there
        if raw is not None:
            self._free.append(raw)


class DescriptorSetLayout(Handle):
    """A VkDescriptorSetLayout with its pools and cached sets.  Use it with the device's lock held.

    Args:
        device: borrowed.
        bindings: (binding, VkDescriptorType) of each buffer, image and sampler.  An argument block, the one of
            a dynamic type, has a dynamic offset, so that one set serves every launch whose block lies in the same
            memory.
    """

    def __init__(self, device: LogicalDevice, bindings: tuple[tuple[int, int], ...]) -> None:
        self._device = device
        self._bindings = bindings
        self._types = [kind for _, kind in bindings]
        rows = [
            {
                "binding": binding,
                "descriptorType": kind,
                "descriptorCount": 1,
                "stageFlags": VK_SHADER_STAGE_COMPUTE_BIT,
            }
            for (binding, _), kind in zip(bindings, self._types, strict=True)
        ]
        info = make(
            "VkDescriptorSetLayoutCreateInfo",
            bindingCount=len(rows),
            pBindings=make_array("VkDescriptorSetLayoutBinding", rows),
        )
        made, pools = Made(device, "DescriptorSetLayout"), list[Made]()
        self._pools = pools
        self._free: deque[Any] = deque()
        self._cache: OrderedDict[tuple[int, ...], DescriptorSet] = OrderedDict()

        def destroy() -> None:
            for pool in pools:
                pool.destroy()
            made.destroy()

        self._own(device.graveyard, destroy)
        made.create(info)
        self.raw = made.raw

    def set_for(
        self, uses: Sequence[tuple[Tracked, bool]], block_bytes: int = 0, kernel: KernelInfo | None = None
    ) -> DescriptorSet:
        """Returns a set that shows buffers and images, in the order of the bindings.

        Args:
            uses: whole buffers and images, behind an image that is sampled its sampler; and whether they are written,
                which does not matter here; the argument block's is the memory that its dynamic offset points into.
            block_bytes: bytes that the argument block's binding shows.
            kernel: whose arguments they are, for messages.

        Raises:
            ArrayRangeError: a buffer is larger than a descriptor of the device shows.
        """
        key = tuple([buffer.serial for buffer, _ in uses])
        if block_bytes:  # kernels with blocks of different sizes share a layout
            key = (*key, block_bytes)
        found = self._cache.get(key)
        if found is not None:
            return found
        shown = shown_by_binding([memory for memory, _ in uses], self._types)
        self._check_ranges(shown, kernel)
        if len(self._cache) >= CACHED_SETS:
            self._cache.popitem(last=False)
        if not self._free:
            self._device.memory.retried(
                f"descriptors of {SETS_PER_POOL} more launches", self._add_pool, waits=False
            )
        made = DescriptorSet(self._free)
        # An iterator: Ctrl-C cannot come between taking it and noting it, as in `submitter`.
        (made.raw,) = itertools.islice(iter(self._free.popleft, None), 1)
        self._write(made.raw, shown, block_bytes)
        self._cache[key] = made
        return made

    def _check_ranges(self, shown: Sequence[Shown], kernel: KernelInfo | None) -> None:
        limits = self._device.physical.limits
        by_type = {
            VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: (
                limits.max_storage_buffer_range_bytes,
                "maxStorageBufferRange",
            ),
            VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER: (
                limits.max_uniform_buffer_range_bytes,
                "maxUniformBufferRange",
            ),
        }
        for (memory, *_), (binding, kind) in zip(shown, self._bindings, strict=True):
            limit, name = by_type.get(kind, (memory.nbytes, ""))
            if (
                kind == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                and _is_own(kernel, binding)
                and limit > UNIFORM_BLOCK_BYTES
            ):
                limit, name = UNIFORM_BLOCK_BYTES, "of a constant buffer"
            if memory.nbytes > limit:
                # An address reaches all of a storage buffer; what is constant stays a uniform buffer.
                is_uniform = kind == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                raise (KernelNotSupportedError if is_uniform else ArrayRangeError)(
                    f"{_argument(kernel, binding)} has {memory.nbytes:,} bytes; device '{self._device.name}' shows "
                    f"a kernel at most {limit:,} bytes of one array ({name}); split it into several "
                    "arrays and launch the kernel for each"
                )
            if memory.nbytes > MOST_BYTES and kernel is not None:
                check_count(kernel, _parameter(kernel, binding), memory.nbytes)

    def _write(self, raw: Any, shown: Sequence[Shown], block_bytes: int) -> None:
        writes = ffi.new("VkWriteDescriptorSet[]", len(shown))
        template = make("VkWriteDescriptorSet", dstSet=raw, descriptorCount=1)
        kept: list[Any] = []
        for write, objects, (binding, kind) in zip(writes, shown, self._bindings, strict=True):
            write.sType, write.dstSet, write.descriptorCount = template.sType, raw, 1
            write.dstBinding, write.descriptorType = binding, kind
            if kind in IMAGE_TYPES:
                write.pImageInfo = info = image_info(objects, kind)
            else:
                write.pBufferInfo = info = _buffer_info(objects[0], kind, block_bytes)
            kept.append(info)
        self._device.vk.vkUpdateDescriptorSets(self._device.raw, len(shown), writes, 0, NULL)

    def _add_pool(self) -> None:
        sizes = [
            {"type": kind, "descriptorCount": self._types.count(kind) * SETS_PER_POOL}
            for kind in sorted(set(self._types))
        ]
        info = make(
            "VkDescriptorPoolCreateInfo",
            maxSets=SETS_PER_POOL,
            poolSizeCount=len(sizes),
            pPoolSizes=make_array("VkDescriptorPoolSize", sizes),
        )
        device, pool = self._device, Made(self._device, "DescriptorPool")
        self._pools.append(pool)
        pool.create(info)
        allocate = make(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=pool.raw,
            descriptorSetCount=SETS_PER_POOL,
            pSetLayouts=ffi.new("VkDescriptorSetLayout[]", [self.raw] * SETS_PER_POOL),
        )
        sets = ffi.new("VkDescriptorSet[]", SETS_PER_POOL)
        result = device.vk.vkAllocateDescriptorSets(device.raw, allocate, sets)
        if result < 0:
            pool.destroy()
        device.check(result, "vkAllocateDescriptorSets")
        self._free.extend(list(sets))
