"""The benchmark harness on tiny sizes: results verified on both sides, reports complete.  No times are judged."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools.bench import load

cases = load("cases")
kernels = load("kernels")
latency = load("latency")
command = load("__main__")
report = load("report")
glsl = load("glsl")

_MISSING = glsl.missing_tools()
needs_glsl = pytest.mark.skipif(
    bool(_MISSING), reason=f"{', '.join(_MISSING)} not found (Debian: glslang-tools, spirv-tools)"
)
TINY: dict[str, Any] = {case.name: case for case in cases.make_cases("tiny")}


def assert_is_spread(spread: dict[str, float]) -> None:
    assert 0 < spread["min"] <= spread["median"] <= spread["max"]


@needs_glsl
@pytest.mark.device
@pytest.mark.parametrize("name", TINY)
def test_both_sides_of_a_case_agree_with_numpy(device: lp.Device, name: str) -> None:
    result = kernels.measure_case(device, TINY[name], 2).as_dict()
    assert (result["device"], result["case"]) == (device.selector, name)
    for field in ("lapilli_ms", "glsl_ms", "ratio"):
        assert_is_spread(result[field])


@needs_glsl
@pytest.mark.device
@pytest.mark.parametrize("side", ["plain", "GLSL"])
def test_wrong_result_is_refused_on_either_side(device: lp.Device, side: str) -> None:
    verdicts = iter([True] * ["plain", "GLSL"].index(side) + [False])
    wrong = dataclasses.replace(TINY["reduction"], check=lambda result, arrays: next(verdicts))
    with pytest.raises(kernels.WrongResultError, match=f"case 'reduction', {side}, on device"):
        kernels.measure_case(device, wrong, 1)


@pytest.mark.device
def test_latency_names_every_array_with_a_launch_too_many(device: lp.Device) -> None:
    arrays = [lp.zeros(latency.WORK_GROUP, device=device) for _ in range(4)]
    counter = latency._Counter(arrays[0], arrays[1:], raw=None)
    counter.check(device)
    arrays[1].fill(3)
    arrays[3].fill(-3)
    with pytest.raises(
        kernels.WrongResultError, match="2 of 4 are wrong: array 1: 3 to 3 after 0; array 3: -3 to"
    ):
        counter.check(device)


@pytest.mark.device
def test_latency_counts_every_launch(device: lp.Device) -> None:
    results = latency.measure_latency(device, rounds=2, launches=3)
    assert {result.what for result in results} == {
        "launch + wait",
        "checked",
        "enqueue",
        "graph node",
        "free graph node",
    }
    for result in results:
        assert_is_spread(result.as_dict()["ratio"])


@pytest.mark.device
def test_report_holds_machine_driver_and_ratios(device: lp.Device, tmp_path: Path) -> None:
    settings = command.Settings(size="tiny", rounds=1, launches=2)
    report = command.run((device,), settings, command.make_console())
    path = tmp_path / "results" / "run.json"
    report.save(path)
    content = json.loads(path.read_text())
    assert content["machine"]["cpu"]
    assert content["machine"]["devices"][device.selector]["driver"] == device.platform.name
    assert all(result["ratio"]["median"] > 0 for result in content["latency"])
    if _MISSING:
        assert "glslang" in content["skipped"][0]
    else:
        assert [result["case"] for result in content["kernels"]] == list(TINY)
    text = path.with_suffix(".md").read_text()
    platform = device.platform
    assert f"| {device.selector} | {device.name} | {platform.name} | {platform.version} |" in text
    assert content["machine"]["cpu"] in text and f"lapilli {lp.__version__}, xdsl " in text
    assert text.count(f"\n| {device.selector} |") == 1 + len(report.latency) + len(report.kernels)


RUNS = [path for path in command.RESULTS.glob("*.json") if '"latency": [' in path.read_text("utf-8")]


def test_runs_of_software_drivers_and_of_a_gpu_are_kept() -> None:
    drivers = {
        found["driver"]
        for path in RUNS
        for found in json.loads(path.read_text("utf-8"))["machine"]["devices"].values()
    }
    assert drivers >= {"llvmpipe", "SwiftShader driver", "NVIDIA"}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_the_tables_that_are_kept_say_what_was_measured(path: Path) -> None:
    saved = report.Report.from_json(path.read_text("utf-8"))
    assert saved.to_json() == path.read_text("utf-8")
    assert saved.to_markdown() == path.with_suffix(".md").read_text("utf-8")


@pytest.mark.device
def test_missing_compiler_is_named_and_the_rest_runs(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "missing_tools", lambda: ["glslangValidator"])
    settings = command.Settings(size="tiny", rounds=1, launches=2)
    report = command.run((device,), settings, command.make_console())
    assert report.latency and not report.kernels
    assert "apt-get install glslang-tools" in capsys.readouterr().out


@pytest.mark.device
def test_save_names_the_file_by_machine_and_date(
    device: lp.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "measure_latency", lambda device, **_: [])
    arguments = ["latency", "--device", device.selector, "--rounds", "1", "--save"]
    result = CliRunner().invoke(command.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    saved, tables = sorted(tmp_path.iterdir())
    assert tables == saved.with_suffix(".md")
    date = json.loads(saved.read_text())["machine"]["date"]
    assert saved.name.endswith(f"-{date[:10]}.json")


def test_unknown_device_ends_with_the_devices_there_are() -> None:
    result = CliRunner().invoke(command.main, ["--device", "no such device"])
    assert result.exit_code == 1
