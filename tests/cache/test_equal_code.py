"""Kernels of the same code at other places share what the driver has made, and tell their own places."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.kernel import KernelFunction
from lapilli.vk_runtime.device import Device

TEXT = """@lp.kernel(name="{name}")
def equal_code(x: lp.Array[lp.f32], limit: lp.i32):
    i = lp.global_id(0)
    assert i < limit
    x[i] = x[i] * {factor} + 41.0
"""


def kernel_at(line: int, name: str = "equal_code", factor: str = "3.5") -> KernelFunction:
    """Returns a kernel whose first line is `line` of its file."""
    return lp.kernel_from_source("\n" * (line - 1) + TEXT.format(name=name, factor=factor))


def launched(kernel: KernelFunction, device: Device) -> tuple[int, int]:
    """Launches a kernel; returns how many modules and pipelines were made for it."""
    with lp.trace() as trace:
        x = lp.zeros(4, device=device)
        kernel[4](x, 4)
        assert x.numpy().tolist() == [41.0] * 4
    return trace.count("module"), trace.count("pipeline")


def test_a_kernel_that_has_moved_has_its_pipeline(device: Device) -> None:
    first = kernel_at(1)
    launched(first, device)
    assert launched(kernel_at(1), device) == (0, 0)
    assert launched(kernel_at(9), device) == (0, 0)


def test_each_tells_its_own_line(device: Device) -> None:
    x = lp.zeros(4, device=device)
    for line in (5, 1, 12):
        kernel = kernel_at(line)
        kernel[4](x, 3)
        with pytest.raises(lp.KernelTrap) as caught:
            x.numpy()
        location = caught.value.location
        assert location is not None and location.line == line + 3


def test_another_name_or_code_has_a_pipeline_of_its_own(device: Device) -> None:
    launched(kernel_at(1), device)
    assert launched(kernel_at(1, name="another_name"), device)[1] == 1
    x = lp.zeros(4, device=device)
    kernel_at(1, factor="2.5")[4](x, 4)
    kernel_at(1, factor="2.5")[4](x, 4)
    assert x.numpy().tolist() == [41.0 * 2.5 + 41.0] * 4
