"""Programs for MLIR that mlir-opt divides into host and device: what it prints is compiled as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.parse import IRSyntaxError, parse_module

PIPELINE = (
    "builtin.module(func.func(convert-linalg-to-parallel-loops,"
    "scf-parallel-loop-tiling{parallel-loop-tile-sizes=4,4,1},canonicalize,gpu-map-parallel-loops,"
    "convert-parallel-loops-to-gpu),canonicalize,cse,lower-affine,gpu-kernel-outlining,canonicalize,cse)"
)
MATMUL = """
func.func private @print_memref(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @matmul(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  linalg.matmul ins(%a, %b : memref<16x24xf32>, memref<24x32xf32>) outs(%c : memref<16x32xf32>)
  %u = memref.cast %c : memref<16x32xf32> to memref<*xf32>
  call @print_memref(%u) : (memref<*xf32>) -> ()
  return
}
"""


def outlined(*options: str) -> str:
    tool = shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt-19 is not installed")
    command = [tool, f"--pass-pipeline={PIPELINE}", *options]
    return subprocess.run(
        command, input=MATMUL, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.device
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--mlir-print-debuginfo",),
        ("--mlir-print-op-generic",),
        ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
    ],
    ids=["custom", "with locations", "generic", "generic with locations"],
)
def test_a_product_of_matrices(
    options: tuple[str, ...], built: Callable[..., lp.KernelBundle], queue: lp.Queue, device: lp.Device
) -> None:
    text = outlined(*options)
    kernel = built(lp.SourceLanguage.MLIR, text).ext_oneapi_get_kernel("matmul_kernel")
    numbers = np.random.default_rng(3)
    a, b = numbers.integers(-9, 9, (16, 24)), numbers.integers(-9, 9, (24, 32))
    a, b = a.astype(np.float32), b.astype(np.float32)
    arrays = [lp.asarray(x, device=device) for x in (a, b, np.zeros((16, 32), np.float32))]
    launch = re.search(r"blocks in \((.*?)\) threads in \((.*?)\)\s*args\((.*)\)", outlined())
    assert launch is not None
    names = re.findall(r"%(\w+) : ", launch[3])
    values = [arrays[int(name[3:])] if name.startswith("arg") else int(name[1:]) for name in names]
    # mlir-opt numbers x first, and lapilli the slowest dimension
    blocks, threads = ([int(n.strip()[2:]) for n in group.split(",")] for group in launch.groups()[:2])
    local = tuple(reversed(threads))
    total = tuple(block * size for block, size in zip(reversed(blocks), local, strict=True))
    while True:
        try:
            queue.parallel_for(lp.NdRange(total, local), kernel, *values).wait()
            break
        except lp.NdRangeError:
            assert total[0] == 1
            total, local = total[1:], local[1:]
    np.testing.assert_array_equal(arrays[2].numpy(), a @ b)


def test_what_is_left_of_a_divided_module() -> None:
    text = """module attributes {gpu.container_module} {
      func.func private @f(memref<*xf32>, !llvm.ptr {llvm.noalias}) -> (i32 {a.b}) attributes {c.d = {e = "}"}}
      func.func @host(%a: memref<?xf32>) { "what.ever"() ({ ^bb0: }) {x = "{"} : () -> () // }
        return } loc("a.py":1:2)
      func.func @own(%a: memref<?xf32>) attributes {gpu.kernel} { return }
      gpu.module @m {
        func.func @helper() { return }
        gpu.func @k() kernel { func.call @helper() : () -> ()
          gpu.return }
      }
      func.func @last() { gpu.launch_func @m::@k blocks in (%a, %a, %a) threads in (%a, %a, %a) return }
    }
    """
    parsed = parse_module(text, for_device=True)
    left = str(parsed.module)
    assert set(re.findall(r'(?:@|sym_name = ")(\w+)', left)) == {"own", "m", "helper", "k"}
    (own, *_) = parsed.module.body.ops
    assert (parsed.positions[own].line, parsed.positions[own].column) == (5, 7)


@pytest.mark.parametrize(
    "text",
    [
        "{ func.func @f(",
        '{ "func.func"(',
        "{ func.func @f() {",
        '{ "func.func"() : ()',
        "{ func.func @f() { \x00",
    ],
)
def test_divided_modules_that_end_early(text: str) -> None:
    with pytest.raises(IRSyntaxError):
        parse_module(f"module attributes {{gpu.container_module}} {text}", for_device=True)


def test_functions_of_the_host_stay_where_nothing_is_compiled() -> None:
    text = "module attributes {gpu.container_module} { func.func @host() { return } }"
    assert "@host" in str(parse_module(text).module)
