"""A block through which the ways to several blocks lead.

^p: jump ^a(%x)        ^p: jump ^m(%x, poison, 0)
^q: jump ^b(%y)        ^q: jump ^m(poison, %y, 1)
                       ^m(%s, %t, %key): jump by %key to ^a(%s) or ^b(%t)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Block, SSAValue

from .jumps import Constants, Edge


class Multiplexer:
    """The block and its arguments: those of all targets, a key where there are several, and what else is asked for."""

    def __init__(
        self, targets: Sequence[Block], constants: Constants, extra: Sequence[Attribute] = ()
    ) -> None:
        self._targets = list(dict.fromkeys(targets))
        self._constants = constants
        count = len(self._targets)
        self._key: Attribute | None = None if count == 1 else i1 if count == 2 else i32
        types = [argument.type for target in self._targets for argument in target.args]
        keys = [] if self._key is None else [self._key]
        self.block = Block(arg_types=[*types, *keys, *extra])
        self.width = len(types) + len(keys)
        """How many arguments it has for the targets and the key."""

    def edge(self, edge: Edge, extra: Sequence[SSAValue] = ()) -> Edge:
        """Returns the way to the block that leads on to where an edge leads."""
        values: list[SSAValue] = []
        for target in self._targets:
            is_there = target is edge.target
            values += edge.values if is_there else map(self._constants.nothing, (a.type for a in target.args))
        if self._key is not None:
            values.append(self._constants.number(self._number(edge.target), self._key))
        return Edge(self.block, (*values, *extra))

    def nowhere(self, extra: Sequence[SSAValue]) -> Edge:
        """Returns the way to the block that leads on to none of the targets."""
        types = [argument.type for argument in self.block.args[: self.width]]
        return Edge(self.block, (*map(self._constants.nothing, types), *extra))

    def onward(
        self, values: Sequence[SSAValue]
    ) -> tuple[list[Edge], SSAValue | None, tuple[int, ...] | None]:
        """Returns edges, selector and keys of the jump to the targets, of what came to the block for them."""
        edges: list[Edge] = []
        at = 0
        for target in self._targets:
            edges.append(Edge(target, tuple(values[at : at + len(target.args)])))
            at += len(target.args)
        if self._key is None:
            return edges, None, None
        keys = None if self._key == i1 else tuple(range(len(edges) - 1))
        return edges, values[at], keys

    def _number(self, target: Block) -> int:
        """Returns the key of a target; of two, the first is where a truth holds."""
        number = self._targets.index(target)
        return 1 - number if self._key == i1 else number
