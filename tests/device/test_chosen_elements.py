"""Elements and rows of fixed arrays in values, stored and read at indices known at run time only, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Board:
    pairs: lp.FixedArray[lp.i32x2, 2, 3]
    marks: lp.FixedArray[lp.i32, 3]


def change(boards: lp.Array[Board], places: lp.In[lp.i32x2]):
    n = lp.global_id(0)
    board, i, j = boards[n], places[n].x, places[n].y
    board.pairs[i, j].y = 100 + n
    board.pairs[1, j].x += 10
    board.pairs[i, 2] = board.pairs[1 - i][j]
    row = board.pairs[i]
    board.pairs[i, 0] = row[j] * 2
    board.marks[j] = row[(j + 1) % 3].x
    board.pairs[1 - i] = row
    boards[n] = board


def changed(board: np.void, i: int, j: int, n: int) -> None:
    pairs = board["pairs"]
    pairs[i, j, 1] = 100 + n
    pairs[1, j, 0] += 10
    pairs[i, 2] = pairs[1 - i, j]
    row = pairs[i].copy()
    pairs[i, 0] = row[j] * 2
    board["marks"][j] = row[(j + 1) % 3, 0]
    pairs[1 - i] = row


@pytest.mark.parametrize("level", [0, 1, 2])
def test_elements_at_run_time_indices(device: lp.Device, level: int) -> None:
    host = np.zeros(6, Board.dtype)
    host["pairs"] = np.arange(72).reshape(6, 2, 3, 2)
    host["marks"] = -1
    places = np.array([(i, j) for i in range(2) for j in range(3)], np.int32)
    boards = lp.asarray(host, Board, device=device)
    kernel = lp.kernel(opt_level=level)(change)
    kernel[6](boards, lp.asarray(places, lp.i32x2, device=device))
    for n, (i, j) in enumerate(places):
        changed(host[n], i, j, n)
    np.testing.assert_array_equal(boards.numpy()["pairs"], host["pairs"])
    np.testing.assert_array_equal(boards.numpy()["marks"], host["marks"])
