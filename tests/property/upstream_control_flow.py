"""Random control flow of kernels written for MLIR: loops and branches of `scf` and `cf` that carry values of every
type, in another order behind their test and without some, around operations of `arith`, `vector` and `memref`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .upstream_lines import Array, Scope
from .upstream_nodes import Block, Call, Choice, Count, Function, Parallel, Region, Repeat, Values
from .upstream_operations import Operations, Y
from .upstream_types import BITS, F32, I32, INDEX, TRUTH, Kind, integer_operation, integer_test

_DEEPEST = 3
"""How many loops and branches are inside each other."""


class UpstreamGenerator(Operations):
    """Writes loops, branches and calls."""

    def __init__(self, seed: int, types: Sequence[str]) -> None:
        super().__init__(seed, types)
        self.functions: list[tuple[Function, Sequence[Array], Sequence[Kind]]] = []
        """With the arrays that they take, by the names that the kernel has for them, and the types of what else."""

    def block(self, scope: Scope, count: int) -> None:
        """Adds some parts."""
        pick = self.random
        for _ in range(count):
            choice = pick.random() * (1 if scope.depth else 0.7) if scope.depth < _DEEPEST else 1.0
            if choice < 0.10:
                self._choice(scope)
            elif choice < 0.17:
                self._count_up(scope)
            elif choice < 0.25:
                self._repeat(scope)
            elif choice < 0.27:
                self._region(scope)
            elif choice < 0.29:
                self._parallel(scope)
            elif choice < 0.32:
                self._call(scope)
            else:
                self.line(scope)

    def _new(self, kinds: Sequence[Kind]) -> Values:
        return Values([self.name() for _ in kinds], list(kinds))

    def _some_kinds(self, below: int = 4) -> list[Kind]:
        return [self.random.choice(self.kinds) for _ in range(self.random.randrange(below))]

    def _values(self, scope: Scope, kinds: Sequence[Kind]) -> list[str]:
        return [self.value(scope, kind) for kind in kinds]

    def _label(self, scope: Scope) -> str:
        """Returns that of blocks which branch, or nothing for an operation of `scf`, as it is in regions."""
        return f"b{self.name()[2:]}" if scope.is_flat and self.random.random() < 0.5 else ""

    def _choice(self, scope: Scope) -> None:
        pick, label = self.random, self._label(scope)
        is_if = pick.random() < 0.7
        if is_if:
            selector = self.value(scope, TRUTH)
        else:
            selector = self.masked(scope, I32 if label else INDEX, 3)
        results, cases = self._new(self._some_kinds()), []
        for _ in range(2 if is_if else pick.randrange(2, 5)):
            inner = scope.inner(is_flat=bool(label))
            self.block(inner, pick.randrange(5))
            cases.append(Block(inner.nodes, self._values(inner, results.kinds)))
        scope.nodes.append(Choice(results, selector, cases, is_if, label))
        self._declare(scope, results)

    def _declare(self, scope: Scope, values: Values) -> None:
        """Makes known what a loop, a branch or a call gives."""
        made = list(zip(values.names, values.kinds, strict=True))
        scope.names += made
        scope.results += made

    def _limits(self, scope: Scope, kind: Kind) -> tuple[str, str, str]:
        """Returns where a few rounds begin, what they stay below, and their step."""
        pick = self.random
        most = (1 << (BITS[kind.element] - 1)) - 1
        start = pick.choice((0, 0, 0, 1, -3, 5, most - 20))
        begin = self.constant(scope, kind, start)
        step = self.constant(scope, kind, pick.choice((1, 1, 2, 3)))
        if pick.random() < 0.3:
            one = self.constant(scope, kind, 1)
            step = self.binary(scope, kind, "addi", self.masked(scope, kind, 3), one)
        if pick.random() < 0.5:
            return begin, self.constant(scope, kind, start + pick.choice((0, 1, 2, 3, 5, 8))), step
        length = self.masked(scope, kind, pick.choice((3, 7)))
        return begin, self.binary(scope, kind, "addi", length, begin), step

    def _count_up(self, scope: Scope) -> None:
        pick = self.random
        kind = pick.choice((INDEX, INDEX, *(Kind(name) for name in self.integers if name != "i1")))
        limits, results = self._limits(scope, kind), self._new(self._some_kinds())
        first, carried, counter = self._values(scope, results.kinds), self._new(results.kinds), self.name()
        inner = scope.inner([(counter, kind), *zip(carried.names, carried.kinds, strict=True)])
        self.block(inner, pick.randrange(1, 6))
        body = Block(inner.nodes, self._values(inner, results.kinds))
        scope.nodes.append(Count(results, counter, kind, limits, carried, first, body))
        self._declare(scope, results)

    def _region(self, scope: Scope) -> None:
        inner, results = scope.inner(), self._new(self._some_kinds())
        self.block(inner, self.random.randrange(5))
        scope.nodes.append(Region(results, Block(inner.nodes, self._values(inner, results.kinds))))
        self._declare(scope, results)

    def _parallel(self, scope: Scope) -> None:
        pick = self.random
        kind, operation = Kind(pick.choice(self.integers)), pick.choice(("addi", "xori", "maxsi", "minui"))
        limits = [self._limits(scope, INDEX) for _ in range(pick.choice((1, 1, 2)))]
        counters, first, result = [self.name() for _ in limits], self.value(scope, kind), self.name()
        inner = scope.inner([(counter, INDEX) for counter in counters], by=len(limits))
        self.block(inner, pick.randrange(4))
        body = Block(inner.nodes, [self.value(inner, kind)])
        combine = integer_operation(operation, kind.element)
        scope.nodes.append(
            Parallel(result, counters, limits, first, body, kind, combine, f"arith.{operation}")
        )
        self._declare(scope, Values([result], [kind]))

    def _call(self, scope: Scope) -> None:
        """Adds a call of a function that is there already, or of a new one."""
        known = [item for item in self.functions if set(item[1]) <= set(scope.arrays)]
        if not known or self.random.random() < 0.5:
            known = [self._add_function(scope)]
        function, arrays, kinds = self.random.choice(known)
        results = self._new(function.kinds)
        arguments = ["%i", *(array.name for array in arrays), *self._values(scope, kinds)]
        scope.nodes.append(Call(results, function, arguments))
        self._declare(scope, results)

    def _add_function(self, scope: Scope) -> tuple[Function, Sequence[Array], Sequence[Kind]]:
        own, results = self._new(self._some_kinds()), self._some_kinds()
        arrays = [array for array in scope.arrays if self.random.random() < 0.5]
        parameters = Values(
            ["%i", *(array.name for array in arrays), *own.names],
            [INDEX, *(array.kind for array in arrays), *own.kinds],
        )
        names = [("%i", INDEX), *zip(own.names, own.kinds, strict=True)]
        inner = Scope(names, arrays, scope.depth + 1, is_flat=True)
        self.block(inner, self.random.randrange(1, 6))
        body = Block(inner.nodes, self._values(inner, results))
        made = Function(f"f{len(self.functions)}", parameters, results, body), arrays, own.kinds
        self.functions.append(made)
        return made

    def _repeat(self, scope: Scope) -> None:
        """Adds a loop that a counter ends, wherever it is among the values."""
        pick, label = self.random, self._label(scope)
        kind = Kind(pick.choice([name for name in self.integers if name != "i1"]))
        carried = self._new([kind, *self._some_kinds()])
        counter = carried.names[0]
        goes_up = pick.random() < 0.7
        start = self.constant(scope, kind, pick.choice((0, 0, 0, -2, 3) if goes_up else (4, 7, 9, -2)))
        first = [start, *self._values(scope, carried.kinds[1:])]
        inner = scope.inner(list(zip(carried.names, carried.kinds, strict=True)), by=2, is_flat=bool(label))
        self.block(inner, pick.randrange(3))
        test = self._ends(inner, kind, counter, goes_up=goes_up)
        chosen = self._passed(inner, carried)
        before = Block(inner.nodes, [name for name, _ in chosen])
        passed, results = (self._new([kind for _, kind in chosen]) for _ in range(2))
        known = inner.names if label else scope.names  # blocks of `cf` see what those above them computed
        around = Scope(known, scope.arrays, scope.depth + 1, is_flat=bool(label))
        around.names += zip(passed.names, passed.kinds, strict=True)
        self.block(around, pick.randrange(5))
        step, count = self.constant(around, kind, pick.choice((1, 1, 2))), before.passed.index(counter)
        following = self.binary(around, kind, "addi" if goes_up else "subi", passed.names[count], step)
        body = Block(around.nodes, [following, *self._values(around, carried.kinds[1:])])
        scope.nodes.append(Repeat(results, carried, first, test, before, passed, body, label))
        self._declare(scope, results)

    def _ends(self, scope: Scope, kind: Kind, counter: str, *, goes_up: bool) -> str:
        """Returns a test that holds for a few rounds, or fewer."""
        pick = self.random
        limit = self.constant(scope, kind, pick.choice((1, 3, 4, 7) if goes_up else (0, 1, 2, -3)))
        test = pick.choice(("slt", "slt", "ult", "sle", "ne") if goes_up else ("sgt", "sge", "ugt", "ne"))
        text = f"arith.cmpi {test}, {counter}, {limit} : {kind}"
        found = self.compute(scope, TRUTH, text, integer_test(test, kind.element), (counter, limit))
        if pick.random() < 0.4:
            return self.binary(scope, TRUTH, "andi", found, self.value(scope, TRUTH))
        return found

    def _passed(self, scope: Scope, carried: Values) -> list[tuple[str, Kind]]:
        """Returns what a loop passes to its body: some of what it carries in any order, and what it has computed."""
        pick = self.random
        passed = list(zip(carried.names, carried.kinds, strict=True))
        passed += [(self.value(scope, kind), kind) for kind in self._some_kinds(2)]
        if pick.random() < 0.5:
            pick.shuffle(passed)
        if pick.random() < 0.3:
            passed = [item for item in passed if item[0] == carried.names[0] or pick.random() < 0.6]
        return passed

    def keep(self, scope: Scope) -> list[Kind]:
        """Adds stores to the row of `y`, mostly of what loops, branches and calls give; returns the scalars' types."""
        kinds: list[Kind] = []
        results = self.random.sample(scope.results, min(len(scope.results), Y.shape[1] - 3))
        others = [item for item in scope.names[-3 * Y.shape[1] :] if item not in results]
        chosen = results + self.random.sample(others, Y.shape[1] - len(results))
        for column, (name, kind) in enumerate(chosen):
            one, place = Kind(kind.element), self.constant(scope, INDEX, column)
            if kind.size:
                name = self.extract(scope, kind, name, self.random.randrange(kind.size))
            kinds.append(one)
            self.store(scope, Y, ["%i", place], self._bits(scope, one, name))
        return kinds

    def _bits(self, scope: Scope, kind: Kind, value: str) -> str:
        """Returns an i32 that depends on all bits of a number; those of f32, where it is any float."""
        if kind == I32:
            return value
        if kind.is_float:
            value = value if kind == F32 else self.cast_float(scope, kind, "f32", value)
            return self.cast(scope, F32, "bitcast", "i32", lambda number: int(number.view(np.int32)), value)
        if kind.element == "i64":
            half = self.binary(scope, kind, "shrsi", value, self.constant(scope, kind, 32))
            value = self.binary(scope, kind, "addi", value, half)
        return self.resize(scope, kind, "i32", value, reads_unsigned=False)
