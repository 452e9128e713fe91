"""Executable bundles have machine code, also on drivers that make it at the first dispatch (llvmpipe)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device

PROGRAM = """
import sys
import numpy as np
import lapilli as lp

@lp.kernel
def scale(a: lp.f32, x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = lp.math.sin(a * x[i])

device = lp.device("lavapipe")
context = lp.Context([device])
bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=scale)
if sys.argv[1] == "launch":
    queue, x = lp.Queue(device, context=context), lp.zeros(100, device=device)
    with queue.submit() as group:
        group.use_kernel_bundle(bundle)
        group.parallel_for(100, scale, 2.0, x)
    queue.wait()
"""


@pytest.mark.device
def test_building_makes_the_code_that_launches_run(tmp_path: Path) -> None:
    """Mesa writes the machine code that it makes to a cache on disk, which tells when that was."""
    if "lavapipe" not in [device.selector for device in lp.devices()]:
        pytest.skip("no lavapipe")
    program, cache = tmp_path / "program.py", tmp_path / "mesa"
    program.write_text(PROGRAM, "utf-8")
    env = os.environ | {"MESA_SHADER_CACHE_DIR": str(cache), "MESA_DISK_CACHE_MULTI_FILE": "true"}

    def kept(what: str) -> set[Path]:
        subprocess.run([sys.executable, str(program), what], env=env, check=True, timeout=120)
        return {path for path in cache.rglob("*") if path.is_file() and len(path.name) > 30}

    built = kept("build")
    assert built
    assert kept("launch") == built


@lp.kernel
def checked(a: lp.f32, b: lp.f64, x: lp.In[lp.f32], y: lp.Array[lp.f32, 2]):
    i = lp.global_id(0)
    assert x[i] >= 0.0, "negative"
    y[i, 0] = a * x[i] + lp.f32(b)


@lp.kernel(local_size=8)
def turned(x: lp.Array[lp.f32]):
    tile = lp.local.array(8, lp.f32)
    i = lp.local_id(0)
    tile[i] = x[lp.global_id(0)]
    lp.barrier()
    x[lp.global_id(0)] = tile[7 - i]


@pytest.mark.device
@pytest.mark.native_only
@pytest.mark.parametrize("limits", [{}, {"maxPushConstantsSize": 0}], ids=["pushed", "in memory"])
def test_nothing_runs_and_nothing_is_left(device: lp.Device, limits: dict[str, int]) -> None:
    own = device.masked(limits=limits)
    own = Device(own.physical, own.selector)
    x = lp.asarray(np.arange(16, dtype=np.float32), device=own)
    context = lp.Context([own])
    before = own.logical.memory.used_bytes
    bundle = lp.get_kernel_bundle(
        context,
        state=lp.BundleState.EXECUTABLE,
        kernel_ids=[
            lp.get_kernel_id(turned),
            *([lp.get_kernel_id(checked)] if own.has(lp.Aspect.FP64) else []),
        ],
    )
    with own.logical.lock:
        own.logical.collect()
    assert own.logical.memory.used_bytes == before
    queue = lp.Queue(own, context=context)
    with queue.submit() as group:
        group.use_kernel_bundle(bundle)
        group.parallel_for(16, turned, x)
    queue.wait()
    assert x.numpy().tolist() == [*range(7, -1, -1), *range(15, 7, -1)]
    queue.close()
    own.shut_down()
