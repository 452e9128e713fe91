"""Native modules that import from each other: what state they are in, and what links them."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp

from .test_native_kernels import adding, run

vulkan = lp.vulkan
INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE


def importing() -> bytes:
    """The kernel ``add_five`` whose sum another module's ``combine`` computes."""
    text = lp.spirv.disassemble(adding())
    text = text.replace("OpCapability Shader", "OpCapability Shader\nOpCapability Linkage", 1)
    text = text.replace("OpDecorate", 'OpDecorate %combine LinkageAttributes "combine" Import\nOpDecorate', 1)
    (addition,) = [line for line in text.splitlines() if "OpIAdd" in line]
    result, operands = addition.split("=")[0].strip(), addition.split()[-2:]
    text = text.replace(addition, f"{result} = OpFunctionCall %uint %combine {' '.join(operands)}")
    declared = (
        "%binary = OpTypeFunction %uint %uint %uint\n%combine = OpFunction %uint None %binary\n"
        "%left = OpFunctionParameter %uint\n%right = OpFunctionParameter %uint\nOpFunctionEnd\n"
    )
    first = next(line for line in text.splitlines() if "OpFunction %void" in line)
    return lp.spirv.assemble(text.replace(first, declared + first))


LIBRARY = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpDecorate %combine LinkageAttributes "combine" Export
%uint = OpTypeInt 32 0
%three = OpConstant %uint 3
%binary = OpTypeFunction %uint %uint %uint
%combine = OpFunction %uint None %binary
%left = OpFunctionParameter %uint
%right = OpFunctionParameter %uint
%entry = OpLabel
%product = OpIMul %uint %right %three
%sum = OpIAdd %uint %left %product
OpReturnValue %sum
OpFunctionEnd
"""


@pytest.fixture
def library() -> bytes:
    """Exports ``combine(a, b)``: a + 3 b."""
    return lp.spirv.assemble(LIBRARY)


@pytest.mark.behaviour("IOP-20")
def test_programs_are_linked_into_one(device: lp.Device, library: bytes):
    context = lp.Context([device])
    for programs in ([importing(), library], [library, importing()]):
        bundle = vulkan.create_bundle(context, programs=programs)
        assert bundle.state is EXECUTABLE
        np.testing.assert_array_equal(run(bundle.ext_oneapi_get_kernel("add_five"), context), np.full(8, 15))
    for wrong in ([importing()], [importing(), library, library]):
        with pytest.raises(lp.BuildError, match="combine") as caught:
            vulkan.create_bundle(context, programs=wrong)
        assert caught.value.errc is lp.Errc.BUILD


@pytest.mark.behaviour("IOP-16", "IOP-17")
def test_modules_that_import_are_objects(device: lp.Device, library: bytes):
    context = lp.Context([device])
    parts = [vulkan.make_kernel_bundle(code, context, state=OBJECT) for code in (importing(), library)]
    assert [part.state for part in parts] == [OBJECT, OBJECT]
    linked = lp.link(parts)
    np.testing.assert_array_equal(run(linked.ext_oneapi_get_kernel("add_five"), context), np.full(8, 15))
    with pytest.raises(lp.InvalidError, match="combine"):  # alone it cannot become executable
        vulkan.make_kernel_bundle(importing(), context, state=EXECUTABLE)
    assert vulkan.import_module(OBJECT, context, library).state is OBJECT
    with pytest.raises(lp.InvalidError, match="OBJECT"):
        vulkan.import_module(EXECUTABLE, context, library)


@pytest.mark.behaviour("MEM-09")
def test_memory_is_one_native_object_for_all_contexts_of_a_device(device: lp.Device):
    array = lp.asarray(np.arange(8, dtype=np.uint32), device=device)
    found = vulkan.get_native(array)
    for _ in range(2):
        context = lp.Context([device])
        kernel = vulkan.make_kernel_bundle(adding(), context, state=EXECUTABLE).ext_oneapi_get_kernel(
            "add_five"
        )
        lp.Queue(context=context).parallel_for(8, kernel, array).wait()
        assert vulkan.get_native(array) == found and len(found) == 1
    np.testing.assert_array_equal(array.numpy(), np.arange(8) + 10)
    assert vulkan.get_native(lp.empty(8, lp.u32, device=device)) != found


@pytest.mark.behaviour("IOP-26")
def test_platforms_hold_nothing_that_is_destroyed(device: lp.Device):
    native = vulkan.get_native(device.platform)
    before, count = len(device.logical.graveyard), vulkan.get_reference_count(native[0])
    for _ in range(3):
        assert vulkan.make_platform(native) == device.platform
    assert len(device.logical.graveyard) == before
    assert vulkan.get_reference_count(native[0]) == count


@pytest.mark.behaviour("EXN-01", "EXN-03")
@pytest.mark.parametrize(
    ("aspect", "feature"), [("FP16", "shaderFloat16"), ("ATOMIC64", "shaderBufferInt64Atomics")]
)
def test_aspects_go_with_the_features_of_their_extensions(device: lp.Device, aspect: str, feature: str):
    """VK_KHR_shader_float16_int8 and VK_KHR_shader_atomic_int64, both core since Vulkan 1.2."""
    wanted = getattr(lp.Aspect, aspect)
    assert device.has(wanted) == (feature in device.physical.features)
    without = device.masked(without=(wanted,))
    assert not without.has(wanted) and feature not in without.physical.features


@lp.kernel
def halves(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = x[i] * 0.5


@pytest.mark.behaviour("EXN-01")
def test_what_a_device_lacks_is_refused_by_name(device: lp.Device):
    """Kernels by KERNEL_NOT_SUPPORTED, everything else by FEATURE_NOT_SUPPORTED."""
    masked = device.masked(without=[lp.Aspect.FP64, lp.Aspect.IMAGE])
    with pytest.raises(lp.KernelNotSupportedError, match="fp64") as caught:
        halves[4](lp.zeros(4, lp.f64, device=masked))
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
    with pytest.raises(lp.FeatureNotSupportedError, match="aspect image") as caught:
        lp.UnsampledImage(shape=(4, 4), format="r32_sfloat", device=masked)
    assert caught.value.errc is lp.Errc.FEATURE_NOT_SUPPORTED


@pytest.mark.behaviour("EXN-01")
@pytest.mark.parametrize(
    ("extension", "use"),
    [
        ("VK_EXT_external_memory_host", lambda device: lp.from_host(lp.page_aligned(4), device=device)),
        ("VK_KHR_external_memory_fd", lambda device: lp.zeros(4, device=device).export_fd()),
        ("VK_KHR_external_semaphore_fd", lambda device: lp.ExternalSemaphore(device)),
    ],
)
def test_extensions_are_offered_where_the_driver_has_them(device: lp.Device, extension: str, use):
    bare = device.masked(limits={"max_work_group_size": 76})
    physical = bare.physical
    lacking = replace(physical, extensions=physical.extensions - {extension})
    bare = lp.Device(lacking, f"{device.selector}-without")
    try:
        with pytest.raises(lp.FeatureNotSupportedError, match=extension) as caught:
            use(bare)
        assert caught.value.errc is lp.Errc.FEATURE_NOT_SUPPORTED
    finally:
        bare.shut_down()
    try:
        made = use(device)
    except lp.FeatureNotSupportedError as error:
        assert extension in str(error)  # absent, or offered and refused by the driver
    else:
        assert vulkan.has_extension(device, extension)
        if isinstance(made, int):
            os.close(made)
