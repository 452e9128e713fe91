"""Reference counts of native handles, which Vulkan itself does not have.

The count of a handle is the number of lapilli objects that were made from it or that it was asked of, and of `retain`
calls.  What lapilli made is destroyed when nothing holds it any more; what the application made is never destroyed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ...ir.config import config
from ...ir.errors import InvalidError
from ..bundle_errors import ConstraintError
from ..headers import address_of, ffi
from .natives import Native

_lock = threading.RLock()


class HandleRef:
    """One handle: the living objects that share it."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number
        self._sharers: dict[int, weakref.ref[Any]] = {}
        self.retained: list[object] = []
        """What `retain` keeps alive, once for each call."""

    def add(self, owner: object) -> None:
        """Notes an object; by identity, for kernels and bundles of the same content are equal."""
        self._sharers[id(owner)] = weakref.ref(owner)

    @property
    def sharers(self) -> list[Any]:
        """The living objects."""
        living = {key: owner for key, ref in self._sharers.items() if (owner := ref()) is not None}
        self._sharers = {key: self._sharers[key] for key in living}
        return list(living.values())

    @property
    def count(self) -> int:
        """Living objects and retains."""
        return len(self.sharers) + len(self.retained)


_refs: dict[tuple[str, int], HandleRef] = {}


def share(kind: str, number: int, owner: object) -> None:
    """Notes that an object of lapilli shares a handle as long as it lives."""
    with _lock:
        for key in [key for key, ref in _refs.items() if not ref.count]:
            del _refs[key]
        _refs.setdefault((kind, int(number)), HandleRef(kind, int(number))).add(owner)


def given_out(
    kind: str, raw: Any, owner: object, keeps: object | None = None, logical: object = None
) -> Native:
    """Returns the `Native` of a handle of an object, which counts from now on.

    Args:
        kind: the Vulkan type.
        raw: the cffi handle.
        owner: the object of lapilli that it was asked of.
        keeps: what must live for the handle to be valid; by default `owner`.
        logical: the logical device that it is of, where `natives.require_own` is to check it.
    """
    made = Native(raw, kind, owner if keeps is None else keeps, logical)
    share(kind, made, owner)
    return made


def owners(kind: str, number: int) -> Iterable[Any]:
    """Returns the living objects that share a handle."""
    with _lock:
        found = _refs.get((kind, int(number)))
        return [] if found is None else found.sharers


def _handle_in(native: object) -> object:
    """Returns the handle that counts of what `get_native` gave: the first of a tuple, the only one of a list."""
    if not isinstance(native, tuple | list):
        return native
    parts = cast("Sequence[object]", native)
    names_one = len(parts) == 1 or (isinstance(parts, tuple) and parts)
    return _handle_in(parts[0]) if names_one else parts


def _find(what: str, given: object) -> HandleRef:
    native = _handle_in(given)
    if isinstance(native, ffi.CData):
        native = address_of(native)
    if not isinstance(native, int) or isinstance(native, bool):
        raise ConstraintError(
            f"{what} takes a native handle, or what lp.vulkan.get_native gave for one object, found {given!r:.60}"
        )
    with _lock:
        kinds = [native.kind] if isinstance(native, Native) else [k for k, n in _refs if n == native]
        found = [ref for kind in kinds if (ref := _refs.get((kind, int(native)))) is not None]
        for ref in found:
            if ref.count:
                return ref
        if isinstance(native, Native):  # nothing but the handle itself keeps it
            return _refs.setdefault((native.kind, int(native)), HandleRef(native.kind, int(native)))
    raise InvalidError(f"{what}: no object of lapilli has the handle {int(native):#x}")


def get_reference_count(native: object) -> int:
    """Returns how many objects of lapilli, and `retain` calls, share a native handle.

    A handle that only the `Native` itself still keeps valid has 1.

    Args:
        native: a handle, or what `get_native` gave: the VkQueue counts of a queue's (VkQueue, family), the VkDevice of
            the list of a context with one device.

    Raises:
        InvalidError: no object of lapilli has it.
        TypeError: something else, or a list of several handles.
    """
    ref = _find("get_reference_count", native)
    return max(ref.count, 1)


def retain(native: object) -> None:
    """Keeps a native handle valid until `release`, also when the int is copied and its object is gone.

    `native` is a handle as `get_reference_count` takes it.

    Raises:
        InvalidError: no object of lapilli has it.
        TypeError: something else, or a list of several handles.
    """
    ref = _find("retain", native)
    named = _handle_in(native)
    keeps = named.owner if isinstance(named, Native) else next(iter(ref.sharers), None)
    with _lock:
        ref.retained.append(keeps)


def release(native: object) -> None:
    """Undoes one `retain`.  One too many is the caller's fault: InvalidError with ``LAPILLI_DEBUG=1``, else ignored."""
    try:
        ref = _find("release", native)
    except InvalidError:
        if config.debug:
            raise
        return
    with _lock:
        if ref.retained:
            ref.retained.pop()
            return
    if config.debug:
        raise InvalidError(
            f"release: the {ref.kind} {ref.number:#x} was released more often than retained; objects of lapilli let go "
            "of their handles themselves"
        )
