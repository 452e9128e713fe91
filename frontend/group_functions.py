"""``lp.group``: functions of all work-items of a work-group, compiled from `group_library`."""

from __future__ import annotations

import ast
import types as python_types
from functools import cache

from ..ir.aspects import Aspect
from . import group_library
from .arithmetic import binary
from .builtins import expect_count, min_max
from .conversions import condition, convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .helpers import call_helper
from .ir_types import BOOL
from .local_arrays import new_array
from .promotion import settled
from .sub_group_types import is_direct
from .sub_groups import broadcast_lane, operand, operation, work_group_size
from .types import ScalarType
from .values import Scalar, Static, Value

_OPERATORS = {"add": "Add", "mul": "Mult", "and": "BitAnd", "or": "BitOr", "xor": "BitXor"}


@intrinsic("group.reduce", "group.inclusive_scan", "group.exclusive_scan")
def compile_arithmetic(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.group.reduce(v, op)`` and the scans."""
    name = fb.callee
    value = operand(fb, node, arguments[0] if arguments else Static(None, "None"), f"lp.{name}")
    word = operation(fb, node, arguments, value.type)
    function = (
        _reduction(fb, value.type)
        if name == "group.reduce"
        else getattr(group_library, name.partition(".")[2])
    )
    return _call(fb, node, function, {"value": value, "op": Static(word, repr(word))})


@intrinsic("group.broadcast")
def compile_broadcast(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.group.broadcast(v, lane=0)``; the lane is a linear id, the same for all."""
    lane = broadcast_lane(fb, node, arguments)
    value = operand(fb, node.args[0], arguments[0], "lp.group.broadcast")
    return _call(fb, node, group_library.broadcast, {"value": value, "lane": lane})


@intrinsic("group.any", "group.all")
def compile_vote(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.group.any(c)`` and ``all``."""
    name = fb.callee
    expect_count(fb, node, arguments, f"lp.{name}", 1, 1)
    test = condition(fb, arguments[0], node.args[0])
    word = "or" if name == "group.any" else "and"
    return _call(fb, node, _reduction(fb, BOOL), {"value": test, "op": Static(word, repr(word))})


def _reduction(fb: FunctionBuilder, scalar: ScalarType) -> python_types.FunctionType:
    """Returns how the work-group reduces.

    By sub-groups in one dimension only: lavapipe 22.3 starts a sub-group at every row, and counts them as if
    it did not.  Only what they have instructions for: bf16 would be rounded in another way.
    """
    if (
        is_direct(scalar)
        and fb.module.rank == 1
        and Aspect.VK_SUBGROUP_ARITHMETIC in fb.module.optional_aspects
    ):
        return group_library.reduce_by_sub_groups
    return group_library.reduce_by_tree


def _call(
    fb: FunctionBuilder, node: ast.Call, function: python_types.FunctionType, values: dict[str, Value]
) -> Value:
    fb.uses_barrier = True
    return call_helper(fb, function, node, values)


@intrinsic("group_library.scratch")
def compile_scratch(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Makes the shared array of a group function."""
    value = arguments[0]
    assert isinstance(value, Scalar)
    return new_array(fb, node, [(work_group_size(fb), "the local size")], settled(value.type), is_shared=True)


@intrinsic("group_library.group_size")
def compile_group_size(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Returns the number of work-items of a work-group."""
    return work_group_size(fb)


@intrinsic("group_library.combined")
def compile_combined(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Combines two values of one type."""
    word, left, right = arguments
    assert isinstance(word, Static) and isinstance(word.obj, str) and isinstance(left, Scalar)
    if word.obj in _OPERATORS:
        result = binary(fb, _OPERATORS[word.obj], left, right, node)
        return condition(fb, result, node) if left.type is BOOL else result
    assert isinstance(right, Scalar)
    return min_max(fb, word.obj, left, right, node)


@intrinsic("group_library.identity")
def compile_identity(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Returns what changes nothing when it is combined."""
    word, value = arguments
    assert isinstance(word, Static) and isinstance(word.obj, str) and isinstance(value, Scalar)
    scalar = value.type
    if scalar is BOOL:
        return Scalar(BOOL, const=word.obj == "and")
    return convert(fb, Scalar(scalar, const=_identity(word.obj, scalar)), scalar)


@cache
def _identity(word: str, scalar: ScalarType) -> int | float:
    if word in ("add", "or", "xor", "mul"):
        number = int(word == "mul")
        return float(number) if scalar.is_float else number
    if scalar.is_float:
        return float("inf") if word == "min" else -float("inf")
    if word == "and":
        return -1 if scalar.is_signed else scalar.maximum
    return scalar.maximum if word == "min" else scalar.minimum
