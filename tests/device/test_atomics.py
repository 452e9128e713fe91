"""Atomics on arrays and shared arrays, by instruction and by compare-exchange, and fences between groups."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.target_env import TargetEnv

pytestmark = pytest.mark.device

N = 2048


@lp.kernel(local_size=64)
def histogram(x: lp.In[lp.i32], counts: lp.Array[lp.u32]):
    bins = lp.local.array(32, lp.u32)
    lane = lp.local_id(0)
    if lane < 32:
        bins[lane] = 0
    lp.barrier()
    lp.atomic.add(bins, x[lp.global_id(0)], 1, scope="work_group")
    lp.barrier()
    if lane < 32:
        lp.atomic.add(counts, lane, bins[lane])


def test_histogram_counts_in_shared_memory_and_adds_up_in_an_array(device):
    x = np.random.default_rng(1).integers(0, 32, N).astype(np.int32)
    counts = lp.zeros(32, lp.u32, device=device)
    histogram[N](lp.asarray(x, device=device), counts)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x, minlength=32))


@lp.kernel
def integers(x: lp.In[lp.i32], s: lp.Array[lp.i32], u: lp.Array[lp.u32, 2]):
    v = x[lp.global_id(0)]
    bits = lp.u32(v)
    lp.atomic.add(s, 0, v)
    lp.atomic.sub(s, 1, v)
    lp.atomic.min(s, 2, v)
    lp.atomic.max(s, 3, v)
    lp.atomic.min(u, (0, 0), bits)
    lp.atomic.max(u, (0, 1), bits)
    lp.atomic.and_(u, (1, 0), bits)
    lp.atomic.or_(u, (1, 1), bits)
    lp.atomic.xor(u, (2, 0), bits)


def test_every_integer_operation(device):
    x = np.random.default_rng(2).integers(-1000, 1000, N).astype(np.int32)
    bits = x.view(np.uint32)
    s = lp.asarray(np.int32([0, 0, 2**31 - 1, -(2**31)]), device=device)
    u = lp.asarray(np.uint32([[2**32 - 1, 0], [2**32 - 1, 0], [0, 0]]), device=device)
    integers[N](lp.asarray(x, device=device), s, u)
    assert s.numpy().tolist() == [x.sum(), -x.sum(), x.min(), x.max()]
    expected = [[bits.min(), bits.max()], [np.bitwise_and.reduce(bits), np.bitwise_or.reduce(bits)]]
    np.testing.assert_array_equal(u.numpy(), [*expected, [np.bitwise_xor.reduce(bits), 0]])


@lp.kernel
def tickets(counter: lp.Array[lp.i32], taken: lp.Out[lp.i32]):
    taken[lp.atomic.add(counter, 0, 1)] = lp.global_id(0)


def test_old_values_are_all_different(device):
    counter, taken = lp.zeros(1, lp.i32, device=device), lp.full(N, -1, lp.i32, device=device)
    tickets[N](counter, taken)
    assert counter.numpy().tolist() == [N]
    assert sorted(taken.numpy().tolist()) == list(range(N))


@lp.kernel(local_size=32)
def floats(x: lp.In[lp.f32], out: lp.Array[lp.f32]):
    shared = lp.local.array(2, lp.f32)
    if lp.local_id(0) == 0:
        shared[0] = 0.0
        shared[1] = -lp.math.inf
    lp.barrier()
    v = x[lp.global_id(0)]
    lp.atomic.add(shared, 0, v)
    lp.atomic.max(shared, 1, v)
    lp.atomic.sub(out, 1, v)
    lp.atomic.min(out, 2, v)
    lp.barrier()
    if lp.local_id(0) == 0:
        lp.atomic.add(out, 0, shared[0])
        lp.atomic.max(out, 3, shared[1])


@lp.kernel
def exchanged(x: lp.In[lp.f32], out: lp.Array[lp.f32]):
    v = x[lp.global_id(0)]
    old = lp.atomic.compare_exchange(out, 0, -1.0, v)
    if old == -1.0:
        lp.atomic.store(out, 1, v)
    lp.atomic.exchange(out, 2, lp.atomic.load(out, 3))


def test_floats_in_arrays_and_shared_arrays(device):
    # Small integers: their sums are exact in any order.
    x = np.random.default_rng(3).integers(-100, 100, N).astype(np.float32)
    out = lp.asarray(np.float32([0, 0, np.inf, -np.inf]), device=device)
    floats[N](lp.asarray(x, device=device), out)
    assert out.numpy().tolist() == [x.sum(), -x.sum(), x.min(), x.max()]


@pytest.mark.parametrize("name", ["load", "store", "exchange"])
def test_floats_are_moved_beside_their_maximum(device, name: str):
    """Moving a float needs a feature of the device that is named by no capability of the code."""

    @lp.kernel
    def change(a: lp.f32, x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        lp.atomic.max(x, 0, a + 1.0)
        if name == "load":
            x[i + 1] = lp.atomic.load(x, i + 1) + a
        elif name == "store":
            lp.atomic.store(x, i + 1, a)
        else:
            lp.atomic.exchange(x, i + 1, a)

    x = lp.zeros(3, device=device)
    change[2](2.0, x)
    assert x.numpy().tolist() == [3.0, 2.0, 2.0]


def test_exactly_one_compare_exchange_wins(device):
    x = np.arange(1, N + 1, dtype=np.float32)
    out = lp.asarray(np.float32([-1, 0, 0, 7]), device=device)
    exchanged[N](lp.asarray(x, device=device), out)
    winner, stored, copied, kept = out.numpy().tolist()
    assert winner in x
    assert (stored, copied, kept) == (winner, 7, 7)


def _disassembled(kernel, env):
    from lapilli.spirv.tools import spirv_tools

    (image,) = compile_kernels([kernel], env)
    return spirv_tools().disassemble(image.spirv), image.kernels[0]


def test_instruction_or_loop_by_the_device_that_is_compiled_for():
    add, min_max = int(lp.Aspect.VK_FLOAT_ATOMIC_ADD), int(lp.Aspect.VK_FLOAT_ATOMIC_MIN_MAX)
    native, kernel = _disassembled(floats, TargetEnv(optional_aspects=(add, min_max)))
    assert "OpAtomicFAddEXT" in native
    assert "OpAtomicFMinEXT" in native
    assert {add, min_max} <= set(kernel.aspects)
    for aspects in ((), (add,)):
        emulated, kernel = _disassembled(floats, TargetEnv(optional_aspects=aspects))
        assert "OpAtomicCompareExchange" in emulated
        assert "EXT" not in emulated
        assert not {add, min_max} & set(kernel.aspects)


@lp.kernel(local_size=1)
def chain(counter: lp.Array[lp.i32], values: lp.Array[lp.i32]):
    group = lp.group_id(0)
    values[group] = group + 1
    lp.mem_fence("device", "release")
    if lp.atomic.add(counter, 0, 1, order="acq_rel") == lp.group_range(0) - 1:
        lp.mem_fence("device", "acquire")
        total = 0
        for i in range(lp.group_range(0)):
            total += values[i]
        values[0] = total


def test_last_group_sees_what_the_others_stored(device):
    counter, values = lp.zeros(1, lp.i32, device=device), lp.zeros(64, lp.i32, device=device)
    chain[64](counter, values)
    assert values.numpy()[0] == 64 * 65 // 2
    assert "Coherent" in chain.inspect("spirv")


@lp.kernel
def wide(out: lp.Array[lp.u64]):
    lp.atomic.add(out, 0, 1 << 40)


@lp.kernel
def orders_of_one(x: lp.Array[lp.u32]):
    i = lp.global_id(0)
    lp.atomic.add(x, i, 1, order="acq_rel", scope="work_item")
    seen = lp.atomic.load(x, i, order="acquire", scope="work_item")
    found = lp.atomic.compare_exchange(x, i, seen, seen + 2, order="acquire", scope="work_item")
    lp.mem_fence("work_item")
    lp.atomic.store(x, i, found + 10, order="release", scope="work_item")
    lp.mem_fence("work_item", "acquire")


def test_orders_among_the_accesses_of_one_work_item(device):
    """SYCL has them; Vulkan knows no order at this scope, and needs none."""
    x = lp.zeros(4, lp.u32, device=device)
    orders_of_one[4](x)
    assert x.numpy().tolist() == [11] * 4


def test_64_bits_need_the_aspect(device):
    out = lp.zeros(1, lp.u64, device=device)
    if device.has(lp.Aspect.ATOMIC64):
        wide[100](out)
        assert out.numpy().tolist() == [100 << 40]
    else:
        with pytest.raises(lp.KernelNotSupportedError, match=r"atomic64|vk_int64"):
            wide[100](out)


@lp.kernel
def doubles(out: lp.Array[lp.f64]):
    lp.atomic.add(out, 0, 0.5)
    lp.atomic.max(out, 1, lp.f64(lp.global_id(0)))


def test_doubles_go_through_compare_exchange_of_64_bits(device):
    if not device.has(lp.Aspect.ATOMIC64) or not device.has(lp.Aspect.FP64):
        pytest.skip("the device lacks fp64 or atomic64")
    out = lp.zeros(2, lp.f64, device=device)
    doubles[101](out)
    assert out.numpy().tolist() == [50.5, 100.0]


def _on_read_only(x: lp.In[lp.i32]):
    lp.atomic.add(x, 0, 1)


def _bits_of_floats(x: lp.Array[lp.f32]):
    lp.atomic.xor(x, 0, 1.0)


def _unknown_order(x: lp.Array[lp.i32]):
    lp.atomic.add(x, 0, 1, order="seq_cst")


def _releasing_load(x: lp.Array[lp.i32]):
    x[0] = lp.atomic.load(x, 1, order="release")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_on_read_only, "reads and writes 'x', which is lp.In"),
        (_bits_of_floats, "lp.atomic.xor works on integers"),
        (_unknown_order, "\"acq_rel\"; found 'seq_cst'"),
        (_releasing_load, 'has no order "release"'),
    ],
)
def test_atomic_that_does_not_exist(function, message):
    with pytest.raises(lp.CompileError, match=message):
        lp.kernel(function).inspect("ir")


WILD_ATOMICS = """
import sys
import lapilli as lp


