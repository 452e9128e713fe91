"""Programs that mean no good: signals that launch, Ctrl-C in a storm, no data at all, objects that lie of theirs."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@pytest.mark.native_only("interrupts what the runtime records")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_a_signal_handler_that_launches(device):
    """Wherever it comes, it has launched or was refused."""
    assert threading.current_thread() is threading.main_thread()
    x, counts = lp.zeros(64, device=device), {"launched": 0, "refused": 0}

    def launch(number, frame):
        try:
            add_one[64](x)
            counts["launched"] += 1
        except lp.InvalidError:
            counts["refused"] += 1
        signal.setitimer(signal.ITIMER_REAL, 0.0002)

    add_one[64](x)
    before = signal.signal(signal.SIGALRM, launch)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002)
        for n in range(1, 3000):
            event = add_one[64](x)
            if n % 7 == 0:
                event.wait()
            if n % 50 == 0:
                x.numpy()
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (x.numpy() == 3000 + counts["launched"]).all(), counts


STORM = """
import io, os, random, signal, sys, threading, time
import lapilli as lp

@lp.kernel
def say(x: lp.Array[lp.f32]):
    x[0] += 1.0
    print("line", x[0])

device = lp.device(sys.argv[1])
x = lp.zeros(1, device=device)
text, really = io.StringIO(), sys.stdout
sys.stdout = text
say[1](x).wait()
is_over, is_armed, stops = False, False, 0

def stop(number, frame):
    global is_armed
    if is_armed:
        is_armed = False
        raise KeyboardInterrupt

def shoot():
    global is_over
    chooser = random.Random(5)
    for _ in range(300):
        time.sleep(chooser.random() * 0.002)
        os.kill(os.getpid(), signal.SIGINT)
    is_over = True

signal.signal(signal.SIGINT, stop)
thread = threading.Thread(target=shoot)
thread.start()
while is_armed or not is_over:
    try:
        is_armed = True
        while not is_over:
            say[1](x).wait()
            x.numpy()
        is_armed = False
    except KeyboardInterrupt:
        stops += 1
thread.join()
count = int(x.numpy()[0])
device.default_queue.wait()
sys.stdout = really
print(text.getvalue().split() == [word for n in range(1, count + 1) for word in ("line", f"{n}.0")], count, stops)
"""


@pytest.mark.native_only("interrupts what devices report")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of that kind")
def test_ctrl_c_in_a_storm_loses_no_line(device, tmp_path):
    """Each of some hundred signals comes anywhere; every line is there, once and in order."""
    (tmp_path / "storm.py").write_text(STORM, "utf-8")
    done = subprocess.run(
        (sys.executable, tmp_path / "storm.py", device.selector),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split()[:1] == ["True"], (done.stdout, done.stderr)


def test_nothing_is_welcome_everywhere(device):
    nothing, other, queue = lp.zeros(0, device=device), lp.ones((0, 3), device=device), lp.Queue(device)
    assert (
        nothing.numpy().shape == (0,)
        and other.ravel().shape == (0,)
        and nothing.reshape((0, 5)).shape == (0, 5)
    )
    nothing.fill(3)
    nothing.copy_from(np.zeros(0, np.float32))
    nothing.copy_to(np.zeros(0, np.float32))
    assert np.asarray(nothing).size == 0
    if nothing.__dlpack_device__() == (1, 0):  # the host sees it
        assert np.from_dlpack(lp.zeros_like(nothing)).size == 0
    assert lp.from_dlpack(nothing).size == 0 and lp.asarray(other) is other

    def use():
        yield add_one[0].on(queue)(nothing)
        yield queue.copy(nothing, lp.zeros(0, device=device))
        yield queue.fill(other, 1)

    assert all(event.wait().done for event in use())

    async def wait():
        return [await event for event in use()]

    assert len(asyncio.run(wait())) == 3
    add_one[lp.IndirectRange(lp.zeros(1, lp.u32, device=device))](nothing).wait()


@pytest.mark.native_only("graphs are not interpreted")
def test_graphs_and_profiles_of_nothing(device):
    nothing, queue = lp.zeros(0, device=device), lp.Queue(device)
    with lp.graph() as graph:
        add_one[0].on(queue)(nothing)
        queue.copy(nothing, lp.zeros(0, device=device))
        queue.fill(nothing, 1)
    with lp.profile() as profile:
        graph.replay(queue).wait()
    assert "profile" in str(profile)


class Lie:
    def __init__(self, **said):
        self.__array_interface__ = {"version": 3, "typestr": "<f4", **said}


@pytest.mark.parametrize(
    "said",
    [
        {"shape": (-4,)},
        {"shape": (1 << 60,)},
        {"shape": (1 << 40, 1 << 40)},
        {"shape": "4"},
        {"shape": (4,), "data": "there"},
        {"shape": (4,), "data": None},
    ],
    ids=str,
)
def test_objects_that_lie_of_their_memory(said, device):
    memory = np.zeros(4, np.float32)
    with pytest.raises((lp.InvalidError, MemoryError)):
        lp.asarray(Lie(**{"data": (memory.ctypes.data, False), **said}), device=device)


@pytest.mark.parametrize("given", [None, 3, RuntimeError("mine"), "used"], ids=repr)
def test_objects_that_lie_of_their_capsule(given, device):
    class Exporter:
        def __dlpack__(self, **_):
            if isinstance(given, Exception):
                raise given
            return capsule

        def __dlpack_device__(self):
            return 1, 0

    capsule = np.zeros(4, np.float32).__dlpack__() if given == "used" else given
    if given == "used":
        np.from_dlpack(Exporter())
    with pytest.raises(lp.InvalidError, match=r"lp\.from_dlpack"):
        lp.from_dlpack(Exporter(), device=device)
