"""bfloat16 in DLPack capsules, which NumPy neither makes nor reads: its bits travel as uint16 and the type is put in.

The type code is the only thing of a capsule that is changed, and only before the consumer has seen it.  Layouts are
those of dlpack.h: DLManagedTensor begins with a DLTensor, DLManagedTensorVersioned has one behind version, context,
deleter and flags.
"""

from __future__ import annotations

import ctypes
from typing import Any

_UINT, _BFLOAT = 1, 4
"""DLDataTypeCode."""
_TENSORS = {b"dltensor": 0, b"dltensor_versioned": 8 + 3 * 8}
"""Where the DLTensor begins, by the name of the capsule."""
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)


class _Tensor(ctypes.Structure):
    """DLTensor, as far as its type."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def mark_bfloat16(capsule: object) -> object:
    """Makes a capsule of uint16, which nobody has consumed yet, one of bfloat16; returns it."""
    tensor = _tensor_of(capsule)
    assert tensor is not None and (tensor.code, tensor.bits) == (_UINT, 16), "a capsule of NumPy's uint16"
    tensor.code = _BFLOAT
    return capsule


class BitsOfBfloat16:
    """Speaks DLPack for an object, and gives bfloat16 out as uint16.

    Args:
        source: has ``__dlpack__`` and ``__dlpack_device__``.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self.is_bfloat16 = False
        """Whether what was given out last is bfloat16."""

    def __dlpack__(self, **options: Any) -> object:
        capsule = self._source.__dlpack__(**options)
        tensor = _tensor_of(capsule)
        self.is_bfloat16 = tensor is not None and (tensor.code, tensor.bits, tensor.lanes) == (_BFLOAT, 16, 1)
        if tensor is not None and self.is_bfloat16:
            tensor.code = _UINT
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._source.__dlpack_device__()


def _tensor_of(capsule: object) -> _Tensor | None:
    """Returns what is in a capsule; None where it is no capsule of a tensor, or was consumed."""
    if type(capsule).__name__ != "PyCapsule" or _POINTER_BYTES != 8:
        return None
    name: bytes | None = _name_of(capsule)
    start = _TENSORS.get(name or b"")
    if start is None:
        return None
    return _Tensor.from_address(_pointer_of(capsule, name) + start)
