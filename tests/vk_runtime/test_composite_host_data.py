"""Host values that go into arrays of vectors and structs are checked like those of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp


@lp.struct
class Item:
    key: lp.i32
    weight: lp.f32x2


def test_sequences_of_vectors(device):
    array = lp.asarray([[1, 2], [3, 4]], dtype=lp.i32x2, device=device)
    assert array.shape == (2,)
    np.testing.assert_array_equal(array.copy_from([[5, 6], [7, 8]]).numpy(), [[5, 6], [7, 8]])
    assert array.copy_from(array) is array
    np.testing.assert_array_equal(array.fill([1, 2]).numpy(), [[1, 2], [1, 2]])


@pytest.mark.parametrize("values", [[[1.5, 2]], [[1 << 31, 0]], [["a", "b"]], [[1, 2], [3]]])
def test_sequences_that_do_not_fit(device, values):
    with pytest.raises(lp.InvalidError):
        lp.asarray(values, dtype=lp.i32x2, device=device)
    with pytest.raises(lp.InvalidError):
        lp.zeros(1, lp.i32x2, device=device).copy_from(values)


def test_records(device):
    array = lp.asarray([(1, (2, 3)), (4, (5, 6))], dtype=Item, device=device)
    np.testing.assert_array_equal(array.numpy()["key"], [1, 4])
    swapped = array.numpy().astype(Item.dtype.newbyteorder(">"))
    np.testing.assert_array_equal(array.copy_from(swapped).numpy()["weight"], [[2, 3], [5, 6]])
    with pytest.raises(lp.InvalidError):
        array.copy_from([("a", (2, 3)), (4, (5, 6))])
