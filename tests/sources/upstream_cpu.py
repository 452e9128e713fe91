"""Runs kernels as upstream's own lowering to the CPU compiles them: one work-item after the other.

`gpu.global_id x` becomes a parameter.  Needs mlir-opt, mlir-cpu-runner and a C compiler as linker.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

INDEX_BITS = 64
_PASSES = (
    "--convert-linalg-to-loops",
    "--test-vector-scan-lowering", "--lower-vector-mask", "--lower-vector-multi-reduction", "--convert-vector-to-scf",
    "--arith-expand", "--expand-strided-metadata", "--convert-math-to-funcs", "--test-lower-to-llvm",
)  # fmt: skip


def _tool(name: str) -> str:
    for found in (shutil.which(f"{name}-19"), f"/usr/lib/llvm-19/bin/{name}"):
        if found and Path(found).exists():
            return found
    pytest.skip(f"{name} 19 is not installed")


def compiled(text: str, folder: Path) -> ctypes.CDLL:
    """Returns the functions of some kernels, by their names behind ``_mlir_ciface_``."""
    linker = shutil.which("cc")
    if linker is None:
        pytest.skip("there is no C compiler")
    text = text.replace("gpu.module @m", "module").replace(" kernel {\n    %i = gpu.global_id x", " {")
    text = text.replace("gpu.func @", "func.func @").replace("gpu.return", "return")
    text = text.replace("(%x:", "(%i: index, %x:").replace(
        ") {\n", ") attributes {llvm.emit_c_interface} {\n", 1
    )
    text = (
        text.rstrip().removesuffix("}")
        + "  func.func @main() -> i32 {\n    %r = arith.constant 0 : i32\n    return %r : i32\n  }\n}\n"
    )
    # The runtime of upstream's that copies is not there.
    text = re.sub(
        r"memref\.copy (%\w+), (%\w+) : (.*) to (.*)", r"linalg.copy ins(\1 : \3) outs(\2 : \4)", text
    )
    opt, runner = _tool("mlir-opt"), _tool("mlir-cpu-runner")
    lowered = subprocess.run([opt, *_PASSES], input=text, capture_output=True, text=True, timeout=120)
    assert lowered.returncode == 0, lowered.stderr
    made = folder / "kernels.o"
    command = [
        runner,
        "-e",
        "main",
        "-entry-point-result=i32",
        "--dump-object-file",
        f"--object-filename={made}",
    ]
    subprocess.run(command, input=lowered.stdout, capture_output=True, text=True, timeout=120, check=True)
    library = folder / "kernels.so"
    subprocess.run(
        [linker, "-shared", "-o", library, made, "-lm"], capture_output=True, check=True, timeout=120
    )
    return ctypes.CDLL(str(library))


def run(library: ctypes.CDLL, name: str, items: int, given: Sequence[np.ndarray | int]) -> None:
    """Runs the work-items of a kernel on arrays, which it may change, and numbers of i32."""
    function = getattr(library, f"_mlir_ciface_{name}")
    function.restype = None
    arguments: list[object] = [
        ctypes.c_int32(one) if isinstance(one, int) else ctypes.byref(_descriptor(one)) for one in given
    ]
    for item in range(items):
        function(ctypes.c_int64(item), *arguments)


def _descriptor(array: np.ndarray) -> ctypes.Structure:
    """Returns what upstream passes for a memref: pointers, offset, sizes and strides."""
    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = (
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        )

    data = array.ctypes.data
    strides = [stride // array.itemsize for stride in array.strides]
    numbers = ctypes.c_int64 * rank
    return Descriptor(data, data, 0, numbers(*array.shape), numbers(*strides))
