"""Atomics on 8 and 16 bits and on bools, which devices do in the word around them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import BindingModel, TargetEnv
from lapilli.spirv.tools import spirv_tools
from tests.host_bf16 import require_host_numbers

pytestmark = pytest.mark.device

N, SLOTS = 1500, 7
"""Work-items and the elements that they fight for: neighbours share words, and the last word is not full."""
INTEGERS = ("i8", "u8", "i16", "u16")
FLOATS = ("f16", "bf16")


def _launch(kernel, device, *arrays, size=N):
    try:
        kernel[size](*arrays)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])


def _reduced(function, data, start, slots=SLOTS):
    """Returns what `start` becomes when each element of `data` goes to slot i % slots, one after the other."""
    out = np.full(slots, start, data.dtype)
    with np.errstate(over="ignore"):
        for i, value in enumerate(data):
            out[i % slots] = function(out[i % slots], value)
    return out


_INTEGERS_SOURCE = """
@lp.kernel
def integers(x: lp.In[lp.T], out: lp.Array[lp.T, 2]):
    i = lp.global_id(0)
    s = i % 7
    lp.atomic.add(out, (0, s), x[i])
    lp.atomic.sub(out, (1, s), x[i])
    lp.atomic.min(out, (2, s), x[i])
    lp.atomic.max(out, (3, s), x[i])
    lp.atomic.and_(out, (4, s), x[i] | 3)
    lp.atomic.or_(out, (5, s), x[i] & 5)
    lp.atomic.xor(out, (6, s), x[i])
"""


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_operation_of_integers(device, dtype):
    kind = getattr(lp, dtype)
    kernel = lp.kernel_from_source(_INTEGERS_SOURCE.replace("lp.T", f"lp.{dtype}"))
    x = np.random.default_rng(1).integers(kind.minimum, kind.maximum, N, kind.dtype, endpoint=True)
    start = np.zeros((8, SLOTS), kind.dtype)
    start[2], start[3], start[4], start[7] = kind.maximum, kind.minimum, kind(-1), 77
    out = lp.asarray(start, device=device)
    _launch(kernel, device, lp.asarray(x, device=device), out)
    functions = (np.add, np.subtract, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    given = (x, x, x, x, x | kind(3), x & kind(5), x)
    for row, (function, data) in enumerate(zip(functions, given, strict=True)):
        np.testing.assert_array_equal(
            out.numpy()[row], _reduced(function, data, start[row, 0]), str(function)
        )
    assert (out.numpy()[7] == 77).all()


_FLOATS_SOURCE = """
@lp.kernel
def floats(x: lp.In[lp.T], out: lp.Array[lp.T, 2]):
    i = lp.global_id(0)
    s = i % 7
    lp.atomic.add(out, (0, s), x[i])
    lp.atomic.sub(out, (1, s), x[i])
    lp.atomic.min(out, (2, s), x[i])
    lp.atomic.max(out, (3, s), x[i])
"""


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_operation_of_floats(device, dtype):
    kind = getattr(lp, dtype)
    require_host_numbers(dtype)
    kernel = lp.kernel_from_source(_FLOATS_SOURCE.replace("lp.T", f"lp.{dtype}"))
    # Sums of few of -1, 0 and 1 are exact in any order, in 8 bits of a significand, too.
    x = np.random.default_rng(2).integers(-1, 1, N, endpoint=True).astype(kind.dtype)
    x[5], x[9] = -40, np.nan
    start = np.array([[0], [0], [np.inf], [-np.inf]]).repeat(SLOTS, 1).astype(kind.dtype)
    out = lp.asarray(start, device=device)
    _launch(kernel, device, lp.asarray(x, device=device), out)
    found = out.numpy()
    for row, function in enumerate((np.add, np.subtract, np.fmin, np.fmax)):
        wide = x.astype(np.float64)
        expected = [function.reduce(np.append(start[row, 0], wide[s::SLOTS])) for s in range(SLOTS)]
        np.testing.assert_array_equal(found[row].astype(np.float64), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_rounded_after_each_addition(device, dtype):
    kind = getattr(lp, dtype)
    require_host_numbers(dtype)
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef adds(out: lp.Array[lp.{dtype}]):\n    lp.atomic.add(out, 1, 1.0)\n"
    )
    out = lp.zeros(3, kind, device=device)
    _launch(kernel, device, out, size=3000)
    # From 2048 on (256 in bf16) a 1 is half of the last place, and rounds to even: back.
    assert out.numpy().astype(np.float32).tolist() == [0, 2048 if dtype == "f16" else 256, 0]


_SWAPS_SOURCE = """
@lp.kernel
def swaps(counts: lp.Array[lp.u32], slots: lp.Array[lp.T]):
    i = lp.global_id(0)
    ONE = lp.T(1)
    old = lp.atomic.compare_exchange(slots, i % 5, lp.T(0), ONE)
    if old == lp.T(0):
        lp.atomic.add(counts, i % 5, 1)
    if lp.atomic.exchange(slots, 5, ONE) == lp.T(0):
        lp.atomic.add(counts, 5, 1)
    lp.atomic.store(slots, 6, lp.atomic.load(slots, 8))
