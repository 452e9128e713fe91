"""Arrays larger than a descriptor shows (maxStorageBufferRange): kernels take their addresses."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import io

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import trace
from lapilli.vk_runtime.array import Array
from lapilli.vk_runtime.buffer import Buffer

pytestmark = pytest.mark.native_only("the interpreter has no descriptors")

LIMIT = 4096
"""Bytes that descriptors of the masked device show."""


@lp.struct
class Pair:
    a: lp.f32
    b: lp.i32


@lp.kernel
def saxpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def transpose(x: lp.In[lp.i32, 2], y: lp.Out[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    y[j, i] = x[i, j]


@lp.kernel
def scatter(x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[x[i]] = 1


@lp.kernel
def gather(x: lp.In[lp.i32], at: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = x[at[i]]


@lp.kernel
def swap(x: lp.Array[Pair], y: lp.Array[lp.f32x4]):
    i = lp.global_id(0)
    x[i].a = lp.f32(x[i].b)
    y[i] = y[i] * 2.0


@lp.kernel
def count(x: lp.In[lp.i32], n: lp.Array[lp.u32]):
    i = lp.global_id(0)
    assert x[i] >= 0
    lp.atomic.add(n, x[i] % n.size, lp.u32(1))


@lp.kernel(local_size=64)
def sums(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        y[lp.group_id(0)] = total


@pytest.fixture
def small(device):
    """The device with descriptors of 4 KiB."""
    masked = device.masked(limits={"maxStorageBufferRange": LIMIT})
    if not masked.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("no bufferDeviceAddress")
    return masked


@pytest.mark.parametrize("n", [LIMIT // 4, LIMIT // 4 + 1, 5000])
def test_every_element_is_reached(small, n):
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_device = lp.asarray(y, device=small)
    for _ in range(3):  # the second goes the short way
        saxpy[n](2.0, lp.asarray(x, device=small), on_device)
    np.testing.assert_array_equal(on_device.numpy(), 6 * x + 1)


def test_one_form_each(small):
    """Small arrays keep the descriptors, large ones compile once."""

    @lp.kernel
    def double(x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        x[i] = x[i] * 2.0

    with trace.trace() as t:
        for n in (8, 5000, 8, 5000):
            x = lp.ones(n, device=small)
            double[8](x)
            assert x.numpy()[:8].tolist() == [2] * 8
    assert t.count("module") == 2 and t.count("launch") == 4


def test_two_dimensions(small):
    x = np.arange(60 * 70, dtype=np.int32).reshape(60, 70)
    y = lp.zeros((70, 60), lp.i32, device=small)
    transpose[60, 70](lp.asarray(x, device=small), y)
    np.testing.assert_array_equal(y.numpy(), x.T)


def test_an_index_out_of_range_is_harmless(small):
    """Addresses have no robustness: writes beyond the array stay inside, reads give some element of it."""
    wrong = np.array([-1, 5000, 2**31 - 1, -(2**31), 10**9, 4999, 0], np.int32)
    before, y, behind = (lp.zeros(5000, lp.i32, device=small) for _ in range(3))
    for _ in range(2):
        scatter[wrong.size](lp.asarray(wrong, device=small), y)
    assert not before.numpy().any() and not behind.numpy().any()
    x, found = lp.full(5000, 7, lp.i32, device=small), lp.zeros(wrong.size, lp.i32, device=small)
    gather[wrong.size](x, lp.asarray(wrong, device=small), found)
    assert found.numpy().tolist() == [7] * wrong.size


@pytest.mark.parametrize("is_checked", [False, True])
def test_arrays_that_the_kernel_does_not_use(small, is_checked):
    """They have neither an address nor a descriptor then."""

    @lp.kernel
    def fill(unused: lp.Array[lp.i32], x: lp.Array[lp.i32], more: lp.In[lp.f32, 2], v: lp.i32):
        assert v != 8
        x[lp.global_id(0)] = v + 1

    @lp.kernel
    def plain(unused: lp.Array[lp.i32], x: lp.Array[lp.i32], more: lp.In[lp.f32, 2], v: lp.i32):
        x[lp.global_id(0)] = v + 1

    few, many = lp.zeros(4, lp.i32, device=small), lp.zeros(5000, lp.i32, device=small)
    for unused, x in ((few, many), (many, lp.zeros(5000, lp.i32, device=small)), (many, few)):
        (fill if is_checked else plain)[x.size](unused, x, lp.zeros((2, 2), device=small), 6)
        assert (x.numpy() == 7).all()


def test_an_empty_array_beside_a_large_one(small):
    x, at = lp.zeros(0, lp.i32, device=small), lp.zeros(5000, lp.i32, device=small)
    y = lp.zeros(5000, lp.i32, device=small)
    gather[5000](x, at, y)
    assert y.numpy().shape == (5000,)  # of an array without elements anything may be read
    assert not at.numpy().any()


def test_structs_and_vectors(small):
    pairs = np.zeros(2000, np.dtype([("a", "<f4"), ("b", "<i4")]))
    pairs["b"] = np.arange(2000)
    vectors = np.arange(8000, dtype=np.float32).reshape(2000, 4)
    x, y = lp.asarray(pairs, device=small), lp.asarray(vectors, device=small, dtype=lp.f32x4)
    swap[2000](x, y)
    np.testing.assert_array_equal(x.numpy()["a"], np.arange(2000))
    np.testing.assert_array_equal(np.asarray(y.numpy()).reshape(2000, 4), vectors * 2)


def test_atomics_and_asserts(small):
    x, n = lp.asarray(np.arange(5000, dtype=np.int32), device=small), lp.zeros(16, lp.u32, device=small)
    count[5000](x, n)
    np.testing.assert_array_equal(n.numpy(), np.bincount(np.arange(5000) % 16))
    count[5000](lp.full(5000, -1, lp.i32, device=small), n)
    with pytest.raises(lp.KernelTrap, match="kernel 'count'"):
        n.numpy()


def test_groups(small):
    x, y = lp.ones(6400, lp.i32, device=small), lp.zeros(100, lp.i32, device=small)
    sums[6400](x, y)
    assert y.numpy().tolist() == [64] * 100


def test_a_graph(small):
    x, y = lp.ones(5000, device=small), lp.zeros(5000, device=small)
    with lp.graph() as g:
        event = saxpy[5000](2.0, x, y)
        saxpy[5000](3.0, x, y)
    for _ in range(2):
        g.replay()
    assert (y.numpy() == 10).all()
    g.update(event, a=4.0)
    g.replay()
    assert (y.numpy() == 17).all()


def test_other_queues_and_command_groups(small):
    x, y, queue = lp.ones(5000, device=small), lp.zeros(5000, device=small), lp.Queue(small)
    saxpy[5000].on(queue)(1.0, x, y)
    queue.parallel_for(5000, saxpy, 1.0, x, y)
    assert (y.numpy() == 2).all()


LARGE = 600_000
"""Elements of 4 bytes that the descriptors of `middling` do not show."""


@pytest.fixture
def middling(device):
    """The device with descriptors of 2 MiB: enough for the runtime's own buffers."""
    masked = device.masked(limits={"maxStorageBufferRange": 2 << 20})
    if not masked.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("no bufferDeviceAddress")
    return masked


