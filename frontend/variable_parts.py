"""Parts of variables: a part is a value in its own right, and storing one gives the variable a new value."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .composite_arrays import element_at, insert_element, shape_of, without_rows
from .composites import convert_composite, value_type
from .conversions import CMPI, store_convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .part_memory import Step, swizzled
from .types import FixedArrayType
from .values import Composite, FixedArray, Scalar, Value, constant
from .vector_types import CompositeArrayType, VecType


@dataclass(slots=True, eq=False)
class VariablePart:
    """A part of a variable."""

    name: str
    base: Value
    path: tuple[tuple[Step, ...], ...]
    """What each attribute and subscript adds, innermost first."""
    swizzle: tuple[int, ...] | None = None
    """Which components of the vector at `path` are meant, None: all."""


def load_variable_part(fb: FunctionBuilder, part: VariablePart, node: ast.AST) -> Value:
    """Returns the value of a part."""
    value = part.base
    for steps in part.path:
        value = step_into(fb, value, steps, node)
    if part.swizzle is None:
        return without_rows(fb, value)
    assert isinstance(value, Composite)
    return swizzled(value, part.swizzle)


def step_into(fb: FunctionBuilder, value: Value, steps: tuple[Step, ...], node: ast.AST) -> Value:
    """Returns a member, component or element of a value; indices are in range."""
    if shape_of(value) is not None:
        return element_at(fb, value, [_scalar_step(s) for s in steps])
    assert isinstance(value, Composite)
    (step,) = steps
    return value.items[step] if isinstance(step, int) else _chosen(fb, value, step, node)


def _scalar_step(step: Step) -> Scalar:
    return constant(step) if isinstance(step, int) else step


def _check_choice(fb: FunctionBuilder, index: Scalar, vector: VecType, node: ast.AST) -> None:
    """Checks a run-time index for the interpreter, which sees comparisons of it alone."""
    from .checks import check_range  # whose messages show fixed arrays

    if fb.module.is_interpreted and not fb.is_dry:
        check_range(fb, index, Scalar(index.type, const=vector.size), "a vector", node, is_hidden=True)


def _chosen(fb: FunctionBuilder, value: Composite, index: Scalar, node: ast.AST) -> Scalar:
    """Emits the choice of a vector's component by a run-time index."""
    assert isinstance(value.type, VecType)
    _check_choice(fb, index, value.type, node)
    kind = value.type.element
    result = value.items[0]
    assert isinstance(result, Scalar)
    if fb.is_dry:
        return Scalar(kind)
    ssa = fb.ssa(result)
    for position, item in enumerate(value.items[1:], start=1):
        assert isinstance(item, Scalar)
        is_this = _is_index(fb, index, position)
        ssa = fb.emit(arith.SelectOp, [is_this, fb.ssa(item), ssa], ir_type(kind))
    return Scalar(kind, ssa)


def _is_index(fb: FunctionBuilder, index: Scalar, position: int) -> SSAValue | None:
    operands = [fb.ssa(index), fb.constant(position, index.type)]
    return fb.emit(arith.CmpiOp, operands, ir_type(BOOL), CMPI["eq"])


def store_variable_part(
    fb: FunctionBuilder, part: VariablePart, value: Value, node: ast.AST, value_node: ast.AST
) -> None:
    """Assigns a value to a part.

    Args:
        node: the target, blamed where it cannot be written.
        value_node: the value, blamed where it does not convert.

    Raises:
        CompileError: the value does not convert.
    """
    from .assignment import assign_name  # which resolves targets into parts

    if part.swizzle is not None:
        whole = load_variable_part(fb, VariablePart(part.name, part.base, part.path), node)
        assert isinstance(whole, Composite)
        value = _with_components(fb, whole, part.swizzle, value, value_node)
    assign_name(fb, part.name, _replaced(fb, part.base, part.path, value, node, value_node), value_node)


def _with_components(
    fb: FunctionBuilder, whole: Composite, positions: tuple[int, ...], value: Value, node: ast.AST
) -> Composite:
    """Returns a vector with some components replaced."""
    assert isinstance(whole.type, VecType)
    kind = VecType(whole.type.element, len(positions))
    new = convert_composite(fb, value, kind, node, "the swizzle")
    assert isinstance(new, Composite)
    items = list(whole.items)
    for position, item in zip(positions, new.items, strict=True):
        items[position] = item
    return whole.with_items(items)


def _replaced(
    fb: FunctionBuilder,
    base: Value,
    path: tuple[tuple[Step, ...], ...],
    value: Value,
    node: ast.AST,
    value_node: ast.AST,
) -> Value:
    """Returns `base` with the part at `path` replaced."""
    if not path:
        return convert_composite(fb, value, value_type(base), value_node, "the part")
    steps, rest = path[0], path[1:]
    if shape_of(base) is not None:
        return _with_element(fb, base, path, value, node, value_node)
    assert isinstance(base, Composite)
    (step,) = steps
    if isinstance(step, int):
        new = _replaced(fb, base.items[step], rest, value, node, value_node)
        return base.with_items((*base.items[:step], new, *base.items[step + 1 :]))
    assert isinstance(base.type, VecType)
    _check_choice(fb, step, base.type, node)
    stored = store_convert(fb, value, base.type.element, value_node, "the component")
    return base.with_items(
        [_select_component(fb, step, position, stored, item) for position, item in enumerate(base.items)]
    )


def _with_element(
    fb: FunctionBuilder,
    base: Value,
    path: tuple[tuple[Step, ...], ...],
    value: Value,
    node: ast.AST,
    value_node: ast.AST,
) -> Value:
    """Returns a fixed array with an element, a row, or a part of an element replaced."""
    assert isinstance(base, FixedArray | Composite)
    kind = base.type
    assert isinstance(kind, FixedArrayType | CompositeArrayType)
    indices, rest = list[Scalar](), path
    while rest and len(indices) < kind.ndim:
        indices += map(_scalar_step, rest[0])
        rest = rest[1:]
    if not rest:
        what = "the row" if len(indices) < kind.ndim else "the element"
        new = convert_composite(fb, value, kind.row(len(indices)), value_node, what)
        return insert_element(fb, base, indices, new, node)
    assert isinstance(base, Composite)
    step = rest[0][0]
    if isinstance(step, int):  # v[k].x is v.x[k]
        new = _replaced(fb, base.items[step], (tuple(indices), *rest[1:]), value, node, value_node)
        return base.with_items((*base.items[:step], new, *base.items[step + 1 :]))
    new = _replaced(fb, element_at(fb, base, indices), rest, value, node, value_node)
    return insert_element(fb, base, indices, new, node)


def _select_component(fb: FunctionBuilder, index: Scalar, position: int, new: Scalar, old: Value) -> Scalar:
    assert isinstance(old, Scalar)
    if fb.is_dry:
        return Scalar(old.type)
    operands = [_is_index(fb, index, position), fb.ssa(new), fb.ssa(old)]
    return Scalar(old.type, fb.emit(arith.SelectOp, operands, ir_type(old.type)))
