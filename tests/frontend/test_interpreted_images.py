"""Images in the interpreter without any device: pixels of NumPy, samplers, and what it finds wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret


@lp.kernel
def paint(img: lp.Out[lp.UnsampledImage[lp.f32x4, 2]], red: lp.f32):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = lp.f32x4(red, i, 1.0 - j, 0.5)


def test_pixels_of_numpy_are_changed_in_place():
    floats = np.zeros((8, 6, 4), np.float32)[::2, ::-1]
    interpret(paint, (4, 6), (floats, 3.0))
    i, j = np.mgrid[0:4, 0:6]
    np.testing.assert_array_equal(floats, np.stack(np.broadcast_arrays(3, i, 1 - j, 0.5), -1))
    picture = np.full((4, 6, 4), 9, np.uint8)
    interpret(paint, (4, 3), (picture, 0.25))
    assert picture[2, 1].tolist() == [64, 255, 0, 128]  # clamped to 0 to 1, rounded to the nearest even
    assert (picture[:, 3:] == 9).all()


@lp.kernel
def look(img: lp.SampledImage[lp.f32x4, 1], at: lp.In[lp.f32], out: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    out[i] = img.sample(at[i])


LINE = np.array([10, 20, 30, 50], np.float32)


@pytest.mark.parametrize(
    ("sampler", "at", "expected"),
    [
        (lp.ImageSampler("clamp_to_edge"), [0.0, 0.99, 1.0, 3.5, -7, 9], [10, 10, 20, 50, 10, 50]),
        (lp.ImageSampler("clamp"), [0.5, -0.1, 4.0, 3.9], [10, 0, 0, 50]),
        (lp.ImageSampler("clamp", filtering="linear"), [0.0, 0.5, 1.0, 1.25, 4.0], [5, 10, 15, 17.5, 25]),
        (lp.ImageSampler("repeat", "normalized"), [0.0, 1.1, -0.1, 2.3], [10, 10, 50, 20]),
        (lp.ImageSampler("mirrored_repeat", "normalized"), [-0.1, 1.1, 1.9, 2.1, -1.1], [10, 50, 10, 10, 50]),
        (lp.ImageSampler("repeat", "normalized", "linear"), [0.0, 0.25, 1.0], [30, 15, 30]),
        (lp.ImageSampler("none", filtering="linear"), [0.0, 2.0, 4.0], [10, 25, 50]),
        (lp.ImageSampler("clamp_to_edge"), [np.nan, np.inf, -np.inf, 3e38], [10, 50, 10, 50]),
    ],
    ids=lambda value: repr(value) if isinstance(value, lp.ImageSampler) else "",
)
def test_samplers_to_the_letter(sampler, at, expected):
    out = np.zeros((len(at), 4), np.float32)
    interpret(look, len(at), ((LINE, sampler), np.array(at, np.float32), out))
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-6)
    np.testing.assert_array_equal(out[:, 1:], [[0, 0, 1]] * len(at))  # channels that the format lacks


def test_an_infinite_neighbour_of_weight_zero_is_not_looked_at():
    out = np.zeros((2, 4), np.float32)
    sampler = lp.ImageSampler(filtering="linear")
    line = np.array([1, np.inf, 2, np.nan], np.float32)
    interpret(look, 2, ((line, sampler), np.array([0.5, 2.5], np.float32), out))
    assert out[:, 0].tolist() == [1, 2]


def test_none_promises_to_stay_inside():
    out = np.zeros((2, 4), np.float32)
    at = np.array([4.0, 4.5], np.float32)
    with pytest.raises(lp.KernelTrap, match=r"coordinate 4\.5 is outside of dimension 0 .*'none'") as caught:
        interpret(look, 2, ((LINE, lp.ImageSampler("none")), at, out))
    assert caught.value.work_item == (1,)


@lp.kernel
def beyond(img: lp.UnsampledImage[lp.u32, 1], out: lp.Out[lp.u32]):
    i = lp.global_id(0)
    img[i - 100] = lp.u32(7)
    out[i] = img[i + 2]
    img[i + 1000000] = lp.u32(8)


def test_outside_of_an_image_there_is_nothing():
    pixels, out = np.arange(1, 5, dtype=np.uint32), np.full(4, 9, np.uint32)
    interpret(beyond, 4, (pixels, out))
    assert out.tolist() == [3, 4, 0, 0] and pixels.tolist() == [1, 2, 3, 4]


@lp.kernel(local_size=8)
def hand_on(img: lp.UnsampledImage[lp.u32, 1], is_ordered: lp.bool_):
    i = lp.global_id(0)
    img[i] = lp.u32(i)
    if is_ordered:
        lp.barrier()
    value = img[lp.local_id(0) ^ 1]
    lp.barrier()
    img[i] = value


def test_races_are_found_by_the_pixel():
    pixels = np.zeros(8, np.uint32)
    interpret(hand_on, 8, (pixels, True))
    assert pixels.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    with pytest.raises(lp.KernelTrap, match=r"data race: pixel \[\d\] of image 'img' is read here") as caught:
        interpret(hand_on, 8, (np.zeros(8, np.uint32), False))
    assert caught.value.code == "LP4112"


@lp.kernel
def both(a: lp.In[lp.UnsampledImage[lp.f32x4, 2]], b: lp.SampledImage[lp.f32x4, 2], out: lp.Out[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = a[i, j] + b[i, j] + b.sample(i + 0.5, j + 0.5)


def test_one_image_with_and_without_its_sampler():
    pixels = np.random.default_rng(0).integers(0, 255, (3, 5, 2), np.uint8)
    out = np.zeros((3, 5, 4), np.float32)
    interpret(both, (3, 5), (pixels, (pixels, lp.ImageSampler()), out))
    np.testing.assert_allclose(out[..., :2], 3 * (pixels / 255), rtol=1e-6)
    np.testing.assert_array_equal(out[..., 2:], np.broadcast_to([0, 3], (3, 5, 2)))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((LINE, LINE, np.zeros((4, 4), np.float32)), "with its lp.ImageSampler"),
        (((LINE, "linear"), LINE, np.zeros((4, 4), np.float32)), "with its|as a NumPy array"),
        (((LINE.astype(np.uint32), lp.ImageSampler()), LINE, np.zeros((4, 4), np.float32)), "found uint32"),
        (
            ((np.zeros((4, 3), np.float32), lp.ImageSampler()), LINE, np.zeros((4, 4), np.float32)),
            "1, 2 or 4 channels",
        ),
        (((LINE, lp.ImageSampler()), LINE, np.zeros((4, 4), np.float64)), "expected dtype float32"),
    ],
)
def test_what_is_no_such_image_is_refused(args, message):
    with pytest.raises(lp.KernelArgumentError, match=message):
        interpret(look, 4, args)


@lp.kernel
def sides(line: lp.UnsampledImage[lp.f32x4, 1], plane: lp.UnsampledImage[lp.f32, 2], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = line[i].y + plane[i, 2] * 100.0


def test_one_array_as_images_of_other_dimensions():
    host, out = np.arange(20, dtype=np.float32).reshape(5, 4), np.zeros(5, np.float32)
    interpret(sides, 5, (host, host, out))
    np.testing.assert_array_equal(out, host[:, 1] + host[:, 2] * 100)
