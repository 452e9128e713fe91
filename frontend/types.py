"""The types of the kernel language: scalars, fixed arrays, arrays.

These objects are what annotations hold (``a: lp.f32``), what a kernel calls to convert (``lp.f32(i)``) and
what the host passes as dtype (``np.dtype(lp.f32)``).  They say nothing about IR: `convert` to IR types is the
expression compiler's work.  Vectors and structs are further subclasses of `Type`.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_origin

import numpy as np

from ..ir.errors import FeatureNotSupportedError, InvalidError, MembersByName

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["bool", "int", "uint", "float"]
"""What the bits of a scalar mean."""

Access = Literal["read", "write", "read_write", "constant"]
"""What a kernel may do with an array; ``constant``: read it, as a constant buffer."""


class Target(enum.Enum, metaclass=MembersByName):
    """How a kernel reaches an array, SYCL's ``target``: ``x: lp.In[lp.f32, 1, lp.Target.CONSTANT_BUFFER]``."""

    DEVICE = "device"
    """Storage buffers, as without a word."""
    CONSTANT_BUFFER = "constant_buffer"
    """Uniform buffers, of at most 64 KiB; deprecated in SYCL 2020, `In` says as much."""


ARRAY_ACCESS: dict[str, Access] = {"array": "read_write", "in": "read", "out": "write"}
"""Access of an array annotation by its origin's ``__lapilli_annotation__``: `Array` itself is the runtime's
class, which this folder does not import."""

_SPELLED: dict[Access, str] = {"read": "In", "write": "Out", "read_write": "Array", "constant": "In"}

MAX_DIMENSIONS = 3
"""Dimensions of launch ranges and images (Vulkan has three)."""


VECTOR_SIZES = (1, 2, 3, 4, 8, 16)
"""Components that vectors may have, as SYCL's ``vec``.  SPIR-V has vectors of 2 to 4; in kernels a vector is its
scalars, and in memory those of other sizes are arrays."""

MAX_SCALARS = 1 << 16
"""Numbers that a value may be made of: they are computed one by one.  Arrays have no such limit."""


MOST_NUMBERS = 256
"""Numbers of an argument or result that no warning is about (`large_values`)."""
LARGEST_UNROLLED = 64
"""Elements of a fixed array that are copied one by one, which `promote-arrays` likes; more are copied in a loop."""


class Type:
    """Base of the types of the kernel language.  Immutable, hashable, equal by content.

    Not an ``ABC``: `isinstance` of those is a call in Python, and compiling asks for types thousands of times.
    """

    __slots__ = ()

    @property
    def spelling(self) -> str:
        """The type as messages, IR and `parse_type` write it: ``f32``, ``FixedArray[f32, 3, 3]``."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spelling

    def __or__(self, other: Any) -> Any:
        """Makes ``lp.f32 | None`` an annotation: type checkers ask for it where a helper's default is None."""
        return Union[self, other]  # noqa: UP007 - the operator is what this defines

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007


class TypeSpelling:
    """Base of the classes that write a type with brackets, also in kernels: ``lp.Vec[lp.f32, 4]``."""


@dataclass(frozen=True, repr=False)
class ScalarType(Type):
    # A number or a bool.

    name: str
    """As the user writes it after ``lp.``."""
    kind: Kind
    """What the bits mean."""
    bits: int
    """Width of the value; a bool has 8 in memory."""

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What it is and what it is written for, for ``help``."""
        from .type_texts import text_of_scalar

        return text_of_scalar(self)

    def __hash__(self) -> int:
        # The others follow from it, and most tables of the front end have types as keys.
        return hash(self.name)

    @property
    def spelling(self) -> str:
        """``f32``; ``bool`` for `bool_`."""
        return self.name.rstrip("_")

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of a value in host memory.

        bf16 is ml_dtypes' ``bfloat16`` where that package is installed, else the uint16 that holds its bits.
        """
        if self.name == "bf16":
            return _bfloat16_dtype() or np.dtype(np.uint16)
        return np.dtype(self.spelling if self.kind == "bool" else f"{_NUMPY_NAME[self.kind]}{self.bits}")

    @property
    def itemsize(self) -> int:
        """Bytes of a value in host memory."""
        return self.bits // 8

    @cached_property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer; bool is neither."""
        return self.kind in ("int", "uint")

    @cached_property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @cached_property
    def is_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind == "int"

    @property
    def minimum(self) -> int:
        """Smallest value of an integer type or bool."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def maximum(self) -> int:
        """Largest value of an integer type or bool."""
        if self.kind == "bool":
            return 1
        return (1 << (self.bits - 1 if self.kind == "int" else self.bits)) - 1

    def __call__(self, value: object = 0) -> Any:
        """Converts on the host as the conversion in a kernel does.

        An integer keeps its low bits; a float becomes an integer by truncation and saturation, NaN gives 0.

        Returns:
            A NumPy scalar of `dtype`.

        Raises:
            InvalidError: `value` is no number.
            FeatureNotSupportedError: this is bf16 and ml_dtypes is not installed.
        """
        if self.name == "bf16" and _bfloat16_dtype() is None:
            raise FeatureNotSupportedError(
                "lp.bf16 values on the host need the package ml_dtypes, which is not installed; "
                "pip install 'lapilli[bf16]'"
            )
        value = unwrap_scalar(value)
        if not is_number(value):
            raise InvalidError(
                f"lp.{self.name}(…) converts a number; found {value!r} of type {type(value).__name__}"
            )
        number = cast("float", value)
        if self.kind == "bool":
            return np.bool_(number)
        if self.is_integer:
            return self.dtype.type(_saturate(number, self))
        with np.errstate(over="ignore"):  # to infinity, as in kernels
            return self.dtype.type(_as_double(number))

    def __repr__(self) -> str:
        return f"lp.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (scalar_type, (self.spelling,))


