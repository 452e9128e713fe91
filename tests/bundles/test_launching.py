"""Kernels of executable bundles run, and launching them makes neither modules nor pipelines."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

pytestmark = pytest.mark.device

SCALE = lp.SpecializationId(lp.f32, 2.0)


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= SCALE


@lp.kernel
def numbered(x: lp.Array[lp.f32]):
    x[lp.global_linear_id()] += 1.0


@lp.kernel
def transposed_ids(x: lp.Array[lp.f32, 2]):
    x[lp.global_id(0), lp.global_id(1)] = lp.f32(10 * lp.global_id(0) + lp.global_id(1))


@lp.kernel(local_size=(2, 4))
def local_sizes(x: lp.Array[lp.i32, 2]):
    x[lp.global_id(0), lp.global_id(1)] = 10 * lp.local_range(0) + lp.local_range(1)


def executable(context: lp.Context, *kernels: object) -> lp.KernelBundle:
    return lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel_ids=kernels)


@pytest.mark.behaviour("KB-03", "ST-08")
def test_launches_of_an_executable_bundle_make_no_module_and_no_pipeline(device, context):
    bundle = executable(context, scaled)
    assert bundle.has_kernel(numbered)  # the same image
    x = lp.asarray(np.arange(1000, dtype=np.float32), device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, bundle.get_kernel(scaled), 1000, (x,))
        launch_kernel(device.default_queue, bundle.get_kernel(numbered), 10, (x,))
        launch_kernel(device.default_queue, bundle.get_kernel(numbered), 1000, (x,))
    expected = np.arange(1000, dtype=np.float32) * 2 + 1
    expected[:10] += 1
    np.testing.assert_array_equal(x.numpy(), expected)
    assert [event.kind for event in trace.events] == ["launch"] * 3


def test_values_of_the_bundle_reach_its_kernels(device, context):
    source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=scaled)
    source.set_specialization_constant(SCALE, 7)
    bundle = lp.build(source)
    x = lp.full(4, 3.0, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, bundle.get_kernel(scaled), 4, (x,))
    assert x.numpy().tolist() == [21.0] * 4
    assert trace.count("pipeline") == 0
    launch_kernel(
        device.default_queue,
        bundle.get_kernel(scaled),
        4,
        (x,),
        spec_values={SCALE.symbol: SCALE.to_bytes(0.5)},
    )
    assert x.numpy().tolist() == [10.5] * 4


def test_a_kernel_that_names_no_dimension_takes_every_rank(device, context):
    kernel = executable(context, numbered).get_kernel(numbered)
    for shape in (24, (24,), (4, 6), (2, 3, 4)):
        x = lp.zeros(24, device=device)
        with lp.trace() as trace:
            launch_kernel(device.default_queue, kernel, shape, (x,))
        assert x.numpy().tolist() == [1.0] * 24
        assert trace.count("pipeline") == 0


@pytest.mark.parametrize("shape", [6, (2, 3, 1), (2, 2, 3)])
def test_another_rank_than_the_compiled_one_is_refused(device, context, shape):
    kernel = executable(context, transposed_ids).get_kernel(transposed_ids)
    x = lp.zeros((2, 3), device=device)
    with pytest.raises(lp.NdRangeError, match="2 dimensions"):
        launch_kernel(device.default_queue, kernel, shape, (x,))
    launch_kernel(device.default_queue, kernel, (2, 3), (x,))
    assert x.numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_ones_in_front_of_the_compiled_rank_are_left_out(device, context):
    kernel = executable(context, transposed_ids).get_kernel(transposed_ids)
    x = lp.zeros((2, 3), device=device)
    launch_kernel(device.default_queue, kernel, (1, 2, 3), (x,))
    assert x.numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_local_sizes_of_kernel_and_range(device, context):
    kernel = executable(context, local_sizes).get_kernel(local_sizes)
    x = lp.zeros((8, 8), lp.i32, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, kernel, (8, 8), (x,))
    assert set(x.numpy().flat) == {24}
    assert trace.count("pipeline") == 0
    launch_kernel(device.default_queue, kernel, lp.NdRange((8, 8), (8, 2)), (x,))
    assert set(x.numpy().flat) == {82}
    with pytest.raises(lp.NdRangeError, match="multiple"):
        launch_kernel(device.default_queue, kernel, lp.NdRange((8, 8), (3, 2)), (x,))


def test_arguments_are_bound_by_name_and_checked(device, context):
    kernel = executable(context, scaled).get_kernel(scaled)
    x = lp.full(4, 3.0, device=device)
    launch_kernel(device.default_queue, kernel, 4, (), {"x": x})
    assert x.numpy().tolist() == [6.0] * 4
    with pytest.raises(lp.KernelArgumentError, match="'x'"):
        launch_kernel(device.default_queue, kernel, 4)
    with pytest.raises(lp.KernelArgumentError, match="'x'"):
        launch_kernel(device.default_queue, kernel, 4, (1.0,))
    for range_ in (-1, lp.NdRange(4, (2, 2)), (1, 2, 3, 4)):  # arguments are checked before the range
        with pytest.raises(lp.KernelArgumentError, match="'x'"):
            launch_kernel(device.default_queue, kernel, range_, (lp.zeros(4, lp.i32, device=device),))
        with pytest.raises(lp.NdRangeError):
            launch_kernel(device.default_queue, kernel, range_, (x,))


def test_default_dispatch_uses_an_executable_image(device, context):
    @lp.kernel
    def fresh(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += 3.0

    bundle = executable(context, fresh)
    x = lp.zeros(5, device=device)
    with lp.trace() as trace:
        fresh[5](x)
    assert x.numpy().tolist() == [3.0] * 5
    assert trace.count("compile") == trace.count("module") == 0
    assert bundle.has_kernel(fresh)


def test_default_dispatch_compiles_for_another_rank(device, context):
    @lp.kernel
    def rows(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += 3.0

    executable(context, rows)
    x = lp.zeros(5, device=device)
    with lp.trace() as trace:
        rows[5, 1](x)
    assert x.numpy().tolist() == [3.0] * 5
    assert trace.count("compile") == 1


@pytest.mark.behaviour("KB-03", "ST-08")
def test_no_launch_makes_a_module_also_where_only_the_launch_knows_the_work_group(
    device, context, make_module
):
    """A pipeline needs its work-group size, so a launch that is the first to give one makes it, once."""
    unit = make_module("""
lp.compile_options(device_code_split="per_kernel")
@lp.kernel
def given(x: lp.Array[lp.i32], tile: lp.LocalArray[lp.i32]):
    tile[lp.local_id(0)] = lp.local_id(0)
    lp.barrier()
    x[lp.global_id(0)] = tile[tile.size - 1 - lp.local_id(0)]
@lp.kernel
def grouped(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] = lp.group.reduce(1, "add")
""")
    queue, x = lp.Queue(context=context), lp.zeros(16, lp.i32, device=device)
    for kernel, args, expected in (
        (unit.given, (x, lp.local(8)), [*range(7, -1, -1)] * 2),
        (unit.grouped, (x,), [8] * 16),
    ):
        bundle = executable(context, kernel)
        for kinds in (["pipeline", "launch"], ["launch"]):
            with lp.trace() as trace, queue.submit() as h:
                h.use_kernel_bundle(bundle)
                h.parallel_for(lp.NdRange(16, 8), kernel, *args)
            assert x.numpy().tolist() == expected
            assert [event.kind for event in trace.events] == kinds
