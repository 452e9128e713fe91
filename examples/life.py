"""Conway's Game of Life on a torus: two arrays that take turns, recorded once as a graph and replayed.

python examples/life.py [--output FILE] [--size N] [--generations N] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

SHARE_ALIVE = 0.3


@lp.kernel
def step(cells: lp.In[lp.i32, 2], result: lp.Out[lp.i32, 2]):
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = cells.shape
    neighbours = 0
    for i in lp.static_range(-1, 2):
        for j in lp.static_range(-1, 2):
            if i != 0 or j != 0:
                neighbours += cells[(row + i + rows) % rows, (column + j + columns) % columns]
    alive = neighbours == 3 or (neighbours == 2 and cells[row, column] == 1)
    result[row, column] = 1 if alive else 0


def run(
    cells: NDArray[np.int32], generations: int, device: lp.Device | str | None = None
) -> NDArray[np.int32]:
    """Returns the cells, 1 where they live, after an even number of generations."""
    if generations % 2:
        raise ValueError("the graph holds two generations: expected an even number")
    here = lp.asarray(cells, device=device)
    there = lp.empty_like(here)
    with lp.graph() as two_generations:
        step[cells.shape](here, there)
        step[cells.shape](there, here)
    for _ in range(generations // 2):
        two_generations.replay()
    return here.numpy()


def run_numpy(cells: NDArray[np.int32], generations: int) -> NDArray[np.int32]:
    """The same with NumPy."""
    for _ in range(generations):
        shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        neighbours = sum(np.roll(cells, shift, (0, 1)) for shift in shifts)
        cells = ((neighbours == 3) | ((neighbours == 2) & (cells == 1))).astype(np.int32)
    return cells


def picture(cells: NDArray[np.int32], scale: int = 2) -> Image.Image:
    """Returns living cells in black."""
    return Image.fromarray(np.where(cells == 1, 0, 255).astype(np.uint8)).resize(
        (cells.shape[1] * scale, cells.shape[0] * scale), Image.Resampling.NEAREST
    )


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="The Game of Life, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/life.png"), help="the picture")
    parser.add_argument("--size", type=int, default=512, help="cells along each side")
    parser.add_argument("--generations", type=int, default=100, help="an even number")
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)
    if options.generations % 2:
        parser.error("--generations takes an even number")

    start = (np.random.default_rng(1).random((options.size, options.size)) < SHARE_ALIVE).astype(np.int32)
    cells = run(start, options.generations, options.device)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    picture(cells).save(options.output)
    is_same = np.array_equal(cells, run_numpy(start, options.generations))
    verdict = "as NumPy says" if is_same else "NOT as NumPy says"
    print(f"{options.output}: {cells.sum()} cells alive after {options.generations} generations, {verdict}")
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
