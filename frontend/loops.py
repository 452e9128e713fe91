"""``for`` and ``while``.

``for i in range(a, b)`` with step 1 becomes `scf.for`, other steps and loops that are left early `scf.while`, with the
flags among the carried values; `iteration` says when such a loop ends.
Variables that the body writes and someone reads later are carried; a loop over things known now is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue

from ..ir.create import create
from .analysis import BREAK, CONTINUE, FLAGS, NO_NAMES, RETURN
from .assignment import assign_target
from .branches import build_arm, select_values
from .carried import (
    Carried,
    SetInside,
    bind,
    bind_set,
    carried_variables,
    final_values,
    give_values,
    ir_leaves,
    loop_jumps,
    set_by_test,
    set_inside,
    written_by_rounds,
)
from .control_flow import Live, build_statements, join_arms, jump_state, mark_jumped
from .conversions import CMPI, condition
from .definite import names_set, take_names
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .iteration import Rounds, iterable_items, refuse_changes, run_time_rounds
from .joins import FALSE, same_object
from .loop_exits import is_endless, stored_names
from .unrolled_loops import build_unrolled
from .values import Binding, RangeValue, Scalar, Unset, Value, constant, describe

_MAXIMUM_UNROLLED = 4096
"""Rounds of an unrolled loop beyond which the program would be absurdly long."""

_Item = Callable[[Scalar], Value]
"""What the variable of a loop over a range is set to at a number of the range."""


def build_for(fb: FunctionBuilder, node: ast.For, live: Live) -> None:
    """Compiles a for loop.

    Args:
        live: variables that are read after the loop.
    """
    fb.node = node.iter
    iterable = fb.evaluate(node.iter)
    found = run_time_rounds(fb, iterable, node.iter)
    if found is not None:
        if not isinstance(iterable, RangeValue):
            refuse_changes(fb, node)
        rounds, item = found
        _with_own_flags(fb, node, live, lambda: _build_range(fb, node, rounds, item, live))
        return
    items = iterable_items(fb, iterable, node.iter)
    if len(items) > _MAXIMUM_UNROLLED:
        raise fb.error(
            node.iter,
            f"this loop would be unrolled {len(items)} times, at most {_MAXIMUM_UNROLLED} are",
            "LP2051",
            hint="use range",
        )

    _with_own_flags(fb, node, live, lambda: build_unrolled(fb, node, items, live))


def _with_own_flags(
    fb: FunctionBuilder, node: ast.For | ast.While, live: Live, build: Callable[[], SetInside]
) -> None:
    """Compiles a loop with fresh break and continue flags, then its else, then restores those of the loop outside."""
    outer = {flag: fb.env.pop(flag) for flag in (BREAK, CONTINUE) if flag in fb.env}
    outer_sets, fb.set_at_jumps = fb.set_at_jumps, {}
    fb.loop_depth += 1
    inside = build()
    fb.loop_depth -= 1
    fb.set_at_jumps = outer_sets
    fb.env.pop(CONTINUE, None)
    state = jump_state(fb) if node.orelse else False
    may_break = fb.env.pop(BREAK, None) is not None
    fb.env.update(outer)  # a break in the else leaves the loop outside
    if node.orelse:
        _build_else(fb, node, state, live, inside, may_break=may_break)
    else:
        inside.unset(fb, node, inside.exits.always)


def _build_else(
    fb: FunctionBuilder,
    node: ast.For | ast.While,
    state: bool | Scalar,
    live: Live,
    inside: SetInside,
    *,
    may_break: bool,
) -> None:
    """Compiles the else of a loop, which runs where the loop was not left early (`state` says whether it was)."""

    def after_end() -> None:
        inside.unset(fb, node, inside.exits.at_end)
        build_statements(fb, node.orelse, live)

    def after_break() -> None:
        inside.unset(fb, node, inside.exits.at_break)

    if state is True:
        after_break()
        return
    if state is False:
        after_end()
        return
    skipped = build_arm(fb, after_break)
    skipped.is_dead_end = False
    if not may_break:
        mark_jumped(skipped)  # only a return leaves it
    before = dict(fb.env)
    if RETURN in fb.env:
        fb.env[RETURN] = FALSE
    run = build_arm(fb, after_end)
    fb.env = before
    written = fb.facts.writes(node.orelse) | (frozenset((RETURN,)) if RETURN in before else NO_NAMES)
    written |= inside.names
    join_arms(fb, state, skipped, run, live, written, node.orelse[0])


def _after(
    fb: FunctionBuilder,
    before: dict[str, Binding],
    carried: Carried,
    node: ast.For | ast.While,
    live: Live,
    *,
    runs_a_round: bool,
) -> None:
    """Settles the variables that the loop wrote and does not carry: they are unset where it ran no round."""
    inner = fb.env
    fb.env = dict(before)
    for name in written_by_rounds(fb, node) - frozenset(carried.names):
        if name in FLAGS or name.startswith("$"):
            continue
        old, new = before.get(name), inner.get(name)
        if old is None or isinstance(old, Unset):
            is_set = new is not None and not isinstance(new, Unset)
            path = (
                "where the loop runs no round" if is_set and not runs_a_round else "on every path through it"
            )
            fb.env[name] = Unset(node, path)
        elif new is None or new is old or name not in live:
            continue
        elif isinstance(new, Unset) or not same_object(old, new):
            raise fb.error(
                node,
                f"variable '{name}' is {describe(old)} before the loop and something else after a round",
                "LP2037",
                hint="use two variables",
            )


def _build_range(fb: FunctionBuilder, node: ast.For, rounds: Rounds, item: _Item, live: Live) -> SetInside:
    if rounds.count == 0:
        for name in written_by_rounds(fb, node):
            if not name.startswith("$"):
                fb.env.setdefault(name, Unset(node, "where the loop runs no round"))
        return SetInside()
    jumps = loop_jumps(fb, node)
    target = stored_names(node.target)
    inside = set_inside(fb, node, live, runs_a_round=bool(rounds.count))
    is_read = target & (live | fb.facts.reads(node.orelse))
    skip = target if not is_read and not (target & fb.facts.writes(node.body)) else frozenset[str]()
    carried = carried_variables(fb, node, live | jumps, skip)
    before = dict(fb.env)
    body_live = live | fb.facts.reads([node]) | jumps
    if jumps or not rounds.is_simple:
        results = _stepping_while(fb, node, rounds, item, carried, body_live, inside)
    else:
        results = _simple_for(fb, node, rounds, item, carried, body_live, inside)
    _after(fb, before, carried, node, live, runs_a_round=bool(rounds.count))
    bind(fb, carried, results)
    return inside


def _build_round(fb: FunctionBuilder, node: ast.For | ast.While, live: Live, inside: SetInside) -> None:
    outer = fb.handed_on
    fb.handed_on |= inside.names
    build_statements(fb, node.body, live)
    fb.handed_on = outer
    fb.env.pop(CONTINUE, None)
    fb.node = node


def _clear_flags(fb: FunctionBuilder) -> None:
    """Says at a round's begin that nothing has left the loop: the round would not have begun."""
    for flag in FLAGS:
        if flag in fb.env:
            fb.env[flag] = FALSE


