"""``lp.atomic``: atomic operations on elements of arrays, of the host or shared."""

from __future__ import annotations

import ast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ..ir.dialects.kernel_atomic import (
    ORDERS,
    SCOPES,
    AtomicCompareExchangeOp,
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from .barriers import keyword
from .conversions import store_convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .intrinsics import ATOMIC_FUNCTIONS
from .ir_types import ir_type
from .subscripts import Element, element_at
from .types import ArrayType, ScalarType
from .values import Array, Composite, Image, LocalArray, Scalar, Static, Tuple, Value, describe

_KINDS = {"and_": "and", "or_": "or"}
_INTEGERS_ONLY = ("and_", "or_", "xor")
_ORDERS = {name: name for name in ORDERS}
_SCOPES = {name: name for name in SCOPES}
_COUNTS = {"load": 2, "compare_exchange": 4}


@intrinsic(*(f"atomic.{name}" for name in ATOMIC_FUNCTIONS))
def compile_atomic(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.atomic.add(a, i, v)`` and the like; all but store return the old value."""
    name = fb.callee.removeprefix("atomic.")
    expected = _COUNTS.get(name, 3)
    if len(arguments) != expected:
        raise fb.error(
            node, f"lp.atomic.{name} takes {expected} arguments by position, found {len(arguments)}", "LP2045"
        )
    array = _array(fb, node, arguments[0], name)
    element = _element(fb, node, array, arguments[1])
    scalar = array.type.element
    assert isinstance(scalar, ScalarType)
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
    op = _operation(fb, name, scalar, values, element, order, scope)
    fb.append(op)
    return Scalar(scalar, op.results[0]) if op.results else Static(None, "None")


def _array(fb: FunctionBuilder, node: ast.Call, value: Value, name: str) -> Array:
    part = node.args[0]
    is_private = isinstance(value, LocalArray) and not value.is_shared
    if not isinstance(value, Array) or isinstance(value, Image) or is_private:
        raise fb.error(
            part, f"lp.atomic.{name} works on arrays and shared arrays, found {describe(value)}", "LP2033"
        )
    if not (value.type.is_readable and value.type.is_writable):
        raise fb.error(
            part,
            f"lp.atomic.{name} reads and writes '{value.name}', which is {value.type!r}",
            "LP2040" if value.type.is_writable else "LP2039",
            hint=f"declare it {ArrayType(value.type.element, value.type.ndim)!r}",
        )
    element = value.type.element
    if not isinstance(element, ScalarType):
        raise fb.error(
            part,
            f"lp.atomic.{name} works on arrays of numbers, found {describe(value)}",
            "LP2033",
            hint="keep what is updated so in an array of lp.i32, lp.u32 or lp.f32",
        )
    if element.kind == "bool" or element.bits < 32:
        raise fb.error(
            part,
            f"there are no atomics on elements of lp.{element.name}",
            "LP2033",
            hint="use an array of lp.i32, lp.u32 or lp.f32",
        )
    if element.is_float and name in _INTEGERS_ONLY:
        raise fb.error(part, f"lp.atomic.{name} works on integers, found {describe(value)}", "LP2033")
    return value


def _element(fb: FunctionBuilder, node: ast.Call, array: Array, index: Value) -> Element:
    items = index.items if isinstance(index, Tuple) and not isinstance(index, Composite) else (index,)
    part = node.args[1]
    parts = part.elts if isinstance(part, ast.Tuple) and len(part.elts) == len(items) else [part] * len(items)
    indices: list[Scalar] = []
    for item, where in zip(items, parts, strict=True):
        if not isinstance(item, Scalar) or not item.type.is_integer:
            raise fb.error(
                where, f"an index of '{array.name}' must be an integer, found {describe(item)}", "LP2041"
            )
        indices.append(item)
    return element_at(fb, array, indices, part)


def _check_order(fb: FunctionBuilder, node: ast.Call, name: str, order: str) -> None:
    refused = {"load": ("release", "acq_rel"), "store": ("acquire", "acq_rel")}.get(name, ())
    if order in refused:
        raise fb.error(node, f'lp.atomic.{name} has no order "{order}"', "LP2033", hint="leave it out")


def _operation(
    fb: FunctionBuilder,
    name: str,
    scalar: ScalarType,
    values: list[Scalar],
    element: Element,
    order: str,
    scope: str,
) -> Operation:
    array = element.array.ssa
    assert array is not None
    operands = [ssa for value in values if (ssa := fb.ssa(value)) is not None]
    operands += [array, *element.indices]
    properties = {"order": StringAttr(order), "scope": StringAttr(scope)}
    result = () if name == "store" else (ir_type(scalar),)
    if name == "load":
        return AtomicLoadOp.create(operands=operands, result_types=result, properties=properties)
    if name == "store":
        return AtomicStoreOp.create(operands=operands, properties=properties)
    if name == "compare_exchange":
        return AtomicCompareExchangeOp.create(operands=operands, result_types=result, properties=properties)
    return AtomicRMWOp.create(
        operands=operands,
        result_types=result,
        properties={**properties, "kind": StringAttr(_kind(name, scalar))},
    )


def _kind(name: str, scalar: ScalarType) -> str:
    if name in ("min", "max") and not scalar.is_float:
        return ("s" if scalar.is_signed else "u") + name
    return _KINDS.get(name, name)
