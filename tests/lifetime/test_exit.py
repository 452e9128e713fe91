"""A process ends in silence, whatever it still holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.device

PRELUDE = """
import lapilli as lp
from lapilli.vk_runtime.runtime import runtime
arrays, events = [], []
for device in lp.devices():
    x = lp.ones(1000, device=device)
    y = lp.zeros(1000, device=device).copy_from(x)
    arrays += [x, y]
"""


def ends_in_silence(program, tmp_path=None):
    command = ["-c", PRELUDE + program]
    if tmp_path is not None:  # kernels need a file
        (tmp_path / "program.py").write_text(PRELUDE + program)
        command = [str(tmp_path / "program.py")]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", *command],
        env=os.environ | {"PYTHONDEVMODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "program",
    [
        "pass",
        "queues = [lp.Queue(d) for d in lp.devices()]; queues[0].close()",
        "for a in arrays: a.fill(3)",
        "runtime().close(); runtime().close()",
        "import builtins; builtins.kept = arrays",
        "class Late:\n    def __del__(self): arrays.clear()\nlate = Late()",
        "import threading; threading.Thread(target=lambda: [a.numpy() for a in arrays]).start()",
        "cycle = [arrays]; cycle.append(cycle); del arrays, x, y",
    ],
)
def test_process_ends_in_silence(program):
    ends_in_silence(program)


def test_a_stdout_that_raises_at_the_end_keeps_no_device_open(tmp_path):
    program = """
import sys
import lapilli as lp
from lapilli.vk_runtime.runtime import runtime
@lp.kernel
def say(x: lp.Array[lp.f32]):
    x[0] += 1.0
    print("line", x[0])
class Refusing:
    def write(self, text): raise RuntimeError("mine")
    def flush(self): pass
