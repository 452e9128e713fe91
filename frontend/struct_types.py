"""Struct types: ``@lp.struct`` on an annotated class, with C layout on host and device.

Each member lies at the next multiple of its alignment, and the size is a multiple of the largest alignment, as
a C compiler does it.  Vectors and fixed arrays are laid out as C arrays of their element.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar, cast, dataclass_transform, overload

import numpy as np

from ..ir.errors import CompileError, InvalidError
from .types import MAX_SCALARS, FixedArrayType, ScalarType, Type, integer_of, scalar_of, unaliased
from .vector_types import CompositeArrayType, VecType

ClassT = TypeVar("ClassT", bound=type)

STRUCT_ATTRIBUTE = "__lapilli_struct__"
"""Where a class made by `struct` keeps its `StructType`."""


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct."""

    name: str
    type: Type
    """A scalar, vector, fixed array or struct type."""
    offset_bytes: int


@dataclass(frozen=True, eq=False, repr=False)
class StructType(Type):
    """The members of a class made by `struct`; equal only to itself.

    Args:
        name: of the class.
        fields: in order, with their offsets.
        alignment: bytes; the largest of the members' and what was asked for.
        size_bytes: of one value, padding at the end included.
        python_class: the class.
    """

    name: str
    fields: tuple[Field, ...]
    alignment: int
    size_bytes: int
    python_class: type

    @property
    def spelling(self) -> str:
        """The layout, which is what counts where arrays meet: ``{x: f32 @0, v: f32[3] @4; 16}``."""
        return self._spelling

    @cached_property
    def _spelling(self) -> str:
        members = ", ".join(f"{f.name}: {storage_spelling(f.type)} @{f.offset_bytes}" for f in self.fields)
        return f"{{{members}; {self.size_bytes}}}"

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype with the members' names and offsets."""
        return np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [dtype_of(f.type) for f in self.fields],
                "offsets": [f.offset_bytes for f in self.fields],
                "itemsize": self.size_bytes,
            }
        )

    @property
    def itemsize(self) -> int:
        """Bytes of a value in memory."""
        return self.size_bytes

    def index_of(self, name: str) -> int | None:
        """Returns the position of a member, None where there is none of that name."""
        return next((i for i, f in enumerate(self.fields) if f.name == name), None)

    def method(self, name: str) -> types.FunctionType | None:
        """Returns the plain function that the class has under a name, None where there is none."""
        found = inspect.getattr_static(self.python_class, name, None)
        return found if isinstance(found, types.FunctionType) else None

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


class Aligned:
    """A member with a stricter alignment: ``position: lp.Aligned[lp.f32x3, 16]``."""

    def __new__(cls, *_: object) -> Aligned:
        raise InvalidError("lp.Aligned is only an annotation of struct members, lp.Aligned[lp.f32x3, 16]")

    def __class_getitem__(cls, parameters: object) -> AlignedMember:
        parts = cast("tuple[object, ...]", parameters if isinstance(parameters, tuple) else (parameters,))
        if len(parts) != 2:
            raise CompileError("lp.Aligned[T, N] takes a type and an alignment in bytes", code="LP2019")
        return AlignedMember(parts[0], checked_alignment(parts[1], "lp.Aligned[T, N]"))


@dataclass(frozen=True, slots=True)
class AlignedMember:
    """What ``lp.Aligned[T, N]`` evaluates to."""

    type: object
    alignment: int


def checked_alignment(value: object, what: str) -> int:
    """Returns an alignment in bytes; CompileError unless it is a power of two up to 4096."""
    number = None if isinstance(value, bool) else integer_of(value)
    if number is None or not 1 <= number <= 4096 or number & (number - 1):
        raise CompileError(
            f"{what}: an alignment is a power of two from 1 to 4096, found {value!r}", code="LP2019"
        )
    return number


def value_type_of(obj: object) -> Type | None:
    """Returns the type of values that `obj` names (``lp.f32``, ``lp.f32x4``, a struct class, …), or None."""
    if isinstance(obj, VecType | FixedArrayType | StructType | CompositeArrayType):
        return obj
    struct_type = obj.__dict__.get(STRUCT_ATTRIBUTE) if isinstance(obj, type) else None
    if isinstance(struct_type, StructType):
        return struct_type
    scalar, meant = scalar_of(obj), unaliased(obj)
    return scalar if meant is obj else value_type_of(meant)


def dtype_of(kind: Type) -> np.dtype[Any]:
    """Returns the NumPy dtype of a value type."""
    assert isinstance(kind, ScalarType | VecType | FixedArrayType | StructType | CompositeArrayType)
    return kind.dtype


def storage_spelling(kind: Type) -> str:
    """Returns how the layout of a struct member is written: vectors and fixed arrays are both ``f32[4]``."""
    if isinstance(kind, VecType):
        return f"{kind.element.spelling}[{kind.size}]"
    if isinstance(kind, FixedArrayType):
        return f"{kind.element.spelling}[{', '.join(map(str, kind.shape))}]"
    if isinstance(kind, CompositeArrayType):
        base, lengths = kind.layout
        return f"{base.spelling}[{', '.join(map(str, lengths))}]"
    return kind.spelling


