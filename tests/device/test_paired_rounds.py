"""Loops whose rounds are written in pairs do what they do one by one, bit for bit, for all ends and strides."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import Executable
from lapilli.frontend.compile_options import overridden_options

pytestmark = pytest.mark.device
WORK_ITEMS = 37
MOST = 2**31 - 1


def kernel():
    """Defines the kernel anew, so that nothing is compiled yet."""

    @lp.kernel
    def loops(
        a: lp.i32, b: lp.i32, s: lp.i32, x: lp.In[lp.f32], out: lp.Out[lp.f32, 2], last: lp.Out[lp.i32, 2]
    ):
        i = lp.global_id(0)
        t, at = lp.f32(1.0), -1
        for k in range(i, x.size, out.shape[1]):
            t, at = t * 0.75 + x[k], k
        out[0, i], last[0, i] = t, at
        for k in range(i, x.size, lp.global_range(0)):
            t = t * 0.75 + x[k]
        out[1, i] = t
        t, at = lp.f32(1.0), -1
        for k in range(a, b):
            t, at = t * 0.75 + x[k & 63], k
        out[2, i], last[2, i] = t, at
        t, at = lp.f32(1.0), -1
        for k in range(a + i % 8, b, s):
            t, at = t * 0.75 + x[k & 63], k
        out[3, i], last[3, i] = t, at
        for k in range(b, a + i % 8, -1):
            t, at = t * 0.75 + x[k & 63], k
        out[4, i], last[4, i] = t, at
        k = i
        while k < x.size:
            t = t * 0.75 + x[k]
            k += lp.global_range(0)
        out[5, i], last[5, i] = t, k
        k = i - 12
        while k < 5:
            t = t * 0.75 + x[k & 63]
            k += 9
        out[6, i], last[6, i] = t, k

    return loops


BOUNDS = [
    (0, 1, 1), (3, 10, 2), (3, 11, 2), (9, 2, -3), (-5, 60, 7), (MOST - 40, MOST, 9), (MOST - 40, MOST, MOST),
    (-MOST - 1, -MOST + 40, 3), (-MOST + 3, -MOST - 1, -1), (7, -MOST - 1, 5), (5, 40, 0), (MOST - 40, 60, -(2**30)),
]  # fmt: skip


def code(kernel) -> set[bytes]:
    return {made.image.spirv for made in kernel.compiled.values() if isinstance(made, Executable)}


def test_pairs_of_rounds_give_the_same_bits(device):
    if not device.target_env.pairs_rounds:
        pytest.skip("the device runs these loops as they are")
    pairs, plain = kernel(), kernel()
    found = {pairs: [], plain: []}
    for one in (pairs, plain):
        with overridden_options(disabled_passes=() if one is pairs else ("pair-rounds",)):
            for size, (a, b, s) in enumerate(BOUNDS, 64):
                x = np.random.default_rng(size).random(size, dtype=np.float32)
                out = lp.zeros((7, WORK_ITEMS), lp.f32, device=device)
                last = lp.zeros((7, WORK_ITEMS), lp.i32, device=device)
                one[WORK_ITEMS](a, b, s, lp.asarray(x, device=device), out, last)
                found[one].append((out.numpy().tobytes(), last.numpy().tolist()))
    assert found[pairs] == found[plain]
    assert code(pairs) != code(plain)


def test_pairs_with_atomics(device):
    @lp.kernel(local_size=8)
    def levels(x: lp.In[lp.u32], shift: lp.Array[lp.u32], counts: lp.Array[lp.u32], seen: lp.Array[lp.u32]):
        mine = lp.local.array(8, lp.u32)
        t = lp.local_id(0)
        mine[t] = 0
        lp.barrier()
        for k in range(lp.global_id(0), x.size, lp.global_range(0)):
            at = (x[k] + shift[0]) & 7
            before = lp.atomic.add(mine, at, lp.u32(1))
            seen[k] = before
        lp.barrier()
        lp.atomic.add(counts, t, mine[t])

    for size in (1, 16, 31, 32, 33, 200):
        x = np.random.default_rng(size).integers(0, 99, size).astype(np.uint32)
        counts, seen = lp.zeros(8, lp.u32, device=device), lp.zeros(size, lp.u32, device=device)
        shift = lp.asarray(np.array([3], np.uint32), device=device)
        levels[16](lp.asarray(x, device=device), shift, counts, seen)
        assert counts.numpy().tolist() == np.bincount((x + 3) & 7, minlength=8).tolist()
        places = np.arange(size) // 8 % 2 * 8 + ((x + 3) & 7)  # each work-group counts every level from 0
        for place in np.unique(places):
            found = sorted(seen.numpy()[places == place].tolist())
            assert found == list(range(len(found)))


def summed(n: lp.i32, x: lp.In[lp.i32]):
    total = 0
    for k in range(n):
        total += x[k]
    return total


def test_an_end_that_is_a_constant_once_a_helper_is_inlined(device):
    @lp.kernel
    def three(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        out[lp.global_id(0)] = summed(3, x)

    out = lp.zeros(2, lp.i32, device=device)
    three[2](lp.ones(3, lp.i32, device=device), out)
    assert out.numpy().tolist() == [3, 3]


@pytest.mark.native_only("counts rounds as drivers do")
def test_pairs_count_once(device):
    """A driver that ends loops after 65,535 rounds does 131,000 of these."""
    rounds = 100_000

    @lp.kernel
    def count(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
        i = lp.global_id(0)
        t = 0
        for k in range(i, x.size, out.size):
            t += x[k]
        out[i] = t

    if not device.target_env.pairs_rounds:
        pytest.skip("the device runs this loop as it is")
    out = lp.zeros(2, lp.i32, device=device)
    count[2](lp.ones(2 * rounds + 1, lp.i32, device=device), out)
    assert out.numpy().tolist() == [rounds + 1, rounds]
    if device.target_env.loop_iteration_cap is not None:
        count[2](lp.ones(4 * rounds, lp.i32, device=device), out)
        with pytest.raises(lp.KernelTrap, match="this loop has reached"):
            out.numpy()