@pytest.mark.parametrize("n", [0, 1, LARGE])
def test_a_range_of_the_device(middling, n):
    x, y = lp.ones(LARGE, device=middling), lp.zeros(LARGE, device=middling)
    counts = lp.asarray(np.array([n], np.uint32), device=middling)
    expected = np.zeros(LARGE, np.float32)
    expected[:n] = 4
    for _ in range(2):
        saxpy[lp.IndirectRange(counts)](2.0, x, y)
    np.testing.assert_array_equal(y.numpy(), expected)
    with lp.graph() as g:
        saxpy[lp.IndirectRange(counts)](2.0, x, y)
    g.replay()
    expected[:n] += 2
    np.testing.assert_array_equal(y.numpy(), expected)


def test_prints_and_streams(middling, capsys):
    @lp.kernel
    def tell(x: lp.Array[lp.i32], out: lp.Stream):
        if lp.global_id(0) == 4999:
            print("last", x[599_999], x.size)
            out << x[4998] << "\n"

    x, file = lp.asarray(np.arange(LARGE, dtype=np.int32), device=middling), io.StringIO()
    tell[5000](x, lp.Stream(file=file)).wait()
    assert capsys.readouterr().out == "last 599999 600000\n" and file.getvalue() == "4998\n"


def test_debug_mode(small, monkeypatch):
    monkeypatch.setenv("LAPILLI_DEBUG", "1")

    @lp.kernel
    def shift(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        y[i] = x[i + 1]

    x, y = lp.zeros(5000, lp.i32, device=small), lp.zeros(5000, lp.i32, device=small)
    with pytest.raises(
        lp.KernelTrap, match="index 5000 is out of range of dimension 0 of 'x', whose extent is 5000"
    ):
        shift[5000](x, y).wait()


def test_kernels_with_images_name_the_limit(small):
    """They have one form, which takes descriptors."""
    x = lp.zeros(5000, lp.i32, device=small)

    @lp.kernel
    def add_pixel(img: lp.UnsampledImage[lp.u32x4, 2], x: lp.Array[lp.i32]):
        x[lp.global_id(0)] += lp.i32(img[0, 0].x)

    image = lp.UnsampledImage(np.ones((2, 2, 4), np.uint32), device=small)
    with pytest.raises(
        lp.KernelNotSupportedError, match=r"'x': the array has 20,000 bytes.*maxStorageBufferRange"
    ):
        add_pixel[5000](image, x)
    assert not x.numpy().any()


def test_copies_and_fills_need_no_descriptor(small):
    x = lp.asarray(np.arange(9000, dtype=np.int32), device=small)
    y = lp.full(9000, 3, lp.i32, device=small)
    small.default_queue.copy(x, y)
    np.testing.assert_array_equal(y.numpy(), np.arange(9000))
    np.testing.assert_array_equal(np.asarray(y), np.arange(9000))


def test_without_addresses_the_error_names_the_limit(device):
    masked = device.masked(
        limits={"maxStorageBufferRange": LIMIT}, without=(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS,)
    )
    x = lp.zeros(5000, device=masked)
    assert not x.numpy().any()
    with pytest.raises(
        lp.KernelNotSupportedError, match=r"argument 'x': the array has 20,000 bytes.*maxStorageBufferRange"
    ):
        saxpy[8](1.0, x, lp.zeros(8, device=masked))


def test_more_than_the_driver_shows(device):
    """No mask: an array beyond the driver's own limit."""
    limit = device.physical.limits.max_storage_buffer_range_bytes
    if limit > 256 << 20 or not device.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("would take too much memory, or has no bufferDeviceAddress")
    n = (limit >> 2) + 1000
    x = lp.zeros(n, lp.i32, device=device)
    at = np.array([0, n // 2, n - 1], np.int32)
    scatter[at.size](lp.asarray(at, device=device), x)
    found = x.numpy()
    assert found.sum() == 3 and (found[at] == 1).all()


# More elements than 32 bits count

BEFORE = 5_000_000_000
"""Elements of a shifted array that lie before the memory that it really has."""


def shifted(array, shape, before=BEFORE):
    """An array of `shape` whose last elements are those of `array`, which has memory: no kernel may touch the others.

    The runtime takes them for two arrays: what is launched must be waited for.
    """
    real = array.buffer
    nbytes = int(np.prod(shape, dtype=object)) * array.dtype.itemsize
    assert nbytes - before * array.dtype.itemsize == array.nbytes
    made = Buffer(real.raw, nbytes, array.device.logical.memory.next_serial(), 0)
    made.device_address = real.device_address - before * array.dtype.itemsize
    made.lender = array
    return Array(array.device, shape, array.spelling, made)


@pytest.fixture
def wide(device):
    """A device whose kernels count in 64 bits and reach arrays by their addresses."""
    if not (device.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS) and device.has(lp.Aspect.VK_INT64)):
        pytest.skip("no bufferDeviceAddress, or no vk_int64")
    return device


def test_positions_beyond_32_bits(wide):
    @lp.kernel(index=lp.i64)
    def put(x: lp.Array[lp.u32], at: lp.In[lp.i64], sizes: lp.Out[lp.i64]):
        i = lp.global_id(0)
        x[at[i]] = lp.u32(i + 1)
        sizes[i] = x.size + len(x) + x.shape[0]
        if i == 0:
            x[-2] = lp.u32(70)
            x[5_000_000_003] = x[-2] + 1

    memory = lp.zeros(100, lp.u32, device=wide)
    x = shifted(memory, (BEFORE + 100,))
    at = np.array([0, 50, 99, 100, 2**40]) + BEFORE
    at = np.array([*at, -1])  # what is beyond either end is the last element
    sizes = lp.zeros(at.size, lp.i64, device=wide)
    for _ in range(2):
        put[at.size](x, lp.asarray(at, device=wide), sizes).wait()
    expected = np.zeros(100, np.uint32)
    expected[[0, 50, 98, 3]] = 1, 2, 70, 71
    found = memory.numpy()
    assert found[99] in (3, 4, 5, 6)
    np.testing.assert_array_equal(found[:99], expected[:99])
    assert set(sizes.numpy().tolist()) == {3 * (BEFORE + 100)}


def test_two_dimensions_beyond_32_bits(wide):
    rows, columns = 100_000, 60_000

    @lp.kernel(index=lp.i64)
    def last_rows(x: lp.Array[lp.u16, 2], shape: lp.Out[lp.i64]):
        i, j = lp.global_id(0), lp.global_id(1)
        row = x.shape[0] - 2 + i
        if j < 5:
            x[row, j] = lp.u16(10 * i + j)
            x[row, -1] = lp.u16(9)
        shape[i] = x.shape[0] * 1_000_000 + x.shape[1]

    if not wide.has(lp.Aspect.VK_STORAGE_16BIT):
        pytest.skip("needs vk_storage_16bit")
    memory = lp.zeros((2, columns), lp.u16, device=wide)
    x = shifted(memory, (rows, columns), (rows - 2) * columns)
    shape = lp.zeros(2, lp.i64, device=wide)
    last_rows[2, 8](x, shape).wait()
    found = memory.numpy()
    np.testing.assert_array_equal(found[:, :5], [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]])
    assert found[:, -1].tolist() == [9, 9] and not found[:, 5:-1].any()
    assert shape.numpy().tolist() == [rows * 1_000_000 + columns] * 2


@lp.struct
class Tally:
    count: lp.u32
    total: lp.f32


def test_fields_and_atomics_beyond_32_bits(wide):
    def bump(x: lp.Array[Tally], at):
        lp.atomic.add(x, (at, "total"), 0.5)

    @lp.kernel(index=lp.i64)
    def tally(x: lp.Array[Tally], n: lp.Array[lp.i32]):
        i = lp.global_id(0)
        at = x.size - 1 - i % 4
        lp.atomic.add(x, (at, "count"), 1)
        bump(x, at)
        lp.atomic.add(n, n.size - 1, 1)

    memory = lp.zeros(4, Tally, device=wide)
    counts = lp.zeros(6, lp.i32, device=wide)
    tally[400](shifted(memory, (BEFORE + 4,)), shifted(counts, (BEFORE + 6,))).wait()
    assert memory.numpy()["count"].tolist() == [100] * 4
    assert memory.numpy()["total"].tolist() == [50.0] * 4
    assert counts.numpy().tolist() == [0] * 5 + [400]


def test_atomics_on_single_bytes_beyond_32_bits(wide):
    if not wide.has(lp.Aspect.VK_STORAGE_8BIT):
        pytest.skip("needs vk_storage_8bit")

    @lp.kernel(index=lp.i64)
    def count(n: lp.Array[lp.u8]):
        lp.atomic.add(n, n.size - 1 - lp.global_id(0) % 3, lp.u8(1))

    counts = lp.zeros(8, lp.u8, device=wide)
    count[300](shifted(counts, (BEFORE + 8,))).wait()
    assert counts.numpy().tolist() == [0] * 5 + [100] * 3


@lp.kernel
def set_first(x: lp.Array[lp.i8]):
    x[lp.global_id(0)] = lp.i8(1)


@lp.kernel
def set_at_size(x: lp.Array[lp.i8]):
    if lp.global_id(0) == x.size:
        x[lp.global_id(0)] = lp.i8(1)


@lp.kernel
def set_corner(x: lp.Array[lp.i8, 2]):
    x[lp.global_id(0), 0] = lp.i8(1)


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [(set_first, ((1 << 31) + 1,)), (set_at_size, (3 << 30,)), (set_corner, (1 << 16, (1 << 15) + 1))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_too_many_elements_for_32_bits_are_refused(wide, kernel, shape):
    """By name, whether or not the kernel asks for the extents, and where only their product is too large."""
    if not wide.has(lp.Aspect.VK_STORAGE_8BIT):
        pytest.skip("needs vk_storage_8bit")
    count = int(np.prod(shape))
    x = shifted(lp.zeros(8, lp.i8, device=wide), shape, count - 8)
    with pytest.raises(
        lp.KernelArgumentError, match=rf"'x': the array has {count:,} elements.*index=lp\.i64"
    ):
        kernel[1](x)


def test_as_many_elements_as_32_bits_count(wide):
    @lp.kernel
    def last(x: lp.Array[lp.u32]):
        x[x.size - 1 - lp.global_id(0)] = lp.u32(x.size)

    memory = lp.zeros(8, lp.u32, device=wide)
    last[2](shifted(memory, ((1 << 31) - 1,), (1 << 31) - 9)).wait()
    assert memory.numpy().tolist() == [0] * 6 + [(1 << 31) - 1] * 2


# More bytes than one allocation

PART = 64 << 20
"""Bytes of one allocation of the masked device below: the least that holds the runtime's own blocks."""


@lp.kernel(index=lp.i64)
def stamp(x: lp.Array[lp.u8], at: lp.In[lp.i64], found: lp.Out[lp.u32]):
    i = lp.global_id(0)
    found[i] = lp.u32(x[at[i]])
    x[at[i]] = lp.u8(i + 1)


@pytest.fixture
def in_parts(device):
    """The device with allocations of `PART` bytes, where it puts several under one array."""
    if not device.physical.can_bind_sparse:
        pytest.skip("no sparse binding")
    return device.masked(limits={"maxMemoryAllocationSize": PART})


def test_an_array_of_several_allocations(in_parts):
    n = 3 * PART + 1234
    x = lp.full(n, 9, lp.u8, device=in_parts)
    at = np.array([0, PART - 1, PART, 2 * PART - 1, 2 * PART, 3 * PART - 1, 3 * PART, n - 1])
    found = lp.zeros(at.size, lp.u32, device=in_parts)
    stamp[at.size](x, lp.asarray(at, device=in_parts), found)
    assert found.numpy().tolist() == [9] * at.size
    expected = np.full(n, 9, np.uint8)
    expected[at] = np.arange(1, at.size + 1)
    np.testing.assert_array_equal(x.numpy(), expected)
    y = lp.empty(n, lp.u8, device=in_parts).copy_from(x)
    y.copy_from(expected[::-1])
    x.release()
    np.testing.assert_array_equal(y.numpy(), expected[::-1])


def test_an_array_of_more_than_4_gib(device):
    limits = device.physical.limits
    n = (9 << 29) + 5  # 4.5 GiB
    if device.is_cpu() or device.info.max_mem_alloc_size < n or device.info.global_mem_size < 3 * n:
        pytest.skip(
            f"the largest array has {device.info.max_mem_alloc_size:,} bytes, or a test must not take so much"
        )
    x = lp.full(n, 7, lp.u8, device=device)
    edge = limits.max_memory_allocation_bytes
    at = np.unique(
        [0, 2**31 - 1, 2**31, min(edge, n) - 1, min(edge, n - 3), 2**32 - 1, 2**32, 2**32 + 1, n - 2, n - 1]
    )
    found = lp.zeros(at.size, lp.u32, device=device)
    on_device = lp.asarray(at, device=device)
    stamp[at.size](x, on_device, found)
    assert found.numpy().tolist() == [7] * at.size
    stamp[at.size](x, on_device, found)
    assert found.numpy().tolist() == [*range(1, at.size + 1)]


@lp.kernel
def exchange(x: lp.Array[lp.u32], at: lp.In[lp.i32], found: lp.Out[lp.u32]):
    i = lp.global_id(0)
    found[i] = x[at[i]]
    x[at[i]] = lp.u32(i + 1)


def test_positions_of_32_bits_reach_8_gib(device):
    """No two of them are the same place modulo 4 GiB."""
    n = (1 << 31) - 1
    if device.is_cpu() or device.info.max_mem_alloc_size < 4 * n or device.info.global_mem_size < 12 * n:
        pytest.skip("the largest array is smaller, or a test must not take so much")
    x = lp.zeros(n, lp.u32, device=device)
    at = np.array([0, 1, (1 << 30) - 2, 1 << 30, (1 << 30) + 1, n - 1], np.int32)
    found, on_device = lp.zeros(at.size, lp.u32, device=device), lp.asarray(at, device=device)
    exchange[at.size](x, on_device, found)
    exchange[at.size](x, on_device, found)
    assert found.numpy().tolist() == [*range(1, at.size + 1)]
