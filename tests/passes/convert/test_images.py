"""What images become in SPIR-V: barriers order those that a kernel reads and writes, and no others."""

from __future__ import annotations

import pytest

import lapilli as lp


@lp.kernel(local_size=64)
def pass_on(img: lp.UnsampledImage[lp.u32, 1]) -> None:
    i = lp.local_id(0)
    img[i] = lp.u32(i)
    lp.barrier()
    img[i] = img[63 - i]


@lp.kernel(local_size=64)
def spread(img: lp.Out[lp.UnsampledImage[lp.u32, 1]], x: lp.Array[lp.u32]) -> None:
    i = lp.local_id(0)
    x[i] = lp.u32(i)
    lp.barrier()
    img[i] = x[63 - i]


@pytest.mark.device
def test_barriers_order_images_that_are_read_and_written(device: lp.Device) -> None:
    assert device.has(lp.Aspect.IMAGE)
    assert "ImageMemory" in pass_on.inspect("spirv-dialect")
    assert "ImageMemory" not in spread.inspect("spirv-dialect")