def unwrap_scalar(value: object) -> object:
    """Returns the scalar in a 0-dimensional ndarray, and anything else as it is."""
    if isinstance(value, np.ndarray) and cast("NDArray[Any]", value).ndim == 0:
        return cast("NDArray[Any]", value)[()]
    return cast(object, value)


def is_number(value: object) -> bool:
    """Whether `value` has one real value: numbers, NumPy's too, but neither complex ones nor text nor types."""
    refused: tuple[type, ...] = (np.complexfloating, np.ndarray, str, type)
    has_extents = bool(getattr(value, "shape", ()))  # arrays of other libraries, and lp.Array
    return hasattr(value, "__float__") and not isinstance(value, refused) and not has_extents


def integer_of(value: object) -> int | None:
    """Returns `value` as a Python int if it is an integer or a bool, Python's or NumPy's; else None."""
    integers: tuple[type, ...] = (int, np.integer, np.bool_)
    return int(cast(int, value)) if isinstance(value, integers) else None


def _as_double(number: float) -> float:
    """Returns a number, and infinity for an integer that no double reaches."""
    try:
        float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
    return number


def _saturate(value: float, target: ScalarType) -> int:
    """Returns `value` as the bits of integer type `target` hold it."""
    integer = integer_of(value)
    if integer is not None:
        low_bits = integer & ((1 << target.bits) - 1)
        return low_bits - (1 << target.bits) if low_bits > target.maximum else low_bits
    number = float(value)
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return target.maximum if number > 0 else target.minimum
    return min(max(int(number), target.minimum), target.maximum)


def _bfloat16_dtype() -> np.dtype[Any] | None:
    """Returns ml_dtypes' bfloat16, or None where the optional package is missing."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(cast(Any, ml_dtypes).bfloat16)


_NUMPY_NAME: dict[Kind, str] = {"int": "int", "uint": "uint", "float": "float"}

bool_ = ScalarType("bool_", "bool", 8)
i8 = ScalarType("i8", "int", 8)
i16 = ScalarType("i16", "int", 16)
i32 = ScalarType("i32", "int", 32)
i64 = ScalarType("i64", "int", 64)
u8 = ScalarType("u8", "uint", 8)
u16 = ScalarType("u16", "uint", 16)
u32 = ScalarType("u32", "uint", 32)
u64 = ScalarType("u64", "uint", 64)
f16 = ScalarType("f16", "float", 16)
bf16 = ScalarType("bf16", "float", 16)
f32 = ScalarType("f32", "float", 32)
f64 = ScalarType("f64", "float", 64)

SCALAR_TYPES: dict[str, ScalarType] = {
    t.spelling: t for t in (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
}
"""Every scalar type by its spelling."""

PYTHON_TYPES: dict[type, ScalarType] = {int: i32, float: f32, bool: bool_}
"""What Python's own types mean in annotations and as conversions of a kernel."""


def scalar_type(spelling: str) -> ScalarType:
    """Returns the scalar type spelt `spelling`; KeyError where there is none."""
    return SCALAR_TYPES[spelling]


