"""Images: a picture is turned by a sampler, then its edges are drawn from single pixels; checked against NumPy.

The first kernel reads a picture of 8-bit pixels through a sampler that filters and mirrors it beyond its edges, and
writes another such picture; the second reads that one pixel by pixel.  Formats, filtering and edges are the device's
work: the kernels see floats.

python examples/image_filters.py [--output FILE] [--size N] [--degrees D] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

SAMPLER = lp.ImageSampler("mirrored_repeat", "normalized", "linear")
TOLERANCE = 3
"""Largest difference of an 8-bit channel: filters know where between two pixels they are to 8 bits."""


@lp.kernel
def turn(
    source: lp.SampledImage[lp.f32x4, 2], target: lp.UnsampledImage[lp.f32x4, 2], sine: lp.f32, cosine: lp.f32
):
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = target.shape
    y, x = (row + 0.5) / rows - 0.5, (column + 0.5) / columns - 0.5
    target[row, column] = source.sample(cosine * y - sine * x + 0.5, sine * y + cosine * x + 0.5)


@lp.kernel
def edges(source: lp.UnsampledImage[lp.f32x4, 2], target: lp.UnsampledImage[lp.f32x4, 2]):
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = source.shape
    below = source[min(row + 1, rows - 1), column] - source[row, column]
    right = source[row, min(column + 1, columns - 1)] - source[row, column]
    strength = min(1.0, 4.0 * lp.math.length(below) + 4.0 * lp.math.length(right))
    target[row, column] = lp.f32x4(1.0 - strength, 1.0 - strength, 1.0 - strength, 1.0)


def draw(size: int) -> NDArray[np.uint8]:
    """Returns a picture of rings and stripes, (size, size, 4)."""
    y, x = np.mgrid[0:size, 0:size] / size
    rings = np.sin(24 * np.hypot(y - 0.3, x - 0.4))
    channels = (rings, np.sin(18 * x + 9 * y), np.cos(20 * y), np.ones_like(x))
    return np.rint(255 * (np.stack(channels, -1) + 1) / 2).astype(np.uint8)


def run(
    picture: NDArray[np.uint8], degrees: float, device: lp.Device | str | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the turned picture and its edges, 8 bits a channel."""
    source = lp.SampledImage(picture, SAMPLER, device=device)
    turned = lp.UnsampledImage(shape=source.shape, format=source.format, device=source.device)
    drawn = lp.UnsampledImage(shape=source.shape, format=source.format, device=source.device)
    angle = math.radians(degrees)
    turn[source.shape](source, turned, math.sin(angle), math.cos(angle))
    edges[source.shape](turned, drawn)
    return turned.numpy(), drawn.numpy()


def turn_numpy(picture: NDArray[np.uint8], degrees: float) -> NDArray[np.float64]:
    """The first kernel with NumPy, before rounding to 8 bits."""
    size = np.array(picture.shape[:2])
    centred = (np.moveaxis(np.mgrid[: size[0], : size[1]], 0, -1) + 0.5) / size - 0.5
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    place = (centred @ np.array([[cosine, sine], [-sine, cosine]]) + 0.5) * size - 0.5
    first = np.floor(place).astype(int)
    share = place - first
    total = np.zeros(picture.shape)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        folded = (first + np.array((down, right))) % (2 * size)
        index = np.where(folded < size, folded, 2 * size - 1 - folded)
        weight = np.where((down, right), share, 1 - share).prod(-1)
        total += weight[..., None] * picture[index[..., 0], index[..., 1]]
    return total


def edges_numpy(turned: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The second kernel with NumPy, before rounding to 8 bits."""
    whole = np.pad(turned / 255, ((0, 1), (0, 1), (0, 0)), mode="edge")
    here = whole[:-1, :-1]
    steps = [np.linalg.norm(other - here, axis=-1) for other in (whole[1:, :-1], whole[:-1, 1:])]
    grey = 255 * (1 - np.minimum(1, 4 * steps[0] + 4 * steps[1]))
    return np.stack([grey, grey, grey, np.full_like(grey, 255)], -1)


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="Filters on images, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/image_filters.png"), help="the picture")
    parser.add_argument("--size", type=int, default=384, help="pixels along each side")
    parser.add_argument("--degrees", type=float, default=30.0, help="by how much to turn it")
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)

    picture = draw(options.size)
    turned, drawn = run(picture, options.degrees, options.device)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate([picture, turned, drawn], axis=1)).save(options.output)
    differences = (
        np.abs(turned - turn_numpy(picture, options.degrees)).max(),
        np.abs(drawn - edges_numpy(turned)).max(),
    )
    is_same = max(differences) <= TOLERANCE
    verdict = "as NumPy says" if is_same else "NOT as NumPy says"
    print(f"{options.output}: turned and drawn, at most {max(differences):.2f} of 255 off, {verdict}")
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
