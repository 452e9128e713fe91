"""What for loops run over: the rounds of a ``range``, and the items of things whose length is known.

A step may jump over the end of the type.  Where no bound is negative the loop variable stays below twice the largest
signed number, so comparing it as an unsigned one is right; other ranges whose step is not 1 run over their number
of rounds, the distance of the ends as an unsigned number.  A step of 0 runs no round; debug mode traps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .arithmetic import binary
from .checks import check_step
from .composite_arrays import is_array, shape_of
from .conversions import CMPI, adapt, convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, INDEX_TYPE, ir_type
from .promotion import MixedSignsError, promote
from .types import ScalarType, i32, u32
from .values import (
    Array,
    Binding,
    Composite,
    Elements,
    FixedArray,
    Iteration,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Value,
    constant,
    describe,
)

MAX_UNROLLED = 1 << 14
"""Rounds of all unrolled loops of one function, inner ones counted for each outer round."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """A range in one type."""

    type: ScalarType
    start: Scalar
    stop: Scalar
    step: Scalar
    is_simple: bool
    """Signed 32-bit bounds and a positive step that cannot pass the end of the type: scf.for as it is."""
    before_stop: str | None
    """The comparison with `stop` that holds for what is still in the range; None: rounds are counted."""
    count: int | None
    """Number of rounds where it is known."""
    rounds: Scalar
    """Number of rounds, to be read as unsigned; of no meaning where there is a `before_stop`."""
    bounds: tuple[int, int] | None
    """Smallest and largest value of the loop variable, where known."""


def run_time_rounds(
    fb: FunctionBuilder, value: Value, node: ast.expr
) -> tuple[Rounds, Callable[[Scalar], Value]] | None:
    """Returns the rounds of a loop that is not unrolled, and what the variable is at a number of the range.

    Raises:
        CompileError: as `range_rounds`.
    """
    if isinstance(value, RangeValue):
        if value.is_static:
            return None
        rounds = range_rounds(fb, value, node)
        return rounds, _mirrored(fb, rounds, node) if value.is_reversed else lambda number: number
    if not isinstance(value, Array | Elements) and shape_of(value) is None:
        return None
    from .iterators import elements  # few kernels loop over arrays

    found = elements(fb, value, node)
    if found is None:
        return None
    positions = RangeValue(constant(0), found.count, constant(1))
    return range_rounds(fb, positions, node), found.item


def _mirrored(fb: FunctionBuilder, rounds: Rounds, node: ast.expr) -> Callable[[Scalar], Value]:
    """Returns what turns the numbers of a range round: their sum with it is that of the first and the last number.

    The sum wraps around where it does not fit, and the difference wraps back.
    """
    ends = binary(fb, "Add", rounds.start, _last_number(fb, rounds, node), node)

    def mirrored(number: Scalar) -> Value:
        result = binary(fb, "Sub", ends, number, node)
        assert isinstance(result, Scalar)
        return replace(result, bounds=rounds.bounds)

    return mirrored


def _last_number(fb: FunctionBuilder, rounds: Rounds, node: ast.expr) -> Value:
    """Returns the last number of a range, anything where it has none."""
    if rounds.step.const == 1:
        return binary(fb, "Sub", rounds.stop, constant(1), node)
    if rounds.step.const == -1:
        return binary(fb, "Add", rounds.stop, constant(1), node)
    if fb.is_dry:
        return Scalar(rounds.type)
    if rounds.count is not None:
        count = convert(fb, constant(rounds.count), rounds.type)
    elif rounds.before_stop is None:
        count = rounds.rounds
    else:
        count = Scalar(rounds.type, _emit_count(fb, rounds.start, rounds.stop, rounds.step))
    way = binary(fb, "Mult", binary(fb, "Sub", count, constant(1), node), rounds.step, node)
    return binary(fb, "Add", rounds.start, way, node)


def range_rounds(fb: FunctionBuilder, value: RangeValue, node: ast.expr) -> Rounds:
    """Works out how often a range loop runs, emitting what is not known yet.

    Raises:
        CompileError: bounds of types that do not mix, or the literal step 0.
    """
    scalar = _loop_type(fb, value, node)
    if not scalar.is_signed and value.step.const is not None and value.step.const < 0:
        return _unsigned_down(fb, value, scalar, node)
    start, stop, step = (adapt(fb, v, scalar, node) for v in (value.start, value.stop, value.step))
    check_step(fb, step, node)
    known = _known_range(start, stop, step)
    bounds = _bounds(start, stop, step, known)
    is_simple = (
        scalar.is_signed
        and scalar.bits == 32
        and step.const is not None
        and step.const > 0
        and (step.const == 1 or (stop.const is not None and stop.const + step.const <= scalar.maximum))
    )
    count = None if known is None else _length(known)
    before_stop = _comparison(scalar, step)
    rounds = constant(0)
    if is_simple:
        before_stop = "slt"
    elif fb.is_dry or before_stop is not None:
        pass
    elif count is not None:
        rounds = Scalar(scalar, const=count if count <= scalar.maximum else count - (1 << scalar.bits))
    elif scalar.is_signed and all(v.bounds is not None and v.bounds[0] >= 0 for v in (start, stop, step)):
        before_stop, stop = "ult", _zero_without_step(fb, stop, step)
    else:
        rounds = Scalar(scalar, _emit_count(fb, start, stop, step))
    return Rounds(scalar, start, stop, step, is_simple, before_stop, count, rounds, bounds)


def _unsigned_down(fb: FunctionBuilder, value: RangeValue, scalar: ScalarType, node: ast.expr) -> Rounds:
    """Works out a range of unsigned numbers with a negative literal step, which is added as what wraps around."""
    start, stop = (adapt(fb, v, scalar, node) for v in (value.start, value.stop))
    size = adapt(fb, constant(-int(value.step.const or 0)), scalar, node)
    known = _known_range(start, stop, value.step)
    count = None if known is None else _length(known)
    rounds = Scalar(scalar, const=count or 0)
    if count is None and not fb.is_dry:
        rounds = Scalar(scalar, _emit_count(fb, stop, start, size))
    step = Scalar(scalar, const=scalar.maximum + 1 - int(size.const or 0))
    bounds = _bounds(start, stop, value.step, known)
    return Rounds(scalar, start, stop, step, False, None, count, rounds, bounds)


def _comparison(scalar: ScalarType, step: Scalar) -> str | None:
    """Returns the comparison for steps of 1 and -1, which cannot pass the end."""
    if step.const == 1:
        return "slt" if scalar.is_signed else "ult"
    return "sgt" if step.const == -1 else None


def _zero_without_step(fb: FunctionBuilder, stop: Scalar, step: Scalar) -> Scalar:
    """Returns the end of a range, 0 where its step is 0: a loop that does not get on must not begin."""
    if step.const is not None:
        return stop
    zero = fb.constant(0, stop.type)
    nonzero = fb.emit(arith.CmpiOp, [fb.ssa(step), zero], ir_type(BOOL), CMPI["ne"])
    end = fb.emit(arith.SelectOp, [nonzero, fb.ssa(stop), zero], ir_type(stop.type))
    return Scalar(stop.type, end, bounds=stop.bounds)


def _loop_type(fb: FunctionBuilder, value: RangeValue, node: ast.expr) -> ScalarType:
    scalar = INDEX_TYPE
    for bound in (value.start, value.stop, value.step):
        if bound.is_weak:
            continue
        try:
            scalar = (
                bound.type if scalar is INDEX_TYPE and bound.type.bits >= 32 else promote(scalar, bound.type)
            )
        except MixedSignsError:
            raise fb.error(
                node,
                "range mixes signed and unsigned integers of one width",
                "LP2034",
                hint="convert the bounds to one type: lp.i32(…)",
            ) from None
    if scalar.bits < 32:
        return i32 if scalar.is_signed else u32
    literals = [b.const for b in (value.start, value.stop, value.step) if b.is_weak and b.const is not None]
    if scalar is INDEX_TYPE and any(not scalar.minimum <= n <= scalar.maximum for n in literals):
        raise fb.error(
            node, "a bound of this range does not fit lp.i32", "LP2035", hint="write lp.i64(…) around it"
        )
    return scalar


def _known_range(start: Scalar, stop: Scalar, step: Scalar) -> range | None:
    if start.const is None or stop.const is None or step.const is None:
        return None
    return range(int(start.const), int(stop.const), int(step.const)) if step.const else range(0)


def _length(known: range) -> int:
    """Returns the number of rounds; len refuses ranges beyond 2**63."""
    distance = known.stop - known.start if known.step > 0 else known.start - known.stop
    return max(0, -(-distance // abs(known.step)))


def _bounds(start: Scalar, stop: Scalar, step: Scalar, known: range | None) -> tuple[int, int] | None:
    if known is not None:
        return (min(known[0], known[-1]), max(known[0], known[-1])) if known else None
    if step.const is None or start.bounds is None:
        return None
    if step.const > 0 and stop.bounds is not None:
        return (start.bounds[0], max(stop.bounds[1] - 1, start.bounds[0]))
    if step.const > 0:
        return (start.bounds[0], start.type.maximum) if start.type.bits else None
    return (stop.bounds[0] + 1, start.bounds[1]) if stop.bounds is not None else None


def _emit_count(fb: FunctionBuilder, start: Scalar, stop: Scalar, step: Scalar) -> SSAValue | None:
    """Emits the number of rounds: (distance - 1) // |step| + 1 in unsigned arithmetic, 0 where the range is empty."""
    scalar = start.type
    ir, boolean = ir_type(scalar), ir_type(BOOL)
    zero, one = fb.constant(0, scalar), fb.constant(1, scalar)
    less = CMPI["slt" if scalar.is_signed else "ult"]
    a, b, s = fb.ssa(start), fb.ssa(stop), fb.ssa(step)

    def distance(low: SSAValue | None, high: SSAValue | None) -> tuple[SSAValue | None, SSAValue | None]:
        length = high if low is zero else fb.emit(arith.SubiOp, [high, low], ir)
        return fb.emit(arith.CmpiOp, [low, high], boolean, less), length

    size = Scalar(scalar, const=abs(int(step.const))) if step.const is not None else None
    if step.const is not None:
        some, length = distance(a, b) if step.const > 0 else distance(b, a)
    elif not scalar.is_signed or (step.bounds is not None and step.bounds[0] >= 0):
        some, length = distance(a, b)
        nonzero = fb.emit(arith.CmpiOp, [s, zero], boolean, CMPI["ne"])
        some = fb.emit(arith.AndIOp, [some, nonzero], boolean)
        size = Scalar(scalar, fb.emit(arith.SelectOp, [nonzero, s, one], ir))
    else:
        up, down = distance(a, b), distance(b, a)
        is_up = fb.emit(arith.CmpiOp, [s, zero], boolean, CMPI["sgt"])
        is_down = fb.emit(arith.CmpiOp, [s, zero], boolean, CMPI["slt"])
        going_down = fb.emit(arith.AndIOp, [is_down, down[0]], boolean)
        some = fb.emit(arith.SelectOp, [is_up, up[0], going_down], boolean)
        length = fb.emit(arith.SelectOp, [is_up, up[1], down[1]], ir)
        magnitude = fb.emit(arith.SelectOp, [is_up, s, fb.emit(arith.SubiOp, [zero, s], ir)], ir)
        nonzero = fb.emit(arith.CmpiOp, [s, zero], boolean, CMPI["ne"])
        size = Scalar(scalar, fb.emit(arith.SelectOp, [nonzero, magnitude, one], ir))
    assert size is not None
    if size.const != 1:
        length = fb.emit(arith.SubiOp, [length, one], ir)
        length = fb.emit(arith.DivUIOp, [length, fb.ssa(size)], ir)
        length = fb.emit(arith.AddiOp, [length, one], ir)
    return fb.emit(arith.SelectOp, [some, length, zero], ir)