def alignment_of(kind: Type) -> int:
    """Returns the C alignment of a value type in bytes."""
    if isinstance(kind, StructType):
        return kind.alignment
    if isinstance(kind, CompositeArrayType):
        return alignment_of(kind.element)
    if isinstance(kind, VecType | FixedArrayType):
        return kind.element.itemsize
    assert isinstance(kind, ScalarType)
    return kind.itemsize


def size_of(kind: Type) -> int:
    """Returns the bytes of a value of a value type."""
    return dtype_of(kind).itemsize


def scalar_count(kind: Type) -> int:
    """Returns the number of scalars that a value of a type is made of."""
    if isinstance(kind, StructType):
        return sum(scalar_count(member.type) for member in kind.fields)
    if isinstance(kind, CompositeArrayType):
        return kind.size * scalar_count(kind.element)
    return kind.size if isinstance(kind, VecType | FixedArrayType) else 1


def scalar_leaves(kind: Type, prefix: str = "", offset: int = 0) -> Iterator[tuple[str, ScalarType, int]]:
    """Yields the scalars of a value in C order: path (``.position.x``), type, offset in bytes."""
    if isinstance(kind, ScalarType):
        yield prefix, kind, offset
    elif isinstance(kind, VecType):
        for i in range(kind.size):
            name = f".{'xyzw'[i]}" if kind.size <= 4 else f"[{i}]"
            yield prefix + name, kind.element, offset + i * kind.element.itemsize
    elif isinstance(kind, FixedArrayType):
        for i, index in enumerate(np.ndindex(*kind.shape)):
            path = f"{prefix}[{', '.join(map(str, index))}]"
            yield path, kind.element, offset + i * kind.element.itemsize
    elif isinstance(kind, CompositeArrayType):
        for i, index in enumerate(np.ndindex(*kind.shape)):
            path = f"{prefix}[{', '.join(map(str, index))}]"
            yield from scalar_leaves(kind.element, path, offset + i * kind.element.itemsize)
    else:
        assert isinstance(kind, StructType)
        for member in kind.fields:
            yield from scalar_leaves(member.type, f"{prefix}.{member.name}", offset + member.offset_bytes)


@overload
@dataclass_transform()
def struct(cls: ClassT, /) -> ClassT: ...


@overload
@dataclass_transform()
def struct(*, align: int | None = None) -> Callable[[ClassT], ClassT]: ...


def struct(cls: type | None = None, /, *, align: int | None = None) -> Any:
    """Makes a struct of an annotated class: ``@lp.struct`` or ``@lp.struct(align=16)``.

    Instances are made by position or name; members that are not given are zero, or what the class says.
    ``S.dtype`` is the NumPy dtype.

    Args:
        cls: the class; its annotations are the members in order, behind those of a struct that it inherits from.
        align: least alignment in bytes, a power of two.

    Raises:
        CompileError: a member's annotation is no value type, or there is none; several structs are inherited from.
    """
    least = 1 if align is None else checked_alignment(align, "@lp.struct(align=…)")
    scope = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    within, around = scope.f_globals, scope.f_locals
    if cls is not None:
        return _make(cls, least, _Names(within, dict(around)))

    def decorate(decorated: type) -> type:
        return _make(decorated, least, _Names(within, dict(around)))

    return decorate


@dataclass(frozen=True)
class _Names:
    """What annotations that are texts may name where the decorator stands."""

    within: dict[str, object]
    """Its globals."""
    around: dict[str, object]
    """Its locals."""

    def evaluated(self, cls: type, text: str) -> Any:
        """Returns what an annotation of a class says; raises whatever Python does."""
        module = sys.modules.get(cls.__module__)  # None for text that is executed under a name of its own
        is_here = module is None or self.within.get("__name__") == cls.__module__
        return eval(text, self.within if is_here else vars(module), self.around)


