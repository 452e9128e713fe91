"""Kernels and bundles of native modules."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.headers import NULL, ffi, make

from .kernels import double
from .renderer import Renderer

vulkan = lp.vulkan
INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE

_BODY = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "{name}" %id %data
OpExecutionMode %main LocalSize 4 1 1
OpName %data "data"
{decoration}
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%v3 = OpTypeVector %u32 3
%input = OpTypePointer Input %v3
%id = OpVariable %input Input
%zero = OpConstant %u32 0
%added = {constant} %u32 5
%array = OpTypeRuntimeArray %u32
%block = OpTypeStruct %array
%to_block = OpTypePointer StorageBuffer %block
%to_u32 = OpTypePointer StorageBuffer %u32
%data = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
%ids = OpLoad %v3 %id
%x = OpCompositeExtract %u32 %ids 0
%place = OpAccessChain %to_u32 %data %zero %x
%old = OpLoad %u32 %place
%new = OpIAdd %u32 %old %added
OpStore %place %new
OpReturn
OpFunctionEnd
"""


def adding(name: str = "add_five", *, is_open: bool = False) -> bytes:
    """A module with one kernel that adds 5, or what a specialization constant says, to each element."""
    text = _BODY.format(
        name=name,
        decoration="OpDecorate %added SpecId 0" if is_open else "",
        constant="OpSpecConstant" if is_open else "OpConstant",
    )
    return lp.spirv.assemble(text)


def shader_module(device: lp.Device, spirv: bytes) -> tuple[Any, Any]:
    """A VkShaderModule made outside of lapilli's classes, and its destroy call."""
    logical = device.logical
    code = ffi.new("uint32_t[]", len(spirv) // 4)
    ffi.memmove(code, spirv, len(spirv))
    info, out = make("VkShaderModuleCreateInfo", codeSize=len(spirv), pCode=code), ffi.new("VkShaderModule*")
    assert logical.vk.vkCreateShaderModule(logical.raw, info, NULL, out) == 0
    return out[0], lambda: logical.vk.vkDestroyShaderModule(logical.raw, out[0], NULL)


def run(kernel: lp.Kernel, context: lp.Context) -> np.ndarray[Any, Any]:
    x = lp.zeros(8, lp.u32, device=context.devices[0])
    lp.Queue(context=context).parallel_for(8, kernel, x).wait()
    return x.numpy()


@pytest.mark.behaviour("IOP-06", "IOP-15")
def test_kernel_of_a_native_module(device: lp.Device):
    context, spirv = lp.Context([device]), adding()
    module, destroy = shader_module(device, spirv)
    kernel = vulkan.make_kernel((module, "add_five", spirv), context)
    np.testing.assert_array_equal(run(kernel, context), np.full(8, 5))
    pipeline, layout, entry = vulkan.get_native(kernel)
    assert pipeline and layout and entry == "add_five"
    assert vulkan.make_kernel((pipeline, layout, entry), context) == kernel
    with pytest.raises(lp.InvalidError, match="another context"):
        vulkan.make_kernel((pipeline, layout, entry), lp.Context([device]))
    destroy()


def test_wrong_kernels(device: lp.Device):
    context, spirv = lp.Context([device]), adding()
    with pytest.raises(
        lp.InvalidError, match=r"^make_kernel: the module has no entry point .missing.; it has add_five"
    ):
        vulkan.make_kernel((1 << 20, "missing", spirv), context)
    with pytest.raises(lp.InvalidError, match="what it takes"):
        vulkan.make_kernel((8, 8, "main"), context)
    for wrong in (3, (1, 2), (1, 2, 3), None):
        with pytest.raises(TypeError):
            vulkan.make_kernel(wrong, context)


@pytest.mark.behaviour("IOP-07", "IOP-29")
def test_bundle_round_trip(device: lp.Device):
    context, spirv = lp.Context([device]), adding()
    gc.collect()  # earlier tests' bundles, whose modules had a handle that may come again
    module, destroy = shader_module(device, spirv)
    bundle = vulkan.make_kernel_bundle((module, spirv), context, state=EXECUTABLE)
    natives = vulkan.get_native(bundle)
    assert natives == [int(ffi.cast("uintptr_t", module))]
    again = vulkan.make_kernel_bundle(natives[0], context, state=EXECUTABLE)
    np.testing.assert_array_equal(run(again.ext_oneapi_get_kernel("add_five"), context), np.full(8, 5))
    assert vulkan.get_reference_count(natives[0]) == 2
    destroy()


@pytest.mark.behaviour("IOP-07")
def test_modules_of_a_python_bundle(device: lp.Device):
    context = lp.Context([device])
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=double)
    natives = vulkan.get_native(bundle)
    assert len(natives) == len(list(bundle)) and all(natives)
    with pytest.raises(lp.InvalidError, match="EXECUTABLE"):
        vulkan.get_native(lp.get_kernel_bundle(context, state=INPUT, kernel=double))