"""


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool_"])
def test_exactly_one_exchange_wins(device, dtype):
    require_host_numbers(dtype)
    kind = getattr(lp, dtype)
    kernel = lp.kernel_from_source(_SWAPS_SOURCE.replace("lp.T", f"lp.{dtype}"))
    counts, slots = lp.zeros(6, lp.u32, device=device), np.zeros(9, kind.dtype)
    slots[8] = kind(1)
    slots = lp.asarray(slots, device=device)
    _launch(kernel, device, counts, slots)
    assert counts.numpy().tolist() == [1] * 6
    expected = [1, 1, 1, 1, 1, 1, 1, 0, 1]
    assert (slots.numpy().astype(bool) == np.array(expected, bool)).all()


@lp.kernel
def tickets(next_: lp.Array[lp.u16], taken: lp.Array[lp.i32]):
    """Old values are all different, although neighbours in the word change."""
    i = lp.global_id(0)
    taken[lp.i32(lp.atomic.add(next_, 1, 1))] = i
    lp.atomic.add(next_, 0, 3)
    lp.atomic.sub(next_, 2, 1)


def test_old_values_are_all_different(device):
    next_, taken = lp.zeros(3, lp.u16, device=device), lp.full(N, -1, lp.i32, device=device)
    _launch(tickets, device, next_, taken)
    assert next_.numpy().tolist() == [3 * N, N, 2**16 - N]
    assert sorted(taken.numpy().tolist()) == list(range(N))


@lp.struct
class Packed:
    tag: lp.u8
    small: lp.i8
    half: lp.i16
    bins: lp.FixedArray[lp.u8, 3]
    is_seen: lp.bool_
    pair: lp.u16x2
    total: lp.f32


@lp.kernel
def fields(cells: lp.Array[Packed], pixels: lp.Array[lp.u8x4]):
    i = lp.global_id(0)
    c = i % 3
    lp.atomic.add(cells, (c, "small"), 1)
    lp.atomic.sub(cells, (c, "half"), 2)
    lp.atomic.max(cells, (c, "bins", i % 3), lp.u8(i % 200))
    lp.atomic.or_(cells, (c, "is_seen"), i == 100)
    lp.atomic.add(cells, (c, "pair", "y"), 5)
    lp.atomic.add(cells, (c, "total"), 0.5)
    lp.atomic.add(pixels, (c, "z"), 1)
    lp.atomic.xor(pixels, (c, "w"), lp.u8(i))


def test_fields_that_are_reached_as_words_need_no_narrow_storage():
    """Without an instruction for the float, all of the struct is seen as words."""
    text = inspect(fields, "spirv", env=TargetEnv())
    assert isinstance(text, str)
    assert "Storage" not in "".join(line for line in text.splitlines() if "OpCapability" in line)


def test_fields_and_components(device):
    cells, pixels = np.zeros(3, Packed.dtype), lp.zeros(3, lp.u8x4, device=device)
    cells["tag"], cells["pair"] = [1, 2, 3], [9, 10]
    cells = lp.asarray(cells, device=device)
    _launch(fields, device, cells, pixels, size=300)
    found, ids = cells.numpy(), np.arange(300)
    assert found["tag"].tolist() == [1, 2, 3]
    assert found["small"].tolist() == [100] * 3
    assert found["half"].tolist() == [-200] * 3
    for c in range(3):
        largest = (ids[c::3] % 200).max()
        assert found["bins"][c].tolist() == [largest if k == c else 0 for k in range(3)]
    assert found["is_seen"].tolist() == [False, True, False]
    assert found["pair"].tolist() == [[9, 510]] * 3
    assert found["total"].tolist() == [50] * 3
    expected = [[0, 0, 100, np.bitwise_xor.reduce(ids[c::3].astype(np.uint8))] for c in range(3)]
    assert pixels.numpy().tolist() == expected


_SHARED_SOURCE = """
@lp.kernel(local_size=64)
def shared(x: lp.In[lp.T], out: lp.Array[lp.T], seen: lp.Array[lp.bool_]):
    bins = lp.local.array((2, 3), lp.T)
    flags = lp.local.array(3, lp.bool_)
    lane = lp.local_id(0)
    if lane < 6:
        bins[lane // 3, lane % 3] = lp.T(lane)
    if lane < 3:
        flags[lane] = False
    lp.barrier()
    lp.atomic.add(bins, (1, lane % 3), x[lp.global_id(0)])
    lp.atomic.max(bins, (0, lane % 3), x[lp.global_id(0)])
    lp.atomic.or_(flags, 1, lane == 40)
    lp.barrier()
    if lane < 3:
        lp.atomic.add(out, lane, bins[1, lane])
        out[3 + lane] = bins[0, lane]
        seen[lane] = flags[lane]
"""


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_shared_arrays(device, dtype):
    kind = getattr(lp, dtype)
    require_host_numbers(dtype)
    kernel = lp.kernel_from_source(_SHARED_SOURCE.replace("lp.T", f"lp.{dtype}"))
    x = np.random.default_rng(4).integers(0, 3, 64).astype(kind.dtype)
    out, seen = lp.zeros(6, kind, device=device), lp.zeros(3, lp.bool_, device=device)
    _launch(kernel, device, lp.asarray(x, device=device), out, seen, size=64)
    wide = x.astype(np.float64)
    sums = [3 + s + wide[s::3].sum() for s in range(3)]
    peaks = [max(s, wide[s::3].max()) for s in range(3)]
    assert out.numpy().astype(np.float64).tolist() == [*sums, *peaks]
    assert seen.numpy().tolist() == [False, True, False]


@lp.kernel
def beside(x: lp.Array[lp.u8], y: lp.Array[lp.f32]):
    """Plain accesses and atomics reach one array; atomics of f32 stay as they are."""
    i = lp.global_id(0)
    x[4 * i + 1] = lp.u8(i)
    lp.atomic.add(x, 4 * i + 2, x[4 * i + 1])
    lp.atomic.add(y, 0, 1.0)


def test_plain_accesses_beside_atomics(device):
    x, y = lp.zeros(400, lp.u8, device=device), lp.zeros(1, device=device)
    _launch(beside, device, x, y, size=100)
    assert x.numpy().reshape(100, 4).tolist() == [[0, i, i, 0] for i in range(100)]
    assert y.numpy().tolist() == [100]


@pytest.mark.parametrize("model", BindingModel)
def test_modules_need_no_more_than_the_type(model):
    @lp.kernel
    def adds(x: lp.Array[lp.u8], y: lp.Array[lp.f16], z: lp.Array[lp.f32], c: lp.Array[Packed]):
        lp.atomic.add(x, 3, 1)
        lp.atomic.max(y, 3, 1.0)
        lp.atomic.add(z, 0, 1.0)
        lp.atomic.add(c, (1, "half"), 1)
        lp.atomic.and_(c, (1, "bins", x.size % 3), 1)

    native = (int(lp.Aspect.VK_FLOAT_ATOMIC_ADD), int(lp.Aspect.VK_FLOAT_ATOMIC_MIN_MAX))
    (image,) = compile_kernels([adds], TargetEnv(optional_aspects=native, binding_model=model))
    text = spirv_tools().disassemble(image.spirv)
    assert "OpAtomicFAddEXT" in text  # of f32, whatever f16 needs
    assert text.count("OpAtomicCompareExchange") == 3
    assert "OpAtomicAnd" in text
    assert "Storage" not in "".join(line for line in text.splitlines() if "OpCapability Sto" in line)
    needed = set(image.kernels[0].aspects)
    assert {lp.Aspect.VK_INT8, lp.Aspect.VK_INT16, lp.Aspect.FP16} <= needed
    assert not {lp.Aspect.VK_STORAGE_8BIT, lp.Aspect.VK_STORAGE_16BIT} & needed


def test_loops_of_atomics_count_where_a_driver_ends_loops():
    @lp.kernel
    def stores(x: lp.Array[lp.u8]):
        for i in range(x.size):
            lp.atomic.store(x, i, 1)

    (image,) = compile_kernels([stores], TargetEnv(loop_iteration_cap=65_535))
    text = spirv_tools().disassemble(image.spirv)
    # Behind the atomic's loop, in each round of the one around it.
    assert text.count("OpGroupNonUniformUMax") == 1
    assert text.count("OpUGreaterThanEqual") == 1


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("lp.atomic.add(b, 0, True)", "works on numbers, found lp.bool_"),
        ("lp.atomic.xor(h, 0, 1.0)", "works on integers, found lp.f16"),
        ("lp.atomic.add(v, (0, 'x', 1), 1)", "leads nowhere in lp.u8"),
        ("lp.atomic.add(c, 0, 1.5)", "expected lp.u8"),
        ("lp.atomic.add(c, 0, 300)", "300"),
    ],
)
def test_atomic_that_does_not_exist(statement, message):
    kernel = lp.kernel_from_source(
        "@lp.kernel(local_size=4)\n"
        "def wrong(b: lp.Array[lp.bool_], h: lp.Array[lp.f16], c: lp.Array[lp.u8]):\n"
        f"    v = lp.local.array(4, lp.u8x4)\n    {statement}\n"
    )
    with pytest.raises(lp.CompileError, match=message) as caught:
        kernel.inspect("ir")
    assert caught.value.location.line == 4
