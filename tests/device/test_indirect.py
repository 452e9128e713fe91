"""Indirect launches: ranges that an earlier kernel has counted, on the device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp


@lp.kernel
def mark(out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = lp.global_range(0) + i


@lp.kernel
def mark_rows(out: lp.Array[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = 1000 * lp.global_range(0) + lp.global_range(1)


@lp.kernel
def mark_box(out: lp.Array[lp.i32, 3]):
    out[lp.global_id(0), lp.global_id(1), lp.global_id(2)] = 1


@lp.kernel
def count_positive(x: lp.In[lp.f32], counts: lp.Array[lp.u32]):
    i = lp.global_id(0)
    if x[i] > 0.0:
        lp.atomic.add(counts, 0, lp.u32(1))


@lp.kernel(local_size=64)
def sum_groups(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        out[lp.group_id(0)] = total


def counts_of(device, *values, dtype=np.uint32):
    return lp.asarray(np.array(values, dtype), device=device)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_the_range_is_the_counts(device, n, dtype):
    out = lp.zeros(1000, lp.i32, device=device)
    mark[lp.IndirectRange(counts_of(device, 7, n, 9, dtype=dtype), offset=1)](out)
    expected = np.zeros(1000, np.int32)
    expected[:n] = n + np.arange(n)
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("local", [None, (3, 5), (1, 32)])
def test_two_dimensions_slowest_first(device, local):
    out = lp.zeros((40, 50), lp.i32, device=device)
    mark_rows[lp.IndirectRange(counts_of(device, 17, 33), dimensions=2, local_size=local)](out)
    expected = np.zeros((40, 50), np.int32)
    expected[:17, :33] = 17033
    np.testing.assert_array_equal(out.numpy(), expected)


def test_three_dimensions(device):
    out = lp.zeros((5, 6, 7), lp.i32, device=device)
    mark_box[lp.IndirectRange(counts_of(device, 2, 6, 3), dimensions=3)](out)
    expected = np.zeros((5, 6, 7), np.int32)
    expected[:2, :6, :3] = 1
    np.testing.assert_array_equal(out.numpy(), expected)


def test_counts_come_from_the_launch_before(device):
    """Neither launch waits for the other on the host: the range is read when it is there."""
    x = np.random.default_rng(5).standard_normal(5000).astype(np.float32)
    counts, out = lp.zeros(1, lp.u32, device=device), lp.zeros(5000, lp.i32, device=device)
    for _ in range(3):
        counts.fill(0)
        count_positive[x.size](lp.asarray(x, device=device), counts)
        out.fill(0)
        mark[lp.IndirectRange(counts)](out)
        assert (out.numpy() != 0).sum() == (x > 0).sum()


@pytest.mark.native_only("command buffers of devices")
def test_many_in_one_command_buffer_each_have_their_own_range(device):
    counts = counts_of(device, *range(1, 201))
    outs = [lp.zeros(256, lp.i32, device=device) for _ in range(200)]
    for k, out in enumerate(outs):
        mark[lp.IndirectRange(counts, offset=k)](out)
    assert [int((out.numpy() != 0).sum()) for out in outs] == list(range(1, 201))


def test_work_items_that_work_together(device):
    x = np.arange(512, dtype=np.int32)
    out = lp.zeros(8, lp.i32, device=device)
    sum_groups[lp.IndirectRange(counts_of(device, 192))](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(out.numpy()[:3], x[:192].reshape(3, 64).sum(axis=1))
    assert not out.numpy()[3:].any()


@pytest.mark.native_only("the interpreter reads the range on the host")
@pytest.mark.parametrize("n", [2**31, 2**32 - 1])
def test_a_hostile_count_runs_nothing_and_is_told(device, n):
    out = lp.zeros(64, lp.i32, device=device)
    event = mark[lp.IndirectRange(counts_of(device, n))](out)
    with pytest.raises(
        lp.KernelTrap, match=rf"kernel 'mark'.*indirect range {n} has 2\*\*31 work-items or more"
    ):
        event.wait()
    assert not out.numpy().any()
    mark[lp.IndirectRange(counts_of(device, 3))](out)
    assert (out.numpy() != 0).sum() == 3


@pytest.mark.native_only("the interpreter reads the range on the host")
def test_a_product_that_passes_the_limit_runs_nothing(device):
    out = lp.zeros((4, 4, 4), lp.i32, device=device)
    mark_box[lp.IndirectRange(counts_of(device, 65536, 65536, 65536), dimensions=3)](out)
    with pytest.raises(lp.KernelTrap, match=r"\(65536, 65536, 65536\) has 2\*\*31"):
        out.numpy()


@pytest.mark.native_only("the interpreter reads the range on the host")
def test_more_work_groups_than_the_device_dispatches(device):
    small = device.masked(limits={"maxComputeWorkGroupCount": (8, 8, 8)})
    out = lp.zeros(64, lp.i32, device=small)
    mark[lp.IndirectRange(counts_of(small, 33), local_size=4)](out)
    with pytest.raises(lp.KernelTrap, match="more than the 8 that the device dispatches"):
        out.numpy()
    mark[lp.IndirectRange(counts_of(small, 32), local_size=4)](out)
    assert (out.numpy() != 0).sum() == 32


@pytest.mark.native_only("the interpreter reads the range on the host")
def test_a_range_that_cuts_a_work_group(device):
    x, out = lp.ones(512, lp.i32, device=device), lp.zeros(8, lp.i32, device=device)
    sum_groups[lp.IndirectRange(counts_of(device, 100))](x, out)
    with pytest.raises(lp.KernelTrap, match="100 is no multiple of the local size 64"):
        out.numpy()


@pytest.mark.native_only("graphs are not interpreted")
def test_a_graph_reads_the_range_at_each_replay(device):
    counts, out = counts_of(device, 10), lp.zeros(100, lp.i32, device=device)
    with lp.graph() as g:
        out.fill(0)
        event = mark[lp.IndirectRange(counts)](out)
    for n in (10, 0, 77):
        counts.copy_from(np.array([n], np.uint32))
        g.replay()
        assert (out.numpy() != 0).sum() == n
    other = lp.zeros(100, lp.i32, device=device)
    g.update(event, out=other)
    g.replay()
    assert (other.numpy() != 0).sum() == 77
    more = counts_of(device, 5)
    g.bind(counts, more)
    other.fill(0)
    g.replay()
    assert (other.numpy() != 0).sum() == 5


@pytest.mark.native_only("graphs are not interpreted")
def test_a_graph_counts_and_launches(device):
    x = lp.asarray(np.linspace(-1, 3, 1000).astype(np.float32), device=device)
    counts, out = lp.zeros(1, lp.u32, device=device), lp.zeros(1000, lp.i32, device=device)
    with lp.graph() as g:
        counts.fill(0)
        count_positive[x.size](x, counts)
        mark[lp.IndirectRange(counts)](out)
    for _ in range(3):
        out.fill(0)
        g.replay()
        assert (out.numpy() != 0).sum() == int((x.numpy() > 0).sum())


@pytest.mark.native_only("graphs are not interpreted")
def test_a_graph_tells_of_a_range_that_cannot_be(device):
    counts, out = counts_of(device, 2**31), lp.zeros(100, lp.i32, device=device)
    with lp.graph() as g:
        mark[lp.IndirectRange(counts)](out)
    for _ in range(2):
        event = g.replay()
        with pytest.raises(lp.KernelTrap, match="indirect range"):
            event.wait()
    counts.fill(4)
    g.replay().wait()
    assert (out.numpy() != 0).sum() == 4


def test_queues_and_command_groups(device):
    queue = lp.Queue(device)
    counts, out = counts_of(device, 12), lp.zeros(100, lp.i32, device=device)
    mark[lp.IndirectRange(counts)].on(queue)(out)
    assert (out.numpy() != 0).sum() == 12
    counts.fill(20)
    queue.parallel_for(lp.IndirectRange(counts), mark, out)
    assert (out.numpy() != 0).sum() == 20


@pytest.mark.native_only("bundles")
def test_a_kernel_of_a_bundle(device):
    queue = lp.Queue(device)
    bundle = lp.get_kernel_bundle(
        queue.context, state=lp.BundleState.EXECUTABLE, kernel_ids=[lp.get_kernel_id(mark)]
    )
    counts, out = counts_of(device, 12), lp.zeros(100, lp.i32, device=device)
    with queue.submit() as h:
        h.use_kernel_bundle(bundle)
        h.parallel_for(lp.IndirectRange(counts), mark, out)
    assert (out.numpy() != 0).sum() == 12


@pytest.mark.native_only("bundles")
def test_a_kernel_of_a_bundle_that_does_not_see_its_range(device):
    """Its arguments may stay in push constants; waiting for one launch after the other repeats nothing else."""
    queue = lp.Queue(device)
    ids = [lp.get_kernel_id(sum_groups)]
    bundle = lp.get_kernel_bundle(queue.context, state=lp.BundleState.EXECUTABLE, kernel_ids=ids)
    x, out = lp.ones(512, lp.i32, device=device), lp.zeros(8, lp.i32, device=device)
    counts = counts_of(device, 0)
    for groups in range(8):
        out.fill(0)
        counts.fill(64 * groups)
        queue.wait()
        with queue.submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(lp.IndirectRange(counts), sum_groups, x, out)
        queue.wait()
        assert out.numpy().tolist() == [64] * groups + [0] * (8 - groups)


def test_prints_and_asserts_of_the_kernel_itself(device, capsys):
    counts, out = counts_of(device, 3), lp.zeros(100, lp.i32, device=device)
    tell[lp.IndirectRange(counts)](out)
    out.numpy()
    assert sorted(capsys.readouterr().out.split()) == ["0", "1", "2"]


@lp.kernel
def tell(out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    print(i)
    out[i] = 1


@pytest.mark.native_only("timestamps of devices")
def test_a_profiling_queue_times_it(device):
    queue = lp.Queue(device, profiling=True)
    counts, out = counts_of(device, 90), lp.zeros(100, lp.i32, device=device)
    events = [mark[lp.IndirectRange(counts)].on(queue)(out) for _ in range(80)]
    assert all(event.elapsed_ns > 0 for event in events)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda d: lp.IndirectRange(5), lp.NdRangeError, "one-dimensional lp.Array"),
        (lambda d: lp.IndirectRange(lp.zeros(3, lp.f32, device=d)), lp.NdRangeError, "u32 or i32"),
        (lambda d: lp.IndirectRange(lp.zeros((3, 1), lp.u32, device=d)), lp.NdRangeError, "one-dimensional"),
        (lambda d: lp.IndirectRange(lp.zeros(3, lp.u32, device=d), offset=3), lp.NdRangeError, "array of 3"),
        (lambda d: lp.IndirectRange(lp.zeros(3, lp.u32, device=d), offset=-1), lp.NdRangeError, "offset"),
        (lambda d: lp.IndirectRange(lp.zeros(3, lp.u32, device=d), offset=True), lp.NdRangeError, "offset"),
        (lambda d: lp.IndirectRange(lp.zeros(9, lp.u32, device=d), dimensions=4), lp.NdRangeError, "1 to 3"),
        (
            lambda d: lp.IndirectRange(lp.zeros(9, lp.u32, device=d), local_size=(2, 2)),
            lp.NdRangeError,
            "local",
        ),
        (
            lambda d: lp.IndirectRange(lp.zeros(9, lp.u32, device=d), local_size=0),
            lp.NdRangeError,
            "local size",
        ),
    ],
)
def test_what_is_no_indirect_range(device, make, error, match):
    with pytest.raises(error, match=match):
        mark[make(device)](lp.zeros(10, lp.i32, device=device))


@pytest.mark.native_only("the interpreter reads the range wherever it is")
def test_an_array_of_another_device_or_a_released_one(device):
    out, gone = lp.zeros(10, lp.i32, device=device), counts_of(device, 1)
    gone.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        mark[lp.IndirectRange(gone)](out)
    other = device.masked(without=(lp.Aspect.FP64,))
    with pytest.raises(lp.KernelArgumentError, match="device"):
        mark[lp.IndirectRange(counts_of(other, 1))](out)


def test_another_number_of_dimensions_than_the_kernel(device):
    with pytest.raises(lp.CompileError, match="launch the kernel over 2 dimensions"):  # as mark_rows[1](…)
        mark_rows[lp.IndirectRange(counts_of(device, 1))](lp.zeros((4, 4), lp.i32, device=device))


def test_an_indirect_launch_may_be_interpreted(device):
    """Without the variable too, which only runs of the whole suite in the interpreter set."""
    out, counts = lp.zeros(6, lp.i32, device=device), lp.full(1, 4, lp.u32, device=device)
    with lp.config.override(interpret=True):
        mark[lp.IndirectRange(counts)].on(lp.Queue(device))(out)
    assert out.numpy().tolist() == [4, 5, 6, 7, 0, 0]
