"""Machines without a usable driver: an error that says what was looked at and what to install."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import lapilli as lp
from lapilli.vk_runtime.runtime import driver_report
for record in driver_report():
    print(record.source, record.status, record.reason, sep="|")
try:
    lp.zeros(4)
except lp.RuntimeFailure as error:
    print(error)
else:
    print("made an array")
"""


def run(program, **environment):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("VK_", "LAPILLI_"))}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=base | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def found(**environment):
    done = run(PROGRAM, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_driver_files_that_do_not_exist():
    out = found(VK_DRIVER_FILES="/nowhere/driver.json", LAPILLI_SWIFTSHADER="")
    assert "no usable Vulkan device" in out
    assert "VK_DRIVER_FILES=/nowhere/driver.json" in out and "there is no such file" in out
    assert "unset VK_DRIVER_FILES" in out
    assert "apt-get install -y --no-install-recommends mesa-vulkan-drivers libvulkan1" in out
    assert "lapilli doctor --install-swiftshader" in out


def test_embedded_library_that_is_no_driver(tmp_path):
    wrong = tmp_path / "libvk_swiftshader.so"
    wrong.write_text("this is text")
    out = found(VK_DRIVER_FILES="/nowhere.json", LAPILLI_SWIFTSHADER=str(wrong))
    assert "embedded|failed" in out and str(wrong) in out


def test_embedded_library_without_the_driver_functions():
    out = found(VK_DRIVER_FILES="/nowhere.json", LAPILLI_SWIFTSHADER=_any_shared_library())
    assert "vk_icdNegotiateLoaderICDInterfaceVersion" in out


def test_manifest_that_is_damaged(tmp_path):
    (tmp_path / "a.json").write_text("{not json")
    (tmp_path / "b.json").write_text('{"ICD": {"library_path": "./gone.so"}}')
    (tmp_path / "c.json").write_text("[]")
    out = found(VK_DRIVER_FILES=str(tmp_path), LAPILLI_SWIFTSHADER="")
    assert "cannot be read" in out and "gone.so does not exist" in out and "names no library" in out


LISTING = """
import lapilli as lp
import copy, pickle
for found in (lp.devices(), lp.platforms(), pickle.loads(pickle.dumps(lp.devices())), copy.deepcopy(lp.devices())):
    assert not found and len(found) == 0 and found == () and found == [] and list(found) == [] and found[:1] == ()
    try:
        found[0]
    except lp.RuntimeFailure as error:
        assert "mesa-vulkan-drivers" in str(error), error
    else:
        raise AssertionError("an item")
for needs in (lp.device, lp.select_device, lp.Queue, lp.Context, lambda: lp.device("cpu")):
    try:
        needs()
    except lp.RuntimeFailure as error:
        assert "mesa-vulkan-drivers" in str(error), error
    else:
        raise AssertionError(needs)
"""


def test_lists_of_devices_are_empty_and_their_first_item_says_what_to_install():
    done = run(LISTING, VK_DRIVER_FILES="/nowhere/driver.json", LAPILLI_SWIFTSHADER="")
    warning = "no usable Vulkan device was found: `lapilli doctor` says why and what to install\n"
    assert (done.returncode, done.stderr) == (0, warning)


def _any_shared_library():
    try:
        with open("/proc/self/maps", encoding="ascii") as maps:
            return next(line.split()[-1] for line in maps if "libc.so" in line)
    except (OSError, StopIteration):
        pytest.skip("no shared library of the C library is mapped here")
