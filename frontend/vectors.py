"""Vectors in kernels: making them, and operators and functions that work component by component."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .arithmetic import binary
from .builtins import expect_count
from .composite_arrays import is_array
from .composites import build_value
from .conversions import convert
from .dispatch import INTRINSICS, intrinsic
from .fixed_arrays import scalars_of
from .function_builder import FunctionBuilder
from .ir_types import I32
from .struct_types import StructType
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Tuple, Value, constant, describe, number_hint
from .vector_operators import by_component, vector_of
from .vector_types import CompositeArrayType, VecType

_NOT_BY_COMPONENT = frozenset(
    ("math.dot", "math.length", "math.normalize", "math.cross", "math.dist", "math.prod")
)
_BY_COMPONENT = (
    "builtins.min",
    "builtins.max",
    "builtins.abs",
    "builtins.round",
    "builtins.pow",
    "select",
    "popcount",
    "clz",
    "ctz",
    "reverse_bits",
    "group.reduce",
    "group.inclusive_scan",
    "group.exclusive_scan",
    "group.broadcast",
    "sub_group.reduce",
    "sub_group.inclusive_scan",
    "sub_group.exclusive_scan",
    "sub_group.broadcast",
    "sub_group.shuffle",
    "sub_group.shuffle_xor",
    "sub_group.shuffle_up",
    "sub_group.shuffle_down",
)


def works_by_component(name: str, argument_count: int) -> bool:
    """Whether an intrinsic or builtin of numbers also takes vectors, component by component."""
    if argument_count == 1 and name in ("builtins.min", "builtins.max"):
        return False  # min(v) is the smallest component of v, as with a tuple
    return name in _BY_COMPONENT or (name.startswith("math.") and name not in _NOT_BY_COMPONENT)


def construct(fb: FunctionBuilder, kind: VecType, arguments: list[Value], node: ast.Call) -> Value:
    """Compiles ``lp.f32x4(…)``: nothing, a number for all components, or components and smaller vectors.

    Raises:
        CompileError: too few or too many components, or something else than numbers and vectors.
    """
    parts: list[Scalar] = []
    for argument, where in zip(arguments, node.args, strict=True):
        found = _numbers(fb, argument, where)
        if found is None:
            raise fb.error(
                where,
                f"{kind!r} is made of numbers and vectors, found {describe(argument)}",
                "LP2033",
                hint="write its items out, without brackets around them"
                if isinstance(argument, Tuple)
                else number_hint(argument),
            )
        parts += found
    if not arguments:
        parts = [constant(0)]
    if len(parts) == 1 and not (arguments and not isinstance(arguments[0], Scalar)):
        parts *= kind.size
    if len(parts) != kind.size:
        raise fb.error(
            node,
            f"{kind!r} takes {kind.size} components, found {len(parts)}",
            "LP2045",
            hint=f"one number fills all: {kind!r}(0.0)",
        )
    return Composite(tuple(convert(fb, part, kind.element) for part in parts), kind)


def _numbers(fb: FunctionBuilder, value: Value, node: ast.AST) -> list[Scalar] | None:
    """Returns the numbers in a number, vector, fixed array or tuple of numbers; None where it is something else."""
    if isinstance(value, Scalar):
        return [value]
    if isinstance(value, FixedArray):
        return scalars_of(fb, value, node)
    if not isinstance(value, Tuple) or (isinstance(value, Composite) and not value.is_vector):
        return None
    numbers = [item for item in value.items if isinstance(item, Scalar)]
    return numbers if len(numbers) == len(value.items) else None


def zero_value(fb: FunctionBuilder, kind: Type) -> Value:
    """Returns a value of all zeros."""

    def zero(scalar: ScalarType) -> Scalar:
        return convert(fb, Scalar(I32, const=0), scalar)

    if isinstance(kind, FixedArrayType):
        return FixedArray(kind, None)
    if isinstance(kind, CompositeArrayType):
        return Composite(tuple(zero_value(fb, member) for member in kind.members), kind)
    assert isinstance(kind, ScalarType | VecType | StructType)
    return build_value(fb, kind, zero)


def _vectors(
    fb: FunctionBuilder, node: ast.Call, arguments: list[Value], count: int, size: int | None = None
) -> list[Composite]:
    """Returns the arguments of a geometric function: vectors of floats of one size."""
    name = f"lp.{fb.callee}"
    expect_count(fb, node, arguments, name, count, count)
    found: list[Composite] = []
    for value, where in zip(arguments, node.args, strict=True):
        if not isinstance(value, Composite) or not isinstance(value.type, VecType):
            raise fb.error(
                where,
                f"{name} takes vectors, found {describe(value)}",
                "LP2033",
                hint="make one of numbers: lp.f32x3(x, y, z)",
            )
        if size is not None and value.type.size != size:
            raise fb.error(where, f"{name} takes vectors of {size}, found {describe(value)}", "LP2033")
        found.append(value)
    if len({len(v.items) for v in found}) > 1:
        sizes = " and ".join(describe(v) for v in found)
        raise fb.error(node, f"{name} takes vectors of one size, found {sizes}", "LP2033")
    return found


def _dot(fb: FunctionBuilder, left: Sequence[Value], right: Sequence[Value], node: ast.AST) -> Value:
    total: Value | None = None
    for a, b in zip(left, right, strict=True):
        product = binary(fb, "Mult", a, b, node)
        total = product if total is None else binary(fb, "Add", total, product, node)
    assert total is not None
    return total


@intrinsic("math.dot")
def compile_dot(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.dot(a, b)``: the sum of the products of the components, first to last."""
    left, right = _vectors(fb, node, arguments, 2)
    return _dot(fb, left.items, right.items, node)