def _body(fb: FunctionBuilder, node: ast.For, value: Value, live: Live, inside: SetInside) -> None:
    inside.unset(fb, node)
    assign_target(fb, node.target, value, node.target)
    _build_round(fb, node, live, inside)


def _simple_for(
    fb: FunctionBuilder,
    node: ast.For,
    rounds: Rounds,
    item: _Item,
    carried: Carried,
    live: Live,
    inside: SetInside,
) -> Sequence[SSAValue]:
    fb.node = node
    lower, upper, step = (_needed(fb, v) for v in (rounds.start, rounds.stop, rounds.step))
    block = Block(arg_types=[lower.type, *(v.type for v in carried.initial)])
    outer = fb.env
    fb.env = dict(outer)
    with fb.into(block):
        bind(fb, carried, block.args[1:])
        _body(fb, node, item(Scalar(rounds.type, block.args[0], bounds=rounds.bounds)), live, inside)
        fb.append(create(scf.YieldOp, operands=final_values(fb, carried)))
    op = create(
        scf.ForOp,
        operands=[lower, upper, step, *carried.initial],
        result_types=[v.type for v in carried.initial],
        regions=[Region(block)],
    )
    fb.append(op)
    return op.results


def _stepping_while(
    fb: FunctionBuilder,
    node: ast.For,
    rounds: Rounds,
    item: _Item,
    carried: Carried,
    live: Live,
    inside: SetInside,
) -> Sequence[SSAValue]:
    """Emits `while value before stop and not left`, or by rounds where no comparison of the value says it."""
    fb.node = node
    scalar = rounds.type
    ir = ir_type(scalar)
    step, one = _needed(fb, rounds.step), _needed(fb, Scalar(scalar, const=1))
    counters = [_needed(fb, rounds.start)]
    if rounds.before_stop is None:
        end, predicate = _needed(fb, rounds.rounds), "ult"
        counters.insert(0, _needed(fb, Scalar(scalar, const=0)))
    else:
        end, predicate = _needed(fb, rounds.stop), rounds.before_stop
    count = len(counters)
    types = [*(ir for _ in counters), *(v.type for v in carried.initial)]
    before, after = Block(arg_types=types), Block(arg_types=types)
    outer = fb.env
    fb.env = dict(outer)
    with fb.into(before):
        bind(fb, carried, before.args[count:])
        again = fb.emit(arith.CmpiOp, [before.args[0], end], ir_type(BOOL), CMPI[predicate])
        again = _and_not_left(fb, again)
        fb.append(create(scf.ConditionOp, operands=[again, *before.args]))
    fb.env = dict(outer)
    with fb.into(after):
        bind(fb, carried, after.args[count:])
        _clear_flags(fb)
        _body(fb, node, item(Scalar(scalar, after.args[count - 1], bounds=rounds.bounds)), live, inside)
        following = [
            fb.emit(arith.AddiOp, [value, add], ir)
            for value, add in zip(after.args[:count], (one, step)[2 - count :], strict=True)
        ]
        nexts = [value for value in following if value is not None]
        fb.append(create(scf.YieldOp, operands=[*nexts, *final_values(fb, carried)]))
    op = create(
        scf.WhileOp,
        operands=[*counters, *carried.initial],
        result_types=types,
        regions=[Region(before), Region(after)],
    )
    fb.append(op)
    return op.results[count:]


