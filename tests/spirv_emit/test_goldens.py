"""Every golden emits what its .spvasm says, is valid everywhere, and is read by upstream MLIR.

After an intended change: LAPILLI_UPDATE_GOLDENS=1 pytest tests/spirv_emit, then read the difference.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lapilli.ir.dialects import spirv
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.emit import emit
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.validation import validate

Parse = Callable[[str], spirv.ModuleOp]
VULKAN_VERSIONS = [(1, 1), (1, 2), (1, 3), (1, 4)]

NOT_UPSTREAM = {
    "nested_spec_constants": "MLIR 19 crashes on a composite constituent that is a composite",
    "newer_glsl": "MLIR 19 lacks these operations",
    "newer_atomics": "MLIR 19 lacks these operations",
    "groups": "MLIR 19 lacks the votes",
    "spec_lengths": "MLIR has no arrays whose length is a specialization constant",
}


def test_golden_emits_expected_binary(golden: Path, parse: Parse) -> None:
    binary = emit(parse(golden.read_text()), TargetEnv(vulkan_version=(1, 3))).binary
    found = spirv_tools().disassemble(binary, friendly_names=False, indent=False)
    expected = golden.with_suffix(".spvasm")
    if os.environ.get("LAPILLI_UPDATE_GOLDENS"):
        expected.write_text(found)
    assert expected.read_text() == found


@pytest.mark.parametrize("version", VULKAN_VERSIONS)
@pytest.mark.parametrize("debug_info", [False, True], ids=["plain", "debug"])
def test_golden_is_valid(golden: Path, parse: Parse, version: tuple[int, int], debug_info: bool) -> None:
    env = TargetEnv(vulkan_version=version, debug_info=debug_info)
    binary = emit(parse(golden.read_text()), env).binary
    assert spirv_tools().validate(binary, env.spirv_tools_name) is None
    assert [str(finding) for finding in validate(binary)] == []
    assert env.spirv_version == reflect(binary).version


def test_locations_cover_every_instruction(golden: Path, parse: Parse) -> None:
    emitted = emit(parse(golden.read_text()), TargetEnv(debug_info=True))
    listing = spirv_tools().disassemble(emitted.binary, friendly_names=False, indent=False)
    instructions = [line for line in listing.splitlines() if line and not line.startswith(";")]
    assert len(instructions) == len(emitted.marks)


def _tool(name: str) -> str:
    path = shutil.which(f"{name}-19") or shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def test_upstream_reads_and_serialises_golden(golden: Path, tmp_path: Path) -> None:
    if golden.stem in NOT_UPSTREAM:
        pytest.skip(NOT_UPSTREAM[golden.stem])
    read = subprocess.run(
        [_tool("mlir-opt"), "--mlir-print-op-generic", golden], capture_output=True, text=True, check=False
    )
    assert (read.returncode, read.stderr) == (0, "")
    output = tmp_path / "upstream.spv"
    written = subprocess.run(
        [_tool("mlir-translate"), "--no-implicit-module", "--serialize-spirv", golden, "-o", output],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (written.returncode, written.stderr) == (0, "")
    assert spirv_tools().validate(output.read_bytes(), "vulkan1.1") is None
