"""Device.memory_stats, and what is said where memory runs out."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device

pytestmark = pytest.mark.device


def own_heap(device):
    """The heap that arrays lie in."""
    index = device.logical.memory.plan.array_types[0].heap_index
    return next(heap for heap in device.memory_stats() if heap.heap == index)


def test_arrays_are_counted(device):
    gc.collect()
    before = own_heap(device)
    arrays = [lp.zeros(1000, device=device) for _ in range(5)]
    during = own_heap(device)
    assert during.buffers == before.buffers + 5
    assert during.used >= before.used + 5 * 4000
    assert during.size >= during.allocated >= during.used and during.peak >= during.used
    assert during.blocks >= 1 and during.is_device_local
    for array in arrays:
        array.release()
    device.default_queue.wait()  # fills that still run keep their memory
    after = own_heap(device)
    assert (after.used, after.buffers) == (before.used, before.buffers)
    assert after.peak >= during.used


def test_a_large_array_has_memory_of_its_own_that_is_kept_for_the_next(device):
    own = Device(device.physical, device.selector)
    before = own_heap(own)
    for size in (40 << 20, 36 << 20):
        with lp.empty(size, "u8", device=own):
            during = own_heap(own)
            assert during.used >= before.used + size
            assert (during.allocated, during.blocks) == (before.allocated + (40 << 20), before.blocks + 1)
    with own.logical.lock:
        own.logical.collect()
    after = own_heap(own)
    assert (after.used, after.allocated) == (before.used, during.allocated)
    own.shut_down()


def test_budgets_are_given_where_the_driver_has_them(device):
    has_budget = "VK_EXT_memory_budget" in device.physical.extensions
    for heap in device.memory_stats():
        assert (heap.budget is not None) == (heap.driver_usage is not None) == has_budget
        assert heap.budget is None or heap.budget > 0


def test_each_limit_is_named(device):
    for limit, name in (
        ({"maxMemoryAllocationSize": 1 << 20}, "1,048,576 bytes (maxMemoryAllocationSize"),
        ({"maxBufferSize": 1 << 20}, "1,048,576 bytes (maxBufferSize"),
    ):
        own = device.masked(limits=limit)
        if own.physical.can_bind_sparse and "maxMemoryAllocationSize" in limit:
            continue  # no limit of an array there: tests/faults/test_sparse.py
        lp.zeros(1 << 18, device=own).release()
        with pytest.raises(lp.MemoryAllocationError) as caught:
            lp.zeros((1 << 18) + 1, device=own)
        assert name in str(caught.value) and "1,048,580 bytes more" in str(caught.value)


@pytest.mark.native_only("the interpreter has no such limit")
def test_an_array_that_no_kernel_sees_all_of_is_refused_by_name(device):
    no_address = (lp.Aspect.VK_BUFFER_DEVICE_ADDRESS,)
    small = device.masked(limits={"maxStorageBufferRange": 1 << 16}, without=no_address)
    array = lp.zeros(1 << 15, device=small)  # exists, but no kernel sees all of it

    @lp.kernel
    def add_one(x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        x[i] = x[i] + 1.0

    with pytest.raises(lp.KernelNotSupportedError, match="maxStorageBufferRange"):
        add_one[1](array)


def test_an_array_larger_than_the_heap_is_refused_by_name(device):
    heap = own_heap(device)
    with pytest.raises(lp.MemoryAllocationError, match=r"bytes more .*its limit is"):
        lp.empty(heap.size + 4096, "u8", device=device)
    assert own_heap(device).used == heap.used


class Cycle:
    """Holds an array, and itself: only the garbage collector lets go of it."""

    def __init__(self, array):
        self.array, self.itself = array, self


def test_garbage_is_collected_before_memory_runs_out(device, monkeypatch):
    own = Device(device.physical, device.selector)
    memory = own.logical.memory
    gc.collect()
    gc.disable()
    try:
        Cycle(lp.empty(40 << 20, "u8", device=own))
        create, calls = memory._create, []

        def failing(size, for_host):
            calls.append(memory.used_bytes)
            if memory.used_bytes >= 40 << 20:
                raise lp.MemoryAllocationError("no memory left")
            return create(size, for_host)

        monkeypatch.setattr(memory, "_create", failing)
        kept = lp.empty(1 << 20, "u8", device=own)
        assert len(calls) == 2 and calls[0] >= 40 << 20 > calls[1]
        assert kept.nbytes == 1 << 20
    finally:
        gc.enable()
    del kept
    own.shut_down()


def test_memory_that_stays_out_is_an_error_with_sizes(device, monkeypatch):
    own = Device(device.physical, device.selector)
    array = lp.full(64, 2.0, device=own)
    calls = []

    def failing(size, for_host):
        calls.append(size)
        raise lp.MemoryAllocationError("vkAllocateMemory: no memory left")

    with monkeypatch.context() as patched:
        patched.setattr(own.logical.memory, "_create", failing)
        with pytest.raises(lp.MemoryAllocationError, match=r"cannot hold 4,000 bytes more .*no memory left"):
            lp.empty(1000, device=own)
    assert calls == [4000, 4000]  # once more after the collection, and not again
    np.testing.assert_array_equal(array.numpy(), np.full(64, 2, np.float32))
    own.shut_down()


@pytest.mark.parametrize("function", ["vkCreateImage", "vkCreateImageView", "vkAllocateMemory"])
def test_an_image_is_tried_once_more_too(device, monkeypatch, function):
    if not device.has(lp.Aspect.IMAGE):
        pytest.skip("needs image")
    own = Device(device.physical, device.selector)
    host = np.ones((300, 400, 4), np.uint32)
    lp.zeros(8, device=own).release()
    real, left = getattr(own.logical.vk, function), [1]

    def failing(*args):
        if left[0]:
            left[0] -= 1
            return -2
        return real(*args)

    monkeypatch.setattr(own.logical.vk, function, failing)
    image = lp.UnsampledImage(host, device=own)
    np.testing.assert_array_equal(image.numpy(), host)
    left[0] = 1000
    with pytest.raises(
        lp.MemoryAllocationError, match=rf"cannot hold .* more .*arrays of this process.*{function}"
    ):
        for _ in range(20):  # the first may find room in memory that is there
            lp.UnsampledImage(np.ones((2000, 1000, 4), np.uint32), device=own)
    left[0] = 0
    np.testing.assert_array_equal(image.numpy(), host)
    del image
    own.shut_down()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_new_memory_of_software_drivers_takes_no_pages_before_it_is_used(device):
    """SwiftShader writes to what it allocates, in small pages, in which copies are slower."""
    if not device.logical.is_cpu:
        pytest.skip("the memory is not the host's")
    own = Device(device.physical, device.selector)
    array = lp.empty(40 << 20, lp.u8, device=own)
    middle = array._buffer.host_address + (20 << 20)
    maps = Path("/proc/self/smaps").read_text("utf-8")
    found = re.finditer(r"^([0-9a-f]+)-([0-9a-f]+) .*?^Rss: +(\d+) kB", maps, re.MULTILINE | re.DOTALL)
    (resident,) = [int(m[3]) for m in found if int(m[1], 16) <= middle < int(m[2], 16)]
    assert resident < 8 << 10
    array.copy_from(np.full(array.size, 7, np.uint8))  # and it is memory
    assert (array.numpy() == 7).all()
    own.shut_down()


@lp.kernel
def refuse(x: lp.Array[lp.f32]):
    print("refused")
    assert x[0] > 0.0


def test_memory_that_runs_out_leaves_what_kernels_report_to_whoever_waits(device, monkeypatch, capsys):
    event = refuse[1](lp.zeros(1, device=device))
    memory, failures = device.logical.memory, [lp.MemoryAllocationError("no memory")]
    really_create = memory._create

    def create(size: int, for_host: bool):
        if failures:
            raise failures.pop()
        return really_create(size, for_host)

    monkeypatch.setattr(memory, "_create", create)
    lp.empty(12_347, device=device)  # of a size that nothing has let go of
    assert not failures and capsys.readouterr().out == ""
    with pytest.raises(lp.KernelTrap, match="refuse"):
        event.wait()
    assert capsys.readouterr().out == "refused\n"
