"""VK_KHR_pipeline_binary: what a driver made of one pipeline, as bytes, and pipelines of such bytes.

The PyPI package ``vulkan`` is older than the extension, so its structs and functions are declared here (Vulkan 1.4
section 10.10), with ctypes, which needs no parser.  Handles and pointers cross to cffi as addresses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ..ir.errors import RuntimeFailure
from .errors import check
from .headers import address_of

MAX_KEY_BYTES: Final = 32
"""VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR."""
MAX_BINARIES: Final = 64
"""Of one pipeline; a compute pipeline has one or two."""
MAX_DATA_BYTES: Final = 32 << 20
"""Of one binary."""

_CAPTURE_DATA_BIT = 0x80000000
"""VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR."""


@dataclass(frozen=True, slots=True)
class PipelineBinary:
    """The code of a pipeline, or of a part of it."""

    key: bytes
    """The driver's name for it, at most `MAX_KEY_BYTES`."""
    data: bytes


# Structs


class _CreateFlags(ctypes.Structure):
    _fields_: ClassVar = [("s_type", c_int32), ("next", c_void_p), ("flags", c_uint64)]


class _Key(ctypes.Structure):
    _fields_: ClassVar = [
        ("s_type", c_int32),
        ("next", c_void_p),
        ("size", c_uint32),
        ("key", c_uint8 * MAX_KEY_BYTES),
    ]


class _Data(ctypes.Structure):
    _fields_: ClassVar = [("size", c_size_t), ("data", c_void_p)]


class _KeysAndData(ctypes.Structure):
    _fields_: ClassVar = [("count", c_uint32), ("keys", POINTER(_Key)), ("data", POINTER(_Data))]


class _CreateInfo(ctypes.Structure):
    _fields_: ClassVar = [
        ("s_type", c_int32),
        ("next", c_void_p),
        ("keys_and_data", POINTER(_KeysAndData)),
        ("pipeline", c_uint64),
        ("pipeline_create_info", c_void_p),
    ]


class _Handles(ctypes.Structure):
    """VkPipelineBinaryHandlesInfoKHR, and VkPipelineBinaryInfoKHR, which has the same members."""

    _fields_: ClassVar = [
        ("s_type", c_int32),
        ("next", c_void_p),
        ("count", c_uint32),
        ("binaries", POINTER(c_uint64)),
    ]


class _OfHandle(ctypes.Structure):
    """VkPipelineBinaryDataInfoKHR and VkReleaseCapturedPipelineDataInfoKHR."""

    _fields_: ClassVar = [("s_type", c_int32), ("next", c_void_p), ("handle", c_uint64)]


_TYPES: Final[dict[str, int]] = {
    "create_flags_2": 1000470005,
    "create_info": 1000483001,
    "binary_info": 1000483002,
    "key": 1000483003,
    "release": 1000483005,
    "data_info": 1000483006,
    "handles": 1000483009,
}
"""VkStructureType."""

_CREATE = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(_CreateInfo), c_void_p, POINTER(_Handles))
_DESTROY = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_void_p)
_KEY = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(_Key))
_DATA = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(_OfHandle), POINTER(_Key), POINTER(c_size_t), c_void_p)
_RELEASE = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(_OfHandle), c_void_p)


def capturing_struct() -> ctypes.Structure:
    """Returns what is chained to VkComputePipelineCreateInfo to have the pipeline's code kept for `capture`."""
    return _CreateFlags(_TYPES["create_flags_2"], None, _CAPTURE_DATA_BIT)


# Functions