def _length(fb: FunctionBuilder, items: Sequence[Value], node: ast.Call) -> Value:
    square = _dot(fb, items, items, node)
    outer, fb.callee = fb.callee, "math.sqrt"
    result = INTRINSICS["math.sqrt"](fb, node, [square])
    fb.callee = outer
    return result


@intrinsic("math.length")
def compile_length(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.length(v)``: the square root of the sum of squares."""
    return _length(fb, _vectors(fb, node, arguments, 1)[0].items, node)


@intrinsic("math.dist")
def compile_dist(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.dist(a, b)``: the length of a - b, of vectors or as in Python of tuples."""
    points = [value.items for value in arguments if isinstance(value, Tuple) and not is_array(value)]
    is_tuples = not all(isinstance(value, Composite) for value in arguments)
    if is_tuples and len(arguments) == len(points) == 2 and len(points[0]) != len(points[1]):
        sizes = " and ".join(str(len(point)) for point in points)
        raise fb.error(node, f"lp.math.dist takes points of one size, found {sizes} numbers", "LP2033")
    if not (is_tuples and len(arguments) == len(points) == 2 and points[0]):
        points = [vector.items for vector in _vectors(fb, node, arguments, 2)]
    return _length(fb, [binary(fb, "Sub", a, b, node) for a, b in zip(*points, strict=True)], node)


@intrinsic("math.normalize")
def compile_normalize(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.normalize(v)``: v / length(v)."""
    (vector,) = _vectors(fb, node, arguments, 1)
    length = _length(fb, vector.items, node)
    return by_component(
        fb, [vector, length], node, "lp.math.normalize", lambda v: binary(fb, "Div", v[0], v[1], node)
    )


@intrinsic("math.cross")
def compile_cross(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.cross(a, b)`` of vectors of three."""
    a, b = _vectors(fb, node, arguments, 2, size=3)
    items: list[Scalar] = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        left = binary(fb, "Mult", a.items[i], b.items[j], node)
        right = binary(fb, "Mult", a.items[j], b.items[i], node)
        item = binary(fb, "Sub", left, right, node)
        assert isinstance(item, Scalar)
        items.append(item)
    return vector_of(fb, items)
