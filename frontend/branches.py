"""Two-way branches: `scf.if` whose results are the values and variables that the two sides leave behind.

Sides that only compute (no load, call, store or loop) become selects: nothing to jump for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from operator import is_

from ..ir.create import empty_block
from .analysis import FLAGS
from .conversions import adapt, convert
from .fixed_arrays import whole_of
from .function_builder import FunctionBuilder
from .ir_types import BOOL, I32
from .joins import Arm, IncompatibleError, Join, filled, filled_value
from .literal_choices import chosen_type, with_choice
from .promotion import join
from .types import ScalarType
from .values import Array, Binding, FixedArray, Scalar, Tuple, Value, describe


def build_arm(fb: FunctionBuilder, build: Callable[[], Value | None]) -> Arm:
    """Compiles one side into a block of its own, with a copy of the variables."""
    block, outer = empty_block(), fb.env
    fb.env = dict(outer)
    with fb.into(block):
        value = build()
    arm = Arm(block, fb.env, value, any(_is_true(fb.env.get(flag)) for flag in FLAGS))
    fb.env = outer
    return arm


def _is_true(binding: Binding | None) -> bool:
    return isinstance(binding, Scalar) and binding.const is True


def names_that_differ(first: Mapping[str, Binding], second: Mapping[str, Binding]) -> list[str]:
    """Returns the variables that are not the same object in both: most often none."""
    if list(first) == list(second) and all(map(is_, first.values(), second.values())):
        return []
    return [name for name in {**first, **second} if first.get(name) is not second.get(name)]


def select_values(
    fb: FunctionBuilder,
    test: Scalar,
    if_true: Callable[[], Value],
    if_false: Callable[[], Value],
    node: ast.AST,
) -> Value:
    """Emits a choice between two expressions; only the chosen one is evaluated, as far as anyone can tell.

    Raises:
        CompileError: the two values have no common type.
    """
    if fb.is_dry:
        return _joined(fb, if_true(), if_false(), node)
    before = fb.env
    arms = (build_arm(fb, if_true), build_arm(fb, if_false))
    first, second = arms[0].value, arms[1].value
    assert first is not None and second is not None
    for arm, value, other in ((arms[0], first, second), (arms[1], second, first)):
        outer = fb.env
        fb.env = arm.env
        with fb.into(arm.block):
            arm.value = _unified(fb, value, other, node)
        fb.env = outer
    changed = sorted(names_that_differ(arms[0].env, arms[1].env))
    assert before is fb.env
    results = branch(fb, test, arms[0], arms[1], changed, node)
    assert results is not None
    if isinstance(results, Scalar) and results.const is None and isinstance(node, ast.IfExp):
        return with_choice(fb, results, test, first, second)
    return results


def _joined(fb: FunctionBuilder, left: Value, right: Value, node: ast.AST) -> Value:
    """Returns a value of the type that the choice between two has, while types are inferred."""
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return Scalar(joined_type(fb, left, right, node))
    if isinstance(left, Tuple) and isinstance(right, Tuple) and left.matches(right):
        return left.with_items(_joined(fb, a, b, node) for a, b in zip(left.items, right.items, strict=True))
    return whole_of(fb, left) if isinstance(left, FixedArray) else left


def joined_type(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> ScalarType:
    """Returns the type that a choice between two values has.

    Raises:
        CompileError: they have none in common.
    """
    scalar = join(left.type, right.type)
    if scalar is None:
        if BOOL in (left.type, right.type):  # a bool beside a number is an i32, as in arithmetic
            numbers = [I32 if v.type is BOOL else v.type for v in (left, right)]
            scalar = join(numbers[0], numbers[1])
        if scalar is None:
            raise fb.error(
                node,
                f"the two sides have no common type: {describe(left)} and {describe(right)}",
                "LP2034",
                hint="convert one of them",
            )
    return scalar


def _unified(fb: FunctionBuilder, value: Value, other: Value, node: ast.AST) -> Value:
    """Brings one side's value to the type that both sides have together."""
    if isinstance(value, Scalar) and isinstance(other, Scalar):
        scalar = joined_type(fb, value, other, node)
        if value.type is BOOL and scalar is not BOOL:
            value = convert(fb, value, I32)
        if not scalar.bits:  # two literals that differ
            same = value.const == other.const and value.type is other.type
            return value if same else adapt(fb, value, chosen_type(value, other), node)
        return adapt(fb, value, scalar, node)
    if isinstance(value, Tuple) and isinstance(other, Tuple) and value.matches(other):
        pairs = zip(value.items, other.items, strict=True)
        return value.with_items(_unified(fb, a, b, node) for a, b in pairs)
    return whole_of(fb, value) if isinstance(value, FixedArray) else value


def branch(
    fb: FunctionBuilder, test: Scalar, then: Arm, other: Arm, names: Iterable[str], node: ast.AST
) -> Value | None:
    """Puts two compiled sides under a condition, and the variables `names` that they leave into `fb.env`.

    Returns:
        The value of the branch where the sides have one.
    """
    join_ = Join(fb, test, then, other, node)
    bound = [(name, join_.binding(name)) for name in names]
    value = None
    if then.value is not None and other.value is not None:
        try:
            value = join_.value(then.value, other.value, "the value")
        except IncompatibleError as error:
            raise fb.error(
                node,
                str(error),
                "LP2033",
                hint="choose between numbers: x[i] if c else y[i], or write an if with both"
                if isinstance(then.value, Array)
                else "choose between numbers or tuples of them",
            ) from None
    results = join_.emit()
    for name, merged in bound:
        if merged is None:
            fb.env.pop(name, None)
        else:
            fb.env[name] = filled(merged, results)
    return None if value is None else filled_value(value, results)
