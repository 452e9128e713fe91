"""Reading specialization constants: `spec_constant.get` of a symbol that the module declares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from ..ir.dialects.spec_constant import DeclareOp, GetOp
from .fixed_arrays import fixed_array_type
from .function_builder import FunctionBuilder
from .ir_types import constant_attribute, ir_type
from .spec_constant import SpecializationId
from .types import FixedArrayType, ScalarType
from .values import FixedArray, Scalar, Value


def read_specialization(fb: FunctionBuilder, constant: SpecializationId) -> Value:
    """Returns the value that a specialization constant has in a pipeline."""
    kind = constant.type
    if fb.is_dry:
        return FixedArray(kind, None) if isinstance(kind, FixedArrayType) else Scalar(kind)
    if constant.symbol not in fb.module.spec_constants:
        fb.module.spec_constants[constant.symbol] = declaration(fb, constant)
    symbol = SymbolRefAttr(constant.symbol)
    ir = _ir_type(kind)
    ssa = fb.prologue_value(("spec", constant.symbol), GetOp, ir, properties={"constant": symbol})
    return FixedArray(kind, ssa) if isinstance(kind, FixedArrayType) else Scalar(kind, ssa)


def _ir_type(kind: ScalarType | FixedArrayType) -> Attribute:
    return fixed_array_type(kind) if isinstance(kind, FixedArrayType) else ir_type(kind)


def declaration(fb: FunctionBuilder, constant: SpecializationId) -> DeclareOp:
    """Returns the module-level declaration, located at its first use."""
    kind = constant.type
    element = kind.element if isinstance(kind, FixedArrayType) else kind
    leaves = [constant_attribute(value, element) for value in _leaves(constant.default)]
    return DeclareOp.create(
        properties={
            "sym_name": StringAttr(constant.symbol),
            "const_type": _ir_type(kind),
            "default": ArrayAttr(leaves),
            "short_name": StringAttr(constant.name),
            "lapilli_type": StringAttr(kind.spelling),
        },
        location=fb.location(),
    )


def _leaves(default: Any) -> Iterator[float]:
    """Yields the scalars of a host value in C order."""
    values = cast("list[Any]", default.ravel().tolist()) if hasattr(default, "ravel") else [default]
    for value in values:
        yield value if isinstance(value, int) or not math.isnan(value) else math.nan