say[1](lp.zeros(1))
logical, really = lp.device().logical, sys.stdout
sys.stdout = Refusing()
runtime().close()
sys.stdout = really
print(logical.is_destroyed)
"""
    (tmp_path / "program.py").write_text(program, "utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert done.stderr == "printed lines are lost: mine\n"


@pytest.mark.parametrize("is_interpreted", [False, True])
@pytest.mark.parametrize(
    "launch", ["add[1](x).wait()", "say[1](y)", "say[1].on(lp.Queue())(x).wait()", "x.numpy()"]
)
def test_a_stdout_that_waits_for_a_launch_of_another_thread_at_the_end(tmp_path, launch, is_interpreted):
    """It hung: the lines of the last launches were written with the device's lock held."""
    program = f"""
import sys, threading
import lapilli as lp
@lp.kernel
def add(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0
@lp.kernel
def say(x: lp.Array[lp.f32]):
    x[0] += 1.0
    print("line", x[0])
class Launching:
    has_launched = False
    def write(self, text):
        really.write(text)
        if not self.has_launched:
            self.has_launched = True
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(30)
            really.write("hangs" if thread.is_alive() else "ended")
    def flush(self): really.flush()
def work():
    {launch}
x, y = lp.zeros(1), lp.zeros(1)
say[1](x)
really, sys.stdout = sys.stdout, Launching()
"""
    (tmp_path / "program.py").write_text(program, "utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        env=os.environ | {"LAPILLI_INTERPRET": str(int(is_interpreted))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = {"say[1](y)": "line 1.0\n", "say[1].on(lp.Queue())(x).wait()": "line 2.0\n"}.get(launch, "")
    first, rest = done.stdout[:9], done.stdout[9:]
    assert (done.returncode, first, done.stderr) == (0, "line 1.0\n", "")
    assert rest in (f"ended{told}", f"{told}ended")


@pytest.mark.native_only("launches of the interpreter have ended when they return")
def test_callbacks_that_watch_what_they_launch_end_with_the_program(tmp_path):
    ends_in_silence(
        "@lp.kernel\n"
        "def add_one(x: lp.Array[lp.f32]):\n"
        "    x[lp.global_id(0)] += 1.0\n"
        "z = lp.zeros(1 << 20)\n"
        "def again(event):\n"
        "    try: add_one[z.size](z).add_done_callback(again)\n"
        "    except lp.Error as error: assert 'closed' in str(error) or 'shut down' in str(error)\n"
        "add_one[z.size](z).add_done_callback(again)\n",
        tmp_path,
    )


def test_use_after_the_end_is_an_error_and_no_crash():
    ends_in_silence(
        "runtime().close()\n"
        "for use in (lambda: x.numpy(), lambda: lp.zeros(3), lambda: x.fill(1), lambda: lp.Queue()):\n"
        "    try: use()\n"
        "    except lp.DeviceLostError as error: assert 'shut down' in str(error)\n"
        "    else: raise AssertionError('no error')\n"
    )


def test_use_of_staged_memory_after_the_end_is_an_error_and_no_crash():
    """As above where arrays cannot be mapped, as on a GPU; that path allocates at every copy."""
    ends_in_silence(
        "from lapilli.vk_runtime.device import Device\n"
        "staged = Device(lp.devices()[0].physical, 'staged', staged_memory=True)\n"
        "z = lp.ones(1000, device=staged)\n"
        "host = z.numpy()\n"
        "staged.shut_down()\n"
        "for use in (lambda: z.numpy(), lambda: z.copy_from(host), lambda: z.fill(1), lambda: z.copy_to(host)):\n"
        "    try: use()\n"
        "    except lp.DeviceLostError as error: assert 'shut down' in str(error)\n"
        "    else: raise AssertionError('no error')\n"
    )


def test_large_staged_copies_at_the_end_of_the_program():
    """Where no thread can be started any more."""
    ends_in_silence(
        "import atexit\n"
        "from lapilli.vk_runtime.device import Device\n"
        "staged = Device(lp.devices()[0].physical, 'staged', staged_memory=True)\n"
        "z = lp.ones(1 << 20, device=staged)\n"
        "def read():\n"
        "    assert (z.copy_from(z.numpy() + 1).numpy() == 2).all()\n"
        "    staged.shut_down()\n"
        "atexit.register(read)\n"
    )


THREADS = """
import threading
import numpy as np
started = [threading.Event() for _ in range(8)]

@lp.kernel
def work(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    s = x[i]
    for _ in range(200):
        s = s * 0.5 + 1.0
    x[i] = s

def hammer(device, event):
    while True:
        try:
            queue = lp.Queue(device)
            x = lp.zeros(100_000, device=device)
            work[x.size].on(queue)(x).add_done_callback(lambda _: None)
            y = lp.asarray(x.numpy(), device=device)
            view = np.asarray(y)
            work[y.size](y).wait()
            view[:] = 1
            y.copy_from(np.ones(100_000, np.float32))
            event.set()
        except lp.DeviceLostError as error:
            assert "shut down" in str(error), error
            return

for index, event in enumerate(started):
    device = lp.devices()[index % len(lp.devices())]
    threading.Thread(target=hammer, args=(device, event), daemon=True).start()
for event in started:
    event.wait()
"""


@pytest.mark.parametrize("run", range(3))
def test_daemon_threads_may_be_anywhere_in_the_runtime(run, tmp_path):
    """They wait, launch, copy and allocate while the interpreter takes the devices down."""
    ends_in_silence(THREADS, tmp_path)


@pytest.mark.parametrize("use", ["x.numpy()", "x.fill(1.0)", "lp.zeros(10)"])
def test_daemon_threads_that_go_on_are_no_news(use):
    """What a thread raises of its own is shown, also then."""
    program = (
        "import atexit, threading\n"
        "is_closed = threading.Event()\n"
        "def use():\n"
        "    is_closed.wait()\n"
        f"    {use}\n"
        "late = threading.Thread(target=use, daemon=True)\n"
        "late.start()\n"
        "def end():\n"
        "    runtime().close()\n"
        "    from lapilli.vk_runtime.runtime import _close_made\n"
        "    _close_made()\n"
        "    is_closed.set()\n"
        "    late.join()\n"
        "atexit.register(end)\n"
    )
    ends_in_silence(program)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        ends_in_silence(program.replace(use, "1 / 0"))


def test_work_in_flight_is_done_before_the_end(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import lapilli as lp\n"
        "@lp.kernel\n"
        "def tell(x: lp.Array[lp.f32]):\n"
        "    print(lp.global_id(0))\n"
        "for device in lp.devices():\n"
        "    tell[1](lp.zeros(1, device=device))\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    from lapilli.vk_runtime.runtime import runtime

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0\n" * len(runtime().devices)


def test_a_view_of_an_array_outlives_the_runtime():
    """Where somebody may still look at the memory, it is left to the end of the process."""
    ends_in_silence(
        "import numpy as np\n"
        "views = [np.asarray(a) for a in arrays]\n"
        "runtime().close()\n"
        "for view in views: view[:] = 7; assert view.sum() == 7000\n"
        "arrays.clear(); del views, view, x, y\n"
    )


def test_devices_that_were_never_used_cannot_be_opened_after_the_end():
    ends_in_silence(
        "device = lp.devices()[0].masked(limits={'maxPushConstantsSize': 120})\n"
        "runtime().close()\n"
        "for use in (lambda: lp.zeros(3, device=device), lambda: lp.devices()[0].masked(without=[lp.Aspect.FP64])):\n"
        "    try: use()\n"
        "    except lp.DeviceLostError as error: assert 'shut down' in str(error)\n"
        "    else: raise AssertionError('no error')\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
def test_ctrl_c_ends_a_program_whose_kernel_hangs(tmp_path):
    """Once: neither the wait nor the end of the process waits for the kernel."""
    from lapilli.vk_runtime.runtime import runtime

    found = [device for device in runtime().devices if device.target_env.loop_iteration_cap is None]
    if not found or not found[0].is_cpu():
        pytest.skip("no device of software that runs loops without end; a hung GPU would hang for all")
    program = tmp_path / "program.py"
    program.write_text(
        "import signal\n"
        "import lapilli as lp\n"
        # A shell that runs this in the background has it start with the signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "@lp.kernel\n"
        "def forever(x: lp.Array[lp.i32]):\n"
        "    while lp.atomic.load(x, 0) == 0:\n"
        "        pass\n"
        f"event = forever[1](lp.zeros(1, lp.i32, device={found[0].selector!r}))\n"
        "assert not event.done\n"
        "print('hangs', flush=True)\n"
        "event.wait()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hangs\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()  # else the test waits for it, and it for its kernel
            raise
    assert process.returncode == -signal.SIGINT
    assert errors.splitlines()[-1] == "KeyboardInterrupt"


def test_a_generator_that_is_closed_at_the_very_end(tmp_path):
    """Where nothing can be imported any more: the error is lapilli's, and not one of the import system."""
    program = tmp_path / "program.py"
    program.write_text(
        "import lapilli as lp\n"
        "@lp.kernel\n"
        "def increment(x: lp.Array[lp.f32]):\n"
        "    x[lp.global_id(0)] += 1.0\n"
        "x = lp.zeros(4)\n"
        "def steps():\n"
        "    try:\n"
        "        increment[4](x)\n"
        "        yield\n"
        "    finally:\n"
        "        increment[4](x)\n"
        "pending = steps()\n"
        "next(pending)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "DeviceLostError" in done.stderr and "ImportError" not in done.stderr
