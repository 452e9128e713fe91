"""Linking device images: binaries together with what a launch knows of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lapilli.ir.aspects import Aspect
from lapilli.ir.context import make_context
from lapilli.ir.errors import LinkError
from lapilli.ir.kernel_info import Requirements, SpecConstantInfo
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import BindingModel, TargetEnv
from lapilli.passes.pipeline import compile_module
from lapilli.spirv.build_image import build_image
from lapilli.spirv.device_image import DeviceImage
from lapilli.spirv.link_images import link_images, merged_requirements
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools

ENV = TargetEnv()


def image(text: str, env: TargetEnv = ENV) -> DeviceImage:
    """Compiles a module of one image."""
    result = compile_module(parse_module(text, "test.mlir", make_context()).module, env)
    (split,) = result.splits
    return build_image(split, env)


def declared(symbol: str, default: str, type_: str = "f32") -> str:
    return f"spec_constant.declare @{symbol} : {type_} = [{default}]\n"


def kernel(name: str, body: str, attributes: str = "") -> str:
    return f"""
    func.func @{name}(%y : memref<?xf32>) attributes {{gpu.kernel{attributes},
        kernel.parameters = [{{name = "y", dtype = "f32", ndim = 1 : i32, access = "write"}}]}} {{
      %i = "gpu.global_id"() {{dimension = #gpu<dim x>}} : () -> index
      %c = arith.constant 3.0 : f32
      {body}
      memref.store %r, %y[%i] : memref<?xf32>
      func.return
    }}
    """


def external(name: str, body: str, attributes: str = "") -> str:
    return f"""
    func.func @{name}(%x : f32) -> f32 attributes {{aspect.external{attributes}}} {{
      {body}
      func.return %r : f32
    }}
    """


def imported(name: str, attributes: str = "") -> str:
    return f"func.func private @{name}(f32) -> f32 attributes {{aspect.external{attributes}}}\n"


CALL_F = "%r = func.call @f(%c) : (f32) -> f32"
USER = imported("f") + kernel("k", CALL_F)
LIBRARY = external("f", "%r = arith.addf %x, %x : f32")
ADD = "%a = spec_constant.get @A : f32\n%r = arith.addf %a, %c : f32"


@pytest.mark.behaviour("EXT-10", "CLB-14")
def test_a_kernel_is_linked_with_the_function_it_calls() -> None:
    linked = link_images([image(USER), image(LIBRARY)])
    assert (linked.imports, linked.exports, linked.is_object) == ((), (), False)
    assert [k.name for k in linked.kernels] == ["k"]
    assert reflect(linked.spirv).imports == ()
    assert spirv_tools().validate(linked.spirv, "vulkan1.3") is None
    assert DeviceImage.from_bytes(linked.to_bytes()) == linked


@pytest.mark.behaviour("CLB-09", "CLB-14")
def test_unresolved_and_doubly_defined_symbols_are_named() -> None:
    with pytest.raises(LinkError, match="unresolved symbol 'f', imported by the image of k"):
        link_images([image(USER)])
    with pytest.raises(LinkError, match="symbol 'f' is exported twice"):
        link_images([image(USER), image(LIBRARY), image(LIBRARY)])
    with pytest.raises(LinkError, match="entry point 'k'"):
        link_images([image(kernel("k", "%r = arith.addf %c, %c : f32"))] * 2)
    with pytest.raises(LinkError, match="at least one"):
        link_images([])


@pytest.mark.behaviour("CLB-15")
def test_images_with_a_private_function_of_one_name() -> None:
    helper = (
        "func.func private @h(%x : f32) -> f32 {{ %n = arith.{op} %x, %x : f32\nfunc.return %n : f32 }}\n"
    )
    user = (
        imported("f")
        + helper.format(op="addf")
        + kernel("k", "%h = func.call @h(%c) : (f32) -> f32\n" + CALL_F)
    )
    library = helper.format(op="mulf") + external("f", "%r = func.call @h(%x) : (f32) -> f32")
    linked = link_images([image(user), image(library)])
    assert "OpFMul" in spirv_tools().disassemble(linked.spirv)


def leaves(info: SpecConstantInfo) -> list[int]:
    return [leaf.spec_id for leaf in info.leaves]


@pytest.mark.behaviour("SC-21")
def test_disjoint_constants_are_united() -> None:
    one = image(declared("A", "1.0 : f32") + kernel("k", ADD))
    two = image(declared("B", "2.0 : f32") + kernel("l", ADD.replace("@A", "@B")))
    assert leaves(one.spec_constants[0]) == leaves(two.spec_constants[0]) == [0]
    linked = link_images([one, two])
    assert [(c.symbol, leaves(c), c.offset_bytes) for c in linked.spec_constants] == [
        ("A", [0], 0),
        ("B", [1], 4),
    ]
    assert {k.abi.local_size_spec_ids for k in linked.kernels} == {(2, 3, 4)}
    defaults = {c.spec_id: c.default for c in reflect(linked.spirv).spec_constants}
    assert (defaults[0], defaults[1]) == (1.0, 2.0)


@pytest.mark.behaviour("SC-22", "SC-33")
def test_a_shared_constant_is_one() -> None:
    user = image(declared("A", "1.0 : f32") + imported("f") + kernel("k", CALL_F))
    both = image(
        declared("B", "5.0 : f32")
        + declared("A", "1.0 : f32")
        + imported("f")
        + kernel(
            "k",
            "%b = spec_constant.get @B : f32\n%a = spec_constant.get @A : f32\n"
            "%s = arith.addf %a, %b : f32\n%r = func.call @f(%s) : (f32) -> f32",
        )
    )
    library = image(
        declared("A", "1.0 : f32")
        + external("f", "%a = spec_constant.get @A : f32\n%r = arith.addf %a, %x : f32")
    )
    linked = link_images([both, library])
    assert [(c.symbol, leaves(c)) for c in linked.spec_constants] == [("B", [0]), ("A", [1])]
    assert [c.spec_id for c in reflect(linked.spirv).spec_constants if c.spec_id < 2] == [0, 1]
    # A constant that only the linked function reads can be set all the same.
    assert [c.symbol for c in link_images([user, library]).spec_constants] == ["A"]


@pytest.mark.behaviour("SC-22")
@pytest.mark.parametrize(
    ("declaration", "body", "message"),
    [
        (
            declared("A", "2.0 : f32"),
            "%a = spec_constant.get @A : f32\n%r = arith.addf %a, %x : f32",
            "default",
        ),
        (
            declared("A", "1 : i32", "i32"),
            "%a = spec_constant.get @A : i32\n%b = arith.sitofp %a : i32 to f32\n%r = arith.addf %b, %x : f32",
            "type f32 in the image of k and i32 in the image of f",
        ),
    ],
)
def test_a_shared_constant_has_one_type_and_default(declaration: str, body: str, message: str) -> None:
    user = declared("A", "1.0 : f32") + imported("f") + kernel("k", ADD.replace("%r", "%q") + "\n" + CALL_F)
    user = user.replace(CALL_F, "%r = func.call @f(%q) : (f32) -> f32")
    with pytest.raises(LinkError, match=f"specialization constant 'A' has {message}"):
        link_images([image(user), image(declaration + external("f", body))])


@pytest.mark.behaviour("EXT-09")
def test_requirements_are_those_of_all_images() -> None:
    wide = "%d = arith.extf %x : f32 to f64\n%s = arith.mulf %d, %d : f64\n%r = arith.truncf %s : f64 to f32"
    user = image(USER)
    assert user.requirements.aspects == ()
    linked = link_images([user, image(external("f", wide))])
    assert linked.requirements.aspects == (Aspect.FP64,)
    assert linked.kernel("k").aspects == (Aspect.FP64,)
    assert linked.kernel("k").aspect_uses[0].what == "the linked function 'f'"


def test_a_kernel_needs_only_what_its_own_image_imports() -> None:
    wide = "%d = arith.extf %x : f32 to f64\n%s = arith.mulf %d, %d : f64\n%r = arith.truncf %s : f64 to f32"
    other = image(kernel("other", "%r = arith.addf %c, %c : f32"))
    through = image(imported("g") + external("f", "%r = func.call @g(%x) : (f32) -> f32"))
    linked = link_images([image(USER), other, through, image(external("g", wide))])
    assert {k.name: k.aspects for k in linked.kernels} == {"k": (Aspect.FP64,), "other": ()}


@pytest.mark.behaviour("EXT-07")
def test_common_fixed_targets_may_be_none() -> None:
    one, two = Requirements(fixed_targets=(1, 2)), Requirements(fixed_targets=(2, 3))
    assert merged_requirements([one, two, Requirements()]).fixed_targets == (2,)
    assert merged_requirements([one, replace(two, fixed_targets=(3,))]).fixed_targets == ()
    assert merged_requirements([Requirements()]).fixed_targets is None


def test_sizes_of_arrays_follow_their_spec_ids() -> None:
    memory = "memref<?xf32, #spirv.storage_class<Function>>"
    body = (
        "%n = spec_constant.get @N : i32\n%m = arith.index_cast %n : i32 to index\n"
        f"%p = memref.alloca(%m) : {memory}\nmemref.store %c, %p[%i] : {memory}\n"
        f"%r = memref.load %p[%i] : {memory}"
    )
    array = image(declared("N", "4 : i32", "i32") + kernel("k", body))
    assert array.kernel("k").size_nodes[0].operands == (0,)
    first = image(declared("A", "1.0 : f32") + kernel("l", ADD))
    linked = link_images([first, array])
    assert [c.symbol for c in linked.spec_constants] == ["A", "N"]
    assert linked.kernel("k").size_nodes[0].operands == (1,)


def test_a_fixed_local_size_is_given_at_launch_beside_others() -> None:
    fixed = image(
        kernel("k", "%r = arith.addf %c, %c : f32", ", aspect.reqd_work_group_size = array<i32: 4>")
    )
    free = image(kernel("l", "%r = arith.addf %c, %c : f32"))
    assert fixed.kernel("k").abi.local_size_spec_ids is None
    linked = link_images([fixed, free])
    assert (
        linked.kernel("k").abi.local_size_spec_ids == linked.kernel("l").abi.local_size_spec_ids == (0, 1, 2)
    )
    assert linked.kernel("k").required_work_group_size == (4,)


def test_environments() -> None:
    library = image(LIBRARY, TargetEnv(vulkan_version=(1, 1)))
    assert link_images([image(USER), library]).target_env == ENV
    address = image(LIBRARY, TargetEnv(binding_model=BindingModel.ADDRESS))
    with pytest.raises(LinkError, match=r"binds arrays by descriptor, the image of f by address"):
        link_images([image(USER), address])


def test_metadata_that_does_not_fit_its_binary_is_refused() -> None:
    one = image(declared("A", "1.0 : f32") + kernel("k", ADD))
    with pytest.raises(LinkError, match="has SpecId 0, which none of its specialization constants has"):
        link_images([replace(one, spec_constants=())])
    with pytest.raises(LinkError, match="the image of k is no"):
        link_images([replace(one, spirv=b"\x03\x02\x23\x07")])


@pytest.mark.behaviour("IOP-45")
def test_a_prebuilt_library_is_linked() -> None:
    text = """
    OpCapability Shader
    OpCapability Linkage
    OpMemoryModel Logical GLSL450
    OpDecorate %f LinkageAttributes "f" Export
    %float = OpTypeFloat 32
    %type = OpTypeFunction %float %float
    %f = OpFunction %float None %type
    %x = OpFunctionParameter %float
    %label = OpLabel
    %y = OpFNegate %float %x
    OpReturnValue %y
    OpFunctionEnd
    """
    library = DeviceImage(
        spirv=spirv_tools().assemble(text, "spv1.6"),
        kernels=(),
        spec_constants=(),
        requirements=Requirements(),
        target_env=ENV,
        exports=("f",),
    )
    linked = link_images([image(USER), library])
    assert "OpFNegate" in spirv_tools().disassemble(linked.spirv)
