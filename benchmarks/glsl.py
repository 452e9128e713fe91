"""GLSL compiled by glslang with spirv-opt -O, as a device image that lapilli's runtime launches.

Both sides of a comparison so go through the same launch path, and only the kernels differ.
"""

from __future__ import annotations

import os
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

from .cases import Case

_HEAD = "#version 450\nlayout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"


def missing_tools() -> list[str]:
    """Returns the names of the programs that are needed and not there."""
    return [name for name in ("glslangValidator", "spirv-opt") if find_program(name) is None]


def find_program(name: str) -> str | None:
    """Returns the path of a program on PATH, or of spirv-opt in the wheel that brings SPIRV-Tools."""
    wheels = os.pathsep.join(str(Path(entry) / "cmeel.prefix" / "bin") for entry in sys.path if entry)
    return shutil.which(name, path=wheels) or shutil.which(name)


def compile_glsl(source: str) -> bytes:
    """Returns the optimised SPIR-V of a compute shader; RuntimeError with the compiler's words where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        shader, plain, optimised = (
            str(Path(folder) / name) for name in ("k.comp", "plain.spv", "optimised.spv")
        )
        Path(shader).write_text(_HEAD + source)
        _run(["glslangValidator", "-V", "--target-env", "vulkan1.2", shader, "-o", plain])
        _run(["spirv-opt", "-O", plain, "-o", optimised])
        return Path(optimised).read_bytes()


def _run(command: list[str]) -> None:
    program = find_program(command[0]) or command[0]
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def glsl_image(case: Case) -> DeviceImage:
    """Returns the case's GLSL as an image: buffers at bindings 0, 1, …, then the push constants, 4 bytes each."""
    count = len(case.arrays)
    buffers: list[Parameter] = [
        BufferParameter(
            name=f"b{i}",
            dtype={"float32": "f32", "int32": "i32"}[str(array.dtype)],
            ndim=array.ndim,
            access="read_write" if i == count - 1 else "read",
            binding=i,
            extent_offsets_bytes=(None,) * array.ndim,
        )
        for i, array in enumerate(case.arrays)
    ]
    scalars: list[Parameter] = [
        ScalarParameter(name=f"p{i}", dtype="f32" if isinstance(value, float) else "i32", offset_bytes=4 * i)
        for i, value in enumerate(case.push_constants)
    ]
    rank = len(case.extents)
    kernel = KernelInfo(
        name=f"{case.name} (GLSL)",
        entry_point="main",
        parameters=(*buffers, *scalars),
        abi=LaunchAbi(
            rank=rank,
            range_offsets_bytes=(None,) * rank,
            base_offsets_bytes=(None,) * rank,
            local_size_spec_ids=(0, 1, 2),
            argument_block_bytes=4 * len(case.push_constants),
        ),
    )
    return DeviceImage(
        spirv=compile_glsl(case.glsl),
        kernels=(kernel,),
        spec_constants=(),
        requirements=Requirements(),
        target_env=TargetEnv(),
    )
