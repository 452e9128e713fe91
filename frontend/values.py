"""What expressions of a kernel evaluate to while it is compiled.

A `Scalar` is a number on the device, or a constant known now; the others are compile-time objects that never
exist as one IR value.  Every class is immutable after construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from .image_types import ImageType
from .intrinsics import Intrinsic
from .ir_types import WEAK_FLOAT, WEAK_INT
from .struct_types import StructType
from .types import ArrayType, FixedArrayType, ScalarType, bool_
from .vector_types import CompositeArrayType, VecType
from .work_item_values import Member, WorkItem

if TYPE_CHECKING:
    import ast
    import types as python_types


@dataclass(slots=True, eq=False)
class Scalar:
    """A number or bool."""

    type: ScalarType
    ssa: SSAValue | None = None
    """None for constants, and for everything while types are inferred."""
    const: int | float | bool | None = None
    """The value where it is known now."""
    bounds: tuple[int, int] | None = None
    """Smallest and largest value that an integer is known to have."""
    choice: LiteralChoice | None = None
    """Between which literals it was chosen, where nothing else has happened to it."""
    literal: RoundedLiteral | None = None
    """What it was before a variable held it."""

    @property
    def is_nonnegative(self) -> bool:
        """Whether it is known to be ≥ 0."""
        return self.bounds is not None and self.bounds[0] >= 0

    @property
    def is_weak(self) -> bool:
        """Whether it takes the type of what stands beside it."""
        return self.type is WEAK_INT or self.type is WEAK_FLOAT


@dataclass(frozen=True, slots=True)
class RoundedLiteral:
    """A literal that f32 does not hold, in a variable whose type is f32 because nothing says otherwise."""

    value: float
    variable: str


@dataclass(slots=True, eq=False)
class LiteralChoice:
    """``a if c else b`` of two literals: a type that it meets takes the literals, not what became of them."""

    test: Scalar
    if_true: Scalar
    """A literal, or a choice in its turn."""
    if_false: Scalar
    type: ScalarType
    """WEAK_INT or WEAK_FLOAT."""


@dataclass(slots=True, eq=False)
class Array:
    """An array parameter, by reference."""

    type: ArrayType
    parameter: int
    """Position of the parameter of the function that is compiled."""
    name: str
    ssa: SSAValue | None


@dataclass(slots=True, eq=False)
class Image(Array):
    """An image parameter, by reference; its elements are pixels."""

    type: ImageType  # pyright: ignore[reportIncompatibleVariableOverride] - immutable after construction


@dataclass(slots=True, eq=False)
class LocalArray(Array):
    """An array that the kernel makes: ``lp.local.array`` or ``lp.private.array``.

    `parameter` is negative, the same in every walk over the function.
    """

    shape: tuple[int | None, ...]
    """Extents; None where a specialization constant takes part."""
    extents: tuple[Scalar, ...]
    """The extents as values."""
    is_shared: bool
    """Whether a work-group shares it."""


@dataclass(slots=True, eq=False)
class FixedArray:
    """A fixed array, or a row of one with fewer dimensions."""

    type: FixedArrayType
    ssa: SSAValue | None
    prefix: tuple[Scalar, ...] = ()
    """Indices already applied to `ssa`: ``c[i]`` of a 3×3 array is a row, not yet a load."""
    cell: SSAValue | None = None
    """The memory of the variable that it is, in place of `ssa` (`fixed_cells`)."""

    @property
    def remaining_shape(self) -> tuple[int, ...]:
        """Extents of the dimensions that no index was applied to."""
        return self.type.shape[len(self.prefix) :]


@dataclass(slots=True, eq=False)
class Tuple:
    """A Python tuple of values."""

    items: tuple[Value, ...]

    def __iter__(self) -> Iterator[Value]:
        return iter(self.items)

    def matches(self, other: Value) -> bool:
        """Whether `other` is made of as many items, and is a value of the same type where it has one."""
        return (
            isinstance(other, Tuple)
            and not isinstance(other, Composite)
            and len(other.items) == len(self.items)
        )

    def with_items(self, items: Iterable[Value]) -> Tuple:
        """Returns the same kind of value with other items."""
        return Tuple(tuple(items))


@dataclass(slots=True, eq=False)
class NamedTuple(Tuple):
    """A tuple whose items have names too."""

    names: tuple[str, ...]

    def with_items(self, items: Iterable[Value]) -> NamedTuple:
        return NamedTuple(tuple(items), self.names)


@dataclass(slots=True, eq=False)
class Composite(Tuple):
    """A vector or a struct: its components or members, each a value of its own; or a fixed array of these, which is a
    fixed array of each component or member (`composite_arrays`).

    There is no IR value for the whole.  Devices compute component by component, control flow and calls hand each
    one on by itself, and what nobody reads is never computed.
    """

    type: VecType | StructType | CompositeArrayType

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector."""
        return isinstance(self.type, VecType)

    def matches(self, other: Value) -> bool:
        return isinstance(other, Composite) and other.type == self.type

    def with_items(self, items: Iterable[Value]) -> Composite:
        return Composite(tuple(items), self.type)


