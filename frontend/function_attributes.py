"""What decorators say about a kernel, a helper or a struct beside its code: SYCL's attributes.

    @lp.device_has(lp.Aspect.FP64)
    @lp.reqd_work_group_size(8, 8)
    @lp.kernel
    def k(…): …

In any order, above or below ``@lp.kernel``, and as plain calls: each returns a new object and leaves the old one as
it was.  They reach the IR as the attributes of the `aspect` dialect (SYCL 2020 section 5.8).
"""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from ..ir.aspects import Aspect, aspect_spelling
from ..ir.errors import InvalidError, MembersByName
from .source import plain_function

ATTRIBUTE = "__lapilli_attributes__"
"""Where a function keeps its `FunctionAttributes`, and a struct class its aspects."""

MAX_DIMENSIONS = 3

DecoratedT = TypeVar("DecoratedT")


class SubGroupSize(enum.Enum, metaclass=MembersByName):
    """Sub-group sizes that are no number: they restrict no device."""

    PRIMARY = "primary"
    """The one that the device uses where nothing is asked for."""
    AUTOMATIC = "automatic"
    """The driver's choice, kernel by kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionAttributes:
    """The attributes of one function."""

    device_has: frozenset[int] | None = None
    """All optional features that it may use; None: it does not say."""
    uses_aspects: frozenset[int] = frozenset()
    """Optional features that it uses, whatever its code shows."""
    reqd_work_group_size: tuple[int, ...] | None = None
    """1 to 3 sizes, slowest dimension first."""
    reqd_sub_group_size: int | SubGroupSize | None = None
    work_group_size_hint: tuple[int, ...] | None = None

    def text(self) -> str:
        """Returns them as SYCL's ``info::kernel::attributes`` does: ``device_has(fp64) reqd_work_group_size(8,8)``."""
        size = self.reqd_sub_group_size
        listed: dict[str, Iterable[object] | None] = {
            "device_has": None if self.device_has is None else map(aspect_spelling, sorted(self.device_has)),
            "uses_aspects": map(aspect_spelling, sorted(self.uses_aspects)) if self.uses_aspects else None,
            "reqd_work_group_size": self.reqd_work_group_size,
            "reqd_sub_group_size": None
            if size is None
            else (size.value if isinstance(size, SubGroupSize) else size,),
            "work_group_size_hint": self.work_group_size_hint,
        }
        return " ".join(
            f"{name}({','.join(map(str, values))})" for name, values in listed.items() if values is not None
        )


NO_ATTRIBUTES = FunctionAttributes()


@runtime_checkable
class Attributed(Protocol):
    """A decorated function that is no plain function: a kernel, an exported or imported function."""

    function: types.FunctionType

    def with_function(self, function: types.FunctionType) -> Any:
        """Returns a copy of itself around another function object of the same code."""
        ...


def attributes_of(function: object) -> FunctionAttributes:
    """Returns the attributes of a function, of a kernel or of whatever wraps one."""
    plain = function
    # Asked for by hand, and of plain functions first: `isinstance` of a protocol takes 15 µs.
    if not isinstance(function, types.FunctionType) and hasattr(function, "with_function"):
        plain = cast(Attributed, function).function
    found = getattr(plain, ATTRIBUTE, NO_ATTRIBUTES)
    return found if isinstance(found, FunctionAttributes) else NO_ATTRIBUTES


def aspects_of_struct(cls: type) -> frozenset[int]:
    """Returns the aspects that a struct class declares for itself, those of its members left out."""
    found = cls.__dict__.get(ATTRIBUTE)
    return found.uses_aspects if isinstance(found, FunctionAttributes) else frozenset()


# The decorators


def device_has(*aspects: Aspect) -> Callable[[DecoratedT], DecoratedT]:
    """Declares all optional features that a kernel or helper may use; none where the list is empty.

    Whatever else it uses causes an `AspectWarning` when it is compiled.  A kernel runs only on devices that have all
    aspects of the list, whether it uses them or not.

    Raises:
        InvalidError: something that is no aspect.
    """
    listed = _aspects("device_has", aspects)

    def change(old: FunctionAttributes) -> FunctionAttributes:
        return replace(old, device_has=listed | (old.device_has or frozenset()))

    return _decorator("device_has", change)


def uses_aspects(*aspects: Aspect) -> Callable[[DecoratedT], DecoratedT]:
    """Says that a kernel, a helper or a struct uses optional features that its code does not show.

    Raises:
        InvalidError: something that is no aspect.
    """
    listed = _aspects("uses_aspects", aspects)

    def change(old: FunctionAttributes) -> FunctionAttributes:
        return replace(old, uses_aspects=old.uses_aspects | listed)

    return _decorator("uses_aspects", change, takes_struct=True)


def reqd_work_group_size(*sizes: int) -> Callable[[DecoratedT], DecoratedT]:
    """Fixes the work-group size of a kernel, ``@lp.reqd_work_group_size(8, 8)``, slowest dimension first.

    Launches need no local size then, and one that differs is an `NdRangeError`.  A device without work-groups of the
    size refuses the kernel.

    Args:
        sizes: one to three of at least 1, as many as the range has dimensions.

    Raises:
        InvalidError: anything else, or another size in a second decorator.
        CompileError: the function is exported.
    """
    wanted = _sizes("reqd_work_group_size", sizes)

    def change(old: FunctionAttributes) -> FunctionAttributes:
        _require_same("reqd_work_group_size", old.reqd_work_group_size, wanted)
        return replace(old, reqd_work_group_size=wanted)

    return _decorator("reqd_work_group_size", change)


