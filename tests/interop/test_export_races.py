"""`Array.export_fd` moves an array while another thread is in the middle of using it: no write is lost.

The other thread is stopped where it has found the array's memory, and has not taken the device's lock yet.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import transfer
from lapilli.vk_runtime.arguments import ArgumentChecker
from lapilli.vk_runtime.buffer import Buffer
from lapilli.vk_runtime.device import Device
from tests.interruption import Finalised, interrupted_at

SIZE = 100

pytestmark = [pytest.mark.device, pytest.mark.native_only("interrupts what the runtime records")]


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


@pytest.fixture
def x(device: lp.Device) -> lp.Array:
    """Zeros that can be exported."""
    if "VK_KHR_external_memory_fd" not in device.logical.physical.extensions:
        pytest.skip(f"{device.selector} exports no memory")
    return lp.zeros(SIZE, device=device)


def export(x: lp.Array) -> None:
    """Exports an array in another thread, to the end."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            os.close(x.export_fd())
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failures, failures


def once_behind(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, action: Callable[[], None]
) -> None:
    """Calls `action` behind the next call of a function, and not again."""
    really_do = getattr(owner, name)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(owner, name, really_do)
        result = really_do(*args, **kwargs)
        action()
        return result

    monkeypatch.setattr(owner, name, interrupted)


def once_before_locking(monkeypatch: pytest.MonkeyPatch, record: Any, action: Callable[[], None]) -> None:
    """Calls `action` when a record that is launched again is about to take the lock, and not again."""
    acquire = record.lock.acquire

    def locking() -> Any:
        action()
        for _ in repeat(None):
            acquire()
            yield True

    monkeypatch.setattr(record, "locking", locking())


@pytest.mark.parametrize("is_other_queue", [False, True])
def test_a_launch_whose_arguments_are_checked(
    device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch, is_other_queue: bool
) -> None:
    queue = lp.Queue(device) if is_other_queue else device.default_queue
    add_one[SIZE].on(queue)(x)
    queue.flush()
    before = x.buffer
    once_behind(monkeypatch, ArgumentChecker, "quick_check", lambda: export(x))
    add_one[SIZE].on(queue)(x)
    assert x.buffer is not before
    np.testing.assert_array_equal(x.numpy(), np.full(SIZE, 2))


@pytest.mark.parametrize("is_waited_for", [False, True], ids=["recorded", "kept"])
@pytest.mark.parametrize("is_other_queue", [False, True])
def test_a_launch_that_is_known(
    device: lp.Device,
    x: lp.Array,
    monkeypatch: pytest.MonkeyPatch,
    is_waited_for: bool,
    is_other_queue: bool,
) -> None:
    queue = lp.Queue(device) if is_other_queue else device.default_queue
    queue.wait()
    for _ in range(6):
        event = add_one[SIZE].on(queue)(x)
        if is_waited_for:
            event.wait()
    before = x.buffer
    record = next(iter(queue.known))
    once_before_locking(monkeypatch, record, lambda: export(x))
    add_one[SIZE].on(queue)(x)
    assert x.buffer is not before
    np.testing.assert_array_equal(x.numpy(), np.full(SIZE, 7))


def test_a_launch_over_an_indirect_range(
    device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = lp.asarray([SIZE], lp.u32, device=device)
    launch = add_one[lp.IndirectRange(counts)]
    launch(x).wait()

    def export_both() -> None:
        export(x)
        export(counts)

    once_behind(monkeypatch, ArgumentChecker, "quick_check", export_both)
    launch(x)
    assert x.allocation_nbytes and counts.allocation_nbytes
    np.testing.assert_array_equal(x.numpy(), np.full(SIZE, 2))


@pytest.mark.parametrize("is_mapped", [True, False], ids=["mapped", "staged"])
@pytest.mark.parametrize("write", ["copy_from", "fill", "queue.copy"])
def test_a_write_of_the_host(
    device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch, is_mapped: bool, write: str
) -> None:
    if not is_mapped:
        device = Device(device.physical, "staged", staged_memory=True)
    x, host = lp.zeros(SIZE, device=device), np.full(SIZE, 7, np.float32)
    writes: dict[str, Callable[[], object]] = {
        "copy_from": lambda: x.copy_from(host),
        "fill": lambda: x.fill(7),
        "queue.copy": lambda: device.default_queue.copy(host, x),
    }
    if is_mapped and not x.buffer.host_address:
        pytest.skip("the host does not see arrays")
    before = x.buffer
    # What is asked last before the memory is written, or the device's lock taken.
    owner, name = (transfer, "wait_for_uses") if is_mapped else (Buffer, "takes_words")
    with monkeypatch.context() as patch:
        once_behind(patch, owner, name, lambda: export(x))
        writes[write]()
    assert x.buffer is not before
    np.testing.assert_array_equal(x.numpy(), host)
    if not is_mapped:
        x.release()
        device.shut_down()


def test_two_exports(device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    """One moves it, and both are of the same memory."""
    add_one[SIZE](x)
    once_behind(monkeypatch, type(device.logical), "require_uninterrupted", lambda: export(x))
    first = x.export_fd()
    moved = x.buffer
    os.close(first)
    export(x)
    assert x.buffer is moved
    np.testing.assert_array_equal(x.numpy(), np.ones(SIZE))


def test_a_finaliser_in_the_middle_of_a_move(
    device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its launch is either refused or done, on one side of the copy or on the other."""
    add_one[SIZE](x).wait()
    points = done = 0
    for count in range(10_000):
        x = lp.zeros(SIZE, device=device)

        def launch(x: lp.Array = x) -> None:
            nonlocal done
            with contextlib.suppress(lp.InvalidError):
                add_one[SIZE](x)
                done += 1

        before = done
        is_interrupted = interrupted_at(count, lambda x=x: os.close(x.export_fd()), instead=launch)
        assert (x.numpy() == done - before).all(), f"point {count}"
        if not is_interrupted:
            break
        points += 1
    assert 20 < points != done > 0


def test_a_finaliser_in_the_middle_of_a_launch_moves_nothing(
    device: lp.Device, x: lp.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = lp.Queue(device)
    add_one[SIZE].on(queue)(x).wait()
    refused: list[BaseException | None] = []

    def note(unraisable: Any) -> None:
        refused.append(unraisable.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", note)
    before = x.buffer

    def finalise() -> None:
        Finalised(lambda: os.close(x.export_fd()))
        gc.collect()

    once_behind(monkeypatch, queue, "open", finalise)
    add_one[SIZE].on(queue)(x)
    assert [type(error) for error in refused] == [lp.InvalidError] and "a.export_fd" in str(refused[0])
    refused.clear()
    assert x.buffer is before
    np.testing.assert_array_equal(x.numpy(), np.full(SIZE, 2))


@pytest.mark.parametrize("is_exported", ["the array", "its view"])
def test_arrays_that_share_memory_move_together(device: lp.Device, x: lp.Array, is_exported: str) -> None:
    """Also in graphs that were recorded before; what was released stays so."""
    view, again, gone = x.reshape(10, 10), lp.from_dlpack(x), x.ravel()
    gone.release()
    with lp.graph() as graph:
        add_one[SIZE](x)
        add_one[SIZE](view.ravel())
    export(x if is_exported == "the array" else view)
    graph.replay()
    add_one[SIZE](again)
    expected = np.full(SIZE, 3)
    for array in (x, view, again):
        np.testing.assert_array_equal(array.numpy().ravel(), expected)
    assert gone.is_released
