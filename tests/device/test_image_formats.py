"""Every image format in one, two and three dimensions: what kernels read of it and write to it, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SHAPES = {1: (9,), 2: (5, 7), 3: (2, 3, 5)}
CASES = list(itertools.product(lp.ImageFormat, (1, 2, 3)))
by_format = pytest.mark.parametrize(
    ("image_format", "ndim"), CASES, ids=[f"{image_format.name}-{ndim}" for image_format, ndim in CASES]
)


@lp.kernel
def read_f_1(img: lp.In[lp.UnsampledImage[lp.f32x4, 1]], out: lp.Out[lp.f32x4, 1]):
    i = lp.global_id(0)
    out[i] = img[i]


@lp.kernel
def read_f_2(img: lp.In[lp.UnsampledImage[lp.f32x4, 2]], out: lp.Out[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = img[i, j]


@lp.kernel
def read_f_3(img: lp.In[lp.UnsampledImage[lp.f32x4, 3]], out: lp.Out[lp.f32x4, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = img[i, j, k]


@lp.kernel
def read_i_1(img: lp.In[lp.UnsampledImage[lp.i32x4, 1]], out: lp.Out[lp.i32x4, 1]):
    i = lp.global_id(0)
    out[i] = img[i]


@lp.kernel
def read_i_2(img: lp.In[lp.UnsampledImage[lp.i32x4, 2]], out: lp.Out[lp.i32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = img[i, j]


@lp.kernel
def read_i_3(img: lp.In[lp.UnsampledImage[lp.i32x4, 3]], out: lp.Out[lp.i32x4, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = img[i, j, k]


@lp.kernel
def read_u_1(img: lp.In[lp.UnsampledImage[lp.u32x4, 1]], out: lp.Out[lp.u32x4, 1]):
    i = lp.global_id(0)
    out[i] = img[i]


@lp.kernel
def read_u_2(img: lp.In[lp.UnsampledImage[lp.u32x4, 2]], out: lp.Out[lp.u32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = img[i, j]


@lp.kernel
def read_u_3(img: lp.In[lp.UnsampledImage[lp.u32x4, 3]], out: lp.Out[lp.u32x4, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = img[i, j, k]


@lp.kernel
def write_f_1(values: lp.In[lp.f32x4, 1], img: lp.Out[lp.UnsampledImage[lp.f32x4, 1]]):
    i = lp.global_id(0)
    img[i] = values[i]


@lp.kernel
def write_f_2(values: lp.In[lp.f32x4, 2], img: lp.Out[lp.UnsampledImage[lp.f32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = values[i, j]


@lp.kernel
def write_f_3(values: lp.In[lp.f32x4, 3], img: lp.Out[lp.UnsampledImage[lp.f32x4, 3]]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    img[i, j, k] = values[i, j, k]


@lp.kernel
def write_i_1(values: lp.In[lp.i32x4, 1], img: lp.Out[lp.UnsampledImage[lp.i32x4, 1]]):
    i = lp.global_id(0)
    img[i] = values[i]


@lp.kernel
def write_i_2(values: lp.In[lp.i32x4, 2], img: lp.Out[lp.UnsampledImage[lp.i32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = values[i, j]


@lp.kernel
def write_i_3(values: lp.In[lp.i32x4, 3], img: lp.Out[lp.UnsampledImage[lp.i32x4, 3]]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    img[i, j, k] = values[i, j, k]


@lp.kernel
def write_u_1(values: lp.In[lp.u32x4, 1], img: lp.Out[lp.UnsampledImage[lp.u32x4, 1]]):
    i = lp.global_id(0)
    img[i] = values[i]


@lp.kernel
def write_u_2(values: lp.In[lp.u32x4, 2], img: lp.Out[lp.UnsampledImage[lp.u32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = values[i, j]


@lp.kernel
def write_u_3(values: lp.In[lp.u32x4, 3], img: lp.Out[lp.UnsampledImage[lp.u32x4, 3]]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    img[i, j, k] = values[i, j, k]


READERS = {
    "float": (read_f_1, read_f_2, read_f_3),
    "int": (read_i_1, read_i_2, read_i_3),
    "uint": (read_u_1, read_u_2, read_u_3),
}
WRITERS = {
    "float": (write_f_1, write_f_2, write_f_3),
    "int": (write_i_1, write_i_2, write_i_3),
    "uint": (write_u_1, write_u_2, write_u_3),
}
PIXELS = {"float": lp.f32x4, "int": lp.i32x4, "uint": lp.u32x4}
HOSTS = {"float": np.float32, "int": np.int32, "uint": np.uint32}


def contents(image_format: lp.ImageFormat, ndim: int, seed: int) -> np.ndarray:
    """Returns reproducible pixels as they lie in memory, the smallest and largest among them."""
    shape = (*SHAPES[ndim], image_format.channels)
    generator = np.random.default_rng(seed)
    if image_format.name.endswith("sfloat"):
        found = generator.normal(0, 10, shape).astype(image_format.dtype)
    else:
        limits = np.iinfo(image_format.dtype)
        found = generator.integers(limits.min, limits.max, shape, image_format.dtype, endpoint=True)
        found.flat[:2] = limits.min, limits.max
    return found if image_format.channels > 1 else found[..., 0]


def as_kernels_see(raw: np.ndarray, image_format: lp.ImageFormat) -> np.ndarray:
    """Returns pixels of four channels (Vulkan 1.3, 3.10 and 16.3.6: what is missing is 0, alpha 1)."""
    raw = raw.reshape(*raw.shape[: raw.ndim - (image_format.channels > 1)], image_format.channels)
    values = raw.astype(np.float64 if image_format.kind == "float" else HOSTS[image_format.kind])
    if image_format.name.endswith("norm"):
        values = np.maximum(values / np.iinfo(image_format.dtype).max, -1)
    whole = np.zeros((*raw.shape[:-1], 4), values.dtype)
    whole[..., 3] = 1
    whole[..., : image_format.channels] = values
    return whole[..., [2, 1, 0, 3]] if image_format.name.startswith("b8") else whole


def made(device, image_format, ndim, source=None):
    """Returns an image, or skips where the device has no such format: then making one says so."""
    support = device.image_support(image_format, ndim)
    if not support.reads:
        with pytest.raises(lp.FeatureNotSupportedError, match=image_format.name):
            lp.UnsampledImage(shape=SHAPES[ndim], format=image_format, device=device)
        pytest.skip(f"{device.selector} has no {ndim}-D images of {image_format.name}")
    if source is None:
        return lp.UnsampledImage(shape=SHAPES[ndim], format=image_format, device=device)
    return lp.UnsampledImage(source, image_format, device=device)


@by_format
def test_host_gets_back_what_it_gave(device, image_format, ndim):
    raw = contents(image_format, ndim, 1)
    img = made(device, image_format, ndim, raw)
    assert (img.shape, img.format, img.ndim) == (SHAPES[ndim], image_format, ndim)
    assert (img.host_shape, img.nbytes) == (raw.shape, raw.nbytes)
    np.testing.assert_array_equal(img.numpy(), raw)


@by_format
def test_kernel_reads(device, image_format, ndim):
    raw = contents(image_format, ndim, 2)
    img = made(device, image_format, ndim, raw)
    out = lp.zeros(SHAPES[ndim], PIXELS[image_format.kind], device=device)
    READERS[image_format.kind][ndim - 1][SHAPES[ndim]](img, out)
    # Normalising is a division in f32, which drivers do as a multiplication.
    np.testing.assert_allclose(out.numpy(), as_kernels_see(raw, image_format), rtol=2e-7, atol=1e-7)


@by_format
@pytest.mark.behaviour("EXN-04")
def test_kernel_writes_where_the_device_does(device, image_format, ndim):
    img = made(device, image_format, ndim)
    raw = contents(image_format, ndim, 3)
    values = as_kernels_see(raw, image_format).astype(HOSTS[image_format.kind])
    given = lp.asarray(values, dtype=PIXELS[image_format.kind], device=device)
    launch = WRITERS[image_format.kind][ndim - 1][SHAPES[ndim]]
    if not device.image_support(image_format, ndim).writes:
        with pytest.raises(lp.FeatureNotSupportedError, match=image_format.name) as caught:
            launch(given, img)
        assert caught.value.errc is lp.Errc.FEATURE_NOT_SUPPORTED
        assert f"{ndim}-D" in str(caught.value)
        return
    launch(given, img)
    # snorm has two spellings of -1.
    expected = np.maximum(raw, -np.iinfo(raw.dtype).max) if "snorm" in image_format.name else raw
    np.testing.assert_array_equal(img.numpy(), expected)


@pytest.mark.behaviour("EXN-04")
def test_some_format_is_written_in_three_dimensions_and_some_is_not(device):
    writes = {f.name: device.image_support(f, 3).writes for f in lp.ImageFormat}
    assert writes["r32g32b32a32_sfloat"]
    assert not writes["b8g8r8a8_unorm"]  # SPIR-V has no name for it


@lp.kernel
def half_pixels(img: lp.In[lp.UnsampledImage[lp.f16x4, 2]], target: lp.Out[lp.UnsampledImage[lp.f16x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    target[i, j] = img[i, j] * lp.f16(2)


def test_half_pixels(device):
    if not device.has(lp.Aspect.FP16):
        pytest.skip("needs fp16")
    raw = np.random.default_rng(0).normal(0, 10, (5, 7, 4)).astype(np.float16)
    img, target = lp.UnsampledImage(raw, device=device), lp.UnsampledImage(0 * raw, device=device)
    half_pixels[(5, 7)](img, target)
    np.testing.assert_array_equal(target.numpy(), raw * 2)


@lp.kernel
def add_one(img: lp.UnsampledImage[lp.f32x2, 1]):
    i = lp.global_id(0)
    img[i] += 1.0


@lp.kernel
def count_up(img: lp.UnsampledImage[lp.u32, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    img[i, j, k] += 1


@lp.kernel
def negate(img: lp.UnsampledImage[lp.i32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = -img[i, j]


@pytest.mark.parametrize(
    ("kernel", "name", "shape"),
    [
        (add_one, "r32g32_sfloat", (9,)),
        (count_up, "r32_uint", (2, 3, 5)),
        (negate, "r32g32b32a32_sint", (5, 7)),
    ],
)
def test_reads_and_writes_in_place(device, kernel, name, shape):
    image_format = lp.ImageFormat[name]
    raw = contents(image_format, len(shape), 4)
    img = made(device, image_format, len(shape), raw)
    for _ in range(3):
        kernel[shape](img)
    with np.errstate(over="ignore"):
        expected = {"add_one": raw + 1 + 1 + 1, "count_up": raw + np.uint32(3), "negate": -raw}[kernel.name]
    np.testing.assert_array_equal(img.numpy(), expected)
