"""Arrays of vectors and structs in the lowering: block layout, access chains, aspects, both binding models."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels, compile_kernels
from lapilli.ir.aspects import Aspect
from lapilli.ir.target_env import BindingModel, TargetEnv
from lapilli.spirv.tools import spirv_tools


@lp.struct
class Item:
    count: lp.u32
    values: lp.f32x3
    big: lp.f64


@lp.struct
class Small:
    flag: lp.i8
    value: lp.i32


@lp.kernel
def store(a: lp.Array[Small]):
    a[lp.global_id(0)].value = 1


@lp.kernel
def touch(a: lp.Array[Item], v: lp.Array[lp.f32x4], k: lp.i32):
    i = lp.global_id(0)
    a[i].values[k] = v[i].w
    v[i] = v[i] * 2.0


@pytest.mark.parametrize("model", list(BindingModel))
def test_layout_and_access(model: BindingModel) -> None:
    (image,) = compile_kernels([touch], replace(TargetEnv(), binding_model=model))  # validated inside
    text = spirv_tools().disassemble(image.spirv)
    item = next(line.split()[0] for line in text.splitlines() if "OpTypeStruct %uint %_arr" in line)
    for number, offset in enumerate((0, 4, 16)):
        assert f"OpMemberDecorate {item} {number} Offset {offset}" in text
    assert "ArrayStride 24" in text and "ArrayStride 16" in text
    assert text.count("OpLoad %v4float") == 1


def test_what_a_struct_holds_is_needed_where_it_is_declared() -> None:
    (image,) = analyse_kernels([store], TargetEnv()).images
    assert {use.aspect for use in image.aspect_uses["store"]} == {Aspect.VK_STORAGE_8BIT}
    (image,) = analyse_kernels([touch], TargetEnv()).images
    assert {use.aspect for use in image.aspect_uses["touch"]} == {Aspect.FP64}
    compile_kernels([store], TargetEnv())  # without computing on i8
