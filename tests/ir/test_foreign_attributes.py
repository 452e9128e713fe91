"""What text may say in attributes and locations that nothing here reads: it is kept, as upstream's tools keep it."""

from __future__ import annotations

import pytest

from lapilli.ir.errors import Location
from lapilli.ir.location import location_of
from lapilli.ir.parse import IRSyntaxError, parse_module

ATTRIBUTES = ("#my.attr", "#my.attr<3>", '#my<attr "a>b" [3]>', "#my.attr<!my.type<i32>, {a = #other.b}>")


def _text(attribute: str, location: str = "unknown") -> str:
    return (
        f"func.func @f(%x: f32) -> f32 attributes {{my.why = {attribute}}} {{\n"
        f"  %y = arith.addf %x, %x {{my.thing = {attribute}}} : f32 loc({location})\n  return %y : f32\n}}\n"
    )


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attributes_of_other_dialects_keep_their_text(attribute: str):
    printed = str(parse_module(_text(attribute)).module)
    assert printed.count(attribute) == 2
    assert str(parse_module(printed).module) == printed


def test_those_of_known_dialects_are_what_these_have():
    with pytest.raises(IRSyntaxError, match=r"'gpu\.nothing' is not registered"):
        parse_module(_text("#gpu.nothing<3>"))


def test_one_without_an_end():
    with pytest.raises(IRSyntaxError):
        parse_module(_text("#my.attr<(3>"))


def test_a_type_of_another_dialect_says_what_to_do():
    with pytest.raises(IRSyntaxError, match=r"'my\.type' is not registered; kernels are made of .*mlir-opt"):
        parse_module("func.func @f(%x: !my.type<3>) {\n  return\n}\n")


@pytest.mark.parametrize("metadata", ['<"inlined">', "<#my.scope<3>>", ""])
def test_fused_locations_have_metadata(metadata: str):
    module = parse_module(_text("3", f'fused{metadata}["a.py":1:2, "b.py":3:4]')).module
    (function,) = module.body.ops
    addition = function.regions[0].block.first_op
    assert addition is not None
    assert location_of(addition.location) == Location("a.py", 1, 2)
    assert f"fused{metadata}[" in str(addition.location)
