"""Writes out remainders of floats, exactly: the pass `expand-remainders`, the first of `analyse`.

    %r = arith.remf %x, %y : f32      =>      %r = what C's fmod gives: x - n y, n = trunc(x / y)

Devices compute x - y * trunc(x / y), which is wrong wherever the product rounds.  With the significands as integers
X and Y of 24 bits (53 of f64), |x| = X 2**e and |y| = Y 2**f, the remainder of X 2**(e - f) by Y is computed in floats:

    Y = high + low                                            halves of 12 bits (26 and 27)
    R = X,  d = e - f
    again:  k = min(d, 22),  R = R 2**k,  d = d - k           22 bits of the quotient a round (50)
            q = R / Y, rounded to an integer and to 12 bits (26)
            R = (R - q high) - q low                          twice
            while d > 0 or |R| >= Y

Every product and every difference is exact, with or without contraction: q and the halves have no more bits together
than a significand, and what is left of R is at most 3/4 of Y times the last place of q.  No product leaves the range of
normal numbers, so it does not matter what a device makes of subnormal ones.  Numbers that are not 2**22 apart take one
round, f32s at most 13, f64s 42.

The loop stands in the test of an `scf.while`: drivers that run the body of each loop once run nothing in vain.  It
*settles* (`kernel.settles`): further rounds change nothing, so work-items that share an invocation share it, until all
of them are done, and so do remainders of a block that do not need each other.  Integers are not shifted, which
SwiftShader does lane by lane: exponents stay where they stand.

In f16 there is no loop: in f32 quotients of 13 bits times significands of 11 are exact, and three steps are enough.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, ModuleOp, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..ir.attributes import i32_attribute
from ..ir.dialects.kernel import SETTLES
from ..ir.upstream.arith import RemFOp
from ..ir.upstream.index import CmpPredicate
from ..ir.walk import instances
from .optimise.effects import is_pure_class
from .upstream.place import NO_FLAGS, UpstreamPlace


@dataclass(frozen=True, slots=True)
class _Format:
    """A type whose significands are divided."""

    bits: Attribute
    """Integers of its width."""
    width: int
    fraction: int
    """Bits of the significand but for the highest."""
    bias: int
    """Of the exponent."""
    part: int
    """Bits of a part of the quotient; those of the lower half of a significand are as many or one more."""
    rounds: int
    """More than any two numbers take."""

    @property
    def dropped(self) -> int:
        """Bits of a significand that a number of `part` bits has not."""
        return self.fraction + 1 - self.part

    @property
    def infinity(self) -> int:
        """Its bits."""
        return (2 * self.bias + 1) << self.fraction


_F32 = _Format(i32, 32, 23, 127, 12, 15)
_F64 = _Format(i64, 64, 52, 1023, 26, 45)
TOGETHER = 4
"""Remainders of one loop: more do not fit into registers."""
_HALF_STEPS = (27, 13, 0)
"""By which powers of two the divisor is multiplied: quotients of f16 are below 2**40."""


def expand_remainders(module: Operation) -> None:
    """Replaces every `arith.remf` of a module; up to `TOGETHER` that do not need each other share a loop."""
    found = instances(module, RemFOp)
    for block in dict.fromkeys(op.parent for op in found):
        assert block is not None
        for group in _groups(block):
            _replace(group)


def _replace(group: Sequence[RemFOp]) -> None:
    place = UpstreamPlace(group[0])
    pairs = [(op.operands[0], op.operands[1]) for op in group]
    type_ = group[0].results[0].type
    if isinstance(type_, Float16Type | BFloat16Type):
        x, y = (place.emit(arith.ExtFOp, [value], f32) for value in pairs[0])
        is_half = isinstance(type_, Float16Type)
        rest = _of_halves(place, x, y) if is_half else _remainders(place, _F32, [(x, y)])[0]
        results = [place.emit(arith.TruncFOp, [rest], type_)]
    else:
        results = _remainders(place, _F32 if isinstance(type_, Float32Type) else _F64, pairs)
    for op, result in zip(group, results, strict=True):
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()


def _groups(block: Block) -> list[list[RemFOp]]:
    """Returns the remainders of a block, together those that can be computed where the first of them stands.

    What the others are computed from is moved there.
    """
    groups: list[list[RemFOp]] = []
    numbers = {op: number for number, op in enumerate(block.ops)}
    late: set[Operation] = set()  # what needs a remainder of the last group
    for op in list(block.ops):
        is_late = bool(op.regions) or any(value.owner in late for value in op.operands)
        if isinstance(op, RemFOp):
            group = groups[-1] if groups else None
            if group is None or is_late or not _joins(op, group, numbers, late):
                groups.append([op])
                late.clear()
            late.add(op)
        elif is_late:
            late.add(op)
    return groups


def _joins(
    op: RemFOp, group: list[RemFOp], numbers: dict[Operation, int], late: Collection[Operation]
) -> bool:
    """Adds a remainder to a group, if it can be computed there; returns whether it can."""
    first, type_ = group[0], op.results[0].type
    is_alike = first.results[0].type == type_ and not isinstance(type_, Float16Type | BFloat16Type)
    if not is_alike or len(group) == TOGETHER:
        return False
    moved: set[Operation] = set()
    pending = [value.owner for value in op.operands]
    while pending:
        owner = pending.pop()
        if not isinstance(owner, Operation) or numbers.get(owner, -1) < numbers[first] or owner in moved:
            continue
        if owner in late or owner.regions or not is_pure_class(type(owner)):
            return False
        moved.add(owner)
        pending += [value.owner for value in owner.operands]
    block = first.parent
    assert block is not None
    for needed in sorted(moved, key=numbers.__getitem__):
        needed.detach()
        block.insert_op_before(needed, first)
        numbers[needed] = -1
    group.append(op)
    return True


@dataclass(frozen=True)
class ExpandRemainders(ModulePass):
    """Writes out remainders of floats, exactly."""

    name = "expand-remainders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_remainders(op)


def _of_halves(place: UpstreamPlace, x: SSAValue, y: SSAValue) -> SSAValue:
    """Returns the remainder of numbers that are f16s: NaN comes out by itself, of the infinite and of 0."""

    def emit(kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return place.emit(kind, operands, f32, fastmath=NO_FLAGS)

    a, b = emit(math.AbsFOp, x), emit(math.AbsFOp, y)
    inverse = emit(arith.DivfOp, place.constant(1.0, f32), b)
    rest = a
    for power in _HALF_STEPS:
        quotient = emit(arith.MulfOp, emit(arith.MulfOp, rest, inverse), place.constant(2.0**-power, f32))
        multiple = emit(arith.MulfOp, b, place.constant(2.0**power, f32))
        rest = emit(arith.SubfOp, rest, emit(arith.MulfOp, emit(math.RoundEvenOp, quotient), multiple))
    is_below = place.compare_floats("olt", rest, place.constant(0.0, f32))
    rest = place.select(is_below, emit(arith.AddfOp, rest, b), rest)
    signed = emit(math.CopySignOp, rest, x)
    return place.select(place.compare_floats("olt", a, b), x, signed)


def _remainders(
    place: UpstreamPlace, form: _Format, pairs: Sequence[tuple[SSAValue, SSAValue]]
) -> list[SSAValue]:
    """Returns what fmod gives of each pair of f32s or f64s, by one loop."""
    divisions = [_Division(place, form, x, y) for x, y in pairs]
    carried = [value for division in divisions for value in (division.dividend, division.distance)]
    types = [value.type for value in carried]
    test, body = Block(arg_types=types), Block(arg_types=types)
    inside = place.inside(test)
    rounds = [
        division.round(inside, test.args[2 * number], test.args[2 * number + 1])
        for number, division in enumerate(divisions)
    ]
    goes_on = rounds[0][0]
    for again, _, _ in rounds[1:]:
        goes_on = inside.emit(arith.OrIOp, [goes_on, again], i1)
    inside.make(scf.ConditionOp, [goes_on, *(value for _, *values in rounds for value in values)])
    place.inside(body).make(scf.YieldOp, body.args)
    loop = place.make(scf.WhileOp, carried, types, regions=[Region(test), Region(body)])
    loop.attributes[SETTLES] = i32_attribute(form.rounds)
    return [division.result(rest) for division, rest in zip(divisions, loop.results[::2], strict=True)]


class _Division:
    """One remainder of f32 or f64, and what its loop needs."""

    def __init__(self, place: UpstreamPlace, form: _Format, x: SSAValue, y: SSAValue) -> None:
        self.place, self.form, self.x, self.real = place, form, x, x.type
        bits, magnitude = self._cast(x), form.infinity | self._ones
        self.sign = self._and(bits, -1 << (form.width - 1))
        self.a, self.b = self._and(bits, magnitude), self._and(self._cast(y), magnitude)
        dividend, power = self._parts(self.a)
        divisor, self.least = self._parts(self.b)
        divisor = self._most(divisor, self._number(1))
        self.dividend = self._as_float(dividend)
        self.distance = self._most(self._int(arith.SubiOp, power, self.least), self._number(0))
        self.divisor = self._as_float(divisor)
        self.high = self._as_float(self._and(divisor, -1 << form.dropped))
        self.low = self._float(arith.SubfOp, self.divisor, self.high)
        self.inverse = self._float(arith.DivfOp, place.constant(1.0, self.real), self.divisor)

    def result(self, rest: SSAValue) -> SSAValue:
        """Returns the remainder for what the loop leaves, which is nearest to zero or not much further from it."""
        place, form = self.place, self.form
        is_below = place.compare_floats("olt", rest, place.constant(0.0, self.real))
        rest = place.select(is_below, self._float(arith.AddfOp, rest, self.divisor), rest)
        # In two steps, as 2**(f - 150) need not be a normal number.
        rest = self._float(arith.MulfOp, rest, place.constant(2.0**-form.fraction, self.real))
        rest = self._float(arith.MulfOp, rest, self._cast(self.least))
        signed = self._cast(self._int(arith.OrIOp, self._cast(rest), self.sign))
        is_smaller = place.compare(CmpPredicate.Slt, self.a, self.b)  # infinite divisors among them
        result = place.select(is_smaller, self.x, signed)
        infinity = self._number(form.infinity)
        is_number = place.compare(CmpPredicate.Slt, self.a, infinity)
        below = self._int(arith.SubiOp, self.b, self._number(1))
        is_divisor = place.compare(CmpPredicate.Ult, below, infinity)
        is_defined = place.emit(arith.AndIOp, [is_number, is_divisor], i1)
        return place.select(is_defined, result, place.constant(float("nan"), self.real))

    @property
    def _ones(self) -> int:
        return (1 << self.form.fraction) - 1

    def _parts(self, bits: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Returns the significand of a positive number as an integer, and the exponent where it stands in its bits."""
        lowest = self._number(1 << self.form.fraction)
        exponent = self._most(self._and(bits, self.form.infinity), lowest)
        above = self._int(arith.SubiOp, exponent, lowest)  # a subnormal number has none above
        return self._int(arith.SubiOp, bits, above), exponent

    def round(
        self, place: UpstreamPlace, rest: SSAValue, distance: SSAValue
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Emits a round; returns whether there is another one, and what remains."""
        outer, self.place, form = self.place, place, self.form
        most = 2 * (form.part - 1)
        count = self._int(arith.MinSIOp, distance, self._number(most << form.fraction))
        distance = self._int(arith.SubiOp, distance, count)
        power = self._int(arith.AddiOp, count, self._number(form.bias << form.fraction))
        rest = self._float(arith.MulfOp, rest, self._cast(power))
        for _ in range(2):
            quotient = self._rounded(self._float(arith.MulfOp, rest, self.inverse))
            for half in (self.high, self.low):
                rest = self._float(arith.SubfOp, rest, self._float(arith.MulfOp, quotient, half))
        is_far = place.compare(CmpPredicate.Sgt, distance, self._number(0))
        is_large = place.compare_floats("oge", self._float(math.AbsFOp, rest), self.divisor)
        again = place.emit(arith.OrIOp, [is_far, is_large], i1)
        self.place = outer
        return again, rest, distance

    def _rounded(self, value: SSAValue) -> SSAValue:
        """Returns an integer of few bits."""
        dropped = self.form.dropped
        half = self.place.constant(0.5, self.real)
        bits = self._cast(self._float(math.FloorOp, self._float(arith.AddfOp, value, half)))
        return self._cast(
            self._and(self._int(arith.AddiOp, bits, self._number(1 << (dropped - 1))), -1 << dropped)
        )

    # Operations of the two types

    def _float(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.place.emit(kind, operands, self.real, fastmath=NO_FLAGS)

    def _int(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.place.emit(kind, operands, self.form.bits)

    def _most(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._int(arith.MaxSIOp, a, b)

    def _and(self, value: SSAValue, mask: int) -> SSAValue:
        return self._int(arith.AndIOp, value, self._number(mask))

    def _number(self, value: int) -> SSAValue:
        return self.place.constant(value, self.form.bits)

    def _as_float(self, value: SSAValue) -> SSAValue:
        return self.place.emit(arith.SIToFPOp, [value], self.real)

    def _cast(self, value: SSAValue) -> SSAValue:
        """Returns the bits of a float, or the float of these bits."""
        other = self.form.bits if value.type == self.real else self.real
        return self.place.emit(arith.BitcastOp, [value], other)
