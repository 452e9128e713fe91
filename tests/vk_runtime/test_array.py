"""Arrays: copies in both directions keep shape, dtype and content; misuse is refused."""

from __future__ import annotations

import types

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import staging
from lapilli.vk_runtime.device import Device

DTYPES = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]


@pytest.fixture(params=["mapped", "staged", "beside"])
def home(request, device, monkeypatch):
    """The device; the same with arrays copied through staging memory, as on a discrete GPU, and on a queue beside."""
    if request.param == "mapped":
        yield device
        return
    monkeypatch.setattr(staging, "LEAST_BYTES", 1)
    staged = Device(
        device.physical, device.selector, staged_memory=True, own_transfers=request.param == "beside"
    )
    yield staged
    staged.shut_down()


def host(dtype, shape=(3, 5)):
    values = np.arange(int(np.prod(shape))).reshape(shape)
    return (values % 2).astype(bool) if dtype == "bool" else values.astype(np.dtype(lp.zeros(1, dtype).dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_keeps_everything(home, dtype):
    source = host(dtype)
    array = lp.asarray(source, device=home)
    assert (array.shape, array.size, array.nbytes, array.dtype) == ((3, 5), 15, source.nbytes, source.dtype)
    assert array.device is home and len(array) == 3 and not array.is_view
    found = array.numpy()
    assert found.dtype == source.dtype
    np.testing.assert_array_equal(found, source)
    np.testing.assert_array_equal(np.asarray(array), source)


def test_staging_memory_stays_within_a_mask(device):
    limited = device.masked(limits={"maxBufferSize": 4096})
    staged = Device(limited.physical, device.selector, staged_memory=True)
    source = np.arange(4096, dtype=np.uint8)
    array = lp.asarray(source, device=staged)
    np.testing.assert_array_equal(array.numpy(), source)
    del array
    staged.shut_down()


@pytest.mark.parametrize("view", [np.s_[::2, ::-1], np.s_[:, 1], np.s_[::-1]])
def test_strided_input_is_copied_in_c_order(home, view):
    source = np.arange(24, dtype=np.float32).reshape(4, 6)[view]
    np.testing.assert_array_equal(lp.asarray(source, device=home).numpy(), source)
    fortran = np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))
    np.testing.assert_array_equal(lp.asarray(fortran, device=home).numpy(), fortran)


