"""Vector types, ``lp.Vec[lp.f32, 4]`` and its short names ``lp.f32x4``, and fixed arrays of vectors and structs.

A vector is 1, 2, 3, 4, 8 or 16 scalars of one type.  On the host it is a NumPy array of shape (n,); in memory its
components follow each other without padding, as NumPy's ``('<f4', (4,))`` has them.  `CompositeArrayType` is here since
every program loads this file: one of its own would be read at every start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..ir.errors import CompileError, InvalidError
from .types import (
    SCALAR_TYPES,
    VECTOR_SIZES,
    FixedArrayType,
    ScalarType,
    ShapedType,
    Type,
    TypeSpelling,
    integer_of,
    scalar_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .struct_types import StructType

MAX_SHARED_COMPONENTS = 4
"""Of the elements of arrays that a kernel makes."""


@dataclass(frozen=True, repr=False)
class VecType(Type):
    # Some components of one scalar type, as many as `VECTOR_SIZES` says.

    element: ScalarType
    """Type of one component."""
    size: int
    """Number of components."""

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What it is and what it is written for, for ``help``."""
        from .type_texts import text_of_vector

        return text_of_vector(self)

    @property
    def spelling(self) -> str:
        """``Vec[f32, 4]``."""
        return f"Vec[{self.element.spelling}, {self.size}]"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy subarray dtype ``('<f4', (4,))``."""
        return np.dtype((self.element.dtype, (self.size,)))

    @property
    def itemsize(self) -> int:
        """Bytes of a value in memory."""
        return self.size * self.element.itemsize

    def __call__(self, *values: object) -> NDArray[Any]:
        """Makes a host value, an array of shape (size,).

        Args:
            values: nothing for zeros; one number for every component; the components; or one sequence of them.

        Raises:
            KernelArgumentError: the values do not fit the type.
        """
        from .host_values import fixed_array_value

        return fixed_array_value(FixedArrayType(self.element, (self.size,)), values, "value", called=self)

    def __repr__(self) -> str:
        return f"lp.{self.element.spelling}x{self.size}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (vec_type, (self.element.spelling, self.size))


@dataclass(frozen=True, repr=False)
class CompositeArrayType(ShapedType):
    """A value of fixed shape whose elements are vectors or structs, C order.

    In memory its elements follow each other; in kernels it is a fixed array of each component or member (`members`).
    Made by `array_type`, so that arrays of arrays are one array.

    Args:
        element: type of one element.
        shape: at least one length, each at least 1, slowest dimension first.
    """

    element: VecType | StructType
    shape: tuple[int, ...]

    @property
    def spelling(self) -> str:
        """The layout, which is what counts where arrays meet: ``FixedArray[f32, 3, 4]`` of three f32x4."""
        base, lengths = self.layout
        return f"FixedArray[{base.spelling}, {', '.join(map(str, lengths))}]"

    @property
    def layout(self) -> tuple[ScalarType | StructType, tuple[int, ...]]:
        """What lies in memory, and how often: the components of vectors are a dimension more."""
        if isinstance(self.element, VecType):
            return self.element.element, (*self.shape, self.element.size)
        return self.element, self.shape

    @property
    def itemsize(self) -> int:
        """Bytes of a value in memory."""
        return self.size * self.element.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy subarray dtype; components of vectors are a dimension more."""
        base, lengths = self.layout
        return np.dtype((base.dtype, lengths))

    @property
    def members(self) -> tuple[FixedArrayType | CompositeArrayType, ...]:
        """The arrays that hold the components or members of all elements."""
        if isinstance(self.element, VecType):
            return (FixedArrayType(self.element.element, self.shape),) * self.element.size
        return tuple(array_type(field.type, self.shape) for field in self.element.fields)

    def row(self, depth: int) -> CompositeArrayType | VecType | StructType:
        """Returns the type of what `depth` indices leave: an array of fewer dimensions, or an element."""
        rest = self.shape[depth:]
        return CompositeArrayType(self.element, rest) if rest else self.element

    def __call__(self, *values: object) -> NDArray[Any]:
        """Makes a host value: an array of shape (…, components), or of records of the struct.

        Args:
            values: nothing for elements that are zero, or what the struct says; one nested sequence or ndarray of
                the elements; or the parts along dimension 0.

        Raises:
            KernelArgumentError: the values do not fit the type.
        """
        from .struct_values import composite_array_value

        return composite_array_value(self, values, "value")

    def __repr__(self) -> str:
        return f"lp.FixedArray[{self.element!r}, {', '.join(map(str, self.shape))}]"


def array_type(element: Type, shape: tuple[int, ...]) -> FixedArrayType | CompositeArrayType:
    """Returns the type of fixed arrays of a value type; of fixed arrays it is one of more dimensions."""
    if isinstance(element, ScalarType):
        return FixedArrayType(element, shape)
    if isinstance(element, FixedArrayType | CompositeArrayType):
        return array_type(element.element, (*shape, *element.shape))
    return CompositeArrayType(element, shape)  # pyright: ignore[reportArgumentType]  # the types that are left


def vec_type(element: str, size: int) -> VecType:
    """Returns the vector type of scalar type `element`; what unpickles one."""
    return VecType(SCALAR_TYPES[element], size)


class Vec(TypeSpelling):
    """Spelling of `VecType`: ``lp.Vec[lp.f32, 4]``."""

    def __new__(cls, *_: object) -> Vec:
        raise InvalidError(
            "lp.Vec is not called; its type is written with brackets, lp.Vec[lp.f32, 4], "
            "and a value is lp.f32x4(x, y, z, w)"
        )

    def __class_getitem__(cls, parameters: object) -> VecType:
        parts = cast("tuple[object, ...]", parameters if isinstance(parameters, tuple) else (parameters,))
        element = scalar_of(parts[0]) if parts else None
        size = integer_of(parts[1]) if len(parts) == 2 and not isinstance(parts[1], bool) else None
        if element is None or size is None or size not in VECTOR_SIZES:
            found = ", ".join(map(repr, parts))
            raise CompileError(
                f"lp.Vec[element, n]: a scalar type such as lp.f32 and 1, 2, 3, 4, 8 or 16 components; found "
                f"lp.Vec[{found}]",
                code="LP2018",
            )
        return VecType(element, size)


_SIZE_OF = {str(size): size for size in VECTOR_SIZES}


def __getattr__(name: str) -> VecType:
    """Makes a vector type that is asked for by its short name: ``f32x4``, ``boolx2``."""
    element, _, size = name.partition("x")
    if element not in SCALAR_TYPES or size not in _SIZE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = VecType(SCALAR_TYPES[element], _SIZE_OF[size])
    return found
