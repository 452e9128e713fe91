"""Long loops of kernels in bundle files, which are built for no device: right or a KernelTrap (quirk ``loop-cap``)."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

OBJECT, EXECUTABLE = lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
SOURCE = """
import lapilli as lp


@lp.external
def ones_of(ones: lp.i32, rounds: lp.i32) -> lp.i32:
    total = 0
    for k in range(rounds):
        total += ones ^ (k & 0)
    return total


@lp.kernel
def spin(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        total += ones[k & 7]
    out[lp.global_id(0)] = total


@lp.kernel
def call(n: lp.i32, ones: lp.In[lp.i32], out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = ones_of(ones[0], n // 2) + ones_of(ones[0], n - n // 2)
"""


@pytest.mark.parametrize("kernel", ["spin", "call"])
@pytest.mark.parametrize("state", [OBJECT, EXECUTABLE], ids=lambda state: state.name)
@pytest.mark.parametrize("is_native", [False, True], ids=["spirv", "native"])
def test_long_loops_are_right_or_trap(make_project, device, context, kernel, state, is_native):
    project = make_project(SOURCE)
    file = project.folder / "loops.lpk"
    project.build("-o", file, *(("--targets", device.selector) if is_native else ()))
    project.forget()
    bundle = lp.load_kernel_bundle(context, file, state=state)
    bundle = bundle if state is EXECUTABLE else lp.link(bundle)
    queue = lp.Queue(device, context=context)
    ones = lp.ones(8, lp.i32, device=device)
    cap = device.target_env.loop_iteration_cap
    for rounds in (0, 1000, 60_000, 70_000, 1_000_000):
        out = lp.zeros(8, lp.i32, device=device)
        event = queue.parallel_for(8, bundle.get_kernel(kernel), rounds, ones, out)
        if cap is None or rounds < cap:
            event.wait()
            np.testing.assert_array_equal(out.numpy(), np.full(8, rounds))
            continue
        with pytest.raises(lp.KernelTrap, match="65,535 rounds") as caught:
            event.wait()
        assert caught.value.kernel == kernel


def test_files_without_long_loops_are_as_they_are(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    for image in lp.load_kernel_bundle(context, file, [device], state=EXECUTABLE):
        assert "GroupNonUniform" not in image.disassemble()