def test_big_endian_input(device):
    source = np.arange(5, dtype=">i4")
    np.testing.assert_array_equal(lp.asarray(source, device=device).numpy(), source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_makers_and_fill(home, dtype):
    assert not lp.zeros((2, 3), dtype, device=home).numpy().any()
    assert (lp.ones(7, dtype, device=home).numpy() == 1).all()
    array = lp.full(5, 1, dtype, device=home)
    assert (array.fill(0).numpy() == 0).all() and array.shape == (5,)


def test_fill_with_a_pattern_that_does_not_repeat(home):
    assert (lp.full(5, 2**40 + 3, "i64", device=home).numpy() == 2**40 + 3).all()
    assert (lp.full(5, -2, "i16", device=home).numpy() == -2).all()
    assert (lp.full(3, 0.1, "f64", device=home).numpy() == 0.1).all()


def test_likes(home):
    array = lp.asarray(host("i16"), device=home)
    like = lp.zeros_like(array)
    assert (like.shape, like.dtype, like.device) == (array.shape, array.dtype, home)
    assert lp.empty_like(array, "f32").dtype == np.float32
    assert lp.zeros_like(np.ones((2, 2), np.uint8), device=home).numpy().dtype == np.uint8


def test_empty_arrays(home):
    for array in (lp.empty(0, device=home), lp.zeros((0, 3), "u8", device=home)):
        assert array.size == array.nbytes == 0
        assert array.numpy().shape == array.shape
        array.fill(1).copy_from(np.zeros(array.shape, array.dtype))


def test_large_copies_go_in_pieces(home, monkeypatch):
    monkeypatch.setattr(staging, "PIECE_BYTES", 1000)
    source = np.arange(4001, dtype=np.uint8)
    np.testing.assert_array_equal(lp.asarray(source, device=home).numpy(), source)


def test_copies_between_arrays(home, device):
    source = lp.asarray(host("f32"), device=home)
    target = lp.zeros((3, 5), device=home).copy_from(source)
    np.testing.assert_array_equal(target.numpy(), source.numpy())
    out = np.zeros((5, 3), np.float32).T
    source.copy_to(out)
    np.testing.assert_array_equal(out, source.numpy())
    elsewhere = lp.asarray(source, device=device)
    np.testing.assert_array_equal(elsewhere.numpy(), source.numpy())
    assert lp.asarray(elsewhere) is elsewhere and lp.asarray(elsewhere, device=device) is elsewhere


def test_copy_from_waits_for_nothing_but_order(home):
    first, second = lp.zeros(1000, device=home), lp.zeros(1000, device=home)
    for value in range(5):
        first.fill(value)
        second.copy_from(first)
    assert (second.numpy() == 4).all()


@pytest.mark.parametrize(
    "source", [np.array([object()]), np.zeros(2, complex), np.array(["a"]), np.zeros(2, "M8[s]")]
)
def test_dtypes_that_arrays_cannot_hold(device, source):
    with pytest.raises(lp.InvalidError, match="expected one of bool"):
        lp.asarray(source, device=device)


@pytest.mark.parametrize(
    "source", [(n for n in range(3)), {1, 2}, np.array([1, None])], ids=["gen", "set", "none"]
)
def test_what_numpy_finds_no_numbers_in_says_what_to_give(device, source):
    with pytest.raises(lp.InvalidError, match=r"give list\(x\) of a generator"):
        lp.asarray(source, device=device)


def test_complex_numbers_become_pairs_as_the_message_says(device):
    x = np.array([[1 + 2j, 3 - 4j]], np.complex64)
    with pytest.raises(lp.InvalidError) as caught:
        lp.asarray(x, device=device)
    assert "lp.asarray(x.view(x.real.dtype).reshape(*x.shape, 2), lp.f32x2)" in str(caught.value)
    pairs = lp.asarray(x.view(x.real.dtype).reshape(*x.shape, 2), lp.f32x2, device=device)
    assert pairs.numpy().tolist() == [[[1, 2], [3, -4]]]


@pytest.mark.parametrize("shape", [-1, (1, -1), 1.5, (1,) * 9, "3", None])
def test_shapes_that_cannot_be(device, shape):
    with pytest.raises(lp.InvalidError):
        lp.empty(shape, device=device)


def test_ragged_input(device):
    with pytest.raises(lp.InvalidError):
        lp.asarray([[1, 2], [3]], device=device)


def test_misfits_are_refused(device):
    array = lp.zeros((2, 2), device=device)
    with pytest.raises(lp.InvalidError, match="shape"):
        array.copy_from(np.zeros(4, np.float32))
    with pytest.raises(lp.InvalidError, match="dtype"):
        array.copy_from(np.zeros((2, 2)))
    with pytest.raises(lp.InvalidError, match="dtype"):
        array.copy_to(np.zeros((2, 2), np.int32))
    read_only = np.zeros((2, 2), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(lp.InvalidError, match="read-only"):
        array.copy_to(read_only)
    with pytest.raises(lp.InvalidError, match="fit"):
        lp.full(3, 300, "u8", device=device)
    with pytest.raises(lp.InvalidError):
        array.fill([1, 2])
    for use in (lambda: array[0], lambda: iter(array), lambda: array.__setitem__(0, 1)):
        with pytest.raises(lp.InvalidError, match="host"):
            use()


def test_released_array_is_refused(device):
    with lp.zeros(4, device=device) as array:
        pass
    array.release()
    for use in (array.numpy, lambda: array.fill(0), lambda: array.copy_from(np.zeros(4, np.float32))):
        with pytest.raises(lp.InvalidError, match="released"):
            use()
    assert "released" in repr(array)


def test_too_large_an_array_says_how_large(device):
    with pytest.raises(lp.MemoryAllocationError, match=r"1,099,511,627,776 bytes") as caught:
        lp.empty(1 << 40, "u8", device=device)
    assert device.name in str(caught.value) and isinstance(caught.value, MemoryError)


def test_heap_that_is_full_is_reported_and_usable_afterwards(device):
    largest = device.info.max_mem_alloc_size // 2
    if device.info.global_mem_size > 4 << 30:
        pytest.skip("would take all memory of a real device")
    held = []
    with pytest.raises(lp.MemoryAllocationError):
        for _ in range(8):
            held.append(lp.empty(largest, "u8", device=device))
    held.clear()
    assert lp.empty(largest, "u8", device=device).nbytes == largest


def test_subscript_is_an_annotation():
    alias = lp.Array[lp.f32, 2]
    assert isinstance(alias, types.GenericAlias)
    assert alias.__origin__ is lp.Array and alias.__args__ == (lp.f32, 2)
    assert lp.Array.__lapilli_annotation__ == "array"


def test_copies_keep_values_in_either_byte_order(home):
    array = lp.asarray(np.array([1.0, 2.0, 3.0], ">f4"), device=home)
    out = np.zeros(3, ">f4")
    array.copy_to(out)
    assert out.tolist() == array.numpy().tolist() == [1.0, 2.0, 3.0]
    strided = np.zeros((3, 2), ">f4")[:, 0]
    array.copy_to(strided)
    assert strided.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["shape", "size", "ndim", "dtype", "spelling", "signature", "nbytes"])
def test_what_describes_the_memory_cannot_be_set(device, name):
    array = lp.zeros(4, device=device)
    with pytest.raises(AttributeError):
        setattr(array, name, getattr(array, name))


def test_copies_of_sequences_are_checked(device):
    array = lp.full(2, 7, "u8", device=device)
    for source in ([300, 1], [1.5, 2], ["1", "2"], [None, 1], [[1], [2, 3]], [-1, 1], "ab", object()):
        with pytest.raises(lp.InvalidError, match=r"copy_from|does not fit"):
            array.copy_from(source)
    assert array.numpy().tolist() == [7, 7]
    assert array.copy_from([1, 255.0]).numpy().tolist() == [1, 255]
    assert array.copy_from(array) is array


def test_creation_names_what_it_was_given(device):
    with pytest.raises(lp.InvalidError, match=r"queue= takes an lp.Queue or None; found 3"):
        lp.zeros(3, queue=3)
    with pytest.raises(lp.InvalidError, match=r"expected an lp.Array or a NumPy array; found \[1, 2\]"):
        lp.zeros_like([1, 2])
    released = lp.zeros(3, device=device)
    released.release()
    with pytest.raises(lp.InvalidError, match="released"):
        lp.asarray(released)


@lp.kernel
def add_positions(x: lp.Array[lp.f32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    x[i, j] += lp.f32(10 * i + j)


def test_a_second_extent_is_no_element_type(device):
    with pytest.raises(
        lp.InvalidError, match=r"4 is no element type .*dimensions is a tuple, \(rows, columns\)"
    ):
        lp.zeros(4, 4, device=device)


def test_reshape_is_a_view_of_the_same_memory(device):
    flat = lp.asarray(np.arange(6, dtype=np.float32), device=device)
    table = flat.reshape(2, 3)
    assert table.is_view and table.shape == (2, 3) and not flat.is_view
    add_positions[2, 3](table)  # a launch, a copy and a fill, each through another view, in order
    expected = np.array([0, 2, 4, 13, 15, 17], np.float32)
    np.testing.assert_array_equal(flat.numpy(), expected)
    np.testing.assert_array_equal(table.reshape((3, -1)).numpy(), expected.reshape(3, 2))
    flat.copy_from(expected[::-1])
    np.testing.assert_array_equal(table.ravel().numpy(), expected[::-1])
    flat.release()
    np.testing.assert_array_equal(table.numpy(), expected[::-1].reshape(2, 3))


def test_reshape_of_vectors_and_of_nothing(device):
    vectors = lp.zeros(4, lp.f32x2, device=device)
    assert vectors.reshape(2, 2).numpy().shape == (2, 2, 2) and vectors.itemsize == 8
    assert lp.zeros((0, 3), device=device).reshape(-1).shape == (0,)


@pytest.mark.parametrize(
    "shape", [(4,), (-1, 4), (-1, -1), (-2, -3), (), (2.0, 3), ("6",), (1, 1, 2, 3, 1, 1, 1, 1, 1), (0, -1)]
)
def test_reshape_refuses(device, shape):
    array = lp.zeros(6, device=device)
    with pytest.raises(lp.InvalidError, match=r"elements|extent|dimensions|integers"):
        array.reshape(*shape)
