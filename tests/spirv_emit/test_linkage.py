"""Symbols of the linker: spelt as upstream MLIR spells them, emitted as LinkageAttributes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from xdsl.printer import Printer

from lapilli.ir.dialects import spirv
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError
from lapilli.spirv.emit import emit
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.validation import validate

Parse = Callable[[str], spirv.ModuleOp]
MODULE = """
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.0, [Shader, Linkage], []>}> ({
  "spirv.func"() <{function_control = #spirv.function_control<None>, function_type = (f32) -> f32, linkage_attributes = #spirv.linkage_attributes<linkage_name = "far \\"away\\"", linkage_type = <Import>>, sym_name = "ext"}> ({
  }) : () -> ()
  "spirv.func"() <{function_control = #spirv.function_control<None>, function_type = (f32) -> f32, linkage_attributes = #spirv.linkage_attributes<linkage_name = "exported", linkage_type = <Export>>, sym_name = "exp"}> ({
  ^bb0(%arg0: f32):
    %0 = "spirv.FunctionCall"(%arg0) <{callee = @ext}> : (f32) -> f32
    "spirv.ReturnValue"(%0) : (f32) -> ()
  }) : () -> ()
}) : () -> ()
"""  # noqa: E501 - MLIR's generic form


def printed(module: spirv.ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def test_it_is_printed_as_it_was_read(parse: Parse) -> None:
    text = printed(parse(MODULE))
    assert (
        'linkage_attributes = #spirv.linkage_attributes<linkage_name = "exported", linkage_type = <Export>>'
        in text
    )
    assert printed(parse(text)) == text


def test_it_is_emitted(parse: Parse) -> None:
    binary = emit(parse(MODULE), TargetEnv()).binary
    found = reflect(binary)
    assert [s.name for s in found.imports] == ['far "away"']
    assert [s.name for s in found.exports] == ["exported"]
    assert validate(binary, environment="universal") == ()
    assert any("Linkage" in str(finding) for finding in validate(binary))
    assert spirv_tools().validate(binary, "spv1.6") is None


def test_upstream_reads_it(parse: Parse, tmp_path: Path) -> None:
    tool = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    file = tmp_path / "linkage.mlir"
    file.write_text(printed(parse(MODULE)))
    done = subprocess.run([tool, file], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<Export>", "<Import>", "@exp is imported, so it has no body here"),
        ("<Import>", "<Export>", "@ext has no body"),
        ('"exported"', '""', "@exp has an empty linkage name"),
    ],
)
def test_broken_in_one_place(parse: Parse, old: str, new: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        parse(MODULE.replace(old, new))
