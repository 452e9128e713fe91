"""``get_info`` and ``info`` of kernels and of the other objects."""

from __future__ import annotations

import inspect
import io
import math

import pytest

import lapilli as lp
from lapilli.vk_runtime.headers import ffi
from lapilli.vk_runtime.pipeline import PipelineStore
from lapilli.vk_runtime.pipeline_statistics import read_statistics

pytestmark = pytest.mark.device

EXECUTABLE = lp.BundleState.EXECUTABLE
SPECIFIC = lp.info.kernel_device_specific
LENGTH = lp.SpecializationId(lp.i32, 10)


@lp.kernel
def plain(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.device_has(lp.Aspect.CPU)
@lp.reqd_work_group_size(2, 3, 4)
@lp.kernel
def boxed(x: lp.Array[lp.f32, 3]):
    x[lp.global_id(0), lp.global_id(1), lp.global_id(2)] = 1.0


@lp.work_group_size_hint(8)
@lp.reqd_work_group_size(16)
@lp.kernel
def sixteen(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
def with_memory(x: lp.Array[lp.f32]):
    kept = lp.private.array(LENGTH, lp.f32)
    for i in range(LENGTH):
        kept[i] = x[i]
    total = 0.0
    for i in range(LENGTH):
        total += kept[LENGTH - 1 - i] * kept[i]
    x[lp.global_id(0)] = total


def kernel_of(context: lp.Context, function: object) -> lp.Kernel:
    if not lp.has_kernel_bundle(context, state=EXECUTABLE, kernel=function):
        pytest.skip("no device of the context runs this kernel")
    return lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=function).get_kernel(function)


@pytest.mark.behaviour("INT-01")
def test_the_largest_work_group_and_devices_of_the_bundle(device, context, lesser, pair):
    kernel = kernel_of(context, plain)
    assert 1 <= kernel.get_info(SPECIFIC.work_group_size, device) <= device.info.max_work_group_size
    assert kernel.get_info(SPECIFIC.work_group_size) == kernel.get_info(SPECIFIC.work_group_size, dev=device)
    small = device.masked(limits={"max_work_group_size": 16})
    assert kernel_of(lp.Context([small]), plain).get_info(SPECIFIC.work_group_size, small) == 16
    for other in [lesser, *(d for d in lp.devices() if d is not device)]:
        for descriptor in SPECIFIC:
            with pytest.raises(lp.InvalidError, match="none of the kernel bundle's") as caught:
                kernel.get_info(descriptor, other)
            assert caught.value.errc is lp.Errc.INVALID
    both = kernel_of(pair, plain)
    assert both.get_info(SPECIFIC.work_group_size, lesser) == lesser.info.max_work_group_size
    with pytest.raises(TypeError, match="which has 2"):
        both.get_info(SPECIFIC.work_group_size)


@pytest.mark.behaviour("INT-01")
def test_a_wrong_descriptor_is_named_beside_a_device_too(device, context):
    kernel = kernel_of(context, plain)
    with pytest.raises(TypeError, match="found 'work_group_size'"):
        kernel.get_info("work_group_size", device)
    with pytest.raises(TypeError, match="take no device"):
        kernel.get_info(lp.info.kernel.attributes, device)


@pytest.mark.behaviour("INT-02")
def test_the_required_work_group_size_or_zeros(device, context):
    assert kernel_of(context, plain).get_info(SPECIFIC.compile_work_group_size, device) == (0, 0, 0)
    assert kernel_of(context, boxed).get_info(SPECIFIC.compile_work_group_size, device) == (2, 3, 4)
    assert kernel_of(context, sixteen).get_info(SPECIFIC.compile_work_group_size, device) == (16,)


@pytest.mark.behaviour("INT-03")
def test_the_required_sub_group_size_or_zero(device, context, make_module):
    kernel = kernel_of(context, plain)
    assert kernel.get_info(SPECIFIC.compile_sub_group_size, device) == 0
    assert kernel.get_info(SPECIFIC.compile_num_sub_groups, device) == 0
    width = device.info.sub_group_sizes[0]
    unit = make_module(
        f"@lp.reqd_sub_group_size({width})\n@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0\n"
    )
    kernel = kernel_of(context, unit.k)
    assert kernel.get_info(SPECIFIC.compile_sub_group_size, device) == width
    assert kernel.get_info(SPECIFIC.max_sub_group_size, device) == width


@pytest.mark.behaviour("INT-04")
@pytest.mark.parametrize("function", [plain, boxed, sixteen], ids=lambda function: function.name)
def test_relations_between_sizes(device, context, function):
    kernel = kernel_of(context, function)
    get = lambda descriptor: kernel.get_info(descriptor, device)  # noqa: E731
    assert 1 <= get(SPECIFIC.preferred_work_group_size_multiple) <= get(SPECIFIC.work_group_size)
    assert get(SPECIFIC.max_num_sub_groups) >= 1
    assert get(SPECIFIC.max_sub_group_size) in device.info.sub_group_sizes
    assert get(SPECIFIC.max_num_sub_groups) * get(SPECIFIC.max_sub_group_size) >= get(
        SPECIFIC.work_group_size
    )
    required = get(SPECIFIC.compile_work_group_size)
    assert get(SPECIFIC.work_group_size) in (math.prod(required), device.info.max_work_group_size)


@pytest.mark.behaviour("INT-05")
def test_names_attributes_context_and_bundle(context):
    assert kernel_of(context, plain).get_info(lp.info.kernel.attributes) == ""
    kernel = kernel_of(context, boxed)
    text = kernel.get_info(lp.info.kernel.attributes)
    assert text == "device_has(cpu) reqd_work_group_size(2,3,4)" == kernel.info.attributes
    expected = "reqd_work_group_size(16) work_group_size_hint(8)"
    assert kernel_of(context, sixteen).get_info(lp.info.kernel.attributes) == expected
    assert kernel.get_info(lp.info.kernel.function_name) == kernel.info.function_name == "boxed"
    assert kernel.get_info(lp.info.kernel.context) is context is kernel.get_context()
    assert kernel.get_info(lp.info.kernel.kernel_bundle) == kernel.get_kernel_bundle() == kernel.kernel_bundle


@pytest.mark.behaviour("INT-06")
def test_ordinary_kernels_do_not_say_their_number_of_arguments(context):
    with pytest.raises(lp.InvalidError, match="num_args") as caught:
        kernel_of(context, plain).get_info(lp.info.kernel.num_args)
    assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.behaviour("INT-07")
def test_private_memory(device, context):
    value = kernel_of(context, plain).get_info(SPECIFIC.private_mem_size, device)
    assert isinstance(value, int) and value >= 0
    assert kernel_of(context, with_memory).get_info(SPECIFIC.private_mem_size, device) >= 40
    source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=with_memory)
    source.set_specialization_constant(LENGTH, 100)
    kernel = lp.build(source).get_kernel(with_memory)
    assert kernel.get_info(SPECIFIC.private_mem_size, device) >= 400


