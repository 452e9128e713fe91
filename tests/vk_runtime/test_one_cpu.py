"""A process on one CPU: lavapipe's threads interrupt nobody.  How waits give way: tests/faults/test_waits.py."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from lapilli.vk_runtime import one_cpu
from lapilli.vk_runtime.constants import VK_DRIVER_ID_MESA_LLVMPIPE

has_policies = pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="no scheduling policies here")

TELL_POLICIES = """
import os, sys
os.sched_setaffinity(0, {int(cpu) for cpu in sys.argv[2].split(",")})
import lapilli as lp
lp.zeros(4, device=sys.argv[1]).numpy()
others = [int(task) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
print(os.sched_getscheduler(0), min(map(os.sched_getscheduler, others)))
"""


@has_policies
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no list of threads here")
def test_threads_of_lavapipe_are_patient_on_one_cpu(device):
    is_lavapipe = device.logical.physical.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE
    cpus = sorted(os.sched_getaffinity(0))
    for chosen in (cpus[:1], cpus) if len(cpus) > 1 else (cpus,):
        command = [sys.executable, "-c", TELL_POLICIES, device.selector, ",".join(map(str, chosen))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        is_patient = is_lavapipe and len(chosen) == 1
        assert done.stdout.split() == [
            str(os.SCHED_OTHER),
            str(os.SCHED_BATCH if is_patient else os.SCHED_OTHER),
        ]


@has_policies
@pytest.mark.parametrize("error", [None, ValueError("a driver that fails")])
def test_the_calling_thread_keeps_its_policy(error):
    found = []

    def make():
        thread = threading.Thread(target=lambda: found.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
        if error is not None:
            raise error
        return 5

    if error is None:
        assert one_cpu.with_patient_threads(make) == 5
    else:
        with pytest.raises(ValueError, match="a driver that fails"):
            one_cpu.with_patient_threads(make)
    assert (found, os.sched_getscheduler(0)) == ([os.SCHED_BATCH], os.SCHED_OTHER)


@has_policies
def test_a_refused_policy_is_no_error(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert one_cpu.with_patient_threads(lambda: 5) == 5
