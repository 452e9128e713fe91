"""Arithmetic operators: typing by `promotion`, folding by `folding`, ops of arith."""

from __future__ import annotations

import ast

from xdsl.dialects import arith
from xdsl.ir import Operation

from ..ir.dialects import math
from . import float_division
from .bounds import combine, fitting
from .checks import check_divisor
from .composite_arrays import is_array, shape_of
from .conversions import CMPI, adapt, convert, settle
from .dispatch import expression
from .folding import TooLargeError, fold
from .function_builder import FunctionBuilder
from .integer_division import floor_divide, modulo
from .ir_types import BOOL, F32, I32, WEAK_FLOAT, ir_type
from .literal_choices import meets
from .powers import power
from .promotion import MixedSignsError, low_bits, promote, settled
from .streams import KernelStream, write_statement
from .types import ScalarType, bf16
from .values import Composite, FixedArray, Scalar, Static, Tuple, Value, constant, describe, number_hint
from .vector_operators import by_component

SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "LShift": "<<",
    "RShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
    "MatMult": "@",
}
"""How the source spells an ast operator."""

_INTEGER_OPS: dict[str, type[Operation]] = {
    "Add": arith.AddiOp,
    "Sub": arith.SubiOp,
    "Mult": arith.MuliOp,
    "BitAnd": arith.AndIOp,
    "BitOr": arith.OrIOp,
    "BitXor": arith.XOrIOp,
}
_FLOAT_OPS: dict[str, type[Operation]] = {
    "Add": arith.AddfOp,
    "Sub": arith.SubfOp,
    "Mult": arith.MulfOp,
    "Div": arith.DivfOp,
}
_BITWISE = ("BitAnd", "BitOr", "BitXor")
_SHIFTS = ("LShift", "RShift")
_LONGEST_BASE = 15
"""Digits of a literal that a message writes as a float."""


@expression(ast.BinOp)
def compile_binary(fb: FunctionBuilder, node: ast.BinOp) -> Value:
    """Compiles ``a + b``; long sums lean to the left and are walked without recursion."""
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    value = fb.evaluate(spine[-1].left)
    if isinstance(value, Static) and isinstance(value.obj, KernelStream):
        return write_statement(fb, value.obj, value, list(reversed(spine)))
    for part in reversed(spine):
        right = fb.evaluate(part.right)
        fb.node = part
        value = binary(fb, type(part.op).__name__, value, right, part)
    return value