@dataclass(slots=True, eq=False)
class Static:
    """A compile-time object: a function, a type, a module, a string, an intrinsic, None."""

    obj: object
    name: str = ""
    """As the source spells it, for messages."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A method of a struct's class, and the struct that it is called of."""

    function: python_types.FunctionType
    receiver: Composite
    name: str


@dataclass(slots=True, eq=False)
class RangeValue:
    """The result of ``range(…)``, an iterable of a for loop."""

    start: Scalar
    stop: Scalar
    step: Scalar
    is_static: bool = False
    """``lp.static_range``: the loop is unrolled."""
    is_reversed: bool = False
    """From its last number to its first."""


@dataclass(slots=True, eq=False)
class Iteration:
    """The result of ``enumerate(…)`` or ``zip(…)`` over things whose length is known: one tuple a round."""

    rounds: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Elements:
    """What a loop over arrays takes round by round, of an array, ``enumerate(a)`` or ``zip(a, b)``."""

    count: Scalar
    """Number of rounds."""
    item: Callable[[Scalar], Value]
    """What the round at a position takes; emits what reads it."""


@dataclass(slots=True, eq=False)
class Unset:
    """A variable that some path leaves without a value."""

    where: ast.AST | None = None
    """The statement that sets it on some paths only; None: it is not set at all before."""
    path: str = ""
    """The path that leaves it unset, in words."""
    value: Value | None = None
    """What it is on the other paths, where an expression sets it: `definite.take_names` knows which those are."""


Value = Scalar | Array | FixedArray | Tuple | Static | RangeValue | Iteration | Elements
"""What an expression can be."""

Binding = Value | Unset
"""What a variable can be."""


def constant(value: int | float | bool) -> Scalar:
    """Returns a literal: weak for numbers, `bool_` for bools."""
    if isinstance(value, bool):
        return Scalar(bool_, const=value)
    if isinstance(value, int):
        return Scalar(WEAK_INT, const=value, bounds=(value, value))
    return Scalar(WEAK_FLOAT, const=value)


def index_count(count: int) -> str:
    """Returns "1 index" or "2 indices" for messages."""
    return f"{count} ind{'ex' if count == 1 else 'ices'}"


def describe(value: Value) -> str:
    """Returns the type of `value` as messages name it."""
    match value:
        case Scalar(type=scalar):
            if scalar.name == "index":
                return "index (lp.i32)"
            return f"lp.{scalar.name}" if scalar.bits else scalar.name
        case LocalArray(type=array):
            return f"{'lp.local' if value.is_shared else 'lp.private'}.array of {array.element!r}"
        case Array(type=array):
            return repr(array)
        case FixedArray(type=fixed):
            if value.prefix:
                return f"row of {fixed!r}"
            return repr(fixed)
        case Composite(type=kind):
            return repr(kind)
        case Tuple(items=items):
            return f"tuple of {len(items)}"
        case Static(obj=None):
            return "None"
        case Static(obj=str() as text):
            return f"the text {text!r}"
        case Static(obj=RangeValue() | Iteration() | Elements()):
            return "a variable that holds a range"
        case Static(obj=WorkItem() as owner):
            return str(owner)
        case Static(obj=obj):
            kind = "class" if isinstance(obj, type) else _KINDS.get(type(obj).__name__, type(obj).__name__)
            return f"{kind} '{value.name}'" if value.name else kind
        case RangeValue():
            return "range"
        case Iteration() | Elements():
            return "iterator"


_KINDS = {
    **dict.fromkeys(("BuiltinFunction", "Intrinsic", "builtin_function_or_method"), "function"),
    **dict.fromkeys(("CompositeArrayType", "FixedArrayType", "ScalarType", "StructType", "VecType"), "type"),
    **dict.fromkeys(("BoundMethod", "Member"), "method"),
}
"""What messages call things whose class is a matter of the compiler."""


def number_hint(value: Value) -> str | None:
    """Returns what to write where a number belongs and `value` stands."""
    match value:
        case Array(type=array):
            return f"index an element: {value.name}[{', '.join('ijk'[: array.ndim])}]"
        case FixedArray():
            return "index an element"
        case Composite(type=VecType()):
            return "name a component: .x"
        case Composite(type=CompositeArrayType()):
            return "index an element"
        case Composite():
            return "name a member"
        case Tuple():
            return "index an item"
        case Static(obj=Intrinsic(), name=name):
            return f"call it: {name}(…)"
        case Static(obj=Member(), name=name):
            return f"call it: {name}(…)"
        case Static(obj=WorkItem()):
            return "ask it for a number: .get_global_id(0) of an item, .get_group_id(0) of a group"
        case RangeValue():
            return "go through it in a loop: for k in range(n)"
        case Static(obj=ScalarType(name=name)):
            return f"convert a number: lp.{name}(x)"
        case Static(obj=None):
            return "None is no number: functions without a return statement give it, and parameters may by default"
        case Static(obj=str()):
            return (
                "texts stand in print, in the message of assert and as options; kernels compute with numbers"
            )
        case _:
            return None
