"""Breaks become part of a loop's test, where what they ask can be computed there.

input:    scf.while (%k = …, %left = %false, %z = …) {     output:   scf.while (%k = …, %z = …) {
            %t = arith.cmpi slt, %k, %n                                 %t = arith.cmpi slt, %k, %n
            %go = %t and not %left                                      %c = arith.cmpf ogt, %z, %four
            scf.condition(%go) …                                        %go = %t and not %c
          } do {                                                        scf.condition(%go) …
            %c = arith.cmpf ogt, %z, %four                            } do {
            %w = …                                                      %w = …
            %y = arith.select %c, %z, %w                                scf.yield %m, %w }
            scf.yield %m, %c, %y }

The front end writes ``for … if c: break`` with a flag that the next test reads, and so everything behind the break
is chosen by the flag once more.  Here the round that would break is not begun.

Invariant: that round had no effects, and what it computes for the test may run where the loop ends otherwise: no
loads, no division perhaps by zero.  Values that leave the loop are those of before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...ir.create import add_arguments, create
from ...ir.walk import block_operations, operations
from .constants import bool_attribute, constant_integer
from .effects import functions_of, is_removable_class, is_speculatable, loops_of

_LOOPS = frozenset((scf.WhileOp,))


@dataclass(frozen=True)
class LiftBreaks(ModulePass):
    """Makes the conditions of breaks part of the tests of their loops."""

    name = "lift-breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            lift_breaks(function)


def lift_breaks(function: Operation) -> None:
    """Changes the `scf.while` loops of one function, innermost loops first."""
    for loop in loops_of(function, _LOOPS):
        changed: scf.WhileOp | None = loop if isinstance(loop, scf.WhileOp) else None
        while changed is not None:
            changed = _lift_one(changed)


def _lift_one(loop: scf.WhileOp) -> scf.WhileOp | None:
    """Lifts the first break that can be; returns the loop that takes the place of `loop`, None where there is none."""
    test, end = loop.before_region.block.last_op, loop.after_region.block.last_op
    if not isinstance(test, scf.ConditionOp) or end is None:
        return None
    for index in range(len(loop.operands)):
        found = _break_of(loop, test, end, index)
        if found is not None:
            lifting = _Lifting(loop, test, end, found)
            if lifting.is_possible():
                return lifting.done()
    return None


@dataclass(frozen=True, slots=True)
class _Break:
    """A flag that a loop carries, and what sets it."""

    index: int
    """Of the flag among the carried values."""
    way: list[Operation]
    """From the flag to the condition of the loop."""
    condition: SSAValue
    """Computed by the body."""
    sense: bool
    """What the condition is where the flag is set."""


def _break_of(loop: scf.WhileOp, test: scf.ConditionOp, end: Operation, index: int) -> _Break | None:
    """Returns the break that a carried value is the flag of; None where it is not one."""
    flag = loop.before_region.block.args[index]
    if flag.type != i1 or constant_integer(loop.operands[index]) != 0:
        return None
    way = _way_of(flag, test)
    if way is None:
        return None
    condition, sense = end.operands[index], True
    owner = condition.owner
    if isinstance(owner, scf.IfOp):
        arms = [_yielded(block, condition) for block in _arms(owner)]
        known = [None if value is None else constant_integer(value) for value in arms]
        if known not in ([-1, 0], [0, -1]):
            return None
        condition, sense = owner.operands[0], known[0] == -1
    owner = condition.owner
    block = owner if isinstance(owner, Block) else owner.parent
    return _Break(index, way, condition, sense) if block is end.parent else None


def _way_of(flag: SSAValue, test: scf.ConditionOp) -> list[Operation] | None:
    """Returns the operations from a flag to the condition of a loop that goes on only where the flag is not set:
    `arith.ori` with other flags, `arith.xori` with true, `arith.andi` with other conditions.  None where there are
    others, or what they give is used elsewhere."""
    way: list[Operation] = []
    value, is_negated = flag, False
    while True:
        uses = [u for u in value.uses if u.operation is not test or (u.index == 0 or value is not flag)]
        if len(uses) != 1:
            return None
        user = uses[0].operation
        if user is test:
            return way if is_negated and uses[0].index == 0 else None
        if isinstance(user, arith.XOrIOp) and not is_negated and constant_integer(user.operands[1]) == -1:
            is_negated = True
        elif not isinstance(user, arith.AndIOp if is_negated else arith.OrIOp):
            return None
        way.append(user)
        value = user.results[0]


def _arms(op: scf.IfOp) -> tuple[Block | None, Block | None]:
    return op.true_region.first_block, op.false_region.first_block


def _yielded(arm: Block | None, result: SSAValue) -> SSAValue | None:
    """Returns what an arm of a branch yields as a result of that branch."""
    last = None if arm is None else arm.last_op
    index = getattr(result, "index", None)
    return None if last is None or not isinstance(index, int) else last.operands[index]


def _is_harmless(op: Operation) -> bool:
    """Whether nobody sees that an operation, regions included, does not run, but by its results."""
    return all(map(_is_harmless_class, set(map(type, operations(op)))))


@cache
def _is_harmless_class(kind: type[Operation]) -> bool:
    return is_removable_class(kind) or issubclass(kind, scf.IfOp | scf.ForOp | scf.YieldOp | scf.ConditionOp)


class _Lifting:
    """One break on its way into the test of its loop."""

    def __init__(self, loop: scf.WhileOp, test: scf.ConditionOp, end: Operation, found: _Break) -> None:
        self._loop = loop
        self._test = test
        self._end = end
        self._break = found
        self._before, self._after = loop.before_region.block, loop.after_region.block
        self._passed: list[SSAValue] = list(test.operands[1:])
        self._moved: set[Operation] = set()
        """Operations of the body that go to the test."""
        self._false = loop.operands[found.index]
        self._leaving: dict[int, SSAValue] = {}
        """By results of the loop: what they are where the break ends it, if that is another value than else."""

    def is_possible(self) -> bool:
        """Finds out what has to move; returns whether it can."""
        if not all(map(_is_harmless, block_operations(self._before))):
            return False
        if not all(map(self._is_skippable, block_operations(self._after))):
            return False
        if not self._can_move(self._break.condition) or not all(map(self._can_leave, self._loop.results)):
            return False
        return not any(map(self._is_behind, range(len(self._end.operands))))

    def _is_behind(self, index: int) -> bool:
        """Whether the test would compute what a carried value becomes: a break behind that is best where it is."""
        value = self._in_round(self._end.operands[index], breaks=False)
        return index != self._break.index and value is not None and value.owner in self._moved

    def _is_skippable(self, op: Operation) -> bool:
        """Whether the round that breaks does nothing in an operation of the body."""
        if isinstance(op, scf.IfOp) and op.operands[0] is self._break.condition:
            arm = _arms(op)[0 if self._break.sense else 1]
            return arm is None or all(map(_is_harmless, block_operations(arm)))
        return op is self._end or _is_harmless(op)

    def _can_move(self, value: SSAValue) -> bool:
        """Notes the operations of the body that compute a value; returns whether the test may compute it."""
        pending = [value]
        while pending:
            owner = pending.pop().owner
            if isinstance(owner, Block):
                if owner is not self._after and self._is_inside(owner):
                    return False
            elif owner not in self._moved and self._is_inside(owner.parent):
                if owner.regions or not is_speculatable(owner):
                    return False
                self._moved.add(owner)
                pending += owner.operands
        return True

    def _is_inside(self, block: Block | None) -> bool:
        while block is not None and block is not self._after:
            parent = block.parent_op()
            block = None if parent is None else parent.parent
        return block is not None

    def _can_leave(self, result: SSAValue) -> bool:
        """Notes what a result of the loop is after the break; returns whether it can be known behind the loop."""
        index = self._loop.results.index(result)
        passed = self._passed[index]
        flag = self._before.args[self._break.index]
        if result.first_use is None or passed is flag:
            return True
        if not isinstance(passed, BlockArgument) or passed.owner is not self._before:
            return False
        value = self._in_round(self._end.operands[passed.index], breaks=True)
        if value is None or not self._can_move(value):
            return False
        given = self._given(value)
        if given is not passed:
            self._leaving[index] = value
        return given is not flag

    def _given(self, value: SSAValue) -> SSAValue | None:
        """Returns what the test passes on as a value of the body, None for what the body computes."""
        if isinstance(value, BlockArgument) and value.owner is self._after:
            return self._passed[value.index]
        return None

    def _in_round(self, value: SSAValue, *, breaks: bool) -> SSAValue | None:
        """Returns what a value of the body is in a round that breaks, or that does not; None where that is not one
        value."""
        owner, arm = value.owner, 0 if self._break.sense is breaks else 1
        if isinstance(owner, arith.SelectOp) and owner.operands[0] is self._break.condition:
            return self._in_round(owner.operands[1 + arm], breaks=breaks)
        if isinstance(owner, scf.IfOp) and owner.operands[0] is self._break.condition:
            return _yielded(_arms(owner)[arm], value)
        if breaks and isinstance(owner, arith.AndIOp) and any(map(self._is_not_break, owner.operands)):
            return self._false
        return value

    def _is_not_break(self, value: SSAValue) -> bool:
        owner = value.owner
        if not isinstance(owner, arith.XOrIOp) or constant_integer(owner.operands[1]) != -1:
            return False
        return self._break.sense and owner.operands[0] is self._break.condition

    # Changing

    def done(self) -> scf.WhileOp:
        """Changes the loop; returns what takes its place."""
        before, after, index = self._before, self._after, self._break.index
        flag = before.args[index]
        places = [place for place, value in enumerate(self._passed) if value is flag]
        condition = self._move()
        set_ = condition if self._break.sense else self._not(condition)
        goes_on, stays = self._with_flag(set_), self._with_flag(self._false)
        for place in places:
            after.args[place].replace_all_uses_with(self._false)
            is_asked = self._loop.results[place].first_use is not None
            self._passed[place] = stays if is_asked else self._false
        where = self._also_passed(stays) if self._leaving else 0
        leaving = {result: self._at_end(value) for result, value in self._leaving.items()}
        self._test.operands = [goes_on, *self._passed]
        self._end.operands = [v for i, v in enumerate(self._end.operands) if i != index]
        for op in reversed(self._break.way):
            op.detach()
            op.erase()
        before.erase_arg(flag)
        made = self._rebuilt()
        self._choose(made, where, leaving)
        self._loop.detach()
        self._loop.erase()
        return made

    def _move(self) -> SSAValue:
        """Moves what must move to the test, where it is computed from what the body would be given; returns the
        condition there."""
        condition = self._break.condition
        known = self._false if self._break.sense else self._true(self._after.first_op)
        given: dict[SSAValue, SSAValue] = dict(zip(self._after.args, tuple(self._passed), strict=True))
        moved = [op for op in operations(self._loop.after_region) if op in self._moved]
        for op in moved:
            op.detach()
            self._before.insert_op_before(op, self._test)
            op.operands = [given.get(value, value) for value in op.operands]
        for result in [result for op in moved for result in op.results]:
            uses = [use for use in result.uses if self._is_inside(use.operation.parent)]
            if uses:
                inside = known if result is condition else self._argument(self._also_passed(result))
                for use in uses:
                    use.operation.operands[use.index] = inside
        if condition in given:
            condition.replace_all_uses_with(known)
        return given.get(condition, condition)

    def _also_passed(self, value: SSAValue) -> int:
        """Returns the place of a value of the test among what it passes on."""
        for place, known in enumerate(self._passed):
            if known is value:
                return place
        self._passed.append(value)
        add_arguments(self._after, [value.type])
        return len(self._passed) - 1

    def _argument(self, place: int) -> SSAValue:
        return self._after.args[place]

    def _at_end(self, value: SSAValue) -> int | SSAValue:
        """Returns the result that is a value of the body, by its place, or the value itself if it is from outside."""
        if isinstance(value, BlockArgument):
            return value.index if value.owner is self._after else value
        return self._also_passed(value) if value.owner in self._moved else value

    def _with_flag(self, known: SSAValue) -> SSAValue:
        """Returns the condition of the loop as it is where the flag is `known`."""
        before = self._before.args[self._break.index]
        for op in self._break.way:
            parts = [known if operand is before else operand for operand in op.operands]
            before, known = op.results[0], self._put(create(type(op), parts, (i1,)))
        return known

    def _not(self, value: SSAValue) -> SSAValue:
        return self._put(create(arith.XOrIOp, (value, self._true(self._test)), (i1,)))

    def _put(self, op: Operation) -> SSAValue:
        op.location = self._loop.location
        self._before.insert_op_before(op, self._test)
        return op.results[0]

    def _true(self, before: Operation | None) -> SSAValue:
        """Adds a constant in front of an operation of the loop."""
        op = create(
            arith.ConstantOp, (), (i1,), {"value": bool_attribute(True)}, location=self._loop.location
        )
        assert before is not None and before.parent is not None
        before.parent.insert_op_before(op, before)
        return op.results[0]

    def _rebuilt(self) -> scf.WhileOp:
        """Puts the same loop without the flag, and with what else the test passes on, in front of the old one."""
        loop = self._loop
        regions: list[Region] = [loop.detach_region(region) for region in tuple(loop.regions)]
        operands = [value for index, value in enumerate(loop.operands) if index != self._break.index]
        types = [value.type for value in self._passed]
        made = create(
            scf.WhileOp, operands, types, loop.properties, loop.attributes, loop.location, regions=regions
        )
        assert loop.parent is not None
        loop.parent.insert_op_before(made, loop)
        return made

    def _choose(self, made: scf.WhileOp, stays: int, leaving: dict[int, int | SSAValue]) -> None:
        """Lets what used the old loop's results use those of the new one, or what they are after the break."""
        loop = self._loop
        assert loop.parent is not None
        for place, result in enumerate(loop.results):
            if place in leaving:
                value = leaving[place]
                broken = value if isinstance(value, SSAValue) else made.results[value]
                operands = (made.results[stays], broken, made.results[place])
                chosen = create(arith.SelectOp, operands, (result.type,), location=loop.location)
                loop.parent.insert_op_before(chosen, loop)
                result.replace_all_uses_with(chosen.results[0])
            else:
                result.replace_all_uses_with(made.results[place])
