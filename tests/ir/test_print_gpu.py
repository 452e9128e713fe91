"""`gpu.module` and `gpu.func` are written as mlir-opt reads them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.print_gpu import mlir_text

TEXT = """
module attributes {gpu.container_module} {
  gpu.module @m attributes {note = "x"} {
    gpu.func @k(%x: memref<?xi32> {llvm.noalias}, %n: i32)
        workgroup(%t: memref<64xi32, #spirv.storage_class<Workgroup>>)
        kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
      %i = gpu.global_id x
      memref.store %n, %x[%i] : memref<?xi32>
      memref.store %n, %t[%i] : memref<64xi32, #spirv.storage_class<Workgroup>>
      gpu.return
    }
    gpu.func @two(%a: i32) -> (i32, i32) {
      gpu.return %a, %a : i32, i32
    }
  }
}
"""


def test_what_is_written_reads_back_as_the_same() -> None:
    module = parse_module(TEXT).module
    text = mlir_text(module)
    assert "gpu.module @m attributes" in text
    assert "(%x: memref<?xi32> {llvm.noalias}, %n: i32) kernel attributes {gpu.known_block_size" in text
    again = parse_module(text).module
    assert again.is_structurally_equivalent(module)
    assert mlir_text(again) == text


@pytest.mark.skipif(shutil.which("mlir-opt-19") is None, reason="needs Debian's mlir-19-tools")
def test_upstream_reads_it_and_what_upstream_writes_is_the_same() -> None:
    module = parse_module(TEXT).module
    done = subprocess.run(
        ["mlir-opt-19"], input=mlir_text(module), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    again = parse_module(done.stdout).module
    shared = "memref<64xi32, #spirv.storage_class<Workgroup>>"
    assert mlir_text(again).count("kernel") == 1 and shared in mlir_text(again)
    assert again.is_structurally_equivalent(module)
