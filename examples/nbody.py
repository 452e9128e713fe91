"""Bodies that attract each other: every body against every other one, tile by tile through shared memory.

python examples/nbody.py [--output FILE] [--bodies N] [--steps N] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import lapilli as lp

TILE = 64
"""Bodies of a work-group; their number must be a multiple of it."""
SOFTENING = 0.01
"""Keeps forces finite where bodies meet."""
STEP = 1e-3


@lp.kernel
def move(
    item: lp.NdItem[1],
    here: lp.In[lp.f32x4],
    velocity: lp.Array[lp.f32x4],
    there: lp.Out[lp.f32x4],
    dt: lp.f32,
):
    tile = lp.local.array(TILE, lp.f32x4)
    own, place = item.get_global_id(0), item.get_local_id(0)
    body = here[own]
    ax, ay, az = 0.0, 0.0, 0.0
    for start in range(0, len(here), TILE):
        tile[place] = here[start + place]
        lp.barrier()
        for k in range(TILE):
            other = tile[k]
            dx, dy, dz = other.x - body.x, other.y - body.y, other.z - body.z
            inverse = 1.0 / lp.math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = other.w * inverse * inverse * inverse  # w is the mass
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        lp.barrier()
    v = velocity[own]
    v = lp.f32x4(v.x + dt * ax, v.y + dt * ay, v.z + dt * az, 0.0)
    velocity[own] = v
    there[own] = lp.f32x4(body.x + dt * v.x, body.y + dt * v.y, body.z + dt * v.z, body.w)


Bodies = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Places with masses, and velocities; both (bodies, 4)."""


def disc(bodies: int, seed: int = 1) -> Bodies:
    """Returns a rotating disc around a heavy body."""
    rng = np.random.default_rng(seed)
    radius, angle = np.sqrt(rng.uniform(0.05, 1, bodies)), rng.uniform(0, 2 * np.pi, bodies)
    x, y, z = radius * np.cos(angle), radius * np.sin(angle), rng.normal(0, 0.02, bodies)
    places = np.stack([x, y, z, np.full(bodies, 1 / bodies)], 1)
    speed = 1 / np.sqrt(radius + 0.05)
    velocities = np.stack([-speed * np.sin(angle), speed * np.cos(angle), 0 * z, 0 * z], 1)
    places[0], velocities[0] = (0, 0, 0, 1), 0
    return places.astype(np.float32), velocities.astype(np.float32)


def run(start: Bodies, steps: int, device: lp.Device | str | None = None) -> NDArray[np.float32]:
    """Returns the places after some steps, (bodies, 4)."""
    here, velocity = (lp.asarray(part, dtype=lp.f32x4, device=device) for part in start)
    there = lp.empty_like(here)
    for _ in range(steps):
        move[lp.NdRange(len(here), TILE)](here, velocity, there, STEP)
        here, there = there, here
    return here.numpy()


def run_numpy(start: Bodies, steps: int) -> NDArray[np.float64]:
    """The same with NumPy, in float64."""
    places, velocities = start[0].astype(np.float64), start[1].astype(np.float64)
    for _ in range(steps):
        between = places[None, :, :3] - places[:, None, :3]
        pull = places[None, :, 3] * ((between**2).sum(2) + SOFTENING) ** -1.5
        velocities[:, :3] += STEP * (pull[..., None] * between).sum(1)
        places[:, :3] += STEP * velocities[:, :3]
    return places


def picture(places: NDArray[np.float32], size: int = 512) -> Image.Image:
    """Returns the disc from above: the brighter, the more bodies."""
    counts, _, _ = np.histogram2d(places[:, 1], places[:, 0], bins=size, range=[[-1.2, 1.2]] * 2)
    around = [np.roll(counts, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return Image.fromarray(np.clip(60 * np.sum(around, 0) + 120 * counts, 0, 255).astype(np.uint8))


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where device and NumPy disagree."""
    parser = argparse.ArgumentParser(description="An n-body simulation, checked against NumPy.")
    parser.add_argument("--output", type=Path, default=Path("out/nbody.png"), help="the picture")
    parser.add_argument("--bodies", type=int, default=4096, help=f"a multiple of {TILE}")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", metavar="SELECTOR", help="`lapilli devices` lists them")
    options = parser.parse_args(args)

    start = disc(options.bodies)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    picture(run(start, options.steps, options.device)).save(options.output)
    few = min(options.steps, 5)  # NumPy takes a while
    error = float(np.abs(run(start, few, options.device) - run_numpy(start, few)).max())
    print(f"{options.output}: after {few} steps places differ from NumPy's by {error:.1e} at most")
    return 0 if error < 1e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
