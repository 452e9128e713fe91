"""lp.join: the union of images, and nothing else."""

from __future__ import annotations

import gc

import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

from . import kernels, other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)
each_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)


def get(context, state, kernel=kernels.scaled, devs=None):
    return lp.get_kernel_bundle(context, devs, state=state, kernel=kernel)


@pytest.mark.behaviour("JN-01", "JN-02", "JN-04", "JN-07")
@each_state
def test_join_is_the_union_without_work(context, state):
    first, second = get(context, state), get(context, state, other_kernels.scaled)
    with lp.trace() as trace:
        joined = lp.join([first, second])
    assert not trace.events
    assert joined.state is state
    assert joined.context is context and joined.devices == first.devices
    assert set(joined) == {*first, *second} and len(joined) == 2
    assert joined.has_kernel(kernels.scaled) and joined.has_kernel(other_kernels.scaled)
    assert len(lp.join([first, first, get(context, state)])) == len(first) == 1
    assert lp.join([first]) == first == lp.join(first)
    assert lp.join([second, first]) == joined


@pytest.mark.behaviour("JN-03")
@each_state
def test_other_contexts_and_devices_are_refused(device, lesser, context, pair, state):
    with pytest.raises(lp.InvalidError, match="context"):
        lp.join([get(context, state), get(lp.Context([device]), state)])
    for devs in ([device], [lesser]):
        with pytest.raises(lp.InvalidError, match="same devices"):
            lp.join([get(pair, state, devs=devs), get(pair, state)])
    reordered = lp.join([get(pair, state), get(pair, state, devs=[lesser, device])])
    assert set(reordered.devices) == set(pair.devices)


@pytest.mark.behaviour("JN-04")
def test_states_do_not_mix(context):
    for first in STATES:
        for second in STATES:
            if first is not second:
                with pytest.raises(TypeError, match="one state"):
                    lp.join([get(context, first), get(context, second)])
        with pytest.raises(TypeError, match="one state"):
            lp.join([get(context, first)], state=STATES[STATES.index(first) - 1])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, "")
    for several in ([source], [source, source], [get(context, INPUT), source]):
        with pytest.raises(
            TypeError, match="join does not exist for a kernel bundle in state SOURCE; expected INPUT"
        ):
            lp.join(several)
    for wrong in (3, [3], "x", [None]):
        with pytest.raises(TypeError, match="join"):
            lp.join(wrong)


@pytest.mark.behaviour("JN-05", "KB-13")
@each_state
def test_an_empty_bundle_changes_nothing(context, state):
    bundle = get(context, state)
    empty = lp.get_kernel_bundle(context, state=state, kernel_ids=[])
    assert empty.empty() and not empty and len(empty) == 0
    assert lp.join([bundle, empty]) == lp.join([empty, bundle]) == bundle
    assert lp.join([empty, empty]).empty()


@pytest.mark.device
@pytest.mark.behaviour("JN-06")
@each_state
def test_joining_nothing_gives_an_empty_bundle(state):
    joined = lp.join([], state=state)
    assert joined.empty() and joined.state is state
    assert joined.context is lp.device().default_context
    with pytest.raises(TypeError, match="state"):
        lp.join([])


@pytest.mark.behaviour("JN-08")
@each_state
def test_values_survive(context, state):
    def made(value, kernel=kernels.scaled):
        source = get(context, INPUT, kernel)
        if value is not None:
            source.set_specialization_constant(kernels.COEFF, value)
        return {INPUT: lambda x: x, OBJECT: lp.compile, EXECUTABLE: lp.build}[state](source)

    for bundles in (
        [made(4.0), made(None, other_kernels.scaled)],
        [made(None), made(4.0)],
        [made(4.0), made(4.0)],
    ):
        assert lp.join(bundles).get_specialization_constant(kernels.COEFF) == 4.0
    with pytest.raises(lp.InvalidError, match=r"COEFF.*4\.0 and 5\.0"):
        lp.join([made(4.0), made(5.0)])


def test_the_joined_value_reaches_all_kernels(device, context):
    source = get(context, INPUT, other_kernels.scaled)
    source.set_specialization_constant(kernels.COEFF, 8)
    joined = lp.join([lp.build(source), get(context, EXECUTABLE)])
    x = lp.full(2, 1.5, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, joined.get_kernel(kernels.scaled), 2, (x,))
    assert x.numpy().tolist() == [12.0, 12.0]
    assert trace.count("pipeline") == 0  # join made it


@pytest.mark.behaviour("JN-09")
def test_kernels_outlive_the_bundles_that_were_joined(device, context):
    joined = lp.join([get(context, EXECUTABLE), get(context, EXECUTABLE, other_kernels.scaled)])
    kernel = joined.get_kernel(other_kernels.scaled)
    del joined
    gc.collect()
    x = lp.ones(3, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, kernel, 3, (x,))
    assert x.numpy().tolist() == [100.0] * 3
    assert trace.count("pipeline") == 0


@pytest.mark.behaviour("JN-04")
def test_there_are_no_joined_source_bundles(context):
    text = "import lapilli as lp\n@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = 1.0\n"
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text)
    for bundles in ([], [source], [source, source], [get(context, INPUT), source]):
        with pytest.raises(TypeError, match="join"):
            lp.join(bundles, state=lp.BundleState.SOURCE)
    built = lp.build(source)
    joined = lp.join([built, get(context, EXECUTABLE)])
    assert joined.ext_oneapi_has_kernel("k") and joined.kernel_ids == get(context, EXECUTABLE).kernel_ids
