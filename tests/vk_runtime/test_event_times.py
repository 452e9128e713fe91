"""`vk_runtime.event_times`: when commands of a queue with ``profiling=True`` were submitted, began and ended."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import event_times
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.event_times import EventClock, Timing

TIMES = lp.info.event_profiling


@lp.kernel
def add(x: lp.Array[lp.f32], a: lp.f32):
    i = lp.global_id(0)
    x[i] = x[i] + a


def times(event):
    return tuple(
        event.get_profiling_info(each)
        for each in (TIMES.command_submit, TIMES.command_start, TIMES.command_end)
    )


@pytest.fixture(params=[False, True], ids=["mapped", "staged"])
def target(request, device):
    if request.param:
        device = Device(device.physical, device.selector, staged_memory=True)
    yield device
    if request.param:
        device.shut_down()


@pytest.mark.device
@pytest.mark.native_only("times of devices")
def test_commands_follow_each_other(target) -> None:
    queue = lp.Queue(target, profiling=True)
    x, y = (lp.zeros(1 << 16, device=target) for _ in range(2))
    events = [
        add[x.size].on(queue)(x, 1.0),
        queue.copy(x, y),
        queue.fill(x, 2.0),
        add[x.size].on(queue)(x, 1.0),
        queue.copy(np.ones(x.size, np.float32), y),
        add[lp.IndirectRange(lp.full(1, 9, lp.u32, device=target))].on(queue)(x, 1.0),
    ]
    for event in events:
        submitted, start, end = found = times(event)
        assert all(type(moment) is int for moment in found)
        assert submitted <= start <= end
        # Pieces of one command may lie apart; what they took together has no more than what lies from first to last.
        assert 0 <= event.elapsed_ns <= end - start + 2
        assert found == times(event)
        assert event.profiling_info.command_start == start
    _, start, end = times(events[0])
    assert events[0].elapsed_ns == pytest.approx(end - start, abs=2)
    kernels = [times(event) for event in events if event not in (events[1], events[2], events[4])]
    for before, after in pairwise(kernels):
        assert before[2] <= after[1]


@pytest.mark.device
@pytest.mark.native_only("times of devices")
def test_what_has_no_times_says_so(device) -> None:
    queue, x = lp.Queue(device, profiling=True), lp.zeros(4, device=device)
    with pytest.raises(lp.InvalidError, match=r"lp\.Queue\(profiling=True\)"):
        add[4](x, 1.0).get_profiling_info(TIMES.command_end)
    with pytest.raises(TypeError, match=r"Event\.get_profiling_info takes a descriptor such as"):
        add[4].on(queue)(x, 1.0).get_profiling_info("command_end")
    with pytest.raises(TypeError, match=r"takes descriptors of lp\.info\.event_profiling"):
        add[4].on(queue)(x, 1.0).get_profiling_info(lp.info.event.command_execution_status)
    with lp.graph() as graph:
        add[4].on(queue)(x, 1.0)
        copy = queue.copy(x, lp.zeros(4, device=device))
    assert copy.is_recorded
    with pytest.raises(lp.InvalidError, match="replays of graphs are not"):
        graph.replay(queue).get_profiling_info(TIMES.command_end)
    assert times(add[0].on(queue)(x, 1.0)) == (0, 0, 0)


def test_counters_that_begin_anew(monkeypatch) -> None:
    """36 bits of 10 ns wrap each 11 minutes; commands a minute apart stay a minute apart."""
    monkeypatch.setattr(event_times, "calibrate", lambda device: None)
    physical = SimpleNamespace(timestamp_valid_bits=36, limits=SimpleNamespace(timestamp_period_ns=10.0))
    clock = EventClock(SimpleNamespace(physical=physical))
    minute, wrap = 60 * 10**9, 1 << 36
    first = wrap - 1000
    for count in range(30):
        timing = Timing(5_000 + count * minute)
        timing.add((first + count * minute // 10) % wrap, 50, wrap - 1)
        clock.note(timing)
        assert clock.times_of(timing) == tuple(10 * first + count * minute + n for n in (0, 0, 500))
    late = Timing(5_000 + 30 * minute)
    late.add((first + 3 * minute + 7) % wrap, 50, wrap - 1)
    late.add((first + 3 * minute + 100) % wrap, 5, wrap - 1)
    clock.note(late)
    begin = 10 * first + 30 * minute
    assert clock.times_of(late) == (begin, begin + 70, begin + 1050)
    assert late.elapsed_ticks == 55


def test_counters_of_nanoseconds_since_1970_are_not_rounded(monkeypatch) -> None:
    """As NVIDIA's do; a float has steps of 256 ns there."""
    monkeypatch.setattr(event_times, "calibrate", lambda device: None)
    physical = SimpleNamespace(timestamp_valid_bits=64, limits=SimpleNamespace(timestamp_period_ns=1.0))
    clock, epoch = EventClock(SimpleNamespace(physical=physical)), 1_795_000_000_000_000_001
    for count in range(9):
        timing = Timing(5_000 + count)
        timing.add(epoch + count, 3, (1 << 64) - 1)
        clock.note(timing)
        assert clock.times_of(timing) == (epoch + count, epoch + count, epoch + count + 3)
