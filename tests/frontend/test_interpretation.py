"""`interpret` on NumPy arrays, and launches with ``lp.config.interpret``."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret
from lapilli.ir.config import config

SCALE = lp.SpecializationId(lp.f32, 2.0)


@lp.struct
class Body:
    position: lp.f32x3
    weight: lp.f16
    tags: lp.FixedArray[lp.i8, 3]


@lp.kernel
def scaled(x: lp.In[lp.f32], y: lp.Out[lp.f32], offset: lp.f32 = 1.0):
    i = lp.global_id(0)
    y[i] = SCALE * x[i] + offset


def test_numpy_arrays_are_changed_in_place():
    x, y = np.arange(200, dtype=np.float32), np.zeros(400, np.float32)[::2]
    interpret(scaled, 200, (x, y))
    np.testing.assert_array_equal(y, 2 * x + 1)
    interpret(scaled, 200, (x,), {"y": y, "offset": 5}, spec={SCALE: 0.5})
    np.testing.assert_array_equal(y, 0.5 * x + 5)


def test_structs_vectors_bools_and_bf16_have_the_layout_of_the_host():
    @lp.kernel
    def k(
        bodies: lp.Array[Body],
        v: lp.In[lp.f32x3],
        flags: lp.Array[lp.bool_],
        h: lp.Array[lp.bf16],
        b: lp.bf16,
    ):
        i = lp.global_id(0)
        body = bodies[i]
        body.position += v[i]
        bodies[i].position = body.position
        bodies[i].tags = body.tags
        bodies[i].weight = body.weight * 2
        flags[i] = not flags[i]
        h[i] = lp.bf16(lp.f32(h[i]) + lp.f32(b))

    ml_dtypes = pytest.importorskip("ml_dtypes")
    bodies = np.zeros(3, Body.dtype)
    bodies["weight"], bodies["tags"] = 1.5, [[1, 2, 3]] * 3
    v = np.arange(9, dtype=np.float32).reshape(3, 3)
    flags, h = np.array([True, False, True]), np.array([1, 2, 3], ml_dtypes.bfloat16)
    interpret(k, 3, (bodies, v, flags, h, 0.5))
    np.testing.assert_array_equal(bodies["position"], v)
    assert bodies["weight"].tolist() == [3.0] * 3 and bodies["tags"].tolist() == [[1, 2, 3]] * 3
    assert flags.tolist() == [False, True, False]
    assert h.astype(np.float32).tolist() == [1.5, 2.5, 3.5]


def test_the_sub_group_size_is_free():
    @lp.kernel(local_size=8)
    def k(out: lp.Out[lp.i32, 2]):
        i = lp.global_id(0)
        out[0, i] = lp.sub_group.reduce(i, "add")
        out[1, i] = lp.sub_group.size() * 100 + lp.sub_group.index() * 10 + lp.sub_group.id()
        out[2, i] = lp.sub_group.inclusive_scan(i, "max")
        out[3, i] = lp.sub_group.shuffle_xor(i, 1)
        out[4, i] = lp.sub_group.exclusive_scan(i, "add")

    out = np.zeros((5, 16), np.int32)
    interpret(k, 16, (out,), sub_group_size=4)
    groups = np.arange(16).reshape(4, 4)
    assert out[0].tolist() == np.repeat(groups.sum(axis=1), 4).tolist()
    assert out[1].tolist() == [400 + i // 4 % 2 * 10 + i % 4 for i in range(16)]
    assert out[2].tolist() == list(range(16))
    assert out[3].tolist() == [i ^ 1 for i in range(16)]
    assert out[4].tolist() == (np.cumsum(groups, axis=1) - groups).ravel().tolist()


def test_inactive_work_items_take_no_part_in_their_sub_group():
    @lp.kernel(local_size=8)
    def k(x: lp.In[lp.i32], out: lp.Array[lp.i32, 2]):
        i = lp.global_id(0)
        if x[i] > 0:
            out[0, i] = lp.sub_group.reduce(x[i], "add")
            out[1, i] = lp.i32(lp.sub_group.ballot(x[i] > 2)[0])
            out[2, i] = lp.i32(lp.sub_group.all(x[i] < 9))

    x, out = np.array([1, 0, 3, 0, 0, 6, 7, 0], np.int32), np.zeros((3, 8), np.int32)
    interpret(k, 8, (x, out), sub_group_size=8)
    assert out[0].tolist() == [17, 0, 17, 0, 0, 17, 17, 0]
    assert out[1].tolist() == [0b1100100 if v else 0 for v in x]
    assert out[2].tolist() == [int(v > 0) for v in x]


def test_group_functions_and_atomics_give_the_same_every_time():
    @lp.kernel(local_size=32)
    def k(x: lp.In[lp.f32], total: lp.Array[lp.f32], order: lp.Out[lp.i32], next_: lp.Array[lp.i32]):
        i = lp.global_id(0)
        lp.atomic.add(total, 0, lp.group.inclusive_scan(x[i], "add"))
        order[i] = lp.atomic.add(next_, 0, 1)

    x = np.random.default_rng(7).random(96, np.float32)
    results = []
    for _ in range(2):
        total, order, next_ = np.zeros(1, np.float32), np.zeros(96, np.int32), np.zeros(1, np.int32)
        interpret(k, 96, (x, total, order, next_))
        assert order.tolist() == list(range(96)) and next_[0] == 96
        results.append(total[0])
    assert results[0] == results[1]
    np.testing.assert_allclose(results[0], np.cumsum(x.reshape(3, 32), axis=1).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("error", "arguments", "options", "message"),
    [
        (lp.KernelArgumentError, (np.zeros(4, np.float32),), {}, "expected a value for parameter 'y'"),
        (
            lp.KernelArgumentError,
            (np.zeros(4), np.zeros(4, np.float32)),
            {},
            "kernel 'scaled', argument 'x': expected dtype float32 and 1 dimensions, found float64 of shape (4,)",
        ),
        (
            lp.KernelArgumentError,
            ([0.0] * 4, np.zeros(4, np.float32)),
            {},
            "kernel 'scaled', argument 'x': expected a NumPy array of float32, found list",
        ),
        (
            lp.KernelArgumentError,
            (np.zeros(4, np.float32), np.zeros(4, np.float32), "1"),
            {},
            "kernel 'scaled', argument 'offset': expected lp.f32, found str '1'",
        ),
        (
            lp.NdRangeError,
            (np.zeros(4, np.float32), np.zeros(4, np.float32)),
            {"local": (2, 2)},
            "range (4,) has 1 dimensions, local size (2, 2) has 2; expected as many",
        ),
        (
            lp.InvalidError,
            (np.zeros(4, np.float32), np.zeros(4, np.float32)),
            {"sub_group_size": 3},
            "sub_group_size is a power of two from 1 to 128; found 3",
        ),
    ],
)
def test_arguments_that_do_not_suit_are_named(error, arguments, options, message):
    with pytest.raises(error) as caught:
        interpret(scaled, 4, arguments, **options)
    assert message in str(caught.value)


@lp.kernel
def barrier_only(y: lp.Array[lp.f32]):
    lp.barrier()
    y[lp.global_id(0)] = 1.0


def test_kernels_that_work_together_need_a_local_size():
    y = np.zeros(8, np.float32)
    with pytest.raises(lp.InvalidError) as caught:
        interpret(barrier_only, 8, (y,))
    assert "work together, so it needs a local size: interpret(…, local=…)" in str(caught.value)
    with pytest.raises(lp.NdRangeError):
        interpret(barrier_only, 8, (y,), local=3)
    interpret(barrier_only, 8, (y,), local=4)
    assert y.tolist() == [1] * 8


def test_an_empty_range_runs_nothing():
    y = np.ones(1, np.float32)
    interpret(scaled, 0, (np.zeros(1, np.float32), y))
    assert y.tolist() == [1.0]


@pytest.mark.device
def test_launches_are_interpreted_where_the_option_says_so(device):
    x, y = lp.asarray(np.arange(6, dtype=np.float32), device=device), lp.zeros(4, device=device)
    scaled[4](x, y)  # takes the short way from now on
    scaled[4](x, y)
    with lp.config.override(interpret=True), lp.trace() as trace:
        event = scaled[4].spec({SCALE: 3.0})(x, y)
        assert event.done and event.wait() is event
        assert y.numpy().tolist() == [1, 4, 7, 10]
        assert [(e.kind, e.kernel) for e in trace.events if e.kind == "launch"] == [("launch", "scaled")]
        with pytest.raises(lp.KernelTrap) as caught:
            scaled[5](x, y)
        assert "index 4 is out of range of array 'y', of length 4" in str(caught.value)
        with pytest.raises(lp.KernelArgumentError):
            scaled[4](x)
        with pytest.raises(lp.KernelArgumentError):
            scaled[4](x, lp.zeros(4, lp.i32, device=device))
        with pytest.raises(lp.NdRangeError):
            scaled[-1](x, y)
    scaled[5](x, y)
    assert y.numpy().tolist() == [1, 3, 5, 7]


@pytest.mark.device
def test_a_trap_leaves_the_arrays_usable(device):
    y = lp.zeros(4, device=device)
    x = lp.asarray(np.arange(3, dtype=np.float32), device=device)
    with lp.config.override(interpret=True):
        with pytest.raises(lp.KernelTrap):
            scaled[4](x, y)
        scaled[3](x, y)
    assert y.numpy().tolist() == [1, 3, 5, 0]


def test_the_environment_variable_turns_it_on(monkeypatch):
    monkeypatch.setenv("LAPILLI_INTERPRET", "1")
    assert config.interpret
    monkeypatch.setenv("LAPILLI_INTERPRET", "0")
    assert not config.interpret


def test_no_vulkan_driver_is_needed(tmp_path):
    file = tmp_path / "k.py"
    file.write_text(
        "import numpy as np, lapilli as lp\n"
        "from lapilli.frontend.interpretation import interpret\n"
        "@lp.kernel\n"
        "def k(y: lp.Array[lp.i32]):\n"
        "    y[lp.global_id(0)] += lp.global_id(0)\n"
        "y = np.ones(3, np.int32)\n"
        "interpret(k, 3, (y,))\n"
        "import sys; print(y.tolist(), 'cffi' in sys.modules)\n"
    )
    done = subprocess.run((sys.executable, file), capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0].startswith("[1, 2, 3]")


@lp.kernel
def checked(x: lp.Array[lp.i32], small: lp.In[lp.u8]):
    i = lp.global_id(0)
    for k in range(2):
        print(i, k, small[i], 0.1 * lp.f32(i + 1), i > 0)
    assert x[i] < 2, f"at {i}"
    x[i] += 1


def test_a_failed_assert_is_a_trap_with_the_text_of_devices(capsys):
    with pytest.raises(lp.KernelTrap) as raised:
        interpret(checked, 4, (np.array([0, 1, 2, 3], np.int32), np.full(4, 200, np.uint8)))
    trap = raised.value
    assert (trap.code, trap.kernel, trap.work_item, trap.values) == ("LP4100", "checked", (2,), (2, 2))
    assert str(trap).endswith(
        "kernel 'checked', work-item (2,): assert x[i] < 2: at 2; i is 2; the arrays that the kernel writes are "
        "undefined"
    )
    shown = [str(np.float32(0.1) * np.float32(i + 1)) for i in range(4)]
    lines = [f"{i} {k} 200 {shown[i]} {i > 0}" for i in range(4) for k in range(2)]
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.device
def test_an_interpreted_assert_goes_to_the_handler(device, capsys):
    seen = []
    queue, x = lp.Queue(device, async_handler=seen.append), lp.zeros(2, lp.i32, device=device)

    @lp.kernel
    def fails(x: lp.Array[lp.i32]):
        print("item", lp.global_id(0))
        assert x[0] == 1

    with config.override(interpret=True):
        event = fails[2].on(queue)(x)
        assert not seen and capsys.readouterr().out == ""
        event.wait()
    ((trap,),) = seen
    assert isinstance(trap, lp.KernelTrap) and trap.work_item == (0,)
    assert capsys.readouterr().out == "item 0\nitem 1\n"


def test_debug_mode_checks_in_the_interpreter():
    @lp.kernel
    def divides(x: lp.Array[lp.i32]):
        x[0] = x[0] // x[1]

    with config.override(debug=True), pytest.raises(lp.KernelTrap, match="integer division of 3 by zero"):
        interpret(divides, 1, (np.array([3, 0], np.int32),))


@lp.reqd_work_group_size(4)
@lp.kernel
def required(out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = lp.local_range(0) * 10 + lp.local_id(0)


@lp.kernel(local_size=("2 * TILE",))
def sized(out: lp.Out[lp.i32], *, TILE: lp.Spec[lp.u32] = 4):
    out[lp.global_id(0)] = lp.local_range(0) * 10 + lp.local_id(0)


def test_work_group_sizes_of_the_kernel_hold():
    out = np.zeros(8, np.int32)
    interpret(required, 8, (out,))
    assert out.tolist() == [40, 41, 42, 43] * 2
    with pytest.raises(lp.NdRangeError, match="requires the work-group size"):
        interpret(required, 8, (out,), local=8)
    interpret(sized, 8, (out,))
    assert out.tolist() == list(range(80, 88))
    interpret(sized, 8, (out,), spec={sized.specialization_ids["TILE"]: 1})
    assert out.tolist() == [20, 21] * 4


@lp.kernel
def through_two_shapes(x: lp.Array[lp.f32], y: lp.Array[lp.f32, 2]):
    i = lp.global_id(0)
    x[i] = 1.0
    y[i // 2, i % 2] += lp.f32(i)


def test_two_views_of_one_memory_are_one(device):
    x = lp.zeros(4, device=device)
    with config.override(interpret=True):
        through_two_shapes[4](x, x.reshape(2, 2))
    assert x.numpy().tolist() == [1, 2, 3, 4]


def test_launches_of_several_threads_on_one_array_come_one_after_the_other(device):
    @lp.kernel
    def counts(x: lp.Array[lp.i32]):
        x[lp.global_id(0)] += 1

    x = lp.zeros(64, lp.i32, device=device)
    with config.override(interpret=True), ThreadPoolExecutor(6) as pool:
        for launch in [pool.submit(counts[64], x) for _ in range(120)]:
            launch.result()
    assert x.numpy().tolist() == [120] * 64


def test_what_was_stored_is_in_memory_when_the_launch_returns(device):
    @lp.kernel
    def counts(x: lp.Array[lp.i32]):
        x[lp.global_id(0)] += 1

    x = lp.zeros(8, lp.i32, device=device)
    (native,) = lp.vulkan.get_native(x)
    same = lp.vulkan.make_buffer(native, device.default_context, dtype=lp.i32, size=8, device=device)
    with config.override(interpret=True):
        counts[8](same)
    assert x.numpy().tolist() == [1] * 8
