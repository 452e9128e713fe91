"""Parameters that are no arguments in a buffer or argument block: ``lp.Item[2]``, ``lp.Const[lp.i32]``, `LocalArray`.

`WorkItemType`: the runtime supplies the value, and the parameter says how many dimensions the kernel runs over.
`ConstType`: the value is part of the compiled code.  `LocalArrayType`: the launch says how much memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NoReturn, cast

from ..ir.errors import CompileError, InvalidError
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from .struct_types import value_type_of
from .types import MAX_DIMENSIONS, Type, array_spelling, integer_of
from .vector_types import MAX_SHARED_COMPONENTS, VecType

WorkItemKind = Literal["item", "nd_item", "group", "sub_group", "id", "nd_range"]
"""What an object says about the work-item that runs; `id` and those above it in SYCL's tables."""

_SPELLINGS: Final[dict[WorkItemKind, str]] = {
    "item": "Item",
    "nd_item": "NdItem",
    "group": "Group",
    "id": "Id",
}


@dataclass(frozen=True, repr=False)
class WorkItemType(Type):
    """Type of a parameter that says which work-item runs.

    Args:
        kind: which of SYCL's classes.
        rank: dimensions, 1 to 3.
    """

    kind: WorkItemKind
    rank: int

    @property
    def spelling(self) -> str:
        """``Item[2]``."""
        return f"{_SPELLINGS[self.kind]}[{self.rank}]"

    def __repr__(self) -> str:
        return f"lp.{self.spelling}"


@dataclass(frozen=True, repr=False)
class ConstType(Type):
    """Type of a parameter whose value is compiled into the kernel; another value makes another image.

    Args:
        element: a scalar, vector, struct or fixed-array type.
    """

    element: Type

    @property
    def spelling(self) -> str:
        """``Const[i32]``."""
        return f"Const[{self.element.spelling}]"

    def __repr__(self) -> str:
        return f"lp.Const[{self.element!r}]"


@dataclass(frozen=True, repr=False)
class LocalArrayType(Type):
    """Type of an array in the memory of a work-group whose shape each launch gives (SYCL's ``local_accessor``).

    Args:
        element: a type of values.
        ndim: 1 to 8.
    """

    element: Type
    ndim: int = 1

    @property
    def element_spelling(self) -> str:
        """How arrays spell their elements."""
        return array_spelling(self.element)

    @property
    def spelling(self) -> str:
        """``LocalArray[f32, 2]``."""
        return f"LocalArray[{self.element}{f', {self.ndim}' if self.ndim != 1 else ''}]"

    def __repr__(self) -> str:
        return f"lp.LocalArray[{self.element!r}{f', {self.ndim}' if self.ndim != 1 else ''}]"


@dataclass(frozen=True, repr=False)
class StreamType(Type):
    """Type of a text stream, `ir.stream.Stream`; a kernel writes to it."""

    @property
    def spelling(self) -> str:
        """``Stream``."""
        from ..ir.kernel_info import STREAM_DTYPE  # a program that only defines kernels does without

        return STREAM_DTYPE

    def __repr__(self) -> str:
        return "lp.Stream"


class Annotation:
    """Base of the spellings: classes that are written with brackets and never called."""

    example = ""
    """How it is written."""
    _use = ""
    """How a parameter is written with it."""

    def __new__(cls, *_: object) -> NoReturn:
        raise InvalidError(f"lp.{cls.__name__} is only an annotation, {cls._use}")


def _rank(name: str, parameters: object, largest: int = MAX_DIMENSIONS) -> int:
    rank = None if isinstance(parameters, bool) else integer_of(parameters)
    if rank is None or not 1 <= rank <= largest:
        raise CompileError(
            f"lp.{name}[dimensions]: expected 1 to {largest} dimensions, found {parameters!r}; "
            f"write lp.{name}[1]",
            code="LP2018",
        )
    return rank


class _WorkItem(Annotation):
    """Base of the spellings of `WorkItemType`: they take a number of dimensions."""

    _kind: WorkItemKind

    def __class_getitem__(cls, dimensions: object) -> WorkItemType:
        return WorkItemType(cls._kind, _rank(cls.__name__, dimensions))


class Item(_WorkItem):
    """The work-item that runs, without its group: ``it: lp.Item[2]`` (SYCL's ``item``)."""

    example = "lp.Item[1]"
    _use = "it: lp.Item[1]; each work-item gets its own"
    _kind = "item"


class NdItem(_WorkItem):
    """The work-item that runs, with its group: ``it: lp.NdItem[2]`` (SYCL's ``nd_item``)."""

    example = "lp.NdItem[1]"
    _use = "it: lp.NdItem[1]; each work-item gets its own"
    _kind = "nd_item"


class Group(_WorkItem):
    """The work-group that runs: ``g: lp.Group[2]`` (SYCL's ``group``)."""

    example = "lp.Group[1]"
    _use = "g: lp.Group[1]; each work-item gets its own"
    _kind = "group"


class Id(_WorkItem):
    """The global index of the work-item that runs: ``i: lp.Id[2]`` (SYCL's ``id``)."""

    example = "lp.Id[1]"
    _use = "i: lp.Id[1]; each work-item gets its own"
    _kind = "id"


class Const(Annotation):
    """Compile-time parameter: ``n: lp.Const[lp.i32]``; a new image for each value."""

    example = "lp.Const[lp.i32]"
    _use = "n: lp.Const[lp.i32]; the launch takes the value"

    def __class_getitem__(cls, element: object) -> ConstType:
        kind = value_type_of(element)
        if kind is None:
            from .annotation_errors import described

            raise CompileError(
                "lp.Const[type]: expected a scalar, vector or struct type such as lp.i32, found "
                f"{described(element)}; write n: lp.Const[lp.i32]",
                code="LP2018",
            )
        return ConstType(kind)


class LocalArray(Annotation):
    """Shared memory that the launch gives: ``tile: lp.LocalArray[lp.f32, 2]``, argument ``lp.local((16, 16))``."""

    example = "lp.LocalArray[lp.f32]"
    _use = "tile: lp.LocalArray[lp.f32]; the launch takes lp.local(shape)"

    def __class_getitem__(cls, parameters: object) -> LocalArrayType:
        parts = cast("tuple[object, ...]", parameters if isinstance(parameters, tuple) else (parameters,))
        element = value_type_of(parts[0]) if parts else None
        ndim = parts[1] if len(parts) > 1 else 1
        is_long = isinstance(element, VecType) and not 2 <= element.size <= MAX_SHARED_COMPONENTS
        if element is None or is_long or len(parts) > 2:
            found = ", ".join(map(repr, parts)) or "nothing"
            raise CompileError(
                "lp.LocalArray[element, ndim]: expected a type such as lp.f32 or lp.f32x4 and 1 to "
                f"{MAX_ARRAY_DIMENSIONS} dimensions, found {found}",
                code="LP2018",
            )
        return LocalArrayType(element, _rank("LocalArray", ndim, MAX_ARRAY_DIMENSIONS))
