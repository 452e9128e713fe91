"""Images on every device against NumPy: what kernels write and read, and what comes back."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def gradient(img: lp.UnsampledImage[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    rows, columns = img.shape
    img[i, j] = lp.f32x4(lp.f32(i) / rows, lp.f32(j) / columns, 0.25, 1.0)


@lp.kernel
def swap_channels(source: lp.UnsampledImage[lp.f32x4, 2], target: lp.UnsampledImage[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    target[i, j] = source[i, j].zyxw


@lp.kernel
def brighten(img: lp.UnsampledImage[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] += 1.0


@lp.kernel
def copy_u32(source: lp.In[lp.UnsampledImage[lp.u32x4, 2]], target: lp.Out[lp.UnsampledImage[lp.u32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    target.write((i, j), source.read(i, j))


@lp.kernel
def number_voxels(img: lp.Out[lp.UnsampledImage[lp.i32x2, 3]]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    img[i, j, k] = lp.i32x2(100 * i + 10 * j + k, -k)


@lp.kernel
def sizes(
    line: lp.In[lp.UnsampledImage[lp.f32]], box: lp.In[lp.UnsampledImage[lp.f32, 3]], out: lp.Array[lp.i32]
):
    out[0] = line.shape[0]
    out[1], out[2], out[3] = box.shape
    out[4] = box.size
    out[5] = len(box)
    out[6] = box.ndim


def pixels(shape, dtype, seed=0):
    """Returns reproducible pixels of any kind."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.uniform(-2, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def test_kernel_writes_an_image_that_reads_back(device):
    img = lp.UnsampledImage(shape=(5, 7), format=lp.ImageFormat.r32g32b32a32_sfloat, device=device)
    np.testing.assert_array_equal(img.numpy(), np.zeros((5, 7, 4), np.float32))
    gradient[(5, 7)](img)
    i, j = np.mgrid[0:5, 0:7].astype(np.float32)
    expected = np.stack([i / np.float32(5), j / np.float32(7), 0 * i + 0.25, 0 * i + 1], -1)
    np.testing.assert_allclose(img.numpy(), expected, rtol=3e-7)  # a division may be off by 2.5 ulp in Vulkan


def test_kernel_reads_one_image_and_writes_another(device):
    picture = pixels((5, 3, 4), np.uint8)
    source = lp.UnsampledImage(picture, device=device)
    target = lp.UnsampledImage(shape=source.shape, format=source.format, device=device)
    swap_channels[source.shape](source, target)
    np.testing.assert_array_equal(target.numpy(), picture[..., [2, 1, 0, 3]])  # exact: unorm there and back


def test_kernel_reads_and_writes_one_image(device):
    start = pixels((4, 6, 4), np.float32)
    img = lp.UnsampledImage(start, device=device)
    for _ in range(3):
        brighten[img.shape](img)
    np.testing.assert_allclose(img.numpy(), start + 3, rtol=1e-6)  # three roundings


def test_integers_stay_what_they_are(device):
    numbers = pixels((3, 5, 4), np.uint32)
    source = lp.UnsampledImage(numbers, device=device)
    target = lp.UnsampledImage(shape=(3, 5), format="r32g32b32a32_uint", device=device)
    copy_u32[(3, 5)](source, target)
    np.testing.assert_array_equal(target.numpy(), numbers)


def test_three_dimensions_are_slowest_first(device):
    img = lp.UnsampledImage(shape=(2, 3, 4), format="r32g32_sint", device=device)
    number_voxels[img.shape](img)
    i, j, k = np.mgrid[0:2, 0:3, 0:4]
    np.testing.assert_array_equal(img.numpy(), np.stack([100 * i + 10 * j + k, -k], -1))


def test_kernel_knows_the_extents(device):
    line = lp.UnsampledImage(np.zeros(9, np.float32), device=device)
    box = lp.UnsampledImage(np.zeros((3, 5, 7), np.float32), ndim=3, device=device)
    out = lp.zeros(7, lp.i32, device=device)
    sizes[1](line, box, out)
    assert out.numpy().tolist() == [9, 3, 5, 7, 105, 3, 3]
