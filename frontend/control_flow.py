"""Statement lists, ``if``, and what follows a jump.

scf has no break, continue or return.  A jump sets a flag; what follows it is compiled into the branch that does
not jump (the usual ``if …: continue``), or under a test of the flag where jumps hide deeper.  Flags are carried
by scf ops as variables are, and vanish where nothing reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block

from .analysis import FLAGS, NO_NAMES, always_exits
from .branches import branch, build_arm, names_that_differ
from .conversions import condition
from .definite import take_names
from .dispatch import STATEMENTS
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .joins import FALSE, Arm
from .unsupported import unsupported_error
from .values import Scalar, constant

Live = frozenset[str]
"""Variables that code after the place may read."""


def build_statements(fb: FunctionBuilder, statements: Sequence[ast.stmt], live: Live) -> None:
    """Compiles statements in order.

    Args:
        live: variables that are read after the last one.
    """
    for position, statement in enumerate(statements):
        rest = statements[position + 1 :]
        if isinstance(statement, ast.If | ast.For | ast.While):
            if build_compound(fb, statement, rest, live):
                return
        else:
            build_simple(fb, statement)
        if not rest:
            return
        state = jump_state(fb)
        if state is True:
            return  # nothing after a jump runs
        if state is not False:
            _build_guarded(fb, state, rest, live)
            return


def build_simple(fb: FunctionBuilder, statement: ast.stmt) -> None:
    """Compiles a statement without statements inside.

    Raises:
        CompileError: kernels have no such statement.
    """
    handler = STATEMENTS.get(type(statement))
    if handler is None:
        raise unsupported_error(fb.source, statement, notes=fb.module.call_notes())
    fb.node = statement
    handler(fb, statement)


def build_compound(
    fb: FunctionBuilder, statement: ast.If | ast.For | ast.While, rest: Sequence[ast.stmt], live: Live
) -> bool:
    """Compiles a statement that holds others; returns whether `rest` was compiled with it."""
    from .loops import build_for, build_while

    jumps = frozenset(FLAGS) & fb.facts.names[id(statement)].writes
    if isinstance(statement, ast.If):
        return _build_if(fb, statement, rest, live, jumps)
    live_after = live | fb.facts.reads(rest) | (jumps if rest else NO_NAMES)
    if isinstance(statement, ast.For):
        build_for(fb, statement, live_after)
    else:
        build_while(fb, statement, live_after)
    return False


def _build_if(
    fb: FunctionBuilder, statement: ast.If, rest: Sequence[ast.stmt], live: Live, jumps: Live
) -> bool:
    fb.node = statement
    test = condition(fb, fb.evaluate(statement.test), statement.test)
    body, orelse = statement.body, statement.orelse
    takes_rest = False
    if jumps and rest:
        # The rest runs on one side only where the other always jumps.
        if test.const is not None:
            body, orelse = ([*body, *rest], orelse) if test.const else (body, [*orelse, *rest])
            takes_rest = True
        elif always_exits(body):
            orelse, takes_rest = [*orelse, *rest], True
        elif always_exits(orelse):
            body, takes_rest = [*body, *rest], True
    if test.const is not None:
        build_statements(
            fb, body if test.const else orelse, live if takes_rest else live | fb.facts.reads(rest)
        )
        return takes_rest
    if not takes_rest:
        live = live | fb.facts.reads(rest) | (jumps if rest else NO_NAMES)

    def side(outcome: bool) -> None:
        take_names(fb, statement.test, outcome)
        build_statements(fb, body if outcome else orelse, live)

    then, other = build_arm(fb, lambda: side(True)), build_arm(fb, lambda: side(False))
    fb.node = statement
    join_arms(fb, test, then, other, live, fb.facts.writes(body) | fb.facts.writes(orelse), statement)
    return takes_rest


def join_arms(
    fb: FunctionBuilder, test: Scalar, then: Arm, other: Arm, live: Live, written: Live, node: ast.AST
) -> None:
    """Puts two arms under a condition, keeping the variables that are both written and live."""
    dead_flags = [flag for flag in FLAGS if flag in written and flag not in live]
    names = sorted(written & live) + sorted(_walrus_names(then, other, written) & live)
    branch(fb, test, then, other, names, node)
    for flag in dead_flags:
        first, second = then.env.get(flag, FALSE), other.env.get(flag, FALSE)
        same = isinstance(first, Scalar) and isinstance(second, Scalar) and first.const == second.const
        # Neither set nor clear: nothing reads it, but the end of the function must not count as reached.
        fb.env[flag] = (
            first if same and isinstance(first, Scalar) and first.const is not None else Scalar(BOOL)
        )


def _walrus_names(then: Arm, other: Arm, written: Live) -> Live:
    return frozenset(names_that_differ(then.env, other.env)) - written


def jump_state(fb: FunctionBuilder) -> bool | Scalar:
    """Returns whether a jump has happened: True or False where that is known, else the condition."""
    unknown: list[Scalar] = []
    for flag in FLAGS:
        binding = fb.env.get(flag)
        if not isinstance(binding, Scalar) or binding.const is False:
            continue
        if binding.const is True:
            return True
        unknown.append(binding)
    if not unknown:
        return False
    state = unknown[0]
    for other in unknown[1:]:
        state = Scalar(BOOL, fb.emit(arith.OrIOp, [state.ssa, other.ssa], ir_type(BOOL)))
    return state


def mark_jumped(arm: Arm) -> None:
    """Says which flag is set on a side that is taken because a jump has happened, if there is only one candidate."""
    unknown = [flag for flag in FLAGS if isinstance(b := arm.env.get(flag), Scalar) and b.const is None]
    if len(unknown) == 1:
        arm.env[unknown[0]] = constant(True)


def _build_guarded(fb: FunctionBuilder, jumped: Scalar, rest: Sequence[ast.stmt], live: Live) -> None:
    """Compiles `rest` so that it runs only where no jump has happened."""
    skipped = Arm(Block(), dict(fb.env), is_dead_end=True)
    mark_jumped(skipped)
    # Where the rest runs the flags are clear, whatever set them before.
    outer = dict(fb.env)
    for flag in FLAGS:
        if flag in fb.env:
            fb.env[flag] = FALSE
    run = build_arm(fb, lambda: build_statements(fb, rest, live))
    fb.env = outer
    fb.node = rest[0]
    written = fb.facts.writes(rest) | frozenset(flag for flag in FLAGS if flag in outer)
    join_arms(fb, jumped, skipped, run, live, written, rest[0])
