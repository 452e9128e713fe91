"""Fields that are read before their class is defined are what xDSL's accessors give."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import UnitAttr, i1, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Region
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicResultSize,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)

from lapilli.ir.create import create
from lapilli.ir.deferred_operations import deferred_operations


class Parent(IRDLOperation):
    """Has fields of its own."""

    inherited = prop_def(AnyAttr())
    body = region_def()


def make() -> list[type[IRDLOperation]]:
    @irdl_op_definition
    class Plain(Parent):
        name = "test.plain"
        irdl_options = (ParsePropInAttrDict(),)
        first = operand_def(AnyAttr())
        second = operand_def(AnyAttr())
        rest = var_operand_def(AnyAttr())
        last = operand_def(AnyAttr())
        out = result_def(AnyAttr())
        target = successor_def()
        needed = prop_def(AnyAttr(), prop_name="other")
        wanted = opt_prop_def(AnyAttr())
        preset = opt_prop_def(AnyAttr(), default_value=i32)
        noted = attr_def(AnyAttr())
        remark = opt_attr_def(AnyAttr(), attr_name="comment")

    @irdl_op_definition
    class Sized(IRDLOperation):
        name = "test.sized"
        irdl_options = (AttrSizedOperandSegments(as_property=True), SameVariadicResultSize())
        lead = operand_def(AnyAttr())
        first = opt_operand_def(AnyAttr())
        second = operand_def(AnyAttr())
        some = var_result_def(AnyAttr())
        more = var_result_def(AnyAttr())
        wanted = opt_prop_def(AnyAttr())

    @irdl_op_definition
    class Overriding(Parent):
        name = "test.overriding"
        inherited = opt_prop_def(AnyAttr())
        bodies = var_region_def()

    return [Plain, Sized, Overriding]


FIELDS = {
    "test.plain": "first second rest last out target needed wanted preset noted remark inherited body",
    "test.sized": "lead first second some more wanted",
    "test.overriding": "inherited body bodies",
}


def read(op: Any, name: str) -> object:
    try:
        found = getattr(op, name)
    except KeyError as error:
        return str(error)
    return tuple(found) if isinstance(found, tuple | list) else found


def objects(kind: type[IRDLOperation], values: Any, target: Block, regions: list[Region]) -> list[Any]:
    from xdsl.dialects.builtin import DenseArrayBase

    if kind.name == "test.sized":
        sizes = DenseArrayBase.from_list(i32, [1, 0, 1])
        return [create(kind, values[:2], (i32, i1), {"operandSegmentSizes": sizes})]
    properties = {"inherited": i1, "other": i32, "wanted": UnitAttr()}
    full = create(
        kind, values, (i32,), properties, {"noted": i1, "comment": i32}, successors=[target], regions=regions
    )
    empty = create(kind, values[:3], (i32,), successors=[target], regions=[Region()])
    return [full, empty]


@pytest.mark.parametrize("place", range(3))
def test_fields_are_those_of_the_defined_class(place: int) -> None:
    values = AnyOp(result_types=[i32, i1, i32, i1, i32]).results
    with deferred_operations():
        kind = make()[place]
    for name in FIELDS[kind.name].split():
        with deferred_operations():
            late = make()[place]
        for number in range(len(objects(late, values, Block(), [Region()]))):
            target, regions = Block(), [Region(), Region()]
            op = objects(late, values, target, regions)[number]
            before = read(op, name)
            late.get_irdl_definition()
            assert before == read(op, name), name


def test_reading_defines_no_class_where_the_place_is_known() -> None:
    from lapilli.ir import deferred_operations as module

    values = AnyOp(result_types=[i32, i1, i32, i1, i32]).results
    with deferred_operations():
        plain, sized, overriding = make()
    op: Any = objects(plain, values, Block(), [Region()])[0]
    assert (op.second, op.wanted, op.preset, op.inherited) == (values[1], UnitAttr(), i32, i1)
    assert plain in module._deferred
    assert tuple(op.rest) == tuple(values[2:4])
    assert plain not in module._deferred
    other: Any = objects(sized, values, Block(), [])[0]
    assert (other.lead, other.wanted) == (values[0], None) and sized in module._deferred
    assert other.first is None and sized not in module._deferred
    last: Any = objects(overriding, values, Block(), [Region(), Region()])[0]
    assert last.inherited == i1 and overriding not in module._deferred
