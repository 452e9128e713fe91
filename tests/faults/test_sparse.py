"""Arrays larger than maxMemoryAllocationSize, on a driver that lets several allocations lie under one buffer."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import staging
from lapilli.vk_runtime.physical_device import DeviceLimits
from lapilli.vk_runtime.sparse_memory import part_sizes
from lapilli.vk_runtime.timeline_semaphore import TimelineSemaphore
from tests.interruption import interrupted_at

from .fake_device import LIMITS, filled, make_device
from .fake_driver import HEAP_BYTES, FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("the memory of devices")

MIB = 1 << 20
OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, LOST = -1, -2, -4


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Staging memory within the limits of so small a device."""
    monkeypatch.setattr(staging, "PIECE_BYTES", MIB)


def sparse_device(driver: FakeDriver, *, is_gpu: bool = True, **limits: int) -> lp.Device:
    """A device whose allocations have 5 MiB and 7 bytes at most."""
    chosen = {"max_memory_allocation_bytes": 5 * MIB + 7, "sparse_address_space_bytes": 1 << 40, **limits}
    return make_device(
        driver,
        is_gpu=is_gpu,
        limits=filled(DeviceLimits, LIMITS | chosen),
        features=frozenset({"robustBufferAccess", "timelineSemaphore", "sparseBinding"}),
        sparse_queue_families=(0,),
    )


@pytest.fixture(params=[False, True], ids=["cpu", "gpu"])
def sparse(request: pytest.FixtureRequest, driver: FakeDriver) -> Any:
    """Such a device; at the end nothing is left, and nothing was misused."""
    device = sparse_device(driver, is_gpu=request.param)
    yield device
    device.shut_down()
    assert (driver.violations, driver.living) == ([], {})


def memory_objects(driver: FakeDriver) -> int:
    return sum(item.kind == "DeviceMemory" for item in driver.living.values())


def test_every_byte_of_a_large_array_has_memory(sparse: lp.Device, driver: FakeDriver) -> None:
    host = np.random.default_rng(1).integers(0, 255, 13 * MIB + 5, np.uint8)
    before = memory_objects(driver)
    x = lp.asarray(host, device=sparse)
    assert driver.calls["vkQueueBindSparse"] == 1 and memory_objects(driver) >= before + 3
    np.testing.assert_array_equal(x.numpy(), host)
    y = lp.full(host.size, 7, "u8", device=sparse)
    assert (y.numpy() == 7).all()
    y.copy_from(x)
    with lp.graph() as graph:
        x.fill(9)
        y.copy_from(x)
    np.testing.assert_array_equal(y.numpy(), host)
    graph.replay()
    assert (y.numpy() == 9).all()
    y.release()
    add[10](1.0, lp.zeros(10, device=sparse), lp.zeros(2 * MIB, device=sparse)).wait()


def test_the_host_sees_no_part_of_it(sparse: lp.Device) -> None:
    x = lp.zeros(6 * MIB, "u8", device=sparse)
    assert not x.is_host_visible
    assert lp.zeros(MIB, "u8", device=sparse).is_host_visible == sparse.is_cpu()
    assert np.asarray(x).sum() == 0


def test_small_arrays_are_bound_as_ever(sparse: lp.Device, driver: FakeDriver) -> None:
    lp.zeros(5 * MIB, "u8", device=sparse).numpy()
    assert not driver.calls["vkQueueBindSparse"]


def test_the_memory_is_given_back_and_counted(sparse: lp.Device, driver: FakeDriver) -> None:
    heap = sparse.memory_stats()[0]
    with lp.empty(20 * MIB, "u8", device=sparse):
        during = sparse.memory_stats()[0]
        assert during.used - heap.used == during.allocated - heap.allocated == 20 * MIB
        assert (during.buffers - heap.buffers, during.blocks - heap.blocks) == (1, 4)
    for _ in range(5):
        lp.empty(20 * MIB, "u8", device=sparse).release()
        lp.empty(11 * MIB, "u8", device=sparse)
    after = sparse.memory_stats()[0]
    assert (after.used, after.buffers) == (heap.used, heap.buffers)


def test_each_limit_is_named(driver: FakeDriver) -> None:
    for limit, name in (
        (
            {"sparse_address_space_bytes": 8 * MIB, "max_buffer_bytes": 1 << 40},
            "8,388,608 bytes (sparseAddressSpaceSize",
        ),
        ({"max_buffer_bytes": 7 * MIB}, "7,340,032 bytes (maxBufferSize"),
        ({"max_buffer_bytes": 1 << 40}, f"{HEAP_BYTES:,} bytes (the size of its largest heap"),
    ):
        device = sparse_device(driver, **limit)
        assert device.info.max_mem_alloc_size == min(*limit.values(), HEAP_BYTES)
        lp.empty(6 * MIB, "u8", device=device)
        with pytest.raises(lp.MemoryAllocationError) as caught:
            lp.empty(40 * MIB, "u8", device=device)
        assert name in str(caught.value)
        device.shut_down()
    assert driver.violations == []


