"""Array: a typed, C-ordered block of device memory; SYCL's buffer.

Reading and writing it on the host waits for the launches that use it.  How one is made: `array_creation`.
"""

from __future__ import annotations

import math
import operator
import sys
import weakref
from collections.abc import Sequence
from types import GenericAlias, TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..ir.errors import InvalidError
from .dtypes import numpy_dtype
from .host_data import element, host_array
from .transfer import copy_buffer, download, fill, upload

if TYPE_CHECKING:
    from .device import Device
    from .memory import Buffer


class Array:
    """An array on a device.  Made by `empty`, `zeros`, `asarray` and their kind, not by calling this class.

    ``Array[dtype, ndim]`` is the annotation of a kernel's parameter.
    """

    __lapilli_annotation__ = "array"
    # Private, and read through properties: a shape set by hand would read beyond the memory.
    __slots__ = ("__weakref__", "_buffer", "_device", "_dtype", "_shape", "_signature", "_spelling")

    def __init__(self, device: Device, shape: tuple[int, ...], spelling: str) -> None:
        self._device = device
        self._shape = shape
        self._spelling = spelling
        self._dtype: np.dtype[Any] = numpy_dtype(spelling)
        self._signature = signature(spelling, len(shape))
        logical = device.logical
        logical.require_usable()
        with logical.lock:
            self._buffer: Buffer | None = logical.memory.allocate(self.nbytes)
        self._buffer.owner = weakref.ref(self)

    def __class_getitem__(cls, parameters: object) -> GenericAlias:
        return GenericAlias(cls, cast("Any", parameters))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, slowest first."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 to 3."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type on the host."""
        return self._dtype

    @property
    def spelling(self) -> str:
        """Element type as lapilli spells it: ``f32``."""
        return self._spelling

    @property
    def signature(self) -> str:
        """What a launch compares with the parameter: ``Array[f32, 2]``."""
        return self._signature

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self._dtype.itemsize

    @property
    def host_shape(self) -> tuple[int, ...]:
        """Shape of the NumPy array that `numpy` returns: vectors add a dimension, their components."""
        return (*self.shape, *self.dtype.shape)

    @property
    def device(self) -> Device:
        """The device it lies on."""
        return self._device

    @property
    def is_view(self) -> bool:
        """Whether the memory belongs to somebody else."""
        return False

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._buffer is None

    @property
    def buffer(self) -> Buffer:
        """The memory.

        Raises:
            InvalidError: the array was released.
        """
        if self._buffer is None:
            raise InvalidError(f"this {self.signature} of shape {self.shape} was released; make a new one")
        return self._buffer

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns a copy in host memory, after the launches that write the array."""
        out = np.empty(self.shape, self.dtype)
        self._download(out)
        return out

    def _download(self, out: np.ndarray[Any, Any]) -> None:
        buffer = self.buffer
        download(self._device.default_queue, self._device.logical, buffer, out)

    def copy_to(self, out: np.ndarray[Any, Any] | Array) -> None:
        """Copies all elements into `out`, of the same shape and dtype.

        Raises:
            InvalidError: another shape or dtype, a read-only array, or not an array at all.
        """
        if isinstance(out, Array):
            out.copy_from(self)
            return
        if not isinstance(out, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise InvalidError(f"copy_to needs a NumPy array or an lp.Array; found {type(out).__name__}")
        self.require_same(out.shape, out.dtype, "copy_to: the target")
        if not out.flags.writeable:
            raise InvalidError("copy_to: the target is read-only")
        self._download(out)

    def copy_from(self, source: object) -> Self:
        """Copies all elements from an array of the same shape and dtype; returns this array.

        Args:
            source: a NumPy array of any strides, a nested sequence, or an Array.

        Raises:
            InvalidError: another shape or dtype, or a value in a sequence that does not fit the dtype.
        """
        queue, logical, buffer = self._device.default_queue, self._device.logical, self.buffer
        if isinstance(source, Array):
            self.require_same(source.host_shape, source.dtype.base, "copy_from: the source")
            if source is self:
                return self
            if source.device is self._device:
                copy_buffer(queue, logical, source.buffer, buffer, self.nbytes)
                return self
            source = source.numpy()
        host = cast(
            "np.ndarray[Any, Any]",
            source if isinstance(source, np.ndarray) else host_array(source, self._spelling, "copy_from"),
        )
        self.require_same(host.shape, host.dtype, "copy_from: the source")
        upload(queue, logical, buffer, host.astype(self._dtype.base, copy=False))
        return self

    def require_same(self, shape: Sequence[int], dtype: np.dtype[Any], what: str) -> None:
        """Raises InvalidError where `what` has not this array's host shape and dtype."""
        if tuple(shape) != self.host_shape:
            raise InvalidError(f"{what} has shape {tuple(shape)}; expected {self.host_shape}")
        if dtype.newbyteorder("=") != self.dtype.base:
            raise InvalidError(
                f"{what} has dtype {dtype}; expected {self.dtype.base}; convert it with astype first"
            )

    def fill(self, value: object) -> Self:
        """Sets every element to `value`; returns this array.

        Raises:
            InvalidError: `value` is no number, or does not fit the dtype.
        """
        pattern = element(value, self.spelling)
        fill(self._device.default_queue, self._device.logical, self.buffer, pattern, self.size)
        return self

    def release(self) -> None:
        """Gives the memory back once the launches that use it have ended; idempotent.

        Later use raises InvalidError, as a kernel argument KernelArgumentError.
        """
        buffer, self._buffer = self._buffer, None
        # Submissions in flight hold the buffer: dropping the reference is all that is needed.
        del buffer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an lp.Array lies in device memory: reading it always copies")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __getitem__(self, index: object) -> object:
        raise InvalidError("an lp.Array cannot be indexed on the host; index a.numpy() instead")

    def __setitem__(self, index: object, value: object) -> None:
        raise InvalidError("an lp.Array cannot be indexed on the host; use copy_from or fill instead")

    def __iter__(self) -> object:
        raise InvalidError("an lp.Array cannot be iterated on the host; iterate over a.numpy() instead")

    def __repr__(self) -> str:
        state = ", released" if self._buffer is None else ""
        return f"<lapilli.{self.signature} shape={self.shape} on {self._device.selector}{state}>"


def signature(spelling: str, ndim: int) -> str:
    """Returns how an array type is written: ``Array[f32]``, ``Array[f32, 2]``."""
    text = f"Array[{spelling}]" if ndim == 1 else f"Array[{spelling}, {ndim}]"
    return sys.intern(text)  # launches compare these: equal ones are then one object


def normalise_shape(shape: object) -> tuple[int, ...]:
    """Returns a shape as a tuple of ints.

    Raises:
        InvalidError: not one to three integers of 0 or more.
    """
    items = cast("Sequence[object]", shape) if isinstance(shape, tuple | list) else (shape,)
    try:
        extents = tuple(operator.index(cast("int", item)) for item in items)
    except TypeError as error:
        raise InvalidError(f"a shape is an integer or a tuple of integers; found {shape!r}") from error
    if not 1 <= len(extents) <= 3:
        raise InvalidError(f"arrays have 1 to 3 dimensions; found shape {extents}")
    if any(extent < 0 for extent in extents):
        raise InvalidError(f"an extent is 0 or more; found shape {extents}")
    return extents
