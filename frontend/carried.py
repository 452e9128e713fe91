"""The variables that a loop hands from one round to the next, as IR values and back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .analysis import CONTINUE, FLAGS
from .control_flow import Live
from .fixed_arrays import fixed_ssa
from .function_builder import FunctionBuilder
from .joins import FALSE, own_type
from .values import FixedArray, Scalar, Tuple, Unset, Value


@dataclass(slots=True)
class Carried:
    """The variables that a loop hands from one round to the next."""

    names: list[str]
    initial: list[SSAValue]
    shapes: list[Value]
    """A value of the variable's type, to build another from IR values."""


def written_by_rounds(fb: FunctionBuilder, node: ast.For | ast.While) -> frozenset[str]:
    """Returns what the rounds of a loop write: its body, its target or condition, not its else."""
    header = node.target if isinstance(node, ast.For) else node.test
    names = {n.id for n in ast.walk(header) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return fb.facts.writes(node.body) - {CONTINUE} | names


def carried_variables(
    fb: FunctionBuilder, node: ast.For | ast.While, live: Live, skip: frozenset[str]
) -> Carried:
    """Chooses the variables that a loop carries: written by its rounds, and read by others or afterwards.

    Args:
        live: variables that are read after the loop.
        skip: variables to leave out.
    """
    written = written_by_rounds(fb, node)
    needed = (live | fb.facts.reads([node]) | frozenset(FLAGS)) - {CONTINUE} - skip
    carried = Carried([], [], [])
    for name in sorted(written & needed):
        binding = fb.env.get(name, FALSE if name in FLAGS else None)
        if binding is None or isinstance(binding, Unset):
            continue
        if isinstance(binding, Scalar):
            binding = own_type(binding)
        leaves = ir_leaves(fb, binding)
        if leaves is None:
            continue  # compile-time objects stay what they are; `_check_same` sees to it
        carried.names.append(name)
        carried.shapes.append(binding)
        carried.initial.extend(leaves)
    return carried


def ir_leaves(fb: FunctionBuilder, value: Value) -> list[SSAValue] | None:
    """Returns the IR values that make up a variable; None for compile-time objects."""
    if isinstance(value, Scalar):
        ssa = fb.ssa(own_type(value))
        return None if ssa is None else [ssa]
    if isinstance(value, FixedArray) and not value.prefix:
        ssa = fixed_ssa(fb, value)
        return None if ssa is None else [ssa]
    if isinstance(value, Tuple):
        parts = [ir_leaves(fb, item) for item in value.items]
        if any(part is None for part in parts):
            return None
        return [leaf for part in parts if part is not None for leaf in part]
    return None


def _rebuilt(shape: Value, leaves: Sequence[SSAValue], position: int) -> tuple[Value, int]:
    """Builds a variable of the type of `shape` from IR values; returns it and the next position."""
    if isinstance(shape, Tuple):
        items: list[Value] = []
        for item in shape.items:
            rebuilt, position = _rebuilt(item, leaves, position)
            items.append(rebuilt)
        return shape.with_items(items), position
    if isinstance(shape, FixedArray):
        return FixedArray(shape.type, leaves[position]), position + 1
    assert isinstance(shape, Scalar)
    return Scalar(shape.type, leaves[position]), position + 1


def bind(fb: FunctionBuilder, carried: Carried, leaves: Sequence[SSAValue]) -> None:
    """Gives the carried variables new values."""
    position = 0
    for name, shape in zip(carried.names, carried.shapes, strict=True):
        fb.env[name], position = _rebuilt(shape, leaves, position)


def final_values(fb: FunctionBuilder, carried: Carried, node: ast.AST) -> list[SSAValue]:
    """Returns the IR values that the variables have at the end of a round."""
    leaves: list[SSAValue] = []
    for name, shape in zip(carried.names, carried.shapes, strict=True):
        binding = fb.env.get(name, FALSE)
        values = None if isinstance(binding, Unset) else ir_leaves(fb, binding)
        if values is None:
            # Unset at the end of a round that jumped away: what it had is as good as anything.
            values = ir_leaves(fb, shape)
        assert values is not None
        leaves.extend(values)
    return leaves