@pytest.mark.behaviour("IOP-16", "IOP-18")
@pytest.mark.parametrize("state", [INPUT, OBJECT, EXECUTABLE])
@pytest.mark.parametrize("is_open", [False, True])
def test_state_of_a_module(device: lp.Device, state: lp.BundleState, is_open: bool):
    context, spirv = lp.Context([device]), adding(is_open=is_open)
    if not is_open and state is not EXECUTABLE:
        with pytest.raises(lp.InvalidError, match="executable"):
            vulkan.make_kernel_bundle(spirv, context, state=state)
        return
    assert vulkan.make_kernel_bundle(spirv, context, state=state).state is state


@pytest.mark.behaviour("IOP-17")
def test_earlier_states_are_compiled_and_linked(device: lp.Device):
    context, spirv = lp.Context([device]), adding(is_open=True)
    built = lp.build(vulkan.make_kernel_bundle(spirv, context, state=INPUT))
    linked = lp.link(vulkan.make_kernel_bundle(spirv, context, state=OBJECT))
    direct = vulkan.make_kernel_bundle(spirv, context, state=EXECUTABLE)
    for bundle in (built, linked, direct):
        np.testing.assert_array_equal(run(bundle.ext_oneapi_get_kernel("add_five"), context), np.full(8, 5))


@pytest.mark.behaviour("IOP-18")
def test_pipeline_in_an_earlier_state(device: lp.Device):
    context = lp.Context([device])
    kernel = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=double).get_kernel(double)
    native = vulkan.get_native(kernel)
    for state in (INPUT, OBJECT):
        with pytest.raises(lp.InvalidError, match="executable"):
            vulkan.make_kernel_bundle(native, context, state=state)
    assert vulkan.make_kernel_bundle(native, context, state=EXECUTABLE) == kernel.kernel_bundle


@pytest.mark.behaviour("IOP-19")
@pytest.mark.parametrize(
    "code", [b"", b"\x03\x02\x23\x07", b"nonsense" * 8, adding()[:-8], adding() + b"\0" * 4]
)
def test_wrong_code_is_invalid(device: lp.Device, code: bytes):
    with pytest.raises(lp.InvalidError) as caught:
        vulkan.make_kernel_bundle(code, lp.Context([device]), state=EXECUTABLE)
    assert caught.value.errc is lp.Errc.INVALID
    assert isinstance(vulkan.get_error_code(caught.value), int)


@pytest.mark.behaviour("IOP-20")
def test_bundle_of_several_programs(device: lp.Device):
    context = lp.Context([device])
    bundle = vulkan.create_bundle(context, [device], programs=[adding("first"), adding("second")])
    for name in ("first", "second"):
        np.testing.assert_array_equal(run(bundle.ext_oneapi_get_kernel(name), context), np.full(8, 5))
    with pytest.raises(lp.BuildError) as caught:
        vulkan.create_bundle(context, programs=[adding()[:-8] + b"\xff" * 8])
    assert caught.value.errc is lp.Errc.BUILD
    for state in (INPUT, OBJECT):  # the rules of one program are those of each
        programs = [adding("open", is_open=True), adding("closed")]
        with pytest.raises(lp.InvalidError, match="the module is executable"):
            vulkan.create_bundle(context, programs=programs, state=state)
        assert vulkan.create_bundle(context, programs=programs[:1], state=state).state is state


