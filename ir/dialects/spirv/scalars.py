"""Questions about the scalars and vectors of SPIR-V, which are builtin types (`i32`, `vector<4xf32>`)."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    VectorType,
)
from xdsl.ir import Attribute

from ...narrowing import is_integer_type, is_vector_type

_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
_INTEGER_WIDTHS = (8, 16, 32, 64)
_VECTOR_LENGTHS = (2, 3, 4, 8, 16)


def is_bool(type_: Attribute) -> bool:
    """Whether `type_` is the scalar i1."""
    return is_integer_type(type_) and type_.width.data == 1


def is_integer(type_: Attribute) -> bool:
    """Whether `type_` is a scalar integer of a width that SPIR-V has (i1 is no integer there)."""
    return is_integer_type(type_) and type_.width.data in _INTEGER_WIDTHS


def is_float(type_: Attribute) -> bool:
    """Whether `type_` is a scalar floating-point type that SPIR-V has."""
    return type(type_) in _FLOATS


def is_scalar(type_: Attribute) -> bool:
    """Whether `type_` is a bool, integer or float."""
    return is_bool(type_) or is_integer(type_) or is_float(type_)


def has_spirv_length(type_: VectorType[Attribute]) -> bool:
    """Whether SPIR-V has vectors of this shape: one dimension of 2 to 4, for kernels of OpenCL also 8 or 16."""
    shape = type_.get_shape()
    return len(shape) == 1 and shape[0] in _VECTOR_LENGTHS and not type_.get_num_scalable_dims()


def scalar_of(type_: Attribute) -> Attribute:
    """Returns the element type of a vector, any other type itself."""
    return type_.element_type if is_vector_type(type_) else type_


def component_count(type_: Attribute) -> int:
    """Returns the number of components of a vector, 1 for any other type."""
    return type_.get_shape()[0] if is_vector_type(type_) else 1


def bit_width(type_: Attribute) -> int:
    """Returns the bits of a scalar or of all components of a vector; 0 for other types."""
    scalar = scalar_of(type_)
    if is_integer_type(scalar):
        return scalar.width.data * component_count(type_)
    if isinstance(scalar, AnyFloat):
        return scalar.bitwidth * component_count(type_)
    return 0


def is_spirv_type(type_: Attribute) -> bool:
    """Whether values can be of `type_`: scalars, vectors of them, types of this dialect."""
    if is_vector_type(type_):
        return has_spirv_length(type_) and is_scalar(type_.element_type)
    return is_scalar(type_) or type_.name.startswith("spirv.")
