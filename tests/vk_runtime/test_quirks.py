"""The table of driver faults, and the probe behind one of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.spirv.tools import spirv_tools
from lapilli.vk_runtime import loop_probe
from lapilli.vk_runtime.constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_MESA_LLVMPIPE
from lapilli.vk_runtime.quirks import LOOP_CAP, QUIRKS, driver_version, has_quirk

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
def test_every_row_names_a_test_and_its_remedy(quirk) -> None:
    assert (ROOT / quirk.test).is_file()
    assert quirk.fault
    assert ".py" in quirk.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mesa 22.3.6 (LLVM 15.0.6)", (22, 3, 6)),
        ("Mesa 23.1.0-devel (git-1234)", (23, 1, 0)),
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
        (VK_DRIVER_ID_MESA_LLVMPIPE, (25, 0, 1), None),
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
