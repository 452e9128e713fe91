"""The runtime under VK_LAYER_KHRONOS_validation: no message from a run through most of it, on every driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lapilli.vk_runtime import loader
from lapilli.vk_runtime.headers import text_of
from lapilli.vk_runtime.instance import VALIDATION_LAYER, enumerate_all

PROGRAM = """
import logging
logging.basicConfig(level=logging.WARNING)
import struct, sys
import numpy as np
import lapilli as lp
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.launch import launch
sys.path.insert(0, sys.argv[1])
import kernels

def work(device):
    x, y = lp.ones(1000, device=device), lp.zeros(1000, device=device)
    queues = [device.default_queue, lp.Queue(device), lp.Queue(device, profiling=True)]
    for in_buffer in (False, True):
        image, kernel = kernels.saxpy(block_in_buffer=in_buffer)
        for step in range(100):
            event = launch(queues[step % 3], image, kernel, (1000,), None, (1.0, x, y), {})
    assert (y.numpy() == 200).all(), y.numpy()
    assert queues[2].is_profiling and event.wait().done
    image, kernel = kernels.affine()
    for factor in (1.0, 2.0):
        values = {"tests.PAIR": struct.pack("<ff", factor, 0), "tests.NEGATE": b"\\1"}
        launch(queues[0], image, kernel, (1000,), (8,), (y, 0), values)
    assert (y.numpy() == 400).all()
    queues[1].close()
    x.release()

for device in lp.devices():
    assert device.physical.instance.is_validated
    work(device)
    staged = Device(device.physical, device.selector, staged_memory=True)
    work(staged)
    print("ran on", device.selector)
"""


def is_layer_installed() -> bool:
    try:
        entry = loader.open_loader()
    except loader.EntryPointError:
        return False
    vk = loader.Functions(lambda name: entry.get_instance_proc_addr(loader.NULL, name), "loader")
    names = enumerate_all(
        vk.vkEnumerateInstanceLayerProperties,
        "vkEnumerateInstanceLayerProperties",
        "VkLayerProperties",
        read=lambda item: text_of(item.layerName),
    )
    return VALIDATION_LAYER in names


needs_layer = pytest.mark.skipif(not is_layer_installed(), reason=f"{VALIDATION_LAYER} is not installed")


def run(program, tmp_path):
    """Runs a program under the layer, with SwiftShader behind the loader too, where it is installed."""
    environment = os.environ | {"LAPILLI_VALIDATE": "1"}
    library = loader.embedded_library()
    if library is not None and library.is_file():
        manifest = tmp_path / "swiftshader.json"
        content = {
            "file_format_version": "1.0.0",
            "ICD": {"library_path": str(library), "api_version": "1.3.0"},
        }
        manifest.write_text(json.dumps(content))
        if not environment.get("VK_DRIVER_FILES"):
            environment["VK_ADD_DRIVER_FILES"] = str(manifest)
        else:
            environment["VK_DRIVER_FILES"] += os.pathsep + str(manifest)
    return subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.device
@needs_layer
def test_no_messages(tmp_path):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ran on" in done.stdout
    assert done.stderr == ""


@pytest.mark.device
@needs_layer
def test_a_mistake_is_reported_with_its_vuid(tmp_path):
    """Destroying a buffer twice would be one; a size of 0 is a harmless one."""
    program = """
import logging
class Collect(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.vuid, record.user_location)
logging.getLogger("lapilli").addHandler(Collect())
import lapilli as lp
from lapilli.vk_runtime.headers import NULL, ffi, make
logical = lp.device().logical
buffer = ffi.new("VkBuffer*")
logical.vk.vkCreateBuffer(logical.raw, make("VkBufferCreateInfo", size=0, usage=0x20), NULL, buffer)
"""
    done = run(program, tmp_path)
    # Line 11 of the program: the innermost one that is not lapilli's own.
    assert "ERROR VUID-VkBufferCreateInfo-size-00912 <string>:11" in done.stdout, done.stderr
