"""Rules of emission that no golden can state: versions, capabilities, locations, constants, refusals."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    StringAttr,
)

from lapilli.ir.dialects import spirv
from lapilli.ir.errors import Location
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.emit import emit
from lapilli.spirv.emit_context import EmissionError
from lapilli.spirv.literals import float_words
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Capability
from lapilli.spirv.tools import spirv_tools

Parse = Callable[[str], spirv.ModuleOp]
VULKAN_1_1 = TargetEnv(vulkan_version=(1, 1))
VULKAN_1_3 = TargetEnv(vulkan_version=(1, 3))


def module_text(body: str, global_ops: str = "", extra: str = "", after: str = "") -> str:
    return f"""
"spirv.module"() <{{addressing_model = #spirv.addressing_model<Logical>,
                   memory_model = #spirv.memory_model<GLSL450>}}> ({{
  {global_ops}
  "spirv.func"() <{{function_control = #spirv.function_control<None>, function_type = () -> (),
                  sym_name = "k"}}> ({{
    {body}
    "spirv.Return"() : () -> ()
  }}) : () -> ()
  "spirv.EntryPoint"() <{{execution_model = #spirv.execution_model<GLCompute>, fn = @k,
                        interface = []}}> : () -> ()
  "spirv.ExecutionMode"() <{{execution_mode = #spirv.execution_mode<LocalSize>, fn = @k,
                           values = [8 : i32, 4 : i32, 2 : i32]}}> {extra} : () -> ()
  {after}
}}) : () -> ()"""


def buffer(element: str, stride: int) -> tuple[str, str]:
    """Returns a global buffer and the code that loads its first element as %v."""
    type_ = f"!spirv.ptr<!spirv.struct<(!spirv.rtarray<{element}, stride={stride}> [0])>, StorageBuffer>"
    pointer = f"!spirv.ptr<{element}, StorageBuffer>"
    global_op = (
        f'"spirv.GlobalVariable"() <{{binding = 0 : i32, descriptor_set = 0 : i32, sym_name = "b", '
        f"type = {type_}}}> : () -> ()"
    )
    body = f"""%b = "spirv.mlir.addressof"() <{{variable = @b}}> : () -> {type_}
    %z = "spirv.Constant"() <{{value = 0 : i32}}> : () -> i32
    %p = "spirv.AccessChain"(%b, %z, %z) : ({type_}, i32, i32) -> {pointer}
    %v = "spirv.Load"(%p) : ({pointer}) -> {element}
    """
    return global_op, body


def capabilities(module: spirv.ModuleOp, env: TargetEnv = VULKAN_1_3) -> set[int]:
    binary = emit(module, env).binary
    assert spirv_tools().validate(binary, env.spirv_tools_name) is None
    return set(reflect(binary).capabilities)


@pytest.mark.parametrize(
    ("element", "stride", "use", "expected"),
    [
        ("i8", 1, '"spirv.UConvert"(%v) : (i8) -> i32', {Capability.StorageBuffer8BitAccess}),
        (
            "i8",
            1,
            '"spirv.IAdd"(%v, %v) : (i8, i8) -> i8',
            {Capability.StorageBuffer8BitAccess, Capability.Int8},
        ),
        ("f16", 2, '"spirv.FConvert"(%v) : (f16) -> f32', {Capability.StorageBuffer16BitAccess}),
        (
            "f16",
            2,
            '"spirv.FAdd"(%v, %v) : (f16, f16) -> f16',
            {Capability.StorageBuffer16BitAccess, Capability.Float16},
        ),
        ("i16", 2, '"spirv.Not"(%v) : (i16) -> i16', {Capability.StorageBuffer16BitAccess, Capability.Int16}),
        ("f64", 8, '"spirv.FNegate"(%v) : (f64) -> f64', {Capability.Float64}),
        ("i64", 8, '"spirv.Not"(%v) : (i64) -> i64', {Capability.Int64}),
        ("i32", 4, '"spirv.Not"(%v) : (i32) -> i32', set[int]()),
    ],
)
def test_capabilities_are_those_in_use(
    parse: Parse, element: str, stride: int, use: str, expected: set[int]
) -> None:
    global_op, body = buffer(element, stride)
    module = parse(module_text(f"{body} %u = {use}", global_op))
    assert {Capability.Shader} | expected == capabilities(module)


def test_small_private_variable_needs_the_arithmetic_capability(parse: Parse) -> None:
    variable = (
        '"spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> '
        ": () -> !spirv.ptr<i8, Function>"
    )
    assert {Capability.Shader, Capability.Int8} == capabilities(parse(module_text(f"%v = {variable}")))


def test_extension_only_where_the_version_lacks_it(parse: Parse) -> None:
    global_op, body = buffer("i8", 1)
    module = parse(module_text(body, global_op))
    assert reflect(emit(module, VULKAN_1_1).binary).extensions == ("SPV_KHR_8bit_storage",)
    assert reflect(emit(module, VULKAN_1_3).binary).extensions == ()


def test_interface_lists_buffers_from_spirv_1_4_on(parse: Parse) -> None:
    global_op, body = buffer("f32", 4)
    module = parse(module_text(body, global_op))
    assert len(reflect(emit(module, VULKAN_1_1).binary).entry_point("k").interface) == 0
    assert len(reflect(emit(module, VULKAN_1_3).binary).entry_point("k").interface) == 1


def test_local_size_without_spec_ids_is_fixed(parse: Parse) -> None:
    local_size = reflect(emit(parse(module_text("")), VULKAN_1_3).binary).entry_point("k").local_size
    assert local_size is not None
    assert (local_size.size, local_size.spec_ids) == ((8, 4, 2), (None, None, None))


def test_local_size_ids_become_spec_constants(parse: Parse) -> None:
    text = module_text("", extra="{spec_constant.local_size_ids = array<i32: 7, 8, 9>}")
    reflection = reflect(emit(parse(text), VULKAN_1_3).binary)
    local_size = reflection.entry_point("k").local_size
    assert local_size is not None
    assert local_size.spec_ids == (7, 8, 9)
    assert {c.spec_id: c.default for c in reflection.spec_constants} == {7: 8, 8: 4, 9: 2}


def test_fixed_and_specialisable_local_size_do_not_mix(parse: Parse) -> None:
    module = parse(module_text("", extra="{spec_constant.local_size_ids = array<i32: 7, 8, 9>}"))
    other = spirv.ExecutionModeOp("k", spirv.ExecutionMode.LocalSize, (1, 1, 1))
    module.body.block.add_op(other)
    with pytest.raises(EmissionError, match="same specialisable local size or none"):
        emit(module, VULKAN_1_3)


def test_locations_follow_instructions(parse: Parse) -> None:
    global_op, body = buffer("f32", 4)
    module = parse(module_text(f'{body} %u = "spirv.FNegate"(%v) : (f32) -> f32', global_op))
    negate = next(op for op in module.walk() if isinstance(op, spirv.FNegateOp))
    negate.location = FileLineColLoc(StringAttr("kernel.py"), IntAttr(12), IntAttr(5))
    emitted = emit(module, VULKAN_1_3)
    lines = spirv_tools().disassemble(emitted.binary, indent=False).splitlines()
    ordinal = next(
        index
        for index, line in enumerate(line for line in lines if line and not line.startswith(";"))
        if "OpFNegate" in line
    )
    assert Location("kernel.py", 12, 5) == emitted.location(ordinal)
    with_lines = emit(module, TargetEnv(debug_info=True)).binary
    assert "OpLine %1 12 5" in spirv_tools().disassemble(with_lines, indent=False).replace(
        next(line.split()[0] for line in _disassembly(with_lines) if "OpString" in line), "%1"
    )


def _disassembly(binary: bytes) -> list[str]:
    return spirv_tools().disassemble(binary, indent=False).splitlines()


def test_missing_layout_is_refused_with_the_variable(parse: Parse) -> None:
    variable = (
        '"spirv.GlobalVariable"() <{binding = 0 : i32, descriptor_set = 0 : i32, sym_name = "b", '
        "type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32> [0])>, StorageBuffer>}> : () -> ()"
    )
    with pytest.raises(EmissionError, match=r"'spirv.GlobalVariable'.*has no stride"):
        emit(parse(module_text("", variable)), VULKAN_1_3)


def test_bfloat16_array_is_emitted_with_its_extension(parse: Parse) -> None:
    global_op, body = buffer("bf16", 2)
    module = parse(module_text(body, global_op))
    reflection = reflect(emit(module, VULKAN_1_3).binary)
    assert reflection.extensions == ("SPV_KHR_bfloat16",)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (1.5, Float32Type(), (0x3FC00000,)),
        (math.inf, Float32Type(), (0x7F800000,)),
        (1e40, Float32Type(), (0x7F800000,)),
        (-0.0, Float32Type(), (0x80000000,)),
        (-1e9, Float16Type(), (0xFC00,)),
        (1.0, Float16Type(), (0x3C00,)),
        (math.inf, Float16Type(), (0x7C00,)),
        (0.1, Float64Type(), struct.unpack("<2I", struct.pack("<d", 0.1))),
        (1.0, BFloat16Type(), (0x3F80,)),
        (1.00390625, BFloat16Type(), (0x3F80,)),  # halfway: to even
        (1.01171875, BFloat16Type(), (0x3F82,)),
        (math.nan, BFloat16Type(), (0x7FC0,)),
    ],
)
def test_float_words(value: float, type_: AnyFloat, expected: tuple[int, ...]) -> None:
    assert expected == float_words(value, type_)


def test_module_op_is_required() -> None:
    with pytest.raises(EmissionError, match=r"expected a spirv\.module"):
        emit(spirv.ReturnOp(), VULKAN_1_3)


@pytest.mark.parametrize("second", ["%a", "%b"])
def test_branch_that_names_a_block_twice_passes_it_one_value(parse: Parse, second: str) -> None:
    body = f"""%t = "spirv.Constant"() <{{value = true}}> : () -> i1
    %a = "spirv.Constant"() <{{value = 3 : i32}}> : () -> i32
    %b = "spirv.Constant"() <{{value = 5 : i32}}> : () -> i32
    "spirv.mlir.selection"() <{{selection_control = #spirv.selection_control<None>}}> ({{
      "spirv.BranchConditional"(%t, %a, {second})[^end, ^end] <{{operandSegmentSizes = array<i32: 1, 1, 1>}}>
        : (i1, i32, i32) -> ()
    ^end(%v: i32):
      "spirv.mlir.merge"() : () -> ()
    }}) : () -> ()"""
    module = parse(module_text(body))
    if second == "%a":
        emit(module, VULKAN_1_3)
        return
    with pytest.raises(EmissionError, match=r"'spirv.BranchConditional'.*passes one block different values"):
        emit(module, VULKAN_1_3)
