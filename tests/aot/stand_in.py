"""A stand-in for the functions of VK_KHR_pipeline_binary, for drivers that lack them.

It keeps to the extension's contract as lapilli uses it: handles, two calls for sizes, keys, missing binaries.  The
"code" of a pipeline is made up; the driver beneath ignores VkPipelineBinaryInfoKHR and compiles the SPIR-V as usual.
"""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass, field
from typing import Any

from lapilli.vk_runtime import pipeline_binary as abi
from lapilli.vk_runtime.pipeline_binary import PipelineBinary, PipelineBinaryFunctions

MISSING = 1000483000
"""VK_PIPELINE_BINARY_MISSING_KHR."""
OUT_OF_DEVICE_MEMORY = -2


@dataclass
class StandIn:
    """The driver's side.  Attributes say how it behaves and what it saw."""

    key: bytes = b"driver 1"
    refusal: int = 0
    """What making binaries of code returns where it is not 0."""
    capture_result: int = 0
    opened: list[PipelineBinary] = field(default_factory=list)
    """Code that it was given back."""
    captured: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    living: dict[int, PipelineBinary] = field(default_factory=dict)
    """Binaries by handle: empty where every handle was destroyed."""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._callbacks = {
            "vkCreatePipelineBinariesKHR": abi._CREATE(self._create),
            "vkDestroyPipelineBinaryKHR": abi._DESTROY(self._destroy),
            "vkGetPipelineKeyKHR": abi._KEY(self._get_key),
            "vkGetPipelineBinaryDataKHR": abi._DATA(self._get_data),
            "vkReleaseCapturedPipelineDataKHR": abi._RELEASE(self._release),
        }

    def functions(self, *_: Any) -> PipelineBinaryFunctions:
        """The functions, as `functions_of` gives them."""
        return PipelineBinaryFunctions(1, self.resolve, "stand-in")

    def resolve(self, name: str) -> int:
        callback = self._callbacks.get(name)
        return 0 if callback is None else ctypes.cast(callback, ctypes.c_void_p).value or 0

    def _new(self, binary: PipelineBinary) -> int:
        handle = next(self._numbers)
        self.living[handle] = binary
        return handle

    def _create(self, _device: int, info: Any, _allocator: int, handles: Any) -> int:
        info, handles = info.contents, handles.contents
        if info.pipeline:
            if self.capture_result:
                return self.capture_result
            parts = [PipelineBinary(bytes([n]) * 32, b"code" * (100 + n)) for n in range(2)]
            if not handles.binaries:
                handles.count = len(parts)
                return 0
            self.captured.append(info.pipeline)
        else:
            source = info.keys_and_data.contents
            assert handles.count == source.count
            if self.refusal:
                for position in range(handles.count):
                    handles.binaries[position] = 0
                return self.refusal
            parts = [
                PipelineBinary(
                    bytes(source.keys[n].key[: source.keys[n].size]),
                    ctypes.string_at(source.data[n].data, source.data[n].size),
                )
                for n in range(source.count)
            ]
            self.opened += parts
        for position, part in enumerate(parts):
            handles.binaries[position] = self._new(part)
        return 0

    def _destroy(self, _device: int, handle: int, _allocator: int) -> None:
        del self.living[handle]

    def _get_key(self, _device: int, create_info: int, key: Any) -> int:
        assert not create_info
        key.contents.size = len(self.key)
        ctypes.memmove(key.contents.key, self.key, len(self.key))
        return 0

    def _get_data(self, _device: int, info: Any, key: Any, size: Any, data: int) -> int:
        binary = self.living[info.contents.handle]
        key.contents.size = len(binary.key)
        ctypes.memmove(key.contents.key, binary.key, len(binary.key))
        if data:
            assert size[0] >= len(binary.data)
            ctypes.memmove(data, binary.data, len(binary.data))
        size[0] = len(binary.data)
        return 0

    def _release(self, _device: int, info: Any, _allocator: int) -> int:
        self.released.append(info.contents.handle)
        return 0
