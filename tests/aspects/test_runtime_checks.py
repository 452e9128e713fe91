"""Synchronous KERNEL_NOT_SUPPORTED with the seed's sentences, and required sizes that are really set."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels, executable_for
from lapilli.ir.device_config import device_config
from lapilli.ir.kernel_info import Requirements
from lapilli.ir.property_set import REQUIREMENT_SET, requirement_properties, requirements_of_properties
from lapilli.spirv.device_image import DeviceImage
from lapilli.spirv.reflect import reflect
from lapilli.vk_runtime.launch import launch
from lapilli.vk_runtime.requirements import unmet

pytestmark = pytest.mark.device


@lp.kernel
def fill(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] = 1.0


@lp.kernel
def sizes(out: lp.Array[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = lp.local_range(0) * 1000 + lp.local_range(1)


@lp.kernel
def sub_group_sizes(out: lp.Array[lp.u32]):
    out[lp.global_id(0)] = lp.u32(lp.sub_group.size())


def fp64_helper(x: lp.f32):
    return lp.f32(lp.f64(x) * 3.0)


@lp.kernel
def calls_fp64(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] = fp64_helper(out[lp.global_id(0)])


@lp.reqd_sub_group_size(4099)
def wide_helper(x: lp.f32):
    return x + 1.0


@lp.kernel
def calls_wide(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] = wide_helper(out[lp.global_id(0)])


def refused(kernel, device, n=4) -> str:
    """The message of a launch that is refused before anything reached the driver."""
    out = lp.zeros(n, device=device)
    with lp.trace() as trace, pytest.raises(lp.KernelNotSupportedError) as caught:
        kernel[n](out)
    assert trace.count("module") == trace.count("pipeline") == trace.count("launch") == 0
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED and caught.value.code
    assert not out.numpy().any()
    return str(caught.value)


@pytest.mark.behaviour("RT-01", "RT-05", "RT-11", "RT-18")
def test_a_missing_aspect_is_refused_in_the_launch_itself(device):
    message = refused(calls_fp64, device.masked(without=[lp.Aspect.FP64]))
    assert message.splitlines()[0] == (
        "Kernel uses optional feature corresponding to 'aspect::fp64' but device does not support this aspect."
    )


COMMANDS = {
    "parallel_for": lambda queue, kernel, out: queue.parallel_for(4, kernel, out),
    "parallel_for over groups": lambda queue, kernel, out: queue.parallel_for(lp.NdRange(4, 4), kernel, out),
    "single_task": lambda queue, kernel, out: queue.single_task(kernel, out),
    "submit": lambda queue, kernel, out: queue.submit(lambda h: h.parallel_for(4, kernel, out)),
    "launch": lambda queue, kernel, out: kernel[4].on(queue)(out),
}


@pytest.mark.behaviour("RT-01", "RT-05", "RT-06")
@pytest.mark.parametrize("command", list(COMMANDS))
@pytest.mark.parametrize(
    ("kernel", "masks"),
    [
        (calls_fp64, {"without": [lp.Aspect.FP64]}),
        (lp.device_has(lp.Aspect.ACCELERATOR)(fill), {}),
        (lp.reqd_sub_group_size(1024)(fill), {}),
        (lp.reqd_work_group_size(2**31 - 1)(fill), {}),
    ],
    ids=["aspect", "declared", "sub-group", "work-group"],
)
def test_every_command_refuses_at_once_and_not_through_the_handler(device, command, kernel, masks):
    lesser = device.masked(**masks) if masks else device
    if kernel is not calls_fp64 and device.has(lp.Aspect.ACCELERATOR):
        pytest.skip("the device is an accelerator")
    seen = []
    queue = lp.Queue(lesser, async_handler=seen.append)
    out = lp.zeros(4, device=lesser)
    with lp.trace() as trace, pytest.raises(lp.KernelNotSupportedError) as caught:
        COMMANDS[command](queue, kernel, out)
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
    queue.wait()
    assert seen == [] and trace.count("module") == trace.count("launch") == 0
    assert not out.numpy().any()
    queue.parallel_for(4, fill, out)  # the queue goes on working
    assert out.numpy().all()


@pytest.mark.behaviour("RT-02", "SPL-07")
@pytest.mark.parametrize("aspect", [lp.Aspect.ACCELERATOR, lp.Aspect.HOST_DEBUGGABLE, lp.Aspect.FP16])
def test_a_declared_aspect_is_required_even_unused(device, aspect):
    declared = lp.device_has(aspect)(fill)
    message = refused(declared, device.masked(without=[aspect]))
    assert f"'aspect::{aspect.spelling}'" in message
    fill[4](lp.zeros(4, device=device))


@pytest.mark.behaviour("RT-03", "EXT-09")
@pytest.mark.filterwarnings("ignore::lapilli.AspectWarning")
def test_an_unlisted_feature_of_a_called_function_is_refused(device):
    kernel = lp.device_has(lp.Aspect.QUEUE_PROFILING)(calls_fp64)
    if not device.has(lp.Aspect.QUEUE_PROFILING):
        pytest.skip("the device lacks queue_profiling")
    assert "'aspect::fp64'" in refused(kernel, device.masked(without=[lp.Aspect.FP64]))


@pytest.mark.behaviour("RT-04", "RT-09")
@pytest.mark.parametrize("size", [(2**32,), (4099,), (2**32 + 1,), (2**64,)])
def test_a_work_group_beyond_the_device(device, size):
    message = refused(lp.reqd_work_group_size(*size)(fill), device)
    assert message.startswith("Kernel has a required work-group size of '")


@pytest.mark.behaviour("RT-09")
@pytest.mark.parametrize(
    ("size", "limits"),
    [
        ((2**31 - 1, 2**31 - 1, 2**31 - 1), {}),
        ((32,), {"max_work_item_sizes": (64, 64, 31)}),
        ((8, 8), {"max_work_group_size": 63}),
        ((1, 2**16, 2**16), {}),  # 2**32 work-items: 0 in 32 bits
        ((2, 1, 1), {"max_work_item_sizes": (1, 64, 64)}),
    ],
)
def test_product_and_every_dimension_count(device, size, limits):
    @lp.reqd_work_group_size(*size)
    @lp.kernel
    def k(out: lp.Array[lp.f32]):
        out[0] = 1.0

    out = lp.zeros(4, device=device.masked(limits=limits))
    with pytest.raises(lp.KernelNotSupportedError, match="required work-group size"):
        k[tuple(1 for _ in size)](out)


@pytest.mark.behaviour("AOT-10")
@pytest.mark.parametrize("size", [(2**16, 2**16), (2**20, 2**20, 2**20), (2**31, 2)])
def test_a_size_that_no_device_has_can_be_compiled(size):
    # SPIRV-Tools multiplies in 32 bits: a valid module must not have a size of 0 there.
    @lp.reqd_work_group_size(*size)
    @lp.kernel
    def k(out: lp.Array[lp.f32]):
        out[0] = 1.0

    assert "OpExecutionMode %k LocalSize" in k.inspect("spirv")


@pytest.mark.behaviour("RT-04", "RT-12")
def test_a_sub_group_size_that_the_device_lacks(device):
    message = refused(lp.reqd_sub_group_size(1024)(fill), device)
    assert message.splitlines()[0] == (
        "Kernel has a required sub-group size of '1024' but device does not support this sub-group size."
    )
    assert device.name in message
    own = device.info.sub_group_sizes[0]
    masked = device.masked(limits={"sub_group_sizes": ()})
    assert f"'{own}'" in refused(lp.reqd_sub_group_size(own)(fill), masked)


@pytest.mark.behaviour("EXT-03", "RT-13")
@pytest.mark.filterwarnings("ignore::lapilli.AspectWarning")  # once in the process; the test below wants it
def test_the_sub_group_size_of_a_helper_counts_for_the_kernels_that_call_it_alone(device):
    assert "required sub-group size of '4099'" in refused(calls_wide, device)
    assert not lp.is_compatible(kernel=calls_wide, dev=device)
    assert lp.is_compatible(kernel=fill, dev=device)  # of the same module
    (image,) = lp.get_kernel_bundle(device.default_context, [device], state=lp.BundleState.INPUT, kernel=fill)
    assert image.requirements.sub_group_sizes == ()


def test_launches_warn_of_a_helper_with_a_sub_group_size_of_its_own():
    text = (
        "@lp.reqd_sub_group_size(8)\ndef eight(x):\n    return x + 1.0\n\n"
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = eight(x[0])\n"
    )
    kernel = lp.kernel_from_source(text, name="k")
    assert "reqd_sub_group_size = array<i32: 8>" in kernel.inspect("split")
    with (
        pytest.warns(lp.AspectWarning, match="'eight' has required sub-group size '8'"),
        suppress(lp.KernelNotSupportedError),
    ):
        kernel[1](lp.zeros(1))
    required = text.replace("@lp.kernel", "@lp.reqd_sub_group_size(8)\n@lp.kernel")
    split = lp.kernel_from_source(required, name="k").inspect("split")
    assert "reqd_sub_group_size = array<i32: 8>" in split and "func.call" not in split


@pytest.mark.behaviour("RT-16")
def test_a_numeric_sub_group_size_is_set(device):
    for size in device.info.sub_group_sizes:
        out = lp.zeros(64, lp.u32, device=device)
        lp.reqd_sub_group_size(size)(sub_group_sizes)[lp.NdRange(64, 64)](out)
        assert out.numpy().tolist() == [size] * 64


@pytest.mark.behaviour("RT-15", "SPL-12")
@pytest.mark.parametrize("size", list(lp.SubGroupSize))
def test_named_sub_group_sizes_restrict_no_device(device, size):
    out = lp.zeros(64, lp.u32, device=device)
    kernel = lp.reqd_sub_group_size(size)(sub_group_sizes)
    kernel[lp.NdRange(64, 64)](out)
    if size is lp.SubGroupSize.PRIMARY:
        assert set(out.numpy().tolist()) == {device.physical.subgroup_size}
    (image,) = compile_kernels([kernel])
    assert image.requirements.sub_group_sizes == ()


@pytest.mark.behaviour("RT-17", "DIM-01")
def test_a_required_work_group_size_is_the_local_size(device):
    kernel = lp.reqd_work_group_size(2, 4)(sizes)
    out = lp.zeros((4, 8), lp.i32, device=device)
    kernel[4, 8](out)
    assert (out.numpy() == 2004).all()
    image = executable_for(kernel, 2, device).image
    (entry,) = reflect(image.spirv).entry_points
    assert entry.local_size is not None and entry.local_size.size == (4, 2, 1)  # reversed
    assert image.requirements.work_group_sizes == ((2, 4),)


@pytest.mark.behaviour("RT-14")
def test_another_local_size_is_an_nd_range_error(device):
    kernel = lp.reqd_work_group_size(16)(fill)
    out = lp.zeros(64, device=device)
    with pytest.raises(lp.NdRangeError, match="requires local size") as caught:
        kernel[lp.NdRange(64, 32)](out)
    assert caught.value.errc is lp.Errc.ND_RANGE
    kernel[lp.NdRange(64, 16)](out)
    assert out.numpy().all()
    with pytest.raises(
        lp.NdRangeError, match=r"local size \(16,\); found a range of 2 dimensions, expected 1"
    ):
        lp.reqd_work_group_size(16)(sizes)[4, 8](lp.zeros((4, 8), lp.i32, device=device))


@pytest.mark.behaviour("RT-08", "RT-10", "FT-07")
def test_fixed_targets_refuse_other_devices(device, make_module):
    target = "nvidia_h200" if "nvidia_h200" not in device.targets else "lavapipe"
    text = "@lp.kernel\ndef k(out: lp.Array[lp.f32]):\n    out[lp.global_id(0)] = 1.0\n"
    module = make_module(f"lp.compile_options(fixed_targets=[{target!r}])\n{text}")
    message = refused(module.k, device)
    assert message.splitlines()[0] == (
        f"Kernel was compiled with '-fsycl-fixed-targets={target}' but was submitted to a different device."
    )
    for own in device.targets:
        mine = make_module(f"lp.compile_options(fixed_targets=[{own!r}, {target!r}])\n{text}")
        out = lp.zeros(4, device=device)
        mine.k[4](out)
        assert out.numpy().all()


@pytest.mark.behaviour("RT-06", "REQ-09", "EXT-07")
@pytest.mark.parametrize(
    "requirements",
    [
        Requirements(aspects=(lp.Aspect.ACCELERATOR,)),
        Requirements(work_group_sizes=((4099,),)),
        Requirements(sub_group_sizes=(1024,)),
        Requirements(fixed_targets=()),
    ],
    ids=["aspect", "work-group", "sub-group", "fixed-target"],
)
def test_requirements_come_before_the_code(device, requirements):
    good = executable_for(fill, 1, device).image
    fields = {n: getattr(good, n) for n in ("kernels", "spec_constants", "target_env")}
    garbage = DeviceImage(spirv=b"\x03\x02\x23\x07" + b"\xff" * 60, requirements=requirements, **fields)
    read = requirements_of_properties(requirement_properties(garbage.requirements))
    assert read == garbage.requirements and list(unmet(device, read))
    with lp.trace() as trace, pytest.raises(lp.KernelNotSupportedError):
        launch(
            device.default_queue,
            garbage,
            garbage.kernel("fill"),
            (4,),
            None,
            [lp.zeros(4, device=device)],
            {},
        )
    assert trace.count("module") == 0


@pytest.mark.behaviour("EXT-07")
def test_an_empty_set_of_targets_runs_nowhere(device):
    properties = requirement_properties(Requirements(fixed_targets=()))
    assert properties[REQUIREMENT_SET] == {"fixed_target": b""}
    assert list(unmet(device, Requirements(fixed_targets=()))) == ["any fixed target"]
    targets = [device_config().target(name).aspect_number for name in ("nvidia_h200", "apple_m2_moltenvk")]
    assert list(unmet(device, Requirements(fixed_targets=(*targets, 1 << 30)))) in (
        ["fixed target nvidia_h200 or apple_m2_moltenvk or 1073741824"],
        [],  # one of them
    )
    assert list(unmet(device, Requirements())) == []


@pytest.mark.behaviour("RT-13")
def test_a_supported_kernel_runs_beside_unsupported_ones(device, make_module):
    module = make_module(
        "@lp.kernel\ndef plain(out: lp.Array[lp.f32]):\n    out[lp.global_id(0)] = 1.0\n"
        + "".join(
            f"@lp.device_has(lp.Aspect.{name})\n@lp.kernel\ndef k{i}(out: lp.Array[lp.f32]):\n    out[0] = {i}.0\n"
            for i, name in enumerate(
                ["ACCELERATOR", "CUSTOM", "FP64", "FP16", "ATOMIC64", "HOST_DEBUGGABLE", "EMULATED"]
            )
        )
    )
    kernels = [module.plain, *(getattr(module, f"k{i}") for i in range(7))]
    images = compile_kernels(kernels)
    assert len(images) == 8
    without = device.masked(without=[lp.Aspect.FP64, lp.Aspect.FP16, lp.Aspect.ATOMIC64])
    out = lp.zeros(4, device=without)
    module.plain[4](out)
    assert out.numpy().all()


@pytest.mark.behaviour("ASP-19")
def test_nothing_is_required_for_notional_features():
    (image,) = compile_kernels([sub_group_sizes])
    assert image.requirements.aspects == (lp.Aspect.VK_SUBGROUP_BASIC,)


def test_a_hint_is_only_a_default(device):
    @lp.kernel
    def local(out: lp.Array[lp.i32]):
        out[lp.global_id(0)] = lp.local_range(0)

    hinted = lp.work_group_size_hint(2)(local)
    out = lp.zeros(8, lp.i32, device=device)
    hinted[8](out)
    assert set(out.numpy().tolist()) == {2}
    hinted[lp.NdRange(8, 4)](out)
    assert set(out.numpy().tolist()) == {4}
    lp.work_group_size_hint(2**20)(local)[8](out)
    lp.work_group_size_hint(2, 2)(local)[8](out)
    assert np.all(out.numpy() > 0)
