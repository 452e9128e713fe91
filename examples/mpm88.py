"""MPM88: a block of water falls, by the material point method, after the example of Taichi that has this name.

Particles hand their mass and momentum to a grid, where atomic additions sum it up; the grid moves, and hands its
motion back.  A graph holds 25 such steps.

python examples/mpm88.py [--output FILE] [--particles N] [--grid N] [--steps N] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

STEP, STIFFNESS, GRAVITY = 2e-4, 400.0, 9.8
WALL = 3
"""Cells at each side that nothing moves into."""
STEPS_OF_A_GRAPH = 25


@lp.func
def weights(f: lp.f32x2) -> tuple[lp.f32x2, lp.f32x2, lp.f32x2]:
    """The quadratic B-splines of three cells, by how far a particle is from the first; x and y apart."""
    return 0.5 * (1.5 - f) * (1.5 - f), 0.75 - (f - 1.0) * (f - 1.0), 0.5 * (f - 0.5) * (f - 0.5)


@lp.kernel
def to_grid(
    x: lp.In[lp.f32x2],
    v: lp.In[lp.f32x2],
    c: lp.In[lp.f32x4],
    volume: lp.In[lp.f32],
    grid: lp.Array[lp.f32, 3],
):
    p, cells = lp.global_id(0), grid.shape[0]
    place, own, affine = x[p] * lp.f32(cells), v[p], c[p]
    i, j = lp.i32(place.x - 0.5), lp.i32(place.y - 0.5)
    f = place - lp.f32x2(lp.f32(i), lp.f32(j))
    w = weights(f)
    pressure = -4.0 * STEP * STIFFNESS * (volume[p] - 1.0) * lp.f32(cells * cells)
    for a in lp.static_range(3):
        for b in lp.static_range(3):
            share = w[a].x * w[b].y
            dx, dy = (a - f.x) / lp.f32(cells), (b - f.y) / lp.f32(cells)
            lp.atomic.add(
                grid, (i + a, j + b, 0), share * (own.x + (affine.x + pressure) * dx + affine.y * dy)
            )
            lp.atomic.add(
                grid, (i + a, j + b, 1), share * (own.y + affine.z * dx + (affine.w + pressure) * dy)
            )
            lp.atomic.add(grid, (i + a, j + b, 2), share)


@lp.kernel
def move_grid(grid: lp.Array[lp.f32, 3]):
    i, j, cells = lp.global_id(0), lp.global_id(1), grid.shape[0]
    mass = grid[i, j, 2]
    if mass > 0.0:
        vx, vy = grid[i, j, 0] / mass, grid[i, j, 1] / mass - STEP * GRAVITY
        grid[i, j, 0] = 0.0 if (i < WALL and vx < 0.0) or (i > cells - WALL and vx > 0.0) else vx
        grid[i, j, 1] = 0.0 if (j < WALL and vy < 0.0) or (j > cells - WALL and vy > 0.0) else vy


@lp.kernel
def to_particles(
    x: lp.Array[lp.f32x2],
    v: lp.Out[lp.f32x2],
    c: lp.Out[lp.f32x4],
    volume: lp.Array[lp.f32],
    grid: lp.In[lp.f32, 3],
):
    p, cells = lp.global_id(0), grid.shape[0]
    place = x[p] * lp.f32(cells)
    i, j = lp.i32(place.x - 0.5), lp.i32(place.y - 0.5)
    f = place - lp.f32x2(lp.f32(i), lp.f32(j))
    w = weights(f)
    new, affine = lp.f32x2(0.0), lp.f32x4(0.0)
    for a in lp.static_range(3):
        for b in lp.static_range(3):
            share = w[a].x * w[b].y
            gx, gy = share * grid[i + a, j + b, 0], share * grid[i + a, j + b, 1]
            new += lp.f32x2(gx, gy)
            dx, dy = 4.0 * (a - f.x) * lp.f32(cells), 4.0 * (b - f.y) * lp.f32(cells)
            affine += lp.f32x4(gx * dx, gx * dy, gy * dx, gy * dy)
    x[p] = x[p] + STEP * new
    v[p] = new
    c[p] = affine
    volume[p] = volume[p] * (1.0 + STEP * (affine.x + affine.w))


def block(particles: int, seed: int = 1) -> NDArray[np.float32]:
    """Returns the places of the water at first, (particles, 2)."""
    return (np.random.default_rng(seed).random((particles, 2)) * 0.4 + 0.2).astype(np.float32)


def run(
    start: NDArray[np.float32], cells: int, steps: int, device: lp.Device | str | None = None
) -> NDArray[np.float32]:
    """Returns the places after some steps, (particles, 2)."""
    n = len(start)
    x, v = lp.asarray(start, dtype=lp.f32x2, device=device), lp.zeros(n, lp.f32x2, device=device)
    c, volume = lp.zeros(n, lp.f32x4, device=device), lp.ones(n, device=device)
    grid = lp.zeros((cells, cells, 3), device=device)

    def step() -> None:
        grid.fill(0.0)
        to_grid[n](x, v, c, volume, grid)
        move_grid[cells, cells](grid)
        to_particles[n](x, v, c, volume, grid)

    with lp.graph() as several:
        for _ in range(STEPS_OF_A_GRAPH):
            step()
    for _ in range(steps // STEPS_OF_A_GRAPH):
        several.replay()
    for _ in range(steps % STEPS_OF_A_GRAPH):
        step()
    return x.numpy()


def run_numpy(start: NDArray[np.float32], cells: int, steps: int) -> NDArray[np.float64]:
    """The same with NumPy, in float64."""
    x = start.astype(np.float64)
    v, c, volume = np.zeros_like(x), np.zeros((len(x), 2, 2)), np.ones(len(x))
    around = np.array([(a, b) for a in range(3) for b in range(3)])
    for _ in range(steps):
        base = np.floor(x * cells - 0.5).astype(int)
        f = x * cells - base
        w = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
        share = w[around[:, 0], :, 0] * w[around[:, 1], :, 1]
        place = tuple((base + around[:, None]).transpose(2, 0, 1))
        away = (around[:, None] - f) / cells
        pressure = -4 * STEP * STIFFNESS * (volume - 1) * cells**2
        pushed = v + np.einsum("pij,spj->spi", c, away) + pressure[:, None] * away
        moved, mass = np.zeros((cells, cells, 2)), np.zeros((cells, cells))
        np.add.at(moved, place, share[..., None] * pushed)
        np.add.at(mass, place, share)
        moved /= np.where(mass > 0, mass, 1)[..., None]
        moved[..., 1] -= np.where(mass > 0, STEP * GRAVITY, 0)
        for axis in (0, 1):
            wall = np.moveaxis(moved[..., axis], axis, 0)
            wall[:WALL] = wall[:WALL].clip(min=0)
            wall[cells - WALL + 1 :] = wall[cells - WALL + 1 :].clip(max=0)
        found = share[..., None] * moved[place]
        v = found.sum(0)
        c = 4 * cells**2 * np.einsum("spi,spj->pij", found, away)
        x = x + STEP * v
        volume *= 1 + STEP * np.trace(c, axis1=1, axis2=2)
    return x


def picture(places: NDArray[np.float32], size: int = 512) -> Image.Image:
    """Returns the water in its box."""
    counts, _, _ = np.histogram2d(1 - places[:, 1], places[:, 0], bins=size, range=[[0, 1]] * 2)
    water = np.array((32, 96, 160)) + np.clip(counts, 0, 1)[..., None] * np.array((100, 110, 95))
    return Image.fromarray(water.astype(np.uint8))


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="Falling water, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/mpm88.png"), help="the picture")
    parser.add_argument("--particles", type=int, default=8192)
    parser.add_argument("--grid", type=int, default=128, metavar="N", help="cells of a side")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)

    start = block(options.particles)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    picture(run(start, options.grid, options.steps, options.device)).save(options.output)
    few = min(options.steps, 30)  # small differences grow: water is chaotic
    error = float(
        np.abs(run(start, options.grid, few, options.device) - run_numpy(start, options.grid, few)).max()
    )
    print(f"{options.output}: after {few} steps places differ from NumPy's by {error:.1e} at most")
    return 0 if error < 1e-5 else 1


if __name__ == "__main__":
    raise SystemExit(main())
