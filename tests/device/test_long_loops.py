"""Loops without end: the result is right or a KernelTrap, never short (quirk ``loop-cap``)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.native_only("loops of millions of rounds, counted as drivers do")

CAP = 65_535
"""Rounds after which lavapipe 22.3 leaves every loop."""


@lp.kernel
def count_for(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        total += ones[k & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_while(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    while total < n:
        total += ones[total & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_break(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    while True:
        if total >= n:
            break
        total += ones[total & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_continue(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(2 * n):
        if k & 1:
            continue
        total += ones[k & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_else(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = -1
    for k in range(n + 1):
        if k > n:
            break
        total += ones[k & 7]
    else:
        total += 0
    out[lp.global_id(0)] = total


@lp.kernel
def count_down(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(3 * n, 0, -3):
        total += ones[k & 7]
    out[lp.global_id(0)] = total


def counted(n: lp.i32, ones: lp.In[lp.i32]):
    total = 0
    for k in range(n):
        if total < 0:
            return -1
        total += ones[k & 7]
    return total


@lp.kernel
def count_in_helper(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    half = n // 2
    out[lp.global_id(0)] = counted(half, ones) + counted(n - half, ones)


@lp.kernel
def count_nested(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    rows = n // 100
    for k in range(rows):
        for m in range(100):
            total += ones[(k + m) & 7]
    for k in range(n - 100 * rows):
        total += ones[k & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_in_arms(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    total = 0
    if i % 2 == 0:
        for k in range(n):
            total += ones[k & 7]
    else:
        for k in range(n):
            total += 2 * ones[k & 7]
        total = total // 2
    out[i] = total


@lp.kernel
def count_in_turn(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    total = 0
    for turn in range(8):
        mine = n if turn == i % 8 else 0
        for k in range(mine):
            total += ones[k & 7]
    out[i] = total


@lp.kernel(local_size=16)
def count_with_barriers(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.local_id(0)
    shared = lp.local.array(16, lp.i32)
    shared[i] = 0
    for k in range(n):
        mine = shared[i] + ones[k & 7]
        lp.barrier()
        shared[i] = mine
        lp.barrier()
    out[lp.global_id(0)] = shared[i]


@lp.kernel
def count_often_none(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """Every other round runs no round of the loops inside, which cost the driver rounds all the same."""
    total = 0
    for k in range(n):
        total += ones[k & 7]
        for m in range((k & 1) * ones[0]):
            for j in range(2 * ones[m]):
                total += ones[j & 7] - 1
    out[lp.global_id(0)] = total


@lp.kernel
def count_passing_by(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        total += ones[k & 7]
        if ones[0] == 0:
            for m in range(n):
                total += ones[m & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def count_in_few_rounds(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """Where the driver ends it, most rounds have passed since the last test of the loop outside."""
    total = n % 3
    for k in range(n // 24):
        total += ones[k & 7] - 1
    row = 0
    while row < 3:
        row += 1
        k = 0
        while k < n // 3:
            k += 1
            total = total + ones[k & 7] * row // row
    out[lp.global_id(0)] = total


@lp.kernel
def count_in_tests(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """Loops in the test of a loop and in its body, so that the driver ends it in the middle of either."""
    total = n % 3
    row = 0
    while counted(n // 12, ones) >= 0 and row < 3:
        row += 1
        for k in range(n // 3):
            total += ones[k & 7]
    out[lp.global_id(0)] = total


def counted_at_length(n: lp.i32, ones: lp.In[lp.i32], total: lp.i32):
    """So many operations that its calls stay calls."""
    for k in range(n):
        one = ones[k & 7]
        for j in lp.static_range(30):
            one = (one ^ j) - (total & 0) ^ j
        total += one
    return total


@lp.kernel
def count_in_calls_of_arms(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    total = 1
    if i % 2 == 0:
        total = counted_at_length(n, ones, 1)
    else:
        total = counted_at_length(n, ones, 2) - 1
    out[i] = total - 1


@lp.kernel
def count_in_loops_in_turn(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """Half of the work-items pass by each loop, which costs the other half of them rounds of the driver."""
    i = lp.global_id(0)
    total = 0
    for k in range(n if i & 1 else 0):
        total += ones[k & 7]
    for k in range(0 if i & 1 else n):
        total += ones[k & 7]
    out[i] = total


@lp.kernel
def count_together(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """All work-items leave every loop in the same round, whose number they load."""
    total = n % 3
    for k in range(n // 3):
        for m in range(3 * ones[k & 7]):
            total += ones[m]
    seven = 0
    while seven < 7 * ones[0]:
        seven += 1
    out[lp.global_id(0)] = total + seven - 7


@lp.kernel
def count_after_others_left(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    """How many rounds the loops inside have is the same for all work-items that are still there."""
    i = lp.global_id(0)
    total, rounds = 0, 0
    while rounds <= i & 3:
        rounds += 1
        for k in range(n // 4 if rounds < 4 else n - 3 * (n // 4)):
            total += ones[k & 7]
    for _ in range(rounds, 4):
        for k in range(n // 4):
            total += ones[k & 7]
    if i & 3 < 3:
        total += n - 4 * (n // 4)
    out[i] = total


KERNELS = [
    count_in_calls_of_arms,
    count_in_loops_in_turn,
    count_together,
    count_after_others_left,
    count_for,
    count_in_few_rounds,
    count_in_tests,
    count_while,
    count_break,
    count_continue,
    count_else,
    count_down,
    count_in_helper,
    count_nested,
    count_in_arms,
    count_in_turn,
    count_with_barriers,
    count_often_none,
    count_passing_by,
]


def launch(kernel, n: int, device) -> lp.Array:
    out = lp.zeros(16, lp.i32, device=device)
    kernel[16](n, lp.ones(8, lp.i32, device=device), out)
    return out


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 1000, 4000])
def test_short_loops_are_right(kernel, n: int, device) -> None:
    np.testing.assert_array_equal(launch(kernel, n, device).numpy(), np.full(16, n))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("n", [CAP // 4, CAP - 600, CAP - 1, CAP, CAP + 1, 4 * CAP + 3])
def test_long_loops_are_right_or_trap(kernel, n: int, device) -> None:
    out = launch(kernel, n, device)
    try:
        found = out.numpy()
    except lp.KernelTrap as trap:
        assert device.target_env.loop_iteration_cap is not None
        assert trap.kernel == kernel.name
        assert trap.location is not None
        assert trap.location.file == __file__
        assert "65,535 rounds" in str(trap)
    else:
        np.testing.assert_array_equal(found, np.full(16, n))


def test_the_trap_names_the_loop(device) -> None:
    if device.target_env.loop_iteration_cap is None:
        pytest.skip("the driver has no cap on loops")
    out = launch(count_nested, 10 * CAP, device)
    with pytest.raises(lp.KernelTrap) as raised:
        out.numpy()
    first = count_nested.function.__code__.co_firstlineno
    assert raised.value.location is not None
    assert raised.value.location.line == first + 4
    assert raised.value.work_item == (0,)


def test_a_loop_just_below_the_cap_does_not_trap(device) -> None:
    """65,534 rounds and the one that ends the loop."""
    np.testing.assert_array_equal(launch(count_for, CAP - 1, device).numpy(), np.full(16, CAP - 1))


def test_a_known_short_loop_counts_nothing(device) -> None:
    @lp.kernel
    def short(out: lp.Out[lp.i32]):
        total = 0
        for _ in range(200):
            for k in range(200):
                total += k
        out[lp.global_id(0)] = total

    assert "GroupNonUniform" not in short.inspect("spirv")
    out = lp.zeros(4, lp.i32, device=device)
    short[4](out)
    np.testing.assert_array_equal(out.numpy(), np.full(4, 200 * 19900))


@lp.kernel
def count_halvings(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        x = ones[k & 7]
        while x > 0:
            x = x >> 1
            total += 1
    out[lp.global_id(0)] = total


@lp.kernel
def count_few(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        m = 0
        while m < 100 and m < ones[k & 7]:
            m += 1
        total += m
    out[lp.global_id(0)] = total


@lp.kernel
def count_ids(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for _ in range(n):
        for m in range(lp.global_id(0), 16):
            total += ones[m & 7]
    out[lp.global_id(0)] = total


@pytest.mark.parametrize("kernel", [count_halvings, count_few], ids=lambda kernel: kernel.name)
def test_loops_that_end_before_their_bound_do_not_trap(kernel, device) -> None:
    """Three rounds of the driver each, counted as four, where the bounds are 32 and 100."""
    np.testing.assert_array_equal(launch(kernel, 15_000, device).numpy(), np.full(16, 15_000))


def test_loops_from_an_id_on(device) -> None:
    np.testing.assert_array_equal(launch(count_ids, 3000, device).numpy(), 3000 * np.arange(16, 0, -1))


@lp.kernel
def count_strides(ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(lp.global_id(0), ones.size, lp.global_range(0)):
        total += ones[k]
    out[lp.global_id(0)] = total


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 5000, 16 * (CAP - 2), 16 * CAP, 40 * CAP])
def test_loops_with_strides(size: int, device) -> None:
    """Right to the last round below the cap, right or a trap from there on."""
    out = lp.zeros(16, lp.i32, device=device)
    count_strides[16](lp.ones(size, lp.i32, device=device), out)
    try:
        np.testing.assert_array_equal(out.numpy(), [len(range(i, size, 16)) for i in range(16)])
    except lp.KernelTrap:
        assert size >= 16 * CAP
        assert device.target_env.loop_iteration_cap is not None


TEN_MILLION = 10_000_000


@lp.kernel(opt_level=2)
def ten_million(n: lp.i32, step: lp.i32, out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        total = (total ^ k) + step
    out[lp.global_id(0)] = total


@lp.kernel(opt_level=2)
def ten_million_nested(rows: lp.i32, n: lp.i32, step: lp.i32, out: lp.Out[lp.i32]):
    total = 0
    for row in range(rows):
        for k in range(n):
            total = (total ^ (k + row)) + step
    out[lp.global_id(0)] = total


@lp.kernel(opt_level=2)
def two_million_while(n: lp.i32, step: lp.i32, out: lp.Out[lp.i32]):
    total = 0
    k = 0
    while k < n:
        total = (total ^ k) + step
        k += 1
    out[lp.global_id(0)] = total


@cache
def scrambled(rows: int, n: int) -> int:
    """What the kernels compute; 32 bits that wrap."""
    total = 0
    for k in (row + column for row in range(rows) for column in range(n)):
        total = (total ^ k) + 3
        total = (total + 2**31) % 2**32 - 2**31
    return total


def test_ten_million_rounds_at_level_2(device) -> None:
    out = lp.zeros(2, lp.i32, device=device)
    ten_million[2](TEN_MILLION, 3, out)
    assert out.numpy().tolist() == [scrambled(1, TEN_MILLION)] * 2


def test_ten_million_nested_rounds_at_level_2(device) -> None:
    out = lp.zeros(2, lp.i32, device=device)
    ten_million_nested[2](1000, TEN_MILLION // 1000, 3, out)
    assert out.numpy().tolist() == [scrambled(1000, TEN_MILLION // 1000)] * 2


def test_many_rounds_around_others_are_right_or_trap_at_level_2(device) -> None:
    """What is unrolled is the loop inside, so the one around it has the driver's limit."""
    out = lp.zeros(2, lp.i32, device=device)
    ten_million_nested[2](2 * CAP, 3, 3, out)
    try:
        assert out.numpy().tolist() == [scrambled(2 * CAP, 3)] * 2
    except lp.KernelTrap:
        assert device.target_env.loop_iteration_cap is not None


