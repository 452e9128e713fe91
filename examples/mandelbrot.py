"""The Mandelbrot set: one work-item per pixel, each with a loop of its own length.

python examples/mandelbrot.py [--output FILE] [--size N] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

LEFT, BOTTOM, EXTENT = -2.25, -1.5, 3.0
"""The square of the complex plane that is shown."""
LIMIT = 200
"""Iterations after which a point counts as inside."""


@lp.kernel
def mandelbrot(left: lp.f32, bottom: lp.f32, step: lp.f32, limit: lp.i32, steps: lp.Out[lp.i32, 2]):
    row, column = lp.global_id(0), lp.global_id(1)
    x0 = left + step * lp.f32(column)
    y0 = bottom + step * lp.f32(row)
    x = 0.0
    y = 0.0
    count = 0
    while count < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + x0, 2.0 * x * y + y0
        count += 1
    steps[row, column] = count


def compute(size: int, device: lp.Device | str | None = None) -> NDArray[np.int32]:
    """Returns the iterations of each point, (size, size)."""
    steps = lp.empty((size, size), dtype=np.int32, device=device)
    mandelbrot[size, size](LEFT, BOTTOM, EXTENT / size, LIMIT, steps)
    return steps.numpy()


def compute_numpy(size: int) -> NDArray[np.int32]:
    """The same with NumPy: all points at once, those that have escaped are left alone."""
    step = np.float32(EXTENT / size)
    places = np.arange(size, dtype=np.float32)
    x0 = np.broadcast_to(np.float32(LEFT) + step * places, (size, size))
    y0 = np.broadcast_to((np.float32(BOTTOM) + step * places)[:, None], (size, size))
    x, y = np.zeros((size, size), np.float32), np.zeros((size, size), np.float32)
    steps = np.zeros((size, size), np.int32)
    for _ in range(LIMIT):
        inside = x * x + y * y <= 4
        steps += inside
        x_next = np.where(inside, x * x - y * y + x0, x)
        y = np.where(inside, 2 * x * y + y0, y)
        x = x_next
    return steps


def share_that_differs(found: NDArray[np.int32], expected: NDArray[np.int32]) -> float:
    """Returns the share of points with other counts: rounding decides at the border, which is chaotic."""
    return float(np.mean(found != expected))


def picture(steps: NDArray[np.int32]) -> Image.Image:
    """Returns the set in black, and around it colours by the iterations."""
    phase = np.sqrt(steps / LIMIT)[..., None] * 9 + np.array([0.0, 0.6, 1.2])
    levels: NDArray[Any] = np.where((steps < LIMIT)[..., None], 127.5 - 127.5 * np.cos(phase), 0)
    return Image.fromarray(levels.astype(np.uint8))


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="The Mandelbrot set, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/mandelbrot.png"), help="the picture")
    parser.add_argument("--size", type=int, default=1024, help="pixels along each side")
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)

    with lp.profile() as profile:
        steps = compute(options.size, options.device)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    picture(steps).save(options.output)
    print(profile)
    differing = share_that_differs(steps, compute_numpy(options.size))
    print(f"{options.output}: {differing:.3%} of the points differ from NumPy")
    return 0 if differing < 0.02 else 1


if __name__ == "__main__":
    raise SystemExit(main())
