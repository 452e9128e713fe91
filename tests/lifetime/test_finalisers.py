"""Finalisers that the garbage collector runs in the middle of launches: they are refused, and no launch is harmed."""

from __future__ import annotations

import gc
import random
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.unit_image import UnitImage
from lapilli.vk_runtime import graph_program, logical_device, repeated_launches
from lapilli.vk_runtime import kernel_id as kernel_ids
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.graph_commands import CommandPool
from lapilli.vk_runtime.indirect_record import IndirectRecord
from tests.interruption import Finalised, Refusals

pytestmark = [pytest.mark.device, pytest.mark.native_only("interrupts what the runtime records")]

SIZE = 64


@lp.kernel
def increment(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] += 1.0


@lp.kernel
def add(out: lp.Array[lp.f32], a: lp.f32):
    out[lp.global_id(0)] += a


@lp.kernel
def triple(out: lp.Array[lp.f32], a: lp.f32):
    out[lp.global_id(0)] += 3.0 * a


@pytest.mark.parametrize("use", ["launch", "wait", "read", "launch elsewhere"])
def test_a_finaliser_in_the_middle_of_a_launch(device, use, monkeypatch) -> None:
    queue, other = device.default_queue, lp.Queue(device)
    x, y, z = (lp.zeros(SIZE, device=device) for _ in range(3))
    refused, done = [], []

    def action() -> None:
        if use == "launch":
            triple[SIZE](z, 1.0)
        elif use == "launch elsewhere":
            triple[SIZE].on(other)(z, 1.0)
        elif use == "wait":
            queue.wait()
        else:
            x.numpy()
        done.append(use)

    def note(unraisable) -> None:
        refused.append(unraisable.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", note)
    action()
    done.clear()
    chooser, expected, before = random.Random(1), [0, 0], gc.get_threshold()
    try:
        for n in range(400):
            Finalised(action)
            gc.set_threshold(chooser.randint(1, 12), 1, 1)
            if n % 5 < 2:
                increment[SIZE](x)
            elif n % 5 < 4:
                add[SIZE](y, 1.0)
            elif n % 3:
                for _ in range(3):
                    increment[SIZE](x).wait()
                expected[0] += 2
            else:
                queue.wait()
                expected[0] -= 1
            expected[int(2 <= n % 5 < 4)] += 1
    finally:
        gc.set_threshold(*before)
    gc.collect()
    other.wait()
    assert (x.numpy()[0], y.numpy()[0]) == tuple(expected)
    assert np.all(z.numpy() == (3 * (len(done) + 1) if "launch" in use else 0))
    assert len(done) + len(refused) == 400
    assert refused, "some came in the middle"
    assert all(isinstance(e, lp.InvalidError) and "finaliser" in str(e) for e in refused), set(
        map(repr, refused)
    )
    increment[SIZE](x).wait()
    refused.clear()


def test_a_finaliser_in_the_middle_of_a_copy(device, monkeypatch) -> None:
    queue, vk = device.default_queue, device.logical.vk
    x, y = lp.ones(SIZE, device=device), lp.zeros(SIZE, device=device)
    refused, really_copy = [], vk.vkCmdCopyBuffer

    def copy(*args) -> None:
        Finalised(queue.wait)
        gc.collect()
        really_copy(*args)

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: refused.append(type(unraisable.exc_value)))
    with monkeypatch.context() as patch:
        patch.setattr(vk, "vkCmdCopyBuffer", copy)
        queue.copy(x, y)
    assert refused == [lp.InvalidError]
    assert np.all(y.numpy() == 1)


def test_a_finaliser_while_a_command_buffer_is_begun(device, monkeypatch) -> None:
    x, z = (lp.zeros(SIZE, device=device) for _ in range(2))
    queue, vk = lp.Queue(device), device.logical.vk
    triple[SIZE].on(queue)(z, 1.0).wait()
    increment[SIZE].on(queue)(x).wait()
    refused, really_begin = [], vk.vkBeginCommandBuffer

    def begin(*args) -> int:
        Finalised(lambda: triple[SIZE].on(queue)(z, 1.0))
        gc.collect()
        return really_begin(*args)

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: refused.append(type(unraisable.exc_value)))
    with monkeypatch.context() as patch:
        patch.setattr(vk, "vkBeginCommandBuffer", begin)
        increment[SIZE].on(queue)(x)
    queue.wait()
    assert refused == [lp.InvalidError]
    assert (x.numpy()[0], z.numpy()[0]) == (2, 3)


