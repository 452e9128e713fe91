"""The parts of random kernels written for MLIR: each is text, and does what it says with the values of a work-item.

Branches and loops are those of `scf`, or blocks that branch to each other with `cf`, where they stand in no region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol

from .upstream_types import Kind, NotSpecifiedError

MOST_STEPS = 40_000
"""Parts that a work-item may execute."""


@dataclass
class Item:
    """A work-item."""

    values: dict[str, Any]
    """By name, arrays too."""
    steps: int = 0

    def run(self, nodes: Iterable[Node]) -> None:
        """Executes some parts, one after the other."""
        for node in nodes:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise NotSpecifiedError
            node.run(self)

    def given(self, names: Iterable[str]) -> list[Any]:
        """Returns values."""
        return [self.values[name] for name in names]

    def take(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Gives names their values."""
        self.values.update(zip(names, values, strict=True))


class Node(Protocol):
    """A part of a kernel."""

    def lines(self) -> list[str]:
        """Returns its text."""
        ...

    def run(self, item: Item) -> None:
        """Does what it says."""
        ...


@dataclass
class Operation:
    """One line."""

    text: str
    run: Callable[[Item], None]

    def lines(self) -> list[str]:
        """Returns its text."""
        return [self.text]


@dataclass
class Block:
    """Some parts, and what they pass on."""

    nodes: list[Node]
    passed: Sequence[str]

    def lines(self, end: str) -> list[str]:
        """Returns their text with a last line."""
        return [*lines_of(self.nodes), end]

    def run(self, item: Item) -> list[Any]:
        """Executes them, and returns what they pass on."""
        item.run(self.nodes)
        return item.given(self.passed)


@dataclass
class Values:
    """Names of values and their types."""

    names: list[str] = field(default_factory=list[str])
    kinds: Sequence[Kind | str] = ()

    def declared(self) -> str:
        """Returns them as a block takes them."""
        text = ", ".join(f"{name}: {kind}" for name, kind in zip(self.names, self.kinds, strict=True))
        return f"({text})" if text else ""

    def result(self) -> str:
        """Returns what stands in front of the operation that makes them."""
        return f"{', '.join(self.names)} = " if self.names else ""

    def types(self) -> str:
        """Returns their types, separated by commas."""
        return _types(self.kinds)

    def after(self, word: str, names: Sequence[str]) -> str:
        """Returns a word with other values of the same types behind it."""
        return f"{word} {', '.join(names)} : {self.types()}" if names else word

    def to(self, label: str, names: Sequence[str]) -> str:
        """Returns a block that is branched to with other values of the same types."""
        return f"{label}({', '.join(names)} : {self.types()})" if names else label

    def initial(self, names: Sequence[str]) -> str:
        """Returns them as a loop takes them, each with another value to begin with."""
        return ", ".join(f"{name} = {first}" for name, first in zip(self.names, names, strict=True))


@dataclass
class Choice:
    """`scf.if`, `scf.index_switch`, or blocks and a branch to one of them."""

    results: Values
    selector: str
    cases: list[Block]
    """Of a truth value that for true first; else those for 0, 1, … and the default."""
    is_if: bool
    label: str = ""
    """Of the blocks, where it is none of `scf`."""

    def run(self, item: Item) -> None:
        """Executes one case."""
        value, last = item.values[self.selector], len(self.cases) - 1
        if self.is_if:
            value = 0 if value else 1
        item.take(self.results.names, self.cases[value if 0 <= value < last else last].run(item))

    def lines(self) -> list[str]:
        """Returns its text."""
        if self.label:
            return self._branches()
        arrow = f" -> ({self.results.types()})" if self.results.names else ""
        bodies = [case.lines(self.results.after("scf.yield", case.passed)) for case in self.cases]
        if self.is_if:
            head = f"{self.results.result()}scf.if {self.selector}{arrow} {{"
            return [head, *_indented(bodies[0]), "} else {", *_indented(bodies[1]), "}"]
        lines = [
            f"{self.results.result()}scf.index_switch {self.selector}{arrow.replace('(', '').replace(')', '')}"
        ]
        for number, body in enumerate(bodies):
            word = f"case {number}" if number < len(bodies) - 1 else "default"
            lines += [f"{word} {{", *_indented(body), "}"]
        return lines

    def _branches(self) -> list[str]:
        names = [f"^{self.label}_{number}" for number in range(len(self.cases))]
        if self.is_if:
            lines = [f"cf.cond_br {self.selector}, {', '.join(names)}"]
        else:
            cases = ", ".join(f"{number}: {name}" for number, name in enumerate(names[:-1]))
            lines = [f"cf.switch {self.selector} : i32, [default: {names[-1]}, {cases}]"]
        end = f"^{self.label}_end"
        for name, case in zip(names, self.cases, strict=True):
            lines += [f"{name}:", *case.lines(f"cf.br {self.results.to(end, case.passed)}")]
        return [*lines, f"{end}{self.results.declared()}:"]


@dataclass
class Count:
    """`scf.for`."""

    results: Values
    counter: str
    kind: Kind
    """Of the counter."""
    limits: tuple[str, str, str]
    """Where it begins, what it stays below, and its step."""
    carried: Values
    first: list[str]
    body: Block

    def run(self, item: Item) -> None:
        """Executes the rounds."""
        carried = item.given(self.first)
        for count in range(*item.given(self.limits)):
            item.values[self.counter] = count
            item.take(self.carried.names, carried)
            carried = self.body.run(item)
        item.take(self.results.names, carried)

    def lines(self) -> list[str]:
        """Returns its text."""
        begin, end, step = self.limits
        head = f"{self.results.result()}scf.for {self.counter} = {begin} to {end} step {step}"
        if self.first:
            head += f" iter_args({self.carried.initial(self.first)}) -> ({self.results.types()})"
        head += "" if self.kind.element == "index" else f" : {self.kind}"
        body = self.body.lines(self.results.after("scf.yield", self.body.passed))
        return [f"{head} {{", *_indented(body), "}"]


