"""`lapilli doctor --report`: what a bug report needs is in it, and no secrets are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.tools.doctor_report import WithoutHome, device_section, report_sections


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "lapilli", "doctor", *args)
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | env, timeout=120
    )


@pytest.mark.device
def test_report_says_versions_options_variables_and_devices() -> None:
    devices = lp.devices()
    done = run("--report", LAPILLI_CACHE_SIZE="123456", VK_LOADER_DEBUG="none")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "  --  cache_size: 123456 (LAPILLI_CACHE_SIZE)" in lines
    assert "  --  LAPILLI_CACHE_SIZE: '123456'" in lines
    assert "  --  VK_LOADER_DEBUG: 'none'" in lines
    assert any(line.startswith("  ok  xdsl: ") for line in lines)
    for device in devices:
        start = lines.index(f"Device {device.selector}")
        assert any(line.startswith("  --  limits.max_") for line in lines[start:])
        assert any("shaderInt64" in line or "features" in line for line in lines[start:])
    short = run()
    assert "Options" not in short.stdout and "limits." not in short.stdout


def test_secrets_and_names_stay_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAPILLI_API_KEY", "hidden-1")
    monkeypatch.setenv("DATABASE_URL", "hidden-2")
    text = "\n".join(f"{f.subject}: {f.text}" for section in report_sections() for f in section.findings)
    assert "LAPILLI_API_KEY: is set (value left out)" in text
    assert "hidden" not in text and "DATABASE_URL" not in text


def test_the_home_folder_is_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    out = io.StringIO()
    WithoutHome(out).write("in /home/somebody/venv and /home/else\n")
    assert out.getvalue() == "in ~/venv and /home/else\n"


def test_names_of_users_and_other_ways_home_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = tmp_path / "disk"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    monkeypatch.setenv("LOGNAME", "mona")
    out = io.StringIO()
    WithoutHome(out).write(
        f"{tmp_path}/link/a {real}/b {real}-2 /data/mona/venv /data/mona-lisa /monarch mona\n"
    )
    assert out.getvalue() == f"~/a ~/b {real}-2 /data/USER/venv /data/mona-lisa /monarch mona\n"


def test_a_process_without_a_home_has_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> None:
        raise KeyError("getpwuid(): uid not found")

    for variable in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    out = io.StringIO()
    WithoutHome(out).write("in /venv\n")
    assert out.getvalue() == "in /venv\n"


def test_a_wrong_option_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "much")
    (finding,) = (f for section in report_sections() for f in section.findings if f.subject == "cache_size")
    assert finding.status == "missing" and "found 'much'" in finding.text


@pytest.mark.device
def test_device_section_names_aspects_and_limits(device: lp.Device) -> None:
    found = {f.subject: f.text for f in device_section(device).findings}
    assert device.name in found["name"]
    assert found["limits.timestamp_period_ns"] == str(device.physical.limits.timestamp_period_ns)
    assert ("fp64" in found["aspects"].split(", ")) == device.has(lp.Aspect.FP64)


def test_report_and_installing_exclude_each_other() -> None:
    done = run("--report", "--install-swiftshader")
    assert done.returncode == 2 and "exclude each other" in done.stderr
