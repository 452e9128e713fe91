"""What decorators and options of a module say decides where a kernel runs: the real ones, through every query."""

from __future__ import annotations

import struct
import warnings
from dataclasses import replace

import pytest

import lapilli as lp
from lapilli.frontend.unit_images import images_of_kernel
from lapilli.ir.property_set import requirement_properties
from lapilli.vk_runtime.compatibility import is_environment_supported

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)


@lp.kernel
def plain(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.device_has(lp.Aspect.FP64)
@lp.kernel
def declares_fp64(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
@lp.device_has(lp.Aspect.FP64, lp.Aspect.FP16)
def declares_two(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
@lp.device_has(lp.Aspect.CUSTOM)
def declares_what_nobody_has(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.device_has()
@lp.kernel
def declares_nothing(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.reqd_work_group_size(8)
@lp.kernel
def eight(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.reqd_work_group_size(4294967295)
@lp.kernel
def enormous(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.reqd_work_group_size(2**40, 3)
@lp.kernel
def beyond_32_bits(x: lp.Array[lp.f32, 2]):
    x[lp.global_id(0), lp.global_id(1)] = 1.0


@lp.reqd_sub_group_size(4099)
@lp.kernel
def wide(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.reqd_sub_group_size(lp.SubGroupSize.PRIMARY)
@lp.kernel
def primary(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


def check(device: lp.Device, kernel: object, expected: bool) -> None:
    """Whether every query and factory agrees that a device runs a kernel, or does not."""
    context = lp.Context([device])
    assert lp.is_compatible(kernel=kernel, dev=device) is expected
    assert lp.is_compatible([lp.get_kernel_id(kernel)], device) is expected
    assert lp.is_compatible([plain, kernel], device) is expected
    for state in STATES:
        assert lp.has_kernel_bundle(context, state=state, kernel=kernel) is expected
        assert lp.has_kernel_bundle(context, [device], state=state, kernel_ids=[plain, kernel]) is expected
        if expected:
            assert lp.get_kernel_bundle(context, state=state, kernel=kernel).has_kernel(kernel, device)
        else:
            for arguments in ({"kernel": kernel}, {"kernel_ids": [plain, kernel]}):
                text = rf"{kernel.name}' runs on none .*\(lacks "  # type: ignore[attr-defined]
                with pytest.raises(lp.InvalidError, match=text) as caught:
                    lp.get_kernel_bundle(context, [device], state=state, **arguments)
                assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.behaviour("ISC-03", "GKB-14")
def test_a_declared_aspect_must_be_there_whether_it_is_used_or_not(device):
    for dev in (device, device.masked(without=[lp.Aspect.FP64]), device.masked(without=[lp.Aspect.FP16])):
        check(dev, declares_fp64, dev.has(lp.Aspect.FP64))
        check(dev, declares_two, dev.has(lp.Aspect.FP64) and dev.has(lp.Aspect.FP16))
        check(dev, declares_what_nobody_has, False)
        check(dev, declares_nothing, True)


@pytest.mark.behaviour("ISC-07", "GKB-14")
def test_required_sizes_take_part(device):
    check(device, eight, True)
    check(device, enormous, False)
    check(device, beyond_32_bits, False)
    check(device, wide, False)
    check(device, primary, True)
    check(device.masked(limits={"max_work_group_size": 7}), eight, False)
    check(device.masked(limits={"max_work_item_sizes": (64, 64, 7)}), eight, False)
    check(device.masked(limits={"max_work_item_sizes": (1, 1, 8)}), eight, True)


@pytest.mark.behaviour("ISC-07")
def test_a_sub_group_size_of_the_device_is_compatible(device, make_module):
    text = (
        "@lp.reqd_sub_group_size({})\n@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = 1.0\n"
    )
    width = device.info.sub_group_sizes[-1]
    check(device, make_module(text.format(width)).k, True)
    check(device, make_module(text.format(2 * width)).k, False)
    check(device.masked(limits={"sub_group_sizes": ()}), make_module(text.format(width)).k, False)


@pytest.mark.behaviour("ISC-04")
def test_a_module_of_fixed_targets_runs_on_these(device, make_module):
    text = "lp.compile_options(fixed_targets={})\n@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[0] = 1.0\n"
    foreign = next(name for name in ("nvidia_h200", "lavapipe") if name not in device.targets)
    check(device, make_module(text.format([foreign])).k, False)
    assert device.targets
    for own in device.targets:
        check(device, make_module(text.format([own])).k, True)
        check(device, make_module(text.format([foreign, own])).k, True)


@pytest.mark.behaviour("ISC-02", "ISC-07", "FT-01", "GKB-14", "HKB-02")
def test_a_kernel_needs_what_it_uses_whatever_its_module_asserts(device, make_module):
    """The image of fixed targets is for the device as a whole; a launch of these kernels would be refused."""
    groups, width = 2 * device.info.max_work_group_size, 2 * device.info.sub_group_sizes[-1]
    lesser = device.masked(without=[lp.Aspect.FP64])
    module = make_module(
        f"lp.compile_options(fixed_targets={[*device.targets]!r}, device_code_split='off')\n"
        "@lp.kernel\ndef plain(x: lp.Array[lp.f32]): x[0] = 1.0\n"
        "@lp.kernel\ndef doubles(x: lp.Array[lp.f64]): x[0] = x[0] * 2.0\n"
        f"@lp.reqd_work_group_size({groups})\n@lp.kernel\ndef large(x: lp.Array[lp.f32]): x[0] = 1.0\n"
        f"@lp.reqd_sub_group_size({width})\n@lp.kernel\ndef wide(x: lp.Array[lp.f32]): x[0] = 1.0\n"
    )
    context = lp.Context([lesser])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lp.AspectWarning)
        bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=module.plain)
        inputs = lp.get_kernel_bundle(context, state=INPUT, kernel=module.plain)
    for kernel, need in (
        (module.plain, None),
        (module.doubles, "fp64"),
        (module.large, f"work-group size {groups}"),
        (module.wide, f"sub-group size {width}"),
    ):
        for found in (bundle, inputs):
            assert found.has_kernel(kernel) and found.has_kernel(kernel, lesser) is (need is None)
        check(lesser, kernel, need is None)
        if need is not None:
            with pytest.raises(lp.InvalidError, match=need):
                lp.get_kernel_bundle(context, state=INPUT, kernel=kernel)
            x = lp.zeros(4, lp.f64 if need == "fp64" else lp.f32, device=lesser)
            with pytest.raises(lp.KernelNotSupportedError):
                lp.Queue(lesser, context=context).parallel_for(4, bundle.get_kernel(kernel), x)


@pytest.mark.behaviour("ISC-04")
def test_code_for_a_newer_environment_is_not_compatible(device):
    (image,) = lp.get_kernel_bundle(lp.Context([device]), state=EXECUTABLE, kernel=plain)
    env = image.binary.target_env
    assert image.is_compatible(device) and is_environment_supported(env, device)
    major, minor = device.target_env.vulkan_version
    for newer in (
        replace(env, vulkan_version=(major, minor + 1)),
        replace(env, max_push_constant_bytes=device.target_env.max_push_constant_bytes + 4),
        replace(env, signed_zero_inf_nan_preserve_bits=(8,)),
    ):
        assert not is_environment_supported(newer, device)
    older = device.masked(limits={"maxPushConstantsSize": 64})
    assert not image.is_compatible(older)
    assert lp.is_compatible([plain], older)  # compiled again for it


@pytest.mark.behaviour("KID-06", "KID-03")
def test_decorators_above_the_kernel_make_no_second_one(fresh):
    fresh("""
@lp.work_group_size_hint(8)
@lp.device_has()
@lp.reqd_work_group_size(8)
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
@lp.device_has()
def b(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
assert [i.name for i in lp.get_kernel_ids()] == ["b", "a"] or [i.name for i in lp.get_kernel_ids()] == ["a", "b"]
assert lp.get_kernel_id(a) is lp.get_kernel_id("a") is a.kernel_id
bundle = lp.get_kernel_bundle(context, state=EXECUTABLE)
assert set(bundle.get_kernel_ids()) == {a.kernel_id, b.kernel_id}

wider = lp.reqd_work_group_size(16)(b)  # both are in use: two kernels
assert wider.kernel_id is not b.kernel_id and len(set(lp.get_kernel_ids())) == 3
queue = lp.Queue(device, context=context)
for kernel, size in ((wider, 16), (a, 8)):
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=kernel)
    x = lp.zeros(32, device=device)
    with queue.submit() as group:
        group.use_kernel_bundle(bundle)
        group.parallel_for(lp.NdRange(32, size), kernel, x)
    queue.wait()
    assert x.numpy().all()
    try:
        with queue.submit() as group:
            group.use_kernel_bundle(bundle)
            group.parallel_for(lp.NdRange(32, 4), kernel, x)
    except lp.NdRangeError:
        pass
    else:
        raise AssertionError("the attribute is lost")
""")


def test_properties_say_what_the_image_requires(device, make_module):
    module = make_module("""
lp.compile_options(device_code_split="per_kernel")
@lp.kernel
@lp.device_has(lp.Aspect.FP64, lp.Aspect.CPU, lp.Aspect.GPU)
@lp.reqd_work_group_size(2, 3)
@lp.reqd_sub_group_size(16)
def k(x: lp.Array[lp.f32, 2]): x[lp.global_id(0), lp.global_id(1)] = 1.0
@lp.kernel
def free(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
""")
    (free,) = lp.get_kernel_bundle(lp.Context([device]), state=INPUT, kernel=module.free)
    assert free.properties == {"SYCL/device requirements": {}}
    (source,) = images_of_kernel("test", module.k.kernel_id, device.target_env)
    assert source.requirements.aspects == (1, 2, 6)
    found = requirement_properties(source.requirements)["SYCL/device requirements"]
    assert {name: struct.unpack(f"<{len(data) // 4}I", data) for name, data in found.items()} == {
        "aspect": (1, 2, 6),
        "reqd_sub_group_size": (16,),
        "reqd_work_group_size": (2, 2, 3),
    }


def test_fixed_targets_are_numbers_in_the_properties(device, make_module):
    own = device.targets[0]
    text = (
        f"lp.compile_options(fixed_targets=[{own!r}])\n@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[0] = 1.0\n"
    )
    for state in STATES:
        (image,) = lp.get_kernel_bundle(lp.Context([device]), state=state, kernel=make_module(text).k)
        (number,) = struct.unpack("<I", image.properties["SYCL/device requirements"]["fixed_target"])
        assert device.has(number) and image.requirements.fixed_targets == (number,)


def test_a_kernel_that_cannot_be_compiled_keeps_what_it_declares(device, make_module):
    module = make_module("""
@lp.kernel
@lp.device_has(lp.Aspect.CUSTOM)
def declared(x: lp.Array[lp.f32]): x[0] = missing
@lp.reqd_work_group_size(4294967295)
@lp.kernel
def sized(x: lp.Array[lp.f32]): x[0] = missing
@lp.reqd_sub_group_size(4099)
@lp.kernel
def grouped(x: lp.Array[lp.f32]): x[0] = missing
@lp.kernel
def free(x: lp.Array[lp.f32]): x[0] = missing
""")
    for kernel in (module.declared, module.sized, module.grouped):
        check(device, kernel, False)
    assert lp.is_compatible([module.free], device)


class TestWarnings:
    TEXT = """
@lp.kernel
@lp.device_has()
def k(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0
"""

    @pytest.fixture
    def module(self, device, make_module):
        if not device.has(lp.Aspect.FP64):
            pytest.skip("the device has no fp64")
        return make_module(self.TEXT)

    def test_the_first_compilation_of_a_bundle_warns(self, device, module):
        context = lp.Context([device])
        source = lp.get_kernel_bundle(context, state=INPUT, kernel=module.k)  # nothing is compiled
        assert lp.has_kernel_bundle(context, state=EXECUTABLE, kernel=module.k)
        with pytest.warns(lp.AspectWarning, match="fp64") as caught:
            lp.compile(source)
        assert len(caught) == 1 and caught[0].filename == __file__
        lp.build(source)
        module.k[1](lp.zeros(1, lp.f64, device=device))  # once in the process

    def test_a_warning_that_is_an_error_leaves_nothing_behind(self, device, module):
        context = lp.Context([device])
        for _ in range(2):
            with pytest.raises(lp.AspectWarning):
                lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=module.k)
