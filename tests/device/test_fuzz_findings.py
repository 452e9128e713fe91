"""What random and hand-written kernels once broke."""

from __future__ import annotations

import linecache
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SPECIAL = np.array([0.0, -0.0, 1.0, np.inf, np.nan, -np.inf, -1.5], np.float32)


@lp.kernel(contract=False)
def times_zero(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = x[i] * -0.0


@lp.kernel
def with_zeros(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[i, 0] = x[i] / 0
    out[i, 1] = x[i] / -0.0
    out[i, 2] = 0.0 / x[i]
    out[i, 3] = x[i] * 0.0
    out[i, 4] = 0.0 * x[i]


@lp.kernel
def through_half(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = lp.f32(lp.f16(x[i]))


@lp.kernel
def through_byte(x: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    out[i] = lp.i32(lp.i8(x[i]))


@lp.kernel
def mixed_literals(out: lp.Out[lp.f32]):
    out[0] = 1.0 if 1 == 1.0 else 2.0
    out[1] = lp.f32(1e39)


def test_nan_and_infinity_survive_a_product_with_zero(device):
    out = lp.empty(7, device=device)
    times_zero[7](lp.asarray(SPECIAL, device=device), out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out.numpy(), SPECIAL * np.float32(-0.0))


def test_literal_zeros_keep_to_ieee(device):
    out = lp.full((7, 5), 55.0, device=device)
    with_zeros[7](lp.asarray(SPECIAL, device=device), out)
    with np.errstate(all="ignore"):
        zero = np.float32(0)
        expected = [SPECIAL / zero, SPECIAL / -zero, zero / SPECIAL, SPECIAL * zero, SPECIAL * zero]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected, 1))
    numbers = ~np.isnan(out.numpy())
    np.testing.assert_array_equal(
        np.signbit(out.numpy())[numbers], np.signbit(np.stack(expected, 1))[numbers]
    )


def test_small_types_that_only_conversions_see(device):
    if not (device.has(lp.Aspect.FP16) and device.has(lp.Aspect.VK_INT8)):
        pytest.skip("needs fp16 and vk_int8")
    out = lp.empty(7, device=device)
    through_half[7](lp.asarray(SPECIAL, device=device), out)
    np.testing.assert_array_equal(out.numpy(), SPECIAL)
    integers = lp.zeros(3, lp.i32, device=device)
    through_byte[3](lp.asarray(np.array([1, 200, -300], np.int32), device=device), integers)
    assert integers.numpy().tolist() == [1, -56, -44]


def test_literals_of_two_kinds_compare_and_convert(device):
    out = lp.empty(2, device=device)
    mixed_literals[1](out)
    assert out.numpy().tolist() == [1.0, np.inf]


@lp.kernel
def non_ascii(größe: lp.i32, äus: lp.Out[lp.i32]):
    ö = größe + 1  # 中
    äus[lp.global_id(0)] = ö


def test_names_need_not_be_ascii(device):
    out = lp.zeros(1, lp.i32, device=device)
    non_ascii[1](4, out)
    assert out.numpy().tolist() == [5]


def _elif_chain(cases):
    lines = [
        "@lp.kernel",
        "def chain(x: lp.i32, out: lp.Out[lp.i32]):",
        "    if x == 0:",
        "        out[0] = 0",
    ]
    for case in range(1, cases):
        lines += [f"    elif x == {case}:", f"        out[0] = {case * 3}"]
    return "\n".join([*lines, "    else:", "        out[0] = -1", ""])


def test_a_long_elif_chain_computes_what_it_says(device):
    kernel = lp.kernel_from_source(_elif_chain(60))
    out = lp.zeros(1, lp.i32, device=device)
    for x, expected in ((0, 0), (31, 93), (59, 177), (60, -1)):
        kernel[1](x, out)
        assert out.numpy().tolist() == [expected]


def _nest(depth):
    lines = ["@lp.kernel", "def nest(x: lp.i32, out: lp.Out[lp.i32]):"]
    for level in range(1, depth + 1):
        lines += [f"{' ' * level}out[0] = {level}", f"{' ' * level}if x > {level}:"]
    return "\n".join([*lines, f"{' ' * (depth + 1)}out[0] = -1", ""])


def test_branches_too_deep_for_drivers_are_refused(device):
    kernel = lp.kernel_from_source(_nest(80))
    out = lp.zeros(1, lp.i32, device=device)
    with pytest.raises(lp.BuildError, match="nested more than 64 deep") as caught:
        kernel[1](100, out)
    assert caught.value.code == "LP2110"
    assert "LAPILLI_REPRODUCER" not in str(caught.value)  # it is no fault of the compiler


def test_form_feeds_and_line_separators_end_no_line(device):
    out = lp.zeros(1, lp.i32, device=device)
    text = "@lp.kernel\ndef k(out: lp.Out[lp.i32]):\n    x = 1  # \u2028 one\n\f\n    out[0] = x + 3\n"
    lp.kernel_from_source(text)[1](out)
    assert out.numpy().tolist() == [4]


def test_text_that_ends_before_the_function_is_refused(device):
    text = "@lp.kernel\ndef k(out: lp.Out[lp.i32]):\n    x = 1\n    out[0] = x\n"
    file = "<truncated>"
    names = {"lp": lp}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    lines = text.splitlines(keepends=True)[:3]
    linecache.cache[file] = (len(text), None, lines, file)
    with pytest.raises(lp.CompileError, match="not the text that it was made of"):
        names["k"][1](lp.zeros(1, lp.i32, device=device))


@lp.kernel
def wide_orders(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = lp.i64(x[i])
    out[i, 0] = v < 1
    out[i, 1] = lp.i64(1) <= v
    out[i, 2] = v > 2**31
    out[i, 3] = v >= -(2**31)
    out[i, 4] = v > -(2**40)


def test_a_widened_integer_compares_with_64_bit_constants(device):
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("needs vk_int64")
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32)
    out = lp.zeros((5, 5), lp.i32, device=device)
    wide_orders[5](lp.asarray(x, device=device), out)
    v = x.astype(np.int64)
    expected = np.stack([v < 1, v >= 1, v > 2**31, v >= -(2**31), v > -(2**40)], 1)
    np.testing.assert_array_equal(out.numpy(), expected)


OFFSET = lp.SpecializationId(lp.i32, -3)


def larger(a, b):
    return max(a, b)


def smaller(a, b):
    return min(a, b)


@lp.kernel(opt_level=0)
def extrema_of_constants(out: lp.Out[lp.i32]):
    out[0] = max(lp.i32(-7), lp.i32(0))
    out[1] = smaller(lp.i32(-7), 0)
    out[2] = lp.math.clamp(lp.i32(2), -5, 1)
    out[3] = larger(OFFSET, 2)
    for k in range(-1, 0):
        out[4] = min(max(k, -4), 3)
    own = lp.private.array((2, 2), lp.i32)
    own[1, 0] = -1
    own[1, 1] = 5
    out[5] = min(own[1, 0], own[1, 1])


def test_extrema_of_constants_are_signed(device):
    """Also of what the driver finds to be one: arguments, specialization constants, loop variables, elements."""
    out = lp.zeros(6, lp.i32, device=device)
    extrema_of_constants[1](out)
    assert out.numpy().tolist() == [0, -7, 1, 2, -1, -1]


SEVEN = lp.SpecializationId(lp.i32, 7)


@lp.kernel(opt_level=0)
def carried_truths(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    kept = SEVEN > 2
    known = x[i] > 1
    flips = False
    pair = lp.i32x2(x[i], 3) > 1
    for k in range(x[i]):
        kept = SEVEN < 9
        known = x[i] > 1
        flips = not flips
        pair = lp.i32x2(k, 3) > 1
    out[i, 0] = kept
    out[i, 1] = known
    out[i, 2] = flips
    out[i, 3] = pair.x
    n = x[i]
    going = n > 0
    while going:
        n -= 3
        going = n > 0
    out[i, 4] = n
    out[i, 5] = going


@pytest.mark.parametrize("as_elsewhere", [False, True])
def test_truths_that_loops_carry(device, as_elsewhere, monkeypatch):
    """Those that are one in the end made NVIDIA's compiler end the process."""
    if as_elsewhere:
        env = replace(device.target_env, fails_on_carried_truths=True)
        monkeypatch.setitem(vars(device), "target_env", env)
    x = np.arange(6, dtype=np.int32)
    out = lp.zeros((6, 6), lp.i32, device=device)
    carried_truths[6](lp.asarray(x, device=device), out)
    ends = [int(n) - 3 * max(0, -(-int(n) // 3)) for n in x]
    pairs = [0 if n == 0 else n - 1 > 1 for n in x]
    expected = np.stack([np.ones(6), x > 1, x % 2, pairs, ends, np.zeros(6)], 1)
    np.testing.assert_array_equal(out.numpy(), expected.astype(np.int32))


def test_extrema_of_widened_numbers(device):
    """Those made of comparisons, of which Mesa 22.3 took one with a constant for a constant."""
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks i64")
    source = """
@lp.kernel
def bounded(x: lp.In[lp.i32], out: lp.Out[lp.i64, 2]):
    i = lp.global_id(0)
    a = lp.i64(-x[i])
    out[i, 0] = min(a, 7)
    out[i, 1] = max(-7, a)
    out[i, 2] = min(a, 1 << 40)
    out[i, 3] = max(a, 1 << 40)
"""
    x = np.array([251, -7, -242, 9, 0, 7], np.int32)
    out = lp.zeros((6, 4), lp.i64, device=device)
    lp.kernel_from_source(source)[6](lp.asarray(x, device=device), out)
    a, large = -x.astype(np.int64), np.full(6, 1 << 40)
    expected = [np.minimum(a, 7), np.maximum(a, -7), a, large]
    np.testing.assert_array_equal(out.numpy().T, expected)


UNUSED = """
TABLE = lp.SpecializationId(lp.FixedArray[lp.i32, 4], [3, -7, 11, 2])


def turned(p, i):
    a = p[2] * p
    for v in (a[2], a[i % 3]):
        for w in (min(p[v % 3], 2), lp.i32(7)):
            a[i % 3] = 0
            a[v % 3] = w * TABLE[3]
        p -= a ^ (p << a)
    return p, a


@lp.kernel
def k(x: lp.In[lp.i32], o: lp.Array[lp.i32]):
    i = lp.global_id(0)
    a = lp.FixedArray[lp.i32, 3](x[i], x[i + 1], 5)
    for w in (a[i % 3], lp.i32(7)):
        a, a = turned(a, lp.i32(max(a[1], -3) == a[2] != x[(w + 1) % 4]))
    unused = lp.f32(a[i % 3])
    o[i] += 1
"""


def test_arrays_of_which_nothing_is_used(device: lp.Device) -> None:
    """NVIDIA's driver ended the process over variables that are written and read in vain (`ValueProgram`, 1610008)."""
    kernel = lp.kernel_from_source(UNUSED)
    o = lp.zeros(4, lp.i32, device=device)
    kernel[4](lp.asarray(np.arange(8, dtype=np.int32), device=device), o)
    assert o.numpy().tolist() == [1, 1, 1, 1]
    assert "_ptr_Function" not in str(kernel.inspect("spirv"))


@lp.struct
class Rows:
    rows: lp.FixedArray[lp.u32, 2, 3]


@lp.kernel
def made_again(x: lp.In[lp.u32], y: lp.Out[lp.u32, 2]):
    i = lp.global_id(0)
    a = Rows()
    for v in range(x[i]):
        for _ in range(2):
            a = Rows(a.rows)
        a.rows[v % 2, 1] += x[i]
    y[i, 0], y[i, 1] = a.rows[0, 1], a.rows[1, 1]


def test_a_struct_in_memory_is_made_again_in_an_inner_loop(device: lp.Device) -> None:
    """Of its own parts, which lie where they lay: it was "something else after a round" (`LinkProgram`, 3000012)."""
    y = lp.zeros((4, 2), lp.u32, device=device)
    made_again[4](lp.asarray(np.arange(4, dtype=np.uint32), device=device), y)
    assert y.numpy().tolist() == [[0, 0], [1, 0], [2, 2], [6, 3]]
