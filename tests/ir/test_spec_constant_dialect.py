"""The spec_constant dialect: defaults fit their types, and what is read is declared."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import Float32Type, FloatAttr, f32

from lapilli.ir.dialects.spec_constant import DeclareOp, GetOp
from lapilli.ir.parse import IRSyntaxError, parse_module
from lapilli.ir.verify import IRError, verify_module


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("f32 = []", "f32 has 1 scalars, the default has 0"),
        ("f32 = [1.0 : f32, 2.0 : f32]", "f32 has 1 scalars, the default has 2"),
        ("f32 = [1.0 : f64]", "leaf 0 of the default must be of type f32, found 1.000000e+00 : f64"),
        ("i32 = [1 : i64]", "leaf 0 of the default must be of type i32"),
        ('i32 = ["one"]', "leaf 0 of the default must be of type i32"),
        ("i1 = [1 : i32]", "leaf 0 of the default must be of type i1"),
        ("!spirv.array<2 x !spirv.array<2 x i32>> = [1 : i32, 2 : i32]", "has 4 scalars, the default has 2"),
        ("vector<2xf32> = [1.0 : f32, 2 : i32]", "leaf 1 of the default must be of type f32"),
        ("!spirv.struct<(i32, f32)> = [1.0 : f32, 1 : i32]", "leaf 0 of the default must be of type i32"),
        ("memref<?xf32> = []", "type memref<?xf32> is not made of scalars"),
    ],
)
def test_defaults_fit_the_type(declaration: str, message: str) -> None:
    module = parse_module(f"spec_constant.declare @c : {declaration}").module
    with pytest.raises(IRError) as caught:
        verify_module(module)
    assert f"@c: {message}" in str(caught.value) or message in str(caught.value)


@pytest.mark.parametrize("text", ["@c : f32 = 1.0 : f32", "@c f32 = []", "c : f32 = []"])
def test_declarations_in_bad_syntax_are_refused(text: str) -> None:
    with pytest.raises(IRSyntaxError):
        parse_module(f"spec_constant.declare {text}")


@pytest.mark.parametrize(
    ("read", "message"),
    [
        ("@missing : f32", "@missing is not declared"),
        ("@c : f64", "@c is declared as f32, but read as f64"),
        ("@f : f32", "@f is not declared"),
    ],
)
def test_reads_name_a_declaration_of_their_type(read: str, message: str) -> None:
    text = f"""
    spec_constant.declare @c : f32 = [1.0 : f32]
    func.func @f() {{ %0 = spec_constant.get {read}  func.return }}"""
    with pytest.raises(IRError) as caught:
        verify_module(parse_module(text).module)
    assert message in str(caught.value)


def test_a_read_being_built_is_not_checked() -> None:
    GetOp("c", f32).verify()


def test_declarations_are_built_from_python() -> None:
    op = DeclareOp("pkg.mod.SCALE", Float32Type(), [FloatAttr(1.5, 32)], lapilli_type="f32")
    op.verify()
    assert (
        str(op) == 'spec_constant.declare @pkg.mod.SCALE : f32 = [1.500000e+00 : f32] {lapilli_type = "f32"}'
    )
    assert op.display_name == "SCALE"
    assert DeclareOp("a.b", f32, [FloatAttr(1.5, 32)], short_name="B").display_name == "B"


def test_reads_of_one_constant_are_one_value_to_cse() -> None:
    from lapilli.ir.context import make_context
    from lapilli.passes.registry import parse_passes

    text = """
    spec_constant.declare @c : f32 = [1.0 : f32]
    func.func @k() -> f32 {
      %0 = spec_constant.get @c : f32
      %1 = spec_constant.get @c : f32
      %2 = arith.addf %0, %1 : f32
      func.return %2 : f32
    }"""
    module = parse_module(text).module
    for step in parse_passes("cse,dce"):
        step.apply(make_context(), module)
    assert sum(isinstance(op, GetOp) for op in module.walk()) == 1