class ShapedType(Type):
    """Base of the fixed arrays: of numbers, and of vectors and structs."""

    __slots__ = ()
    shape: tuple[int, ...]
    """Lengths, slowest dimension first."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, repr=False)
class FixedArrayType(ShapedType):
    """A value of fixed shape (SYCL's ``marray``), C order.

    Made by ``lp.FixedArray[element, n, …]``.

    Args:
        element: type of one element.
        shape: at least one length, each at least 1, slowest dimension first.
    """

    element: ScalarType
    shape: tuple[int, ...]

    @property
    def spelling(self) -> str:
        """``FixedArray[f32, 3, 3]``."""
        return f"FixedArray[{self.element.spelling}, {', '.join(map(str, self.shape))}]"

    @property
    def nbytes(self) -> int:
        """Bytes of a value in host memory."""
        return self.size * self.element.itemsize

    def row(self, depth: int) -> FixedArrayType | ScalarType:
        """Returns the type of what `depth` indices leave: an array of fewer dimensions, or an element."""
        rest = self.shape[depth:]
        return FixedArrayType(self.element, rest) if rest else self.element

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy subarray dtype: ``np.zeros(n, lp.FixedArray[lp.f32, 3].dtype)`` has shape (n, 3)."""
        return np.dtype((self.element.dtype, self.shape))

    def __call__(self, *values: object) -> NDArray[Any]:
        """Makes a host value.

        Args:
            values: nothing for zeros; one number for every element; one nested sequence or ndarray of this
                shape; or the parts along dimension 0.

        Raises:
            KernelArgumentError: the values do not fit the type.
        """
        from .host_values import fixed_array_value

        return fixed_array_value(self, values, "value")

    def __repr__(self) -> str:
        return f"lp.FixedArray[{self.element!r}, {', '.join(map(str, self.shape))}]"


def array_spelling(kind: Type) -> str:
    """Returns how arrays spell a type of elements.

    NumPy has one dtype for ``FixedArray[f32, 4]`` and ``Vec[f32, 4]``; so have arrays.
    """
    if isinstance(kind, FixedArrayType) and kind.ndim == 1 and kind.size in VECTOR_SIZES:
        return f"Vec[{kind.element.spelling}, {kind.size}]"
    return kind.spelling


def scalar_of(value: object) -> ScalarType | None:
    """Returns the scalar type that `value` stands for (``lp.f32``; Python's int, float, bool), or None."""
    if isinstance(value, ScalarType):
        return value
    return PYTHON_TYPES.get(value) if isinstance(value, type) else None


_LONGEST_ALIAS = 64
"""Aliases of aliases that are followed: ``type A = A`` has no end."""


def unaliased(annotation: object) -> object:
    """Returns what ``type Real = lp.f32`` and ``Annotated[lp.f32, "metres"]`` stand for; anything else as it is.

    An alias of a name that does not exist, or of itself, stays what it is: no type.
    """
    found = annotation
    for _ in range(_LONGEST_ALIAS):
        if type(found).__name__ == "TypeAliasType":  # which Python 3.11 has not
            try:
                found = cast(Any, found).__value__
            except Exception:  # whatever the text behind the sign says: it is evaluated here
                return annotation
        elif get_origin(found) is Annotated:
            found = cast(Any, found).__origin__
        else:
            return found
    return annotation


@dataclass(frozen=True, repr=False)
class ArrayType(Type):
    """An array parameter: storage on the device, C order, dimension 0 slowest.

    Args:
        element: type of one element: a scalar, vector or struct type.
        ndim: 1 to 8.
        access: what the kernel may do with it.
    """

    element: Type
    ndim: int = 1
    access: Access = "read_write"

    @property
    def spelling(self) -> str:
        """``Array[f32, 2]``, ``In[f32]``, ``Out[f32]``."""
        if self.access == "constant":
            return f"In[{self.element}, {self.ndim}, constant_buffer]"
        return f"{_SPELLED[self.access]}[{self.element}{f', {self.ndim}' if self.ndim != 1 else ''}]"

    @property
    def element_spelling(self) -> str:
        """How arrays spell their elements."""
        return array_spelling(self.element)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return cast("ScalarType", self.element).dtype

    @property
    def is_readable(self) -> bool:
        """Whether the kernel may load from it."""
        return self.access != "write"

    @property
    def is_writable(self) -> bool:
        """Whether the kernel may store to it."""
        return self.access in ("write", "read_write")

    def __repr__(self) -> str:
        if self.access == "constant":
            return f"lp.In[{self.element!r}, {self.ndim}, lp.Target.CONSTANT_BUFFER]"
        return f"lp.{_SPELLED[self.access]}[{self.element!r}{f', {self.ndim}' if self.ndim != 1 else ''}]"
