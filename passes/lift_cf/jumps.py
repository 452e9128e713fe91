"""The blocks of a region while they are lifted, and the ways between them.

    cf.cond_br %c, ^a(%x : i32), ^b        Jump %c, edges [^a(%x), ^b]
    cf.switch %n : i32, [default: ^a, 7: ^b]   Jump %n, keys [7], edges [^b, ^a]

Blocks are in no region then: what belongs together is what can be reached.  A jump is an operation, so that the values
that it passes on have it among their uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, cf, ub
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.create import create
from ...ir.narrowing import is_integer_type
from ..errors import PassError


@dataclass(frozen=True, slots=True)
class Edge:
    """A way out of a block."""

    target: Block
    values: tuple[SSAValue, ...] = ()
    """For the arguments of `target`."""


class Jump(Operation):
    """The end of a block that leads to others.

    Its operands are what selects an edge, if there are several, and the values of all edges.
    """

    name = "lift.jump"
    keys: tuple[int, ...] | None
    """Numbers of the edges but the last one, which is taken for all others; None of a truth, whose first edge is taken
    where it holds."""
    counts: tuple[int, ...]
    """How many values each edge passes on."""

    @property
    def selector(self) -> SSAValue | None:
        """What selects an edge; None where there is one."""
        return self.operands[0] if len(self.counts) > 1 else None

    @property
    def edges(self) -> list[Edge]:
        """Returns the ways out."""
        at = int(len(self.counts) > 1)
        edges: list[Edge] = []
        for target, count in zip(self.successors, self.counts, strict=True):
            edges.append(Edge(target, tuple(self.operands[at : at + count])))
            at += count
        return edges

    def lead(self, edges: Sequence[Edge]) -> None:
        """Changes where it leads to; there are as many ways as before."""
        selector = self.selector
        values = [value for edge in edges for value in edge.values]
        self.counts = tuple(len(edge.values) for edge in edges)
        self.operands = values if selector is None else [selector, *values]
        self.successors = [edge.target for edge in edges]

    def turn(self, index: int, edge: Edge) -> None:
        """Puts another edge in the place of one."""
        self.lead([edge if at == index else kept for at, kept in enumerate(self.edges)])


def end_with_jump(
    block: Block,
    edges: Sequence[Edge],
    selector: SSAValue | None = None,
    keys: tuple[int, ...] | None = None,
    location: LocationAttr = UNKNOWN_LOC,
) -> Jump:
    """Adds a jump behind the operations of a block."""
    jump = Jump.create(operands=() if selector is None else [selector], location=location)
    jump.keys, jump.counts = keys, (0,) * len(edges)
    jump.lead(edges)
    block.add_op(jump)
    return jump


def remove(op: Operation) -> None:
    """Takes an operation out whose results nobody uses."""
    op.detach()
    op.erase()


def jump_of(block: Block) -> Jump | None:
    """Returns the jump at the end of a block, None where it leaves the region."""
    last = block.last_op
    return last if isinstance(last, Jump) else None


def edges_of(block: Block) -> list[Edge]:
    """Returns the ways out of a block."""
    jump = jump_of(block)
    return [] if jump is None else jump.edges


def edges_to(block: Block) -> list[tuple[Jump, int]]:
    """Returns the jumps that lead to a block, with the number of the edge."""
    return [(cast("Jump", use.operation), use.index) for use in list(block.uses)]


def reverse_post_order(entry: Block, avoiding: Collection[Block] = ()) -> list[Block]:
    """Returns what can be reached, each block in front of those that it leads to but for cycles."""
    seen = {entry, *avoiding}
    order: list[Block] = []
    stack: list[tuple[Block, Iterator[Edge]]] = [(entry, iter(edges_of(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next((edge.target for edge in rest if edge.target not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges_of(following))))
    return order[::-1]


@dataclass(slots=True)
class Constants:
    """Constants at the begin of a region, made where they are first needed; no value is missing behind them."""

    entry: Block
    _made: dict[tuple[Attribute, int | None], SSAValue] = field(
        default_factory=dict[tuple[Attribute, int | None], SSAValue]
    )

    def number(self, number: int, type_: Attribute) -> SSAValue:
        """Returns a number of an integer type."""
        kind: Any = type_
        return self._value((type_, number), arith.ConstantOp, value=IntegerAttr(number, kind))

    def nothing(self, type_: Attribute) -> SSAValue:
        """Returns a value that is never looked at."""
        return self._value((type_, None), ub.PoisonOp)

    def _value(
        self, key: tuple[Attribute, int | None], kind: type[Operation], **properties: Attribute
    ) -> SSAValue:
        made = self._made.get(key)
        if made is None:
            op = create(kind, (), [key[0]], properties)
            first = self.entry.first_op
            assert first is not None, "the entry ends in something"
            self.entry.insert_op_before(op, first)
            made = self._made[key] = op.results[0]
        return made


def read_jump(block: Block) -> None:
    """Puts a jump in the place of an operation of `cf` at the end of a block.

    Raises:
        PassError: another operation leads to blocks, or what is passed on does not fit.
    """
    last: Any = block.last_op
    if last is None or not last.successors:
        return
    selector: SSAValue | None = None
    keys: tuple[int, ...] | None = None
    if isinstance(last, cf.BranchOp):
        edges = [Edge(last.successor, tuple(last.arguments))]
    elif isinstance(last, cf.ConditionalBranchOp):
        selector = last.cond
        edges = [
            Edge(last.then_block, tuple(last.then_arguments)),
            Edge(last.else_block, tuple(last.else_arguments)),
        ]
    elif isinstance(last, cf.SwitchOp):
        edges = [Edge(target, tuple(values)) for target, values in _cases(last)]
        if len(edges) > 1:
            selector, keys = last.flag, _keys(last)
    else:
        raise PassError(
            f"'{last.name}' leads to other blocks, expected cf.br, cf.cond_br or cf.switch; lower it to these with "
            "mlir-opt",
            last,
        )
    for edge in edges:
        _check(last, edge)
    location = last.location
    remove(last)
    end_with_jump(block, edges, selector, keys, location)


def _cases(op: cf.SwitchOp) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    yield from zip(op.case_blocks, op.case_operand, strict=True)
    yield op.default_block, op.default_operands


def _keys(op: cf.SwitchOp) -> tuple[int, ...]:
    """Returns the numbers of the cases, with the sign that they have in the flag's type."""
    assert op.case_values is not None, "the verifier demands them of cases"
    flag = op.flag.type
    width = flag.width.data if is_integer_type(flag) else 64
    half = 1 << width >> 1
    return tuple((int(number) + half) % (1 << width) - half for number in op.case_values.get_values())


def _check(op: Operation, edge: Edge) -> None:
    found = [value.type for value in edge.values]
    expected = [argument.type for argument in edge.target.args]
    if found != expected:
        raise PassError(
            f"'{op.name}' passes ({', '.join(map(str, found))}) to a block that takes "
            f"({', '.join(map(str, expected))})",
            op,
        )