def test_a_finaliser_just_before_a_command_buffer_is_begun(device, monkeypatch) -> None:
    """Both launches go into the one that it has begun."""
    x, z = (lp.zeros(SIZE, device=device) for _ in range(2))
    queue, calls = lp.Queue(device), []
    triple[SIZE].on(queue)(z, 1.0).wait()
    increment[SIZE].on(queue)(x).wait()
    really_make_room = type(queue)._make_room

    def make_room(stream) -> None:
        really_make_room(stream)
        calls.append(stream)
        if len(calls) == 1:
            Finalised(lambda: triple[SIZE].on(queue)(z, 1.0))
            gc.collect()

    with monkeypatch.context() as patch:
        patch.setattr(type(queue), "_make_room", make_room)
        increment[SIZE].on(queue)(x)
    queue.wait()
    assert len(calls) == 2
    assert (x.numpy()[0], z.numpy()[0]) == (2, 6)


def test_a_finaliser_before_the_first_recording_that_is_kept(device, monkeypatch) -> None:
    """Its own launch is recorded first, in a pool of command buffers that lives as long."""
    x, z = (lp.zeros(SIZE, device=device) for _ in range(2))
    queue, calls = lp.Queue(device), []

    class Pool(CommandPool):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            calls.append(self.raw)
            if len(calls) == 1:
                Finalised(lambda: [triple[SIZE].on(queue)(z, 1.0).wait() for _ in range(2)])
                gc.collect()

    for _ in range(2):  # both are known, and waited for
        triple[SIZE].on(queue)(z, 1.0).wait()
        increment[SIZE].on(queue)(x).wait()
    monkeypatch.setattr(repeated_launches, "CommandPool", Pool)
    for _ in range(6):
        increment[SIZE].on(queue)(x).wait()
    assert calls, "recordings are kept"
    gc.collect()
    device.logical.collect()
    for _ in range(6):
        triple[SIZE].on(queue)(z, 1.0).wait()
    assert (x.numpy()[0], z.numpy()[0]) == (8, 30)


def test_a_finaliser_in_the_middle_of_a_marker(device, monkeypatch) -> None:
    """Its event must not be done before what it waits for."""
    x, queue, other = lp.zeros(SIZE, device=device), lp.Queue(device), lp.Queue(device)
    event = increment[SIZE].on(other)(x)
    with monkeypatch.context() as patch:
        refusals = Refusals(patch, queue, "wait_on_device", queue.wait)
        marker = queue.marker([event])
    assert refusals.found == [lp.InvalidError]
    marker.wait()
    assert event.done


def test_a_finaliser_in_the_middle_of_a_timed_replay(device, monkeypatch) -> None:
    x, queue = lp.zeros(SIZE, device=device), lp.Queue(device)
    with lp.graph() as g:
        for _ in range(3):
            increment[SIZE](x)
    with lp.profile() as profile, monkeypatch.context() as patch:
        refusals = Refusals(patch, device.logical.vk, "vkCmdWriteTimestamp", queue.wait)
        g.replay(queue)
    queue.wait()
    assert refusals.found == [lp.InvalidError] * 6
    assert sum(event.kind == "kernel" for event in profile.events) == 3
    assert np.all(x.numpy() == 3)


@pytest.mark.parametrize("kept", [False, True], ids=["graph", "kept"])
def test_a_finaliser_while_a_launch_is_recorded_to_be_replayed(device, kept, monkeypatch) -> None:
    """Its own launch, of the same kernel, would take the place where the scalars are pushed from."""
    x, y, queue = lp.zeros(SIZE, device=device), lp.zeros(SIZE, device=device), lp.Queue(device)
    add[SIZE].on(queue)(y, 1.0).wait()
    record = add[SIZE].short[1].__self__

    def use() -> None:
        if kept:
            for _ in range(6):
                add[SIZE].on(queue)(x, 1.0).wait()
        else:
            with lp.graph() as g:
                add[SIZE](x, 1.0)
            for _ in range(6):
                g.replay(queue)

    with monkeypatch.context() as patch:
        refusals = Refusals(patch, record, "_push", lambda: add[SIZE].on(queue)(y, 100.0))
        use()
    assert set(refusals.found) == {lp.InvalidError}
    assert (x.numpy()[0], y.numpy()[0]) == (6, 1)


