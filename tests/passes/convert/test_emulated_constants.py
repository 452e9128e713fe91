"""Emulated specialization constants: hidden fields of the argument block instead of SpecIds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lapilli.ir.target_env import BindingModel, TargetEnv

Fixture = Callable[..., Any]
EMULATED = TargetEnv(emulates_spec_constants=True)

PROGRAM = """
spec_constant.declare @m.SCALE : f32 = [1.5 : f32]
spec_constant.declare @m.PAIR : !spirv.array<2 x i32> = [7 : i32, 8 : i32]
spec_constant.declare @m.FLAG : i1 = [true]
spec_constant.declare @m.LENGTH : i32 = [4 : i32]
func.func private @scaled(%v : f32) -> f32 {
  %s = spec_constant.get @m.SCALE : f32
  %r = arith.mulf %v, %s : f32
  func.return %r : f32
}
func.func @k(%x : memref<?xf32>, %v : f32) attributes {gpu.kernel, kernel.rank = 1 : i32} {
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %n = spec_constant.get @m.LENGTH : i32
  %one = arith.constant 1 : i32
  %m = arith.addi %n, %one : i32
  %length = arith.index_cast %m : i32 to index
  %t = "memref.alloca"(%length) <{operandSegmentSizes = array<i32: 1, 0>}>
    : (index) -> memref<?xf32, #spirv.storage_class<Function>>
  %zero = arith.constant 0 : index
  memref.store %v, %t[%zero] : memref<?xf32, #spirv.storage_class<Function>>
  %w = memref.load %t[%zero] : memref<?xf32, #spirv.storage_class<Function>>
  %r = func.call @scaled(%w) : (f32) -> f32
  %p = spec_constant.get @m.PAIR : !spirv.array<2 x i32>
  %e = "spirv.CompositeExtract"(%p) <{indices = [1 : i32]}> : (!spirv.array<2 x i32>) -> i32
  %f = spec_constant.get @m.FLAG : i1
  %g = arith.select %f, %e, %n : i32
  %h = arith.sitofp %g : i32 to f32
  %sum = arith.addf %r, %h : f32
  memref.store %sum, %x[%i] : memref<?xf32>
  func.return
}
"""


@pytest.mark.behaviour("SC-11")
def test_values_are_hidden_fields_and_array_lengths_stay_native(lower: Fixture) -> None:
    lowered = lower(PROGRAM, EMULATED)
    by_symbol = {info.symbol: info for info in lowered.spec_constants}
    assert {symbol: info.is_emulated for symbol, info in by_symbol.items()} == {
        "m.LENGTH": False,
        "m.SCALE": True,
        "m.PAIR": True,
        "m.FLAG": True,
    }
    native_ids = {leaf.spec_id for leaf in by_symbol["m.LENGTH"].leaves}
    in_binary = {
        op.attributes["spec_id"].value.data for op in lowered.module.walk() if op.name == "spirv.SpecConstant"
    }
    assert native_ids <= in_binary
    emulated = {leaf.spec_id for info in by_symbol.values() if info.is_emulated for leaf in info.leaves}
    assert not emulated & in_binary
    fields = {field.spec_id: field.dtype for field in lowered.info.abi.spec_fields}
    pair = [leaf.spec_id for leaf in by_symbol["m.PAIR"].leaves]
    (scale,) = (leaf.spec_id for leaf in by_symbol["m.SCALE"].leaves)
    (flag,) = (leaf.spec_id for leaf in by_symbol["m.FLAG"].leaves)
    assert fields == {scale: "f32", pair[0]: "i32", pair[1]: "i32", flag: "bool"}


def test_the_native_module_has_no_hidden_fields(lower: Fixture) -> None:
    lowered = lower(PROGRAM)
    assert lowered.info.abi.spec_fields == ()
    assert not any(info.is_emulated for info in lowered.spec_constants)


def test_a_helper_that_reads_an_emulated_constant_is_inlined(lower: Fixture) -> None:
    functions = [op.sym_name.data for op in lower(PROGRAM, EMULATED).module.walk() if op.name == "spirv.func"]
    assert functions == ["k"]
    assert len([op for op in lower(PROGRAM).module.walk() if op.name == "spirv.func"]) == 2


@pytest.mark.parametrize("limit", [128, 16])
def test_fields_do_not_overlap_in_either_kind_of_block(lower: Fixture, limit: int) -> None:
    info = lower(PROGRAM, replace(EMULATED, max_push_constant_bytes=limit)).info
    assert (info.abi.argument_block_binding is None) == (limit == 128)
    offsets = [field.offset_bytes for field in info.abi.spec_fields]
    offsets += [o for o in (*info.abi.range_offsets_bytes, *info.abi.base_offsets_bytes) if o is not None]
    offsets.append(info.parameters[1].offset_bytes)
    assert len(set(offsets)) == len(offsets)
    assert all(0 <= o <= info.abi.argument_block_bytes - 4 for o in offsets)


def test_emulation_works_with_addresses(lower: Fixture) -> None:
    info = lower(PROGRAM, replace(EMULATED, binding_model=BindingModel.ADDRESS)).info
    assert len(info.abi.spec_fields) == 4
