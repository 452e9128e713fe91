"""Drivers that fail before there is a device: another driver is used, or the error says what each of them did."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import lapilli as lp
from lapilli.vk_runtime import instance as instance_module
from lapilli.vk_runtime import runtime as runtime_module
from lapilli.vk_runtime.driver_report import diagnosis
from lapilli.vk_runtime.errors import result_name
from lapilli.vk_runtime.headers import NULL
from lapilli.vk_runtime.loader import Functions

pytestmark = pytest.mark.native_only("faults of drivers")


def fail(monkeypatch: pytest.MonkeyPatch, function: str, result: int) -> None:
    """Makes a function of every instance return `result`."""

    class Failing(Functions):
        def __getattr__(self, name: str) -> Any:
            return (lambda *_: result) if name == function else super().__getattr__(name)

    monkeypatch.setattr(instance_module, "Functions", Failing)


@pytest.mark.device
@pytest.mark.parametrize("result", [-1, -2, -3, -6, -7, -9, -13])
@pytest.mark.parametrize(
    "function",
    [
        "vkCreateInstance",
        "vkEnumerateInstanceExtensionProperties",
        "vkEnumeratePhysicalDevices",
        "vkEnumerateDeviceExtensionProperties",
    ],
)
def test_a_driver_that_fails_is_reported(function: str, result: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, function, result)
    made = runtime_module.Runtime()
    try:
        assert made.devices == ()
        monkeypatch.setattr(runtime_module, "runtime", lambda opens_default: made)
        with pytest.raises(lp.RuntimeFailure) as raised:
            runtime_module.require_devices()
        assert str(raised.value) == diagnosis(made.records)
        tried = [record for record in made.records if record.status not in ("missing", "disabled", "skipped")]
        assert tried
        for record in tried:
            assert record.status in ("failed", "no device")
            if function != "vkEnumeratePhysicalDevices":  # loaders say so where there is no driver
                assert result_name(result).split()[0] in record.reason
    finally:
        made.close()


@pytest.mark.device
@pytest.mark.parametrize("result", [-1, -13])
def test_a_messenger_that_cannot_be_made_is_reported_and_leaves_no_instance(
    result: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With LAPILLI_VALIDATE, whose messages nobody would see: drivers that the layer does not reach go on."""
    monkeypatch.setenv("LAPILLI_VALIDATE", "1")
    instances: list[instance_module.Instance] = []
    really_make = instance_module.Instance._create_messenger  # pyright: ignore[reportPrivateUsage]

    def make_messenger(self: instance_module.Instance) -> None:
        instances.append(self)
        really_make(self)

    monkeypatch.setattr(instance_module.Instance, "_create_messenger", make_messenger)
    fail(monkeypatch, "vkCreateDebugUtilsMessengerEXT", result)
    made = runtime_module.Runtime()
    try:
        if not instances:
            pytest.skip("the validation layer is not installed, or nothing is behind the loader")
        assert all(each.raw == NULL for each in instances)
        (failed,) = (record for record in made.records if record.status == "failed")
        assert f"vkCreateDebugUtilsMessengerEXT returned {result_name(result)}" in failed.reason
        assert all(device.physical.instance not in instances for device in made.devices)
    finally:
        made.close()


def test_the_next_use_of_a_device_that_could_not_be_made_tries_again(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked = device.masked(limits={"maxPushConstantsSize": 120})
    if masked.is_open:
        pytest.skip("another test has made it")
    vk = masked.physical.instance.vk
    real = vk.vkCreateDevice
    monkeypatch.setattr(vk, "vkCreateDevice", lambda *_: -3)
    with pytest.raises(lp.RuntimeFailure, match="vkCreateDevice returned VK_ERROR_INITIALIZATION_FAILED"):
        lp.zeros(3, device=masked)
    monkeypatch.setattr(vk, "vkCreateDevice", real)
    assert lp.zeros(3, device=masked).numpy().tolist() == [0, 0, 0]


OPENING = """
import lapilli as lp
from lapilli.vk_runtime import logical_device, profile

really_create, asked = logical_device.create_device, []


def create_device(physical, *others):
    asked.append(physical.name)
    if len(asked) <= {failures}:
        raise lp.RuntimeFailure("the driver refuses")
    return really_create(physical, *others)


logical_device.create_device = create_device
"""
"""A program's beginning, with a driver that does not make a VkDevice at once."""


def run(program: str, failures: int = 0, **options: str) -> str:
    """Runs a program in a process of its own and returns what it prints."""
    done = subprocess.run(
        (sys.executable, "-c", OPENING.format(failures=failures) + program),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "LAPILLI_VALIDATE": "0", **options},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.device
def test_an_array_has_the_default_device_opened_beside_the_imports(device: lp.Device) -> None:
    program = """
from lapilli.vk_runtime import runtime
side_by_side, threads = runtime.side_by_side, []

def watched(work, meanwhile):
    work_and_note = lambda: (work(), threads.append(sum(not d.is_adopted for d in profile.devices)))
    return side_by_side(work_and_note, meanwhile)

runtime.side_by_side = watched
assert lp.zeros(3).numpy().tolist() == [0, 0, 0]
print(threads, asked == [lp.device().name])
"""
    assert run(program, LAPILLI_DEVICE=device.selector) == "[1] True\n"


@pytest.mark.device
@pytest.mark.parametrize("use", ["lp.devices()", "lp.device().info.name"])
def test_devices_that_a_program_only_lists_are_not_opened(use: str) -> None:
    assert run(f"{use}\nprint(asked)") == "[]\n"


@pytest.mark.device
def test_a_device_that_could_not_be_opened_beside_the_imports_says_so_where_it_is_used() -> None:
    program = """
try:
    lp.zeros(3)
except lp.RuntimeFailure as error:
    print(error)
assert lp.zeros(3).numpy().tolist() == [0, 0, 0]
"""
    assert run(program, failures=2) == "the driver refuses\n"
    assert run("print(lp.zeros(3).numpy())", failures=1) == "[0. 0. 0.]\n"


@pytest.mark.device
def test_a_default_device_that_is_none_is_an_error_as_ever() -> None:
    program = """
try:
    lp.zeros(3)
except lp.InvalidError as error:
    print("LAPILLI_DEVICE='no such'" in str(error), asked)
"""
    assert run(program, LAPILLI_DEVICE="no such") == "True []\n"
