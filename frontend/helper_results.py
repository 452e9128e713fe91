"""Results of helpers: the values that a call hands over, and the types of results whose arguments are still open.

While types are inferred, a variable that only literals were assigned to so far has no type yet.  A helper that gets it
cannot be compiled; it is walked as its caller is, so that what it returns joins the inference: in
``e = rotate(e, 6) + w[k]`` the type of `e` depends on itself through the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.ir import SSAValue

from ..ir.errors import CompileError
from .analysis import VALUE
from .fixed_arrays import fixed_ssa
from .function_builder import FunctionBuilder, UnknownTypeError
from .inference import walk_types
from .names import typed_value
from .types import MOST_NUMBERS
from .values import (
    Array,
    BoundMethod,
    Elements,
    FixedArray,
    Iteration,
    LocalArray,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Value,
    describe,
)


def is_open(values: Iterable[Value]) -> bool:
    """Whether one of the values is a literal whose number is not known."""
    return any(
        is_open(value.items)
        if isinstance(value, Tuple)
        else isinstance(value, Scalar) and value.is_weak and value.const is None
        for value in values
    )


def open_result(helper: FunctionBuilder) -> Value:
    """Returns a value of the type that a helper returns so far; its parameters are bound already.

    Raises:
        UnknownTypeError: it returns nothing, or what is known of its arguments does not do to tell.
    """
    try:
        walk_types(helper)
    except CompileError as error:
        # The error may be about a literal whose type is still open; if it is not, compiling raises it again.
        raise UnknownTypeError from error
    kind = helper.variable_types.get(VALUE)
    if kind is None:
        raise UnknownTypeError
    return typed_value(kind)


def flattened(
    helper: FunctionBuilder, value: Value, leaves: list[SSAValue], *, keeps_constants: bool
) -> Value:
    """Collects the IR values of a result; returns what remains of it without them.

    Raises:
        CompileError: the result is made of what ends with the helper.
    """

    def part(inner: Value) -> Value:
        return flattened(helper, inner, leaves, keeps_constants=keeps_constants)

    match value:
        case Scalar(type=scalar, const=const) if const is None or not (keeps_constants or value.is_weak):
            ssa = helper.ssa(value)
            assert ssa is not None
            leaves.append(ssa)
            return Scalar(scalar, bounds=value.bounds)
        case Tuple(items=items):
            return value.with_items([part(item) for item in items])
        case RangeValue():
            return _with_bounds(value, part)
        case Iteration(rounds=rounds):
            return Iteration(tuple(map(part, rounds)))
        case FixedArray(type=fixed):
            if fixed.size > MOST_NUMBERS:
                from .large_values import note_large_result  # which few programs need

                note_large_result(helper, fixed, helper.node or helper.source.tree)
            ssa = fixed_ssa(helper, value)
            assert ssa is not None
            leaves.append(ssa)
            return FixedArray(fixed, None)
        case LocalArray() if value.parameter < 0:
            raise helper.error(
                None,
                f"'{helper.source.name}' returns an array that it makes",
                "LP2049",
                hint="make the array in the caller and pass it to the helper",
            )
        case Elements() | Static(obj=BoundMethod()):
            raise helper.error(
                None,
                f"'{helper.source.name}' returns {describe(value)}, which is of its own arguments",
                "LP2049",
                hint="write enumerate or zip in the for statement of the caller, and call methods there",
            )
        case _:
            return value


def _with_bounds(value: RangeValue, convert: Callable[[Value], Value]) -> RangeValue:
    """Returns a range with its start, stop and step converted, in this order."""
    start, stop, step = (convert(bound) for bound in (value.start, value.stop, value.step))
    assert isinstance(start, Scalar) and isinstance(stop, Scalar) and isinstance(step, Scalar)
    return RangeValue(start, stop, step, value.is_static, value.is_reversed)


def rebuilt(shape: Value, results: Iterator[SSAValue] | None, arguments: list[Value]) -> Value:
    """Builds the value of a call from its results; `results` is None while types are inferred."""
    match shape:
        case Scalar(type=scalar, const=const) if const is None:
            return Scalar(scalar, None if results is None else next(results), bounds=shape.bounds)
        case FixedArray(type=fixed):
            return FixedArray(fixed, None if results is None else next(results))
        case Tuple(items=items):
            return shape.with_items([rebuilt(item, results, arguments) for item in items])
        case RangeValue():
            return _with_bounds(shape, lambda bound: rebuilt(bound, results, arguments))
        case Iteration(rounds=rounds):
            return Iteration(tuple(rebuilt(item, results, arguments) for item in rounds))
        case Array(parameter=parameter):
            return arguments[parameter]
        case _:
            return shape


def leaves_of(fb: FunctionBuilder, value: Value) -> list[SSAValue]:
    """Returns the operands that an argument is passed as."""
    match value:
        case Scalar() if not value.is_weak:
            ssa = fb.ssa(value)
            assert ssa is not None
            return [ssa]
        case FixedArray():
            ssa = fixed_ssa(fb, value)
            assert ssa is not None
            return [ssa]
        case Array(ssa=ssa) if ssa is not None:
            return [ssa]
        case Tuple(items=items):
            return [leaf for item in items for leaf in leaves_of(fb, item)]
        case _:
            return []
