"""``lp.atomic``: atomic operations on elements of arrays, of the host or shared, and on fields of these."""

from __future__ import annotations

import ast

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from ..ir.create import create
from ..ir.dialects.kernel_atomic import (
    ORDERS,
    SCOPES,
    AtomicCompareExchangeOp,
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from .atomic_places import AtomicPlace, atomic_place, part_hint
from .barriers import keyword
from .checks import check_nan
from .conversions import store_convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .intrinsics import ATOMIC_FUNCTIONS
from .ir_types import BOOL, ir_type, storage_type
from .part_memory import bool_of_byte, path_operands, path_properties
from .types import ArrayType, ScalarType
from .values import Array, Image, LocalArray, Scalar, Static, Value, describe

_KINDS = {"and_": "and", "or_": "or"}
_INTEGERS_ONLY = ("and_", "or_", "xor")
_NUMBERS_ONLY = ("add", "sub", "min", "max")
_STORES = ("add", "sub", "exchange", "store", "compare_exchange")
"""What makes NaN of NaN; ``min`` and ``max`` pass it by."""
_ORDERS = {name: name for name in ORDERS}
_STRONGEST = {"load": "acquire", "store": "release"}
_SCOPES = {name: name for name in SCOPES}
_COUNTS = {"load": 2, "compare_exchange": 4}
_USAGE = {"load": "a, i", "compare_exchange": "a, i, expected, v"}


@intrinsic(*(f"atomic.{name}" for name in ATOMIC_FUNCTIONS))
def compile_atomic(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.atomic.add(a, i, v)`` and the like; all but store return the old value."""
    name = fb.callee.removeprefix("atomic.")
    expected = _COUNTS.get(name, 3)
    if len(arguments) != expected:
        raise fb.error(
            node,
            f"lp.atomic.{name} takes {expected} arguments by position, found {len(arguments)}",
            "LP2045",
            hint=f"write lp.atomic.{name}({_usage(node, name)})",
        )
    array = _array(fb, node, arguments[0], name)
    place = atomic_place(fb, node.args[1], array, arguments[1])
    scalar = _checked_type(fb, node, place, name)
    what = f"lp.atomic.{name}"
    pairs = zip(arguments[2:], node.args[2:], strict=True)
    values = [store_convert(fb, value, scalar, part, f"the value of {what}") for value, part in pairs]
    order = keyword(fb, node, "order", "a memory order", _ORDERS, "relaxed")
    scope = keyword(fb, node, "scope", "a memory scope", _SCOPES, "device")
    _check_order(fb, node, name, order)
    use = fb.accesses[array.parameter]
    use.reads = use.writes = True
    if fb.is_dry:
        return Static(None, "None") if name == "store" else Scalar(scalar)
    fb.node = node
    if name in _STORES:
        check_nan(fb, array, place.element.indices, values[-1])
    op = _operation(fb, name, scalar, values, place, order, scope)
    fb.append(op)
    return _result(fb, op, scalar)


def _usage(node: ast.Call, name: str) -> str:
    """Returns the arguments of an atomic, those of the user's where an element was given for array and index."""
    usage = _USAGE.get(name, "a, i, v")
    place = _place_text(node.args[0]) if node.args and len(node.args) == _COUNTS.get(name, 3) - 1 else None
    return usage.replace("a, i", place) if place is not None else usage


def _is_byte(scalar: ScalarType, place: AtomicPlace) -> bool:
    """Whether what is changed is a bool that memory holds as a byte of 0 or 1."""
    return scalar is BOOL and not isinstance(place.element.array, LocalArray)


def _result(fb: FunctionBuilder, op: Operation, scalar: ScalarType) -> Value:
    """Returns the old value."""
    if not op.results:
        return Static(None, "None")
    (old,) = op.results
    if scalar is not BOOL or old.type == ir_type(BOOL):
        return Scalar(scalar, old)
    return bool_of_byte(fb, old)


def _array(fb: FunctionBuilder, node: ast.Call, value: Value, name: str) -> Array:
    part = node.args[0]
    is_private = isinstance(value, LocalArray) and not value.is_shared
    if isinstance(value, Image):
        raise fb.error(
            part,
            f"there are no atomics on images, found {describe(value)}",
            "LP2033",
            hint="keep what is updated so in an lp.Array of lp.i32, lp.u32 or lp.f32",
        )
    if not isinstance(value, Array) or is_private:
        raise fb.error(
            part,
            f"lp.atomic.{name} works on arrays and shared arrays, found {describe(value)}",
            "LP2033",
            hint="a private array belongs to one work-item: change it as any other variable"
            if isinstance(value, LocalArray)
            else f"name the array and the place: lp.atomic.{name}({_place_text(part) or 'a, i'}, …)",
        )
    if not (value.type.is_readable and value.type.is_writable):
        raise fb.error(
            part,
            f"lp.atomic.{name} reads and writes '{value.name}', which is {value.type!r}",
            "LP2040" if value.type.is_writable else "LP2039",
            hint=f"declare it {ArrayType(value.type.element, value.type.ndim)!r}",
        )
    return value


def _place_text(node: ast.expr) -> str | None:
    """Returns ``a, (i, "p", "x")`` for ``a[i].p.x``, None for what is no part of an element."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            steps.insert(0, f'"{node.attr}"')
        else:
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            steps[:0] = [ast.unparse(index) for index in indices]
        node = node.value
    if not isinstance(node, ast.Name) or not steps:
        return None
    return f"{node.id}, {steps[0] if len(steps) == 1 else '(' + ', '.join(steps) + ')'}"


def _checked_type(fb: FunctionBuilder, node: ast.Call, place: AtomicPlace, name: str) -> ScalarType:
    """Returns the type of what is changed; CompileError where there are no atomics on it."""
    found, array = place.type, place.element.array
    if not isinstance(found, ScalarType):
        raise fb.error(
            node.args[1] if place.path else node.args[0],
            f"lp.atomic.{name} works on numbers, found {found!r} in '{array.name}'",
            "LP2033",
            hint=part_hint(node.args[1], found),
        )
    if found is BOOL and name in _NUMBERS_ONLY:
        raise fb.error(
            node.args[0],
            f"lp.atomic.{name} works on numbers, found lp.bool_ in '{array.name}'",
            "LP2033",
            hint="change a bool with or_, and_, xor, exchange or compare_exchange",
        )
    if found.is_float and name in _INTEGERS_ONLY:
        raise fb.error(
            node.args[0],
            f"lp.atomic.{name} works on integers, found lp.{found.name} in '{array.name}'",
            "LP2033",
            hint="keep bits in an array of lp.u32; floats have add, sub, min, max, exchange and compare_exchange",
        )
    return found


def _check_order(fb: FunctionBuilder, node: ast.Call, name: str, order: str) -> None:
    refused = {"load": ("release", "acq_rel"), "store": ("acquire", "acq_rel")}.get(name, ())
    if order in refused:
        place = next((k.value for k in node.keywords if k.arg == "order"), node)
        hint = f'use "{_STRONGEST[name]}"; without an order it is "relaxed"'
        raise fb.error(place, f'lp.atomic.{name} has no order "{order}"', "LP2033", hint=hint)


def _operation(
    fb: FunctionBuilder,
    name: str,
    scalar: ScalarType,
    values: list[Scalar],
    place: AtomicPlace,
    order: str,
    scope: str,
) -> Operation:
    array = place.element.array.ssa
    assert array is not None
    stored = ir_type(scalar)
    given = [fb.ssa(value) for value in values]
    if _is_byte(scalar, place):
        stored = storage_type(scalar)
        given = [fb.emit(arith.ExtUIOp, [value], stored) for value in given]
    found = [
        *given,
        array,
        *place.element.indices,
        *path_operands(fb, place.path),
    ]
    operands = [ssa for ssa in found if ssa is not None]
    properties: dict[str, Attribute] = {"order": StringAttr(order), "scope": StringAttr(scope)}
    if place.path:
        properties |= path_properties(place.path)
    result = () if name == "store" else (stored,)
    if name == "load":
        return create(AtomicLoadOp, operands=operands, result_types=result, properties=properties)
    if name == "store":
        return create(AtomicStoreOp, operands=operands, properties=properties)
    if name == "compare_exchange":
        return create(AtomicCompareExchangeOp, operands=operands, result_types=result, properties=properties)
    return create(
        AtomicRMWOp,
        operands=operands,
        result_types=result,
        properties={**properties, "kind": StringAttr(_kind(name, scalar))},
    )


def _kind(name: str, scalar: ScalarType) -> str:
    if name in ("min", "max") and not scalar.is_float:
        return ("s" if scalar.is_signed else "u") + name
    return _KINDS.get(name, name)
