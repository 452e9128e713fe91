"""What kernels written for MLIR may not have: each message names the operation, its line and what to write instead."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import lapilli as lp
from lapilli.frontend.source_images import prepare
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.lower_upstream import lower_upstream
from lapilli.passes.pipeline import compile_module

from .test_upstream_kernels import CASES, kernel_text
from .upstream_affine import AFFINE
from .upstream_symbols import SYMBOLS

_HEAD = """gpu.module @m {
  gpu.func @k(%x: memref<?xf32>, %n: memref<?xi32>, %t: memref<4x4xf32>, %x2: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %s = memref.load %n[%i] : memref<?xi32>
    %v = vector.load %x[%i] : memref<?xf32>, vector<4xf32>
    %b = arith.cmpi slt, %s, %s : i32
"""
_LINE = 7
_DEEP = f"memref<{'1x' * 40}f32>"
_SPACE = "#gpu.address_space<workgroup>"
_BYTES = f"memref<?xi8, {_SPACE}>"
_DYNAMIC = f"%c8 = arith.constant 8 : index\n    %d = gpu.dynamic_shared_memory : {_BYTES}\n"
_ODD = "%odd = arith.trunci %s : i32 to i1\n    "
_READ = "    %r = memref.load %a[%i] : memref<?xf32>\n    memref.store %r, %x[%i] : memref<?xf32>"
REFUSED = {
    "gpu.launch_func @k::@f blocks in (%i, %i, %i)": "it is for the host: a kernel is a gpu.func",
    "%m = gpu.subgroup_mma_load_matrix %x[%i]": "write spirv.KHR.CooperativeMatrix",
    "vector.print %v : vector<4xf32>": "write gpu.printf",
    "%r = vector.type_cast %x : memref<?xf32> to memref<vector<4xf32>>": "vector.load, vector.store",
    "affine.dma_wait %x[%i], %i : memref<?xf32>": "write affine.load and affine.store",
    "%c0 = arith.constant 0 : index\n    %r = affine.apply affine_map<(d0)[s0] -> (d0 mod s0)>(%i)[%c0]": "positive",
    "%a = memref.alloca() : memref<1xmemref<?xf32>>\n    %w = memref.cast %x : memref<?xf32> to memref<?xf32>\n"
    "    memref.store %w, %a[%i] : memref<1xmemref<?xf32>>": "arrays hold numbers, and no arrays",
    "%r = affine.apply affine_map<(d0) -> (d0)>(%i, %i)": "must match the sum of the dimensions and symbols",
    "%r = affine.apply affine_map<(d0) -> (d0 mod 0)>(%i)": "divides by what is no positive constant",
    f"%r = affine.load %x[{'(' * 200}%i{')' * 200}] : memref<?xf32>": "at most 100 parentheses",
    f"%r = affine.load %x[{'%i mod 7 + ' * 300}%i] : memref<?xf32>": "more than 200 operators around each other",
    "%c0 = arith.constant 0 : index\n    scf.parallel (%j) = (%i) to (%i) step (%c0) { scf.reduce }": "a positive one",
    "scf.forall (%j) = (0) to (4) step (-1) { }": "expected a positive",
    'affine.parallel (%j) = (0) to (4) reduce ("addx") -> (f32) { }': "expected one of addf, addi",
    "affine.for %j = 0 to 4 step 0 { }": "expected a positive one",
    "%r = tensor.empty() : tensor<4xf32>": "mlir-opt --one-shot-bufferize",
    "%a = memref.alloca(%i) : memref<?xi32>\n    memref.store %s, %a[%i] : memref<?xi32>": "literals and spec",
    "memref.dma_wait %x[%i], %i : memref<?xf32>": "write memref.copy",
    f"{_DYNAMIC}    %w = memref.view %d[%i][] : {_BYTES} to memref<4xf32, {_SPACE}>": "begins at a constant byte",
    f"{_DYNAMIC}    %w = memref.view %d[%c8][%i] : {_BYTES} to memref<?xf32, {_SPACE}>": "constant extents",
    f"{_DYNAMIC}    %w = memref.load %d[%i] : {_BYTES}": "divided by memref.view alone",
    f"{_DYNAMIC}    %w = memref.view %d[%c8][] : {_BYTES} to memref<4xf32, {_SPACE}>\n"
    f"    %u = memref.view %d[%c8][] : {_BYTES} to memref<4xi32, {_SPACE}>": "give each type bytes of its own",
    "%p = memref.extract_aligned_pointer_as_index %x : memref<?xf32> -> index": "pass the array and an offset",
    "%f = arith.constant 1.0 : f64\n    %r = arith.truncf %f downward : f64 to f32": "round with math.floor",
    "%r = vector.broadcast %i : index to vector<[4]xindex>": "give it a fixed one",
    "%r = vector.broadcast %i : index to vector<2048xindex>": "at most 1024 components",
    "%r = vector.broadcast %v : vector<4xf32> to vector<3xf32>": "see what mlir-opt says of it",
    "%a = arith.select %b, %x, %x : memref<?xf32>\n    %r = memref.subview %a[%i] [1] [1] "
    ": memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>": "choose between offsets into one array",
    f"{_ODD}%a = arith.select %odd, %x, %x2 : memref<?xf32>\n{_READ}": "which array that is, is known at run time only",
    f"{_ODD}%a = scf.if %odd -> (memref<?xf32>) {{ scf.yield %x : memref<?xf32> }} "
    f"else {{ scf.yield %x2 : memref<?xf32> }}\n{_READ}": "choose between offsets",
    f"{_ODD}cf.cond_br %odd, ^a(%x : memref<?xf32>), ^a(%x2 : memref<?xf32>)\n  ^a(%a: memref<?xf32>):\n"
    f"{_READ}": "choose between offsets",
    "%a = scf.for %j = %i to %i step %i iter_args(%c = %x) -> (memref<?xf32>) { scf.yield %x2 : memref<?xf32> }\n"
    f"{_READ}": "choose between offsets",
    "%r = gpu.all_reduce add %b uniform {} : (i1) -> i1": "take and, or, xor",
    "%r = gpu.subgroup_reduce and %x0 : (f32) -> f32": "take the word for that type",
    "%a = memref.alloca() : memref<8xi8>\n    %c = memref.alloca(%i) : memref<?x8xi8>\n"
    "    %w = memref.view %c[%i][] : memref<?x8xi8> to memref<1xf32>": "must be a 1-D memref of i8",
    "%c6 = arith.constant 6 : index\n    %a = memref.alloca() : memref<32xi8>\n"
    "    %w = memref.view %a[%c6][] : memref<32xi8> to memref<4xf32>": "a multiple of the 4 of an element",
    'gpu.printf "%d %d", %s : i32': "names more values",
    'gpu.printf "%5d", %x0 : f32': "shows a float as '%5d'",
    'gpu.printf "%.3d", %s : i32': "integers have no precision",
    "%a = memref.alloca() : memref<4xi32>\n"
    "    %r = memref.atomic_rmw addi %s, %a[%i] : (i32, memref<4xi32>) -> i32": "memory that work-items share",
    "%a = memref.alloca() : memref<4xi8>\n    %q = arith.trunci %s : i32 to i8\n"
    "    %r = memref.atomic_rmw addi %q, %a[%i] : (i8, memref<4xi8>) -> i8": "memory that work-items share",
    f"%a = memref.alloca() : {_DEEP}\n    memref.copy %a, %a : {_DEEP} to {_DEEP}": "at most 32",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str):
    body = text.replace("%x0", "%zero")
    head = _HEAD + "    %zero = arith.constant 0.0 : f32\n"
    with pytest.raises(lp.BuildError) as caught:
        _compile(f"{head}    {body}\n    gpu.return\n  }}\n}}\n")
    message = str(caught.value)
    assert REFUSED[text] in message
    assert any(f"<M>:{line}:" in message for line in range(_LINE + 1, _LINE + 4)), message


def test_numbers_that_are_too_large():
    for old, new, message in (
        ("workgroup_size = [8, 1, 1]", f"workgroup_size = [{1 << 64}, 1, 1]", "sizes of 1 to 2,147,483,647"),
        ("vector<4xi32>", f"vector<{1 << 64}xi32>", "<M>:"),
    ):
        text = (
            "gpu.module @m {\n  gpu.func @k(%x: memref<?xi32>) kernel attributes {spirv.entry_point_abi = "
            "#spirv.entry_point_abi<workgroup_size = [8, 1, 1]>} {\n    %c = arith.constant 0 : index\n"
            "    %z = arith.constant 0 : i32\n    %m = arith.constant true\n"
            "    %v = vector.mask %m { vector.transfer_read %x[%c], %z : memref<?xi32>, vector<4xi32> } "
            ": vector<4xi1> -> vector<4xi32>\n    gpu.return\n  }\n}\n"
        ).replace("%m = arith.constant true", "%m = arith.constant dense<true> : vector<4xi1>")
        assert old in text
        with pytest.raises(lp.BuildError) as caught:
            _compile(text.replace(old, new))
        assert message in str(caught.value)


def _compile(text: str) -> None:
    from lapilli.frontend.compile import load_compiler

    load_compiler()
    parsed = parse_module(text, "<M>")
    prepare(parsed, TargetEnv())
    compile_module(parsed.module, TargetEnv())


def test_what_mlir_prints_is_read_in_both_syntaxes():
    tool = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    mark = "\n// -----\n"
    # Of ids of a gpu.func upstream takes no affine expressions.
    names = [name for name in CASES if name not in {**AFFINE, **SYMBOLS}]
    together = mark.join(kernel_text(name, CASES[name]) for name in names)
    for option in ((), ("--mlir-print-op-generic",)):
        command = [tool, "--split-input-file", *option]
        done = subprocess.run(
            command, input=together, capture_output=True, text=True, timeout=120, check=True
        )
        printed = done.stdout.split("// -----")
        assert len(printed) == len(names)
        for text in printed:
            _compile(text)


AFFINE_FUNCTION = """
#even = affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 - d0 - 1 >= 0, d0 mod 2 == 0)>
func.func @k(%i: index, %x: memref<?xf32>) {
  %c3 = arith.constant 3 : index
  %a = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%c3]
  %least = affine.min affine_map<(d0)[s0] -> (d0, s0, 10)>(%i)[%c3]
  %most = affine.max affine_map<(d0)[s0] -> (d0, s0, d0 - 5)>(%i)[%c3]
  %zero = arith.constant 0.0 : f32
  %s = affine.for %j = 0 to 10 iter_args(%t = %zero) -> (f32) {
    %v = affine.load %x[%j + 2] : memref<?xf32>
    %n = arith.addf %t, %v : f32
    affine.yield %n : f32
  }
  affine.for %j = max affine_map<(d0) -> (d0, 2)>(%i) to min affine_map<(d0)[s0] -> (d0 + 10, s0)>(%c3)[%c3] step 2 {
    affine.store %s, %x[%j * 2 + symbol(%c3)] : memref<?xf32>
  }
  %r = affine.if #even(%i, %a)[%c3] -> index {
    affine.yield %a : index
  } else {
    affine.yield %least : index
  }
  affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%i) {
    affine.store %s, %x[-%i + 7] : memref<?xf32>
  }
  affine.parallel (%p, %q) = (0, max(%i - 3, 0)) to (10, min(%i, 20)) step (1, 2) {
    affine.store %s, %x[%p + %q] : memref<?xf32>
  }
  %sum:2 = affine.parallel (%p) = (0) to (10) reduce ("addf", "mulf") -> (f32, f32) {
    %v = affine.load %x[%p floordiv 2] : memref<?xf32>
    affine.yield %v, %v : f32, f32
  }
  %d:2 = affine.delinearize_index %i into (%c3, %c3) : index, index
  %four = affine.vector_load %x[%i + 4] : memref<?xf32>, vector<4xf32>
  affine.vector_store %four, %x[%i] : memref<?xf32>, vector<4xf32>
  affine.prefetch %x[%i + 5], write, locality<0>, data : memref<?xf32>
  return
}
"""


@pytest.mark.parametrize("option", [(), ("--mlir-print-op-generic",)], ids=["custom", "generic"])
def test_affine_operations_as_mlir_prints_them(option: tuple[str, ...]):
    tool = shutil.which("mlir-opt-19") or shutil.which("mlir-opt")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    done = subprocess.run(
        [tool, *option], input=AFFINE_FUNCTION, capture_output=True, text=True, timeout=120, check=True
    )
    module = parse_module(done.stdout, "<M>").module
    lower_upstream(module)
    module.verify()
    assert not [op.name for op in module.walk() if op.name.startswith("affine.")]


def test_bodies_that_come_to_too_many():
    """Functions that take arrays become their bodies; a chain of which each calls the next one twice never ends."""
    one = "  func.func @f{0}(%x: memref<?xf32>) {{\n{1}    return\n  }}\n"
    call = "    func.call @f{0}(%x) : (memref<?xf32>) -> ()\n"
    functions = "".join(one.format(k, 2 * call.format(k + 1) if k < 30 else "") for k in range(31))
    kernel = f"  gpu.func @k(%x: memref<?xf32>) kernel {{\n{call.format(0)}    gpu.return\n  }}\n"
    text = f"gpu.module @m {{\n{functions}{kernel}}}\n"
    with pytest.raises(lp.Error, match=r"more than 10,000 of them; call fewer, or in a loop"):
        _compile(text)
