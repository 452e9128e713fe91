"""Operations that MLIR 19 has too: its verifier takes what we print, and we read both syntaxes that it prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from typing_extensions import TypeIs
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from lapilli.ir.parse import parse_module

from .operations_table import TABLE, module

GOLDENS = sorted((Path(__file__).parents[2] / "golden" / "spirv").glob("*.mlir"))
MARK = "// -----"
STRICTER = {
    "spirv.KHR.CooperativeMatrixStore": "has unhandled memory operand",
    "spirv.SDot": "result type has insufficient bit-width",  # of the whole vector; SPIR-V says of a component
    "spirv.SDotAccSat": "result type has insufficient bit-width",
    "spirv.SUDotAccSat": "result type has insufficient bit-width",
}
"""What MLIR 19 has against operations that SPIR-V allows."""


def sample(op: Operation) -> ModuleOp:
    """Returns a function of the operation's operands that holds nothing but it."""
    constants = {value: value.op.clone() for value in op.operands if is_constant(value)}
    others = [value for value in dict.fromkeys(op.operands) if value not in constants]
    types = [value.type for value in others]
    entry = Block(arg_types=types)
    values = dict(zip(others, entry.args, strict=True))
    values |= {value: made.results[0] for value, made in constants.items()}
    entry.add_ops([*constants.values(), op.clone(values), func.ReturnOp()])
    return ModuleOp([func.FuncOp("f", (types, []), Region([entry]))])


def is_constant(value: SSAValue) -> TypeIs[OpResult]:
    return isinstance(value, OpResult) and value.op.name == "spirv.Constant"


def stands_alone(op: Operation) -> bool:
    return (
        op.name.startswith("spirv.")
        and not op.regions
        and not op.has_trait(IsTerminator)
        and op.parent_op() is not None
        and op.parent_op().name == "spirv.func"  # pyright: ignore[reportOptionalMemberAccess]
        and not any(isinstance(value, SymbolRefAttr) for value in op.properties.values())
    )


IMAGE = "!spirv.image<f32, Dim2D, NoDepth, NonArrayed, SingleSampled, {}, Unknown>"
DEPTH = f"!spirv.sampled_image<{IMAGE.format('NeedSampler').replace('NoDepth', 'IsDepth')}>"
MORE = f"""
"spirv.module"() <{{addressing_model = #spirv.addressing_model<Logical>,
    memory_model = #spirv.memory_model<GLSL450>}}> ({{
  "spirv.func"() <{{sym_name = "images", function_type = ({IMAGE.format("NoSampler")},
      !spirv.sampled_image<{IMAGE.format("NeedSampler")}>, {DEPTH}, vector<2xf32>, f32) -> (),
      function_control = #spirv.function_control<None>}}> ({{
  ^bb0(%i: {IMAGE.format("NoSampler")}, %s: !spirv.sampled_image<{IMAGE.format("NeedSampler")}>, %d: {DEPTH},
      %xy: vector<2xf32>, %z: f32):
    %2 = "spirv.ImageDrefGather"(%d, %xy, %z) : ({DEPTH}, vector<2xf32>, f32) -> vector<4xf32>
    %0 = "spirv.ImageQuerySize"(%i) : ({IMAGE.format("NoSampler")}) -> vector<2xi32>
    %1 = "spirv.Image"(%s) : (!spirv.sampled_image<{IMAGE.format("NeedSampler")}>) -> {IMAGE.format("NeedSampler")}
    "spirv.Return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


@cache
def samples() -> dict[str, ModuleOp]:
    """Returns an operation of each name."""
    texts = [path.read_text(encoding="utf-8") for path in GOLDENS] + [module(row) for row in TABLE] + [MORE]
    found: dict[str, ModuleOp] = {}
    for text in texts:
        for op in parse_module(text).module.walk():
            if op.name not in found and stands_alone(op):
                found[op.name] = sample(op)
    return found


def generic(op: Operation) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(op)
    return stream.getvalue()


def upstream(*options: str) -> list[str]:
    """Returns what mlir-opt prints of each sample that it accepts."""
    tool = shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt-19 is not installed")
    text = f"\n{MARK}\n".join(generic(made) for name, made in samples().items() if name not in STRICTER)
    done = subprocess.run(
        [tool, "--split-input-file", *options], input=text, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(MARK)


@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",)], ids=["custom", "generic"])
def test_what_mlir_prints_of_each_operation_is_what_we_have(options: tuple[str, ...]) -> None:
    printed = upstream(*options)
    expected = {name: made for name, made in samples().items() if name not in STRICTER}
    assert len(printed) == len(expected)
    for text, (name, made) in zip(printed, expected.items(), strict=True):
        read = parse_module(text).module
        assert read.is_structurally_equivalent(made), f"{name}:\n{text}\n{generic(made)}"


def test_most_operations_are_known_there() -> None:
    """MLIR keeps operations of the dialect that it does not know, and prints them in generic syntax alone."""
    known = {found for text in upstream() for found in re.findall(r"(?m)^[^\"\n]*\b(spirv\.[\w.]+)", text)}
    assert len(known & set(samples())) > 130


@pytest.mark.parametrize("name", STRICTER)
def test_what_mlir_refuses(name: str) -> None:
    tool = shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt-19 is not installed")
    done = subprocess.run([tool], input=generic(samples()[name]), capture_output=True, text=True, timeout=60)
    assert STRICTER[name] in done.stderr
