"""Comparisons, chained ones included, and the short-circuit operators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from xdsl.dialects import arith

from .arithmetic import binary, common_type, logical_not, operand_value
from .branches import select_values
from .composite_arrays import element_at, is_array, shape_of
from .composites import value_type
from .conversions import CMPF, CMPI, adapt, condition, convert
from .definite import take_names
from .dispatch import expression
from .folding import fold_comparison
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, ir_type
from .struct_types import StructType
from .types import SCALAR_TYPES, bf16
from .values import (
    Array,
    Composite,
    FixedArray,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Value,
    constant,
    describe,
    number_hint,
)
from .vector_operators import by_component
from .work_item_values import IdType

_SIGNED = {"Eq": "eq", "NotEq": "ne", "Lt": "slt", "LtE": "sle", "Gt": "sgt", "GtE": "sge"}
_UNSIGNED = {"Eq": "eq", "NotEq": "ne", "Lt": "ult", "LtE": "ule", "Gt": "ugt", "GtE": "uge"}
_FLOAT = {"Eq": "oeq", "NotEq": "une", "Lt": "olt", "LtE": "ole", "Gt": "ogt", "GtE": "oge"}
SYMBOLS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
"""How the source spells a comparison."""
_WORDS = {"Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}
"""How it spells the others."""


@expression(ast.Compare)
def compile_comparison(fb: FunctionBuilder, node: ast.Compare) -> Value:
    """Compiles ``a < b`` and ``a < b < c``: each operand once, and none after a comparison that fails."""
    left = fb.evaluate(node.left)
    return _chain(fb, node, left, 0)


def _chain(fb: FunctionBuilder, node: ast.Compare, left: Value, position: int) -> Value:
    right_node = node.comparators[position]
    left, right = operand_value(fb, left), operand_value(fb, fb.evaluate(right_node))
    by_method = _by_method(fb, node.ops[position], left, right, node)
    if by_method is not None:
        if position + 1 == len(node.ops):
            return by_method
        return _and_rest(fb, node, condition(fb, by_method, node), right, position)
    has_one_truth = isinstance(node.ops[position], ast.Eq | ast.NotEq) and (
        _are_ids(left, right)  # equal in every dimension or not, as SYCL has it
        or _are_structs(left, right)  # equal in every member or not, as on the host
    )
    is_of_parts = any(isinstance(v, Composite | FixedArray) for v in (left, right)) and not has_one_truth
    if is_of_parts and type(node.ops[position]).__name__ in SYMBOLS:
        return _compare_parts(fb, node, left, right)
    first = compare(fb, node.ops[position], left, right, node)
    return first if position + 1 == len(node.ops) else _and_rest(fb, node, first, right, position)


def _by_method(
    fb: FunctionBuilder, operator: ast.cmpop, left: Value, right: Value, node: ast.AST
) -> Value | None:
    """Returns what the method of a struct says of a comparison, None where there is none."""
    if not any(isinstance(v, Composite) and isinstance(v.type, StructType) for v in (left, right)):
        return None
    from .methods import call_comparison  # which calls helpers

    return call_comparison(fb, type(operator).__name__, left, right, node)


def _and_rest(fb: FunctionBuilder, node: ast.Compare, first: Scalar, right: Value, position: int) -> Value:
    """Compiles the comparisons behind the one at `position`, where that one holds."""
    if first.const is not None:
        return _chain(fb, node, right, position + 1) if first.const else first
    rest = select_values(
        fb, first, lambda: _chain(fb, node, right, position + 1), lambda: constant(False), node
    )
    assert isinstance(rest, Scalar)
    return rest


def _are_ids(left: Value, right: Value) -> bool:
    """Whether an id is compared with an id or a tuple."""
    if not (isinstance(left, Tuple) and isinstance(right, Tuple)):
        return False
    return any(isinstance(v, Composite) and isinstance(v.type, IdType) for v in (left, right))


def _are_structs(left: Value, right: Value) -> bool:
    """Whether two structs of one type are compared."""
    return (
        isinstance(left, Composite)
        and isinstance(right, Composite)
        and isinstance(left.type, StructType)
        and left.type == right.type
    )


def _compare_parts(fb: FunctionBuilder, node: ast.Compare, left: Value, right: Value) -> Value:
    """Compares component by component, or element by element: bools of the same shape, for `lp.select`."""
    if len(node.ops) > 1:
        raise fb.error(
            node,
            "comparisons of vectors and fixed arrays are not chained: they have no single truth",
            "LP2030",
            hint="compare twice, and join the results with &",
        )

    def compute(pair: Sequence[Value]) -> Value:
        return compare(fb, node.ops[0], pair[0], pair[1], node)

    if any(isinstance(v, FixedArray) or is_array(v) for v in (left, right)):
        from .fixed_operators import by_element  # whose conversions use numbers' operators

        return by_element(fb, [left, right], node, compute)
    name = type(node.ops[0]).__name__
    return by_component(fb, [left, right], node, f"operator {SYMBOLS.get(name, name)}", compute)


def compare(fb: FunctionBuilder, operator: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Scalar:
    """Emits one comparison.

    Raises:
        CompileError: ``is``, ``in`` of what is no tuple and no range, or operands that are no numbers.
    """
    name = type(operator).__name__
    if name in ("In", "NotIn") and isinstance(right, Tuple) and not isinstance(right, Composite):
        return _is_among(fb, name, left, right, node)
    if name in ("In", "NotIn") and isinstance(left, Scalar) and isinstance(right, RangeValue):
        return _is_in_range(fb, name, left, right, node)
    if name in ("Is", "IsNot") and (_is_none(left) or _is_none(right)):
        return constant((_is_none(left) and _is_none(right)) == (name == "Is"))
    if name not in SYMBOLS:
        word = _WORDS[name]
        if name.startswith("Is"):
            raise fb.error(node, f"kernels have no operator '{word}'", "LP2030", hint="use ==")
        raise fb.error(
            node,
            f"operator '{word}' looks into a tuple or a range, found {describe(right)}",
            "LP2030",
            hint="go through an array in a loop"
            if isinstance(right, Array)
            else "any(v == x) looks into a vector or a fixed array",
        )
    if isinstance(left, Tuple) and isinstance(right, Tuple) and name in ("Eq", "NotEq"):
        by_method = _by_method(fb, operator, left, right, node)  # of an item
        if by_method is not None:
            return condition(fb, by_method, node)
        return _compare_tuples(fb, name, left, right, node)
    if isinstance(left, Static) and isinstance(right, Static):
        return _compare_static(fb, name, left, right, node)
    if not (isinstance(left, Scalar) and isinstance(right, Scalar)):
        wrong = right if isinstance(left, Scalar) else left
        raise fb.error(
            node,
            f"operator {SYMBOLS[name]} compares numbers, found {describe(wrong)}",
            "LP2033",
            hint="a value of a kernel is never None: leave the test out, or write 'is None' of a default"
            if _is_none(wrong)
            else number_hint(wrong),
        )
    return compare_scalars(fb, name, left, right, node)


def _is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.obj is None


def _compare_static(fb: FunctionBuilder, name: str, left: Static, right: Static, node: ast.AST) -> Scalar:
    """Compares types and strings: ``if a.dtype == lp.f32`` chooses code while compiling."""
    if name in ("Eq", "NotEq"):
        return constant((left.obj == right.obj) == (name == "Eq"))
    raise fb.error(node, f"operator {SYMBOLS[name]} compares numbers, found {describe(left)}", "LP2033")


def _compare_tuples(fb: FunctionBuilder, name: str, left: Tuple, right: Tuple, node: ast.AST) -> Scalar:
    if len(left.items) != len(right.items):
        return constant(name == "NotEq")
    items = zip(left.items, right.items, strict=True)
    pairs = (pair for item in items for pair in _elements(fb, *item, node))
    result = all_of(fb, [compare(fb, ast.Eq(), a, b, node) for a, b in pairs])
    return result if name == "Eq" else logical_not(fb, result)


def _is_among(fb: FunctionBuilder, name: str, left: Value, right: Tuple, node: ast.AST) -> Scalar:
    """Compares with every item of a tuple: ``c in (a, b)``."""
    result = any_of(fb, [compare(fb, ast.Eq(), left, item, node) for item in right.items])
    return result if name == "In" else logical_not(fb, result)


def _is_in_range(fb: FunctionBuilder, name: str, left: Scalar, right: RangeValue, node: ast.AST) -> Scalar:
    """Compares with the ends of a range, and where its step leaves numbers out, the distance with the step."""
    step = right.step.const
    if not left.type.is_integer or not isinstance(step, int):
        found = "a step that is known at run time only" if left.type.is_integer else describe(left)
        raise fb.error(
            node,
            f"operator 'in' looks for an integer in a range of known step, found {found}",
            "LP2030",
            hint="compare with the ends: low <= x < high",
        )
    first, last = ("GtE", "Lt") if step > 0 else ("LtE", "Gt")
    truths = [
        compare_scalars(fb, first, left, right.start, node),
        compare_scalars(fb, last, left, right.stop, node),
    ]
    if abs(step) > 1:
        ends = (left, right.start) if step > 0 else (right.start, left)
        truths.append(_is_multiple(fb, binary(fb, "Sub", *ends, node), abs(step), node))
    result = all_of(fb, truths)
    return result if name == "In" else logical_not(fb, result)


def _is_multiple(fb: FunctionBuilder, distance: Value, step: int, node: ast.AST) -> Scalar:
    """Returns whether steps lead over a distance, of any bits where it is below 0."""
    assert isinstance(distance, Scalar)
    if not distance.is_weak:  # the difference of two signed numbers fits the unsigned type alone
        distance = convert(fb, distance, SCALAR_TYPES[f"u{distance.type.bits}"])
        if step > distance.type.maximum:
            return compare_scalars(fb, "Eq", distance, constant(0), node)
    rest = binary(fb, "Mod", distance, constant(step), node)
    assert isinstance(rest, Scalar)
    return compare_scalars(fb, "Eq", rest, constant(0), node)


def _elements(fb: FunctionBuilder, left: Value, right: Value, node: ast.AST) -> Iterator[tuple[Value, Value]]:
    """Yields what has to be equal for two items to be: fixed arrays of one type are compared by their elements."""
    shape = shape_of(left)
    is_alike = shape is not None and shape == shape_of(right) and value_type(left) == value_type(right)
    if shape is None or not is_alike:
        yield left, right
        return
    for index in np.ndindex(*shape):
        path = [constant(i) for i in index]
        yield element_at(fb, left, path), element_at(fb, right, path)


def any_of(fb: FunctionBuilder, truths: Iterable[Scalar]) -> Scalar:
    """Returns whether one of some bools is true; nothing is emitted for those that are known."""
    return _joined(fb, truths, arith.OrIOp, decisive=True)


def all_of(fb: FunctionBuilder, truths: Iterable[Scalar]) -> Scalar:
    """Returns whether all of some bools are true; nothing is emitted for those that are known."""
    return _joined(fb, truths, arith.AndIOp, decisive=False)


def _joined(
    fb: FunctionBuilder,
    truths: Iterable[Scalar],
    operation: type[arith.OrIOp | arith.AndIOp],
    *,
    decisive: bool,
) -> Scalar:
    result = constant(not decisive)
    for truth in truths:
        if truth.const is decisive or result.const is (not decisive):
            result = truth
        elif result.const is None and truth.const is None:
            result = Scalar(BOOL, fb.emit(operation, [fb.ssa(result), fb.ssa(truth)], ir_type(BOOL)))
    return result


def compare_scalars(fb: FunctionBuilder, name: str, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    """Emits a comparison of two numbers or bools.

    Args:
        name: class name of the ast operator: ``Lt``.
    """
    is_known = left.const is not None and right.const is not None
    if is_known and (left.type is right.type or (left.is_weak and right.is_weak)):
        return _known_comparison(name, left, right)
    if left.type is BOOL and right.type is BOOL and name in ("Eq", "NotEq"):
        predicate = CMPI["eq" if name == "Eq" else "ne"]
        return Scalar(BOOL, fb.emit(arith.CmpiOp, [fb.ssa(left), fb.ssa(right)], ir_type(BOOL), predicate))
    scalar = common_type(fb, left, right, node, f"operator {SYMBOLS[name]}")
    left, right = adapt(fb, left, scalar, node), adapt(fb, right, scalar, node)
    if is_known:  # in their common type: 0.1 beside an f32 is an f32
        return _known_comparison(name, left, right)
    if fb.is_dry:
        return Scalar(BOOL)
    if scalar.is_float:
        if scalar is bf16:
            left, right = convert(fb, left, F32), convert(fb, right, F32)
        op, predicate = arith.CmpfOp, CMPF[_FLOAT[name]]
    else:
        table = _SIGNED if scalar.is_signed else _UNSIGNED
        op, predicate = arith.CmpiOp, CMPI[table[name]]
    return Scalar(BOOL, fb.emit(op, [fb.ssa(left), fb.ssa(right)], ir_type(BOOL), predicate))


def _known_comparison(name: str, left: Scalar, right: Scalar) -> Scalar:
    assert left.const is not None and right.const is not None
    return constant(fold_comparison(name, left.const, right.const))


@expression(ast.BoolOp)
def compile_bool_op(fb: FunctionBuilder, node: ast.BoolOp) -> Value:
    """Compiles ``a and b or c``: the value is that of the operand that decided, as in Python."""
    return _short_circuit(fb, node, 0)


def _short_circuit(fb: FunctionBuilder, node: ast.BoolOp, position: int) -> Value:
    value = fb.evaluate(node.values[position])
    if position + 1 == len(node.values):
        return value
    is_and = isinstance(node.op, ast.And)
    test = condition(fb, value, node.values[position])
    if test.const is not None:
        return _short_circuit(fb, node, position + 1) if bool(test.const) == is_and else value

    def rest() -> Value:
        take_names(fb, node.values[position], is_and)
        return _short_circuit(fb, node, position + 1)

    def this() -> Value:
        return constant(not is_and) if isinstance(value, Scalar) and value.type is BOOL else value

    return select_values(fb, test, rest if is_and else this, this if is_and else rest, node)


@expression(ast.IfExp)
def compile_conditional(fb: FunctionBuilder, node: ast.IfExp) -> Value:
    """Compiles ``a if c else b``; only the chosen side is evaluated."""
    test = condition(fb, fb.evaluate(node.test), node.test)
    if test.const is not None:
        return fb.evaluate(node.body if test.const else node.orelse)

    def side(outcome: bool) -> Value:
        take_names(fb, node.test, outcome)
        return fb.evaluate(node.body if outcome else node.orelse)

    return select_values(fb, test, lambda: side(True), lambda: side(False), node)
