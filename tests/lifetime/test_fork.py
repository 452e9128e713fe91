"""A forked child is told at once that drivers do not survive a fork; in the parent nothing changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import compile
from lapilli.vk_runtime import runtime

pytestmark = [pytest.mark.device, pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")]


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


def in_child(use):
    """Returns the exit status of a child: 0 where `use` raises what it should."""
    process_id = os.fork()
    if process_id == 0:
        signal.alarm(20)  # a hang is what this is about
        try:
            use()
        except lp.DeviceLostError as error:
            os._exit(0 if "forked" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(4)
    return os.waitpid(process_id, 0)[1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_gets_an_error_and_the_parent_goes_on(device):
    x = lp.zeros(64, device=device)
    event = add_one[64](x)  # recorded, not submitted
    fresh, idle = lp.device(device.selector), lp.Queue(device)
    uses = {
        "launch": lambda: add_one[64](x),
        "read": x.numpy,
        "make": lambda: lp.zeros(3, device=device),
        "wait": event.wait,
        "poll": lambda: event.done,
        "queue": lambda: lp.Queue(fresh),
        "wait for nothing": idle.wait,
    }
    assert {name: in_child(use) for name, use in uses.items()} == dict.fromkeys(uses, 0)
    event.wait()
    np.testing.assert_array_equal(x.numpy(), np.ones(64, np.float32))


FORK_MEANWHILE = """
import os, signal, threading
import lapilli as lp
from lapilli.vk_runtime import runtime

inside, forking = threading.Event(), threading.Event()
really_open = runtime.Runtime._open_drivers


def open_drivers(self):
    inside.set()
    assert forking.wait(60)
    return really_open(self)


runtime.Runtime._open_drivers = open_drivers
other = threading.Thread(target=lp.devices)
other.start()
assert inside.wait(60)
os.register_at_fork(before=forking.set)  # the latest is called first
process_id = os.fork()
if process_id == 0:
    signal.alarm(20)  # a hang is what this is about
    runtime.Runtime._open_drivers = really_open
    try:
        lp.zeros(3)
    except lp.DeviceLostError as error:
        os._exit(0 if "forked" in str(error) else 2)
    except BaseException:
        os._exit(3)
    os._exit(4)
status = os.waitpid(process_id, 0)[1]
other.join()
assert (lp.zeros(3).numpy() == 0).all()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


COMPILE_MEANWHILE = """
import os, signal, threading
from lapilli.frontend import compile as compiler

inside, forking = threading.Event(), threading.Event()


def compile():
    with compiler.compile_lock:
        inside.set()
        assert forking.wait(60)


other = threading.Thread(target=compile)
other.start()
assert inside.wait(60)
os.register_at_fork(before=forking.set)  # the latest is called first
process_id = os.fork()
if process_id == 0:
    signal.alarm(20)
    with compiler.compile_lock:
        os._exit(0)
status = os.waitpid(process_id, 0)[1]
other.join()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


INTERRUPT_MEANWHILE = """
import os, signal, sys, threading, time
import lapilli as lp

signal.signal(signal.SIGINT, signal.default_int_handler)
x = lp.zeros(3)
lock = x.device.logical.lock
inside, waiting = threading.Event(), threading.Event()


def hold():
    with lock:
        inside.set()
        waiting.wait(60)
        for _ in range(2):  # the fork waits for this lock by now, or is about to
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.05)


other = threading.Thread(target=hold)
other.start()
assert inside.wait(60)
sys.unraisablehook = lambda it: None  # Python shows what a fork's hooks raise, and forks
os.register_at_fork(before=waiting.set)  # the latest is called first
process_id = os.fork()
if process_id == 0:
    signal.alarm(20)
    try:
        lp.zeros(3, device=x.device)
    except lp.DeviceLostError as error:
        os._exit(0 if "forked" in str(error) else 2)
    except BaseException:
        os._exit(3)
    os._exit(4)
status = os.waitpid(process_id, 0)[1]
other.join()
is_free = []
other = threading.Thread(target=lambda: is_free.append(lock.acquire(timeout=5) and lock.release() is None))
other.start()
other.join()
assert is_free == [True], "nobody has the lock any more"
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.device
@pytest.mark.parametrize(
    "program",
    [FORK_MEANWHILE, COMPILE_MEANWHILE, INTERRUPT_MEANWHILE],
    ids=["drivers", "compiler", "Ctrl-C"],
)
def test_a_fork_while_another_thread_is_busy(program):
    command = (sys.executable, "-W", "ignore::DeprecationWarning", "-c", program)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_lapilli_may_be_imported_while_a_fork_waits():
    """What it does before a fork is not done then, and what it does behind one is: no lock is given back twice."""
    program = """
    import os
    from importlib import import_module

    os.register_at_fork(before=lambda: import_module("lapilli.frontend.compile"))
    process_id = os.fork()
    if process_id == 0:
        os._exit(0)
    assert os.waitpid(process_id, 0)[1] == 0
    """
    run = subprocess.run(
        (sys.executable, "-c", textwrap.dedent(program)), capture_output=True, text=True, check=True
    )
    assert run.stderr == ""


def test_a_signal_handler_that_forks_while_a_fork_takes_its_locks_gives_back_its_own(device, monkeypatch):
    """In the child of the outer fork another thread's lock would never be free.

    The hooks are called as Python calls them: an inner os.fork would wait for a lock of concurrent.futures for ever.
    """
    free = []
    really_do = lp.Device.before_fork

    def before_fork(self, held):
        really_do(self, held)
        if not free:
            free.append(None)
            call_hooks()
            free[:] = [is_free(lock) for lock in (runtime._making, compile.compile_lock)]

    monkeypatch.setattr(lp.Device, "before_fork", before_fork)
    call_hooks()
    assert free == [False, False]
    assert is_free(runtime._making) and is_free(compile.compile_lock)


def call_hooks():
    """Does what os.fork does for a parent: those that were registered last come first, behind it the first do."""
    compile._before_fork()
    runtime._before_fork()
    runtime._forking.give_back()
    compile._forking.give_back()


def is_free(lock):
    """Returns whether another thread could take a lock."""
    found = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=0) and lock.release() is None))
    thread.start()
    thread.join()
    return found == [True]
