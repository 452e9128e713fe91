"""`lapilli bench`: the command of the benchmarks, where there is a checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools import bench, cli


@pytest.mark.device
def test_it_measures_as_the_module_does(device: lp.Device, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    arguments = ["latency", "--device", device.selector, "--rounds", "1", "--json", str(path)]
    result = CliRunner().invoke(cli.group, ["bench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert {found["device"] for found in json.loads(path.read_text())["latency"]} == {device.selector}


def test_wrong_arguments_are_those_of_the_benchmarks() -> None:
    result = CliRunner().invoke(cli.group, ["bench", "speed"])
    assert result.exit_code == 2
    assert "'speed' is not one of 'latency', 'kernels'" in result.output


def test_without_a_checkout_it_says_where_the_benchmarks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    with pytest.raises(SystemExit) as done:
        cli.main(["bench"])
    assert done.value.code == 1
    assert f"no folder 'benchmarks' in {tmp_path}" in capsys.readouterr().err


def test_without_a_checkout_it_has_a_help_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    result = CliRunner().invoke(cli.group, ["bench", "--help"])
    assert result.exit_code == 0, result.output
    assert "needs a checkout" in result.output
