"""``assert`` in kernels: KernelTrap at the next wait or read, once, with place, work-item and values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import lapilli as lp


@lp.kernel
def checked(limit: lp.i32, x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    assert x[i] < limit, "too large"
    x[i] += 1


def line_of(kernel, offset: int) -> int:
    return kernel.function.__code__.co_firstlineno + offset


def test_a_true_assert_changes_nothing(device) -> None:
    x = lp.asarray(np.arange(1000, dtype=np.int32), device=device)
    checked[x.size](1000, x).wait()
    np.testing.assert_array_equal(x.numpy(), np.arange(1000) + 1)


def test_a_false_assert_is_a_trap(device) -> None:
    x = lp.asarray(np.arange(1000, dtype=np.int32), device=device)
    event = checked[x.size](999, x)
    with pytest.raises(lp.KernelTrap) as raised:
        event.wait()
    trap = raised.value
    assert trap.kernel == "checked"
    assert trap.errc is lp.Errc.KERNEL
    assert trap.code == "LP4100"
    assert trap.work_item == (999,)
    assert trap.location is not None
    assert (trap.location.file, trap.location.line) == (__file__, line_of(checked, 3))
    assert "assert x[i] < limit: too large; i is 999, limit is 999" in str(trap)


def test_it_is_raised_once_and_the_rest_stays_usable(device) -> None:
    x = lp.zeros(10, lp.i32, device=device)
    other = lp.zeros(10, lp.i32, device=device)
    checked[10](0, x)
    with pytest.raises(lp.KernelTrap):
        x.numpy()
    x.numpy()
    device.default_queue.wait()
    checked[10](1, other)
    np.testing.assert_array_equal(other.numpy(), np.ones(10))


@pytest.mark.parametrize("look", ["event", "queue", "read", "copy"])
def test_every_wait_and_read_raises(look: str, device) -> None:
    queue = lp.Queue(device)
    x = lp.zeros(10, lp.i32, device=device)
    event = checked[10].on(queue)(0, x)
    waits = {
        "event": event.wait,
        "queue": queue.wait,
        "read": x.numpy,
        "copy": lambda: x.copy_to(np.zeros(10, np.int32)),
    }
    with pytest.raises(lp.KernelTrap, match="too large"):
        waits[look]()
    queue.wait()


def test_polling_does_not_raise(device) -> None:
    x = lp.zeros(10, lp.i32, device=device)
    event = checked[10](0, x)
    while not event.done:
        pass
    with pytest.raises(lp.KernelTrap):
        event.wait()


def test_of_several_failed_launches_the_first_is_raised(device) -> None:
    x = lp.asarray(np.arange(8, dtype=np.int32), device=device)
    checked[8](7, x)
    checked[8](-100, x)
    with pytest.raises(lp.KernelTrap, match=r"work-item \(7,\)"):
        x.numpy()
    x.numpy()


def test_two_dimensions_and_a_message_with_values(device) -> None:
    @lp.kernel
    def diagonal(x: lp.Array[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        scaled = x[i, j] * 0.5
        assert not (i == 2 and j == 3), f"at {(i, j)}: {scaled:.3f} of {x.shape}"

    x = lp.full((5, 4), 0.5, device=device)
    with pytest.raises(lp.KernelTrap) as raised:
        diagonal[5, 4](x).wait()
    assert raised.value.work_item == (2, 3)
    assert "at (2, 3): 0.250 of (5, 4)" in str(raised.value)


def _helper(x: lp.Array[lp.i32], i: lp.i32):
    assert i != 5
    return x[i]


@lp.kernel
def calls_helper(x: lp.Array[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[i] = _helper(x, i) + _helper(x, i // 2)


def test_in_a_helper(device) -> None:
    x, y = lp.zeros(8, lp.i32, device=device), lp.zeros(8, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="assert i != 5; i is 5") as raised:
        calls_helper[8](x, y).wait()
    assert raised.value.location is not None
    assert raised.value.location.line == _helper.__code__.co_firstlineno + 1


def test_in_loops_and_arms(device) -> None:
    @lp.kernel
    def search(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        found = -1
        for k in range(len(x)):
            if x[k] == i:
                assert found < 0, "twice"
                found = k
        assert found >= 0, "not there"
        out[i] = found

    out = lp.zeros(4, lp.i32, device=device)
    search[4](lp.asarray(np.array([3, 1, 0, 2], np.int32), device=device), out)
    assert out.numpy().tolist() == [2, 1, 3, 0]
    with pytest.raises(
        lp.KernelTrap, match=r"work-item \((2|3),\): assert found (< 0: twice|>= 0: not there)"
    ):
        search[4](lp.asarray(np.array([2, 1, 0, 2], np.int32), device=device), out).wait()


def test_a_static_condition_needs_no_check(device) -> None:
    @lp.kernel
    def known(x: lp.Out[lp.i32]):
        assert 1 < 2
        x[lp.global_id(0)] = 1

    assert "report" not in known.inspect("spirv")


def test_many_arguments_leave_room_for_the_report(device) -> None:
    """Beyond the push constants the arguments lie in a buffer of their own, beside the report buffer."""

    @lp.struct
    class Wide:
        values: lp.FixedArray[lp.f32, 80]

    @lp.kernel
    def wide(w: Wide, x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        assert w.values[i] < 79.0
        x[i] = w.values[i]

    x = lp.zeros(80, lp.f32, device=device)
    values = Wide(np.arange(80, dtype=np.float32))
    wide[79](values, x)
    np.testing.assert_array_equal(x.numpy()[:79], np.arange(79))
    with pytest.raises(lp.KernelTrap, match=r"work-item \(79,\)"):
        wide[80](values, x).wait()


def test_python_o_leaves_asserts_out(device, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import lapilli as lp\n"
        "@lp.kernel\n"
        "def f(x: lp.Array[lp.i32]):\n"
        "    assert x[lp.global_id(0)] == 1\n"
        "    x[lp.global_id(0)] = 2\n"
        f"x = lp.zeros(4, lp.i32, device={device.selector!r})\n"
        "f[4](x)\n"
        "print(x.numpy().tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-O", str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "[2, 2, 2, 2]\n", done.stderr


def test_nobody_waits(device, tmp_path) -> None:
    """At the end of the program a failure that nobody waited for is logged, and lines are printed."""
    program = tmp_path / "program.py"
    program.write_text(
        "import lapilli as lp\n"
        "@lp.kernel\n"
        "def f(x: lp.Array[lp.i32]):\n"
        "    print('here', lp.global_id(0))\n"
        "    assert x[lp.global_id(0)] == 1, 'not one'\n"
        f"x = lp.zeros(1, lp.i32, device={device.selector!r})\n"
        "queue = lp.Queue(x.device)\n"
        "event = f[1].on(queue)(x)\n"
        "while not event.done: pass\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "here 0\n"
    assert "not one" in done.stderr


def test_ids_of_64_bits(device) -> None:
    @lp.kernel(index=lp.i64)
    def wide(x: lp.Array[lp.i32], offset: lp.i64):
        i = lp.global_id(0)
        assert i != 70, f"{i + offset}"
        x[i] = 1

    x = lp.zeros(100, lp.i32, device=device)
    if lp.Aspect.VK_INT64 not in device.aspects:
        pytest.skip("the device lacks integers of 64 bits")
    with pytest.raises(lp.KernelTrap, match="assert i != 70: 10000000070; i is 70") as raised:
        wide[100](x, 10**10).wait()
    assert raised.value.work_item == (70,)
    assert raised.value.values == (10**10 + 70, 70)


def test_shared_memory_that_a_launch_gives(device) -> None:
    @lp.kernel(local_size=4)
    def tile(x: lp.Array[lp.i32], scratch: lp.LocalArray[lp.i32]):
        i = lp.local_id(0)
        scratch[i] = x[i]
        lp.barrier()
        assert scratch[3 - i] != 2, f"{len(scratch)}"

    x = lp.asarray(np.arange(4, dtype=np.int32), device=device)
    with pytest.raises(lp.KernelTrap, match=r"work-item \(1,\): assert scratch\[3 - i\] != 2: 4"):
        tile[4](x, lp.local(4)).wait()
