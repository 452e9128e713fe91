"""Memory of a launch: bytes, which of them were written, and who used them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ..errors import MemoryAllocationError
from .layout import granule_bytes, size_bytes
from .races import AccessLog
from .scalars import Lanes, from_storage, storage_dtype, to_storage

_ALIGNMENT = 8
"""The largest scalar: memory is viewed as arrays of every scalar type, so its size is a multiple of this."""
_LARGEST = 1 << 34
"""Bytes that all copies of an array may take."""


@dataclass(frozen=True, slots=True)
class ArrayName:
    """What messages call an array."""

    name: str
    kind: str = "array"
    """``array``, ``shared array``, ``private array`` or ``variable``."""

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'" if self.name else f"the {self.kind}"


class Memory:
    """Bytes that kernels load from and store to: an array, or one copy of it for each work-group or work-item.

    Args:
        name: for messages.
        element: type of the elements; how finely accesses are told apart follows from it.
        shape: of the array.
        copies: how many there are.
        is_defined: whether reading it before a write is fine, as of arrays of the host.
        is_logged: whether several work-items can use one location.

    Raises:
        MemoryAllocationError: it would take more than 16 GiB.
    """

    def __init__(
        self,
        name: ArrayName,
        element: Attribute,
        shape: tuple[int, ...],
        *,
        copies: int = 1,
        is_defined: bool = False,
        is_logged: bool = True,
    ) -> None:
        self.name = name
        self.shape = shape
        self.element_bytes = size_bytes(element)
        self.copy_bytes = -(-max(self.element_bytes * prod(shape), 1) // _ALIGNMENT) * _ALIGNMENT
        """From one copy to the next."""
        size = self.copy_bytes * copies
        if size > _LARGEST:
            raise MemoryAllocationError(
                f"{name} of shape {shape} takes {size} bytes in {copies} copies; the interpreter has {_LARGEST}"
            )
        self.bytes = np.zeros(size, np.uint8)
        self.is_changed = False
        """Whether anything was stored."""
        self.granule = granule_bytes(element)
        self.written = None if is_defined else np.zeros(size, np.bool_)
        """By the first byte of each scalar; None: all is defined."""
        self.log = AccessLog(size // self.granule) if is_logged else None
        self._views: dict[np.dtype[Any], Lanes] = {}

    def _view(self, dtype: np.dtype[Any]) -> Lanes:
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.bytes.view(dtype)
        return found

    def load(self, type_: Attribute, offsets: Lanes) -> Lanes:
        """Returns the scalars at offsets in bytes."""
        dtype = storage_dtype(type_)
        return from_storage(self._view(dtype)[offsets // dtype.itemsize], type_)

    def store(self, type_: Attribute, offsets: Lanes, values: Lanes) -> None:
        """Stores scalars at offsets in bytes."""
        dtype = storage_dtype(type_)
        self._view(dtype)[offsets // dtype.itemsize] = to_storage(values, type_)
        self.is_changed = True
        if self.written is not None:
            self.written[offsets] = True

    def forget(self, copy: int) -> None:
        """Makes one copy undefined again."""
        if self.written is not None:
            self.written[copy * self.copy_bytes : (copy + 1) * self.copy_bytes] = False

    def spell(self, offset: int) -> str:
        """Returns what messages call the element at an offset in bytes."""
        position = offset % self.copy_bytes // self.element_bytes
        indices = [int(i) for i in np.unravel_index(position, self.shape)] if self.shape else []
        spelled = ", ".join(map(str, indices))
        return f"element [{spelled}] of {self.name}" if indices else str(self.name)
