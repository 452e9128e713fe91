"""Captured NumPy arrays and struct instances: constants of the code that are watched for changes."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import captured_data

pytestmark = pytest.mark.device

TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
FLAGS = np.array([True, False, True])


@lp.struct
class Lens:
    focus: lp.f32
    center: lp.f32x2
    count: lp.i32 = 3


LENS = Lens(2.0, (1.0, -1.0))
LENS_ID = lp.SpecializationId(Lens, 1.5, (0.5, 0.25), 7)


def row_sum(table, i):
    total = 0.0
    for j in range(table.shape[1]):
        total += table[i, j]
    return total


@lp.kernel
def from_table(out: lp.Array[lp.f32]):
    i = lp.global_id(0)
    out[i] = TABLE[i, 1] + TABLE[2][i] + TABLE[-1, -1] + row_sum(TABLE, i) * len(TABLE)
    if FLAGS[i]:
        out[i] += TABLE.size * 1000


def test_arrays_of_up_to_4_kib_are_constants(device, monkeypatch):
    out = lp.zeros(3, device=device)
    expected = TABLE[:, 1] + TABLE[2, :3] + 11 + 3 * TABLE.sum(axis=1) + 12000 * FLAGS
    with lp.trace() as trace:
        from_table[3](out)
        from_table[3](out)
    np.testing.assert_array_equal(out.numpy(), expected)
    assert trace.count("module") <= 1
    monkeypatch.setitem(globals(), "FLAGS", np.zeros(3, bool))
    from_table[3](out)
    np.testing.assert_array_equal(out.numpy(), expected - 12000 * np.array([1, 0, 1]))


def test_a_change_in_place_compiles_again(device):
    table = np.array([1, 2, 3], np.int32)
    lens = Lens(1.0, (0.0, 0.0))

    @lp.kernel
    def read(out: lp.Array[lp.f32]):
        out[0] = table[1] + lens.focus

    out = lp.zeros(1, device=device)
    read[1](out)
    assert out.numpy()[0] == 3
    table[1] = 20
    read[1](out)
    assert out.numpy()[0] == 21
    lens.focus = np.float32(5.0)
    read[1](out)
    assert out.numpy()[0] == 25


@lp.kernel
def from_structs(out: lp.Array[lp.f32]):
    out[0] = LENS.focus * LENS.center.y + LENS.count
    out[1] = LENS_ID.focus + LENS_ID.center.x + LENS_ID.count


def test_struct_instances_and_struct_specialization_constants(device):
    out = lp.zeros(2, device=device)
    from_structs[1](out)
    np.testing.assert_array_equal(out.numpy(), [1.0, 9.0])
    from_structs[1].spec({LENS_ID: Lens(4.0, (0.5, 0.0), 1)})(out)
    np.testing.assert_array_equal(out.numpy(), [1.0, 5.5])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(1025, np.float32), "has 4100 bytes"),
        (np.zeros((0, 3), np.float32), "is empty"),
        (np.zeros(3, np.complex64), "dtype complex64"),
        (np.array(["a", "b"]), "dtype <U1"),
        (np.zeros(2, [("a", "f4")]), r"dtype \[\('a', '<f4'\)\]"),
    ],
)
def test_other_arrays_are_refused(value, message):
    @lp.kernel
    def read(out: lp.Array[lp.f32]):
        out[0] = value[0]

    with pytest.raises(lp.CompileError, match=message) as caught:
        read.inspect("ir")
    assert caught.value.code == "LP2032"


@lp.kernel
def shuffled(out: lp.Array[lp.f32]):
    a, b = lp.f32x4(0.0, 1.0, 2.0, 3.0), lp.f32x2(4.0, 5.0)
    v = lp.shuffle(a, b, (3, 4, 0, 5))
    w = lp.shuffle(b, v, (1, 2))
    out[0], out[1], out[2], out[3] = v
    out[4], out[5] = w


def test_shuffle_takes_components_of_two_vectors(device):
    out = lp.zeros(6, device=device)
    shuffled[1](out)
    assert out.numpy().tolist() == [3, 4, 0, 5, 5, 3]


class _MadeAnew(type):
    """Each look-up of an attribute makes a new array, which may lie where the one before it lay."""

    ONES = property(lambda _: np.array([1, 2, 3], np.int32))
    TENS = property(lambda _: np.array([10, 20, 30], np.int32))
    MORE = property(lambda _: np.array([7, 8, 9], np.int32))


class Tables(metaclass=_MadeAnew):
    pass


@lp.kernel
def made_anew(out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    out[0] = Tables.ONES[i]
    out[1] = Tables.ONES[i]
    out[2] = Tables.TENS[i]
    out[3] = Tables.TENS[i]
    out[4] = Tables.MORE[i]
    out[5] = Tables.MORE[i]
    out[6] = Tables.ONES[i]
    out[7] = Tables.TENS[i]


def test_objects_that_each_look_up_makes_anew(device, monkeypatch):
    known: list[weakref.ref[object]] = []

    def reused_at_once(value):
        """What `id` may be at worst: a number of an object that is gone."""
        for number, reference in enumerate(known):
            if reference() is value:
                return number
        free = [number for number, reference in enumerate(known) if reference() is None]
        number = free[0] if free else len(known)
        known[number : number + 1] = [weakref.ref(value)]
        return number

    monkeypatch.setattr(captured_data, "id", reused_at_once, raising=False)
    made_anew.compiled.clear()
    out = lp.zeros(8, lp.i32, device=device)
    made_anew[1](out)
    assert out.numpy().tolist() == [1, 1, 10, 10, 7, 7, 1, 10]
