"""The convolution example: its NumPy reference on cases done by hand, its verdict, and one whole run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lapilli as lp

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "convolution.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("convolution_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["convolution_example"] = module
    spec.loader.exec_module(module)
    return module


def test_reference_takes_zero_beyond_the_border(example: ModuleType) -> None:
    image = np.array([[1, 2], [3, 4]], np.float32)
    expected = np.full((2, 2), 10.0)  # every 3x3 window covers the whole image
    np.testing.assert_array_equal(expected, example.convolve_numpy(image, np.ones((3, 3), np.float32)))


def test_reference_does_not_mirror_the_coefficients(example: ModuleType) -> None:
    image = np.zeros((3, 3), np.float32)
    image[0, 0] = 1
    coefficients = np.arange(9, dtype=np.float32).reshape(3, 3)
    result = example.convolve_numpy(image, coefficients)
    assert result[1, 1] == coefficients[0, 0]  # as the kernel reads source[row - 1, column - 1]


def test_photograph_is_an_upright_picture_in_grey_levels(example: ModuleType) -> None:
    photograph = example.load_photograph()
    rows, columns = photograph.shape
    assert rows > columns > 400  # a portrait
    assert photograph.dtype == np.float32
    assert photograph.min() >= 0 and 200 < photograph.max() <= example.WHITE


def test_blur_and_sharpen_keep_brightness_and_edge_removes_it(example: ModuleType) -> None:
    sums = {name: float(array.sum()) for name, array in example.COEFFICIENTS.items()}
    assert sums == pytest.approx({"blur": 1.0, "sharpen": 1.0, "edge": 0.0}, abs=1e-6)  # f32 ninths


class FakePlatform:
    name, version = "driver", "1.0"


class FakeDevice:
    name, selector, platform = "device", "0", FakePlatform()


@pytest.mark.parametrize(
    ("modules", "pipelines", "error", "expected"),
    [(1, 3, 1e-4, True), (3, 3, 1e-4, False), (1, 1, 1e-4, False), (1, 3, 0.1, False), (1, 3, np.nan, False)],
)
def test_verdict_needs_one_module_three_pipelines_and_a_small_error(
    example: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    modules: int,
    pipelines: int,
    error: float,
    expected: bool,
) -> None:
    row = example.Row(coefficients="blur", kernel_ms=1.0, error=error, modules=modules, pipelines=pipelines)
    monkeypatch.setattr(example, "run_on", lambda *_: [row])
    image = np.zeros((2, 2), np.float32)
    verdict = example.report(example.Console(), example.Table(*"abcdefg"), FakeDevice(), image, tmp_path)
    assert verdict is expected


def test_a_failing_device_does_not_hide_the_others(
    example: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run_on(device: FakeDevice, *_: Any) -> Any:
        if device.selector == "0":
            raise lp.InvalidError("the driver refused")
        return [example.Row(coefficients="blur", kernel_ms=1.0, error=0.0, modules=1, pipelines=3)]

    second = FakeDevice()
    second.selector = "second"
    monkeypatch.setattr(example, "run_on", run_on)
    monkeypatch.setattr(example.lp, "devices", lambda: [FakeDevice(), second])
    monkeypatch.setenv("COLUMNS", "200")
    assert example.main(["--output", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "the driver refused" in output
    assert "second" in output and "blur" in output


@pytest.mark.device
def test_whole_run_on_every_device(tmp_path: Path) -> None:
    devices = lp.devices()
    command = (sys.executable, str(EXAMPLE), "--output", str(tmp_path), "--dump", str(tmp_path / "stages"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.png"))) == 1 + 3 * len(devices)
    with Image.open(next(tmp_path.glob("*-blur.png"))) as picture:
        assert picture.size[1] > picture.size[0] > 400
    stages = tmp_path / "stages"
    assert "convolve" in (stages / "kernel.py").read_text("utf-8")
    for name in ("kernel.mlir", "split.mlir"):
        text = (stages / name).read_text("utf-8")
        assert text.startswith("builtin.module") and "spec_constant.declare" in text
    assert "spirv.SpecConstantComposite" in (stages / "spirv-dialect.mlir").read_text("utf-8")
    assert (stages / "kernel.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"
    assert "OpSpecConstantComposite" in (stages / "kernel.spvasm").read_text("utf-8")
    assert json.loads((stages / "metadata.json").read_text("utf-8"))
