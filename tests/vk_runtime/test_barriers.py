"""Which stages barriers name: that of indirect commands only before a dispatch that reads its counts on the device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.barriers import FEATURE
from lapilli.vk_runtime.command_stream import CommandStream
from lapilli.vk_runtime.constants import (
    VK_ACCESS_SHADER_READ_BIT,
    VK_ACCESS_UNIFORM_READ_BIT,
    VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
    VK_PIPELINE_STAGE_HOST_BIT,
)
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.launch_record import LaunchRecord
from lapilli.vk_runtime.submitter import Submitter

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


@pytest.fixture(params=["as it is", "without synchronization2"])
def barriers_device(request, device):
    """The device, and one on the same driver that has only the barriers of Vulkan 1.0."""
    if request.param == "as it is":
        yield device
        return
    physical = device.logical.physical
    older = replace(physical, features=physical.features - {FEATURE})
    made = Device(older, f"{device.selector}-older")
    yield made
    made.shut_down()


@pytest.fixture
def queue(barriers_device):
    return lp.Queue(barriers_device)


def second_stages(args):
    """The second stage mask of a barrier, by its arguments behind the command buffer."""
    return args[0].pMemoryBarriers.dstStageMask if len(args) == 1 else args[1]


def note_barriers(monkeypatch, device, note):
    """Calls `note` with the arguments of every barrier between commands of a device, also of launches known already."""
    logical = device.logical
    record = logical.barriers.record

    def noting(*args):
        note(args)
        return record(*args)

    monkeypatch.setattr(logical, "barriers", replace(logical.barriers, record=noting))
    # Queues and launches keep the function in an attribute, which a property hides.
    for owner, name in (
        (CommandStream, "_record_barrier"),
        (LaunchRecord, "record_barrier"),
        (Submitter, "_record_barrier"),
    ):

        def keep(instance, _, name=name):
            instance.__dict__[name] = record

        monkeypatch.setattr(owner, name, property(lambda _: noting, keep), raising=False)


@pytest.fixture
def recorded(queue, monkeypatch):
    """The commands of the queue in order: ``indirect``, and barriers by their second stage mask."""
    found, vk = [], queue.device.logical.vk
    dispatch = vk.vkCmdDispatchIndirect

    def dispatch_indirect(*args):
        found.append("indirect")
        return dispatch(*args)

    def note(args):
        stages = second_stages(args[1:])
        if stages != VK_PIPELINE_STAGE_HOST_BIT:  # at the end of submissions
            found.append(stages)

    note_barriers(monkeypatch, queue.device, note)
    monkeypatch.setattr(vk, "vkCmdDispatchIndirect", dispatch_indirect, raising=False)
    return found


def test_ordinary_barriers_leave_indirect_commands_out(barriers_device, queue, recorded):
    x = lp.zeros(64, device=barriers_device)
    for _ in range(3):
        add_one[64].on(queue)(x)
    assert len(recorded) == 2
    assert not any(stages & VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT for stages in recorded)


def test_an_indirect_dispatch_waits_for_its_counts(barriers_device, queue, recorded):
    x, n = lp.zeros(64, device=barriers_device), lp.asarray(np.array([40], np.int32), device=barriers_device)
    add_one[lp.IndirectRange(n)].on(queue)(x).wait()
    assert recorded[-1] == "indirect"
    assert recorded[-2] & VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT
    assert x.numpy().sum() == 40


def test_barriers_order_reads_through_uniform_buffers(barriers_device):
    barriers = barriers_device.logical.barriers
    for args in (barriers.between, barriers.before_indirect):
        access = args[0].pMemoryBarriers.dstAccessMask if len(args) == 1 else args[4].dstAccessMask
        assert access & VK_ACCESS_UNIFORM_READ_BIT
        assert access & VK_ACCESS_SHADER_READ_BIT


def test_the_newer_function_is_taken_where_the_device_has_it(barriers_device):
    vk = barriers_device.logical.vk
    has_it = FEATURE in barriers_device.logical.features
    newer = vk.vkCmdPipelineBarrier2 if has_it else vk.vkCmdPipelineBarrier
    assert barriers_device.logical.barriers.record == newer


def test_launches_that_use_the_same_memory_have_a_barrier_between_them(barriers_device, queue, recorded):
    x = lp.zeros(64, device=barriers_device)
    for _ in range(5):
        add_one[64].on(queue)(x)
    queue.wait()
    assert len(recorded) == 4
    assert np.all(x.numpy() == 5)


@lp.kernel
def read(out: lp.Out[lp.f32], x: lp.In[lp.f32]):
    out[lp.global_id(0)] = x[lp.global_id(0)]


@pytest.mark.parametrize("how", ["a marker", "wait="])
def test_a_read_behind_a_launch_repeated_behind_an_event(barriers_device, queue, recorded, how):
    x, out = (lp.zeros(64, device=barriers_device) for _ in range(2))
    add_one[64].on(queue)(x)
    event = add_one[64].on(queue)(x)
    if how == "a marker":
        queue.marker([event])
        add_one[64].on(queue)(x)
    else:
        add_one[64].on(queue, wait=[event])(x)
    recorded.clear()
    read[64].on(queue)(out, x)
    assert len(recorded) == 1, "it reads what the launch before it writes"
    queue.wait()
    assert np.all(out.numpy() == 3)


@pytest.fixture
def staged(device):
    """The device as a discrete GPU, whose arrays the host does not see."""
    made = Device(device.physical, f"{device.selector}-staged", staged_memory=True)
    yield made
    made.shut_down()


@pytest.fixture
def host_barriers(staged, monkeypatch):
    """Barriers for the host on `staged`, as they are recorded."""
    found = []

    def note(args):
        if second_stages(args[1:]) == VK_PIPELINE_STAGE_HOST_BIT:
            found.append(args)

    note_barriers(monkeypatch, staged, note)
    return found


def test_only_what_the_host_reads_has_a_barrier_for_it(staged, host_barriers):
    x = lp.zeros(64, device=staged)
    for _ in range(6):  # some of them kept recordings
        add_one[64](x).wait()
    with lp.graph() as graph:
        add_one[64](x)
    graph.replay().wait()
    assert not host_barriers
    assert np.all(x.numpy() == 7)
    assert len(host_barriers) == 1, "a copy to staging memory, which the host reads"


def test_a_picture_that_the_host_reads_has_one_too(staged, host_barriers):
    picture = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    image = lp.UnsampledImage(picture, device=staged)
    staged.default_queue.wait()
    assert not host_barriers
    np.testing.assert_array_equal(image.numpy(), picture)
    assert len(host_barriers) == 1


@lp.kernel
def check(x: lp.Array[lp.f32]):
    assert x[lp.global_id(0)] < 1.0
    x[lp.global_id(0)] += 1.0


def test_what_kernels_report_has_a_barrier_for_the_host(staged, host_barriers):
    x = lp.zeros(64, device=staged)
    staged.default_queue.wait()
    with lp.graph() as graph:
        check[64](x)
    graph.replay().wait()
    assert len(host_barriers) == 1
    check[64](x)
    with pytest.raises(lp.KernelTrap):
        staged.default_queue.wait()
    assert len(host_barriers) == 2


@lp.kernel
def tell(a: lp.i32):
    print("told", a)


@pytest.mark.parametrize("is_in_order", [True, False])
def test_repeated_prints_keep_their_order_on_queues_in_order(device, monkeypatch, capsys, is_in_order):
    queue, barriers = lp.Queue(device, in_order=is_in_order), []

    def note(args):
        stages = second_stages(args[1:])
        if stages != VK_PIPELINE_STAGE_HOST_BIT:  # at the end of what empties the memory of the prints
            barriers.append(stages)

    note_barriers(monkeypatch, device, note)
    for a in range(4):
        tell[1].on(queue)(a)
    assert len(barriers) == (4 if is_in_order else 0)
    queue.wait()
    assert sorted(capsys.readouterr().out.split()) == sorted(["told"] * 4 + list("0123"))