@pytest.mark.behaviour("INT-01", "INT-04", "INT-07")
def test_kernels_that_only_a_launch_completes_answer_too(device, context, make_module):
    """Shared memory of the launch, an array of length 0 or a work-group that is too large: no pipeline yet."""
    unit = make_module("""
lp.compile_options(device_code_split="per_kernel")
N = lp.SpecializationId(lp.i32)
@lp.kernel
def given(x: lp.Array[lp.i32], tile: lp.LocalArray[lp.i32]):
    tile[lp.local_id(0)] = 1
    lp.barrier()
    x[lp.global_id(0)] = tile[tile.size - 1]
@lp.kernel
def empty(x: lp.Array[lp.i32]):
    kept = lp.private.array(N, lp.i32)
    for i in range(N):
        kept[i] = i
    x[lp.global_id(0)] = kept[0]
@lp.kernel(local_size="WIDTH")
def wide(x: lp.Array[lp.i32], *, WIDTH: lp.Spec[lp.u32] = 1 << 20): x[lp.global_id(0)] = 1
""")
    for function in (unit.given, unit.empty, unit.wide):
        kernel = kernel_of(context, function)
        assert kernel.get_info(SPECIFIC.private_mem_size, device) >= 0
        assert kernel.get_info(SPECIFIC.work_group_size, device) == device.info.max_work_group_size
        assert kernel.get_info(SPECIFIC.max_num_sub_groups, device) >= 1
        for descriptor in SPECIFIC:
            if descriptor is not SPECIFIC.global_work_size:
                assert kernel.get_info(descriptor, device) is not None


