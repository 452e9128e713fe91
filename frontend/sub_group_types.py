"""Values of every type in sub-group operations, whose instructions need only have 32 bits.

Narrower values go through 32 bits: integers wrap to the same bits, f16 and bf16 are combined in f32 and rounded
once.  Integers of 64 bits are passed on in two halves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from .arithmetic import binary
from .builtins import min_max
from .conversions import convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL
from .types import ScalarType, f32, f64, i32, u32, u64
from .values import Scalar, constant

Compute = Callable[[Scalar], Scalar]
"""Emits an operation on one value of 32 bits, a bool or an f64."""


def is_direct(scalar: ScalarType) -> bool:
    """Whether every device that has a type has sub-group instructions for it."""
    return scalar is BOOL or scalar is f64 or scalar.bits == i32.bits


def passed_on(fb: FunctionBuilder, value: Scalar, node: ast.AST, compute: Compute) -> Scalar:
    """Passes a value of any type between work-items by an operation that leaves it as it is."""
    scalar = value.type
    if fb.is_dry or is_direct(scalar):
        return compute(value)
    if scalar.bits < i32.bits:
        return convert(fb, compute(convert(fb, value, _wider(scalar))), scalar)
    bits, half = convert(fb, value, u64), constant(u32.bits)
    low = compute(convert(fb, bits, u32))
    high = compute(convert(fb, _number(binary(fb, "RShift", bits, half, node)), u32))
    upper = binary(fb, "LShift", convert(fb, high, u64), half, node)
    return convert(fb, _number(binary(fb, "BitOr", upper, convert(fb, low, u64), node)), scalar)


def combined(fb: FunctionBuilder, value: Scalar, word: str, node: ast.Call, compute: Compute) -> Scalar:
    """Combines values of any type but 64-bit integers.

    Args:
        value: of this work-item.
        word: what combines them.
        node: the call, for messages.
        compute: emits the reduction or scan.
    """
    scalar = value.type
    if fb.is_dry or is_direct(scalar):
        return compute(value)
    result = compute(convert(fb, value, _wider(scalar)))
    if word in ("min", "max") and scalar.is_integer:
        # Before the first work-item stands the wider type's limit.
        limit = scalar.maximum if word == "min" else scalar.minimum
        result = _number(min_max(fb, word, result, Scalar(result.type, const=limit), node))
    return convert(fb, result, scalar)


def _wider(scalar: ScalarType) -> ScalarType:
    return f32 if scalar.is_float else i32 if scalar.is_signed else u32


def _number(value: object) -> Scalar:
    assert isinstance(value, Scalar)
    return value
