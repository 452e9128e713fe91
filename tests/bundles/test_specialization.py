"""Specialization constants of bundles: set in INPUT, kept from state to state, native on the device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel
from lapilli.vk_runtime.submission import submitting

from . import kernels, other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)
each_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
COEFF, TABLE, UNREAD = kernels.COEFF, kernels.TABLE, kernels.UNREAD


def get(context, state, *wanted):
    return lp.get_kernel_bundle(context, state=state, kernel_ids=wanted or [kernels.scaled])


def carried(source: lp.KernelBundle, state: lp.BundleState) -> lp.KernelBundle:
    return {INPUT: lambda x: x, OBJECT: lp.compile, EXECUTABLE: lp.build}[state](source)


@pytest.mark.behaviour("SC-13", "SC-14", "SC-15")
@each_state
def test_what_a_bundle_says_of_its_constants(context, state):
    bundle = get(context, state)
    assert bundle.contains_specialization_constants() and bundle.has_spec_constant()
    assert bundle.native_specialization_constant() and bundle.native_spec_constant()
    assert bundle.has_specialization_constant(COEFF) and bundle.has_specialization_constant(TABLE)
    assert not bundle.has_specialization_constant(UNREAD)
    without = get(context, state, other_kernels.scaled)
    assert not without.contains_specialization_constants() and without.native_specialization_constant()
    assert not without.has_specialization_constant(COEFF)
    empty = lp.get_kernel_bundle(context, state=state, kernel_ids=[])
    assert not empty.contains_specialization_constants() and not empty.native_specialization_constant()
    assert not empty.has_specialization_constant(COEFF)


@pytest.mark.behaviour("SC-19", "SC-17", "SC-20")
@each_state
def test_values_are_kept_from_state_to_state(context, state):
    source = get(context, INPUT)
    assert carried(source, state).get_specialization_constant(COEFF) == 2.0
    source.set_specialization_constant(COEFF, 21)
    source.set_specialization_constant(COEFF, 22)
    source.set_specialization_constant(TABLE, [4, 5, 6])
    source.set_specialization_constant(UNREAD, 9)
    bundle = carried(source, state)
    assert bundle.get_specialization_constant(COEFF) == 22.0
    assert type(bundle.get_specialization_constant(COEFF)) is float
    np.testing.assert_array_equal(bundle.get_specialization_constant(TABLE), [4, 5, 6])
    assert bundle.get_specialization_constant(UNREAD) == 9
    assert not bundle.has_specialization_constant(UNREAD)
    values = bundle.specialization_constants
    assert set(values) == {COEFF, TABLE, UNREAD} and values[COEFF] == 22.0
    with pytest.raises(TypeError):
        values[COEFF] = 1.0  # type: ignore[index]


@pytest.mark.behaviour("SC-16")
@pytest.mark.parametrize("state", [OBJECT, EXECUTABLE], ids=lambda state: state.name)
def test_values_are_set_on_input_bundles_only(context, state):
    bundle = get(context, state)
    with pytest.raises(TypeError, match=f"{state.name}.*INPUT"):
        bundle.set_specialization_constant(COEFF, 1.0)
    assert bundle.get_specialization_constant(COEFF) == 2.0


@pytest.mark.behaviour("SC-17", "SC-08")
def test_the_last_value_reaches_the_device_through_one_module(device, context):
    source = get(context, INPUT)
    with lp.trace() as trace:
        for value in (3.0, 4.0, 0.5):
            source.set_specialization_constant(COEFF, -1.0)
            source.set_specialization_constant(COEFF, value)
            bundle = lp.build(source)
            x = lp.full(3, 8.0, device=device)
            launch_kernel(device.default_queue, bundle.get_kernel(kernels.scaled), 3, (x,))
            assert x.numpy().tolist() == [8.0 * value] * 3
    assert trace.count("module") <= 1 and trace.count("compile") <= 1
    (image,) = bundle
    assert "OpDecorate" in image.disassemble() and "SpecId 0" in image.disassemble()


def test_composite_values_reach_the_device(device, context):
    source = get(context, INPUT, kernels.looked_up)
    source.set_specialization_constant(TABLE, [30, 20, 10])
    x = lp.asarray(np.int32([0, 1, 2, 0]), device=device)
    launch_kernel(device.default_queue, lp.build(source).get_kernel(kernels.looked_up), 4, (x,))
    assert x.numpy().tolist() == [30, 20, 10, 30]


@pytest.mark.behaviour("SC-18")
def test_no_value_is_set_while_a_command_group_is_submitted(context):
    source = get(context, INPUT)
    with submitting(), pytest.raises(lp.InvalidError, match="submitted"):
        source.set_specialization_constant(COEFF, 1.0)
    source.set_specialization_constant(COEFF, 1.0)
    assert source.get_specialization_constant(COEFF) == 1.0


@pytest.mark.behaviour("SC-21", "SC-22")
def test_linking_joins_the_values(device, context):
    first, second = get(context, INPUT), get(context, INPUT, shifted)
    first.set_specialization_constant(COEFF, 10.0)
    second.set_specialization_constant(SHIFT, 0.25)
    linked = lp.link([lp.compile(first), lp.compile(second)])
    assert linked.get_specialization_constant(COEFF) == 10.0
    assert linked.get_specialization_constant(SHIFT) == 0.25
    x = lp.ones(2, device=device)
    for kernel in (kernels.scaled, shifted):
        launch_kernel(device.default_queue, linked.get_kernel(kernel), 2, (x,))
    assert x.numpy().tolist() == [10.25] * 2
    second.set_specialization_constant(COEFF, 10.0)
    assert lp.link([lp.compile(first), lp.compile(second)]).get_specialization_constant(COEFF) == 10.0
    second.set_specialization_constant(COEFF, 11.0)
    with pytest.raises(lp.InvalidError, match=r"COEFF.*10\.0 and 11\.0"):
        lp.link([lp.compile(first), lp.compile(second)])


@pytest.mark.behaviour("SC-22", "JN-08")
@pytest.mark.parametrize(
    "together",
    [
        lambda parts: lp.link([lp.compile(p) for p in parts]),
        lambda parts: lp.join([lp.build(p) for p in parts]),
        lambda parts: lp.build(lp.join(parts)),
    ],
    ids=["link", "join executables", "join inputs"],
)
def test_a_constant_of_several_bundles_has_one_value_on_the_device(device, context, together):
    """Equal values, or one and none: every kernel computes with it.  Different ones are refused, also the default."""
    for first_value, second_value in (
        (4.0, 4.0),
        (4.0, None),
        (None, 4.0),
        (None, None),
        (4.0, 5.0),
        (2.0, 5.0),
    ):
        first, second = get(context, INPUT, kernels.scaled), get(context, INPUT, also_scaled)
        for part, value in ((first, first_value), (second, second_value)):
            if value is not None:
                part.set_specialization_constant(COEFF, value)
        if None not in (first_value, second_value) and first_value != second_value:
            with pytest.raises(lp.InvalidError, match=r"COEFF.*different"):
                together([first, second])
            continue
        bundle, expected = together([first, second]), first_value or second_value or COEFF.default
        assert bundle.get_specialization_constant(COEFF) == expected
        x = lp.ones(2, device=device)
        for kernel in (kernels.scaled, also_scaled):
            launch_kernel(device.default_queue, bundle.get_kernel(kernel), 2, (x,))
        assert x.numpy().tolist() == [expected * expected] * 2


@lp.kernel
def also_scaled(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= COEFF


SHIFT = lp.SpecializationId(lp.f32, 1.0)


@lp.kernel
def shifted(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += SHIFT


@pytest.mark.parametrize(("constant", "value"), [(COEFF, "1"), (TABLE, [1, 2]), (UNREAD, -1), (UNREAD, None)])
def test_values_that_do_not_fit_change_nothing(context, constant, value):
    source = get(context, INPUT)
    with pytest.raises(lp.KernelArgumentError) as caught:
        source.set_specialization_constant(constant, value)
    assert constant.name in str(caught.value)
    np.testing.assert_array_equal(source.get_specialization_constant(constant), constant.default)


@pytest.mark.parametrize("wrong", ["COEFF", 3, None, lp.SpecializationId, kernels.scaled])
def test_something_that_is_no_constant(context, wrong):
    source = get(context, INPUT)
    for call in (
        lambda: source.has_specialization_constant(wrong),
        lambda: source.get_specialization_constant(wrong),
        lambda: source.set_specialization_constant(wrong, 1),
    ):
        with pytest.raises(TypeError, match="SpecializationId"):
            call()


LENGTH = lp.SpecializationId(lp.u32, 8)


@lp.kernel(local_size=4)
def sized_by_constant(x: lp.Array[lp.i32]):
    shared = lp.local.array(LENGTH, lp.i32)
    shared[lp.local_id(0)] = lp.local_id(0)
    lp.barrier()
    x[lp.global_id(0)] = shared[3 - lp.local_id(0)]


def test_a_module_is_valid_whatever_values_the_lengths_of_its_arrays_have(device, context):
    """Validation layers specialise a module for each of its kernels, those without the array too."""
    for bundle_image in get(context, OBJECT, sized_by_constant):
        (constant,) = (found for found in bundle_image.binary.spec_constants if found.name.endswith("LENGTH"))
        for value in (0, 1, 0xFFFF_FFFF):
            changed = lp.spirv.set_spec_constant_defaults(
                bundle_image.spirv(), {constant.leaves[0].spec_id: value}
            )
            lp.spirv.validate(lp.spirv.freeze_spec_constants(changed))


def test_a_length_that_cannot_be_is_told_at_the_launch(device, context):
    source = get(context, INPUT, sized_by_constant)
    x = lp.zeros(4, lp.i32, device=device)
    for value, error, text in (
        (0, lp.InvalidError, "'sized_by_constant': the length LENGTH of an array is 0.*LENGTH is 0"),
        (
            1 << 29,
            lp.KernelNotSupportedError,
            r"'sized_by_constant' needs 2147483648 bytes.*maxComputeSharedMemorySize.*LENGTH = 536870912 elements",
        ),
    ):
        source.set_specialization_constant(LENGTH, value)
        kernel = lp.build(source).get_kernel(sized_by_constant)  # other kernels of the image can run
        with pytest.raises(error, match=text):
            launch_kernel(device.default_queue, kernel, 4, (x,))
    source.set_specialization_constant(LENGTH, 4)
    kernel = lp.build(source).get_kernel(sized_by_constant)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, kernel, 4, (x,))
    assert x.numpy().tolist() == [3, 2, 1, 0]
    assert trace.count("pipeline") == 0
