"""Launches: results, specialization, pieces, argument blocks, what is made how often, what is refused."""

from __future__ import annotations

import dataclasses
import struct

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.aspects import Aspect
from lapilli.ir.errors import Location
from lapilli.ir.kernel_info import AspectUse
from lapilli.vk_runtime import launch as launch_module
from lapilli.vk_runtime import launch_plan
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.launch import launch, prepare
from lapilli.vk_runtime.requirements import require_device

from . import kernels


@pytest.fixture
def pair(device):
    x = lp.asarray(np.arange(1000, dtype=np.float32), device=device)
    return x, lp.zeros_like(x)


def run_saxpy(device, x, y, n=1000, local=None, *, a=2.0, queue=None, **options):
    image, kernel = kernels.saxpy(**options)
    return launch(queue or device.default_queue, image, kernel, (n,), local, (a, x, y), {})


@pytest.mark.parametrize("block_in_buffer", [False, True])
@pytest.mark.parametrize("local", [None, (1,), (100,), (128,)])
def test_result_is_numpys(device, pair, local, block_in_buffer):
    x, y = pair
    run_saxpy(device, x, y, local=local, block_in_buffer=block_in_buffer)
    np.testing.assert_array_equal(y.numpy(), 2 * x.numpy())


def test_tail_is_masked(device, pair):
    x, y = pair
    run_saxpy(device, x, y, n=10)
    assert np.count_nonzero(y.numpy()) == 9


@pytest.mark.parametrize("block_in_buffer", [False, True])
def test_many_dependent_launches_keep_their_order(device, pair, block_in_buffer):
    x, y = pair
    for step in range(200):
        run_saxpy(device, x, y, a=float(step % 8), block_in_buffer=block_in_buffer)
    np.testing.assert_array_equal(y.numpy(), x.numpy() * sum(step % 8 for step in range(200)))


def test_many_argument_blocks_take_more_than_one_chunk(device, pair, monkeypatch):
    from lapilli.vk_runtime import command_buffer

    monkeypatch.setattr(command_buffer, "ARGUMENT_CHUNK_BYTES", 1024)
    x, y = pair
    queue = lp.Queue(device)
    for _ in range(100):
        run_saxpy(device, x, y, a=1.0, block_in_buffer=True, queue=queue)
    np.testing.assert_array_equal(y.numpy(), 100 * x.numpy())


@pytest.mark.parametrize("profiling", [False, True])
@pytest.mark.parametrize("block_in_buffer", [False, True])
def test_range_beyond_the_group_count_runs_in_pieces(device, block_in_buffer, profiling):
    limits = dataclasses.replace(device.physical.limits, max_work_group_count=(3, 3, 3))
    small = Device(dataclasses.replace(device.physical, limits=limits), device.selector)
    try:
        x, y = lp.ones(1000, device=small), lp.zeros(1000, device=small)
        queue = lp.Queue(small, profiling=profiling)
        # 250 groups: 84 dispatches, more than one command buffer holds
        event = run_saxpy(small, x, y, local=(4,), queue=queue, block_in_buffer=block_in_buffer)
        assert (y.numpy() == 2).all()
        assert not profiling or event.elapsed_ns > 0
    finally:
        small.shut_down()


def test_empty_range_runs_nothing_but_checks_arguments(device, pair):
    x, y = pair
    image, kernel = kernels.saxpy()
    with lp.trace() as trace:
        event = launch(device.default_queue, image, kernel, (0,), None, (1.0, x, y), {})
    assert event.done and event.wait() is event and trace.events == []
    with pytest.raises(lp.KernelArgumentError):
        launch(device.default_queue, image, kernel, (0,), None, (1.0, x), {})


