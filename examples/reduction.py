"""The mean and the histogram of a picture: partial results of work-groups, and atomics.

python examples/reduction.py [--output FILE] [--size N] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

GROUP = 128
"""Work-items of a group."""
BINS = 256


@lp.kernel
def sum_of_groups(item: lp.NdItem[1], values: lp.In[lp.f32], sums: lp.Out[lp.f32]):
    total = 0.0
    i = item.get_global_id(0)
    while i < len(values):  # each work-item takes every n-th element, so neighbours read neighbours
        total += values[i]
        i += item.get_global_range(0)
    total = lp.group.reduce(total, "add")
    if item.get_local_id(0) == 0:
        sums[item.get_group(0)] = total


@lp.kernel
def count_levels(values: lp.In[lp.f32], counts: lp.Array[lp.u32]):
    level = lp.i32(values[lp.global_id(0)] * lp.f32(BINS))
    lp.atomic.add(counts, min(max(level, 0), BINS - 1), lp.u32(1))


def total(values: lp.Array, groups: int = 64) -> float:
    """Returns the sum of an array: a sum for each group, and of these sums with one group."""
    sums = lp.empty(groups, device=values.device)
    result = lp.empty(1, device=values.device)
    sum_of_groups[lp.NdRange(groups * GROUP, GROUP)](values, sums)
    sum_of_groups[lp.NdRange(GROUP, GROUP)](sums, result)
    return float(result.numpy()[0])


def histogram(values: lp.Array) -> NDArray[np.uint32]:
    """Returns how many elements lie in each of `BINS` equal parts of 0 … 1."""
    counts = lp.zeros(BINS, dtype=np.uint32, device=values.device)
    count_levels[values.size](values, counts)
    return counts.numpy()


def waves(size: int) -> NDArray[np.float32]:
    """Returns a picture of two waves, values in 0 … 1."""
    y, x = np.mgrid[0:size, 0:size] / size
    return (0.5 + 0.25 * np.sin(20 * x + 9 * y) + 0.25 * np.cos(30 * y * x)).astype(np.float32)


def picture(counts: NDArray[np.uint32], height: int = 200) -> Image.Image:
    """Returns the histogram as black bars."""
    tops = height * (1 - counts / counts.max())
    levels = np.where(np.arange(height)[:, None] < tops[None, :], 255, 0).astype(np.uint8)
    return Image.fromarray(levels).resize((2 * BINS, height), Image.Resampling.NEAREST)


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="Reductions of a picture, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/reduction.png"), help="the histogram")
    parser.add_argument("--size", type=int, default=2048, help="pixels along each side of the picture")
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)

    pixels = waves(options.size).reshape(-1)
    values = lp.asarray(pixels, device=options.device)
    mean, counts = total(values) / pixels.size, histogram(values)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    picture(counts).save(options.output)
    error = abs(mean - float(pixels.mean(dtype=np.float64)))
    levels = np.clip((pixels * np.float32(BINS)).astype(np.int32), 0, BINS - 1)
    is_same = np.array_equal(counts, np.bincount(levels, minlength=BINS))
    print(
        f"{options.output}: mean {mean:.6f}, {error:.1e} from NumPy's; histogram {'equal' if is_same else 'differs'}"
    )
    return 0 if is_same and error < 1e-5 else 1


if __name__ == "__main__":
    raise SystemExit(main())