@pytest.mark.behaviour("IOP-20", "IOP-24", "IOP-25")
def test_bundles_retain_the_modules_and_release_them(device: lp.Device):
    context, spirv = lp.Context([device]), adding("retained")
    gc.collect()  # earlier tests' bundles, whose modules had a handle that may come again
    module, destroy = shader_module(device, spirv)
    native = int(ffi.cast("uintptr_t", module))
    bundles = [vulkan.create_bundle(context, programs=[(module, spirv)])]
    bundles += [vulkan.import_module(EXECUTABLE, context, native)]
    bundles += [vulkan.create_bundle(context, kernels=[(module, "retained", spirv)])]
    for count in (3, 2, 1):
        assert vulkan.get_reference_count(native) == count
        bundles.pop()
        gc.collect()
    with pytest.raises(lp.InvalidError, match="no object"):
        vulkan.get_reference_count(native)
    destroy()


@pytest.mark.behaviour("IOP-19", "IOP-20", "IOP-21")
def test_errors_of_the_driver(device: lp.Device, monkeypatch: pytest.MonkeyPatch):
    fresh = device.masked(limits={"max_work_group_size": 75})  # a VkDevice of its own
    context, spirv = lp.Context([fresh]), adding("unlucky")
    monkeypatch.setattr(fresh.logical.vk, "vkCreateShaderModule", lambda *_: -1)
    with pytest.raises(lp.InvalidError) as refused:
        vulkan.make_kernel_bundle(spirv, context, state=EXECUTABLE)
    assert vulkan.get_error_code(refused.value) == -1  # VK_ERROR_OUT_OF_HOST_MEMORY
    for arguments in ({"programs": [spirv]}, {"kernels": [(1 << 20, "unlucky", spirv)]}):
        with pytest.raises(lp.BuildError) as caught:
            vulkan.create_bundle(context, **arguments)
        assert vulkan.get_error_code(caught.value) == -1


@pytest.mark.behaviour("IOP-16", "IOP-22")
def test_modules_of_another_vkdevice(device: lp.Device):
    context, spirv = lp.Context([device]), adding("elsewhere")
    other = lp.Context([device.masked(limits={"max_work_group_size": 74})])
    gc.collect()
    module, destroy = shader_module(device, spirv)
    kept = vulkan.make_kernel_bundle((module, spirv), context, state=EXECUTABLE)
    (native,) = vulkan.get_native(kept)
    assert vulkan.make_kernel_bundle(native, lp.Context([device]), state=EXECUTABLE)  # the same VkDevice
    for call in (
        lambda: vulkan.make_kernel_bundle(native, other, state=EXECUTABLE),
        lambda: vulkan.make_kernel_bundle((native, spirv), other, state=EXECUTABLE),
        lambda: vulkan.make_kernel((native, "elsewhere", spirv), other),
        lambda: vulkan.create_bundle(other, programs=[native]),
        lambda: vulkan.import_module(EXECUTABLE, other, native),
    ):
        with pytest.raises(lp.InvalidError, match="another VkDevice"):
            call()
    destroy()


@pytest.mark.behaviour("IOP-18")
def test_modules_of_executable_bundles_are_executable(device: lp.Device):
    """Their code has specialization constants; as a module with its SPIR-V it would be in an early state."""

    @lp.kernel
    def one(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 1.0

    context = lp.Context([device])
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=one)
    (native,), (image,) = vulkan.get_native(bundle), bundle
    for state in (INPUT, OBJECT):
        for call in (
            lambda: vulkan.make_kernel_bundle(native, context, state=state),  # noqa: B023
            lambda: vulkan.create_bundle(context, programs=[native], state=state),  # noqa: B023
            lambda: vulkan.import_module(state, context, native),  # noqa: B023
        ):
            with pytest.raises(lp.InvalidError, match="is of an executable bundle"):
                call()
        assert vulkan.make_kernel_bundle((native, image.spirv()), context, state=state).state is state
    again = vulkan.make_kernel_bundle(native, context, state=EXECUTABLE)
    assert vulkan.get_native(again) == [native]


