"""Functions of integers: popcount, clz, ctz, reverse_bits, and of ``lp.math`` mul_hi, add_carry and Python's own.

What they give of literals are literals again, as with functions of floats.
"""

from __future__ import annotations

import ast
import math as python_math
from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from ..ir.dialects.spirv.bit import BitReverseOp
from .arithmetic import absolute, binary, common_type
from .builtins import expect_count, numbers
from .conversions import CMPI, adapt, convert
from .dispatch import intrinsic
from .folding import MAXIMUM_LITERAL_BITS
from .function_builder import FunctionBuilder
from .ir_types import BOOL, I32, INDEX_TYPE, ir_type
from .math_library_calls import call_library
from .types import SCALAR_TYPES, u32, u64
from .values import Scalar, Tuple, Value, constant, describe

_COUNTS: dict[str, type[Operation]] = {
    "popcount": math.CtPopOp,
    "clz": math.CountLeadingZerosOp,
    "ctz": math.CountTrailingZerosOp,
}


def _integers(fb: FunctionBuilder, node: ast.Call, arguments: list[Value], count: int) -> list[Scalar]:
    """Returns the arguments in their common integer type; literals alone are i32, ids and sizes too."""
    name = f"lp.{fb.callee}"
    expect_count(fb, node, arguments, name, count, count)
    values = numbers(fb, node, arguments, name)
    for value, part in zip(values, node.args, strict=True):
        if not value.type.is_integer:
            hint = "convert it: int(…)"
            if value.type.bits:  # bits are asked of, not a literal
                hint += f", or reinterpret its bits: lp.bitcast(…, lp.u{value.type.bits})"
            raise fb.error(part, f"{name} takes integers, found {describe(value)}", "LP2033", hint=hint)
    scalar = values[0].type
    for value in values[1:]:
        scalar = common_type(fb, Scalar(scalar), value, node, name)
    if scalar is INDEX_TYPE or not scalar.bits:
        scalar = I32
    return [adapt(fb, value, scalar, node) for value in values]


