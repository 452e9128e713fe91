"""The comparison with CUDA on tiny sizes, without CUDA: lapilli's half runs and is checked; no times are judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools.bench import load

cuda = load("cuda")
cuda_cases = load("cuda_cases")


@pytest.mark.device
def test_lapillis_half_runs_alone(device: lp.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "load_cupy", lambda: None)
    names = ("saxpy", "saxpy, vec4", "n-body", "n-body, tiled", "launch + wait", "graph node of 1000")
    path = tmp_path / "cuda.json"
    arguments = ["--small", "--rounds", "1", "--device", device.selector, "--json", str(path)]
    result = CliRunner().invoke(cuda.main, [*arguments, *(f"--case={name}" for name in names)])
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(path.read_text())["results"]
    assert {entry["case"] for entry in found} == set(names)
    assert all(entry["time"]["median"] > 0 and entry["to_reference"] > 0 for entry in found)
    text = path.with_suffix(".md").read_text("utf-8")
    assert device.platform.version in text
    assert len(text.partition("| case |")[2].splitlines()) == len(found) + 2


@pytest.mark.device
def test_the_product_by_tiles_in_registers(device: lp.Device) -> None:
    (found,) = [case for case in cuda_cases.make_cuda_cases(small=True) if "registers" in case.case.name]
    case = found.case
    (stage,) = case.stages
    (local,) = case.local_sizes
    arrays = case.arrays_on(device)
    stage.kernel(local)[stage.extents(local)](*arrays)
    assert case.check(arrays[-1].numpy(), case.arrays)
    assert not case.check(arrays[-1].numpy() + 1, case.arrays)
