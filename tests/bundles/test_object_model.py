"""Kernel bundles and device images as objects: equality, hashing, iteration, lifetime."""

from __future__ import annotations

import copy
import gc

import pytest

import lapilli as lp

from . import kernels, other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)
each_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)


def get(context, state, *wanted):
    return lp.get_kernel_bundle(context, state=state, kernel_ids=wanted or [kernels.scaled])


@pytest.mark.behaviour("KB-01", "KB-12")
@each_state
def test_a_bundle_has_one_context_and_devices_of_it(device, lesser, pair, context, state):
    bundle = get(context, state)
    assert bundle.get_context() is bundle.context is context
    assert bundle.get_devices() == list(bundle.devices) == [device]
    assert bundle.get_backend() is bundle.backend is lp.Backend.VULKAN
    assert get(pair, state).devices == (device, lesser)


@pytest.mark.behaviour("KB-09", "KB-10")
@each_state
def test_equal_bundles(context, device, state):
    bundle = get(context, state)
    again = get(context, state)
    assert bundle == again and hash(bundle) == hash(again) and {bundle: 1}[again] == 1
    assert copy.copy(bundle) == bundle and copy.deepcopy(bundle) == bundle
    assert set(bundle) == set(again) and {*bundle, *again} == set(bundle)
    for image in bundle:
        assert copy.copy(image) == image and copy.deepcopy(image) == image
    assert bundle != get(context, state, kernels.scaled, other_kernels.scaled)
    assert bundle != get(lp.Context([device]), state)
    for other in STATES:
        if other is not state:
            assert bundle != get(context, other)
            assert set(bundle).isdisjoint(get(context, other))
    assert bundle != 3 and next(iter(bundle)) != 3


@pytest.mark.behaviour("KB-10")
def test_bundles_that_behave_differently_are_not_equal(context):
    first, second = get(context, INPUT), get(context, INPUT)
    first.set_specialization_constant(kernels.COEFF, 2.0)  # the default
    assert first == second
    key = hash(first)
    first.set_specialization_constant(kernels.COEFF, 3.0)
    assert first != second and hash(first) == key
    assert lp.build(first) != lp.build(second)


@each_state
def test_kernels_of_one_text_in_two_modules_are_different_images(context, state):
    @lp.kernel(name="twin")
    def first(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 5.0

    @lp.kernel(name="twin")
    def second(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 5.0

    bundle = get(context, state, first, second)
    assert bundle.has_kernel(first) and bundle.has_kernel(second)
    assert [name for image in bundle for name in image.kernels if name.startswith("twin")] == [
        "twin",
        "twin~2",
    ]
    assert first.kernel_id.name == second.kernel_id.name == "twin"


@each_state
def test_images_answer_for_kernels(device, context, state):
    bundle = get(context, state)
    (image,) = bundle
    for name in (kernels.scaled, kernels.scaled.kernel_id, "scaled", kernels.scaled.qualified_name):
        assert image.has_kernel(name) and image.has_kernel(name, device)
    for name in (kernels.doubled, "nope", other_kernels.scaled.kernel_id):
        assert not image.has_kernel(name)
    assert image.is_compatible(device)
    with pytest.raises(TypeError, match=r"lp\.Device"):
        image.is_compatible("lavapipe")
    with pytest.raises(TypeError, match="name"):
        image.has_kernel(3)
    for holder in (bundle, image):
        with pytest.raises(
            TypeError, match=rf"^{type(holder).__name__}.has_kernel takes an lp.Device, found 3 of type"
        ):
            holder.has_kernel(kernels.scaled, 3)
    assert repr(image) == f"<lp.DeviceImage {state.name} {image.format}: scaled, looked_up>"


@pytest.mark.behaviour("KB-06", "KB-08")
def test_doubles_have_an_image_of_their_own(device, context):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no fp64")
    lesser = device.masked(without=[lp.Aspect.FP64])
    for state in STATES:
        bundle = get(context, state, kernels.scaled, kernels.doubled)
        (plain,) = [image for image in bundle if image.has_kernel(kernels.scaled)]
        (double,) = [image for image in bundle if image.has_kernel(kernels.doubled)]
        assert plain.requirements.aspects == () and plain.is_compatible(lesser)
        assert double.requirements.aspects == (lp.Aspect.FP64,) and not double.is_compatible(lesser)
        assert all(image.is_compatible(device) for image in bundle)


@pytest.mark.behaviour("KB-18")
def test_a_context_lists_its_living_bundles(context):
    assert [context.get_modules(state) for state in STATES] == [[], [], []]
    bundle, twin = get(context, EXECUTABLE), get(context, EXECUTABLE)
    assert any(found is bundle for found in context.get_modules(EXECUTABLE))
    assert any(found is twin for found in context.get_modules(EXECUTABLE))
    assert context.get_modules(lp.BundleState.SOURCE) == []
    del bundle, twin
    gc.collect()
    assert context.get_modules(EXECUTABLE) == []


def test_representations(context):
    bundle = get(context, INPUT)
    assert repr(bundle) == f"<lp.KernelBundle INPUT, 1 image, for {context.devices[0].selector}>"
    assert repr(kernels.scaled.kernel_id) == f"<lp.KernelId {kernels.scaled.qualified_name}>"
    assert repr(lp.build(bundle).get_kernel(kernels.scaled)) == "<lp.Kernel scaled>"
