"""`lapilli devices`: one line a device in a pipe, everything in JSON, and an error where there is none."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from rich.console import Console

from lapilli.ir.aspects import Aspect
from lapilli.tools import cli
from lapilli.tools.devices import HEADINGS, print_devices
from lapilli.vk_runtime.device_list import device as device_of
from lapilli.vk_runtime.runtime import runtime


@pytest.fixture
def output() -> str:
    result = CliRunner().invoke(cli.group, ["devices"])
    assert result.exit_code == 0
    return result.output


@pytest.mark.device
def test_a_pipe_gets_one_line_a_device_below_the_headings(output: str) -> None:
    lines = output.splitlines()
    assert len(lines) == 1 + len(runtime().devices)
    assert [lines[0].find(heading) >= 0 for heading in HEADINGS] == [True] * len(HEADINGS)
    assert [line.split()[0] for line in lines[1:]] == [device.selector for device in runtime().devices]


@pytest.mark.device
def test_aspects_are_those_of_the_device(output: str) -> None:
    for line, device in zip(output.splitlines()[1:], runtime().devices, strict=True):
        assert ("fp64" in line.split()) == device.has(Aspect.FP64)
        assert ("fp16" in line.split()) == device.has(Aspect.FP16)


@pytest.mark.device
def test_a_terminal_gets_words_that_are_not_broken() -> None:
    text = io.StringIO()
    print_devices(Console(file=text, force_terminal=True, width=60, color_system=None), runtime().devices)
    lines = text.getvalue().splitlines()
    assert all(len(line) <= 60 for line in lines)
    words = {word.rstrip(",") for word in text.getvalue().split()}
    for device in runtime().devices:
        assert f"{device.selector}  {device.name}" in lines
        assert {aspect.name.lower() for aspect in device.aspects if aspect >= 0} <= words


@pytest.mark.device
def test_json_has_what_selects_a_device_and_its_limits() -> None:
    result = CliRunner().invoke(cli.group, ["devices", "--json"])
    described = json.loads(result.output)
    assert len(described) == len(runtime().devices)
    for item in described:
        device = device_of(item["selector"])
        assert item["name"] == device.name
        assert item["type"] in ("cpu", "gpu", "custom")
        assert item["driver_version"] == device.platform.version
        assert item["limits"]["max_work_item_sizes"] == list(device.info.max_work_item_sizes)
        assert ("fp64" in item["aspects"]) == device.has(Aspect.FP64)


def test_without_a_device_the_message_names_the_repair_and_the_status_is_1() -> None:
    env = os.environ | {"VK_DRIVER_FILES": "/nowhere/icd.json", "LAPILLI_SWIFTSHADER": ""}
    command = (sys.executable, "-m", "lapilli", "devices")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 1
    assert done.stderr.startswith("lapilli: no usable Vulkan device")
    assert "lapilli doctor" in done.stderr
    assert "Traceback" not in done.stderr