def test_statistics_of_a_driver_that_has_them(device):
    """The software drivers have no VK_KHR_pipeline_executable_properties: a driver of two executables stands in."""
    rows = {0: [("Register Count", 2, 32), ("Stack Size", 2, 16)], 1: [("Stack Size", 1, 64), ("Used", 0, 1)]}

    class Functions:
        def vkGetPipelineExecutablePropertiesKHR(self, raw, info, count, out):
            count[0] = len(rows)
            return 0

        def vkGetPipelineExecutableStatisticsKHR(self, raw, info, count, out):
            found = rows[info.executableIndex]
            count[0] = len(found)
            if out != ffi.NULL:
                for index, (name, format_, value) in enumerate(found):
                    assert out[index].sType == 1000269004
                    out[index].name, out[index].format = name.encode(), format_
                    setattr(out[index].value, ("b32", "i64", "u64", "f64")[format_], value)
            return 0

    class Logical:
        raw, vk = ffi.NULL, Functions()

        def check(self, result, function):
            assert result == 0

    found = read_statistics(Logical(), ffi.NULL)  # type: ignore[arg-type]
    assert found == {"Register Count": 32, "Stack Size": 64, "Used": 1}


@pytest.mark.behaviour("INT-07")
@pytest.mark.parametrize(
    ("statistics", "expected"),
    [
        ({"Stack Size": 4096, "Register Count": 9999}, 4096),
        ({"Stack Size": 0, "Local Memory Size": 0x10_0000_0800}, 0x800),  # as NVIDIA's driver says it
    ],
)
def test_private_memory_is_what_the_driver_says(device, context, monkeypatch, statistics, expected):
    monkeypatch.setattr(PipelineStore, "statistics", lambda *_: statistics)
    assert kernel_of(context, with_memory).get_info(SPECIFIC.private_mem_size, device) == expected


# The other objects


@pytest.mark.behaviour("KID-07")
def test_every_descriptor_is_an_attribute_of_info(device, context):
    queue = lp.Queue(device, context=context)
    event = queue.submit(lambda group: group.parallel_for(1, plain, lp.zeros(1, device=device)))
    event.wait()
    for owner, descriptors in (
        (device.platform, lp.info.platform),
        (device, lp.info.device),
        (context, lp.info.context),
        (queue, lp.info.queue),
        (event, lp.info.event),
    ):
        assert list(descriptors)
        for descriptor in descriptors:
            if descriptor.name == "parent_device":
                continue
            assert owner.get_info(descriptor) == getattr(owner.info, descriptor.name)
            assert getattr(descriptors, descriptor.name) is descriptor
        for wrong in (lp.info.kernel.num_args, "name", None, 3):
            with pytest.raises(TypeError, match="get_info"):
                owner.get_info(wrong)
        with pytest.raises(AttributeError):
            _ = descriptors.nothing
    assert event.get_info(lp.info.event.command_execution_status) is lp.info.event_command_status.complete
    with pytest.raises(lp.InvalidError):
        device.get_info(lp.info.device.parent_device)


