"""Native handles: Vulkan handles as integers, in and out.

A handle that goes out is a `Native`, an int that keeps alive what it names.  A handle that comes in may be any int or a
cffi handle, of the ``vulkan`` package or of another.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...ir.errors import BackendMismatchError, InvalidError
from ..backend import Backend
from ..bundle_errors import ConstraintError, type_name
from ..headers import address_of, ffi

if TYPE_CHECKING:
    from ..device import Device


class Native(int):
    """A Vulkan handle as an int.

    What it names stays valid as long as this object lives, whatever becomes of the lapilli object that it was asked
    of; a plain ``int(native)`` keeps nothing alive.
    """

    kind: str
    """The Vulkan type: ``VkBuffer``."""
    logical: object
    """The logical device whose VkDevice it is of; None where nobody asks."""
    _keeps: object

    def __new__(cls, raw: Any, kind: str, keeps: object, logical: object = None) -> Native:
        """Makes the int of a cffi handle."""
        made = super().__new__(cls, address_of(raw))
        made.kind, made.logical, made._keeps = kind, logical, keeps
        return made

    @property
    def owner(self) -> object:
        """What it keeps alive."""
        return self._keeps

    def __repr__(self) -> str:
        return f"<{self.kind} {int(self):#x}>"


def require_vulkan(what: str, x: object) -> None:
    """Raises BackendMismatchError for an object that says itself to be of another backend (SYCL 2020 4.5.1)."""
    backend = getattr(x, "backend", Backend.VULKAN)
    if backend is not Backend.VULKAN:
        raise BackendMismatchError(f"{what}: expected an object of backend VULKAN, found one of {backend!r}")


def native_int(what: str, value: object, kind: str) -> int:
    """Returns a handle that a user gave as an int.

    Raises:
        InvalidError: VK_NULL_HANDLE, a number that no handle has, or the handle of another type.
        TypeError: neither an int nor a cffi handle.
    """
    if isinstance(value, ffi.CData):
        found_type: Any = ffi_type_name(value)
        if found_type is not None and kind not in found_type:
            raise ConstraintError(f"{what} takes a {kind}, found a cffi handle of type {found_type}")
        number = address_of(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        if isinstance(value, Native) and value.kind != kind:
            raise ConstraintError(f"{what} takes a {kind}, found a {value.kind}")
        number = int(value)
    else:
        raise ConstraintError(f"{what} takes a {kind} as an int or a cffi handle, found {type_name(value)}")
    if not 0 < number < 1 << 64:
        raise InvalidError(f"{what}: expected a {kind}, found {number:#x}, which is no handle")
    return number


def require_own(what: str, value: object, device: Device) -> None:
    """Refuses a handle that lapilli gave out for another VkDevice than a device's: drivers do not check it.

    A plain number is taken as it is: it may mean an object of each VkDevice.
    """
    logical = value.logical if isinstance(value, Native) else None
    if logical is not None and logical is not device.logical:
        raise InvalidError(
            f"{what}: {value!r} is of another VkDevice than that of device '{device.selector}'; "
            "pass a context that it is of"
        )


def ffi_type_name(value: Any) -> str | None:
    """Returns the C type of a cffi handle of any cffi library; None for plain numbers and untyped pointers."""
    text = repr(value)  # <cdata 'struct VkBuffer_T *' 0x…>: each library has type objects of its own
    parts = text.split("'")
    name = parts[1] if len(parts) > 2 else ""
    return name if "Vk" in name else None


def handle(kind: str, number: int) -> Any:
    """Returns an int as a cffi handle."""
    return ffi.cast(kind, number)


def require_dispatchable(what: str, number: int, kind: str) -> None:
    """Refuses an address at which there cannot be a dispatchable Vulkan object; what passes may still be none.

    Such an object is memory that begins with a pointer to a table of functions; calling through anything else would end
    the process.

    Raises:
        InvalidError: the memory cannot be read.
    """
    table = _read_pointer(number)
    if table is None or (table != 0 and _read_pointer(table) is None):
        raise InvalidError(f"{what}: there is no {kind} at {number:#x}: its memory cannot be read")


def _read_pointer(address: int) -> int | None:
    """Returns eight bytes of this process's memory, None where there are none; 0 where that cannot be asked."""
    if address % 8:
        return None
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return 0
    try:
        data = os.pread(memory, 8, address)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    return int.from_bytes(data, "little") if len(data) == 8 else None
