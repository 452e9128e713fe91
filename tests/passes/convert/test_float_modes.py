"""SignedZeroInfNanPreserve: asked for where the device has it, for the float widths that are used."""

from __future__ import annotations

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.convert_to_spirv.convert import convert_to_spirv

TEXT = """
func.func @k(%x: memref<?xf32>) attributes {gpu.kernel} {
  %i = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<?xf32>
  memref.store %v, %x[%i] : memref<?xf32>
  func.return
}
"""


def modes(env):
    module, _, _ = convert_to_spirv(parse_module(TEXT).module, env)
    return [
        (op.execution_mode.data.name, [v.value.data for v in op.values])
        for op in module.body.block.ops
        if op.name == "spirv.ExecutionMode" and op.execution_mode.data.name != "LocalSize"
    ]


def test_mode_is_set_for_the_widths_in_use():
    env = TargetEnv(signed_zero_inf_nan_preserve_bits=(16, 32, 64))
    assert modes(env) == [("SignedZeroInfNanPreserve", [32])]


def test_mode_is_left_out_where_the_device_lacks_it():
    assert modes(TargetEnv()) == []
