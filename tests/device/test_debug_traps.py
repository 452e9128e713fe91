"""Debug mode on devices: shared and private memory that nothing was written to, barriers that only some reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import array_sizes

pytestmark = pytest.mark.device

LENGTH = lp.SpecializationId(lp.i32, 5)


@pytest.fixture(autouse=True)
def _debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_DEBUG", "1")


def counting(device, count: int = 8) -> lp.ArrayBase:
    return lp.asarray(np.arange(count, dtype=np.int32), device=device)


def trap_of(launch: Callable[[], lp.Event]) -> lp.KernelTrap:
    """What a launch raises: on devices when it is waited for, in the interpreter at once."""
    with pytest.raises(lp.KernelTrap) as raised:
        launch().wait()
    return raised.value


def line_of(kernel, offset: int) -> int:
    return kernel.function.__code__.co_firstlineno + offset


# Memory that nothing was written to


@lp.kernel(local_size=4)
def reverses(skipped: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    if lp.global_id(0) != skipped:
        tile[i] = x[lp.global_id(0)]
    lp.barrier()
    y[lp.global_id(0)] = tile[3 - i]


def test_an_unwritten_element_of_shared_memory(device) -> None:
    x, y = counting(device), lp.zeros(8, lp.i32, device=device)
    reverses[8](-1, x, y).wait()
    assert y.numpy().tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    trap = trap_of(lambda: reverses[8](6, x, y))
    assert "element [2] of shared array 'tile' is read before anything was written to it" in str(trap)
    assert (trap.code, trap.work_item, trap.kernel) == ("LP4111", (5,), "reverses")
    assert trap.location is not None
    assert trap.location.line == line_of(reverses, 7)
    reverses[8](-1, x, y).wait()  # every launch starts anew


@pytest.mark.native_only("the interpreter names no values")
def test_its_values_are_the_indices(device) -> None:
    @lp.kernel(local_size=(2, 2))
    def planes(y: lp.Array[lp.i32, 2]):
        tile = lp.local.array((LENGTH, 2, 3), lp.i32)
        a, b = lp.local_id(0), lp.local_id(1)
        for c in range(2):
            tile[a, b, c] = c
        lp.barrier()
        y[lp.global_id(0), lp.global_id(1)] = tile[1 - a, 1 - b, 2 if lp.global_id(0) == 3 and b == 1 else 1]

    trap = trap_of(lambda: planes[4, 2](lp.zeros((4, 2), lp.i32, device=device)))
    assert trap.work_item == (3, 1)
    assert trap.values == (0, 0, 2)
    assert "element [0, 0, 2] of shared array 'tile'" in str(trap)


@pytest.mark.parametrize("launch", ["given", "constant"])
def test_lengths_that_the_launch_gives(launch: str, device) -> None:
    @lp.kernel(local_size=4)
    def given(x: lp.In[lp.i32], tile: lp.LocalArray[lp.i32], y: lp.Out[lp.i32]):
        tile[lp.local_id(0)] = x[lp.global_id(0)]
        lp.barrier()
        y[lp.global_id(0)] = tile[len(tile) - 1 - lp.local_id(0)]

    @lp.kernel(local_size=4)
    def constant(x: lp.In[lp.i32], length: lp.Const[lp.i32], y: lp.Out[lp.i32]):
        tile = lp.local.array(length, lp.i32)
        tile[lp.local_id(0)] = x[lp.global_id(0)]
        lp.barrier()
        y[lp.global_id(0)] = tile[length - 1 - lp.local_id(0)]

    x, y = counting(device), lp.zeros(8, lp.i32, device=device)

    def run(length: int) -> lp.Event:
        return given[8](x, lp.local(length), y) if launch == "given" else constant[8](x, length, y)

    run(4).wait()
    assert y.numpy().tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert "of shared array 'tile' is read before" in str(trap_of(lambda: run(70)))


@pytest.mark.parametrize("dtype", [lp.bool_, lp.u8, lp.i16, lp.f16, lp.f32, lp.i64, lp.f64], ids=str)
def test_elements_of_every_width(dtype, device) -> None:
    @lp.kernel(local_size=4)
    def sums(skipped: lp.i32, y: lp.Out[lp.i32]):
        tile = lp.local.array(70, dtype)
        for k in range(70):
            if k % 4 == lp.local_id(0) and k != skipped:
                tile[k] = dtype(1)
        lp.barrier()
        total = 0
        for k in range(70):
            if tile[k] == dtype(1):
                total += 1
        y[lp.global_id(0)] = total

    y = lp.zeros(8, lp.i32, device=device)
    try:
        sums[8](-1, y).wait()
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error))
    assert y.numpy().tolist() == [70] * 8
    for skipped in (0, 31, 32, 69):
        assert f"element [{skipped}] of shared array" in str(trap_of(lambda n=skipped: sums[8](n, y)))


@pytest.mark.parametrize("components", [2, 3, 4])
def test_components_of_vectors(components: int, device) -> None:
    vector = {2: lp.f32x2, 3: lp.f32x3, 4: lp.f32x4}[components]

    @lp.kernel(local_size=4)
    def lanes(skipped: lp.i32, is_whole: lp.i32, y: lp.Out[lp.f32]):
        tile = lp.local.array(40, vector)
        i = lp.local_id(0)
        for k in range(components):
            if i != 1 or k != skipped:
                tile[i + 36][k] = lp.f32(k)
        lp.barrier()
        if is_whole == 1:
            whole = tile[39 - i]
            y[lp.global_id(0)] = whole.y
        else:
            y[lp.global_id(0)] = tile[39 - i].y

    y = lp.zeros(4, device=device)
    for is_whole in (0, 1):
        lanes[4](-1, is_whole, y).wait()
        assert y.numpy().tolist() == [1, 1, 1, 1]
    lanes[4](0, 0, y).wait()  # x is missing, which nobody reads
    trap = trap_of(lambda: lanes[4](1, 0, y))
    assert (trap.work_item, "element [37]" in str(trap)) == ((2,), True)
    trap = trap_of(lambda: lanes[4](0, 1, y))
    assert (trap.work_item, "element [37]" in str(trap)) == ((2,), True)


def test_atomic_operations_read_and_write(device) -> None:
    @lp.kernel(local_size=4)
    def counts(first: lp.i32, y: lp.Out[lp.i32]):
        tile = lp.local.array(2, lp.i32)
        if lp.local_id(0) == 0 and first == 1:
            lp.atomic.store(tile, 1, 0)
        lp.barrier()
        lp.atomic.add(tile, 1, 1)
        lp.barrier()
        y[lp.global_id(0)] = tile[1]

    @lp.kernel(local_size=4)
    def exchanges(y: lp.Out[lp.i32]):
        tile = lp.local.array(2, lp.i32)
        if lp.local_id(0) == 0:
            tile[0] = 0
        lp.barrier()
        lp.atomic.compare_exchange(tile, 0, 0, 1)
        lp.atomic.compare_exchange(tile, 1, 0, 1)
        y[lp.global_id(0)] = lp.atomic.load(tile, 0)

    y = lp.zeros(8, lp.i32, device=device)
    counts[8](1, y).wait()
    assert y.numpy().tolist() == [4] * 8
    assert trap_of(lambda: counts[8](0, y)).location.line == line_of(counts, 6)
    assert trap_of(lambda: exchanges[8](y)).location.line == line_of(exchanges, 7)


def test_neighbours_that_write_at_once_lose_no_bit(device) -> None:
    @lp.kernel(local_size=64)
    def fills(y: lp.Out[lp.i32]):
        tile = lp.local.array(1024, lp.i32)
        for k in range(16):
            tile[k * 64 + lp.local_id(0)] = k
        lp.barrier()
        total = 0
        for k in range(1024):
            total += tile[k]
        y[lp.global_id(0)] = total

    y = lp.zeros(1024, lp.i32, device=device)
    fills[1024](y)
    assert set(y.numpy().tolist()) == {64 * 120}


def test_private_arrays(device) -> None:
    @lp.kernel
    def picks(x: lp.In[lp.i32], length: lp.Const[lp.i32], y: lp.Out[lp.i32]):
        own = lp.private.array(length, lp.i32)
        for k in range(length):
            if k != x[lp.global_id(0)]:
                own[k] = k
        y[lp.global_id(0)] = own[3]

    y = lp.zeros(3, lp.i32, device=device)
    for length in (4, 200):
        picks[3](counting(device, 3), length, y).wait()
        assert y.numpy().tolist() == [3, 3, 3]
        trap = trap_of(lambda n=length: picks[8](counting(device), n, lp.zeros(8, lp.i32, device=device)))
        assert trap.work_item == (3,)
        assert "element [3] of private array 'own'" in str(trap)


def _scratch_of(tile, k):
    scratch = lp.local.array(4, lp.i32)
    if k != 1:
        scratch[k] = tile[k]
    lp.barrier()
    return scratch[3 - k]


def test_arrays_of_helpers_and_their_lines(device) -> None:
    @lp.kernel(local_size=4)
    def calls(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        tile = lp.local.array(4, lp.i32)
        tile[lp.local_id(0)] = x[lp.global_id(0)]
        y[lp.global_id(0)] = _scratch_of(tile, lp.local_id(0))

    trap = trap_of(lambda: calls[4](counting(device, 4), lp.zeros(4, lp.i32, device=device)))
    assert trap.work_item == (2,)
    assert "element [1] of shared array 'scratch'" in str(trap)
    assert trap.location.line == _scratch_of.__code__.co_firstlineno + 5


def test_functions_of_the_work_group_are_quiet(device) -> None:
    @lp.kernel(local_size=8)
    def uses(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        v = x[lp.global_id(0)]
        total = lp.group.reduce(v, "add") + lp.group.exclusive_scan(v, "add")
        y[lp.global_id(0)] = total + lp.group.inclusive_scan(v, "max") + lp.group.broadcast(v, 3)

    y = lp.zeros(16, lp.i32, device=device)
    uses[16](counting(device, 16), y)
    x = np.arange(16).reshape(2, 8)
    expected = x.sum(1, keepdims=True) + (x.cumsum(1) - x) + x + x[:, 3:4]
    np.testing.assert_array_equal(y.numpy(), expected.reshape(-1))


@pytest.mark.native_only("the interpreter has no limit")
def test_no_room_for_notes_is_told_once(device, caplog) -> None:
    array_sizes._tell_of_notes.cache_clear()  # devices of one name are told of together

    @lp.kernel(local_size=4)
    def full(length: lp.Const[lp.i32], y: lp.Out[lp.i32]):
        tile = lp.local.array(length, lp.i32)
        tile[lp.local_id(0)] = 7
        lp.barrier()
        y[lp.global_id(0)] = tile[length - 4 + lp.local_id(0)] * 0 + tile[3 - lp.local_id(0)]

    y = lp.zeros(4, lp.i32, device=device)
    length = device.physical.limits.max_shared_memory_bytes // 4
    assert "is read before" in str(trap_of(lambda: full[4](64, y)))
    for _ in range(2):
        full[4](length - 8, y)
        assert y.numpy().tolist() == [7, 7, 7, 7]
    (record,) = [r for r in caplog.records if "'full'" in r.getMessage()]
    assert f"beside the {4 * (length - 8) + 4} of its arrays" in record.getMessage()
    assert "maxComputeSharedMemorySize" in record.getMessage()
    full[4](length, y)  # to the last byte: there is no room even for what remains of the notes
    assert y.numpy().tolist() == [7, 7, 7, 7]
    assert "its arrays leave no room" in caplog.records[-1].getMessage()


# Barriers


@lp.kernel(local_size=4)
def branches(limit: lp.i32, y: lp.Array[lp.i32]):
    own = lp.private.array(1, lp.i32)
    own[0] = lp.local_id(0)
    if own[0] < limit:
        lp.barrier()
    y[lp.global_id(0)] = 1


@lp.kernel(local_size=4)
def loops(limit: lp.i32, y: lp.Array[lp.i32]):
    own = lp.private.array(1, lp.i32)
    own[0] = 9 if lp.global_id(0) == limit else 4
    for _ in range(own[0]):
        lp.barrier()
    y[lp.global_id(0)] = 1


@lp.kernel(local_size=4)
def waits(limit: lp.i32, y: lp.Array[lp.i32]):
    own = lp.private.array(1, lp.i32)
    own[0] = 5 if lp.global_id(0) == limit else 3
    while own[0] > 0:
        own[0] -= 1
        lp.barrier()
    y[lp.global_id(0)] = 1


@lp.kernel(local_size=4)
def leaves(limit: lp.i32, y: lp.Array[lp.i32]):
    own = lp.private.array(1, lp.i32)
    own[0] = lp.global_id(0)
    for k in range(3):
        if own[0] == limit + 0 * k:
            return
        lp.barrier()
    y[lp.global_id(0)] = 1


@lp.kernel(local_size=4)
def reduces(limit: lp.i32, y: lp.Array[lp.i32]):
    own = lp.private.array(1, lp.i32)
    own[0] = lp.global_id(0)
    total = 1
    if own[0] != limit:
        total = lp.group.reduce(1, "add")
    y[lp.global_id(0)] = total // total


@pytest.mark.parametrize(
    ("kernel", "fine", "line", "what"),
    [
        (branches, 4, 5, "the condition"),
        (loops, -1, 5, "the end of the loop"),
        (waits, -1, 6, "going on with the loop"),
        (leaves, -1, 7, "the condition"),
        (reduces, -1, 6, "the condition"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_barrier_that_some_do_not_reach(kernel, fine, line, what, device, request) -> None:
    y = lp.zeros(16, lp.i32, device=device)
    kernel[16](fine, y)
    assert y.numpy().tolist() == [1] * 16
    trap = trap_of(lambda: kernel[16](2, y))
    assert "not every work-item of the work-group reaches this barrier" in str(trap)
    assert trap.code == "LP4113"
    if not lp.config.interpret:  # which names one that does reach it
        assert what in str(trap)
        assert trap.work_item[0] % 4 >= 2 if kernel is branches else trap.work_item == (2,)
        assert trap.location.line == line_of(kernel, line)
        assert "for the group's first work-item" in str(trap)
    kernel[16](fine, y).wait()


def test_what_is_equal_for_the_group_costs_nothing() -> None:
    @lp.kernel(local_size=4)
    def together(n: lp.i32, y: lp.Out[lp.i32]):
        for k in range(n):
            if lp.group_id(0) > k:
                lp.barrier()
        y[lp.global_id(0)] = 1

    assert '"kind": "barrier"' not in together.inspect("metadata")


def test_without_debug_mode_nothing_is_added(monkeypatch) -> None:
    assert "uninitialised" in reverses.inspect("metadata")
    assert "AtomicOr" in reverses.inspect("spirv")
    monkeypatch.delenv("LAPILLI_DEBUG")
    assert "uninitialised" not in reverses.inspect("metadata")
    assert "Atomic" not in reverses.inspect("spirv")


@lp.kernel
def find_larger(x: lp.In[lp.f32], y: lp.Out[lp.i32]):
    i = 0
    while x[i] <= 5.0:
        i += 1
    y[0] = i


@lp.kernel
def find_in_turns(x: lp.In[lp.f32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    while True:
        for _ in range(2):
            if x[i % x.size] > 5.0:
                break
            i += 1
        assert i < 100, "there is none"
        if x[i % x.size] > 5.0:
            break
    y[lp.global_id(0)] = i


@pytest.mark.native_only("the interpreter stops at the first failure")
def test_a_search_that_leaves_its_array_ends(device: lp.Device) -> None:
    """Without an end it was a hang, or on lavapipe a trap that named the driver's limit instead."""
    x, y = lp.zeros(8, device=device), lp.zeros(1, lp.i32, device=device)
    trap = trap_of(lambda: find_larger[1](x, y))
    assert "index 8 is out of range" in str(trap) and trap.values == (8, 8)
    x.copy_from(np.arange(8, dtype=np.float32))
    find_larger[1](x, y)
    assert y.numpy()[0] == 6


@pytest.mark.native_only("the interpreter stops at the first failure")
def test_a_loop_whose_assert_fails_ends(device: lp.Device) -> None:
    x, y = lp.zeros(8, device=device), lp.zeros(64, lp.i32, device=device)
    with lp.config.override(debug=False):
        with pytest.raises(lp.KernelTrap, match=r"there is none; i is 10[01]"):
            find_in_turns[64](x, y).wait()
        x.copy_from(np.arange(8, dtype=np.float32))
        find_in_turns[64](x, y)
    first = np.arange(64)
    np.testing.assert_array_equal(y.numpy(), np.where(first % 8 < 6, first // 8 * 8 + 6, first))