@lp.struct
class Cell:
    count: lp.i32
    weight: lp.f32


@lp.kernel
def wild(first: lp.i32, x: lp.Array[lp.i32], y: lp.Array[lp.i32, 2], cells: lp.Array[Cell], z: lp.Array[lp.f32]):
    k = first + lp.global_id(0)
    lp.atomic.add(x, k, 0x41414141)
    lp.atomic.exchange(x, k, 0x41414141)
    lp.atomic.compare_exchange(x, k, 0, 0x41414141)
    lp.atomic.store(x, k, 0x41414141)
    lp.atomic.add(y, (k, -k), 0x41414141)
    lp.atomic.add(cells, (k, "count"), 0x41414141)
    lp.atomic.add(cells, (k, "weight"), 1.5)
    lp.atomic.add(z, k, 1.5)


(device,) = (d for d in lp.devices() if d.selector == sys.argv[1])
arrays = (
    lp.zeros(4, lp.i32, device=device),
    lp.zeros((2, 2), lp.i32, device=device),
    lp.empty(4, Cell, device=device),
    lp.zeros(4, device=device),
)
for first in (-64, 4, 2**20, 2**29 - 64, 2**30 - 64, 2**31 - 65, -(2**30) - 64, -(2**31)):
    wild[64](first, *arrays).wait()
print("done")
"""


@pytest.mark.native_only("the interpreter reports indices out of range")
def test_an_index_out_of_range_never_ends_the_process(device, tmp_path) -> None:
    file = tmp_path / "wild.py"
    file.write_text(WILD_ATOMICS)
    done = subprocess.run(
        (sys.executable, file, device.selector), capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
