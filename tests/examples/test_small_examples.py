"""The examples of one kernel or two: each runs on every device, agrees with NumPy, notices if not, and draws."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lapilli as lp

FOLDER = Path(__file__).resolve().parents[2] / "examples"

SMALL = {
    "mandelbrot": ("--size", "48"),
    "life": ("--size", "24", "--generations", "6"),
    "nbody": ("--bodies", "128", "--steps", "3"),
    "reduction": ("--size", "60"),
    "image_filters": ("--size", "40"),
    "mpm88": ("--particles", "200", "--grid", "32", "--steps", "30"),
}
"""Example -> arguments that make it small."""

LINES = {"mpm88": 210}
"""What is longer than the others: three kernels, and the same with NumPy."""


def load(name: str) -> ModuleType:
    module_name = f"{name}_example"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        spec.loader.exec_module(module)
    return sys.modules[module_name]


@pytest.mark.device
@pytest.mark.parametrize("name", SMALL)
def test_it_agrees_with_numpy_and_draws(
    name: str, device: lp.Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made" / "picture.png"
    arguments = [*SMALL[name], "--output", str(path), "--device", device.selector]
    assert load(name).main(arguments) == 0
    assert str(path) in capsys.readouterr().out
    with Image.open(path) as picture:
        assert picture.width >= 24 and len(set(picture.convert("L").tobytes())) > 1


@pytest.mark.device
@pytest.mark.parametrize(
    ("name", "attribute", "wrong"),
    [
        ("mandelbrot", "compute_numpy", lambda size: np.zeros((size, size), np.int32)),
        ("life", "run_numpy", lambda cells, _: cells),
        ("nbody", "run_numpy", lambda start, _: start[0] + 1),
        ("reduction", "total", lambda _: 0.0),
        ("image_filters", "turn_numpy", lambda picture, _: picture + 90.0),
        ("image_filters", "edges_numpy", lambda turned: turned + 90.0),
        ("mpm88", "run_numpy", lambda start, *_: start),
    ],
)
def test_a_wrong_result_is_noticed(
    name: str, attribute: str, wrong: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    example = load(name)
    monkeypatch.setattr(example, attribute, wrong)
    assert example.main([*SMALL[name], "--output", str(tmp_path / "picture.png")]) == 1


@pytest.mark.parametrize("name", SMALL)
def test_it_is_short(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text("utf-8").splitlines()) < LINES.get(name, 120)


def test_a_glider_comes_back_on_the_torus() -> None:
    cells = np.zeros((6, 6), np.int32)
    cells[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    moved = load("life").run_numpy(cells, 4)
    np.testing.assert_array_equal(moved, np.roll(cells, (1, 1), (0, 1)))


def test_momentum_is_kept_by_the_reference() -> None:
    example = load("nbody")
    places, velocities = example.disc(64)
    momentum = (places[:, 3:] * velocities[:, :3]).sum(0)
    moved = example.run_numpy((places, velocities), 3)
    drift = (places[:, 3:] * (moved[:, :3] - places[:, :3])).sum(0)
    np.testing.assert_allclose(drift, 3 * example.STEP * momentum, atol=1e-6)
