"""What becomes of upstream's control flow.

scf.execute_region { … }                      …
scf.index_switch %i case 0 { A } default { B }    scf.if %i == 0 { A } else { B }
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from .upstream_place import UpstreamPlace


def execute_region(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    """Takes the operations of one block out of their region."""
    region: Region = place.op.region
    if len(region.blocks) != 1:
        return None
    last = region.block.last_op
    if not isinstance(last, scf.YieldOp):
        return None
    values = tuple(last.operands)
    for op in list(region.block.ops):
        op.detach()
        if op is not last:
            place.add(op)
    last.erase()
    return values


def index_switch(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Asks for one case after the other."""
    op = place.op
    numbers = [int(number) for number in op.cases.get_values()]
    bodies: list[Region] = [*op.case_regions, op.default_region]
    for body in bodies:
        op.detach_region(body)
    rest = bodies.pop()
    for number, body in zip(reversed(numbers), reversed(bodies), strict=True):
        rest = Region(Block(_asked(op, number, body, rest)))
    block = rest.block
    last = block.last_op
    assert last is not None, "a region of scf.index_switch ends in scf.yield"
    values = tuple(last.operands)
    for inner in list(block.ops):
        inner.detach()
        if inner is not last:
            place.add(inner)
    last.erase()
    return values


def _asked(op: Operation, number: int, body: Region, rest: Region) -> list[Operation]:
    """Returns what chooses between a case and the rest."""
    value = arith.ConstantOp(IntegerAttr(number, IndexType()))
    properties = {"predicate": IntegerAttr(0, i64)}
    test = arith.CmpiOp.create(
        operands=[op.operands[0], value.result],
        result_types=[i1],
        properties=properties,
        location=op.location,
    )
    choice = scf.IfOp(test.results[0], op.result_types, body, rest)
    return [value, test, choice, scf.YieldOp(*choice.results)]
