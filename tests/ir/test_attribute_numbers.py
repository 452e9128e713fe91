"""Numbers of attributes: equal ones have the same."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, StringAttr, UnitAttr, f32

from lapilli.ir.attribute_numbers import AttributeNumbers


def test_equal_attributes_have_one_number_and_others_another():
    number = AttributeNumbers().of
    assert number(IntegerType(32)) == number(IntegerType(32)) != number(IntegerType(16))
    # Objects that live no longer than the call must not hand their identity on to others.
    assert len({number(StringAttr(str(i % 50))) for i in range(200)}) == 50
    assert len({number(f32), number(UnitAttr()), number(IntegerType(32))}) == 3
