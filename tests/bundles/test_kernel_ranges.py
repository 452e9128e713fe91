"""``kernel[n](…)`` of a kernel of a bundle."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def multiply(x: lp.Array[lp.f32], factor: lp.f32 = 2.0):
    x[lp.global_id(0)] *= factor


@lp.kernel(local_size=("TILE",))
def group_sums(x: lp.In[lp.f32], sums: lp.Out[lp.f32], *, TILE: lp.Spec[lp.u32] = 8):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        sums[lp.group_id(0)] = total


@lp.kernel
def store_spec(x: lp.Out[lp.i32], spec: lp.i32):
    x[lp.global_id(0)] = spec


def kernel_of(context, function):
    return lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=function).get_kernel(
        function
    )


def test_launches_on_the_default_queue_of_the_device(device):
    kernel, x = kernel_of(device.default_context, multiply), lp.ones(8, device=device)
    assert kernel[8](x).queue is device.default_queue
    kernel[lp.NdRange(8, 4)](x, 3.0)
    kernel[8](x=x, factor=0.5)
    assert x.numpy().tolist() == [3.0] * 8


def test_launches_on_a_queue_behind_events(device):
    context = lp.Context([device])
    kernel, x = kernel_of(context, multiply), lp.ones(8, device=device)
    queue = lp.Queue(device, context=context)
    first = kernel[8].on(queue)(x)
    assert kernel[8].on(queue, wait=[first])(x, 5.0).wait().queue is queue
    assert x.numpy().tolist() == [10.0] * 8
    with pytest.raises(
        lp.InvalidError, match=r"another context than the default queue, .*kernel\[…\]\.on\(q\)"
    ):
        kernel[8](x)
    with pytest.raises(lp.InvalidError, match="another context than the queue; make a queue with"):
        kernel[8].on(lp.Queue(device))(x)


def test_behind_events_on_the_default_queue(device):
    kernel, x = kernel_of(device.default_context, multiply), lp.ones(4, device=device)
    event = kernel[4](x)
    assert kernel[4].on(None, wait=[event])(x).queue is device.default_queue
    assert x.numpy().tolist() == [4.0] * 4


def test_a_parameter_may_be_called_spec(device):
    kernel, x = kernel_of(device.default_context, store_spec), lp.zeros(4, lp.i32, device=device)
    kernel[4](x, spec=5)
    assert x.numpy().tolist() == [5] * 4
    with pytest.raises(lp.KernelArgumentError):
        kernel[4](x, spec={})


def test_is_recorded_in_graphs(device):
    kernel, x = kernel_of(device.default_context, multiply), lp.ones(4, device=device)
    with lp.graph() as graph:
        kernel[4](x)
    graph.replay()
    graph.replay()
    assert x.numpy().tolist() == [4.0] * 4


def test_slips(device):
    kernel, x = kernel_of(device.default_context, multiply), lp.ones(4, device=device)
    with pytest.raises(lp.InvalidError, match=r"'multiply' has no range yet; write kernel\[n\]"):
        kernel(x)
    with pytest.raises(lp.InvalidError, match="set them on the input bundle"):
        kernel[4].spec({})
    with pytest.raises(lp.InvalidError, match=r"expects an lp\.Queue, found 3"):
        kernel[4].on(3)
    event = kernel[4](x, 1.0)
    for wait in (event, 3):
        with pytest.raises(
            lp.InvalidError, match=r"expects a sequence of lp\.Event objects.*write wait=\[event\]"
        ):
            kernel[4].on(device.default_queue, wait=wait)
    with pytest.raises(lp.KernelArgumentError):
        kernel[4](x, 1, 2)
    with pytest.raises(lp.NdRangeError):
        kernel[-1](x)
    assert x.numpy().tolist() == [1.0] * 4


def test_constants_of_work_group_sizes_are_among_those_of_the_bundle(device, tmp_path):
    context, tile = device.default_context, group_sums.specialization_ids["TILE"]
    source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=group_sums)
    assert source.has_specialization_constant(tile) and source.contains_specialization_constants()
    lp.build(source).save(tmp_path / "sums.lpk")
    parts = lp.load_kernel_bundle(context, tmp_path / "sums.lpk", [device], state=lp.BundleState.INPUT)
    (found,) = [id_ for id_ in parts.specialization_constants if id_.name == "TILE"]
    parts.set_specialization_constant(found, 4)
    x, sums = lp.asarray(np.arange(16, dtype=np.float32), device=device), lp.zeros(4, device=device)
    lp.build(parts).get_kernel("group_sums")[16](x, sums)
    assert sums.numpy().tolist() == [6.0, 22.0, 38.0, 54.0]