@dataclass
class Repeat:
    """`scf.while`, or a loop of blocks."""

    results: Values
    carried: Values
    first: list[str]
    test: str
    before: Block
    """What computes the test, and passes values on."""
    passed: Values
    """What the body takes."""
    body: Block
    label: str = ""
    """Of the blocks, where it is none of `scf`."""

    def run(self, item: Item) -> None:
        """Executes the rounds."""
        carried = item.given(self.first)
        while True:
            item.take(self.carried.names, carried)
            passed = self.before.run(item)
            if not item.values[self.test]:
                break
            item.take(self.passed.names, passed)
            carried = self.body.run(item)
        item.take(self.results.names, passed)

    def lines(self) -> list[str]:
        """Returns its text."""
        if self.label:
            return self._branches()
        head = f"{self.results.result()}scf.while ({self.carried.initial(self.first)})"
        condition = self.results.after(f"scf.condition({self.test})", self.before.passed)
        return [
            f"{head} : ({self.carried.types()}) -> ({self.results.types()}) {{",
            *_indented(self.before.lines(condition)),
            "} do {",
            f"^bb0{self.passed.declared()}:",
            *_indented(self.body.lines(self.carried.after("scf.yield", self.body.passed))),
            "}",
        ]

    def _branches(self) -> list[str]:
        test, body, end = (f"^{self.label}_{part}" for part in ("test", "body", "end"))
        ways = ", ".join(self.results.to(label, self.before.passed) for label in (body, end))
        return [
            f"cf.br {self.carried.to(test, self.first)}",
            f"{test}{self.carried.declared()}:",
            *self.before.lines(f"cf.cond_br {self.test}, {ways}"),
            f"{body}{self.passed.declared()}:",
            *self.body.lines(f"cf.br {self.carried.to(test, self.body.passed)}"),
            f"{end}{self.results.declared()}:",
        ]


@dataclass
class Region:
    """`scf.execute_region`."""

    results: Values
    body: Block

    def run(self, item: Item) -> None:
        """Executes it once."""
        item.take(self.results.names, self.body.run(item))

    def lines(self) -> list[str]:
        """Returns its text."""
        arrow = f" -> ({self.results.types()})" if self.results.names else ""
        body = self.body.lines(self.results.after("scf.yield", self.body.passed))
        return [f"{self.results.result()}scf.execute_region{arrow} {{", *_indented(body), "}"]


@dataclass
class Parallel:
    """`scf.parallel`, whose rounds give a number each."""

    result: str
    counters: list[str]
    limits: list[tuple[str, str, str]]
    """Of each counter where it begins, what it stays below, and its step."""
    first: str
    body: Block
    kind: Kind
    """Of the numbers."""
    combine: Callable[[Any, Any], Any]
    operation: str
    """What does the same in the text."""

    def run(self, item: Item) -> None:
        """Executes the rounds in C order."""
        total = item.values[self.first]
        for counts in product(*(range(*item.given(limits)) for limits in self.limits)):
            item.take(self.counters, counts)
            total = self.combine(total, *self.body.run(item))
        item.values[self.result] = total

    def lines(self) -> list[str]:
        """Returns its text."""
        begin, end, step = (f"({', '.join(part)})" for part in zip(*self.limits, strict=True))
        head = f"{self.result} = scf.parallel ({', '.join(self.counters)}) = {begin} to {end} step {step}"
        left, right, whole = (f"{self.result}_{part}" for part in ("left", "right", "whole"))
        return [
            f"{head} init ({self.first}) -> {self.kind} {{",
            *_indented(self.body.lines(f"scf.reduce({self.body.passed[0]} : {self.kind}) {{")),
            f"  ^bb0({left}: {self.kind}, {right}: {self.kind}):",
            f"    {whole} = {self.operation} {left}, {right} : {self.kind}",
            f"    scf.reduce.return {whole} : {self.kind}",
            "  }",
            "}",
        ]


@dataclass
class Function:
    """A function beside the kernel, whose values have names of their own."""

    name: str
    parameters: Values
    kinds: list[Kind]
    """Of its results."""
    body: Block

    def lines(self) -> list[str]:
        """Returns its text."""
        end = Values(kinds=self.kinds).after("func.return", self.body.passed)
        head = f"func.func private @{self.name}{self.parameters.declared()} -> ({_types(self.kinds)}) {{"
        return [head, *self.body.lines(end), "}"]


@dataclass
class Call:
    """A call of a function."""

    results: Values
    function: Function
    arguments: list[str]

    def run(self, item: Item) -> None:
        """Executes the function."""
        item.take(self.function.parameters.names, item.given(self.arguments))
        item.take(self.results.names, self.function.body.run(item))

    def lines(self) -> list[str]:
        """Returns its text."""
        call = f"func.call @{self.function.name}({', '.join(self.arguments)})"
        types = f"({self.function.parameters.types()}) -> ({self.results.types()})"
        return [f"{self.results.result()}{call} : {types}"]


def lines_of(nodes: Iterable[Node]) -> list[str]:
    """Returns the text of some parts."""
    return [line for node in nodes for line in node.lines()]


def _types(kinds: Iterable[Kind | str]) -> str:
    return ", ".join(map(str, kinds))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
