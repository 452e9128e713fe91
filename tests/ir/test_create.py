"""`create` makes what `Operation.create` makes."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, scf, test
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    i1,
)
from xdsl.ir import Block, Operation, Region

from lapilli.ir.create import append, create, empty_block, move_all, prepend_all, region_of
from lapilli.ir.dialects import spirv

LOCATION = FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(5))


def _constant() -> Operation:
    return arith.ConstantOp(FloatAttr(1.0, f32))


def _fields(op: Operation) -> dict[str, object]:
    """What an operation holds; uses and results by what they are of."""
    return {
        "operands": list(op.operands),
        "uses": [[(use.operation is op, use.index) for use in value.uses] for value in op.operands],
        "results": [(r.type, r.op is op, r.index, r.name_hint, r.first_use) for r in op.results],
        "successors": list(op.successors),
        "successor uses": [[(u.operation is op, u.index) for u in b.uses] for b in op.successors],
        "properties": op.properties,
        "attributes": op.attributes,
        "location": op.location,
        "regions": [region.parent is op for region in op.regions],
        "place": (op.parent, op.next_op, op.prev_op),
    }


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (arith.AddfOp, {"result_types": (f32,), "location": LOCATION}),  # has default properties
        (arith.AddfOp, {"result_types": (f32,), "properties": {"fastmath": arith.FastMathFlagsAttr("fast")}}),
        (spirv.FAddOp, {"result_types": (f32,), "attributes": {"no_contraction": UnitAttr()}}),
        (test.TestOp, {"result_types": (f32, i1, f32)}),
        (test.TestOp, {}),
    ],
)
def test_makes_the_same_operation(kind: type[Operation], options: dict[str, object]):
    def made(make: object) -> dict[str, object]:
        one = _constant().results[0]
        operands = (one, one)  # twice: both uses count
        op = make(operands)  # type: ignore[operator]
        fields = _fields(op)
        op.verify() if kind is not test.TestOp else None
        assert [value is one for value in fields.pop("operands")] == [True, True]  # type: ignore[union-attr]
        return fields

    ours = made(lambda operands: create(kind, operands, **options))
    theirs = made(lambda operands: kind.create(operands=operands, **options))
    assert ours == theirs
    assert list(ours["properties"]) == list(theirs["properties"])  # type: ignore[call-overload]


def test_branches_and_regions_are_known_to_their_operation():
    target, body = Block(), Region(Block([scf.YieldOp()]))
    branch = create(spirv.BranchOp, successors=(target, target))
    assert _fields(branch)["successor uses"] == [[(True, 1), (True, 0)]] * 2
    condition = create(arith.ConstantOp, (), (i1,), {"value": IntegerAttr(1, i1)})
    outer = create(scf.IfOp, condition.results, regions=(body, Region()))
    assert body.parent is outer and len(outer.regions) == 2
    assert branch.drop_all_references() is None and not list(target.uses)


def test_properties_are_the_operations_own():
    first, second = (create(arith.AddfOp, (), (f32,)) for _ in range(2))
    first.properties["fastmath"] = arith.FastMathFlagsAttr("fast")
    first.attributes["mark"] = UnitAttr()
    assert second.properties["fastmath"] == arith.FastMathFlagsAttr("none") and not second.attributes


def test_appends_as_add_op_does():
    block, other = Block(), Block()
    ours, theirs = [_constant() for _ in range(3)], [_constant() for _ in range(3)]
    for mine, its in zip(ours, theirs, strict=True):
        append(block, mine)
        other.add_op(its)
    assert list(block.ops) == ours and list(reversed(block.ops)) == ours[::-1]
    assert block.first_op is ours[0] and block.last_op is ours[2] and ours[1].parent is block
    block.detach_op(ours[1])
    assert list(block.ops) == [ours[0], ours[2]]


@pytest.mark.parametrize(("new", "before"), [(0, 2), (3, 0), (3, 2)])
def test_prepends_in_front_of_all_operations(new: int, before: int):
    front, block = [_constant() for _ in range(new)], Block([_constant() for _ in range(before)])
    expected = [*front, *block.ops]
    prepend_all(block, front)
    assert list(block.ops) == expected and list(reversed(block.ops)) == expected[::-1]
    assert all(op.parent is block for op in expected)


@pytest.mark.parametrize(("moved", "before"), [(0, 2), (3, 0), (3, 2), (1, 1)])
def test_moves_all_operations_of_a_block(moved: int, before: int):
    source, target = Block([_constant() for _ in range(moved)]), Block([_constant() for _ in range(before)])
    expected = [*target.ops, *source.ops]
    move_all(source, target)
    assert list(target.ops) == expected and list(reversed(target.ops)) == expected[::-1]
    assert not list(source.ops) and source.last_op is None
    assert all(op.parent is target for op in expected)
    target.add_op(last := _constant())
    assert list(target.ops) == [*expected, last]


def test_regions_of_new_blocks():
    blocks = [empty_block() for _ in range(3)]
    region, expected = region_of(*blocks), Region([Block() for _ in range(3)])
    assert list(region.blocks) == blocks and list(reversed(region.blocks)) == blocks[::-1]
    assert all(block.parent is region and not block.args and block.first_op is None for block in blocks)
    assert len(region.blocks) == len(expected.blocks) and region.parent is None
    assert region_of().first_block is region_of().last_block is None
    region.add_block(last := Block([_constant()]))
    assert list(region.blocks) == [*blocks, last] and region.last_block is last


def test_initialises_as_the_constructor_of_operations_does():
    made = spirv.FuncOp("f", FunctionType.from_lists((), ()))
    properties = made.properties
    other = spirv.FuncOp.create(properties=properties, regions=(Region(Block()),))
    assert _fields(made) == _fields(other) and list(properties) == list(other.properties)


def test_values_operations_and_blocks_have_the_hash_of_their_identity():
    op, block = _constant(), Block()
    assert [hash(item) for item in (op, block, op.results[0])] == [
        object.__hash__(item) for item in (op, block, op.results[0])
    ]
