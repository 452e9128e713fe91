"""While the driver compiles a first kernel, what the next one may need is imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import pytest

import lapilli as lp
from lapilli.frontend import first_launch, rest_of_compiler
from lapilli.ir.errors import DeviceLostError
from lapilli.vk_runtime.held_locks import HeldLocks
from tests import interruption


def turn(lock: threading.RLock) -> tuple[Callable[[], bool], Callable[[], object]]:
    """Returns what takes a lock if it is free, and what gives it back."""
    held = HeldLocks()
    return lambda: held.take(lock, timeout_s=0), held.give_back


def test_a_first_loop_barrier_or_atomic_imports_nothing_more():
    program = """
    import sys
    import lapilli as lp
    from lapilli.frontend.compile import _use_the_wait, compile_kernels, load_compiler
    from lapilli.ir.target_env import TargetEnv

    head = "@lp.kernel\\ndef k(x: lp.Array[lp.f32], n: lp.i32):\\n    i = lp.global_id(0)\\n    s = x[i]\\n"
    env = TargetEnv(loop_iteration_cap=65535, pairs_rounds=True)
    load_compiler()
    compile_kernels([lp.kernel_from_source(head + "    x[i] = s + 1.0\\n")], env, rank=1)
    _use_the_wait(lambda: True)
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


def test_no_step_imports_two_modules():
    """Whoever waits for the device is kept by one step at most."""
    program = """
    import sys
    import lapilli as lp
    from lapilli.frontend import rest_of_compiler
    from lapilli.frontend.compile import compile_kernels, load_compiler
    from lapilli.ir.target_env import TargetEnv

    load_compiler()
    text = "@lp.kernel\\ndef k(x: lp.Array[lp.f32]):\\n    x[lp.global_id(0)] += 1.0\\n"
    compile_kernels([lp.kernel_from_source(text)], TargetEnv(loop_iteration_cap=65535, pairs_rounds=True), rank=1)
    rest_of_compiler.compile_frequent = rest_of_compiler.define_frequent = lambda *_: False
    seen, steps = set(sys.modules), []
    def note():
        steps.append([name for name in set(sys.modules) - seen if name.startswith(("lapilli.", "xdsl."))])
        seen.update(sys.modules)
        return True
    rest_of_compiler.use_the_wait(note, lambda: True, lambda: None)
    print(max(map(len, steps)), sum(map(len, steps)) > 40, [step for step in steps if len(step) > 1])
    """
    run = subprocess.run(
        (sys.executable, "-c", textwrap.dedent(program)), capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "1 True []"


@pytest.fixture(autouse=True)
def nothing_to_compile(monkeypatch):
    """What other tests have called is compiled elsewhere."""
    monkeypatch.setattr(rest_of_compiler, "compile_frequent", lambda *_: False)
    monkeypatch.setattr(rest_of_compiler, "define_frequent", lambda: False)


def test_methods_that_were_called_are_compiled_before_anything_is_imported(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    monkeypatch.setattr(rest_of_compiler, "compile_frequent", iter([True, True, False, False]).__next__)
    imported: list[str] = []
    monkeypatch.setattr(rest_of_compiler, "import_module", lambda name, _: imported.append(name))
    monkeypatch.setattr(rest_of_compiler, "_pending", ["first"])
    answers = iter([True, False, True, True, False])
    rest_of_compiler.use_the_wait(lambda: next(answers), *turn(threading.RLock()))
    assert imported == []
    rest_of_compiler.use_the_wait(lambda: next(answers), *turn(threading.RLock()))
    assert imported == ["..first"]


def test_what_was_called_and_read_seldom_waits_for_the_imports(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    done: list[object] = []
    methods, classes = [1], [1]

    def compile_frequent(calls: int = 4) -> bool:
        done.append(calls)
        return calls == rest_of_compiler.SELDOM_CALLS and bool(methods and methods.pop())

    def define_frequent() -> bool:
        done.append("define")
        return bool(classes and classes.pop())

    monkeypatch.setattr(rest_of_compiler, "compile_frequent", compile_frequent)
    monkeypatch.setattr(rest_of_compiler, "define_frequent", define_frequent)
    monkeypatch.setattr(rest_of_compiler, "import_module", lambda name, _: done.append(name))
    monkeypatch.setattr(rest_of_compiler, "_pending", ["xdsl.first"])
    rest_of_compiler.use_the_wait(lambda: True, *turn(threading.RLock()))
    assert done == [4, "xdsl.first", 4, 1, 4, 1, "define", 4, 1, "define"]


def test_imports_end_when_the_device_is_done(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    imported: list[str] = []
    monkeypatch.setattr(rest_of_compiler, "import_module", lambda name, _: imported.append(name))
    monkeypatch.setattr(rest_of_compiler, "_pending", ["third", "second", "first"])
    answers = iter([True, True, False, True, False])
    for expected in (["..first", "..second"], ["..first", "..second", "..third"]):
        rest_of_compiler.use_the_wait(lambda: next(answers), *turn(threading.RLock()))
        assert imported == expected


def test_nothing_is_imported_where_there_is_one_cpu(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 1)
    monkeypatch.setattr(rest_of_compiler, "import_module", pytest.fail)
    monkeypatch.setattr(rest_of_compiler, "_pending", ["first"])
    rest_of_compiler.use_the_wait(lambda: True, *turn(threading.RLock()))


def test_nothing_is_imported_while_another_thread_compiles(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    monkeypatch.setattr(rest_of_compiler, "import_module", pytest.fail)
    monkeypatch.setattr(rest_of_compiler, "_pending", ["first"])
    lock = threading.RLock()
    with lock:
        thread = threading.Thread(target=rest_of_compiler.use_the_wait, args=(lambda: True, *turn(lock)))
        thread.start()
        thread.join()
    assert rest_of_compiler._pending == ["first"]


def test_ctrl_c_at_any_point_leaves_no_lock(monkeypatch):
    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    monkeypatch.setattr(rest_of_compiler, "import_module", lambda *_: None)
    monkeypatch.setattr(interruption, "FOLDER", rest_of_compiler.__file__)
    lock, count = threading.RLock(), 0
    for count in range(1000):
        monkeypatch.setattr(rest_of_compiler, "_pending", ["second", "first"])
        is_interrupted = interruption.interrupted_at(
            count, lambda: rest_of_compiler.use_the_wait(lambda: True, *turn(lock))
        )
        with pytest.raises(RuntimeError):  # it is nobody's
            lock.release()
        if not is_interrupted:
            break
    assert count > 5


def test_an_import_that_fails_is_no_matter_of_the_launch_before(monkeypatch):
    def fail(*_: str) -> None:
        raise RecursionError("too little stack")

    monkeypatch.setattr(rest_of_compiler, "cpu_count", lambda: 2)
    monkeypatch.setattr(rest_of_compiler, "import_module", fail)
    monkeypatch.setattr(rest_of_compiler, "_pending", ["second", "first"])
    lock = threading.RLock()
    rest_of_compiler.use_the_wait(lambda: True, *turn(lock))
    assert rest_of_compiler._pending == ["second"]
    with pytest.raises(RuntimeError):
        lock.release()


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
