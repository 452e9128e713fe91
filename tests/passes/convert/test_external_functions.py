"""Exported and imported functions become symbols of the linker."""

from __future__ import annotations

import pytest

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.errors import PassError
from lapilli.passes.pipeline import compile_module
from lapilli.spirv.build_image import build_image
from lapilli.spirv.device_image import DeviceImage

KERNEL = """
    func.func @k(%y : memref<?xf32>) attributes {gpu.kernel,
        kernel.parameters = [{name = "y", dtype = "f32", ndim = 1 : i32, access = "write"}]} {
      %i = arith.constant 0 : index
      %c = arith.constant 3.0 : f32
      BODY
      memref.store %r, %y[%i] : memref<?xf32>
      func.return
    }
"""


def images(text: str, mode: str = "auto") -> list[DeviceImage]:
    env = TargetEnv()
    result = compile_module(parse_module(text, "test.mlir", make_context()).module, env, mode=mode)
    return [build_image(split, env) for split in result.splits]


def kernel(body: str) -> str:
    return KERNEL.replace("BODY", body)


CALL = "%r = func.call @f(%c) : (f32) -> f32"
DECLARATION = "func.func private @f(f32) -> f32 attributes {aspect.external}"


@pytest.mark.behaviour("EXT-10")
def test_a_declared_external_function_is_imported() -> None:
    (image,) = images(DECLARATION + kernel(CALL))
    assert (image.imports, image.exports) == (("f",), ())
    assert image.is_object


@pytest.mark.behaviour("EXT-08")
def test_aspects_declared_on_a_declaration_count_for_its_callers() -> None:
    declared = DECLARATION.replace("aspect.external", "aspect.external, aspect.declared = [6 : i32]")
    (image,) = images(declared + kernel(CALL))
    assert image.requirements.aspects == (6,)
    assert image.kernel("k").aspects == (6,)
    assert image.imports == ("f",)


DEFINITION = """
    func.func @f(%x : f32) -> f32 attributes {aspect.external} {
      %y = arith.addf %x, %x : f32
      func.return %y : f32
    }
"""


def test_an_exported_function_is_a_symbol_and_a_callee() -> None:
    (image,) = images(DEFINITION + kernel(CALL))
    assert (image.imports, image.exports) == ((), ("f",))


def test_a_split_kernel_has_its_own_copy_of_an_exported_function() -> None:
    found = images(DEFINITION + kernel(CALL), mode="per_kernel")
    assert sorted((image.exports, len(image.kernels)) for image in found) == [((), 1), (("f",), 0)]


def test_a_declaration_stays_an_import_in_every_image() -> None:
    found = images(DECLARATION + kernel(CALL) + kernel(CALL).replace("@k(", "@k2("), mode="per_kernel")
    assert [image.imports for image in found] == [("f",), ("f",)]


def test_the_symbol_may_have_another_name_than_the_function() -> None:
    named = DECLARATION.replace("aspect.external", 'aspect.external, kernel.linkage_name = "lib.f"')
    (image,) = images(named + kernel(CALL))
    assert image.imports == ("lib.f",)


def test_several_results_cross_modules_in_a_struct() -> None:
    two = "%a, %r = func.call @f(%c) : (f32) -> (i32, f32)"
    (image,) = images(DECLARATION.replace("-> f32", "-> (i32, f32)") + kernel(two))
    assert image.imports == ("f",)


def test_arrays_cannot_cross_modules() -> None:
    call = "%r = func.call @f(%y) : (memref<?xf32>) -> f32"
    with pytest.raises(
        PassError, match=r"@f has memref<\?xf32> in its signature; Vulkan's SPIR-V cannot pass arrays"
    ):
        images(DECLARATION.replace("(f32)", "(memref<?xf32>)") + kernel(call))


def test_ids_do_not_belong_into_exported_functions() -> None:
    text = """
    func.func @g() -> index attributes {aspect.external} {
      %i = "gpu.global_id"() {dimension = #gpu<dim x>} : () -> index
      func.return %i : index
    }"""
    with pytest.raises(PassError, match=r"'gpu.global_id' belongs into a kernel, found it in function @g"):
        images(text)
