"""GLSL compiled by glslang with spirv-opt -O, as a device image that lapilli's runtime launches.

Both sides of a comparison so go through the same launch path, and only the kernels differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lapilli.ir.kernel_info import (
    BufferParameter,
    KernelInfo,
    LaunchAbi,
    Parameter,
    Requirements,
    ScalarParameter,
)
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.device_image import DeviceImage

from .case import Case, Local, Stage

_HEAD = """#version 450
#define LX {0}
#define LY {1}
#define LZ {2}
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
"""
_DTYPES = {"float32": "f32", "int32": "i32", "uint32": "u32"}


def missing_tools() -> list[str]:
    """Returns the names of the programs that are needed and not there."""
    return [name for name in ("glslangValidator", "spirv-opt") if find_program(name) is None]


def find_program(name: str) -> str | None:
    """Returns the path of a program on PATH, or of spirv-opt in the wheel that brings SPIRV-Tools."""
    wheels = os.pathsep.join(str(Path(entry) / "cmeel.prefix" / "bin") for entry in sys.path if entry)
    return shutil.which(name, path=wheels) or shutil.which(name)


def compile_glsl(source: str, local: Local) -> bytes:
    """Returns the optimised SPIR-V of a compute shader; RuntimeError with the compiler's words where it fails."""
    head = _HEAD.format(*(*reversed(local), 1, 1)[:3])
    with tempfile.TemporaryDirectory() as folder:
        shader, plain, optimised = (
            str(Path(folder) / name) for name in ("k.comp", "plain.spv", "optimised.spv")
        )
        Path(shader).write_text(head + source)
        _run(["glslangValidator", "-V", "--target-env", "vulkan1.2", shader, "-o", plain])
        _run(["spirv-opt", "-O", plain, "-o", optimised])
        return Path(optimised).read_bytes()


def _run(command: list[str]) -> None:
    program = find_program(command[0]) or command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def glsl_image(case: Case, stage: Stage, local: Local) -> DeviceImage:
    """Returns a stage's GLSL as an image: buffers at bindings 0, 1, …, then the push constants, 4 bytes each.

    Args:
        case: for messages and the types of the arrays.
        stage: the launch.
        local: stands for LX, LY and LZ, and is how it must be launched if it uses them.
    """
    read_only = {int(number) for number in re.findall(r"binding=(\d+)\) readonly", stage.glsl)}
    buffers: list[Parameter] = [
        BufferParameter(
            name=f"b{i}",
            dtype="Vec[f32, 4]" if number in case.vec4 else _DTYPES[str(case.arrays[number].dtype)],
            ndim=_rank(case, number),
            access="read" if i in read_only else "read_write",
            binding=i,
            extent_offsets_bytes=(None,) * _rank(case, number),
        )
        for i, number in enumerate(stage.arrays)
    ]
    scalars: list[Parameter] = [
        ScalarParameter(name=f"p{i}", dtype="f32" if isinstance(value, float) else "i32", offset_bytes=4 * i)
        for i, value in enumerate(stage.push_constants)
    ]
    rank = len(local)
    kernel = KernelInfo(
        name=f"{case.name} (GLSL)",
        entry_point="main",
        parameters=(*buffers, *scalars),
        abi=LaunchAbi(
            rank=rank,
            range_offsets_bytes=(None,) * rank,
            base_offsets_bytes=(None,) * rank,
            local_size_spec_ids=(0, 1, 2),
            is_divisible=False,
            argument_block_bytes=4 * len(stage.push_constants),
        ),
    )
    return DeviceImage(
        spirv=compile_glsl(stage.glsl, local),
        kernels=(kernel,),
        spec_constants=(),
        requirements=Requirements(),
        target_env=TargetEnv(),
    )


def _rank(case: Case, number: int) -> int:
    return case.arrays[number].ndim - (number in case.vec4)
