"""Array: a typed, C-ordered block of device memory; SYCL's buffer.

Reading and writing it on the host waits for the launches that use it.  How one is made: `array_creation`; how its
memory is shared with NumPy, DLPack and other processes: `array_sharing`.  Annotations of kernels name the class, so
the module loads none of the runtime.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import repeat
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakSet

import numpy as np

from ..ir.errors import Error, InvalidError, for_user, user_facing
from ..ir.public_names import PublicNames
from . import tracked
from .array_operators import refuse_operators
from .dtypes import array_signature, numpy_dtype
from .host_data import element, host_array, require_unmasked

if TYPE_CHECKING:
    from .buffer import Buffer
    from .device import Device


class Array(
    metaclass=PublicNames,
    internal="buffer has_moved_from replace_buffer require_same share signature spelling",
):
    """An array on a device: memory for kernels, with a shape and an element type.

    Made by ``lp.asarray(numpy_array)``, ``lp.empty(shape, dtype)``, ``lp.zeros``, ``lp.full`` and their kind, not
    by calling this class.  ``a.numpy()`` copies it to the host, ``a.copy_from(x)`` and ``a.fill(v)`` write it; both
    wait for the launches that use it.  It does no arithmetic and has no elements on the host: kernels do.

    ``x: lp.Array[lp.f32]`` and ``lp.Array[lp.f32, 2]`` are annotations of a kernel's parameters, ``lp.In[…]`` of those
    it only reads, ``lp.Out[…]`` of those it only writes; in the kernel there are ``x[i]``, ``x[i, j]``, ``x.shape`` and
    ``x.size``.
    """

    __lapilli_annotation__ = "array"
    # Private, and read through properties: a shape set by hand would read beyond the memory.
    __slots__ = (
        "__weakref__",
        "_buffer",
        "_device",
        "_dtype",
        "_is_view",
        "_shape",
        "_signature",
        "_spelling",
    )

    def __init__(
        self,
        device: Device | None = None,
        shape: tuple[int, ...] = (),
        spelling: str = "",
        buffer: Buffer | None = None,
    ) -> None:
        if device is None or type(spelling) is not str or not spelling:
            raise for_user(
                InvalidError(
                    "lp.Array is not called: annotations are lp.Array[lp.f32], arrays are made by lp.asarray(x), "
                    "lp.zeros(shape, dtype) and their like"
                )
            )
        self._device = device
        self._shape = shape
        self._spelling = spelling
        self._dtype = dtype = numpy_dtype(spelling)
        self._signature = array_signature(spelling, len(shape))
        self._is_view = buffer is not None
        logical = device.logical
        if logical.is_unusable:
            logical.require_usable()
        if buffer is None:
            with logical.lock:
                # An empty array has room for an element: where kernels reach it by address, every index is
                # taken for 0.
                buffer = logical.memory.allocate((math.prod(shape) or 1) * dtype.itemsize)
        self._buffer: Buffer | None = buffer

    def __class_getitem__(cls, parameters: object) -> GenericAlias:
        return GenericAlias(cls, cast("Any", parameters))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, slowest first."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 to 8."""
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
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._dtype.itemsize

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
        """Whether the memory belongs to somebody else, or to another array as well."""
        return self._is_view

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

    @user_facing
    def reshape(self, *shape: int | Sequence[int]) -> Array:
        """Returns the same elements in another shape, ``a.reshape(2, 3)``: a view, which shares the memory.

        Args:
            shape: 1 to 8 extents or a tuple of them, as many elements in all; one may be -1, which is what is left.

        Raises:
            InvalidError: another number of elements, or the array was released.
        """
        from .array_sharing import reshaped

        return reshaped(self, shape)

    def ravel(self) -> Array:
        """Returns the same elements in one dimension: a view, as of `reshape`."""
        return self.reshape(-1)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns a copy in host memory, after the launches that write the array."""
        try:
            out = np.empty(self.shape, self.dtype)
            self._download(out)
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error
        return out

    def _download(self, out: np.ndarray[Any, Any]) -> None:
        from .transfer import download

        buffer = self.buffer
        download(self._device.default_queue, self._device.logical, buffer, out)

    @user_facing
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

    @user_facing
    def copy_from(self, source: object) -> Self:
        """Copies all elements from an array of the same shape and dtype; returns this array.

        Args:
            source: a NumPy array of any strides, a nested sequence, or an Array.

        Raises:
            InvalidError: another shape or dtype, or a value in a sequence that does not fit the dtype.
        """
        from .transfer import copy_array, upload_array

        queue = self._device.default_queue
        _ = self.buffer  # first of all: whether it was released
        if isinstance(source, Array):
            self.require_same(source.host_shape, source.dtype.base, "copy_from: the source")
            if source is self:
                return self
            if source.device is self._device:
                copy_array(queue, source, self)
                return self
            source = source.numpy()
        require_unmasked(source, "copy_from")
        host = cast(
            "np.ndarray[Any, Any]",
            source if isinstance(source, np.ndarray) else host_array(source, self._spelling, "copy_from"),
        )
        self.require_same(host.shape, host.dtype, "copy_from: the source")
        upload_array(queue, self, host.astype(self._dtype.base, copy=False))
        return self

    def require_same(self, shape: Sequence[int], dtype: np.dtype[Any], what: str) -> None:
        """Raises InvalidError where `what` has not this array's host shape and dtype."""
        if tuple(shape) != self.host_shape:
            raise InvalidError(f"{what} has shape {tuple(shape)}; expected {self.host_shape}")
        if dtype.newbyteorder("=") != self.dtype.base:
            has_bits = "bf16" in self._spelling and self.dtype.base == np.uint16
            remedy = (
                "which are the bits of bf16: lp.asarray(x, lp.bf16) converts numbers"
                if has_bits
                else "convert it with astype first"
            )
            raise InvalidError(f"{what} has dtype {dtype}; expected {self.dtype.base}; {remedy}")

    @user_facing
    def fill(self, value: object) -> Self:
        """Sets every element to `value`; returns this array.

        Raises:
            InvalidError: `value` is no number, or does not fit the dtype.
        """
        from .transfer import fill

        pattern = element(value, self.spelling)
        fill(self._device.default_queue, self, pattern)
        return self

    def release(self) -> None:
        """Gives the memory back once the launches that use it have ended; idempotent.

        Later use raises InvalidError, as a kernel argument KernelArgumentError.
        """
        buffer, self._buffer = self._buffer, None
        tracked.note_change()
        # Submissions in flight hold the buffer: dropping the reference is all that is needed.
        del buffer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    # Sharing; see `array_sharing`

    @property
    def is_host_visible(self) -> bool:
        """Whether the host reads and writes its memory where it lies: then NumPy and DLPack share it without a copy."""
        return self.buffer.host_address != 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, of the memory itself; absent where the host does not see it."""
        if self.is_released or not self.is_host_visible:
            raise AttributeError("__array_interface__")
        from .array_sharing import array_interface

        return array_interface(self)

    @user_facing
    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Returns the elements for NumPy: its own memory where the host sees it and `copy` allows it, else a copy.

        Raises:
            ValueError: ``copy=False``, and the memory or `dtype` needs a copy.
        """
        if copy or not self.is_host_visible:
            if copy is False:
                raise ValueError(
                    f"an lp.Array on device '{self._device.selector}' lies in device memory: reading it always copies"
                )
            host = self.numpy()
            return host if dtype is None else host.astype(dtype, copy=False)
        from .array_sharing import host_view_as

        return host_view_as(self, dtype, may_copy=copy is not False)

    @user_facing
    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a DLPack capsule of its memory, after the launches that use it.

        Raises:
            BufferError: the host does not see the memory, or DLPack has no such element type.
        """
        from .array_sharing import dlpack_capsule

        return dlpack_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns kDLCPU where the host sees its memory, else kDLVulkan; with a device number."""
        from .array_sharing import dlpack_device

        return dlpack_device(self)

    @user_facing
    def export_fd(self) -> int:
        """Returns a file descriptor of its memory, for `lp.import_fd` of another process, CUDA or HIP; close it.

        The first export moves the array to memory of its own (`allocation_nbytes`), at whose start it lies, and with it
        arrays that share its memory (`reshape`); NumPy's views that were made before keep the old memory.  The exporter
        must outlive no importer: the memory lives until all have let go of it.

        Raises:
            FeatureNotSupportedError: the device exports no memory.
            InvalidError: the array's memory is the host's (`lp.from_host`), the application's, or was imported.
        """
        from .array_sharing import export

        return export(self)

    @property
    def allocation_nbytes(self) -> int:
        """Bytes of the memory that `export_fd` exports, which CUDA must be told; 0 before."""
        return self.buffer.allocation_bytes

    def replace_buffer(self, buffer: Buffer) -> None:
        """Makes it, and who shares its memory, use other memory of the same contents; for `array_sharing`.

        Call it with the device's lock held.
        """
        sharers = self.buffer.sharers or ()
        moving = {self, *(array for array in sharers if array._buffer is self._buffer)}
        # One call in C, in the middle of which Python looks for no signal: Ctrl-C moves all of them or none.
        deque(map(setattr, moving, repeat("_buffer"), repeat(buffer)), maxlen=0)
        tracked.note_change()

    def share(self, shape: tuple[int, ...]) -> Array:
        """Returns an array of the same elements in the same memory, which moves where this one does.

        Args:
            shape: of as many elements.

        Raises:
            InvalidError: the array was released.
        """
        with self._device.logical.lock:  # nobody moves it meanwhile
            made = Array(self._device, shape, self._spelling, self.buffer)
            if (sharers := self.buffer.sharers) is None:
                sharers = self.buffer.sharers = WeakSet()
            sharers.update((self, made))
        return made

    def has_moved_from(self, buffer: Buffer) -> bool:
        """Whether it has other memory since it had this: what was written to `buffer` may be missing there."""
        found = self._buffer
        return found is not None and found is not buffer

    def __copy__(self) -> Array:
        """Returns another array of the same elements on the same device."""
        return Array(self._device, self._shape, self._spelling).copy_from(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return self.__copy__()

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError("an lp.Array lives on a device and cannot be pickled; pickle a.numpy()")

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):  # NumPy asks for its protocols
                raise AttributeError(f"'Array' object has no attribute {name!r}", name=name, obj=self)
            from .attribute_hints import missing_attribute

            raise missing_attribute(name, self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __repr__(self) -> str:
        state = ", released" if self._buffer is None else ""
        return f"<lapilli.{self.signature} shape={self.shape} on {self._device.selector}{state}>"


refuse_operators(Array)