def reqd_sub_group_size(size: int | SubGroupSize) -> Callable[[DecoratedT], DecoratedT]:
    """Fixes the sub-group size of a kernel: a number, or `SubGroupSize.PRIMARY` or `AUTOMATIC`.

    On a helper a number counts for the kernels that call it, with an `AspectWarning` where they require another.

    Raises:
        InvalidError: anything else, or another size in a second decorator.
    """
    if isinstance(size, str) and size.upper() in SubGroupSize.__members__:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidError(
            f"@lp.reqd_sub_group_size(…): expected a number or an lp.SubGroupSize, found {size!r}; "
            f"write lp.SubGroupSize.{size.upper()}"
        )
    wanted = size if isinstance(size, SubGroupSize) else _size("reqd_sub_group_size", size)
    if isinstance(wanted, int) and wanted >= 1 << 31:
        raise InvalidError(f"lp.reqd_sub_group_size: expected a size below 2**31, found {wanted}")

    def change(old: FunctionAttributes) -> FunctionAttributes:
        _require_same("reqd_sub_group_size", old.reqd_sub_group_size, wanted)
        return replace(old, reqd_sub_group_size=wanted)

    return _decorator("reqd_sub_group_size", change)


def work_group_size_hint(*sizes: int) -> Callable[[DecoratedT], DecoratedT]:
    """Suggests the work-group size of launches that give none; restricts nothing.

    Args:
        sizes: one to three of at least 1, slowest dimension first.

    Raises:
        InvalidError: anything else.
    """
    wanted = _sizes("work_group_size_hint", sizes)
    return _decorator("work_group_size_hint", lambda old: replace(old, work_group_size_hint=wanted))


def _decorator(
    name: str,
    change: Callable[[FunctionAttributes], FunctionAttributes],
    *,
    takes_struct: bool = False,
) -> Callable[[DecoratedT], DecoratedT]:
    def decorate(decorated: DecoratedT) -> DecoratedT:
        if isinstance(decorated, type):
            if not takes_struct:
                raise InvalidError(f"@lp.{name} decorates kernels and functions, found class {decorated!r}")
            return cast(DecoratedT, _changed_class(decorated, change))
        if isinstance(decorated, Attributed):
            changed = _changed_function(cast(types.FunctionType, decorated.function), change)
            return cast(DecoratedT, decorated.with_function(changed))
        return cast(DecoratedT, _changed_function(plain_function(decorated), change))

    return decorate


def _changed_function(
    function: types.FunctionType, change: Callable[[FunctionAttributes], FunctionAttributes]
) -> types.FunctionType:
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__, copy.__doc__ = (
        function.__qualname__,
        function.__module__,
        function.__doc__,
    )
    if hasattr(function, "__annotate__"):  # from Python 3.14 on, evaluated when asked for
        cast(Any, copy).__annotate__ = cast(Any, function).__annotate__
    else:
        copy.__annotations__ = function.__annotations__
    copy.__dict__.update(function.__dict__)
    setattr(copy, ATTRIBUTE, change(attributes_of(function)))
    return copy


def _changed_class(cls: type, change: Callable[[FunctionAttributes], FunctionAttributes]) -> type:
    from .struct_types import copied_class

    old = cls.__dict__.get(ATTRIBUTE, NO_ATTRIBUTES)
    return copied_class(cls, {ATTRIBUTE: change(old)})


def _aspects(name: str, aspects: tuple[object, ...]) -> frozenset[int]:
    for aspect in aspects:
        is_internal = type(aspect) is int and aspect < 0
        if not isinstance(aspect, Aspect) and not is_internal:
            raise InvalidError(
                f"@lp.{name}(…): expected lp.Aspect members, found {aspect!r}{_as_aspects(name, aspect)}"
            )
    return frozenset(int(cast(int, aspect)) for aspect in aspects)


def _sizes(name: str, sizes: tuple[object, ...]) -> tuple[int, ...]:
    if not 1 <= len(sizes) <= MAX_DIMENSIONS:
        raise InvalidError(
            f"@lp.{name}(…): expected 1 to {MAX_DIMENSIONS} sizes, slowest dimension first, found {len(sizes)}"
        )
    return tuple(_size(name, size) for size in sizes)


def _size(name: str, size: object) -> int:
    try:
        number = 0 if isinstance(size, bool) else operator.index(cast(int, size))
    except TypeError:
        number = 0
    if number < 1:
        raise InvalidError(
            f"@lp.{name}(…): expected integers of at least 1, found {size!r}{_one_by_one(name, size)}"
        )
    return number


def _require_same(name: str, old: Hashable, new: Hashable) -> None:
    if old is not None and old != new:
        raise InvalidError(f"@lp.{name}(…) stands twice, with {old} and with {new}; expected one")


def _as_aspects(name: str, found: object) -> str:
    """Returns what to write instead of something that is no aspect; "" where nobody knows."""
    if isinstance(found, str) and found.upper() in Aspect.__members__:
        return f"; write lp.Aspect.{found.upper()}"
    if callable(found):
        return f"; write @lp.{name}(lp.Aspect.FP64), or @lp.{name}() for none"
    return _one_by_one(name, found)


def _one_by_one(name: str, found: object) -> str:
    is_several = isinstance(found, list | tuple | set | frozenset)
    return f"; write them one by one: @lp.{name}(a, b)" if is_several else ""
