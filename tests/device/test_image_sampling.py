"""Samplers on every device against NumPy: filters, addressing modes, coordinates, dimensions, odd sizes."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SHAPES = {1: (7,), 2: (5, 7), 3: (3, 5, 7)}
POINTS = 61


@lp.kernel
def sample_1d(img: lp.SampledImage[lp.f32x4, 1], at: lp.In[lp.f32, 2], out: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    out[i] = img.sample(at[i, 0])


@lp.kernel
def sample_2d(img: lp.SampledImage[lp.f32x4, 2], at: lp.In[lp.f32, 2], out: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    out[i] = img.sample(at[i, 0], at[i, 1])


@lp.kernel
def sample_3d(img: lp.SampledImage[lp.f32x4, 3], at: lp.In[lp.f32, 2], out: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    out[i] = img.sample((at[i, 0], at[i, 1], at[i, 2]))


KERNELS = {1: sample_1d, 2: sample_2d, 3: sample_3d}


def wrapped(index, size, mode):
    """Returns which pixel an index beyond the edges means, and whether it is the border."""
    if mode == "repeat":
        return index % size, np.zeros(index.shape, bool)
    if mode == "mirrored_repeat":
        folded = index % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded), np.zeros(index.shape, bool)
    inside = np.clip(index, 0, size - 1)
    return inside, (inside != index) & (mode == "clamp")


def oracle(pixels, at, sampler):
    """Samples as the Vulkan specification says (1.3, 16.8 and 16.9), in double precision; coordinates slowest first."""
    ndim, shape = pixels.ndim - 1, np.array(pixels.shape[:-1])
    places = at.astype(np.float64) * (shape if sampler.is_normalized else 1)
    mode = sampler.addressing.name
    if not sampler.is_linear:
        return _pixel(pixels, np.floor(places).astype(int), shape, mode)
    places = places - 0.5
    first = np.floor(places).astype(int)
    share = places - first
    total = np.zeros((len(at), pixels.shape[-1]))
    for corner in itertools.product((0, 1), repeat=ndim):
        weight = np.prod(np.where(corner, share, 1 - share), axis=1)
        total += weight[:, None] * _pixel(pixels, first + np.array(corner), shape, mode)
    return total


def _pixel(pixels, index, shape, mode):
    found = [wrapped(index[:, d], shape[d], mode) for d in range(len(shape))]
    values = pixels[tuple(place for place, _ in found)].astype(np.float64)
    values[np.any([border for _, border in found], axis=0)] = 0
    return values


def points(ndim, sampler, seed):
    """Returns coordinates inside and beyond the edges, none so near the border of a pixel that rounding decides."""
    generator = np.random.default_rng(seed)
    shape = np.array(SHAPES[ndim])
    places = generator.integers(-2 * shape, 3 * shape, (POINTS, ndim)) + generator.uniform(
        0.05, 0.95, (POINTS, ndim)
    )
    return (places / shape if sampler.is_normalized else places).astype(np.float32)


def combinations():
    for ndim, mode, filtering in itertools.product(
        (1, 2, 3), ("mirrored_repeat", "repeat", "clamp_to_edge", "clamp"), ("nearest", "linear")
    ):
        for coordinate in ("normalized", "unnormalized"):
            if coordinate == "normalized" or "repeat" not in mode:
                yield pytest.param(
                    ndim,
                    lp.ImageSampler(mode, coordinate, filtering),
                    id=f"{ndim}-{mode}-{coordinate}-{filtering}",
                )


def sampled(device, img, at):
    out = lp.zeros(len(at), lp.f32x4, device=device)
    KERNELS[img.ndim][len(at)](img, lp.asarray(at, device=device), out)
    return out.numpy()


@pytest.mark.behaviour("IOP-43")
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_image_and_sampler_are_one_object_of_their_dimension(ndim):
    text = KERNELS[ndim].inspect("spirv")
    (image,) = re.findall(rf"(%\w+) = OpTypeImage %float {ndim}D 0 0 0 1 Unknown", text)
    (sampled,) = re.findall(rf"(%\w+) = OpTypeSampledImage {image}\b", text)
    (pointer,) = re.findall(rf"(%\w+) = OpTypePointer UniformConstant {sampled}\b", text)
    assert re.search(rf"= OpVariable {pointer} UniformConstant", text)
    assert "OpImageSampleExplicitLod" in text


@pytest.mark.parametrize(("ndim", "sampler"), list(combinations()))
def test_sampler_agrees_with_numpy(device, ndim, sampler):
    pixels = np.random.default_rng(ndim).random((*SHAPES[ndim], 4), np.float32)
    at = points(ndim, sampler, seed=ndim)
    found = sampled(device, lp.SampledImage(pixels, sampler, ndim=ndim, device=device), at)
    # Filters know where they are between two pixels to 8 bits (subTexelPrecisionBits of both drivers), in each
    # dimension.
    tolerance = ndim * 2.0**-8 if sampler.is_linear else 0
    np.testing.assert_allclose(found, oracle(pixels, at, sampler), rtol=0, atol=tolerance)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_middles_of_pixels_are_the_pixels(device, ndim):
    pixels = np.random.default_rng(0).random((*SHAPES[ndim], 4), np.float32)
    at = np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in SHAPES[ndim]), indexing="ij"), -1).reshape(
        -1, ndim
    )
    sampler = lp.ImageSampler("clamp_to_edge", "unnormalized", "linear")
    found = sampled(device, lp.SampledImage(pixels, sampler, ndim=ndim, device=device), at.astype(np.float32))
    np.testing.assert_allclose(found, pixels.reshape(-1, 4), rtol=0, atol=ndim * 2.0**-8)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_whole_coordinates_are_the_pixels_that_begin_there(device, ndim):
    """In pixels, nearest: 3.0 is pixel 3 however large the image, and no rounding makes it pixel 2."""
    shape = {1: (97,), 2: (61, 97), 3: (7, 61, 97)}[ndim]
    pixels = np.random.default_rng(0).random((*shape, 4), np.float32)
    at = np.random.default_rng(1).integers(0, shape, (500, ndim)).astype(np.float32)
    sampler = lp.ImageSampler("clamp_to_edge", "unnormalized", "nearest")
    found = sampled(device, lp.SampledImage(pixels, sampler, ndim=ndim, device=device), at)
    np.testing.assert_array_equal(found, pixels[tuple(at.astype(int).T)])


@pytest.mark.parametrize(
    "name", ["r8_unorm", "r16g16_unorm", "r8g8b8a8_unorm", "r8g8b8a8_snorm", "r16g16b16a16_sfloat"]
)
def test_filters_of_formats_that_are_no_floats_in_memory(device, name):
    image_format = lp.ImageFormat[name]
    shape = (5, 7) if image_format.channels == 1 else (5, 7, image_format.channels)
    generator = np.random.default_rng(3)
    if image_format.dtype == "float16":
        raw = generator.uniform(-1, 1, shape).astype(np.float16)
        pixels = raw.astype(np.float32)
    else:
        limits = np.iinfo(image_format.dtype)
        raw = generator.integers(limits.min, limits.max, shape, image_format.dtype, endpoint=True)
        pixels = np.maximum(raw / limits.max, -1)
    whole = np.zeros((5, 7, 4))
    whole[..., 3] = 1
    whole[..., : image_format.channels] = pixels.reshape(5, 7, -1)
    sampler = lp.ImageSampler("clamp_to_edge", "normalized", "linear")
    img = lp.SampledImage(raw, sampler, image_format, device=device)
    at = points(2, sampler, seed=5)
    np.testing.assert_allclose(
        sampled(device, img, at), oracle(whole, at, sampler), rtol=0, atol=2 * 2 * 2.0**-8
    )


def test_kernel_samples_what_another_wrote(device):
    written = lp.UnsampledImage(shape=(8, 8), format="r32g32b32a32_sfloat", device=device)
    shown = lp.SampledImage(written, lp.ImageSampler("clamp_to_edge", "normalized", "nearest"))
    gradient[written.shape](written)
    out = lp.zeros(1, lp.f32x4, device=device)
    sample_2d[1](shown, lp.asarray(np.array([[0.5, 0.25]], np.float32), device=device), out)
    np.testing.assert_array_equal(out.numpy(), [[0.5, 0.25, 0.25, 1]])
    assert shown.buffer is written.buffer


@lp.kernel
def gradient(img: lp.Out[lp.UnsampledImage[lp.f32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = lp.f32x4(lp.f32(i) / 8, lp.f32(j) / 8, 0.25, 1.0)


@lp.kernel
def fetch(img: lp.SampledImage[lp.f32x4, 2], out: lp.Out[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = img[i, j]


def test_sampled_images_are_also_read_without_their_sampler(device):
    pixels = np.random.default_rng(0).random((3, 5, 4), np.float32)
    out = lp.zeros((3, 5), lp.f32x4, device=device)
    fetch[(3, 5)](lp.SampledImage(pixels, device=device), out)
    np.testing.assert_array_equal(out.numpy(), pixels)


@lp.kernel
def sample_integers(img: lp.SampledImage[lp.u32x2, 2], at: lp.In[lp.f32, 2], out: lp.Out[lp.u32x2]):
    i = lp.global_id(0)
    out[i] = img.sample(at[i, 0], at[i, 1])


def test_integers_are_sampled_by_the_nearest(device):
    pixels = np.arange(30, dtype=np.uint16).reshape(3, 5, 2)
    img = lp.SampledImage(pixels, lp.ImageSampler("clamp"), "r16g16_uint", device=device)
    at = np.array([[0.5, 0.5], [2.9, 4.1], [-1, 0.5]], np.float32)
    out = lp.zeros(3, lp.u32x2, device=device)
    sample_integers[3](img, lp.asarray(at, device=device), out)
    np.testing.assert_array_equal(out.numpy(), [pixels[0, 0], pixels[2, 4], [0, 0]])
