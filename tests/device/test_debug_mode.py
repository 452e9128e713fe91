"""Debug mode: indices, divisors and NaN are checked on every device, with place, work-item and values."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp


@pytest.fixture(autouse=True)
def _debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_DEBUG", "1")


@pytest.mark.parametrize("offset", [-1, 1, 1000, -(2**31)])
def test_index_of_a_load(offset: int, device) -> None:
    @lp.kernel
    def shift(offset: lp.i32, x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = x[i + offset]

    x, y = lp.zeros(8, device=device), lp.zeros(8, device=device)
    with pytest.raises(lp.KernelTrap) as raised:
        shift[8](offset, x, y).wait()
    trap = raised.value
    assert trap.values[1] == 8
    assert not 0 <= trap.values[0] < 8
    assert trap.values[0] == (trap.work_item[0] + offset + 2**31) % 2**32 - 2**31
    assert "is out of range of dimension 0 of 'x', whose extent is 8" in str(trap)
    assert trap.location is not None
    assert trap.location.line == shift.function.__code__.co_firstlineno + 3


@pytest.mark.parametrize("offset", [-1, 3, 1000])
def test_coordinate_of_an_image(offset: int, device) -> None:
    @lp.kernel
    def shift(offset: lp.i32, img: lp.UnsampledImage[lp.f32, 2], y: lp.Out[lp.f32]):
        y[0] = img[offset, 0]

    img = lp.UnsampledImage(np.zeros((3, 5), np.float32), device=device)
    with pytest.raises(lp.KernelTrap, match="dimension 0 of 'img', whose extent is 3"):
        shift[1](offset, img, lp.zeros(1, device=device)).wait()


def test_indices_in_range_are_fine(device) -> None:
    @lp.kernel
    def fine(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        y[i, j] = x[-1, -1] + x[x.shape[0] - 1 - i, 0]

    x, y = (lp.ones((3, 4), device=device) for _ in range(2))
    fine[3, 4](x, y)
    assert (y.numpy() == 2.0).all()


@pytest.mark.parametrize("unsigned", [False, True])
def test_step_of_a_range(unsigned: bool, device) -> None:
    kind = lp.u32 if unsigned else lp.i32

    @lp.kernel
    def sums(step: lp.i32, x: lp.Out[lp.i32]):
        total = 0
        for k in range(kind(1), kind(10), kind(step)):
            total += lp.i32(k)
        x[lp.global_id(0)] = total

    x = lp.zeros(2, lp.i32, device=device)
    sums[2](4, x).wait()
    assert x.numpy().tolist() == [15, 15]
    with pytest.raises(lp.KernelTrap, match="the step of range is 0") as raised:
        sums[2](0, x).wait()
    assert raised.value.location.line == sums.function.__code__.co_firstlineno + 3


def test_second_dimension_of_a_store(device) -> None:
    @lp.kernel
    def store(x: lp.Out[lp.i32, 2]):
        x[lp.global_id(0), lp.global_id(1) * 2] = 1

    x = lp.zeros((3, 4), lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="dimension 1 of 'x', whose extent is 4"):
        store[3, 4](x).wait()


def test_a_negative_literal_beyond_the_array(device) -> None:
    @lp.kernel
    def last(x: lp.Array[lp.i32]):
        x[-4] = 1

    x = lp.zeros(4, lp.i32, device=device)
    last[1](x).wait()
    short = lp.zeros(3, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap, match="extent is 3"):
        last[1](short).wait()


def test_atomics_shared_arrays_vectors_and_structs(device) -> None:
    @lp.struct
    class Pair:
        a: lp.i32
        b: lp.f32

    @lp.kernel
    def atomic(k: lp.i32, x: lp.Array[lp.i32]):
        lp.atomic.add(x, k, 1)

    @lp.kernel(local_size=4)
    def shared(k: lp.i32, x: lp.Array[lp.i32]):
        s = lp.local.array(4, lp.i32)
        s[lp.local_id(0)] = 1
        lp.barrier()
        x[lp.global_id(0)] = s[k]

    @lp.kernel
    def private(k: lp.i32, x: lp.Array[lp.i32]):
        p = lp.private.array(4, lp.i32)
        p[k] = 1
        x[lp.global_id(0)] = p[k]

    @lp.kernel
    def vector(k: lp.i32, x: lp.Array[lp.f32x2]):
        x[k].y = 1.0

    @lp.kernel
    def struct(k: lp.i32, x: lp.Array[Pair]):
        x[k].a += 1

    for kernel, dtype, n in (
        (atomic, lp.i32, 4),
        (shared, lp.i32, 4),
        (private, lp.i32, 4),
        (vector, lp.f32x2, 1),
        (struct, Pair, 1),
    ):
        x = lp.empty(4, dtype, device=device)
        kernel[n](3, x).wait()
        for k in (4, -1):
            with pytest.raises(lp.KernelTrap, match=f"index {k} is out of range.*extent is 4"):
                kernel[n](k, x).wait()


@pytest.mark.parametrize(
    "division", ["5 // 0", "lp.i8(5) % 0", "divmod(5, lp.i32(0))[0]", "lp.u64(5) // lp.u64(0)"]
)
def test_divisions_that_are_folded(division: str, device) -> None:
    if "64" in division and not device.has(lp.Aspect.VK_INT64):
        pytest.skip("needs vk_int64")
    source = (
        "import lapilli as lp\n@lp.kernel(debug=True)\n"
        "def divide(y: lp.Array[lp.i32]):\n"
        "    i = lp.global_id(0)\n"
        "    if i > 0:\n"
        f"        y[i] = y[i] + lp.i32({division})\n"
    )
    divide = lp.kernel_from_source(source)
    y = lp.zeros(2, lp.i32, device=device)
    divide[1](y).wait()  # not reached
    with pytest.raises(lp.KernelTrap, match=r"work-item \(1,\): integer division of 5 by zero"):
        divide[2](y).wait()


@pytest.mark.parametrize("operation", ["//", "%"])
def test_division_by_zero(operation: str, device) -> None:
    source = (
        "@lp.kernel\n"
        "def divide(d: lp.In[lp.i32], y: lp.Out[lp.i32]):\n"
        "    i = lp.global_id(0)\n"
        f"    y[i] = (i + 10) {operation} d[i]\n"
    )
    divide = lp.kernel_from_source(source)
    y = lp.zeros(4, lp.i32, device=device)
    divide[4](lp.asarray(np.array([1, 2, -3, 4], np.int32), device=device), y).wait()
    with pytest.raises(lp.KernelTrap, match=r"work-item \(2,\): integer division of 12 by zero"):
        divide[4](lp.asarray(np.array([1, 2, 0, 4], np.int32), device=device), y).wait()


def test_nan(device) -> None:
    @lp.kernel
    def root(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = lp.math.sqrt(x[i])

    y = lp.zeros(3, device=device)
    root[3](lp.asarray(np.array([1, 4, 9], np.float32), device=device), y)
    np.testing.assert_allclose(y.numpy(), [1, 2, 3], rtol=1e-6)  # sqrt is not exact on every device
    with pytest.raises(lp.KernelTrap, match=r"work-item \(1,\): NaN is stored into 'y' at \[1\]") as caught:
        root[3](lp.asarray(np.array([1, -4, 9], np.float32), device=device), y).wait()
    assert caught.value.values == (1,)


@pytest.mark.parametrize("name", ["add", "exchange", "compare_exchange"])
def test_nan_by_atomic_operations(device, name: str) -> None:

    @lp.kernel
    def change(a: lp.f32, x: lp.Array[lp.f32, 2]):
        i = lp.global_id(0)
        lp.atomic.max(x, (0, 0), a / a)  # passes NaN by
        if name == "add":
            lp.atomic.add(x, (i, 2), a / a)
        elif name == "exchange":
            lp.atomic.exchange(x, (i, 2), a / a)
        else:
            lp.atomic.compare_exchange(x, (i, 2), 0.0, a / a)

    x = lp.zeros((2, 3), device=device)
    change[2](2.0, x).wait()
    with pytest.raises(lp.KernelTrap, match=r"NaN is stored into 'x' at \[[01], 2\]"):
        change[2](0.0, x).wait()


def test_nan_in_a_vector(device) -> None:
    @lp.kernel
    def store(a: lp.f32, x: lp.Out[lp.f32x4]):
        x[0] = lp.f32x4(1.0, a / a, 2.0, 3.0)

    x = lp.zeros(1, lp.f32x4, device=device)
    store[1](2.0, x).wait()
    with pytest.raises(lp.KernelTrap, match="NaN is stored into 'x'"):
        store[1](0.0, x).wait()


@pytest.mark.native_only("the interpreter reports indices out of range")
def test_without_debug_mode_nothing_is_checked(device, monkeypatch) -> None:
    monkeypatch.setenv("LAPILLI_DEBUG", "0")

    @lp.kernel
    def wild(k: lp.i32, x: lp.Array[lp.i32]):
        x[k] = 1 // (k - k)

    assert "report" not in wild.inspect("spirv")
    x = lp.zeros(4, lp.i32, device=device)
    wild[1](1000, x).wait()
    assert x.numpy().tolist() == [0, 0, 0, 0]


def test_debug_mode_is_part_of_the_environment(monkeypatch) -> None:
    @lp.kernel
    def store(x: lp.Array[lp.i32]):
        x[lp.global_id(0)] = 1

    assert '"checks": "debug"' in store.inspect("metadata")
    assert "out of range" in store.inspect("metadata")
    monkeypatch.delenv("LAPILLI_DEBUG")
    assert '"checks": "asserts"' in store.inspect("metadata")


def test_indices_of_64_bits(device) -> None:
    if lp.Aspect.VK_INT64 not in device.aspects:
        pytest.skip("the device lacks integers of 64 bits")

    @lp.kernel(index=lp.i64)
    def shifted(x: lp.In[lp.i32], y: lp.Out[lp.i32], by: lp.i32):
        y[lp.global_id(0)] = x[by] + x[lp.global_id(0) + 1]

    x, y = (lp.zeros(10, lp.i32, device=device) for _ in range(2))
    with lp.config.override(debug=True):
        with pytest.raises(
            lp.KernelTrap, match="index 10 is out of range of dimension 0 of 'x', whose extent is 10"
        ):
            shifted[10](x, y, 3).wait()
        with pytest.raises(lp.KernelTrap, match="index -1 is out of range"):
            shifted[1](x, y, -1).wait()


@lp.struct
class Bins:
    count: lp.i32
    values: lp.FixedArray[lp.f32, 3]


@pytest.mark.parametrize("k", [-1, 4, 1000])
def test_indices_into_values(k: int, device) -> None:
    @lp.kernel
    def fixed(k: lp.i32, x: lp.Array[lp.f32]):
        values = lp.FixedArray[lp.f32, 4](1.0, 2.0, 3.0, 4.0)
        x[0] = values[k]

    @lp.kernel
    def vector(k: lp.i32, x: lp.Array[lp.f32]):
        v = lp.f32x4(x[0], x[0], x[0], x[0])
        x[0] = v[k]

    @lp.kernel
    def component(k: lp.i32, x: lp.Array[lp.f32x4]):
        x[0][k] = 1.0

    @lp.kernel
    def member(k: lp.i32, x: lp.Array[Bins]):
        x[0].values[k - 1] += 1.0

    for kernel, dtype, length in (
        (fixed, lp.f32, 4),
        (vector, lp.f32, 4),
        (component, lp.f32x4, 4),
        (member, Bins, 3),
    ):
        x = lp.empty(1, dtype, device=device)
        x.fill(0)
        kernel[1](3, x).wait()
        shown = k - 1 if kernel is member else k
        with pytest.raises(lp.KernelTrap, match=f"index {shown} is out of range of .*{length}"):
            kernel[1](k, x).wait()


@pytest.mark.native_only("the interpreter dispatches nothing")
def test_ids_of_a_range_that_is_dispatched_in_pieces(device) -> None:
    groups = device.physical.limits.max_work_group_count[0]
    if groups > 1 << 16:
        pytest.skip("the device dispatches all at once")

    @lp.kernel(local_size=1)
    def beyond(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        if i > y.size - 6:
            y[i] = x[i + 1]

    x, y = (lp.zeros(groups + 7, lp.i32, device=device) for _ in range(2))
    with pytest.raises(lp.KernelTrap) as raised:
        beyond[groups + 7](x, y).wait()
    assert raised.value.work_item == (groups + 6,)
    assert raised.value.values == (groups + 7, groups + 7)