def _needed(fb: FunctionBuilder, value: Scalar) -> SSAValue:
    ssa = fb.ssa(value)
    assert ssa is not None
    return ssa


def _and_not_left(fb: FunctionBuilder, again: SSAValue | None) -> SSAValue:
    """Returns `again` and no jump out of the loop."""
    state = jump_state(fb)
    assert again is not None
    if isinstance(state, Scalar):
        stays = fb.emit(arith.XOrIOp, [state.ssa, fb.constant(True, BOOL)], ir_type(BOOL))
        again = fb.emit(arith.AndIOp, [again, stays], ir_type(BOOL))
        assert again is not None
    return again


def build_while(fb: FunctionBuilder, node: ast.While, live: Live) -> None:
    """Compiles a while loop; `live` are the variables that are read after it."""
    _with_own_flags(fb, node, live, lambda: _build_while(fb, node, live))


def _build_while(fb: FunctionBuilder, node: ast.While, live: Live) -> SetInside:
    fb.node = node
    jumps = loop_jumps(fb, node)
    if jumps:
        give_values(fb, names_set(node.test).always)  # whoever reads them runs after the condition has
    inside = set_inside(fb, node, live)
    carried = carried_variables(fb, node, live | jumps, frozenset())
    entry = dict(fb.env)
    types = [v.type for v in carried.initial]
    before = Block(arg_types=types)
    body_live = live | fb.facts.reads([node]) | jumps
    with fb.into(before):
        bind(fb, carried, before.args)
        inside.unset(fb, node)
        test = _test(fb, node)
        fb.node = node
        if test.const is False and not jumps:
            _skip(fb, node, entry)
            return SetInside()
        handed_on = final_values(fb, carried)
        extra, maybe = set_by_test(fb, node, carried, entry)
        extra_leaves = [leaf for value in extra.shapes for leaf in ir_leaves(fb, value) or ()]
        fb.append(create(scf.ConditionOp, operands=[_needed(fb, test), *handed_on, *extra_leaves]))
    results = [v.type for v in (*handed_on, *extra_leaves)]
    after = Block(arg_types=results)
    fb.env = dict(entry)
    with fb.into(after):
        bind(fb, carried, after.args)
        inside.unset(fb, node)
        bind_set(fb, extra, maybe, after.args[len(types) :])
        take_names(fb, node.test, True)
        _clear_flags(fb)
        _build_round(fb, node, body_live, inside)
        fb.append(create(scf.YieldOp, operands=final_values(fb, carried)))
    op = create(
        scf.WhileOp, operands=carried.initial, result_types=results, regions=[Region(before), Region(after)]
    )
    fb.append(op)
    _after(fb, entry, carried, node, live, runs_a_round=is_endless(node))
    bind(fb, carried, op.results)
    bind_set(fb, extra, maybe, op.results[len(types) :])
    if not jumps:
        take_names(fb, node.test, False)
    if is_endless(node) and BREAK not in jumps and RETURN in jumps:
        fb.env[RETURN] = constant(True)  # there is no other way out
    return inside


def _test(fb: FunctionBuilder, node: ast.While) -> Scalar:
    """Compiles the condition; after a jump it is not evaluated."""
    state = jump_state(fb)
    if not isinstance(state, Scalar):
        return condition(fb, fb.evaluate(node.test), node.test)

    def go_on() -> Value:
        return condition(fb, fb.evaluate(node.test), node.test)

    result = select_values(fb, state, lambda: FALSE, go_on, node.test)
    assert isinstance(result, Scalar)
    return result


def _skip(fb: FunctionBuilder, node: ast.While, entry: dict[str, Binding]) -> None:
    """``while False``: nothing runs."""
    fb.env = dict(entry)
    for name in written_by_rounds(fb, node):
        if not name.startswith("$"):
            fb.env.setdefault(name, Unset(node, "where the loop runs no round"))
