"""`attribute` and its kin make what xDSL's constructors make."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute

from lapilli.ir.attributes import attribute, function_type, i32_attribute, number_attribute, symbol_reference
from lapilli.ir.dialects.spirv.attributes import StorageClassAttr
from lapilli.ir.dialects.spirv.enums import StorageClass
from lapilli.ir.dialects.spirv.types import PointerType, RuntimeArrayType

UNIFORM = StorageClassAttr(StorageClass.Uniform)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (symbol_reference("k"), SymbolRefAttr("k")),
        (i32_attribute(-7), IntegerAttr(-7, i32)),
        (number_attribute(7), IntAttr(7)),
        (function_type((f32, i1), ()), FunctionType.from_lists([f32, i1], [])),
        (function_type([], [f32]), FunctionType.from_lists([], [f32])),
        (attribute(PointerType, f32, UNIFORM), PointerType(f32, UNIFORM)),
        (RuntimeArrayType.get(f32, 4), RuntimeArrayType(f32, IntAttr(4))),
        (
            attribute(FileLineColLoc, StringAttr("k.py"), IntAttr(3), IntAttr(5)),
            FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(5)),
        ),
    ],
)
def test_makes_the_same_attribute(ours: Attribute, theirs: Attribute) -> None:
    assert ours == theirs and hash(ours) == hash(theirs)
    assert type(ours) is type(theirs) and vars(ours) == vars(theirs)
    assert str(ours) == str(theirs)


def test_parameters_are_as_many_as_the_class_has() -> None:
    with pytest.raises(ValueError, match="shorter"):
        attribute(PointerType, f32)
