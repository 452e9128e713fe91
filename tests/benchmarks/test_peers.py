"""The comparison with other packages: protocol, failures and report with a fake package.  No times are judged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools.bench import load

cases = load("peers.cases")
command = load("peers.__main__")
measure = load("peers.measure")
processes = load("peers.processes")
packages = load("peers.packages")
results = load("peers.results")

ENVIRONMENT = dict(os.environ)
LATENCY = {case.name: case for case in cases.latency_cases(small=True)}
COPIES = {case.name: case for case in cases.copy_cases(small=True)}


def fake(name: str, *mode: str) -> Any:
    serve = (sys.executable, "-m", "benchmarks.peers.serve", "tests.benchmarks.fake_peer")
    return processes.Peer(name=name, command=(*serve, *mode))


def measured(case: Any, tmp_path: Path, *peers: Any, **options: Any) -> tuple[list[Any], list[str]]:
    """Returns the results of a case and what was left out."""
    skipped: list[str] = []
    with processes.Session(peers, ENVIRONMENT, skipped) as session:
        found = measure.measure_case(session, case, 2, tmp_path, **options)
    assert not list(tmp_path.iterdir()), "inputs and results are removed"
    return found, skipped


def test_sides_run_by_the_protocol_and_are_compared_with_lapilli(tmp_path: Path) -> None:
    found, skipped = measured(COPIES["upload"], tmp_path, fake("lapilli"), fake("other"), baseline="memcpy")
    assert not skipped
    assert [result.side for result in found] == ["lapilli", "other", "memcpy"]
    assert [result.ratio is None for result in found] == [True, False, False]
    assert all(0 < result.time.min <= result.time.median <= result.time.max for result in found)


def test_what_a_package_prints_is_no_answer(tmp_path: Path) -> None:
    found, skipped = measured(LATENCY["launch + wait"], tmp_path, fake("chatty", "chatty"))
    assert not skipped
    assert found[0].time.min > 0  # it printed an answer of 0 s


def test_a_case_that_a_package_does_not_have_is_left_out_silently(tmp_path: Path) -> None:
    assert measured(LATENCY["graph node"], tmp_path, fake("one")) == ([], [])
    assert measured(LATENCY["pipelined launch"], tmp_path, fake("one")) == ([], [])


@pytest.mark.parametrize("name", ["launch + wait", "upload"])
def test_a_wrong_result_has_no_time(tmp_path: Path, name: str) -> None:
    found, skipped = measured({**LATENCY, **COPIES}[name], tmp_path, fake("right"), fake("liar", "wrong"))
    assert [result.side for result in found] == ["right"]
    assert skipped == [f"{name}: liar: the result differs from NumPy's; its time would mean nothing"]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("dies", "has ended: .*the driver aborted"), ("fails", "RuntimeError: out of memory")],
)
def test_a_package_that_fails_is_named_and_the_others_go_on(tmp_path: Path, mode: str, reason: str) -> None:
    found, (line,) = measured(LATENCY["launch + wait"], tmp_path, fake("weak", mode), fake("right"))
    assert [result.side for result in found] == ["right"]
    with pytest.raises(AssertionError, match=f"(?s)launch \\+ wait: weak.*{reason}"):
        raise AssertionError(line)


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    absent = processes.Peer(name="gone", command=(str(tmp_path / "python"),))
    found, skipped = measured(LATENCY["launch + wait"], tmp_path, fake("none", "absent"), absent, fake("one"))
    assert [result.side for result in found] == ["one"]
    assert "ImportError: no such package" in skipped[0] and skipped[1].startswith("gone: ")


def test_a_result_that_the_process_keeps_for_itself_is_refused(tmp_path: Path) -> None:
    script = "print('{}', flush=True)\nfor line in __import__('sys').stdin: print('[1]', flush=True)"
    peer = processes.Peer(name="odd", command=(sys.executable, "-c", script))
    found, (line,) = measured(COPIES["upload"], tmp_path, peer)
    assert not found and "odd wrote b'[1]" in line


def test_seconds_of_a_fresh_process_end_with_its_clock(tmp_path: Path) -> None:
    def peer(name: str, program: str) -> Any:
        return processes.Peer(name=name, command=(), cold=(sys.executable, "-c", program))

    skipped: list[str] = []
    good = peer("lapilli", "import time; print('hello'); print(time.monotonic())")
    bad = peer("bad", "raise SystemExit('no driver')")
    found = measure.measure_cold([good, bad], ENVIRONMENT, 2, skipped, setting="no cache")
    assert [(result.side, result.setting) for result in found] == [("lapilli", "no cache")]
    assert 0 < found[0].time.min < 60_000
    assert skipped == ["cold start: bad: no driver"]


def test_the_overview_names_the_best_package_and_its_ratio() -> None:
    turns = {
        "lapilli": [(2.0, 6.0), (4.0, 6.0)],
        "slow": [(8.0, 1.0)] * 2,
        "fast": [(1.0, 2.0)] * 2,
        "C floor": [(0.5, 0.0)] * 2,
    }
    columns, rows = results.overview(measure.results_of("launch", "1 CPU", "µs", turns, 10.0))
    assert len(columns) == len(rows[0])
    ratios = ("2.00", "3.00", "4.00", "2.00", "3.00")
    assert rows == [("launch, 1 CPU", "µs", "30", "fast", "10", *ratios, "5")]


def test_the_overview_without_packages_has_lapillis_column_alone() -> None:
    _, rows = results.overview(measure.results_of("saxpy", "", "ms", {"lapilli": [(2.0, 1.0)]}, 1e3))
    assert rows == [("saxpy", "ms", "2000", *["-"] * 8)]


def test_interpreters_are_given_by_package() -> None:
    assert packages.parse_peers([f"wgpu={sys.executable}"]) == {"wgpu": os.path.abspath(sys.executable)}
    with pytest.raises(processes.PeerError, match="no package 'cupy'; there are taichi, "):
        packages.parse_peers([f"cupy={sys.executable}"])
    with pytest.raises(processes.PeerError, match="wgpu: no interpreter at '/no/python'"):
        packages.parse_peers(["wgpu=/no/python"])


@pytest.mark.device
def test_lapillis_half_runs_alone(device: lp.Device, tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    arguments = ["second", "latency", "copies", "kernels", "--small", "--rounds", "1", "--json", str(path)]
    result = CliRunner().invoke(command.main, [*arguments, "--device", device.selector])
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert content["machine"]["devices"][device.selector]["driver"] == device.platform.name
    assert content["peers"]["lapilli"] == {"version": lp.__version__, "device": device.name}
    found = [entry for entry in content["peer_results"] if entry["side"] == "lapilli"]
    assert [entry["case"] for entry in found if not entry["setting"]] == [
        *LATENCY,
        *COPIES,
        "saxpy",
        "sum",
        "matmul",
        "mandelbrot",
        "n-body",
        "stencil",
    ]
    assert [entry["setting"] for entry in found if entry["case"] == "second kernel"] == [
        "no cache",
        "warm caches",
    ]
    assert all(entry["time"]["median"] > 0 and entry["ratio"] is None for entry in found)
    assert "| saxpy | ms |" in path.with_suffix(".md").read_text()
    assert device.platform.version in path.with_suffix(".md").read_text()
