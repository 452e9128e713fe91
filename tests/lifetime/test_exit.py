"""A process ends in silence, whatever it still holds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PRELUDE = """
import lapilli as lp
from lapilli.vk_runtime.runtime import runtime
arrays, events = [], []
for device in lp.devices():
    x = lp.ones(1000, device=device)
    y = lp.zeros(1000, device=device).copy_from(x)
    arrays += [x, y]
"""


def ends_in_silence(program):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", PRELUDE + program],
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
    if not _has_device():
        pytest.skip("no Vulkan device")
    ends_in_silence(program)


def test_use_after_the_end_is_an_error_and_no_crash():
    if not _has_device():
        pytest.skip("no Vulkan device")
    ends_in_silence(
        "runtime().close()\n"
        "for use in (lambda: x.numpy(), lambda: lp.zeros(3), lambda: x.fill(1), lambda: lp.Queue()):\n"
        "    try: use()\n"
        "    except lp.DeviceLostError as error: assert 'shut down' in str(error)\n"
        "    else: raise AssertionError('no error')\n"
    )


def test_use_of_staged_memory_after_the_end_is_an_error_and_no_crash():
    """As above where arrays cannot be mapped, as on a GPU; that path allocates at every copy."""
    if not _has_device():
        pytest.skip("no Vulkan device")
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


def _has_device():
    from lapilli.vk_runtime.runtime import runtime

    return bool(runtime().devices)
