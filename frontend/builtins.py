"""Python's builtins inside of kernels: ``range len min max abs round divmod pow ord``.

``print`` is compiled by `printing`, ``enumerate``, ``zip`` and ``reversed`` by `iterators`, ``sum``, ``any`` and
``all`` by `sequences`.

``int float bool`` are conversions (see `calls`).
"""

from __future__ import annotations

import ast
import builtins as python_builtins
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation

from ..ir.dialects import math
from ..ir.errors import CompileError
from .arithmetic import absolute, binary, common_type
from .composite_arrays import is_array, shape_of
from .conversions import adapt, convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, I32, ir_type
from .subscripts import extent
from .types import bf16
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


@dataclass(frozen=True, slots=True)
class BuiltinFunction:
    """A builtin of Python that kernels have."""

    name: str


BUILTINS: dict[str, BuiltinFunction] = {
    name: BuiltinFunction(name)
    for name in (
        "range",
        "len",
        "min",
        "max",
        "abs",
        "round",
        "divmod",
        "pow",
        "enumerate",
        "zip",
        "print",
        "ord",
        "reversed",
        "sum",
        "any",
        "all",
    )
}
"""By name."""

assert all(hasattr(python_builtins, name) for name in BUILTINS)


def expect_count(
    fb: FunctionBuilder, node: ast.Call, arguments: list[Value], name: str, low: int, high: int | None
) -> None:
    """Checks how many arguments a call has.

    Raises:
        CompileError: fewer than `low` or more than `high`, where there is a most.
    """
    if low <= len(arguments) and (high is None or len(arguments) <= high):
        return
    wanted = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
    raise fb.error(
        node,
        f"{name} takes {wanted} argument{'' if high == 1 else 's'}, found {len(arguments)}",
        "LP2045",
        hint=_signature_hint(name),
    )


_SIGNATURES = {
    "range": "write range(stop), range(start, stop) or range(start, stop, step)",
    "pow": "write pow(x, y); a modulus is pow(x, y) % m",
    "divmod": "write divmod(a, b)",
    "abs": "write abs(x)",
    "len": "write len(a)",
    "ord": 'write ord("a")',
    "sum": "write sum(values) or sum(values, start)",
    "any": "write any((a, b))",
    "all": "write all((a, b))",
    "reversed": "write reversed(values)",
    "enumerate": "write enumerate(values) or enumerate(values, start)",
}


def _signature_hint(name: str) -> str | None:
    """Returns how a function is called, or what to write where Python's takes more than that of kernels."""
    from .intrinsic_texts import TEXTS  # only for messages

    found = TEXTS.get(name.removeprefix("lp."))
    return _SIGNATURES.get(name) if found is None else f"it is {found[0]}"


def numbers(
    fb: FunctionBuilder, node: ast.Call, arguments: list[Value], name: str, *, keeps_bools: bool = False
) -> list[Scalar]:
    """Returns the arguments of a call as scalars; truth values as i32, or for `common_type` as they are.

    Raises:
        CompileError: one is no number.
    """
    result: list[Scalar] = []
    for position, value in enumerate(arguments):
        if not isinstance(value, Scalar):
            where = node.args[position] if position < len(node.args) else node
            raise fb.error(
                where, f"{name} takes numbers, found {describe(value)}", "LP2033", hint=number_hint(value)
            )
        is_counted = value.type is BOOL and value.const is None and not keeps_bools
        result.append(convert(fb, value, I32) if is_counted else value)
    return result