def test_a_finaliser_behind_the_packing_of_a_launch_that_may_be_kept(device, monkeypatch) -> None:
    """Its own launch, of the same kernel, would leave its scalars where those of the launch are looked up by."""
    x, y, queue = lp.zeros(SIZE, device=device), lp.zeros(SIZE, device=device), lp.Queue(device)
    add[SIZE].on(queue)(y, 1.0).wait()
    record = add[SIZE].short[1].__self__
    for _ in range(4):  # each is waited for: recordings are kept from here on
        add[SIZE].on(queue)(x, 2.0).wait()
    really_pack, refused = record._pack_into, []

    def pack(*args) -> None:
        really_pack(*args)
        Finalised(lambda: add[SIZE].on(queue)(y, 100.0))
        gc.collect()

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: refused.append(type(unraisable.exc_value)))
    with monkeypatch.context() as patch:
        patch.setattr(record, "_pack_into", pack)
        for _ in range(4):
            add[SIZE].on(queue)(x, 1.0).wait()
    assert set(refused) == {lp.InvalidError}
    for _ in range(3):
        add[SIZE].on(queue)(x, 100.0).wait()
    assert (x.numpy()[0], y.numpy()[0]) == (8 + 4 + 300, 1)


def test_a_finaliser_in_the_middle_of_a_launch_over_an_indirect_range(device, monkeypatch) -> None:
    """Its argument block is memory of the command buffer that the finaliser would have submitted."""
    x, count, queue = (
        lp.zeros(SIZE, device=device),
        lp.asarray([SIZE], lp.u32, device=device),
        lp.Queue(device),
    )
    increment[lp.IndirectRange(count)].on(queue)(x).wait()
    with monkeypatch.context() as patch:
        refusals = Refusals(patch, IndirectRecord, "_descriptors", queue.wait)
        increment[lp.IndirectRange(count)].on(queue)(x)
    queue.wait()
    assert refusals.found == [lp.InvalidError]
    assert np.all(x.numpy() == 2)


def test_a_finaliser_that_releases_the_graph_that_is_replayed(device, monkeypatch) -> None:
    x = lp.zeros(SIZE, device=device)
    with lp.graph() as graph:
        increment[SIZE](x)
    refusals = Refusals(monkeypatch, graph_program, "Batch", graph.release)
    event = graph.replay()
    assert refusals.found == []
    assert x.buffer.last_write == event.value, "whoever reads it waits for the replay"
    assert (x.numpy() == 1).all()
    with pytest.raises(lp.InvalidError, match="was released"):
        graph.replay()


@pytest.mark.parametrize("where", ["plan_order", "Segment"])
def test_a_finaliser_that_changes_arguments_while_they_are_recorded(device, monkeypatch, where) -> None:
    x, other = lp.zeros(SIZE, device=device), lp.zeros(SIZE, device=device)
    with lp.graph() as graph:
        first = increment[SIZE](x)
        increment[SIZE](x)
    graph.replay().wait()
    graph.update(first, out=other)
    graph.update(first, out=x)  # all is recorded again
    with monkeypatch.context() as patch:
        refusals = Refusals(patch, graph_program, where, lambda: graph.update(first, out=other))
        graph.replay().wait()
        assert refusals.found == []
    before = float(x.numpy()[0]), float(other.numpy()[0])
    assert sum(before) == 4, "the one or the other"
    graph.replay().wait()
    assert (float(x.numpy()[0]), float(other.numpy()[0])) == (before[0] + 1, before[1] + 1)


def test_a_finaliser_that_uses_the_device_while_it_is_opened(device, monkeypatch) -> None:
    """The lock of the opening is its thread's own: it must be refused, not wait for itself."""
    opened = Device(device.physical, "opened")
    with monkeypatch.context() as patch:
        refusals = Refusals(patch, logical_device, "plan_memory", lambda: lp.zeros(3, device=opened))
        assert (lp.zeros(3, device=opened).numpy() == 0).all()
    opened.shut_down()
    assert refusals.found == [lp.InvalidError]


@pytest.mark.parametrize(
    "place", [(UnitImage, "translate"), (kernel_ids, "make_kernel_id")], ids=["image", "id"]
)
def test_a_finaliser_while_a_bundle_is_made(device, monkeypatch, place) -> None:
    """It may ask for the same id and the same image, and launch, as any other code may."""
    context, x = lp.Context([device]), lp.zeros(SIZE, device=device)
    triple[SIZE](x, 0.0).wait()

    @lp.kernel
    def fresh(out: lp.Array[lp.f32]):
        out[lp.global_id(0)] = 1.0

    seen, done = [], []

    def is_chosen(image) -> bool:
        seen.append(image)
        return image.has_kernel(fresh)

    def action() -> None:
        triple[SIZE](x, 1.0)
        done.append((lp.get_kernel_id(fresh), [image.binary for image in seen if image.has_kernel(fresh)]))

    with monkeypatch.context() as patch:
        refusals = Refusals(patch, *place, action)
        id_ = lp.get_kernel_id(fresh)
        bundle = lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, selector=is_chosen)
    assert done and refusals.found == []
    assert all(found is id_ for found, _ in done) and id_ in bundle.kernel_ids
    assert (x.numpy() == 3 * len(done)).all()
