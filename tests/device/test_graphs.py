"""Graphs: what is recorded, what a replay does, other arguments, misuse."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import graph_program

pytestmark = [pytest.mark.device, pytest.mark.native_only("graphs are not interpreted")]


@lp.kernel
def add(a: lp.f32, x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + a


@lp.kernel
def saxpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def scale(x: lp.In[lp.f32], y: lp.Out[lp.f32], factor: lp.f32):
    i = lp.global_id(0)
    y[i] = factor * x[i]


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


def zeros(device, n=64):
    return lp.zeros(n, device=device)


def test_nothing_runs_while_a_graph_is_recorded_and_all_of_it_at_each_replay(device):
    x, y = lp.ones(100, device=device), zeros(device, 100)
    with lp.graph() as g:
        add[100](1.0, x)
        saxpy[100](2.0, x, y)
    assert (x.numpy() == 1).all() and (y.numpy() == 0).all()
    assert len(g) == 2
    event = g.replay()
    assert isinstance(event, lp.Event) and event.wait() is event and event.done
    assert (x.numpy() == 2).all() and (y.numpy() == 4).all()
    g.replay()
    g.replay()
    assert (x.numpy() == 4).all() and (y.numpy() == 4 + 6 + 8).all()


def test_replays_and_launches_keep_their_order(device):
    x = zeros(device)
    queue = lp.Queue(device)
    with lp.graph() as g:
        for _ in range(300):  # several segments
            add[64](1.0, x)
    expected = 0.0
    for step in range(20):
        add[64](3.0, x)
        g.replay()
        add[64].on(queue)(5.0, x)
        g.replay(queue)
        x.fill(float(step)) if step % 7 == 6 else None
        expected = float(step) if step % 7 == 6 else expected + 608
    np.testing.assert_array_equal(x.numpy(), np.full(64, expected, np.float32))


@pytest.mark.parametrize("ending", ["dropped", "released"])
def test_copies_and_fills_of_views_whose_first_array_is_gone(device, ending):
    first = lp.zeros(6, device=device)
    table, other = first.reshape(2, 3), lp.zeros((2, 3), device=device)
    if ending == "released":
        first.release()
    del first
    with lp.graph() as graph:
        table.fill(3.0)
        other.copy_from(table)
    graph.replay()
    assert (other.numpy() == 3.0).all()
    table.copy_from(other.fill(4.0)).copy_from(table.ravel().reshape(2, 3))  # the same elements: no copy
    assert (table.numpy() == 4.0).all()


def test_copies_and_fills_are_commands(device):
    x, y = zeros(device), zeros(device)
    wide, struct = lp.zeros(10, lp.u64, device=device), lp.zeros(33, lp.u8, device=device)
    with lp.graph() as g:
        x.fill(3.0)
        add[64](1.0, x)
        y.copy_from(x)
        wide.fill(2**40 + 1)
        struct.fill(7)
    x.fill(0.0)
    g.replay().wait()
    assert (x.numpy() == 4).all() and (y.numpy() == 4).all()
    assert (wide.numpy() == 2**40 + 1).all() and (struct.numpy() == 7).all()


def test_temporaries_live_as_long_as_the_graph(device):
    y = zeros(device)
    with lp.graph() as g:
        temporary = lp.full(64, 2.0, device=device)
        add[64](1.0, temporary)
        saxpy[64](1.0, temporary, y)
    del temporary
    gc.collect()
    for _ in range(3):
        g.replay()
    assert (y.numpy() == 9).all()


def test_independent_commands_share_a_level(device):
    arrays = [zeros(device) for _ in range(4)]
    with lp.graph() as g:
        for x in arrays:
            for value in (1.0, 2.0, 3.0):
                add[64](value, x)
    barriers = [has_barrier for segment in g._segments for _, has_barrier in segment.content[0]]
    assert sum(barriers) == 3  # one before all, two between three levels of four
    g.replay().wait()
    assert all((x.numpy() == 6).all() for x in arrays)


def test_waits_inside_a_graph(device):
    x, y = zeros(device), zeros(device)
    with lp.graph() as g:
        first = add[64](1.0, x)
        add[64].on(device.default_queue, wait=[first])(1.0, y)
    assert [has for segment in g._segments for _, has in segment.content[0]] == [True, True]
    g.replay().wait()
    assert (y.numpy() == 1).all()


def test_command_groups_are_commands(device):
    queue = lp.Queue(device)
    x, y, z, w = (zeros(device) for _ in range(4))
    with lp.graph() as g:
        first = queue.parallel_for(64, add, 1.0, x)
        queue.copy(x, y)
        queue.fill(z, 4.0)
        with queue.submit() as h:
            h.depends_on(first)
            h.fill(w, 2.0)
        queue.submit(lambda h: h.parallel_for(64, add, 1.0, w))
        with pytest.raises(lp.InvalidError, match="cannot be recorded"):
            queue.copy(np.ones(64, np.float32), x)
    for _ in range(2):
        g.replay(queue)
    assert [float(a.numpy()[0]) for a in (x, y, z, w)] == [2, 2, 4, 3]
    order = [type(node).__name__ for segment in g._segments for node, _ in segment.content[0]]
    assert order.index("LaunchNode") < order.index("FillNode")


# ---- other arguments ----


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
    before = g._segments
    g.replay()
    g.update(events[5], a=100.0)
    g.replay().wait()
    assert [old is new for old, new in zip(before, g._segments, strict=True)] == [True, False, True]
    assert (x.numpy() == 12 + 111).all()


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


# ---- misuse ----


def test_a_released_array_is_named_at_replay(device):
    x, y = lp.ones(64, device=device), zeros(device)
    with lp.graph() as g:
        add[64](1.0, y)
        saxpy[64](1.0, x, y)
    g.replay()
    x.release()
    with pytest.raises(lp.KernelArgumentError, match=r"kernel 'saxpy'.*released.*g\.bind"):
        g.replay()
    assert (y.numpy() == 2).all()


def test_an_exception_leaves_nothing_recorded(device):
    x = zeros(device)
    with pytest.raises(ZeroDivisionError), lp.graph() as g:
        add[64](1.0, x)
        _ = 1 / 0
    with pytest.raises(lp.InvalidError, match="ended with an exception"):
        g.replay()
    add[64](1.0, x)  # runs as ever
    assert (x.numpy() == 1).all() and len(g) == 0


def test_a_wrong_launch_is_refused_when_it_is_recorded(device):
    with pytest.raises(lp.KernelArgumentError, match="'x'"), lp.graph():
        add[64](1.0, np.zeros(64, np.float32))


def test_graphs_do_not_nest(device):
    x = zeros(device)
    with lp.graph() as inner:
        add[64](1.0, x)
    with (
        pytest.raises(lp.InvalidError, match="a graph cannot be recorded in a graph"),
        lp.graph(),
        lp.graph(),
    ):
        pass
    with pytest.raises(lp.InvalidError, match="replay of a graph cannot"), lp.graph():
        inner.replay()
    inner.replay().wait()
    assert (x.numpy() == 1).all()


def test_a_graph_is_recorded_once_and_replayed_after(device):
    g = lp.graph()
    with pytest.raises(lp.InvalidError, match="has not been recorded"):
        g.replay()
    with g, pytest.raises(lp.InvalidError, match="is being recorded"):
        g.replay()
    with pytest.raises(lp.InvalidError, match="recorded once"), g:
        pass


def test_host_copies_are_no_commands(device):
    x = zeros(device)
    for action in (
        x.numpy,
        lambda: x.copy_from(np.ones(64, np.float32)),
        lambda: lp.asarray([1.0], device=device),
    ):
        with pytest.raises(lp.InvalidError, match="cannot be recorded"), lp.graph():
            action()


def test_what_a_recorded_launch_returns_cannot_be_waited_for(device):
    x = zeros(device)
    with lp.graph() as g:
        event = add[64](1.0, x)

    async def wait():
        await event

    for action in (event.wait, lambda: event.done, lambda: event.elapsed_ns, lambda: asyncio.run(wait())):
        with pytest.raises(lp.InvalidError, match=r"g\.replay"):
            action()
    with pytest.raises(lp.InvalidError, match=r"g\.replay"):
        add[64].on(device.default_queue, wait=[event])(1.0, x)
    with pytest.raises(lp.InvalidError, match="same graph"), lp.graph():
        add[64].on(device.default_queue, wait=[event])(1.0, x)
    with pytest.raises(lp.InvalidError, match="returned while g was recorded"):
        g.update(g.replay(), a=1.0)


def test_one_device_a_graph(device):
    other = next((d for d in lp.devices() if d is not device), None)
    if other is None:
        pytest.skip("one device only")
    x, y = zeros(device), zeros(other)
    with pytest.raises(lp.InvalidError, match="one device"), lp.graph():
        add[64](1.0, x)
        add[64](1.0, y)
    with lp.graph() as g:
        add[64](1.0, x)
    with pytest.raises(lp.InvalidError, match="runs on device"):
        g.replay(other.default_queue)
    event = add[64](1.0, y)
    g.replay(None, [event]).wait()
    assert event.done and (x.numpy() == 1).all()


def test_an_empty_graph_and_empty_ranges(device):
    with lp.graph() as g:
        pass
    assert g.replay().done and len(g) == 0 and g
    x = zeros(device)
    with lp.graph() as g:
        add[0](1.0, x)
    assert g.replay().wait().done and (x.numpy() == 0).all()


def test_a_closed_queue_is_refused(device):
    x, queue = zeros(device), lp.Queue(device)
    with lp.graph() as g:
        add[64](1.0, x)
    g.replay(queue)
    queue.close()
    with pytest.raises(lp.InvalidError, match="closed"):
        g.replay(queue)
    g.replay()
    assert (x.numpy() == 2).all()


def test_profiling_queues_do_not_time_replays(device):
    x = zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
    with pytest.raises(lp.InvalidError, match="replays of graphs are not"):
        _ = g.replay(lp.Queue(device, profiling=True)).elapsed_ns


def test_a_released_graph_is_refused(device):
    x = zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
    g.replay()
    g.release()
    g.release()
    with pytest.raises(lp.InvalidError, match="was released"):
        g.replay()
    assert (x.numpy() == 1).all()


def test_replays_are_traced_as_launches(device):
    x = zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
        add[64](1.0, x)
    with lp.trace() as t:
        g.replay()
        g.replay()
    assert t.count("launch") == 4


# ---- threads ----


def test_another_thread_launches_while_one_records(device):
    x, y = zeros(device), zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
        thread = threading.Thread(target=lambda: add[64](1.0, y).wait())
        thread.start()
        thread.join()
    assert len(g) == 1 and (y.numpy() == 1).all() and (x.numpy() == 0).all()


def test_threads_replay_and_update_one_graph(device):
    x, y = zeros(device), zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
        event = add[64](1.0, y)
    errors = []

    def work():
        try:
            queue = lp.Queue(device)
            for _ in range(25):
                g.update(event, a=1.0).replay(queue)
                g.replay()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert (x.numpy() == 200).all() and (y.numpy() == 200).all()


def test_random_graphs_do_what_numpy_does(device):
    rng = np.random.default_rng(11)
    for _ in range(15):
        hosts = [rng.integers(-5, 5, 32).astype(np.float32) for _ in range(5)]
        arrays = [lp.asarray(host, device=device) for host in hosts]
        steps = []
        for _ in range(int(rng.integers(1, 80))):
            i, j = rng.choice(5, 2, replace=False)
            steps.append((int(rng.integers(4)), int(i), int(j), float(rng.integers(-1, 2))))
        with lp.graph() as g:
            for kind, i, j, value in steps:
                if kind == 0:
                    add[32](value, arrays[i])
                elif kind == 1:
                    scale[32](arrays[i], arrays[j], value)
                elif kind == 2:
                    arrays[i].fill(value)
                else:
                    arrays[i].copy_from(arrays[j])
        for _ in range(2):
            g.replay()
            for kind, i, j, value in steps:
                if kind == 0:
                    hosts[i] += np.float32(value)
                elif kind == 1:
                    hosts[j][:] = np.float32(value) * hosts[i]
                elif kind == 2:
                    hosts[i][:] = value
                else:
                    hosts[i][:] = hosts[j]
        for host, array in zip(hosts, arrays, strict=True):
            np.testing.assert_array_equal(array.numpy(), host)


def test_kernels_of_a_graph_print_and_trap_at_each_replay(
    device: lp.Device, capsys: pytest.CaptureFixture[str]
):
    @lp.kernel
    def check(x: lp.Array[lp.i32], limit: lp.i32):
        i = lp.global_id(0)
        if i == 1:
            print("value", x[i])
        assert x[i] < limit, "too large"

    x = lp.asarray(np.arange(4, dtype=np.int32), device=device)
    with lp.graph() as graph:
        check[4](x, 10)
    graph.replay().wait()
    assert capsys.readouterr().out == "value 1\n"
    with pytest.raises(lp.KernelTrap, match="too large"):
        graph.replay(limit=3).wait()
    graph.replay(limit=10).wait()
    assert capsys.readouterr().out.endswith("value 1\n")
    other = lp.Queue(device)
    with pytest.raises(lp.InvalidError, match="replays on one queue"):
        graph.replay(other)


@pytest.mark.parametrize("is_rebound", [False, True])
def test_arrays_that_moved_since_are_used_where_they_are(device, is_rebound):
    x, y, z, other = (zeros(device) for _ in range(4))
    with lp.graph() as g:
        y.copy_from(x)
        z.copy_from(y)
    g.replay().wait()
    old, moved = weakref.ref(x.buffer), lp.full(x.size, 3, np.float32, device=device)
    x.replace_buffer(moved.buffer)  # as `export_fd` does, where there is one
    gc.collect()
    assert old() is None, "graphs keep no memory that an array has let go of"
    if is_rebound:
        g.bind(z, other)
    g.replay().wait()
    assert (y.numpy() == 3).all()
    assert ((other if is_rebound else z).numpy() == 3).all()