@intrinsic("builtins.range", "static_range")
def compile_range(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``range(stop)``, ``range(start, stop)``, ``range(start, stop, step)`` and `lp.static_range`."""
    is_static = fb.callee == "static_range"
    name = "lp.static_range" if is_static else "range"
    expect_count(fb, node, arguments, name, 1, 3)
    bounds = numbers(fb, node, arguments, name)
    for bound, part in zip(bounds, node.args, strict=True):
        if not bound.type.is_integer:
            raise fb.error(
                part, f"{name} takes integers, found {describe(bound)}", "LP2050", hint="convert it: int(…)"
            )
    if len(bounds) == 1:
        bounds = [constant(0), bounds[0]]
    if len(bounds) == 2:
        bounds = [*bounds, constant(1)]
    if bounds[2].const == 0:
        raise fb.error(
            node.args[2], f"the step of {name} must not be 0", "LP2050", hint="count up by 1 or down by -1"
        )
    return RangeValue(bounds[0], bounds[1], bounds[2], is_static)


@intrinsic("builtins.len")
def compile_len(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``len(a)``: the first extent."""
    expect_count(fb, node, arguments, "len", 1, 1)
    match arguments[0]:
        case Array() as array:
            return extent(fb, array, 0)
        case other if shape := shape_of(other):
            return constant(shape[0])
        case Composite() as struct if not struct.is_vector:
            raise _no_length(fb, node, struct)
        case Tuple(items=items):
            return constant(len(items))
        case other:
            raise _no_length(fb, node, other)


def _no_length(fb: FunctionBuilder, node: ast.Call, value: Value) -> CompileError:
    message = f"len takes an array or a tuple, found {describe(value)}"
    return fb.error(node, message, "LP2033", hint="only what has elements has a length")


@intrinsic("builtins.min", "builtins.max")
def compile_min_max(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``min(a, b, …)`` and ``max(a, b, …)``, of one tuple or value its items: IEEE minNum and maxNum."""
    name = fb.callee.removeprefix("builtins.")  # however the call spells it
    if len(arguments) == 1 and isinstance(arguments[0], Tuple) and not is_array(arguments[0]):
        arguments = list(arguments[0].items)
    elif len(arguments) == 1 and isinstance(arguments[0], FixedArray):
        from .fixed_arrays import scalars_of  # few kernels ask so

        arguments = [*scalars_of(fb, arguments[0], node)]
        if len(arguments) == 1:
            return arguments[0]
    if len(arguments) < 2:
        found = describe(arguments[0]) if arguments else "nothing"
        raise fb.error(
            node,
            f"{name} takes two or more numbers, or a tuple of them, found {found}",
            "LP2045",
            hint="go through an array in a loop, or use lp.group.reduce over a work-group",
        )
    values = numbers(fb, node, arguments, name, keeps_bools=True)
    result = values[0]
    for value in values[1:]:
        result = min_max(fb, name, result, value, node)
    return result


_MIN_MAX: dict[tuple[str, str], type[Operation]] = {
    ("min", "int"): arith.MinSIOp,
    ("max", "int"): arith.MaxSIOp,
    ("min", "uint"): arith.MinUIOp,
    ("max", "uint"): arith.MaxUIOp,
    ("min", "float"): arith.MinnumfOp,
    ("max", "float"): arith.MaxnumfOp,
}


def min_max(fb: FunctionBuilder, name: str, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    """Emits the smaller (`name` "min") or larger (`name` "max") of two numbers."""
    choose = min if name == "min" else max
    if left.const is not None and right.const is not None and left.is_weak and right.is_weak:
        return constant(choose(left.const, right.const))
    scalar = common_type(fb, left, right, node, name)
    left, right = adapt(fb, left, scalar, node), adapt(fb, right, scalar, node)
    bounds = None
    if left.bounds is not None and right.bounds is not None:
        bounds = (choose(left.bounds[0], right.bounds[0]), choose(left.bounds[1], right.bounds[1]))
    elif (left.bounds or right.bounds) and scalar.is_integer and scalar.bits:
        known = left.bounds or right.bounds
        assert known is not None
        bounds = (scalar.minimum, known[1]) if name == "min" else (known[0], scalar.maximum)
    if fb.is_dry:
        return Scalar(scalar, bounds=bounds)
    if scalar is bf16:
        return convert(fb, min_max(fb, name, convert(fb, left, F32), convert(fb, right, F32), node), bf16)
    op = _MIN_MAX[name, scalar.kind]
    return Scalar(scalar, fb.emit(op, [fb.ssa(left), fb.ssa(right)], ir_type(scalar)), bounds=bounds)


@intrinsic("builtins.abs")
def compile_abs(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``abs(x)``."""
    expect_count(fb, node, arguments, "abs", 1, 1)
    return absolute(fb, numbers(fb, node, arguments, "abs")[0], node)


@intrinsic("builtins.round")
def compile_round(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``round(x)``: half to even, as an i32; an integer stays what it is."""
    if len(arguments) == 2:
        hint = "scale the number: round(x * 100.0) / 100.0 for two digits"
        raise fb.error(node, "round takes one argument in kernels", "LP2045", hint=hint)
    expect_count(fb, node, arguments, "round", 1, 1)
    value = numbers(fb, node, arguments, "round")[0]
    if not value.type.is_float:
        return value
    if value.is_weak and value.const is not None:
        return constant(round(value.const)) if abs(value.const) < 2**63 else value
    if fb.is_dry:
        return Scalar(I32)
    value = convert(fb, value, F32) if value.type is bf16 else value
    rounded = fb.emit(math.RoundEvenOp, [fb.ssa(value)], ir_type(value.type))
    return convert(fb, Scalar(value.type, rounded), I32)


@intrinsic("builtins.divmod")
def compile_divmod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``divmod(a, b)``."""
    expect_count(fb, node, arguments, "divmod", 2, 2)
    left, right = arguments
    return Tuple((binary(fb, "FloorDiv", left, right, node), binary(fb, "Mod", left, right, node)))


@intrinsic("builtins.pow")
def compile_pow(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``pow(a, b)``, which is ``a ** b``."""
    expect_count(fb, node, arguments, "pow", 2, 2)
    return binary(fb, "Pow", arguments[0], arguments[1], node)


@intrinsic("builtins.ord")
def compile_ord(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``ord("a")``: the number that texts in arrays of bytes have for a letter."""
    expect_count(fb, node, arguments, "ord", 1, 1)
    text = arguments[0].obj if isinstance(arguments[0], Static) else None
    if not isinstance(text, str) or len(text) != 1:
        found = f"a text of {len(text)}" if isinstance(text, str) else describe(arguments[0])
        raise fb.error(
            node, f"ord takes a text of one letter, found {found}", "LP2033", hint='write ord("a")'
        )
    return constant(ord(text))
