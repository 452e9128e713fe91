"""Loops with loops inside become one loop: the pass flatten-nests.

input:    scf.while A (%k = …) {               output:   scf.while (%phase = 0, %k = …, every value that passes ┊) {
            … scf.condition(%c) %k                         scf.condition(%running)
          } do {                                         } do {
            first                                          scf.if %phase == 0 { test of A, or the end }
            ┊ scf.while B (%j = …) { … }                   scf.if %phase == 0 and %c { first, %j = … }
            ┊ last                                         scf.if at B { test of B, its body, or on }
            scf.yield %m }                                 scf.if behind B { last, %k = %m, %phase = 0 } }

Some drivers count the rounds of all loops and end them at a number (`limit_loops`).  A loop inside of another costs a
round at least whenever it is run, so a nest cannot be unrolled out of that limit; one loop can.

A round of the new loop goes on to where a loop inside begins another round, so there are about as many as the
innermost loops had.  Work-items go through it as before, each in its own order; what work-items do together, barriers
and functions of groups, would meet others there, and nests with these stay.  So do nests with values that cannot be
carried, views of arrays for example.

Invariant: each work-item runs the same operations in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..ir.create import append, create
from ..ir.walk import block_operations, enclosing, operations, region_blocks
from .carry_results import zero_of
from .copies import copy_operations
from .flat_builder import Builder, Constants, Guards, as_while, ends_of
from .insertion import Before
from .loop_bounds import has_loop_inside
from .optimise.effects import WORK_ITEM_IDS, functions_of, is_speculatable
from .optimise.fold_control_flow import replace
from .unroll import FLAT

_LOOPS = (scf.ForOp, scf.WhileOp)
_KEPT = frozenset(("memref.alloc", "memref.alloca", "spirv.Variable"))


@dataclass(frozen=True)
class FlattenNests(ModulePass):
    """Makes loops with loops inside one loop."""

    name = "flatten-nests"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            loops = [op for op in operations(function) if isinstance(op, _LOOPS) and _is_outermost(op)]
            for loop in filter(is_nest, loops):
                flatten(loop)


def _is_outermost(loop: Operation) -> bool:
    return not any(isinstance(around, _LOOPS) for around in enclosing(loop))


def is_nest(loop: Operation) -> bool:
    """Whether a loop has loops inside, and only what can be flattened."""
    inside = operations(loop)[1:]
    return _has_loops(loop) and _is_carried(loop) and all(_is_flattened(op, loop) for op in inside)


def _is_flattened(op: Operation, nest: Operation) -> bool:
    name, kind = op.name, type(op)
    if isinstance(op, _LOOPS):
        around = enclosing(op)
        if not all(isinstance(a, (*_LOOPS, scf.IfOp)) for a in around[: around.index(nest)]):
            return False
    if name.startswith("gpu.") and kind not in WORK_ITEM_IDS:
        return False
    if "Barrier" in name or "Group" in name or name in _KEPT or kind is func.CallOp or has_loop_inside(op):
        return False
    return _is_carried(op)


def _is_carried(op: Operation) -> bool:
    """Whether a loop may carry what an operation gives, and what its blocks get."""
    blocks = [block for region in op.regions for block in region_blocks(region)]
    values = [*op.results, *(argument for block in blocks for argument in block.args)]
    return all(zero_of(value.type) is not None for value in values)


@dataclass
class _Part:
    """Operations without loops, run once where a work-item gets to them."""

    guards: Guards
    ops: list[Operation] = field(default_factory=list[Operation])
    starts: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])
    """What the next loop carries, and what it starts with."""


@dataclass
class _Inner:
    """A loop without loops inside."""

    guards: Guards
    loop: scf.WhileOp


_Element = _Part | _Inner
_Round = tuple[SSAValue, dict[SSAValue, SSAValue], Sequence[SSAValue]]
"""Of a loop: whether it goes on, its results if not, what it carries on if so."""
_QUICK = 4
"""Operations of a test that is made twice."""
_ENDED = -1
"""The phase of a work-item that has left the nest."""


def flatten(nest: Operation) -> scf.WhileOp:
    """Replaces a nest, of which `is_nest` holds, by one loop; returns that."""
    outer = as_while(nest)
    for region in outer.regions:
        _flatten_inside(region.block)
    return _Flattening(outer).run()


def _flatten_inside(block: Block) -> None:
    """Makes the loops of a block, and of branches in it, loops of tests without loops inside."""
    for op in block_operations(block):
        if isinstance(op, _LOOPS):
            if _has_loops(op):
                flatten(op)
            else:
                as_while(op)
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region_blocks(region):
                    _flatten_inside(inner)


def _has_loops(op: Operation) -> bool:
    return any(isinstance(inner, _LOOPS) for inner in operations(op)[1:])


class _Flattening:
    """One nest whose loops are all `scf.while`, those inside without loops inside."""

    def __init__(self, outer: scf.WhileOp) -> None:
        self._outer = outer
        self._elements: list[_Element] = []
        self._selects: list[Operation] = []
        self._env: dict[SSAValue, SSAValue] = {}
        self._before = Before(outer)
        self._constants = Constants(self._before)
        self._phase: SSAValue = self._constants.number(0)

    def run(self) -> scf.WhileOp:
        """Replaces the nest; returns the new loop."""
        outer, first, body = self._outer, self._outer.before_region.block, self._outer.after_region.block
        test, again = ends_of(outer)
        self._lay_out(first, ())
        condition, *passed = test.operands  # selections by now, where they were results of branches
        for argument, value in zip(body.args, passed, strict=True):
            argument.replace_all_uses_with(value)
        goes_on = ((condition, True),)
        self._lay_out(body, goes_on)
        self._part(goes_on).starts += zip(first.args, again.operands, strict=True)
        kept, carried = self._crossing([condition, *passed], passed)
        carried = [*first.args, *carried]
        made = self._make(condition, kept, carried)
        results = dict(zip(carried, made.results[1:], strict=True))
        replace(outer, [results.get(value, value) for value in passed])
        for select in reversed(self._selects):
            select.erase()
        return made

    def _part(self, guards: Guards) -> _Part:
        """Returns the last part where it runs under these conditions, else a new one."""
        last = self._elements[-1] if self._elements else None
        if not isinstance(last, _Part) or last.guards != guards:
            last = _Part(guards)
            self._elements.append(last)
        return last

    def _lay_out(self, block: Block, guards: Guards) -> None:
        """Adds the elements of a block, without its terminator."""
        for op in block_operations(block)[:-1]:
            if isinstance(op, scf.WhileOp):
                inits = zip(op.before_region.block.args, op.operands, strict=True)
                self._part(guards).starts += inits
                self._elements.append(_Inner(guards, op))
            elif isinstance(op, scf.IfOp) and _has_loops(op):
                self._lay_out_if(op, guards)
            else:
                self._part(guards).ops.append(op)

    def _lay_out_if(self, op: scf.IfOp, guards: Guards) -> None:
        condition = op.operands[0]
        arms: list[Sequence[SSAValue]] = []
        for region, outcome in zip(op.regions, (True, False), strict=True):
            for block in region_blocks(region):
                self._lay_out(block, (*guards, (condition, outcome)))
                end = block.last_op
                assert end is not None
                arms.append(list(end.operands))
        for place, result in enumerate(op.results):
            operands = (condition, arms[0][place], arms[1][place])
            select = create(arith.SelectOp, operands, (result.type,), location=op.location)
            result.replace_all_uses_with(select.results[0])
            self._selects.append(select)
            self._part(guards).ops.append(select)

    def _crossing(
        self, last: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> tuple[list[list[SSAValue]], list[SSAValue]]:
        """Returns for each element what it defines for others, and what of that passes to later rounds.

        Args:
            last: what is used at the end of a round.
            results: what is used behind the nest.
        """
        defined = {
            value: index for index, element in enumerate(self._elements) for value in _defined(element)
        }
        carries = [isinstance(element, _Inner) for element in self._elements]
        uses = [_used(element) for element in self._elements]
        kept: list[list[SSAValue]] = [[] for _ in self._elements]
        carried = {value: None for value in results if value in defined}
        seen: set[SSAValue] = set()
        for index, values in enumerate([*uses, last]):
            for value in values:
                source = defined.get(value)
                if source is None or source == index:
                    continue
                if value not in seen:
                    seen.add(value)
                    kept[source].append(value)
                if any(carries[source + 1 : index + 1]):
                    carried[value] = None
        inner = [element.loop for element in self._elements if isinstance(element, _Inner)]
        starts = [value for loop in inner for value in loop.before_region.block.args]
        return kept, [*starts, *carried]

    def _make(
        self, condition: SSAValue, kept: list[list[SSAValue]], carried: Sequence[SSAValue]
    ) -> scf.WhileOp:
        outer, location = self._outer, self._outer.location
        types = [i32, *(value.type for value in carried)]
        header, body = Block(arg_types=types), Block(arg_types=types)
        runs = Builder(header, self._constants, location).differs(header.args[0], _ENDED)
        append(header, create(scf.ConditionOp, (runs, *header.args), location=location))
        self._env = dict(zip(carried, body.args[1:], strict=True))
        build = Builder(body, self._constants, location)
        phase = self._phase = body.args[0]
        at = build.equal(phase, 0)
        *elements, last = self._elements
        for index, element in enumerate(elements):
            if isinstance(element, _Part):
                self._add_part(build, element, at, kept[index])
            else:
                phase, at = self._add_inner(build, element, (phase, at, index + 1), kept[index])
        ended = build.both(at, build.opposite(self._env.get(condition, condition)))
        assert isinstance(last, _Part)  # it sets what the next test uses, so it comes behind that
        self._add_part(build, last, at, kept[-1])
        phase = build.choose(at, self._constants.number(0), phase)
        phase = build.choose(ended, self._constants.number(_ENDED), phase)
        values = (phase, *(self._env[value] for value in carried))
        append(body, create(scf.YieldOp, values, location=location))
        others = [self._constants.zero(value.type) for value in carried[len(outer.operands) :]]
        operands = (self._constants.number(0), *outer.operands, *others)
        regions = (Region(header), Region(body))
        made = create(scf.WhileOp, operands, types, attributes={FLAT: UnitAttr()}, regions=regions)
        self._before.put(made)
        return made

    def _old(self, value: SSAValue) -> SSAValue:
        """Returns what a value is where an element does not run."""
        known = self._env.get(value)
        return self._constants.zero(value.type) if known is None else known

    def _add_part(self, build: Builder, part: _Part, at: SSAValue, kept: list[SSAValue]) -> None:
        targets = [*kept, *(target for target, _ in part.starts)]
        if not part.ops and not targets:
            return
        runs = build.under(at, part.guards, self._env)
        made = [*kept, *(start for _, start in part.starts)]
        values = dict(self._env)
        if all(is_speculatable(op) for op in part.ops):
            build.copy(part.ops, values)
            found = [values.get(value, value) for value in made]
            pairs = zip(targets, found, strict=True)
            chosen = [build.choose_known(runs, value, self._env.get(target)) for target, value in pairs]
        else:
            block = Block()
            copy_operations(part.ops, values, block)
            found = [values.get(value, value) for value in made]
            chosen = build.branch(runs, block, found, [self._old(target) for target in targets])
        self._env.update(zip(targets, chosen, strict=True))

    def _add_inner(
        self, build: Builder, inner: _Inner, place: tuple[SSAValue, SSAValue, int], kept: list[SSAValue]
    ) -> tuple[SSAValue, SSAValue]:
        """Adds one round of a loop; returns the phase and whether a work-item is behind the loop.

        Args:
            build: of the new loop's body.
            inner: the loop.
            place: the phase, whether a work-item has come to the loop in this round, the number of the loop.
            kept: which of its results are used.
        """
        phase, at, number = place
        loop, arguments = inner.loop, inner.loop.before_region.block.args
        enters = build.under(at, inner.guards, self._env)
        inside = build.either(enters, build.equal(self._phase, number))
        old = [self._env[value] for value in arguments]
        add_round = self._add_again if FLAT in loop.attributes else self._add_round
        if all(is_speculatable(op) or op in ends_of(loop) for op in operations(loop)[1:]):
            goes_on, results, following = add_round(build, loop, old, is_speculated=True)
            runs = build.both(inside, goes_on)
            changes = inside if FLAT in loop.attributes else runs
            following = [build.choose(changes, a, b) for a, b in zip(following, old, strict=True)]
            if _is_quick(loop):
                goes_on, results = self._add_test(build, loop, following)
                runs = build.both(inside, goes_on)
            chosen = [build.choose_known(inside, results[value], self._env.get(value)) for value in kept]
            chosen += following
        else:
            nested = Builder(Block(), self._constants, loop.location)
            goes_on, results, following = add_round(nested, loop, old, is_speculated=False)
            if _is_quick(loop):
                goes_on, results = self._add_test(nested, loop, following)
            new = [goes_on, *(results[value] for value in kept), *following]
            skipped = [self._constants.truth(value=False), *(self._old(value) for value in kept), *old]
            runs, *chosen = build.branch(inside, nested.block, new, skipped)
        self._env.update(zip([*kept, *arguments], chosen, strict=True))
        behind = build.both(inside, build.opposite(runs))
        if inner.guards:
            behind = build.either(behind, build.both(at, build.opposite(enters)))
        return build.choose(runs, self._constants.number(number), phase), behind

    def _add_round(
        self, build: Builder, loop: scf.WhileOp, old: Sequence[SSAValue], *, is_speculated: bool
    ) -> _Round:
        """Adds a test, and what it asks for: under it, or in any case."""
        test, again = ends_of(loop)
        values = dict(self._env)
        build.copy(block_operations(loop.before_region.block)[:-1], values)
        goes_on, *passed = [values.get(value, value) for value in test.operands]
        values.update(zip(loop.after_region.block.args, passed, strict=True))
        body = build if is_speculated else Builder(Block(), self._constants, loop.location)
        body.copy(block_operations(loop.after_region.block)[:-1], values)
        following: Sequence[SSAValue] = [values.get(value, value) for value in again.operands]
        if not is_speculated:
            following = build.branch(goes_on, body.block, following, old)
        return goes_on, dict(zip(loop.results, passed, strict=True)), following

    def _add_test(
        self, build: Builder, loop: scf.WhileOp, carried: Sequence[SSAValue]
    ) -> tuple[SSAValue, dict[SSAValue, SSAValue]]:
        """Adds the test of the next round, so that a loop is left in its last round; returns whether it goes on, and
        its results if not."""
        test, _ = ends_of(loop)
        values = self._env | dict(zip(loop.before_region.block.args, carried, strict=True))
        build.copy(block_operations(loop.before_region.block)[:-1], values)
        goes_on, *passed = [values.get(value, value) for value in test.operands]
        return goes_on, dict(zip(loop.results, passed, strict=True))

    def _add_again(
        self, build: Builder, loop: scf.WhileOp, old: Sequence[SSAValue], *, is_speculated: bool
    ) -> _Round:
        """Adds a round of a loop that this has made: it has one at least, and knows behind it whether it goes on."""
        del is_speculated
        values = self._env | dict(zip(loop.after_region.block.args, old, strict=True))
        build.copy(block_operations(loop.after_region.block)[:-1], values)
        following = [values.get(value, value) for value in ends_of(loop)[1].operands]
        goes_on = build.differs(following[0], _ENDED)
        return goes_on, dict(zip(loop.results, following, strict=True)), following


def _is_quick(loop: scf.WhileOp) -> bool:
    """Whether a test may be made once more, and costs less than a round."""
    *test, _ = block_operations(loop.before_region.block)
    return FLAT not in loop.attributes and len(test) <= _QUICK and all(is_speculatable(op) for op in test)


def _defined(element: _Element) -> list[SSAValue]:
    """Returns what others may use of an element, without what a loop carries."""
    ops = element.ops if isinstance(element, _Part) else [element.loop]
    return [result for op in ops for result in op.results]


def _used(element: _Element) -> list[SSAValue]:
    """Returns what an element uses, its own values among them."""
    found = [value for value, _ in element.guards]
    if isinstance(element, _Part):
        found += [start for _, start in element.starts]
        ops = [inner for op in element.ops for inner in operations(op)]
    else:
        ops = operations(element.loop)[1:]
    return found + [value for op in ops for value in op.operands]
