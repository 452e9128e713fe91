"""Blocks of a random SPIR-V function: `BlockWriter` knows which values dominate the place where it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .spirv_declarations import Declarations


class Edge(NamedTuple):
    """A branch to a block."""

    block: str
    """The label of where it comes from."""
    values: Sequence[str]
    """What may be used there."""


class BlockWriter:
    """Writes instructions, branches and phis.

    Args:
        module: where constants and new ids come from.
    """

    def __init__(self, module: Declarations) -> None:
        self.module, self.pick = module, module.pick
        self.lines: list[str] = []
        self.label = ""
        self.available: list[str] = []
        """Values that may be used here."""
        self.is_live = True
        """Whether the block has no end yet and something leads to it."""
        self._edges: dict[str, list[Edge]] = {}

    def write(self, text: str) -> None:
        """Writes an instruction without a result."""
        self.lines.append(f"  {text}")

    def result(self, opcode: str, type_: str, *operands: str | int) -> str:
        """Writes an instruction and returns its result."""
        result = self.module.new(type_)
        self.write(" ".join((result, "=", opcode, type_, *map(str, operands))))
        return result

    def constant(self, value: int, type_: str = "%u") -> str:
        """Returns the constant of a number."""
        return self.module.constant(value, type_)

    def value(self, type_: str = "%u", among: Sequence[str] | None = None) -> str:
        """Returns a value of a type, mostly a late one, so that what was computed is used."""
        among = self.available if among is None else among
        found = [value for value in among if self.module.types[value] == type_]
        if not found or self.pick.random() < 0.15:
            return self.module.edge(type_)
        return self.pick.choice(found[-6:] if self.pick.random() < 0.6 else found)

    def edges_to(self, label: str) -> list[Edge]:
        """Returns the branches to a block so far."""
        return self._edges.get(label, [])

    def note_edge(self, label: str) -> None:
        """Says that the block being written branches to another."""
        self._edges.setdefault(label, []).append(Edge(self.label, tuple(self.available)))

    def branch(self, label: str) -> None:
        """Ends the block."""
        self.note_edge(label)
        self.end(f"OpBranch {label}")

    def end(self, text: str) -> None:
        """Ends the block with an instruction."""
        self.write(text)
        self.is_live = False

    def begin(self, label: str) -> None:
        """Starts a block, without phis; it is dead where nothing leads to it."""
        self.lines.append(f"{label} = OpLabel")
        self.label, edges = label, self.edges_to(label)
        self.is_live, self.available = bool(edges), self.dominating(edges)

    def open(self, label: str) -> None:
        """Starts a block, with phis for what branches bring."""
        self.begin(label)
        if not self.is_live:
            return
        edges = {edge.block: edge for edge in self.edges_to(label)}
        for _ in range(self.pick.choice((0, 0, 1, 1, 2))):
            type_ = self.any_type()
            pairs = [f"{self.value(type_, edge.values)} {block}" for block, edge in edges.items()]
            self.available.append(self.result("OpPhi", type_, *pairs))

    def any_type(self) -> str:
        """Returns the type of a value that goes through phis; most are of 32 bits."""
        return self.pick.choice(("%u", "%u", "%u", "%f", *self.module.integers))

    @staticmethod
    def dominating(edges: Sequence[Edge]) -> list[str]:
        """Returns the values that all edges have, in their order."""
        if not edges:
            return []
        others = [set(edge.values) for edge in edges[1:]]
        return [value for value in edges[0].values if all(value in other for other in others)]
