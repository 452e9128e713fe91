"""Text and binaries both ways with MLIR 19."""

from __future__ import annotations

import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from xdsl.printer import Printer

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import SpirvTools

from .test_round_trip import SHADERS, compiled

GOLDENS = Path(__file__).parents[2] / "golden" / "spirv"
SHARED = ["atomics", "memory", "physical_addresses", "scalar_ops", "spec_constants", "wide_types"]
"""Goldens without what MLIR 19 lacks; its reader does not come back from OpPhi in control_flow."""


def tool(name: str) -> str:
    path = shutil.which(f"{name}-19")
    if path is None:
        pytest.skip(f"{name}-19 is not installed")
    return path


def upstream(name: str, text: str | Path, *options: str) -> str:
    """Runs a tool of MLIR on text or on a file."""
    command = [tool(name), *options, *([str(text)] if isinstance(text, Path) else [])]
    found = subprocess.run(
        command, input=None if isinstance(text, Path) else text, capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def generic(op: object) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(op)  # pyright: ignore
    return stream.getvalue()


def binary(name: str) -> bytes:
    (module,) = parse_module((GOLDENS / f"{name}.mlir").read_text()).module.body.ops
    return emit(module, TargetEnv(vulkan_version=(1, 1))).binary


@pytest.mark.parametrize("name", SHARED)
def test_upstream_prints_what_we_print(name: str) -> None:
    ours = generic(deserialise(binary(name)))
    theirs = upstream("mlir-opt", ours, "--mlir-print-op-generic")
    (read,) = (op for op in parse_module(theirs).module.body.ops if op.name == "spirv.module")
    assert (
        emit(read, TargetEnv(vulkan_version=(1, 1))).binary
        == emit(deserialise(binary(name)), TargetEnv(vulkan_version=(1, 1))).binary
    )


@pytest.mark.parametrize("name", SHARED)
def test_upstream_serialises_what_we_emit(name: str, tmp_path: Path) -> None:
    path, out = tmp_path / "in.mlir", tmp_path / "out.spv"
    path.write_text(generic(deserialise(binary(name))))
    upstream("mlir-translate", path, "--no-implicit-module", "--serialize-spirv", "-o", str(out))
    assert operations(deserialise(out.read_bytes())) == operations(deserialise(binary(name)))


@pytest.mark.parametrize("name", SHARED)
def test_upstream_deserialises_as_we_do(name: str, tmp_path: Path) -> None:
    path = tmp_path / "in.spv"
    path.write_bytes(binary(name))
    text = upstream("mlir-translate", path, "--no-implicit-module", "--deserialize-spirv")
    theirs = parse_module(upstream("mlir-opt", text, "--mlir-print-op-generic")).module
    assert operations(theirs) == operations(deserialise(binary(name)))


NOT_UPSTREAM = {
    "control_flow": "spirv.array result type",  # of a constant that is a struct or a matrix
    "groups": "spec_array",
    "images": "sampler",
    "lists": "same type for all operands",  # of int and uint, which SPIR-V takes for one
    "wide_pixels": "'spirv.Load' op result",  # of images of integers
}
"""Shaders with something that MLIR 19 lacks, and what it says."""


@pytest.mark.parametrize("shader", SHADERS, ids=lambda path: path.stem)
def test_upstream_reads_shaders(shader: Path, tmp_path: Path) -> None:
    """What glslang writes and we print, mlir-opt reads, keeps and prints as the same module."""
    module = deserialise(compiled(shader, "vulkan1.3", tmp_path))
    if shader.stem in NOT_UPSTREAM:
        done = subprocess.run(
            [tool("mlir-opt")], input=str(module), capture_output=True, text=True, timeout=60
        )
        assert NOT_UPSTREAM[shader.stem] in done.stderr
        return
    (read,) = parse_module(upstream("mlir-opt", str(module))).module.body.ops
    assert emit(read, TargetEnv()).binary == emit(module, TargetEnv()).binary


_STORAGE_16 = """
OpCapability Shader
OpCapability UniformAndStorageBuffer16BitAccess
OpMemoryModel Logical GLSL450
"""


def test_capabilities_are_spelt_as_upstream_spells_them(tools: SpirvTools) -> None:
    module = deserialise(tools.assemble(_STORAGE_16))
    assert "[Shader, StorageUniform16]" in upstream("mlir-opt", str(module))


_LOCAL_SIZE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
MODE
OpDecorate %size BuiltIn WorkgroupSize
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u32x3 = OpTypeVector %u32 3
%four = OpConstant %u32 4
%two = OpConstant %u32 2
%size = OpConstantComposite %u32x3 %four %two %two
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%entry = OpLabel
%x = OpCompositeExtract %u32 %size 0
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    "mode",
    ["", "OpExecutionMode %main LocalSize 9 9 9", "OpExecutionModeId %main LocalSizeId %two %two %two"],
)
def test_a_constant_local_size_is_an_execution_mode(mode: str, tools: SpirvTools) -> None:
    """MLIR has no constants that are built-ins; this one counts more than the modes (SPIR-V 1.6, WorkgroupSize)."""
    module = deserialise(tools.assemble(_LOCAL_SIZE.replace("MODE", mode)))
    upstream("mlir-opt", str(module))
    written = tools.disassemble(emit(module, TargetEnv()).binary)
    assert written.count("OpExecutionMode") == 1
    assert "OpExecutionMode %main LocalSize 4 2 2" in written
    assert "WorkgroupSize" not in written and "OpCompositeExtract %uint" in written


def operations(module: object) -> list[str]:
    """Returns what there is in a module, sorted: names and the order of globals differ."""
    text = re.sub(r"@[\w.$]+|%[\w#]+|sym_name = \"[^\"]*\"|\^\w+", "_", generic(module))
    text = re.sub(r"<\{([^{}]*)\}>", lambda m: ", ".join(sorted(m[1].split(", "))), text)
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return sorted(
        line for line in lines if line.startswith(("_ = ", '"spirv.Store', '"spirv.Br', '"spirv.mlir'))
    )