class PipelineBinaryFunctions:
    """The extension's functions on one VkDevice.

    Args:
        device: the VkDevice as an address.
        resolve: returns the address of a function, 0 where there is none.
        name: of the device, for messages.

    Raises:
        RuntimeFailure: the driver lacks a function.
    """

    def __init__(self, device: int, resolve: Callable[[str], int], name: str) -> None:
        self._device, self._name = device, name

        def function(text: str) -> int:
            address = resolve(text)
            if not address:
                raise RuntimeFailure(f"device '{name}' does not have the function {text}")
            return address

        self._create = _CREATE(function("vkCreatePipelineBinariesKHR"))
        self._destroy = _DESTROY(function("vkDestroyPipelineBinaryKHR"))
        self._key = _KEY(function("vkGetPipelineKeyKHR"))
        self._data = _DATA(function("vkGetPipelineBinaryDataKHR"))
        self._release = _RELEASE(function("vkReleaseCapturedPipelineDataKHR"))

    def global_key(self) -> bytes:
        """Returns the key that code from another VkDevice must have been made under to be used here.

        Raises:
            RuntimeFailure: the driver refuses.
        """
        key = _Key(_TYPES["key"])
        self._check(self._key(self._device, None, byref(key)), "vkGetPipelineKeyKHR")
        return _key_bytes(key)

    def capture(self, pipeline: Any) -> tuple[PipelineBinary, ...]:
        """Returns the code of a VkPipeline that was made with `capturing_struct`, and lets the driver forget it.

        Raises:
            RuntimeFailure: the driver refuses, or gives more than is kept.
        """
        raw = address_of(pipeline)
        try:
            return self._captured(raw)
        finally:
            self._release(self._device, byref(_OfHandle(_TYPES["release"], None, raw)), None)

    def _captured(self, raw: int) -> tuple[PipelineBinary, ...]:
        info = _CreateInfo(_TYPES["create_info"], None, None, raw, None)
        handles = _Handles(_TYPES["handles"], None, 0, None)
        self._check(
            self._create(self._device, byref(info), None, byref(handles)), "vkCreatePipelineBinariesKHR"
        )
        with self._made(info, handles.count) as made:
            return tuple(self._read(made.binaries[position]) for position in range(made.count))

    @contextmanager
    def opened(self, binaries: Sequence[PipelineBinary]) -> Generator[ctypes.Structure]:
        """Gives what is chained to VkComputePipelineCreateInfo to have a pipeline of code from elsewhere.

        Raises:
            RuntimeFailure: the driver refuses the code.
        """
        keys = (_Key * len(binaries))(*(_key_of(binary.key) for binary in binaries))
        buffers = [ctypes.create_string_buffer(binary.data, len(binary.data)) for binary in binaries]
        data = (_Data * len(binaries))(*(_Data(len(b), ctypes.addressof(b)) for b in buffers))
        source = _KeysAndData(len(binaries), keys, data)
        info = _CreateInfo(_TYPES["create_info"], None, ctypes.pointer(source), 0, None)
        with self._made(info, len(binaries)) as made:
            yield _Handles(_TYPES["binary_info"], None, made.count, made.binaries)

    @contextmanager
    def _made(self, info: _CreateInfo, count: int) -> Generator[_Handles]:
        """Makes VkPipelineBinaryKHR handles, and destroys them."""
        if count > MAX_BINARIES:
            raise RuntimeFailure(f"device '{self._name}' makes {count} binaries of one pipeline")
        handles = (c_uint64 * count)()
        found = _Handles(_TYPES["handles"], None, count, handles)
        try:
            result = self._create(self._device, byref(info), None, byref(found))
            # VK_INCOMPLETE and VK_PIPELINE_BINARY_MISSING_KHR are no errors, and give no code either.
            if result > 0 or (result == 0 and not all(handles)):
                raise RuntimeFailure(f"device '{self._name}' makes no pipeline binaries ({result})")
            self._check(result, "vkCreatePipelineBinariesKHR")
            yield found
        finally:
            for handle in handles:
                if handle:
                    self._destroy(self._device, handle, None)

    def _read(self, handle: int) -> PipelineBinary:
        info, key, size = _OfHandle(_TYPES["data_info"], None, handle), _Key(_TYPES["key"]), c_size_t(0)
        name = "vkGetPipelineBinaryDataKHR"
        self._check(self._data(self._device, byref(info), byref(key), byref(size), None), name)
        if size.value > MAX_DATA_BYTES:
            raise RuntimeFailure(f"device '{self._name}' gives {size.value} bytes of code for one pipeline")
        buffer = (c_char * size.value)()
        self._check(self._data(self._device, byref(info), byref(key), byref(size), buffer), name)
        return PipelineBinary(_key_bytes(key), bytes(buffer[: size.value]))

    def _check(self, result: int, function: str) -> None:
        if result < 0:
            check(result, function, self._name)


def _key_of(key: bytes) -> _Key:
    made = _Key(_TYPES["key"], None, len(key))
    ctypes.memmove(made.key, key, min(len(key), MAX_KEY_BYTES))
    return made


def _key_bytes(key: _Key) -> bytes:
    return bytes(key.key[: min(key.size, MAX_KEY_BYTES)])


def functions_of(device: Any, resolve: Callable[[bytes], Any], name: str) -> PipelineBinaryFunctions:
    """Returns the functions of a VkDevice.

    Args:
        device: VkDevice of cffi.
        resolve: vkGetDeviceProcAddr for the device.
        name: for messages.
    """
    return PipelineBinaryFunctions(address_of(device), lambda text: address_of(resolve(text.encode())), name)
