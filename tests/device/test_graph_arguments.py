"""Graphs that replay with other arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import graph_program

from .graph_kernels import add, saxpy, scale, zeros

pytestmark = [pytest.mark.device, pytest.mark.native_only("graphs are not interpreted")]


@lp.kernel
def twenty(
    y: lp.Array[lp.f64],
    a0: lp.f64, a1: lp.f64, a2: lp.f64, a3: lp.f64, a4: lp.f64, a5: lp.f64, a6: lp.f64, a7: lp.f64, a8: lp.f64,
    a9: lp.f64, b0: lp.f64, b1: lp.f64, b2: lp.f64, b3: lp.f64, b4: lp.f64, b5: lp.f64, b6: lp.f64, b7: lp.f64,
    b8: lp.f64, b9: lp.f64, c0: lp.f64, c1: lp.f64, c2: lp.f64, c3: lp.f64, c4: lp.f64, c5: lp.f64, c6: lp.f64,
    c7: lp.f64, c8: lp.f64, c9: lp.f64, d0: lp.f64, d1: lp.f64, d2: lp.f64, d3: lp.f64, d4: lp.f64, d5: lp.f64,
):  # fmt: skip
    i = lp.global_id(0)
    y[i] = (
        a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9
        + c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + d0 + d1 + d2 + d3 + d4 + d5
    )  # fmt: skip


def test_update_of_one_launch(device):
    x, y, other = lp.ones(64, device=device), zeros(device), lp.full(64, 10.0, device=device)
    with lp.graph() as g:
        first = saxpy[64](1.0, x, y)
        saxpy[64](1.0, x, y)
    assert g.update(first, a=3.0, x=other) is g
    g.replay().wait()
    assert (y.numpy() == 31).all()
    g.replay().wait()  # it stays so
    assert (y.numpy() == 62).all()


def test_only_segments_with_a_change_are_recorded_again(device, monkeypatch):
    monkeypatch.setattr(graph_program, "SEGMENT_COMMANDS", 4)
    x = zeros(device)
    with lp.graph() as g:
        events = [add[64](1.0, x) for _ in range(12)]
    g.replay()
    assert len(g._segments) == 1  # nothing has changed so far
    g.update(events[11], a=2.0)
    g.replay()
    before = g._segments
    g.update(events[5], a=100.0)
    g.replay().wait()
    assert [old is new for old, new in zip(before, g._segments, strict=True)] == [True, False, True]
    assert (x.numpy() == 12 + 13 + 112).all()


def test_arguments_by_name(device):
    x, y, z = lp.ones(64, device=device), zeros(device), zeros(device)
    with lp.graph() as g:
        scale[64](x, y, 2.0)
        scale[64](x, z, 2.0)
    g.replay(factor=5.0).wait()
    assert (y.numpy() == 5).all() and (z.numpy() == 5).all()
    g.replay(x=lp.full(64, 2.0, device=device)).wait()
    assert (y.numpy() == 10).all() and (z.numpy() == 10).all()
    with pytest.raises(lp.KernelArgumentError, match=r"different arguments for 'y'.*g\.update"):
        g.replay(y=z)
    with pytest.raises(
        lp.KernelArgumentError, match=r"no kernel of the graph has a parameter 'w'; .*factor, x, y"
    ):
        g.replay(w=1.0)


def test_bind_an_array_everywhere(device):
    x, y, other = zeros(device), zeros(device), zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
        saxpy[64](1.0, x, y)
        y.copy_from(x)
    x.release()
    with pytest.raises(lp.KernelArgumentError, match="was released"):
        g.replay()
    g.bind(x, other).replay().wait()
    assert (other.numpy() == 1).all() and (y.numpy() == 1).all()
    with pytest.raises(lp.InvalidError, match="does not use"):
        g.bind(x, other)


def test_what_is_bound_and_pushed_already_is_not_again(device, monkeypatch):
    x, y, z = zeros(device), zeros(device), lp.ones(64, device=device)
    add[64](0.0, x), saxpy[64](0.0, z, y)
    calls = []
    for kernel in (add, saxpy):
        record = kernel[64].short[1].__self__
        for name in ("_push", "_bind_pipelines", "_bind_sets"):
            really_do = getattr(record, name)
            monkeypatch.setattr(
                record, name, lambda *args, name=name, do=really_do: (calls.append(name), do(*args))
            )
    with lp.graph() as g:
        for a in (1.0, 1.0, 1.0, 4.0, 4.0, 1.0):
            add[64](a, x)
    assert [calls.count(name) for name in ("_push", "_bind_pipelines", "_bind_sets")] == [3, 1, 1]
    calls.clear()
    with lp.graph() as mixed:
        for _ in range(3):
            for array in (x, zeros(device), zeros(device)):
                add[64](1.0, array)
                saxpy[64](1.0, z, zeros(device))
            saxpy[64](1.0, z, y)
    assert calls.count("_bind_pipelines") == 2 + 2 + 2, "two for each level"
    assert calls.count("_push") == 2 + 2 + 2, "what was pushed for another layout is not there"
    g.replay()
    mixed.replay()
    assert np.all(x.numpy() == 12 + 3)
    assert np.all(y.numpy() == 3)


def test_a_new_conflict_gets_its_barrier(device):
    x, y = zeros(device), zeros(device)
    with lp.graph() as g:
        for _ in range(5):
            add[64](1.0, x)
            add[64](1.0, y)
    g.bind(y, x)
    for _ in range(10):
        g.replay()
    assert (x.numpy() == 100).all() and (y.numpy() == 0).all()


def test_arguments_change_while_replays_are_in_flight(device):
    x, step = zeros(device, 5000), 0
    with lp.graph() as g:
        event = add[5000](0.0, x)
        for _ in range(40):
            add[5000](0.0, x)
    for step in range(1, 101):
        g.update(event, a=float(step)).replay()
    assert (x.numpy() == 100 * 101 / 2).all() and step == 100


def test_arguments_that_do_not_suit_change_nothing(device):
    x, y = lp.ones(64, device=device), zeros(device)
    with lp.graph() as g:
        event = saxpy[64](1.0, x, y)
    bad = [
        {"b": 1.0}, {"a": "1"}, {"x": 1.0}, {"x": zeros(device, 65)}, {"x": lp.zeros(64, lp.f64, device=device)},
        {"x": y}, {"a": 5.0, "x": None}, {"y": np.zeros(64, np.float32)},
    ]  # fmt: skip
    for arguments in bad:
        with pytest.raises(lp.KernelArgumentError):
            g.update(event, **arguments)
        with pytest.raises(lp.KernelArgumentError):
            g.replay(**arguments)
    for new in (zeros(device, 65), 3, y):
        with pytest.raises(lp.KernelArgumentError):
            g.bind(x, new)
    released = zeros(device)
    released.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        g.bind(x, released)
    g.replay().wait()
    assert (y.numpy() == 1).all()


def test_arguments_in_memory_where_they_exceed_the_push_constants(device):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("needs fp64")
    y = lp.zeros(64, lp.f64, device=device)
    with lp.graph() as g:
        event = twenty[64](y, *[1.0] * 36)
    g.replay().wait()
    assert (y.numpy() == 36).all()
    for value in range(50):
        g.update(event, c3=float(value)).replay()
    assert (y.numpy() == 35 + 49).all()


@lp.kernel(local_size=64)
def turn(x: lp.Array[lp.f32], tile: lp.LocalArray[lp.f32]):
    i = lp.local_id(0)
    tile[i] = x[i]
    lp.barrier()
    x[i] = tile[63 - i]


def test_shared_memory_of_a_launch_stays_as_recorded(device):
    host = np.arange(64, dtype=np.float32)
    x = lp.asarray(host, device=device)
    with lp.graph() as g:
        event = turn[64](x, lp.local(64))
    g.replay().wait()
    np.testing.assert_array_equal(x.numpy(), host[::-1])
    g.update(event, tile=lp.local(64)).replay().wait()
    np.testing.assert_array_equal(x.numpy(), host)
    for wrong in (lp.local(128), 3.0, x):
        with pytest.raises(lp.KernelArgumentError, match="tile"):
            g.update(event, tile=wrong)


@pytest.mark.parametrize("junk", [3, "queue", [], lp.f32])
def test_a_replay_takes_a_queue_and_events(device: lp.Device, junk: Any):
    x = lp.zeros(4, device=device)
    with lp.graph() as g:
        lp.Queue(device).fill(x, 1.0)
    with pytest.raises(lp.InvalidError, match=r"expected an lp\.Queue"):
        g.replay(junk)
    for wait in (junk or 0, [junk], g.replay()):
        with pytest.raises(lp.InvalidError, match=r"lp\.Events"):
            g.replay(None, wait)
    g.replay(None, (event for event in [g.replay()])).wait()
    assert (x.numpy() == 1).all()
