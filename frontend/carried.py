"""The variables that a loop hands from one round to the next, as IR values and back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from .analysis import BREAK, CONTINUE, FLAGS, RETURN, VALUE
from .composite_arrays import has_memory, shape_of
from .control_flow import Live
from .fixed_arrays import fixed_ssa
from .function_builder import FunctionBuilder
from .joins import FALSE, IncompatibleError, own_type, zero_like
from .loop_exits import LoopExits, loop_exits, stored_names
from .names import typed_value
from .values import Binding, FixedArray, Scalar, Tuple, Unset, Value


@dataclass(slots=True)
class Carried:
    """The variables that a loop hands from one round to the next."""

    names: list[str]
    initial: list[SSAValue]
    shapes: list[Value]
    """A value of the variable's type, to build another from IR values."""


@dataclass(frozen=True, slots=True)
class SetInside:
    """The variables without a value before a loop that have one on some way out of it, where somebody reads them."""

    names: frozenset[str] = frozenset()
    exits: LoopExits = field(default_factory=lambda: LoopExits(None, None))

    def unset(
        self, fb: FunctionBuilder, node: ast.For | ast.While, but: frozenset[str] | None = frozenset()
    ) -> None:
        """Makes them unset where the loop has not set them: all but those of `but`, none where that is None."""
        for name in () if but is None else self.names - but:
            value = fb.env[name]
            # The carried value is kept beside it, because another jump may leave the loop with the variable set.
            fb.env[name] = (
                value if isinstance(value, Unset) else Unset(node, "on every path to this place", value)
            )


def set_inside(
    fb: FunctionBuilder,
    node: ast.For | ast.While,
    live: Live,
    *,
    runs_a_round: bool = True,
) -> SetInside:
    """Gives any value to the variables that a loop sets before somebody reads them, so that it carries them.

    Args:
        node: the loop.
        live: variables that are read after the loop.
        runs_a_round: whether a ``for`` is known to.
    """
    unset = unset_before(fb, node, live)
    if isinstance(node, ast.While):
        unset -= stored_names(node.test)  # `set_by_test` decides about these
    if not unset:
        return SetInside()
    exits = loop_exits(node, runs_a_round=runs_a_round)
    wanted = exits.ever if node.orelse else exits.always
    return SetInside(give_values(fb, unset & wanted), exits)


def unset_before(fb: FunctionBuilder, node: ast.For | ast.While, live: Live) -> Live:
    """Returns the variables without a value that the rounds of a loop write and somebody reads behind them."""
    read = (live | fb.facts.reads(node.orelse)) - {*FLAGS, VALUE}
    written = written_by_rounds(fb, node) & read
    return frozenset(name for name in written if isinstance(fb.env.get(name, Unset()), Unset))


def give_values(fb: FunctionBuilder, names: Live) -> frozenset[str]:
    """Gives variables without a value any, because whatever reads them runs after the loop has set them.

    Returns:
        Those that had none and can have one.
    """
    given: set[str] = set()
    for name in names:
        wanted = fb.variable_types.get(name)
        if wanted is not None and isinstance(fb.env.get(name, Unset()), Unset):
            with suppress(IncompatibleError):  # compile-time objects
                fb.env[name] = zero_like(typed_value(wanted))
                given.add(name)
    return frozenset(given)


def written_by_rounds(fb: FunctionBuilder, node: ast.For | ast.While) -> frozenset[str]:
    """Returns what the rounds of a loop write: its body, its target or condition, not its else."""
    header = node.target if isinstance(node, ast.For) else node.test
    return fb.facts.writes(node.body) - {CONTINUE} | stored_names(header)


def loop_jumps(fb: FunctionBuilder, node: ast.For | ast.While) -> Live:
    """Returns the flags that leave a loop: break and return inside of its body."""
    return fb.facts.writes(node.body) & {BREAK, RETURN}


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
        if leaves is None or (has_memory(binding) and shape_of(binding) is not None):
            continue  # compile-time objects stay what they are; `_check_same` sees to it
        carried.names.append(name)
        carried.shapes.append(binding)
        carried.initial.extend(leaves)
    return carried


def ir_leaves(fb: FunctionBuilder, value: Value, shape: Value | None = None) -> list[SSAValue] | None:
    """Returns the IR values that make up a variable; None for compile-time objects.

    Args:
        fb: emits what makes them.
        value: of the variable.
        shape: what it was before; `value` by default. What lies in memory there has none, as it stays there.
    """
    shape = value if shape is None else shape
    if isinstance(shape, FixedArray) and shape.cell is not None:
        return []
    if isinstance(value, Scalar):
        ssa = fb.ssa(own_type(value))
        return None if ssa is None else [ssa]
    if isinstance(value, FixedArray) and not value.prefix:
        ssa = fixed_ssa(fb, value)
        return None if ssa is None else [ssa]
    if isinstance(value, Tuple):
        shapes = shape.items if isinstance(shape, Tuple) else value.items
        parts = [ir_leaves(fb, *pair) for pair in zip(value.items, shapes, strict=True)]
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
        return (
            (shape, position)
            if shape.cell is not None
            else (FixedArray(shape.type, leaves[position]), position + 1)
        )
    assert isinstance(shape, Scalar)
    return Scalar(shape.type, leaves[position]), position + 1


def bind(fb: FunctionBuilder, carried: Carried, leaves: Sequence[SSAValue]) -> None:
    """Gives the carried variables new values."""
    position = 0
    for name, shape in zip(carried.names, carried.shapes, strict=True):
        fb.env[name], position = _rebuilt(shape, leaves, position)


def final_values(fb: FunctionBuilder, carried: Carried) -> list[SSAValue]:
    """Returns the IR values that the variables have at the end of a round."""
    leaves: list[SSAValue] = []
    for name, shape in zip(carried.names, carried.shapes, strict=True):
        binding = fb.env.get(name, FALSE)
        if isinstance(binding, Unset) and binding.value is not None:
            binding = binding.value
        values = None if isinstance(binding, Unset) else ir_leaves(fb, binding, shape)
        if values is None:
            # Unset at the end of a round that jumped away: nobody reads it, so any value of its type will do.
            values = ir_leaves(fb, shape)
        assert values is not None
        leaves.extend(values)
    return leaves


def set_by_test(
    fb: FunctionBuilder, node: ast.While, carried: Carried, entry: dict[str, Binding]
) -> tuple[Carried, dict[str, Unset]]:
    """Returns the variables that only the condition sets, ``while (x := …) > 0``: every round and the exit see them.

    Those that it sets on some paths only are in the second result too.
    """
    extra, maybe = Carried([], [], []), dict[str, Unset]()
    for name in sorted(stored_names(node.test) - frozenset(carried.names)):
        binding = fb.env.get(name)
        value = binding.value if isinstance(binding, Unset) else binding
        if value is None or binding is entry.get(name):
            continue
        if ir_leaves(fb, value) is not None:
            extra.names.append(name)
            extra.shapes.append(value)
            if isinstance(binding, Unset):
                maybe[name] = binding
    return extra, maybe


def bind_set(
    fb: FunctionBuilder, extra: Carried, maybe: dict[str, Unset], leaves: Sequence[SSAValue]
) -> None:
    """Binds what `set_by_test` found."""
    bind(fb, extra, leaves)
    for name, unset in maybe.items():
        value = fb.env[name]
        assert not isinstance(value, Unset)
        fb.env[name] = Unset(unset.where, unset.path, value)
