"""Reading specialization constants: `spec_constant.get` of a symbol that the module declares."""

from __future__ import annotations

from functools import reduce

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from ..ir.dialects.spec_constant import HOST_DTYPES, HOST_LAYOUT, DeclareOp, GetOp
from ..ir.dialects.spirv.composite import CompositeExtractOp
from ..ir.dialects.spirv.types import ArrayType
from ..ir.dialects.spirv.types import StructType as SpirvStructType
from .aspect_lowering import use_struct
from .composite_arrays import gathered
from .composites import typed_value_of
from .fixed_arrays import fixed_array_type
from .function_builder import FunctionBuilder
from .ir_types import constant_attribute, ir_type
from .spec_constant import SpecializationId
from .struct_types import StructType, scalar_leaves, size_of
from .struct_values import leaf_values
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Value
from .vector_types import CompositeArrayType, VecType


def read_specialization(fb: FunctionBuilder, constant: SpecializationId) -> Value:
    """Returns the value that a specialization constant has in a pipeline."""
    kind = constant.type
    use_struct(fb, kind)
    if fb.is_dry:
        return typed_value_of(kind)
    if constant.symbol not in fb.module.spec_constants:
        fb.module.spec_constants[constant.symbol] = declaration(fb, constant)
    symbol = SymbolRefAttr(constant.symbol)
    ir = _ir_type(kind)
    ssa = fb.prologue_value(("spec", constant.symbol), GetOp, ir, properties={"constant": symbol})
    return _parts(fb, ssa, kind, ())


def _parts(fb: FunctionBuilder, ssa: SSAValue, kind: Type, path: tuple[int, ...]) -> Value:
    """Returns the value at a path of a constant; each part is read from it once per function."""
    if isinstance(kind, VecType):
        items = [_parts(fb, ssa, kind.element, (*path, i)) for i in range(kind.size)]
        return Composite(tuple(items), kind)
    if isinstance(kind, StructType):
        items = [_parts(fb, ssa, field.type, (*path, i)) for i, field in enumerate(kind.fields)]
        return Composite(tuple(items), kind)
    if isinstance(kind, CompositeArrayType):
        elements = [_parts(fb, ssa, kind.element, (*path, *index)) for index in np.ndindex(*kind.shape)]
        with fb.into(fb.prologue):
            return gathered(fb, kind, elements)
    assert isinstance(kind, ScalarType | FixedArrayType)
    part = ssa
    if path:
        indices = ArrayAttr([IntegerAttr(i, i32) for i in path])
        part = fb.prologue_value(
            ("part", ssa, path),
            CompositeExtractOp,
            _ir_type(kind),
            operands=(ssa,),
            properties={"indices": indices},
        )
    return FixedArray(kind, part) if isinstance(kind, FixedArrayType) else Scalar(kind, part)


def _ir_type(kind: Type) -> Attribute:
    if isinstance(kind, FixedArrayType):
        return fixed_array_type(kind)
    if isinstance(kind, CompositeArrayType):
        return reduce(ArrayType.get, reversed(kind.shape), _ir_type(kind.element))
    if isinstance(kind, VecType) and not 2 <= kind.size <= 4:
        return fixed_array_type(FixedArrayType(kind.element, (kind.size,)))
    if isinstance(kind, VecType):
        return VectorType(ir_type(kind.element), [kind.size])
    if isinstance(kind, StructType):
        return SpirvStructType.get(
            [_ir_type(field.type) for field in kind.fields], kind.name if kind.name.isascii() else ""
        )
    assert isinstance(kind, ScalarType)
    return ir_type(kind)


def declaration(fb: FunctionBuilder, constant: SpecializationId) -> DeclareOp:
    """Returns the module-level declaration, located at its first use."""
    kind = constant.type
    kinds = [scalar for _, scalar, _ in scalar_leaves(kind)]
    values = leaf_values(kind, constant.default, "the default")
    leaves = [constant_attribute(value, scalar) for value, scalar in zip(values, kinds, strict=True)]
    op = DeclareOp.create(
        properties={
            "sym_name": StringAttr(constant.symbol),
            "const_type": _ir_type(kind),
            "default": ArrayAttr(leaves),
            "short_name": StringAttr(constant.name),
            "lapilli_type": StringAttr(str(kind)),
        },
        location=fb.location(),
    )
    if any(isinstance(part, StructType) for part in (kind, getattr(kind, "element", None))):
        offsets = [offset for _, _, offset in scalar_leaves(kind)]
        op.attributes[HOST_LAYOUT] = DenseArrayBase.from_list(i32, [*offsets, size_of(kind)])
        op.attributes[HOST_DTYPES] = ArrayAttr([StringAttr(scalar.spelling) for scalar in kinds])
    return op
