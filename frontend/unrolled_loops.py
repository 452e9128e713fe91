"""Loops over things known while compiling: their rounds one after the other.

Each round knows what the one before has set, so a variable is set behind the loop where its last round or every break
has it, whatever the text alone could tell.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .analysis import BREAK, CONTINUE, FLAGS, NO_NAMES, RETURN
from .assignment import assign_target
from .branches import build_arm
from .carried import SetInside, give_values, loop_jumps, unset_before, written_by_rounds
from .control_flow import Live, build_statements, join_arms, jump_state, mark_jumped
from .function_builder import FunctionBuilder
from .joins import FALSE
from .loop_exits import LoopExits
from .values import Unset, Value


def build_unrolled(fb: FunctionBuilder, node: ast.For, items: Sequence[Value], live: Live) -> SetInside:
    """Compiles a loop over `items`.

    Args:
        live: variables that are read after the loop.

    Returns:
        What the loop has set, by its ways out.
    """
    given = give_values(fb, unset_before(fb, node, live))
    _unset(fb, node, given)
    outer = fb.handed_on
    fb.handed_on |= given
    at_end = _rounds(fb, node, items, live | fb.facts.reads(node.orelse))
    fb.handed_on = outer
    for name in given:
        binding = fb.env[name]
        if isinstance(binding, Unset) and binding.value is not None:
            fb.env[name] = binding.value  # its value on the ways out that have set it
    exits = LoopExits(fb.set_at_jumps.get(BREAK), at_end)
    if exits == LoopExits(None, None):
        return SetInside()  # code behind the loop is not reached
    written = frozenset(name for name in written_by_rounds(fb, node) if not name.startswith("$"))
    return SetInside(written & _set_names(fb), exits)


def _set_names(fb: FunctionBuilder) -> frozenset[str]:
    return frozenset(name for name, binding in fb.env.items() if not isinstance(binding, Unset))


def _unset(fb: FunctionBuilder, node: ast.For, names: Live) -> None:
    """Makes variables unset that some way to this place has left so."""
    SetInside(names).unset(fb, node)


def _rounds(fb: FunctionBuilder, node: ast.For, items: Sequence[Value], live: Live) -> frozenset[str] | None:
    """Compiles the rounds over `items`; returns what is set where the last one ends, None where none gets there."""
    if not items:
        return _set_names(fb)
    last = len(items) == 1
    jumps = loop_jumps(fb, node)
    inner_live = live | (NO_NAMES if last else fb.facts.reads([node])) | (jumps if node.orelse else NO_NAMES)
    inner_live |= jumps & {BREAK, RETURN}
    assign_target(fb, node.target, items[0], node.target)
    build_statements(fb, node.body, inner_live)
    fb.env.pop(CONTINUE, None)
    at_continue = fb.set_at_jumps.pop(CONTINUE, None)
    if at_continue is not None:
        written = written_by_rounds(fb, node) & _set_names(fb)
        _unset(fb, node, frozenset(name for name in written - at_continue if not name.startswith("$")))
    state = jump_state(fb)
    if state is True:
        return None
    if last:
        return _set_names(fb)
    if state is False:
        return _rounds(fb, node, items[1:], live)
    skipped = build_arm(fb, lambda: None)
    skipped.is_dead_end = False
    mark_jumped(skipped)
    before = dict(fb.env)
    for flag in FLAGS:
        if flag in fb.env:
            fb.env[flag] = FALSE
    at_end: list[frozenset[str] | None] = []

    def go_on() -> None:
        at_end.append(_rounds(fb, node, items[1:], live))

    run = build_arm(fb, go_on)
    fb.env = before
    written = fb.facts.names[id(node)].writes | jumps | frozenset(f for f in FLAGS if f in before)
    join_arms(fb, state, skipped, run, live | jumps, written - {CONTINUE}, node)
    return at_end[0]