def test_two_million_rounds_of_while_at_level_2(device) -> None:
    out = lp.zeros(2, lp.i32, device=device)
    two_million_while[2](2_000_000, 3, out)
    assert out.numpy().tolist() == [scrambled(1, 2_000_000)] * 2


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 3, 63, 64, 65, 255, 256, 257, 1000])
def test_unrolled_loops_run_every_round(n: int, device) -> None:
    out = lp.zeros(2, lp.i32, device=device)
    for launch in (
        lambda: ten_million[2](n, 3, out),
        lambda: ten_million_nested[2](1, n, 3, out),
        lambda: two_million_while[2](n, 3, out),
    ):
        launch()
        assert out.numpy().tolist() == [scrambled(1, max(n, 0))] * 2


def test_atomic_loops_count(device) -> None:
    """Compare-exchange loops of floats are loops for the driver too."""
    if not (device.has(lp.Aspect.ATOMIC64) and device.has(lp.Aspect.FP64)):
        pytest.skip("the device lacks fp64 or atomic64")

    @lp.kernel
    def add(n: lp.i32, out: lp.Array[lp.f64]):
        for _ in range(n):
            lp.atomic.add(out, 0, 1.0)

    for n in (1000, 40_000):
        out = lp.zeros(1, lp.f64, device=device)
        add[4](n, out)
        try:
            assert out.numpy()[0] == 4 * n
        except lp.KernelTrap as trap:
            assert n == 40_000
            assert "rounds" in str(trap)
