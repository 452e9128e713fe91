"""The table of driver faults, and the probe behind one of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.ir.aspects import Aspect
from lapilli.spirv.tools import spirv_tools
from lapilli.vk_runtime import loop_probe, quirks
from lapilli.vk_runtime.constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_MESA_LLVMPIPE
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.quirk_table import QUIRKS
from lapilli.vk_runtime.quirks import LOOP_CAP, driver_version, has_quirk

ROOT = Path(__file__).resolve().parents[2]


class Counted:
    """A function and how often it was called."""

    def __init__(self, function: Callable[[Device], int | None]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, device: Device) -> int | None:
        self.calls += 1
        return self.function(device)


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
def test_every_row_names_a_test_and_its_remedy(quirk) -> None:
    assert (ROOT / quirk.test).is_file()
    assert (ROOT / quirk.shown_by).exists()
    if quirk.shown_by.endswith("faults.py"):
        assert f'_has(device, "{quirk.name}")' in (ROOT / quirk.shown_by).read_text("utf-8")
    assert quirk.fault
    assert ".py" in quirk.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mesa 22.3.6 (LLVM 15.0.6)", (22, 3, 6)),
        ("Mesa 23.1.0-devel (git-1234)", (23, 1, 0)),
        ("Mesa 25.0.7-2+deb13u1 (LLVM 19.1.7)", (25, 0, 7)),
        ("5.0.0", (5, 0, 0)),
        ("", ()),
        ("unknown", ()),
    ],
)
def test_versions(text: str, expected: tuple[int, ...]) -> None:
    assert driver_version(text) == expected


@pytest.mark.parametrize(
    ("driver", "version", "expected"),
    [
        (VK_DRIVER_ID_MESA_LLVMPIPE, (22, 3, 6), True),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (22, 2, 0), None),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (24, 0, 5), True),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (24, 2, 0), None),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (25, 0, 7), False),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (26, 2, 6), False),
        (VK_DRIVER_ID_MESA_LLVMPIPE, (), None),
        (VK_DRIVER_ID_GOOGLE_SWIFTSHADER, (5, 0, 0), False),
    ],
)
def test_who_has_the_loop_cap(driver: int, version: tuple[int, ...], expected: bool | None) -> None:
    assert has_quirk(LOOP_CAP, driver, version) is expected


def test_the_probe_is_its_assembly() -> None:
    tools = spirv_tools()
    assert tools.validate(loop_probe.WORDS, "vulkan1.1") is None
    assert tools.assemble(loop_probe.ASSEMBLY, "vulkan1.1")[20:] == loop_probe.WORDS[20:]


def test_the_probe_agrees_with_the_table(device) -> None:
    assert loop_probe.probe_loop_cap(device) == device.target_env.loop_iteration_cap


def test_no_trace_sees_the_probe(device, monkeypatch) -> None:
    expected = device.target_env.loop_iteration_cap  # by the table, before it is changed
    unknown = replace(LOOP_CAP, drivers=(device.physical.driver_id,), versions=((0,), (0,)), mended_in=None)
    monkeypatch.setattr(quirks, "LOOP_CAP", unknown)
    monkeypatch.setattr(loop_probe, "probe_loop_cap", counted := Counted(loop_probe.probe_loop_cap))
    fresh = Device(device.physical, "fresh")
    with lp.trace() as trace:
        assert fresh.target_env.loop_iteration_cap == expected
        assert fresh.masked(without=[Aspect.FP16]).target_env is not fresh.target_env
    assert counted.calls == 1  # not once more for the masked device
    assert trace.events == []
    fresh.shut_down()
