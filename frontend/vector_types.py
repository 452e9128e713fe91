"""Vector types: ``lp.Vec[lp.f32, 4]`` and its short names ``lp.f32x4``.

A vector is 1, 2, 3, 4, 8 or 16 scalars of one type.  On the host it is a NumPy array of shape (n,); in memory its
components follow each other without padding, as NumPy's ``('<f4', (4,))`` has them.
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
    Type,
    TypeSpelling,
    integer_of,
    scalar_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