def binary(fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
    """Emits ``left operator right``.

    Args:
        operator: class name of the ast operator: ``Add``.

    Raises:
        CompileError: operands that the operator does not take.
    """
    if isinstance(left, Scalar) and isinstance(right, Scalar) and left.type is right.type:
        scalar = left.type
        if scalar.is_float and scalar.bits and operator in _FLOAT_OPS:  # the most frequent ones
            return _float_binary(fb, operator, left, right, node)
    if operator == "MatMult":
        from .matrix_products import matrix_product  # few kernels have any
        from .methods import call_operator

        result = call_operator(fb, operator, left, right, node)
        return matrix_product(fb, left, right, node) if result is None else result
    if isinstance(left, Static) or isinstance(right, Static):
        left, right = operand_value(fb, left), operand_value(fb, right)
    if not (isinstance(left, Scalar) and isinstance(right, Scalar)):
        return _binary_of_parts(fb, operator, left, right, node)
    if left.const is not None and right.const is not None and left.is_weak and right.is_weak:
        return _fold_literals(fb, operator, left, right, node)
    if operator in _SHIFTS:
        return _shift(fb, operator, left, right, node)
    if operator in _BITWISE and left.type is BOOL and right.type is BOOL:
        return Scalar(BOOL, fb.emit(_INTEGER_OPS[operator], [fb.ssa(left), fb.ssa(right)], ir_type(BOOL)))
    if operator == "Pow":
        return power(fb, _as_number(fb, left), _as_number(fb, right), node)
    scalar = common_type(fb, left, right, node, f"operator {SYMBOLS[operator]}")
    if operator == "Div" and not scalar.is_float:
        scalar = WEAK_FLOAT if scalar.bits == 0 else F32
    left, right = _to_operand(fb, left, scalar, node), _to_operand(fb, right, scalar, node)
    if scalar.is_float:
        return _float_binary(fb, operator, left, right, node)
    return _integer_binary(fb, operator, left, right)


def _binary_of_parts(fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
    """Emits an operator of vectors, structs, fixed arrays and tuples."""
    if isinstance(left, Composite) or isinstance(right, Composite):
        from .methods import call_operator  # which calls helpers, whose parts come back here

        result = call_operator(fb, operator, left, right, node)
        if result is not None:
            return result
        if is_array(left) or is_array(right):
            return _by_element(fb, operator, left, right, node)
        what = f"operator {SYMBOLS[operator]}"
        return by_component(
            fb, [left, right], node, what, lambda pair: binary(fb, operator, pair[0], pair[1], node)
        )
    if isinstance(left, Tuple) and isinstance(right, Tuple) and operator == "Add":
        return Tuple((*left.items, *right.items))
    if isinstance(left, FixedArray | Scalar) and isinstance(right, FixedArray | Scalar):
        return _by_element(fb, operator, left, right, node)
    from .suggestions import operand_hint  # only for messages

    is_right = isinstance(left, Scalar) or (isinstance(left, Composite) and left.is_vector)
    wrong, other = (right, left) if is_right else (left, right)
    raise fb.error(
        node,
        f"operator {SYMBOLS[operator]} takes numbers and vectors, found {describe(wrong)}",
        "LP2033",
        hint=operand_hint(wrong, other),
    )


def _by_element(fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST) -> Value:
    from .fixed_operators import by_element  # whose conversions use numbers' operators

    return by_element(fb, [left, right], node, lambda pair: binary(fb, operator, pair[0], pair[1], node))


def operand_value(fb: FunctionBuilder, value: Value) -> Value:
    """Returns the id that an item is in arithmetic and comparisons, any other value itself."""
    if not isinstance(value, Static):
        return value
    from .work_item_members import as_index_value

    return as_index_value(fb, value)


def _as_number(fb: FunctionBuilder, value: Scalar) -> Scalar:
    return convert(fb, value, I32) if value.type is BOOL else value


def _to_operand(fb: FunctionBuilder, value: Scalar, scalar: ScalarType, node: ast.AST) -> Scalar:
    if value.type is scalar:
        return value
    if value.is_weak and scalar.is_float and not scalar.bits and value.const is None:
        return Scalar(scalar)
    return adapt(fb, value, scalar, node)


def _fold_literals(fb: FunctionBuilder, operator: str, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    a, b = left.const, right.const
    assert a is not None and b is not None
    if (operator in _BITWISE or operator in _SHIFTS) and (isinstance(a, float) or isinstance(b, float)):
        raise fb.error(node, f"operator {SYMBOLS[operator]} takes integers, found a float literal", "LP2033")
    if operator == "Pow" and isinstance(a, int) and isinstance(b, int) and b < 0:
        raise negative_exponent(fb, node, a)
    if operator in _SHIFTS and b < 0:
        other = ">>" if operator == "LShift" else "<<"
        hint = f"shift the other way: {other} {-b}"
        raise fb.error(node, f"a shift count must not be negative, found {b}", "LP2033", hint=hint)
    if _divides_by_zero(operator, b) and isinstance(a, int) and not fb.is_dry:
        check_divisor(fb, Scalar(I32, const=low_bits(a, I32)), Scalar(I32, const=0))
    try:
        return constant(fold(operator, a, b))
    except TooLargeError:
        raise fb.too_large(node, "the value of this literal expression") from None


def negative_exponent(fb: FunctionBuilder, node: ast.AST, base: int | None = None) -> Exception:
    """Makes the error for ``i ** -1`` of an integer, which may be a literal."""
    return fb.error(
        node,
        "an integer to a negative power is no integer",
        "LP2043",
        hint="convert the base to a float: lp.f32(x) ** -1"
        if base is None or len(str(base)) > _LONGEST_BASE
        else f"write a float: {float(base)} ** -n",
    )


def common_type(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST, what: str) -> ScalarType:
    """Returns the type that two operands meet in.

    Raises:
        CompileError: signed and unsigned integers that no type of the two holds.
    """
    if left.type is right.type and left.type.kind != "bool":
        return left.type
    try:
        common = promote(meets(left, right.type), meets(right, left.type))
    except MixedSignsError:
        signed, unsigned = (left, right) if left.type.is_signed else (right, left)
        names = settled(signed.type).name, unsigned.type.name
        if names[0] == "index":
            names = ("i32", names[1])
        raise fb.error(
            node,
            f"{what} mixes signed lp.{names[0]} with unsigned lp.{names[1]}",
            "LP2034",
            hint=f"convert one operand: lp.{names[1]}(…) or lp.{names[0]}(…)",
        ) from None
    if common.bits == 64 and 8 < min(left.type.bits, right.type.bits) < 64:
        from .wide_tables import note_wide_table  # few kernels mix widths

        note_wide_table(fb, left, right, node)
    return common


def _float_binary(fb: FunctionBuilder, operator: str, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    scalar = left.type
    if operator in _BITWISE:
        raise fb.error(
            node,
            f"operator {SYMBOLS[operator]} takes integers, found {describe(left)}",
            "LP2033",
            hint="convert with lp.i32(…), or reinterpret the bits with lp.bitcast(…, lp.u32); comparisons are joined "
            f"as (a > b) {SYMBOLS[operator]} (c > d)",
        )
    if fb.is_dry:
        return Scalar(scalar)
    if scalar is bf16:  # devices convert bf16 but do not compute in it
        wide = _float_binary(fb, operator, convert(fb, left, F32), convert(fb, right, F32), node)
        return convert(fb, wide, bf16)
    if operator in _FLOAT_OPS:
        return Scalar(scalar, fb.emit(_FLOAT_OPS[operator], [fb.ssa(left), fb.ssa(right)], ir_type(scalar)))
    divide = float_division.floor_divide if operator == "FloorDiv" else float_division.modulo
    return divide(fb, left, right)


def _integer_binary(fb: FunctionBuilder, operator: str, left: Scalar, right: Scalar) -> Scalar:
    scalar = left.type
    bounds = combine(operator, left.bounds, right.bounds, scalar)
    if left.const is not None and right.const is not None and scalar.bits:
        if _divides_by_zero(operator, right.const) and not fb.is_dry:
            check_divisor(fb, left, right)
        value = low_bits(int(fold(operator, left.const, right.const)), scalar)
        return Scalar(scalar, const=value, bounds=(value, value))
    if fb.is_dry:
        return Scalar(scalar, bounds=bounds)
    if operator == "FloorDiv":
        return Scalar(scalar, floor_divide(fb, left, right), bounds=bounds)
    if operator == "Mod":
        return Scalar(scalar, modulo(fb, left, right), bounds=bounds)
    identity = _identity(operator, left, right)
    if identity is not None:
        return Scalar(scalar, identity.ssa, identity.const, identity.bounds)
    ssa = fb.emit(_INTEGER_OPS[operator], [fb.ssa(left), fb.ssa(right)], ir_type(scalar))
    return Scalar(scalar, ssa, bounds=bounds)


def _divides_by_zero(operator: str, divisor: float) -> bool:
    """Whether debug mode finds an integer division although it is folded."""
    return divisor == 0 and isinstance(divisor, int) and operator in ("FloorDiv", "Mod")


def _identity(operator: str, left: Scalar, right: Scalar) -> Scalar | None:
    """Returns the operand that ``x + 0``, ``0 + x``, ``x - 0``, ``x * 1`` and ``1 * x`` are."""
    if (right.const == 0 and operator in ("Add", "Sub")) or (right.const == 1 and operator == "Mult"):
        return left
    if (left.const == 0 and operator == "Add") or (left.const == 1 and operator == "Mult"):
        return right
    return None


def _shift(fb: FunctionBuilder, operator: str, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    """Emits a shift in the type of its left operand; counts are modulo the width, and their sign does not matter."""
    left, right = _as_number(fb, left), _as_number(fb, right)
    for value in (left, right):
        if not value.type.is_integer:
            raise fb.error(
                node,
                f"operator {SYMBOLS[operator]} takes integers, found {describe(value)}",
                "LP2033",
                hint="convert with lp.i32(…); multiply by 2.0 ** n to scale a float",
            )
    if left.is_weak:
        left = adapt(fb, left, right.type if right.type.bits else left.type, node)
    scalar = left.type
    if fb.is_dry or not scalar.bits:
        return Scalar(scalar)
    if right.const is not None:
        count = Scalar(scalar, const=int(right.const) % scalar.bits)
    else:
        mask = fb.constant(scalar.bits - 1, scalar)
        narrowed = fb.ssa(convert(fb, right, scalar))
        count = Scalar(scalar, fb.emit(arith.AndIOp, [narrowed, mask], ir_type(scalar)))
    if left.const is not None and count.const is not None:
        value = low_bits(int(fold(operator, left.const, count.const)), scalar)
        return Scalar(scalar, const=value, bounds=(value, value))
    right_op = arith.ShRSIOp if scalar.is_signed else arith.ShRUIOp
    op = arith.ShLIOp if operator == "LShift" else right_op
    bounds = combine(operator, left.bounds, (0, scalar.bits - 1), scalar) if operator == "RShift" else None
    return Scalar(scalar, fb.emit(op, [fb.ssa(left), fb.ssa(count)], ir_type(scalar)), bounds=bounds)


@expression(ast.UnaryOp)
def compile_unary(fb: FunctionBuilder, node: ast.UnaryOp) -> Value:
    """Compiles ``-a``, ``+a``, ``~a`` and ``not a``."""
    value = fb.evaluate(node.operand)
    if isinstance(value, Composite) and not is_array(value) and not isinstance(node.op, ast.Not):
        from .methods import call_unary

        result = call_unary(fb, type(node.op).__name__, value, node)
        if result is not None:
            return result
        return by_component(fb, [value], node, "a unary operator", lambda part: _unary(fb, node, part[0]))
    if shape_of(value) is not None and not isinstance(node.op, ast.Not):
        from .fixed_operators import by_element

        return by_element(fb, [value], node, lambda part: _unary(fb, node, part[0]))
    return _unary(fb, node, value)


def _unary(fb: FunctionBuilder, node: ast.UnaryOp, value: Value) -> Value:
    from .conversions import condition

    if isinstance(node.op, ast.Not):
        return logical_not(fb, condition(fb, value, node.operand))
    if not isinstance(value, Scalar):
        raise fb.error(
            node,
            f"a unary operator takes a number, found {describe(value)}",
            "LP2033",
            hint=number_hint(value),
        )
    if isinstance(node.op, ast.USub):
        return negate(fb, value)
    if isinstance(node.op, ast.Invert):
        return _invert(fb, value, node)
    return _as_number(fb, value)


def negate(fb: FunctionBuilder, value: Scalar) -> Scalar:
    """Emits ``-value``; the smallest integer stays what it is."""
    value = _as_number(fb, value)
    if value.const is not None and (value.is_weak or value.type.is_float):
        if value.is_weak:
            return constant(-value.const)
        return Scalar(value.type, const=-value.const)
    scalar = value.type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar is bf16:
        return convert(fb, negate(fb, convert(fb, value, F32)), bf16)
    if scalar.is_float:
        return Scalar(scalar, fb.emit(arith.NegfOp, [fb.ssa(value)], ir_type(scalar)))
    return _integer_binary(fb, "Sub", Scalar(scalar, const=0, bounds=(0, 0)), value)


def _invert(fb: FunctionBuilder, value: Scalar, node: ast.AST) -> Scalar:
    value = _as_number(fb, value)
    if not value.type.is_integer:
        hint = "reinterpret the bits: ~lp.bitcast(x, lp.u32)"
        raise fb.error(node, f"operator ~ takes an integer, found {describe(value)}", "LP2033", hint=hint)
    if value.is_weak and value.const is not None:
        return constant(~int(value.const))
    return _integer_binary(
        fb, "BitXor", value, Scalar(value.type, const=-1 if value.type.is_signed else value.type.maximum)
    )


def logical_not(fb: FunctionBuilder, value: Scalar) -> Scalar:
    """Emits ``not value`` of a bool."""
    if value.const is not None:
        return constant(not value.const)
    return Scalar(BOOL, fb.emit(arith.XOrIOp, [value.ssa, fb.constant(True, BOOL)], ir_type(BOOL)))


def absolute(fb: FunctionBuilder, value: Scalar, node: ast.AST) -> Scalar:
    """Emits ``abs(value)``; the smallest integer stays what it is."""
    value = _as_number(fb, value)
    if value.const is not None and value.is_weak:
        return constant(abs(value.const))
    scalar = value.type
    if fb.is_dry or scalar.kind == "uint" or value.is_nonnegative:
        return value
    value = settle(fb, value, node)
    if scalar is bf16:
        return convert(fb, absolute(fb, convert(fb, value, F32), node), bf16)
    if scalar.is_float:
        return Scalar(scalar, fb.emit(math.AbsFOp, [fb.ssa(value)], ir_type(scalar)))
    is_negative = fb.emit(arith.CmpiOp, [fb.ssa(value), fb.constant(0, scalar)], ir_type(BOOL), CMPI["slt"])
    negative = fb.ssa(negate(fb, value))
    bounds = fitting(0, max(-value.bounds[0], value.bounds[1]), scalar) if value.bounds else None
    return Scalar(
        scalar,
        fb.emit(arith.SelectOp, [is_negative, negative, fb.ssa(value)], ir_type(scalar)),
        bounds=bounds,
    )