def test_arrays_by_address(device):
    if not device.has(Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("no buffer device addresses")
    image, kernel = kernels.add_by_address()
    x = lp.asarray(np.arange(64, dtype=np.uint32), device=device)
    for amount in (5, 7):
        launch(device.default_queue, image, kernel, (64,), None, (amount, x), {})
    np.testing.assert_array_equal(x.numpy(), np.arange(64) + 12)
    with pytest.raises(lp.NdRangeError, match=r"use \(64,\)"):
        launch(device.default_queue, image, kernel, (60,), None, (1, x), {})


def test_specialization_is_native(device):
    """One module, one pipeline for each set of values, none for a set seen before."""
    image, kernel = kernels.affine()
    online = lp.Aspect.ONLINE_COMPILER  # another digest, so a new module
    fresh = dataclasses.replace(image.requirements, aspects=(online,))
    image = dataclasses.replace(image, requirements=fresh)
    queue = device.default_queue
    expected = 1.0
    y = lp.ones(100, device=device)
    with lp.trace() as trace:
        for factor, offset, negate in [(3, 4, 0), (2, -1, 1), (3, 4, 0), (1, 0, 1)]:
            values = {"tests.PAIR": struct.pack("<ff", factor, offset), "tests.NEGATE": bytes([negate])}
            launch(queue, image, kernel, (100,), None, (y, 1), values)
            expected = (-1 if negate else 1) * (expected * factor + offset)
    assert (y.numpy() == expected).all()
    assert [trace.count(kind) for kind in ("module", "pipeline", "launch")] == [1, 3, 4]
    assert {event.device for event in trace.events} == {device.selector}
    assert {event.image for event in trace.events} == {image.digest.hex()}


def test_absent_values_take_their_default(device):
    image, kernel = kernels.affine()
    y = lp.full(10, 5, device=device)
    launch(device.default_queue, image, kernel, (10,), None, (y, 0), {"tests.NEGATE": b"\1"})
    assert (y.numpy() == -5).all()


@pytest.mark.parametrize(
    "values", [{"tests.PAIR": b"\0" * 4}, {"tests.NEGATE": b""}, {"tests.UNKNOWN": b"\0"}]
)
def test_misfit_specialization_values_never_reach_the_driver(device, values):
    image, kernel = kernels.affine()
    y = lp.zeros(10, device=device)
    with lp.trace() as trace, pytest.raises(lp.KernelArgumentError):
        launch(device.default_queue, image, kernel, (10,), None, (y, 0), values)
    assert trace.count("pipeline") == trace.count("launch") == 0


def test_leaf_outside_its_value_is_refused(device):
    image, _ = kernels.affine()
    leaf = dataclasses.replace(image.spec_constants[0].leaves[1], offset_bytes=6)
    constant = dataclasses.replace(image.spec_constants[0], leaves=(leaf,))
    from lapilli.vk_runtime.specialization import spec_entries

    with pytest.raises(lp.InvalidError, match="PAIR"):
        spec_entries([constant], {})


def test_local_size_over_the_limit_never_reaches_the_driver(device, pair):
    size = device.physical.limits.max_work_group_size[0] * 2
    with lp.trace() as trace, pytest.raises(lp.KernelNotSupportedError, match=str(size)):
        run_saxpy(device, *pair, local=(size,))
    assert trace.events == []


def test_array_over_the_descriptor_range_is_refused(device, pair):
    limits = dataclasses.replace(device.physical.limits, max_storage_buffer_range_bytes=256)
    small = Device(dataclasses.replace(device.physical, limits=limits), device.selector)
    try:
        x, y = lp.ones(1000, device=small), lp.zeros(1000, device=small)
        with pytest.raises(lp.KernelNotSupportedError, match="maxStorageBufferRange"):
            run_saxpy(small, x, y)
        assert not y.numpy().any()
        run_saxpy(small, lp.ones(60, device=small), z := lp.zeros(60, device=small), n=60)
        assert (z.numpy() == 2).all()
    finally:
        small.shut_down()


def test_missing_aspect_is_refused_in_the_seeds_words(device):
    _, kernel = kernels.saxpy()
    absent = next(aspect for aspect in Aspect if not device.has(aspect))
    use = AspectUse(aspect=absent, location=Location("model.py", 12, 5), what="f64 value")
    kernel = dataclasses.replace(kernel, aspects=(absent,), aspect_uses=(use,))
    with pytest.raises(lp.KernelNotSupportedError) as caught:
        require_device(device, kernel)
    first, *rest = str(caught.value).splitlines()
    assert first == (
        f"Kernel uses optional feature corresponding to 'aspect::{absent.spelling}' but device does not "
        "support this aspect."
    )
    text = "\n".join(rest)
    assert "'saxpy'" in text and device.name in text and "model.py:12:5: f64 value" in text
    assert caught.value.location == use.location
    for other in lp.devices():
        assert (f"'{other.selector}'" in text.splitlines()[-1]) == other.has(absent)


def test_interface_over_a_limit_is_refused(device, pair):
    limits = dataclasses.replace(device.physical.limits, max_push_constant_bytes=8, max_storage_buffers=1)
    small = Device(dataclasses.replace(device.physical, limits=limits), device.selector)
    try:
        x = lp.zeros(4, device=small)
        with pytest.raises(lp.KernelNotSupportedError, match="2 storage buffers"):
            run_saxpy(small, x, lp.zeros(4, device=small), n=4)
        image, kernel = kernels.affine()
        with pytest.raises(lp.KernelNotSupportedError, match="maxPushConstantsSize"):
            launch(small.default_queue, image, kernel, (4,), None, (x, 0), {})
    finally:
        small.shut_down()


def test_launch_record_is_reusable(device, pair):
    x, y = pair
    image, kernel = kernels.saxpy()
    record = prepare(device, image, kernel, (1000,), None, (1.0, x, y), {})
    for _ in range(3):
        record.launch(device.default_queue, (1.0, x, y))
    np.testing.assert_array_equal(y.numpy(), 3 * x.numpy())
    with pytest.raises(lp.KernelArgumentError):
        record.launch(device.default_queue, (1.0, x, 3))


def test_what_does_not_depend_on_the_range_is_done_once(device, pair, monkeypatch):
    x, y = pair
    calls: list[str] = []
    for name in ("require_device", "require_limits", "kernel_pipeline"):
        original = getattr(launch_module, name)

        def noted(*args, _name=name, _original=original):
            calls.append(_name)
            return _original(*args)

        monkeypatch.setattr(launch_module, name, noted)
    image, kernel = kernels.saxpy()
    device.logical.launches.clear()
    records = [prepare(device, image, kernel, (n,), None, (1.0, x, y), {}) for n in (0, 300, 400, 500)]
    for record in records:
        record.launch(device.default_queue, (1.0, x, y))
    # Of the empty range there is no pipeline that the others could share.
    assert calls == ["require_device", "require_limits", "kernel_pipeline", "kernel_pipeline"]
    np.testing.assert_array_equal(
        y.numpy(), x.numpy() * ((np.arange(1000)[:, None] < (300, 400, 500)).sum(1))
    )


def test_default_local_size_reaches_the_driver_as_a_specialization(device, pair):
    """The range of one work-item shares the pipeline of every range up to 32."""
    with lp.trace() as trace:
        for n in (1, 7, 32):
            run_saxpy(device, *pair, n=n)
    assert trace.count("pipeline") <= 1
    assert launch_plan.default_local_size((7,), device.physical.limits) == (32,)


@pytest.fixture
def broad(device):
    """The device, as if it had many processors to keep busy."""
    limits = dataclasses.replace(device.physical.limits, busy_work_groups=264, least_work_group=32)
    made = Device(dataclasses.replace(device.physical, limits=limits), f"{device.selector}-broad")
    yield made
    made.shut_down()


@lp.kernel
def place(out: lp.Array[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] += i * 1000 + j


def test_work_groups_that_keep_many_processors_busy(broad):
    """One pipeline for each local size, however many ranges there are, and the same results."""
    image, kernel = kernels.saxpy()
    x = lp.asarray(np.arange(40_000, dtype=np.float32), device=broad)
    with lp.trace() as trace:
        for n in (500, 3000, 16_000, 20_000, 33_000, 39_999):
            y = lp.zeros_like(x)
            launch(broad.default_queue, image, kernel, (n,), None, (2.0, x, y), {})
            np.testing.assert_array_equal(y.numpy(), np.where(np.arange(40_000) < n, 2 * x.numpy(), 0))
    assert trace.count("pipeline") == 3, "local sizes 32, 64 and 128"
    out = lp.zeros((130, 140), lp.i32, device=broad)
    with lp.trace() as trace:
        place[130, 139](out)
        place[125, 139](out)
    expected = np.arange(130)[:, None] * 1000 + np.arange(140)
    expected[:125] *= 2
    expected[:, 139] = 0
    np.testing.assert_array_equal(out.numpy(), expected)
    assert trace.count("pipeline") == 1


def test_traces_nest_and_stop(device, pair):
    with lp.trace() as outer:
        run_saxpy(device, *pair)
        with lp.trace() as inner:
            run_saxpy(device, *pair)
    run_saxpy(device, *pair)
    assert (outer.count("launch"), inner.count("launch")) == (2, 1)
    (event,) = inner.events
    assert (event.kernel, event.device) == ("saxpy", device.selector)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.kind = "link"


def test_a_kind_of_event_that_there_is_not_is_refused():
    with lp.trace() as trace, pytest.raises(lp.InvalidError, match="'pipelines'"):
        trace.count("pipelines")  # type: ignore[arg-type]
