"""Kernels with images in bundle files: loaded and launched as from source."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.image_formats import ImageFormat
from lapilli.vk_runtime.bundle_launch import launch_kernel

from .conftest import Project

pytestmark = pytest.mark.device

SOURCE = """
import lapilli as lp


@lp.kernel
def halve(source: lp.SampledImage[lp.f32x4, 2], target: lp.Out[lp.UnsampledImage[lp.f32x4, 2]]):
    row, column = lp.global_id(0), lp.global_id(1)
    target[row, column] = source.sample(2.0 * row + 1.0, 2.0 * column + 1.0)


@lp.kernel
def count(img: lp.UnsampledImage[lp.u32, 1]):
    img[lp.global_id(0)] += 1
"""


def test_kernels_with_images_come_from_a_file(
    device: lp.Device, context: lp.Context, make_project: Callable[[str], Project]
) -> None:
    project = make_project(SOURCE)
    file = project.folder / "images.lpk"
    project.build("-o", file)
    project.forget()
    bundle = lp.load_kernel_bundle(context, file)
    pixels = np.random.default_rng(0).random((4, 6, 4), np.float32)
    sampler = lp.ImageSampler("clamp_to_edge", "unnormalized", "linear")
    source = lp.SampledImage(pixels, sampler, device=device)
    target = lp.UnsampledImage(shape=(2, 3), format=ImageFormat.r32g32b32a32_sfloat, device=device)
    queue = device.default_queue
    launch_kernel(queue, bundle.get_kernel("halve"), (2, 3), (source, target))
    np.testing.assert_allclose(target.numpy(), pixels.reshape(2, 2, 3, 2, 4).mean((1, 3)), atol=2 * 2.0**-8)
    counts = lp.UnsampledImage(shape=9, format="r32_uint", device=device)
    launch_kernel(queue, bundle.get_kernel("count"), 9, (counts,))
    np.testing.assert_array_equal(counts.numpy(), np.ones(9))
    with pytest.raises(lp.KernelArgumentError, match="'source'"):
        launch_kernel(queue, bundle.get_kernel("halve"), (2, 3), (target, target))