def iterable_items(fb: FunctionBuilder, value: Value, node: ast.expr) -> Sequence[Value]:
    """Returns the items of something whose length is known, for an unrolled loop.

    Raises:
        CompileError: kernels cannot loop over it, or the code would become too long.
    """
    known = _known_range(value.start, value.stop, value.step) if isinstance(value, RangeValue) else None
    if known is not None:
        _count_rounds(fb, _length(known), node)
        known = known[::-1] if isinstance(value, RangeValue) and value.is_reversed else known
    items = _items(fb, value, known, node)
    if known is None:
        _count_rounds(fb, len(items), node)
    return items


def _count_rounds(fb: FunctionBuilder, count: int, node: ast.expr) -> None:
    fb.unrolled_rounds += count
    if fb.unrolled_rounds > MAX_UNROLLED:
        raise fb.error(
            node,
            f"unrolled loops of this function would have more than {MAX_UNROLLED} rounds together",
            "LP2051",
            hint="use range: only lp.static_range, tuples, enumerate and zip are unrolled",
        )


def _items(fb: FunctionBuilder, value: Value, known: range | None, node: ast.expr) -> Sequence[Value]:
    match value:
        case Tuple(items=items) if not isinstance(value, Composite) or value.is_vector:
            return items
        case Iteration(rounds=rounds):
            return rounds
        case RangeValue():
            if known is None:
                what = "lp.static_range" if value.is_static else "a range inside of enumerate or zip"
                raise fb.error(
                    node,
                    f"{what} takes literals and captured constants",
                    "LP2051",
                    hint="use range for bounds that are known at run time only, or a parameter n: lp.Const[lp.i32]",
                )
            return [constant(n) for n in known]
        case _:
            raise fb.error(
                node,
                "for loops run over range, tuples, arrays of one dimension, enumerate, zip and lp.static_range, "
                f"found {describe(value)}",
                "LP2033",
                hint=_loop_hint(value, node),
            )


