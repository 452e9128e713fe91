"""``lapilli link``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools
from lapilli.tools.link import command

USER = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %f LinkageAttributes "f" Import
%void = OpTypeVoid
%type = OpTypeFunction %void
%f = OpFunction %void None %type
OpFunctionEnd
%main = OpFunction %void None %type
%label = OpLabel
%called = OpFunctionCall %void %f
OpReturn
OpFunctionEnd
"""
LIBRARY = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpDecorate %f LinkageAttributes "f" Export
%void = OpTypeVoid
%type = OpTypeFunction %void
%f = OpFunction %void None %type
%label = OpLabel
OpReturn
OpFunctionEnd
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    for name, text in (("user", USER), ("library", LIBRARY)):
        (tmp_path / f"{name}.spv").write_bytes(spirv_tools().assemble(text, "spv1.5"))
    return str(tmp_path / "user.spv"), str(tmp_path / "library.spv"), str(tmp_path / "out.spv")


def test_it_writes_the_linked_module(files: tuple[str, str, str]) -> None:
    user, library, out = files
    done = CliRunner().invoke(command, [user, library, "-o", out])
    assert (done.exit_code, done.output) == (0, "")
    assert spirv_tools().validate(Path(out).read_bytes(), "vulkan1.3") is None


def test_partial_linking_and_libraries(files: tuple[str, str, str]) -> None:
    user, library, out = files
    assert CliRunner().invoke(command, [user, "--allow-partial-linkage", "-o", out]).exit_code == 0
    assert [symbol.name for symbol in reflect(Path(out).read_bytes()).imports] == ["f"]
    assert CliRunner().invoke(command, [library, "--create-library", "-o", out]).exit_code == 0
    assert [symbol.name for symbol in reflect(Path(out).read_bytes()).exports] == ["f"]


@pytest.mark.behaviour("CLB-09")
def test_mistakes_name_the_file(files: tuple[str, str, str], tmp_path: Path) -> None:
    user, _, out = files
    done = CliRunner().invoke(command, [user, "-o", out])
    assert done.exit_code == 1
    assert done.stderr == f"error: unresolved symbol 'f', imported by {user}: no module exports it\n"
    assert not Path(out).exists()
    done = CliRunner().invoke(command, [str(tmp_path / "none.spv"), "-o", out])
    assert (done.exit_code, "cannot read" in done.stderr) == (1, True)
    (tmp_path / "bad.spv").write_bytes(b"xyz")
    done = CliRunner().invoke(command, [str(tmp_path / "bad.spv"), "-o", out])
    assert done.exit_code == 1
    assert "bad.spv is no SPIR-V module" in done.stderr