def _make(cls: type, least_alignment: int, names: _Names) -> type:
    from .struct_values import add_methods

    if not isinstance(cast(object, cls), type):
        raise CompileError(f"@lp.struct decorates a class, found {cls!r}", code="LP2019")
    base = _base_of(cls)
    members = [(name, *_member(cls, name, raw, names)) for name, raw in raw_annotations(cls).items()]
    if base is None and not members:
        raise CompileError(
            f"struct '{cls.__name__}' has no members; write each as 'name: lp.f32'", code="LP2019"
        )
    fields: list[Field] = [] if base is None else [*base.fields]  # where they lie in the base
    offset, largest = (0, 1) if base is None else (base.size_bytes, base.alignment)
    for name, kind, alignment in members:
        if base is not None and base.index_of(name) is not None:
            raise CompileError(
                f"member '{name}' of struct '{cls.__name__}' is a member of '{base.name}' already, its base",
                code="LP2019",
            )
        offset = -(-offset // alignment) * alignment
        fields.append(Field(name, kind, offset))
        offset += size_of(kind)
        largest = max(largest, alignment)
    largest = max(largest, least_alignment)
    size = -(-offset // largest) * largest
    count = sum(scalar_count(member.type) for member in fields)
    if count > MAX_SCALARS:
        raise CompileError(
            f"struct '{cls.__name__}' is made of {count} numbers, at most {MAX_SCALARS} are; larger data is an array",
            code="LP2019",
        )
    result = StructType(cls.__name__, tuple(fields), largest, size, cls)
    setattr(cls, STRUCT_ATTRIBUTE, result)
    add_methods(cls, result)
    return cls


def _base_of(cls: type) -> StructType | None:
    """Returns the struct that a class inherits from, None where there is none.

    Raises:
        CompileError: there are several, of which neither inherits from the other.
    """
    bases = [kind for base in cls.__mro__[1:] if isinstance(kind := value_type_of(base), StructType)]
    for other in bases[1:]:
        if not issubclass(bases[0].python_class, other.python_class):
            raise CompileError(
                f"struct '{cls.__name__}' inherits from the structs '{bases[0].name}' and '{other.name}', which would "
                "both come first; make one a member",
                code="LP2019",
            )
    return bases[0] if bases else None


def copied_class(cls: type, changes: dict[str, object]) -> type:
    """Returns a class like `cls` with other attributes; of a struct class, a struct type of its own."""
    from .struct_values import add_methods

    kept = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    copy = type(cls)(cls.__name__, cls.__bases__, {**kept, **changes})
    struct_type = kept.get(STRUCT_ATTRIBUTE)
    if isinstance(struct_type, StructType):
        own = replace(struct_type, python_class=copy)
        setattr(copy, STRUCT_ATTRIBUTE, own)
        for name, default in defaults_of_class(cls).items():  # `add_methods` reads them from the class
            setattr(copy, name, default)
        add_methods(copy, own)
    return copy


def defaults_of_class(cls: type) -> dict[str, object]:
    """Returns the defaults of a struct class by member."""
    return cls.__dict__.get("__lapilli_defaults__", {})


MOST_QUOTES: Final = 3
"""How often a text may be that of a text: ``'lp.f32'`` in quotes is one under PEP 563."""


def raw_annotations(of: type | types.FunctionType) -> dict[str, Any]:
    """Returns annotations unevaluated as far as Python leaves them so; never raises."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(of, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(of)


def parameters_of(function: types.FunctionType) -> tuple[inspect.Parameter, ...]:
    """Returns the parameters of a function, without annotations, in a third of the time of `inspect.signature`."""
    kinds, code = inspect.Parameter, function.__code__
    names = iter(code.co_varnames)  # those by position, those by keyword alone, *args and **kwargs, variables
    count, defaults, keywords = code.co_argcount, function.__defaults__ or (), function.__kwdefaults__ or {}
    found: list[inspect.Parameter] = []
    for place, value in enumerate((kinds.empty,) * (count - len(defaults)) + defaults):
        is_positional = place < code.co_posonlyargcount
        kind = kinds.POSITIONAL_ONLY if is_positional else kinds.POSITIONAL_OR_KEYWORD
        found.append(kinds(next(names), kind, default=value))
    alone = [next(names) for _ in range(code.co_kwonlyargcount)]
    if code.co_flags & inspect.CO_VARARGS:
        found.append(kinds(next(names), kinds.VAR_POSITIONAL))
    found += [kinds(name, kinds.KEYWORD_ONLY, default=keywords.get(name, kinds.empty)) for name in alone]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(kinds(next(names), kinds.VAR_KEYWORD))
    return tuple(found)


def _member(cls: type, name: str, annotation: Any, names: _Names) -> tuple[Type, int]:
    """Returns the type and the alignment of one member."""
    what = f"member '{name}' of struct '{cls.__name__}'"
    if name.startswith("__") or name == "dtype":
        raise CompileError(f"{what} has a name that structs use themselves", code="LP2019")
    if hasattr(annotation, "__forward_arg__"):
        annotation = annotation.__forward_arg__
    for _ in range(MOST_QUOTES):
        if not isinstance(annotation, str):
            break
        try:
            annotation = names.evaluated(cls, annotation)
        except CompileError:
            raise
        except Exception as error:  # whatever the expression raises is the user's to read
            reason = f"cannot be evaluated: {type(error).__name__}: {error}"
            if isinstance(error, NameError) and error.name == cls.__name__:
                reason = "names the struct itself, which has no end; keep its index in an array of them, next: lp.i32"
            raise CompileError(
                f"{what}: the annotation {annotation!r} {reason}",
                code="LP2019",
            ) from error
    alignment = 1
    if isinstance(annotation, AlignedMember):
        annotation, alignment = annotation.type, annotation.alignment
    kind = value_type_of(annotation)
    if kind is None:
        from .annotation_errors import described, member_replacement  # only for messages

        raise CompileError(
            f"{what}: expected a scalar, a vector, lp.FixedArray[…] or a struct, found {described(annotation)}; "
            f"{member_replacement(name, annotation)}",
            code="LP2019",
        )
    return kind, max(alignment, alignment_of(kind))
