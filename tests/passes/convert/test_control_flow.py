"""Structured control flow: the whole text of small kernels, and shapes that once went wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.tools import spirv_tools

Fixture = Callable[..., Any]
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.mlir")), ids=lambda p: p.stem)
def test_golden(lower: Fixture, path: Path) -> None:
    text, _, expected = path.read_text().partition("// -----\n")
    assert lower(text).text == expected.strip()


@pytest.mark.skipif(shutil.which("mlir-translate-19") is None, reason="needs Debian's mlir-19-tools")
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.mlir")), ids=lambda p: p.stem)
def test_upstream_serialises_the_golden(path: Path, tmp_path: Path) -> None:
    expected = path.read_text().partition("// -----\n")[2]
    command = ["mlir-translate-19", "--no-implicit-module", "--serialize-spirv", "-o", tmp_path / "k.spv"]
    subprocess.run(command, input=expected, text=True, check=True)
    assert spirv_tools().validate((tmp_path / "k.spv").read_bytes(), TargetEnv().spirv_tools_name) is None


def test_condition_with_control_flow_stands_behind_the_header(lower: Fixture, kernel: Fixture) -> None:
    """`while a and b:` makes an scf.if inside the condition; a loop header cannot hold a selection."""
    body = """
      %start = memref.load %x[%i] : memref<?xf32>
      %end = scf.while (%v = %start) : (f32) -> f32 {
        %big = arith.cmpf ogt, %v, %limit : f32
        %both = scf.if %big -> (i1) {
          %other = arith.cmpf olt, %v, %start : f32
          scf.yield %other : i1
        } else {
          %no = arith.constant false
          scf.yield %no : i1
        }
        scf.condition(%both) %v : f32
      } do {
      ^bb0(%w : f32):
        %half = arith.mulf %w, %limit : f32
        scf.yield %half : f32
      }
      memref.store %end, %x[%i] : memref<?xf32>"""
    names = lower(kernel(body, "%x : memref<?xf32>, %limit : f32")).names()
    loop = names.index("mlir.loop")
    assert names[loop + 1 : loop + 4] == ["Branch", "Branch", "FOrdGreaterThan"]


def test_loops_nest_with_values_of_every_kind(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %ten = arith.constant 10 : index
      %start = arith.constant 0.0 : f64
      %flag = arith.constant true
      %wide = arith.constant 7 : i64
      %r:3 = scf.for %a = %zero to %ten step %one
          iter_args(%s = %start, %f = %flag, %w = %wide) -> (f64, i1, i64) {
        %q:2 = scf.for %b = %a to %ten step %one iter_args(%t = %s, %g = %f) -> (f64, i1) {
          %u = scf.if %g -> (f64) {
            %double = arith.addf %t, %t : f64
            scf.yield %double : f64
          } else {
            scf.yield %t : f64
          }
          %h = arith.cmpi ult, %b, %a : index
          scf.yield %u, %h : f64, i1
        }
        scf.yield %q#0, %q#1, %w : f64, i1, i64
      }
      memref.store %r#0, %x[%i] : memref<?xf64>
      scf.if %r#1 {
        memref.store %r#2, %y[%i] : memref<?xi64>
      }"""
    names = lower(kernel(body, "%x : memref<?xf64>, %y : memref<?xi64>")).names()
    assert names.count("mlir.loop") == 2 and names.count("mlir.selection") == 2
    assert names.count("Variable") == 6


def test_loop_over_i64(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      scf.for %a = %zero to %n step %one : i64 {
        memref.store %a, %x[%i] : memref<?xi64>
      }"""
    assert "SLessThan" in lower(kernel(body, "%x : memref<?xi64>, %n : i64")).names()


def test_barrier(lower: Fixture, kernel: Fixture) -> None:
    text = lower(kernel('"gpu.barrier"() : () -> ()')).text
    assert "memory_semantics = #spirv.memory_semantics<AcquireRelease|UniformMemory|WorkgroupMemory>" in text
