"""While the driver compiles a first kernel, what the next one may need is imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest

import lapilli as lp
from lapilli.frontend import first_launch, rest_of_compiler
from lapilli.ir.errors import DeviceLostError


def test_a_first_loop_barrier_or_atomic_imports_nothing_more():
    program = """
    import sys
    import lapilli as lp
    from lapilli.frontend.compile import compile_kernels, compile_lock, load_compiler
    from lapilli.frontend.rest_of_compiler import use_the_wait
    from lapilli.ir.target_env import TargetEnv

    head = "@lp.kernel\\ndef k(x: lp.Array[lp.f32], n: lp.i32):\\n    i = lp.global_id(0)\\n    s = x[i]\\n"
    env = TargetEnv(loop_iteration_cap=65535, pairs_rounds=True)
    load_compiler()
    compile_kernels([lp.kernel_from_source(head + "    x[i] = s + 1.0\\n")], env, rank=1)
    use_the_wait(lambda: True, compile_lock)
    before = set(sys.modules)
    for rest in (
        "    for j in range(n):\\n        s += lp.f32(j)\\n        if s > 2.0:\\n            break\\n    x[i] = s\\n",
        "    while s < 10.0:\\n        s = s * 2.0\\n    x[i] = min(lp.math.sqrt(s), 3.0)\\n",
        "    t = lp.local.array(64, lp.f32)\\n    t[i] = s\\n    lp.barrier()\\n    x[i] = t[63 - i]\\n",
        "    lp.atomic.add(x, 0, s)\\n",
    ):
        compile_kernels([lp.kernel_from_source(head + rest)], env, rank=1)
    print(*sorted(set(sys.modules) - before))
    """
    run = subprocess.run(
        (sys.executable, "-c", textwrap.dedent(program)), capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_imports_end_when_the_device_is_done(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    imported: list[str] = []
    monkeypatch.setattr(rest_of_compiler, "import_module", lambda name, _: imported.append(name))
    monkeypatch.setattr(rest_of_compiler, "_pending", ["third", "second", "first"])
    answers = iter([True, True, False, True, False])
    for expected in (["..first", "..second"], ["..first", "..second", "..third"]):
        rest_of_compiler.use_the_wait(lambda: next(answers), threading.Lock())
        assert imported == expected


def test_nothing_is_imported_where_there_is_one_cpu(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 1)
    monkeypatch.setattr(rest_of_compiler, "import_module", pytest.fail)
    monkeypatch.setattr(rest_of_compiler, "_pending", ["first"])
    rest_of_compiler.use_the_wait(lambda: True, threading.Lock())


def test_nothing_is_imported_while_another_thread_compiles(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    monkeypatch.setattr(rest_of_compiler, "import_module", pytest.fail)
    monkeypatch.setattr(rest_of_compiler, "_pending", ["first"])
    lock = threading.Lock()
    with lock:
        rest_of_compiler.use_the_wait(lambda: True, lock)
    assert rest_of_compiler._pending == ["first"]


@pytest.mark.device
@pytest.mark.native_only("nothing is submitted")
def test_a_launch_that_made_a_pipeline_uses_the_wait(device, monkeypatch):
    asked: list[bool] = []
    monkeypatch.setattr(first_launch, "in_the_wait", [lambda is_busy: asked.append(is_busy())])

    @lp.kernel
    def increment(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += 23.0

    x, queue = lp.zeros(64, device=device), lp.Queue(device)
    increment[64].on(queue)(x)
    increment[64].on(queue)(x)
    assert len(asked) == 1
    assert x.numpy().tolist() == [46.0] * 64
    assert not queue.is_busy()


@pytest.mark.device
@pytest.mark.native_only("nothing is submitted")
def test_a_lost_device_is_not_busy(device, monkeypatch):
    queue = lp.Queue(device)

    def lose() -> int:
        raise DeviceLostError("gone")

    monkeypatch.setattr(queue._clock, "ask", lose)
    assert not queue.is_busy()