@pytest.mark.parametrize("features", [frozenset(), frozenset({"sparseBinding"})], ids=["feature", "queue"])
def test_without_the_feature_or_a_queue_for_it_the_allocation_is_the_limit(
    driver: FakeDriver, features: frozenset[str]
) -> None:
    device = make_device(
        driver,
        is_gpu=True,
        limits=filled(DeviceLimits, LIMITS | {"max_memory_allocation_bytes": 5 * MIB}),
        features=frozenset({"robustBufferAccess", "timelineSemaphore"}) | features,
        sparse_queue_families=() if features else (0,),
    )
    assert device.info.max_mem_alloc_size == 5 * MIB
    with pytest.raises(lp.MemoryAllocationError, match=r"5,242,880 bytes \(maxMemoryAllocationSize"):
        lp.empty(5 * MIB + 1, "u8", device=device)
    device.shut_down()


@pytest.mark.parametrize(
    "function", ["vkQueueBindSparse", "vkCreateSemaphore", "vkAllocateMemory", "vkCreateBuffer"]
)
def test_memory_that_runs_out_is_looked_for_once_more(
    sparse: lp.Device, driver: FakeDriver, function: str
) -> None:
    lp.zeros(10, device=sparse).numpy()
    calls = driver.calls[function]
    driver.inject(function, OUT_OF_DEVICE_MEMORY, calls + (1 if function == "vkAllocateMemory" else 0))
    x = lp.zeros(13 * MIB, "u8", device=sparse)
    assert not x.numpy().any()
    del x
    used = sparse.memory_stats()[0].used
    taken = [TimelineSemaphore(sparse.logical) for _ in range(3)]  # so that no spare one is left
    calls = driver.calls[function]
    for call in range(20):
        driver.inject(function, OUT_OF_DEVICE_MEMORY, calls + call)
    with pytest.raises(lp.MemoryAllocationError, match=rf"cannot hold 13,631,488 bytes more.*{function}"):
        lp.empty(13 * MIB, "u8", device=sparse)
    assert sparse.memory_stats()[0].used == used
    assert len({semaphore.raw for semaphore in taken}) == len(taken)


def fail_once() -> Callable[[], None]:
    """Returns a function that finds no memory when it is called first."""
    errors = [lp.MemoryAllocationError("none left")]

    def fail() -> None:
        if errors:
            raise errors.pop()

    return fail


@pytest.mark.parametrize("failures", [1, 3, 99], ids=["at first", "for a while", "for ever"])
def test_memory_that_runs_out_while_it_is_bound(driver: FakeDriver, failures: int) -> None:
    """The buffer and the semaphore stay as long as the driver may be at work on them."""
    device = sparse_device(driver, is_gpu=False)
    lp.zeros(10, device=device).numpy()
    calls = driver.calls["vkWaitSemaphores"]
    for call in range(failures):
        driver.inject("vkWaitSemaphores", OUT_OF_HOST_MEMORY, calls + call)
    with contextlib.suppress(lp.MemoryAllocationError):
        lp.empty(13 * MIB, "u8", device=device)
    gc.collect()
    device.logical.collect()
    queues = [lp.Queue(device) for _ in range(3)]  # none of them counts with one that is yet to be signalled
    for queue in queues:
        add[10].on(queue)(1.0, lp.zeros(10, device=device), lp.zeros(10, device=device))
        queue.flush()
    with contextlib.suppress(lp.MemoryAllocationError):
        device.logical.memory.retried("anything", fail_once())
    assert (memory_objects(driver) <= 3) == (failures < 99)
    device.shut_down()
    assert (driver.violations, driver.living) == ([], {})


def test_a_device_lost_meanwhile_says_so(sparse: lp.Device, driver: FakeDriver) -> None:
    driver.inject("vkQueueBindSparse", LOST, driver.calls["vkQueueBindSparse"])
    with pytest.raises(lp.DeviceLostError, match="vkQueueBindSparse"):
        lp.empty(13 * MIB, "u8", device=sparse)


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
def test_ctrl_c_anywhere_leaves_no_memory_in_use_free(driver: FakeDriver, is_gpu: bool) -> None:
    """The driver watches whether the buffer or the semaphore goes before the memory is bound."""

    def is_interrupted(point: int) -> bool:
        device = sparse_device(driver, is_gpu=is_gpu)
        found = interrupted_at(point, lambda: lp.empty(6 * MIB, "u8", device=device))
        device.logical.collect()  # what nobody holds any more goes
        assert not device.logical.visits, (
            f"point {point}: the device's end would wait for a thread that is gone"
        )
        device.shut_down()
        return found

    assert not is_interrupted(1 << 30)  # modules that are loaded for the first time have points of their own
    before, point = driver.calls["vkQueueBindSparse"], 0
    while driver.calls["vkQueueBindSparse"] == before:
        point += 20
        is_interrupted(point)
    point -= 20
    while is_interrupted(point):
        point += 1
    assert driver.calls["vkQueueBindSparse"] - before > 10, "there were points to interrupt at"
    # What Ctrl-C hits between the driver's making it and our noting it lives as long as the process.
    assert [text for text in driver.violations if "before" not in text] == []


def test_parts_are_aligned_and_cover_everything() -> None:
    for nbytes, alignment, largest in ((64, 16, 40), (64, 16, 16), (16, 16, 1 << 32), (48, 16, 47)):
        sizes = part_sizes(nbytes, alignment, largest)
        assert sum(sizes) == nbytes and max(sizes) <= largest
        assert all(size % alignment == 0 for size in sizes)
    assert part_sizes(9 << 30, 1 << 16, 0xFFE00000) == [0xFFE00000, 0xFFE00000, (9 << 30) - 2 * 0xFFE00000]