@pytest.mark.behaviour("EXN-02")
def test_devices_and_platforms_say_what_they_have(device):
    info = device.info
    assert set(device.get_info(lp.info.device.aspects)) == {a for a in lp.Aspect if device.has(a)}
    assert info.platform == device.platform and device in device.platform.get_devices()
    assert device.get_info(lp.info.device.device_type).name in ("cpu", "gpu", "accelerator", "custom")
    assert device.has(lp.Aspect.CPU) is device.is_cpu() is (info.device_type is lp.info.device_type.cpu)
    assert device.is_gpu() is device.has(lp.Aspect.GPU)
    for owner in (device, device.platform):
        with pytest.raises(
            TypeError, match=r"Device\.has takes an aspect such as lp\.Aspect\.FP64, found 'fp64'"
        ):
            owner.has("fp64")
        with pytest.raises(
            TypeError, match=r"takes an aspect such as lp\.Aspect\.FP64, found \[.*of type list"
        ):
            owner.has([lp.Aspect.FP64])  # type: ignore[arg-type]
    assert info.max_compute_units >= 1 and info.max_work_item_dimensions == 3
    assert info.max_num_sub_groups >= 1 and info.local_mem_size > 0 and info.is_compiler_available
    for widths in ("preferred_vector_width", "native_vector_width"):
        found = {name: getattr(info, f"{widths}_{name}") for name in ("float", "int", "double", "half")}
        expected = {"double": device.has(lp.Aspect.FP64), "half": device.has(lp.Aspect.FP16)}
        assert found == {"float": 1, "int": 1, **expected}
    assert "inf_nan" in info.single_fp_config and bool(info.half_fp_config) is device.has(lp.Aspect.FP16)
    without = device.masked(without=[lp.Aspect.ONLINE_COMPILER, lp.Aspect.ONLINE_LINKER])
    assert not without.info.is_compiler_available and not without.info.is_linker_available
    limits = device.masked(limits={lp.info.device.max_work_group_size: 32, lp.info.device.local_mem_size: 64})
    assert limits.get_info(lp.info.device.max_work_group_size) == 32 and limits.info.local_mem_size == 64
    for aspect in lp.Aspect:
        assert device.platform.has(aspect) is all(d.has(aspect) for d in device.platform.devices)


@pytest.mark.behaviour("EXN-02")
def test_a_platform_has_what_all_of_its_devices_have(device, monkeypatch):
    """As on machines where one driver has several devices, and one of them lacks something."""
    lesser = device.masked(without=[lp.Aspect.IMAGE])
    monkeypatch.setattr("lapilli.vk_runtime.device_list.devices", lambda: (device, lesser))
    assert device.platform.get_devices() == [device, lesser]
    assert device.has(lp.Aspect.IMAGE) and not device.platform.has(lp.Aspect.IMAGE)
    assert device.platform.has(lp.Aspect.ONLINE_COMPILER)


def test_argumentless_getters_are_attributes_too(device, context):
    queue = lp.Queue(device, context=context)
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=plain)
    kernel = bundle.get_kernel(plain)
    objects = (
        device.platform,
        device,
        context,
        queue,
        queue.event(),
        bundle,
        kernel,
        kernel.kernel_id,
        *bundle,
        lp.properties.Log(io.StringIO()),
    )
    checked = 0
    for owner in objects:
        for name in dir(type(owner)):
            if name.startswith("get_") and not _takes_arguments(getattr(owner, name)):
                value, attribute = getattr(owner, name)(), getattr(owner, name.removeprefix("get_"))
                assert value == attribute and attribute == value, (owner, name)
                checked += 1
    assert checked >= 20


def _takes_arguments(function: object) -> bool:
    return bool(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_select_device(device):
    assert lp.select_device() is lp.devices()[0]
    assert lp.select_device(lambda d: d.selector == device.selector) is device
    for aspect in (lp.Aspect.CPU, lp.Aspect.FP64, lp.Aspect.GPU):
        able = [d for d in lp.devices() if d.has(aspect)]
        if able:
            assert lp.select_device(aspects=[aspect]) is able[0]
        else:
            with pytest.raises(lp.RuntimeFailure, match=f"lacks {aspect.spelling}"):
                lp.select_device(aspects=[aspect])
        unable = [d for d in lp.devices() if not d.has(aspect)]
        if unable:
            assert lp.select_device(deny=[aspect]) is unable[0]
    with pytest.raises(lp.RuntimeFailure, match="below 0"):
        lp.select_device(lambda d: -1)
    for arguments in ({"aspects": ["fp64"]}, {"deny": 3}, {"score": 3}, {"score": str}):
        with pytest.raises(lp.InvalidError, match="select_device"):
            lp.select_device(**arguments)
    assert lp.is_backend_active(lp.Backend.VULKAN)
    with pytest.raises(lp.InvalidError):
        lp.is_backend_active("vulkan")  # type: ignore[arg-type]