@intrinsic(*_COUNTS)
def compile_count(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``popcount(n)``, ``clz(n)`` and ``ctz(n)``: zeros before the first one, all of them in a 0."""
    op = _COUNTS[fb.callee]
    (value,) = _integers(fb, node, arguments, 1)
    bounds = (0, value.type.bits)
    return Scalar(value.type, fb.emit(op, [fb.ssa(value)], ir_type(value.type)), bounds=bounds)


@intrinsic("reverse_bits")
def compile_reverse_bits(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``reverse_bits(n)``; Vulkan reverses 32 bits."""
    (value,) = _integers(fb, node, arguments, 1)
    scalar = value.type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar.bits == 64:
        return Scalar(scalar, _reversed_64(fb, value))
    word = _reversed_word(fb, fb.ssa(convert(fb, _unsigned(value), u32)))
    if scalar.bits < 32:
        word = fb.emit(arith.ShRUIOp, [word, fb.constant(32 - scalar.bits, u32)], ir_type(u32))
        word = fb.emit(arith.TruncIOp, [word], ir_type(scalar))
    return Scalar(scalar, word)


def _unsigned(value: Scalar) -> Scalar:
    """Returns the same bits as an unsigned integer."""
    scalar = SCALAR_TYPES[f"u{value.type.bits}"]
    if value.const is not None:
        return Scalar(scalar, const=int(value.const) & scalar.maximum)
    return Scalar(scalar, value.ssa)


def _reversed_word(fb: FunctionBuilder, word: SSAValue | None) -> SSAValue | None:
    return fb.emit(BitReverseOp, [word], ir_type(u32))


def _reversed_64(fb: FunctionBuilder, value: Scalar) -> SSAValue | None:
    ssa, wide, half = fb.ssa(value), ir_type(u64), fb.constant(32, u64)
    low = _reversed_word(fb, fb.emit(arith.TruncIOp, [ssa], ir_type(u32)))
    upper = fb.emit(arith.ShRUIOp, [ssa, half], wide)
    high = _reversed_word(fb, fb.emit(arith.TruncIOp, [upper], ir_type(u32)))
    shifted = fb.emit(arith.ShLIOp, [fb.emit(arith.ExtUIOp, [low], wide), half], wide)
    return fb.emit(arith.OrIOp, [shifted, fb.emit(arith.ExtUIOp, [high], wide)], wide)


@intrinsic("math.mul_hi")
def compile_mul_hi(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``mul_hi(a, b)``: the upper half of the product."""
    left, right = _integers(fb, node, arguments, 2)
    scalar = left.type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar.bits == 64:
        return call_library(fb, "mul_hi", [left, right], node)
    if scalar.bits == 32:
        op = (arith.MulSIExtendedOp if scalar.is_signed else arith.MulUIExtendedOp).create(
            operands=[v for v in (fb.ssa(left), fb.ssa(right)) if v is not None],
            result_types=[ir_type(scalar)] * 2,
        )
        fb.append(op)
        return Scalar(scalar, op.results[1])
    return _narrow_mul_hi(fb, left, right, node)


def _narrow_mul_hi(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    wide = I32 if left.type.is_signed else u32
    product = binary(fb, "Mult", convert(fb, left, wide), convert(fb, right, wide), node)
    upper = binary(fb, "RShift", product, Scalar(wide, const=left.type.bits), node)
    assert isinstance(upper, Scalar)
    return convert(fb, upper, left.type)


@intrinsic("math.add_carry")
def compile_add_carry(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``total, carry = add_carry(a, b)``: the carry out of the highest bit, 0 or 1 in the type of a and b."""
    left, right = _integers(fb, node, arguments, 2)
    scalar = left.type
    if fb.is_dry:
        return Tuple((Scalar(scalar), Scalar(scalar)))
    total = fb.emit(arith.AddiOp, [fb.ssa(left), fb.ssa(right)], ir_type(scalar))
    carry = fb.emit(arith.CmpiOp, [total, fb.ssa(left)], ir_type(BOOL), CMPI["ult"])
    return Tuple((Scalar(scalar, total), convert(fb, Scalar(BOOL, carry), scalar)))


_OF_PYTHON: dict[str, tuple[int, int]] = {
    "comb": (2, 2),
    "factorial": (1, 1),
    "isqrt": (1, 1),
    "perm": (1, 2),
}
"""Functions of Python's math that take few arguments: the fewest and the most."""


def _factors_of_comb(n: int, k: int) -> int:
    return min(k, n - k)


def _factors_of_perm(n: int, k: int | None = None) -> int:
    return n if k is None else k if k <= n else 0


_FACTORS: dict[str, Callable[..., int]] = {
    "comb": _factors_of_comb,
    "factorial": _factors_of_perm,
    "perm": _factors_of_perm,
}
"""How many numbers Python multiplies; their product has about as many bits at least."""


@intrinsic(*(f"math.{name}" for name in _OF_PYTHON))
def compile_of_python(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``comb(n, k)``, ``factorial(n)``, ``isqrt(n)`` and ``perm(n, k)``, the last also without k."""
    name = fb.callee.removeprefix("math.")
    expect_count(fb, node, arguments, f"lp.{fb.callee}", *_OF_PYTHON[name])
    literal = _folded(fb, name, arguments, node)
    if literal is not None:
        return literal
    operands = _integers(fb, node, arguments, len(arguments))
    return _library(fb, "factorial" if name == "perm" and len(operands) == 1 else name, operands, node)


@intrinsic("math.gcd", "math.lcm")
def compile_divisor(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``gcd(a, b, …)`` and ``lcm(a, b, …)``, of one number its absolute value."""
    name = fb.callee.removeprefix("math.")
    expect_count(fb, node, arguments, f"lp.{fb.callee}", 1, None)
    literal = _folded(fb, name, arguments, node)
    if literal is not None:
        return literal
    first, *others = _integers(fb, node, arguments, len(arguments))
    result = absolute(fb, first, node)
    for value in others:
        result = _library(fb, name, [result, value], node)
    return result


def _folded(fb: FunctionBuilder, name: str, arguments: list[Value], node: ast.Call) -> Scalar | None:
    """Returns a function of literals; None of others, and where Python raises.

    Raises:
        CompileError: no type holds the result; larger ones would keep Python busy.
    """
    literals = [
        v.const for v in arguments if isinstance(v, Scalar) and v.is_weak and isinstance(v.const, int)
    ]
    if len(literals) != len(arguments):
        return None
    value = 1 << MAXIMUM_LITERAL_BITS
    if name not in _FACTORS or _FACTORS[name](*literals) <= MAXIMUM_LITERAL_BITS:
        try:
            value = int(getattr(python_math, name)(*literals))
        except ValueError:
            return None
    if value.bit_length() > MAXIMUM_LITERAL_BITS:
        raise fb.too_large(
            node, f"lp.{fb.callee} of {'this literal' if len(literals) == 1 else 'these literals'}"
        )
    return constant(value)


def _library(fb: FunctionBuilder, name: str, operands: list[Scalar], node: ast.Call) -> Scalar:
    if fb.is_dry:
        return Scalar(operands[0].type)
    result = call_library(fb, name, operands, node)
    assert isinstance(result, Scalar), describe(result)
    return result
