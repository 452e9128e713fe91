"""Graphs: what is recorded, what a replay does, misuse."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp

from .graph_kernels import add, saxpy, scale, zeros

pytestmark = [pytest.mark.device, pytest.mark.native_only("graphs are not interpreted")]


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


# Misuse


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


@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.asarray(x),
        lambda x: memoryview(np.asarray(x)),
        lambda x: x.__dlpack__(dl_device=(1, 0), copy=True),
        lambda x: x.device.default_queue.wait(),
        lambda x: x.device.default_queue.wait_and_throw(),
    ],
    ids=["asarray", "memoryview", "dlpack", "wait", "wait_and_throw"],
)
def test_what_shows_nothing_of_the_graph_yet_is_refused(device, use):
    """What the block has launched before has not run, whatever somebody waits for."""
    x = zeros(device)
    with lp.graph() as g:
        add[64](1.0, x)
        with pytest.raises(lp.InvalidError, match="cannot be recorded in a graph"):
            use(x)
        add[64](1.0, x)
    g.replay().wait()
    use(x)
    assert (np.asarray(x) == 2).all()


# Threads


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
