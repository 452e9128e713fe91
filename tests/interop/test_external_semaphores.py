"""Semaphores as file descriptors: between two queues, two processes, and what drivers refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

from .kernels import double

TIMEOUT_S = 120


@pytest.fixture(params=["timeline", "binary"])
def kind(device: lp.Device, request: pytest.FixtureRequest) -> str:
    """A kind of semaphore that the device shares."""
    try:
        lp.ExternalSemaphore(device, kind=request.param).close()
    except lp.FeatureNotSupportedError as error:
        assert "VK_KHR_external_semaphore_fd" in str(error)
        pytest.skip(str(error))
    return str(request.param)


def both_ends(device: lp.Device, kind: str) -> tuple[lp.ExternalSemaphore, lp.ExternalSemaphore]:
    made = lp.ExternalSemaphore(device, kind=kind)  # pyright: ignore[reportArgumentType]
    return made, lp.import_semaphore_fd(made.export_fd(), device=device, kind=kind)  # pyright: ignore[reportArgumentType]


def test_two_queues_in_turn(device: lp.Device, kind: str):
    ready, theirs = both_ends(device, kind)
    assert (ready.kind, ready.device) == (theirs.kind, device)
    first, second = lp.Queue(device), lp.Queue(device)
    array = lp.asarray(np.arange(64, dtype=np.float32), device=device)
    for turn in range(1, 4):
        double[64].on(first)(array)
        ready.signal(first, turn)
        theirs.wait(second, turn)
        double[64].on(second)(array)
    second.wait()
    np.testing.assert_array_equal(array.numpy(), np.arange(64) * 2.0**6)


_CHILD = """
import sys
import lapilli as lp

