"""What a NumPy array is as an image: formats, shapes, and what is no image.  No device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.image_formats import CHANNELS, format_with_spirv_name, natural_format, pixel_parts
from lapilli.spirv.tables import enumerant_value
from lapilli.vk_runtime.headers import ffi
from lapilli.vk_runtime.image_data import checked_format, host_image, image_shape

VK_FORMATS = ffi.typeof("VkFormat").relements


@pytest.mark.parametrize("image_format", lp.ImageFormat, ids=lambda f: f.name)
def test_formats_are_those_of_vulkan_and_spirv(image_format):
    assert image_format.vk_format == VK_FORMATS[f"VK_FORMAT_{image_format.name.upper()}"]
    bits = np.dtype(image_format.dtype).itemsize * 8
    letters = "bgra" if image_format.name.startswith("b") else "rgba"[: image_format.channels]
    assert image_format.name.split("_")[0] == "".join(f"{letter}{bits}" for letter in letters)
    kind = image_format.name.split("_")[1]
    assert image_format.kind == {"sint": "int", "uint": "uint"}.get(kind, "float")
    assert (
        np.dtype(image_format.dtype).kind
        == {"unorm": "u", "uint": "u", "snorm": "i", "sint": "i", "sfloat": "f"}[kind]
    )
    assert image_format.pixel_bytes == image_format.channels * bits // 8
    assert image_format.channels in CHANNELS and repr(image_format) == f"lp.ImageFormat.{image_format.name}"
    if image_format.spirv_name is not None:
        enumerant_value("ImageFormat", image_format.spirv_name)
        assert format_with_spirv_name(image_format.spirv_name) is image_format


def test_natural_formats_hold_pixels_as_they_are():
    assert natural_format("Vec[f32, 4]") is lp.ImageFormat.r32g32b32a32_sfloat
    assert natural_format("u32") is lp.ImageFormat.r32_uint
    assert natural_format("Vec[f16, 2]") is lp.ImageFormat.r16g16_sfloat
    assert pixel_parts("Vec[i32, 2]") == ("i32", 2) and pixel_parts("i32") == ("i32", 1)
    with pytest.raises(KeyError):
        natural_format("Vec[f32, 3]")


@pytest.mark.parametrize(
    ("shape", "dtype", "wanted", "ndim", "name", "extents"),
    [
        ((5, 7), np.float32, None, None, "r32_sfloat", (5, 7)),
        ((5, 7, 4), np.uint8, None, None, "r8g8b8a8_unorm", (5, 7)),
        ((5, 7, 2), np.uint16, None, None, "r16g16_unorm", (5, 7)),
        ((5, 7, 3), np.float32, None, None, "r32_sfloat", (5, 7, 3)),
        ((5, 7, 4), np.float32, None, 3, "r32_sfloat", (5, 7, 4)),
        ((9,), np.int8, None, None, "r8_sint", (9,)),
        ((9, 4), np.uint32, None, None, "r32g32b32a32_uint", (9,)),
        ((9, 4), np.uint32, None, 2, "r32_uint", (9, 4)),
        ((9, 4), np.uint8, "r8_uint", None, "r8_uint", (9, 4)),
        ((9, 1), np.uint8, None, 1, "r8_unorm", (9,)),
        ((2, 3, 4, 4), np.float16, None, None, "r16g16b16a16_sfloat", (2, 3, 4)),
        ((4, 4), np.uint8, "b8g8r8a8_unorm", None, "b8g8r8a8_unorm", (4,)),
    ],
)
def test_format_and_shape_of_an_array(shape, dtype, wanted, ndim, name, extents):
    chosen = checked_format("it", wanted)
    assert image_shape("it", np.zeros(shape, dtype), chosen, ndim) == (lp.ImageFormat[name], extents)


@pytest.mark.parametrize(
    ("shape", "dtype", "wanted", "ndim", "message"),
    [
        ((5, 7, 3), np.uint8, None, None, "no format has three channels"),
        ((5, 7, 3), np.uint8, "r8g8b8a8_unorm", None, r"has 4 channels.*convert\('RGBA'\)"),
        ((5, 7, 3), np.uint8, None, 2, "a pixel has 1, 2 or 4 channels"),
        ((5, 7), np.uint8, None, 3, "1, 2 or 4|is no image of 3 dimensions"),
        ((), np.uint8, None, None, "is no image"),
        ((1, 2, 3, 5), np.uint8, None, None, "is no image"),
        ((5, 7), np.uint8, "r32_sfloat", None, "has channels of float32, the array has uint8"),
        ((5, 7), np.uint8, None, 4, "1 to 3 dimensions"),
        ((5, 7), np.uint8, None, True, "1 to 3 dimensions"),
    ],
)
def test_what_is_no_image(shape, dtype, wanted, ndim, message):
    with pytest.raises(lp.InvalidError, match=message):
        image_shape("it", np.zeros(shape, dtype), checked_format("it", wanted), ndim)


@pytest.mark.parametrize(
    "source", [np.zeros(3), np.zeros(3, np.int64), np.zeros(3, bool), ["a"], [[1.0], [1.0, 2.0]]]
)
def test_dtypes_that_no_format_has(source):
    with pytest.raises(lp.InvalidError, match=r"no image format|no array"):
        host_image("it", source)


def test_lists_of_floats_are_f32():
    assert host_image("it", [0.5, 1.0]).dtype == np.float32


def test_format_that_nobody_knows():
    with pytest.raises(lp.InvalidError, match="did you mean r8g8b8a8_unorm"):
        checked_format("it", "r8g8b8a8_norm")
    with pytest.raises(lp.InvalidError, match=r"lp\.ImageFormat"):
        checked_format("it", 37)


def test_samplers():
    sampler = lp.ImageSampler("repeat", "normalized", lp.FilteringMode.linear)
    assert sampler == lp.ImageSampler(
        lp.AddressingMode.repeat, lp.CoordinateNormalizationMode.normalized, "linear"
    )
    assert eval(repr(sampler)) == sampler
    assert lp.ImageSampler().addressing is lp.AddressingMode.clamp_to_edge
    for mode in ("repeat", "mirrored_repeat"):
        with pytest.raises(lp.InvalidError, match="needs normalised coordinates"):
            lp.ImageSampler(mode, "unnormalized")
    with pytest.raises(lp.InvalidError, match="one of nearest, linear"):
        lp.ImageSampler(filtering="cubic")
