"""Random SPIR-V functions: structured control flow around the statements of `spirv_statements`.

Every loop ends: it counts, and one place that each round comes through tests the count.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .spirv_blocks import Edge
from .spirv_declarations import INPUT, Declarations
from .spirv_statements import CALLED, StatementWriter, element_type

DEEPEST = 4


@dataclass
class Loop:
    """A loop that is being written."""

    header: str
    merge: str
    continues: str
    body: str
    count: str
    limit: str
    test_in: str
    """"header", "body", "later" (the body, behind statements) or "continue"."""
    entry: list[Edge]
    """Branches from outside."""
    carried: dict[str, list[str]] = field(default_factory=dict)
    """Phis of the header and what they are at first, one for each edge of `entry`."""


@dataclass(frozen=True)
class Targets:
    """Where a statement may branch to, besides what is behind it."""

    breaks: str | None = None
    continues: str | None = None


class FunctionWriter(StatementWriter):
    """Writes one function.

    Args:
        module: where constants and new ids come from.
        functions: as in `StatementWriter`.
        takes: the key in `CALLED` of what the function takes; None for the kernel.
        budget: how many branches and loops it may have.
    """

    def __init__(
        self, module: Declarations, functions: dict[str, str], takes: str | None, budget: int
    ) -> None:
        super().__init__(module, functions)
        self._takes, self._budget = takes, budget
        self._targets = Targets()
        self._may_return = True
        self._compound = (self._if, self._switch, self._loop, self._loop)

    def text(self, name: str, statements: int) -> list[str]:
        """Returns the lines of the function."""
        entry = self.label = self.module.new()
        variables = self._variables()
        signature = self._signature(name)
        if self._takes is None:
            self._read_lane()
        self._block(0, statements)
        if self.is_live:
            self._write_results() if self._takes is None else self._return()
        return [*signature, f"{entry} = OpLabel", *variables, *self.lines, "OpFunctionEnd"]

    def _variables(self) -> list[str]:
        self.own_words, self.own_arrays = [self.module.new() for _ in range(2)], [self.module.new()]
        self.struct = self.module.new()
        return [
            *(f"  {word} = OpVariable %p_u Function %word_start" for word in self.own_words),
            f"  {self.own_arrays[0]} = OpVariable %p_array Function %array_start",
            f"  {self.struct} = OpVariable %p_struct Function %struct_start",
        ]

    def _signature(self, name: str) -> list[str]:
        if self._takes is None:
            return [f"{name} = OpFunction %void None %main_type"]
        second_type = {"value": "%u", "word": "%p_u", "array": "%p_array"}[self._takes]
        first, second = self.module.new("%u"), self.module.new(second_type)
        self.available.append(first)
        {"value": self.available, "word": self.own_words, "array": self.own_arrays}[self._takes].append(
            second
        )
        return [
            f"{name} = OpFunction %u None {CALLED[self._takes]}",
            f"{first} = OpFunctionParameter %u",
            f"{second} = OpFunctionParameter {second_type}",
        ]

    def _read_lane(self) -> None:
        """Reads from both buffers, so that every kernel takes both."""
        self.lane = self.result("OpCompositeExtract", "%u", self.result("OpLoad", "%v3", "%gid"), 0)
        self.available.append(self.lane)
        index = self.result("OpIAdd", "%u", self.lane, self.constant(INPUT))
        element = self.result(
            "OpAccessChain", "%p_word", "%table", "%c0", self.lane, self.constant(1), self.constant(2)
        )
        for pointer in (element, self.result("OpAccessChain", "%p_word", "%buffer", "%c0", index)):
            self.available.append(self.result("OpLoad", "%u", pointer))

    def _write_results(self) -> None:
        """Stores a number in which everything counts that the kernel has computed last or keeps in variables."""
        values = [value for value in self.available if self.module.types[value] == "%u"][-16:]
        values += [self.result("OpLoad", "%u", word) for word in (*self.own_words, "%private")]
        for array in (*self.own_arrays, "%private_array"):
            for index in range(4):
                pointer = self.result("OpAccessChain", element_type(array), array, self.constant(index))
                values.append(self.result("OpLoad", "%u", pointer))
        struct = self.result("OpLoad", "%struct", self.struct)
        values += [self.result("OpCompositeExtract", "%u", struct, place) for place in ("0", "1 2", "2 1")]
        total = "%c0"
        for value in values:
            total = self.result("OpIAdd", "%u", self.result("OpIMul", "%u", total, self.constant(31)), value)
        pointer = self.result("OpAccessChain", "%p_word", "%buffer", "%c0", self.lane)
        self.write(f"OpStore {pointer} {total}")
        self.end("OpReturn")

    def _return(self) -> None:
        self.end("OpReturn" if self._takes is None else f"OpReturnValue {self.value()}")

    def _block(self, depth: int, count: int | None = None) -> None:
        """Writes statements, up to one that leaves."""
        for _ in range(self.pick.randrange(1, 5) if count is None else count):
            if not self.is_live:
                return
            kind = self.pick.random()
            targets = [label for label in (self._targets.breaks, self._targets.continues) if label]
            if depth < DEEPEST and self._budget > 0 and kind < 0.45:
                self._budget -= 1
                self.pick.choice(self._compound)(depth + 1)
            elif kind < 0.53 and targets:
                self.branch(self.pick.choice(targets))
            elif kind < 0.55 and depth > 0 and self._may_return:
                self._return()
            else:
                self.statement()

    @contextmanager
    def _leaving(self, targets: Targets, *, may_return: bool | None = None) -> Iterator[None]:
        saved = self._targets, self._may_return
        self._targets = targets
        self._may_return = self._may_return if may_return is None else may_return
        yield
        self._targets, self._may_return = saved

    def _straight(self, depth: int, count: int) -> None:
        """Writes statements that do not leave where they are."""
        with self._leaving(Targets(), may_return=False):
            self._block(depth, count)

    def _join(self, label: str) -> None:
        """Opens a merge block, which is the header of a loop at times, and ends it where nothing leads to it."""
        if self.edges_to(label) and self._budget > 0 and self.pick.random() < 0.25:
            self._budget -= 1
            self._loop(DEEPEST, label)
            return
        self.open(label)
        if not self.is_live:
            self.end("OpUnreachable")

    def _branch_if(self, condition: str, then: str, other: str) -> None:
        for label in (then, other):
            self.note_edge(label)
        self.end(f"OpBranchConditional {condition} {then} {other}")

    def _if(self, depth: int) -> None:
        merge, then, other = (self.module.new() for _ in range(3))
        bodies = [then, other] if self.pick.random() < 0.6 else [then]
        condition = self.condition()
        self.write(f"OpSelectionMerge {merge} None")
        self._branch_if(condition, then, other if len(bodies) == 2 else merge)
        for body in bodies:
            self.begin(body)
            self._block(depth)
            if self.is_live:
                self.branch(merge)
        self._join(merge)

    def _switch(self, depth: int) -> None:
        """Cases fall through to the next at times, and the default is the merge block or a case of its own."""
        merge = self.module.new()
        cases = [self.module.new() for _ in range(self.pick.randrange(1, 4))]
        default = self.pick.choice((merge, self.module.new()))
        selector, literals = self.masked(3), self.pick.sample(range(4), len(cases))
        self.write(f"OpSelectionMerge {merge} None")
        for label in (*cases, default):
            self.note_edge(label)
        pairs = " ".join(f"{literal} {label}" for literal, label in zip(literals, cases, strict=True))
        self.end(f"OpSwitch {selector} {default} {pairs}")
        with self._leaving(Targets(merge, self._targets.continues)):
            for case, following in zip(cases, [*cases[1:], None], strict=True):
                self._case(case, following, merge, depth)
            if default != merge:
                self._case(default, None, merge, depth)
        self._join(merge)

    def _case(self, label: str, following: str | None, merge: str, depth: int) -> None:
        self.open(label) if len(self.edges_to(label)) > 1 else self.begin(label)
        self._block(depth)
        if self.is_live:
            self.branch(following if following and self.pick.random() < 0.3 else merge)

    def _loop(self, depth: int, header: str | None = None) -> None:
        """Writes a loop, whose header can be a block that has branches already."""
        loop = self._begin_loop(header)
        phis = len(self.lines)
        if self.pick.random() < 0.5:
            for _ in range(self.pick.randrange(3)):
                self.statement()
        self._loop_branch(loop)
        with self._leaving(Targets(loop.merge, loop.continues)):
            if loop.test_in in ("body", "later"):
                self._test_in_body(loop, is_late=loop.test_in == "later")
            self._block(depth)
        if self.is_live:
            self.branch(loop.continues)
        next_values = self._loop_end(loop, depth)
        self.lines[phis:phis] = self._loop_phis(loop, next_values)
        self._join(loop.merge)

    def _begin_loop(self, header: str | None) -> Loop:
        limit = self.constant(self.pick.randrange(1, 5))
        if header is None:
            header = self.module.new()
            if self.pick.random() < 0.3:
                limit = self.masked(3)
            self.branch(header)
        entry = [*{edge.block: edge for edge in self.edges_to(header)}.values()]
        merge, continues, body = (self.module.new() for _ in range(3))
        test_in = self.pick.choice(("header", "continue", "body", "later"))
        loop = Loop(header, merge, continues, body, self.module.new("%u"), limit, test_in, entry)
        for _ in range(self.pick.randrange(3)):
            type_ = self.any_type()
            loop.carried[self.module.new(type_)] = [self.value(type_, edge.values) for edge in entry]
        self.begin(header)
        self.available += [loop.count, *loop.carried]
        return loop

    def _below(self, count: str, loop: Loop) -> str:
        return self.result("OpULessThan", "%bool", count, loop.limit)

    def _loop_branch(self, loop: Loop) -> None:
        goes_on = self._below(loop.count, loop) if loop.test_in == "header" else None
        self.write(f"OpLoopMerge {loop.merge} {loop.continues} None")
        if goes_on:
            self._branch_if(goes_on, loop.body, loop.merge)
        else:
            self.branch(loop.body)
        self.begin(loop.body)

    def _test_in_body(self, loop: Loop, *, is_late: bool) -> None:
        """Leaves the loop at its limit, by a branch of its own or one in a selection."""
        if is_late:
            self._straight(DEEPEST, self.pick.randrange(3))
        inside, outside = self.module.new(), self.module.new()
        goes_on = self._below(loop.count, loop)
        if self.pick.random() < 0.5:
            self._branch_if(goes_on, inside, loop.merge)
        else:
            self.write(f"OpSelectionMerge {inside} None")
            self._branch_if(goes_on, inside, outside)
            self.begin(outside)
            self._straight(DEEPEST, self.pick.randrange(2))
            self.branch(loop.merge)
        self.open(inside)

    def _loop_end(self, loop: Loop, depth: int) -> list[str]:
        """Writes the continue construct, and returns what it gives the phis of the header."""
        self.open(loop.continues)
        if not self.is_live:
            self.end(f"OpBranch {loop.header}")
            return [self.constant(1, self.module.types[phi]) for phi in (loop.count, *loop.carried)]
        self._straight(max(depth, DEEPEST - 1), self.pick.randrange(3))
        following = self.result("OpIAdd", "%u", loop.count, self.constant(1))
        values = [following, *(self.value(self.module.types[phi]) for phi in loop.carried)]
        if loop.test_in != "continue":
            self.end(f"OpBranch {loop.header}")
            return values
        condition, targets = self._below(following, loop), [loop.header, loop.merge]
        if self.pick.random() < 0.5:
            condition, targets = self.result("OpLogicalNot", "%bool", condition), targets[::-1]
        self.note_edge(loop.merge)
        self.end(f"OpBranchConditional {condition} {' '.join(targets)}")
        return values

    def _loop_phis(self, loop: Loop, values: list[str]) -> Iterator[str]:
        starts = [["%c0"] * len(loop.entry), *loop.carried.values()]
        for phi, start, value in zip((loop.count, *loop.carried), starts, values, strict=True):
            pairs = [f"{first} {edge.block}" for first, edge in zip(start, loop.entry, strict=True)]
            yield f"  {phi} = OpPhi {self.module.types[phi]} {' '.join(pairs)} {value} {self.label}"


def module_text(seed: int, integers: tuple[str, ...]) -> str:
    """Returns the assembly of a module with a kernel `main` and up to two functions.

    Args:
        seed: the same gives the same.
        integers: types of `spirv_declarations.BITS`.
    """
    pick = random.Random(seed)
    module, functions, lines = Declarations(pick, integers), {}, []
    for number in range(pick.randrange(3)):
        name, takes = f"%f{number}", pick.choice([*CALLED])
        lines += FunctionWriter(module, functions, takes, 8).text(name, pick.randrange(1, 5))
        functions[name] = takes
    kernel = FunctionWriter(module, functions, None, pick.choice((6, 12, 25)))
    lines += kernel.text("%main", pick.randrange(3, 8))
    return module.text() + "\n".join(lines) + "\n"