def _loop_hint(value: Value, node: ast.expr) -> str:
    """Returns what to write in a for statement instead of something that has no items."""
    if isinstance(value, Static):
        return "write the range in the for statement"
    if isinstance(value, Scalar):
        return f"write range({ast.unparse(node)})"
    name = ast.unparse(node) if isinstance(node, ast.Name) else "a"
    return f"loop over indices: for i in range(len({name}))"


def refuse_changes(fb: FunctionBuilder, node: ast.For) -> None:
    """Raises CompileError where a loop changes a fixed array that it runs over: its rounds read the value before."""
    of_rounds = (part for written in (node.target, *node.body) for part in ast.walk(written))
    stored = [_path(part) for part in of_rounds if isinstance(getattr(part, "ctx", None), ast.Store)]
    for part in _run_over(node.iter):
        path = _path(part)
        name, *members = path
        is_fixed = bool(members) or _is_fixed(fb.env.get(name))  # no other array is a member
        if is_fixed and any(other[: len(path)] == path for other in stored):
            text = ast.unparse(part)
            raise fb.error(
                part,
                f"this loop runs over '{text}' and changes it",
                "LP2033",
                hint=f"loop over indices: for i in range(len({text}))",
            )


def _is_fixed(held: Binding | None) -> bool:
    return isinstance(held, FixedArray) or (held is not None and is_array(held))


def _run_over(iterable: ast.expr) -> Iterator[ast.expr]:
    """Yields the variables, and members of variables, that a loop runs over."""
    pending: list[ast.AST] = [iterable]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.expr) and _path(part):
            yield part
        else:
            pending += ast.iter_child_nodes(part)


def _path(part: ast.AST) -> tuple[str, ...]:
    """Returns a variable's name and what is taken of it, any index as ``[]``; nothing of other expressions."""
    names: list[str] = []
    while isinstance(part, ast.Attribute | ast.Subscript):
        names.append(part.attr if isinstance(part, ast.Attribute) else "[]")
        part = part.value
    return (part.id, *reversed(names)) if isinstance(part, ast.Name) else ()
