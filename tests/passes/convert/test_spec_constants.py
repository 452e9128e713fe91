"""Specialization constants: SpecIds, composites, host layout."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from lapilli.ir.kernel_info import SpecConstantInfo, SpecConstantLeaf

Fixture = Callable[..., Any]

DECLARATIONS = """
spec_constant.declare @m.UNUSED : f32 = [1.0 : f32]
spec_constant.declare @m.COEFF : !spirv.array<2 x !spirv.array<2 x f32>> =
  [1.0 : f32, 2.0 : f32, 3.0 : f32, 4.0 : f32] {short_name = "COEFF", lapilli_type = "FixedArray[f32, 2, 2]"}
spec_constant.declare @m.FLAG : i1 = [true] {short_name = "FLAG", lapilli_type = "bool_"}
spec_constant.declare @m.COUNT : i64 = [-1 : i64] {short_name = "COUNT", lapilli_type = "u64"}
"""


def program(*bodies: str) -> str:
    kernels = "\n".join(
        f"""func.func @k{number}(%x : memref<?xf32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
          %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
          {body}
          func.return
        }}"""
        for number, body in enumerate(bodies)
    )
    return DECLARATIONS + kernels


FLAG = """%f = spec_constant.get @m.FLAG : i1
scf.if %f {
  %one = arith.constant 1.0 : f32
  memref.store %one, %x[%i] : memref<?xf32>
}"""
COEFF = """%c = spec_constant.get @m.COEFF : !spirv.array<2 x !spirv.array<2 x f32>>
%e = "spirv.CompositeExtract"(%c) <{indices = [1 : i32, 0 : i32]}>
  : (!spirv.array<2 x !spirv.array<2 x f32>>) -> f32
memref.store %e, %x[%i] : memref<?xf32>"""
COUNT = """%n = spec_constant.get @m.COUNT : i64
%v = arith.uitofp %n : i64 to f32
memref.store %v, %x[%i] : memref<?xf32>"""


def test_spec_ids_follow_first_use_and_the_local_size_comes_last(lower: Fixture) -> None:
    lowered = lower(program(FLAG + "\n" + COEFF, COUNT))
    assert [info.symbol for info in lowered.spec_constants] == ["m.FLAG", "m.COEFF", "m.COUNT"]
    ids = [[leaf.spec_id for leaf in info.leaves] for info in lowered.spec_constants]
    assert ids == [[0], [1, 2, 3, 4], [5]]
    assert [kernel.abi.local_size_spec_ids for kernel in lowered.kernels] == [(6, 7, 8)] * 2
    assert "UNUSED" not in lowered.text


def test_metadata_describes_the_host_value(lower: Fixture) -> None:
    flag, coeff, count = lower(program(FLAG + "\n" + COEFF, COUNT)).spec_constants
    assert flag == SpecConstantInfo(
        symbol="m.FLAG",
        name="FLAG",
        type="bool_",
        offset_bytes=0,
        size_bytes=1,
        default=b"\1",
        leaves=(SpecConstantLeaf(spec_id=0, dtype="bool", offset_bytes=0, size_bytes=1),),
    )
    assert (coeff.name, coeff.type, coeff.offset_bytes) == ("COEFF", "FixedArray[f32, 2, 2]", 1)
    assert coeff.default == struct.pack("<4f", 1, 2, 3, 4)
    assert [leaf.offset_bytes for leaf in coeff.leaves] == [0, 4, 8, 12]
    assert count.leaves[0].dtype == "u64" and count.default == b"\xff" * 8


def test_composites_nest(lower: Fixture) -> None:
    text = lower(program(COEFF)).text
    assert "constituents = [@m.COEFF.0, @m.COEFF.1]" in text
    assert "constituents = [@m.COEFF.1.0, @m.COEFF.1.1]" in text


VARIABLE = """"spirv.Variable"(%c) <{storage_class = #spirv.storage_class<Function>}>
  : (!spirv.array<2 x !spirv.array<2 x f32>>)
  -> !spirv.ptr<!spirv.array<2 x !spirv.array<2 x f32>>, Function>"""
ELEMENT = """"spirv.AccessChain"(%v, %n, %n)
  : (!spirv.ptr<!spirv.array<2 x !spirv.array<2 x f32>>, Function>, i32, i32) -> !spirv.ptr<f32, Function>"""


def in_loop(extra: str) -> str:
    return f"""%c = spec_constant.get @m.COEFF : !spirv.array<2 x !spirv.array<2 x f32>>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    scf.for %n = %zero to %two step %one : i32 {{
      %v = {VARIABLE}
      %p = {ELEMENT}
      %e = "spirv.Load"(%p) : (!spirv.ptr<f32, Function>) -> f32
      {extra}
      memref.store %e, %x[%i] : memref<?xf32>
    }}"""


def test_a_variable_that_is_only_read_keeps_its_constant_initial_value(lower: Fixture) -> None:
    lowered = lower(program(in_loop("")))
    (variable,) = [op for op in lowered.module.walk() if op.name == "spirv.Variable"]
    assert variable.operands[0].owner.name == "spirv.mlir.referenceof"


def test_a_variable_that_changes_is_reset_in_every_iteration(lower: Fixture) -> None:
    lowered = lower(program(in_loop('"spirv.Store"(%p, %e) : (!spirv.ptr<f32, Function>, f32) -> ()')))
    (variable,) = [op for op in lowered.module.walk() if op.name == "spirv.Variable"]
    assert not variable.operands
    assert lowered.names().count("Store") == 3