@lp.kernel
def add_ten(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 10.0

memory, ready, done, device, kind = *map(int, sys.argv[1:4]), *sys.argv[4:]
array = lp.import_fd(memory, 256, lp.f32, device=device)
queue = lp.Queue(lp.device(device))
ready, done = (lp.import_semaphore_fd(fd, device=device, kind=kind) for fd in (ready, done))
print("waiting", flush=True)
ready.wait(queue, 1)
add_ten[256].on(queue)(array)
done.signal(queue, 1)
queue.wait()
print("finished", flush=True)
"""


def test_two_processes_take_turns(device: lp.Device, kind: str, tmp_path: Path):
    array = lp.asarray(np.arange(256, dtype=np.float32), device=device)
    try:
        memory = array.export_fd()
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    ready, done = (lp.ExternalSemaphore(device, kind=kind) for _ in range(2))  # pyright: ignore[reportArgumentType]
    fds = [memory, ready.export_fd(), done.export_fd()]
    script = tmp_path / "child.py"
    script.write_text(_CHILD, "utf-8")
    command = [sys.executable, str(script), *map(str, fds), device.selector, kind]
    queue = lp.Queue(device)
    with subprocess.Popen(command, pass_fds=fds, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "waiting\n"
            double[256].on(queue)(array)  # before the other process adds
            ready.signal(queue, 1)
            out, _ = child.communicate(timeout=TIMEOUT_S)
        finally:
            child.kill()
            for fd in fds:
                os.close(fd)
    assert (child.returncode, out) == (0, "finished\n")
    done.wait(queue, 1)
    double[256].on(queue)(array)
    queue.wait()
    np.testing.assert_array_equal(array.numpy(), 2 * (2 * np.arange(256) + 10))


def test_wrong_uses(device: lp.Device, kind: str, tmp_path: Path):
    semaphore, queue = lp.ExternalSemaphore(device, kind=kind), lp.Queue(device)  # pyright: ignore[reportArgumentType]
    if kind == "timeline":
        semaphore.signal(queue, 5)
        for wrong in (5, 0, -1, 1 << 64, "x"):
            with pytest.raises(lp.InvalidError, match="timeline"):
                semaphore.signal(queue, wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"lp\.Queue"):
        semaphore.wait(device, 1)  # pyright: ignore[reportArgumentType]
    for other in lp.devices():
        if other is not device:
            with pytest.raises(lp.InvalidError, match="queue of device"):
                semaphore.wait(lp.Queue(other), 1)
    for wrong in (-1, 10**6, "x", None):
        with pytest.raises(lp.InvalidError):
            lp.import_semaphore_fd(wrong, device=device, kind=kind)  # pyright: ignore[reportArgumentType]
    pipe, empty = os.pipe(), os.open(tmp_path / "empty", os.O_RDWR | os.O_CREAT)
    for fd, message in ((pipe[0], "a pipe"), (empty, "holds 0 bytes")):
        with pytest.raises(lp.InvalidError, match=message):
            lp.import_semaphore_fd(fd, device=device, kind=kind)  # pyright: ignore[reportArgumentType]
    for fd in (*pipe, empty):
        os.close(fd)
    semaphore.close()
    for use in (semaphore.export_fd, lambda: semaphore.signal(queue, 9)):
        with pytest.raises(lp.InvalidError, match="closed"):
            use()
    queue.wait()


def test_devices_that_share_none(device: lp.Device):
    assert lp.vulkan.has_extension(device, "VK_KHR_external_semaphore_fd") in (True, False)
    with pytest.raises(lp.InvalidError, match="'timeline' or 'binary'"):
        lp.ExternalSemaphore(device, kind="counting")  # pyright: ignore[reportArgumentType]
    if lp.vulkan.has_extension(device, "VK_KHR_external_semaphore_fd"):
        return
    for make in (lambda: lp.ExternalSemaphore(device), lambda: lp.import_semaphore_fd(0, device=device)):
        with pytest.raises(lp.FeatureNotSupportedError, match="VK_KHR_external_semaphore_fd"):
            make()


def test_memory_that_runs_out_before_a_signal_signals_nothing(
    device: lp.Device, kind: str, monkeypatch: pytest.MonkeyPatch
):
    """The same signal may be given again then."""
    ready, theirs = both_ends(device, kind)
    first, second = lp.Queue(device), lp.Queue(device)

    def fail() -> None:
        raise lp.MemoryAllocationError("none left")

    submitted: list[object] = []
    with monkeypatch.context() as patch, pytest.raises(lp.MemoryAllocationError):
        patch.setattr(first, "open", fail)
        patch.setattr(device.logical.vk, "vkQueueSubmit", lambda *args: submitted.append(args) or 0)
        ready.signal(first, 1)
    assert submitted == []
    ready.signal(first, 1)
    theirs.wait(second, 1)
    second.wait()
    first.wait()


def test_closed_while_a_queue_has_yet_to_signal_it(
    device: lp.Device, kind: str, monkeypatch: pytest.MonkeyPatch
):
    """Vulkan forbids destroying a semaphore that submissions use; whoever waits at the other end gets the signal."""
    destroyed: list[object] = []
    destroy = device.logical.vk.vkDestroySemaphore

    def noted(of: object, raw: object, allocator: object) -> None:
        destroyed.append(raw)
        destroy(of, raw, allocator)

    monkeypatch.setattr(device.logical.vk, "vkDestroySemaphore", noted)
    ready, theirs = both_ends(device, kind)
    ends = {ready.raw, theirs.raw}
    first, second = lp.Queue(device), lp.Queue(device)
    ready.signal(first, 1)
    theirs.wait(second, 1)
    with ready, theirs:
        pass
    assert ready.is_closed and theirs.is_closed
    device.logical.collect()
    assert not ends.intersection(destroyed)
    second.wait()
    first.wait()
    device.logical.collect()
    assert ends <= set(destroyed)


def test_graphs_record_no_signals(device: lp.Device, kind: str):
    ready, theirs = both_ends(device, kind)
    queue = lp.Queue(device)
    with lp.graph() as g:
        for use in (ready.signal, theirs.wait):
            with pytest.raises(lp.InvalidError, match="cannot be recorded in a graph"):
                use(queue, 1)
    assert len(g) == 0
    ready.signal(queue, 1)
    theirs.wait(queue, 1)
    queue.wait()