@pytest.mark.behaviour("IOP-21")
def test_bundle_of_several_kernels(device: lp.Device):
    context = lp.Context([device])
    (first, stop), (second, stop_too) = (shader_module(device, adding(n)) for n in ("first", "second"))
    bundle = vulkan.create_bundle(
        context, kernels=[(first, "first", adding("first")), (second, "second", adding("second"))]
    )
    assert bundle.state is EXECUTABLE and len(vulkan.get_native(bundle)) == 2
    for name in ("first", "second"):
        np.testing.assert_array_equal(run(bundle.ext_oneapi_get_kernel(name), context), np.full(8, 5))
    stop()
    stop_too()


@pytest.mark.behaviour("IOP-22")
def test_preconditions_of_create_bundle(device: lp.Device):
    context = lp.Context([device])
    foreign = [d for d in lp.devices() if d is not device]
    if foreign:
        with pytest.raises(lp.InvalidError):
            vulkan.create_bundle(context, [foreign[0]], programs=[adding()])

    class Other:
        backend = "opencl"

    with pytest.raises(lp.BackendMismatchError):
        vulkan.create_bundle(Other(), programs=[adding()])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="one of"):
        vulkan.create_bundle(context)


@pytest.mark.behaviour("IOP-23")
def test_names_of_the_modules_proposal(device: lp.Device):
    context = lp.Context([device])
    made = vulkan.create_with_il(context, adding())
    assert made.state is INPUT
    kernel = lp.build(made).ext_oneapi_get_kernel("add_five")
    np.testing.assert_array_equal(run(kernel, context), np.full(8, 5))
    text = lp.spirv.disassemble(adding())
    source = vulkan.create_with_source(context, text, language="SPIRV_ASM")
    np.testing.assert_array_equal(
        run(lp.build(source).ext_oneapi_get_kernel("add_five"), context), np.full(8, 5)
    )
    cache = device.logical.pipelines.cache.data()
    if cache is not None:
        assert vulkan.create_with_binary(context, adding(), cache).state is INPUT
    with pytest.raises(lp.InvalidError, match="none of the devices"):
        vulkan.create_with_binary(context, adding(), b"x" * 64)
    shipped = vulkan.create_with_builtin_kernels(context, ["fill_u32"])
    assert shipped.state is INPUT and [id_.name for id_ in shipped.get_kernel_ids()] == ["fill_u32"]
    x = lp.zeros(8, lp.u32, device=device)
    lp.Queue(context=context).parallel_for(8, lp.build(shipped).get_kernel("fill_u32"), x, 7)
    np.testing.assert_array_equal(x.numpy(), np.full(8, 7))
    assert vulkan.create_with_builtin_kernels(context, []).state is INPUT
    with pytest.raises(lp.InvalidError, match=r"no built-in kernel 'sort'.*fill_f32"):
        vulkan.create_with_builtin_kernels(context, ["fill_f32", "sort"])
    with pytest.raises(lp.InvalidError):
        vulkan.create_with_il(context, b"no module")
    with pytest.raises(lp.InvalidError, match="FORTRAN"):
        vulkan.create_with_source(context, "", language="FORTRAN")


@pytest.mark.behaviour("IOP-24")
def test_import_needs_the_matching_state(device: lp.Device):
    context = lp.Context([device])
    assert vulkan.import_module(EXECUTABLE, context, adding()).state is EXECUTABLE
    assert vulkan.import_module(INPUT, context, adding(is_open=True)).state is INPUT
    for state in (INPUT, OBJECT):
        with pytest.raises(lp.InvalidError, match="state"):
            vulkan.import_module(state, context, adding())


def test_native_kernel_on_the_buffers_of_the_application(renderer: Renderer, theirs: lp.Context):
    spirv, x = adding(), np.arange(16, dtype=np.uint32)
    raw, module = renderer.buffer(x), renderer.module(spirv)
    array = vulkan.make_buffer(raw, theirs, dtype=lp.u32, size=16)
    kernel = vulkan.make_kernel((module, "add_five", spirv), theirs)
    lp.Queue(context=theirs).parallel_for(16, kernel, array).wait()
    np.testing.assert_array_equal(renderer.read(raw, x), x + 5)
    assert len(vulkan.get_native(kernel.kernel_bundle)) == 1
