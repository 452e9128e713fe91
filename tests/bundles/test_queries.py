"""lp.has_kernel_bundle and lp.is_compatible: answers without compiling."""

from __future__ import annotations

import itertools

import pytest

import lapilli as lp
from lapilli.ir.kernel_info import Requirements
from lapilli.vk_runtime.compatibility import is_supported

from . import kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
each_state = pytest.mark.parametrize("state", (INPUT, OBJECT, EXECUTABLE), ids=lambda state: state.name)
OVERLOADS = {
    "plain": {},
    "ids": {"kernel_ids": [kernels.scaled]},
    "no ids": {"kernel_ids": []},
    "kernel": {"kernel": kernels.scaled},
}
each_overload = pytest.mark.parametrize("overload", OVERLOADS)
ALL = (kernels.scaled, *kernels.ASPECTS)


# Has_kernel_bundle


@pytest.mark.behaviour("HKB-01", "HKB-02")
def test_an_application_without_kernels_has_no_bundle(fresh):
    fresh("""
for state in (INPUT, OBJECT, EXECUTABLE):
    assert lp.has_kernel_bundle(context, state=state) is False
    assert lp.has_kernel_bundle(context, [device], state=state) is False
    assert lp.has_kernel_bundle(context, state=state, kernel_ids=[]) is True

@lp.kernel
def a(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0
lesser = device.masked(without=[lp.Aspect.FP64])
without = lp.Context([lesser])
for state in (INPUT, OBJECT, EXECUTABLE):
    assert lp.has_kernel_bundle(context, state=state) is device.has(lp.Aspect.FP64)
    assert lp.has_kernel_bundle(without, state=state) is False  # its one kernel needs doubles

@lp.kernel
def b(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
with lp.trace() as trace:
    for state in (INPUT, OBJECT, EXECUTABLE):
        assert lp.has_kernel_bundle(without, state=state) is True
assert not trace.events
""")


@pytest.mark.behaviour("HKB-02", "HKB-07", "HKB-06")
@each_state
def test_several_kernels_are_the_conjunction(context, device, lesser, pair, state):
    for ctx in (context, pair, lp.Context([lesser])):
        single = {
            kernel: lp.has_kernel_bundle(ctx, state=state, kernel_ids=[kernel.kernel_id]) for kernel in ALL
        }
        for kernel, expected in single.items():
            assert expected is any(lp.is_compatible([kernel], dev) for dev in ctx.devices)
            assert expected is lp.has_kernel_bundle(ctx, state=state, kernel=kernel)
            assert expected is lp.has_kernel_bundle(ctx, list(ctx.devices), state=state, kernel=kernel)
        for some in itertools.combinations(ALL, 2):
            found = lp.has_kernel_bundle(ctx, ctx.devices, state=state, kernel_ids=some)
            assert found is all(single[kernel] for kernel in some)


@pytest.mark.behaviour("HKB-03")
@each_overload
@pytest.mark.parametrize(
    ("state", "aspect"), [(INPUT, lp.Aspect.ONLINE_COMPILER), (OBJECT, lp.Aspect.ONLINE_LINKER)]
)
def test_a_device_without_compiler_or_linker_gives_false(device, state, aspect, overload):
    masked = device.masked(without=[aspect])
    for devices in ([masked], [device, masked]):
        context = lp.Context(devices)
        assert lp.has_kernel_bundle(context, state=state, **OVERLOADS[overload]) is False
        with pytest.raises(lp.InvalidError):
            lp.get_kernel_bundle(context, state=state, **OVERLOADS[overload])


@pytest.mark.behaviour("HKB-04", "HKB-05")
@each_state
@each_overload
def test_wrong_devices_are_errors_here_too(device, context, state, overload):
    other = device.masked(without=[lp.Aspect.FP64])
    for devs in ([], [other], [device, other]):
        with pytest.raises(lp.InvalidError):
            lp.has_kernel_bundle(context, devs, state=state, **OVERLOADS[overload])


@pytest.mark.behaviour("HKB-06")
def test_unknown_kernels_are_errors_here_too(context):
    with pytest.raises(lp.UnknownKernelError, match="absent"):
        lp.has_kernel_bundle(context, state=INPUT, kernel="absent")
    with pytest.raises(TypeError, match="kernel_ids and kernel"):
        lp.has_kernel_bundle(context, state=INPUT, kernel_ids=[], kernel=kernels.scaled)


# Is_compatible


@pytest.mark.behaviour("ISC-01", "ISC-02")
def test_compatibility_is_having_the_aspects(device):
    assert lp.is_compatible([], device)
    devices = [device, *(device.masked(without=[aspect]) for aspect in kernels.ASPECTS.values())]
    for dev in devices:
        assert lp.is_compatible([kernels.scaled.kernel_id], dev)
        for kernel, aspect in kernels.ASPECTS.items():
            assert lp.is_compatible([kernel.kernel_id], dev) is dev.has(aspect)
        for some in itertools.product(ALL, repeat=2):
            expected = all(lp.is_compatible([kernel], dev) for kernel in some)
            assert lp.is_compatible(some, dev) is expected


@pytest.mark.behaviour("ISC-06")
def test_kernel_is_the_list_of_its_id(device):
    for kernel in ALL:
        expected = lp.is_compatible([kernel.kernel_id], device)
        for name in (kernel, kernel.kernel_id, kernel.qualified_name):
            assert lp.is_compatible(kernel=name, dev=device) is expected
    with pytest.raises(lp.UnknownKernelError):
        lp.is_compatible(kernel="absent", dev=device)


def test_arguments_of_the_wrong_kind(device):
    for call in (
        lambda: lp.is_compatible(dev=device),
        lambda: lp.is_compatible([], device, kernel=kernels.scaled),
        lambda: lp.is_compatible(kernels.scaled, device),
        lambda: lp.is_compatible([kernels.scaled], "lavapipe"),
    ):
        with pytest.raises(TypeError, match="is_compatible"):
            call()


def test_required_sizes_take_part(device):
    most, sizes = device.info.max_work_group_size, device.info.max_work_item_sizes
    for size, expected in (
        ((8,), True),
        ((1, 1, 8), True),
        ((sizes[2],), sizes[2] <= most),
        ((sizes[2] + 1,), False),
        ((sizes[0] + 1, 1, 1), False),
        ((1, sizes[1] + 1, 1), False),
        ((most + 1,), False),
        ((4294967295,), False),
        ((2**32, 2**32), False),
        ((0,), False),
    ):
        assert is_supported(Requirements(work_group_sizes=(size,)), device) is expected, size
    assert is_supported(Requirements(work_group_sizes=((8,), (1, 4))), device)
    assert not is_supported(Requirements(work_group_sizes=((8,), (4294967295,))), device)
    for width in device.info.sub_group_sizes:
        assert is_supported(Requirements(sub_group_sizes=(width,)), device)
    assert not is_supported(Requirements(sub_group_sizes=(4099,)), device)
    less = device.masked(limits={"max_work_group_size": 16})
    assert is_supported(Requirements(work_group_sizes=((16,),)), less)
    assert not is_supported(Requirements(work_group_sizes=((17,),)), less)


def test_fixed_targets_take_part(device):
    assert is_supported(Requirements(fixed_targets=None), device)
    assert not is_supported(Requirements(fixed_targets=()), device)
    assert not is_supported(Requirements(fixed_targets=(123456789,)), device)
