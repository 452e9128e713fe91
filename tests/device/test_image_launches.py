"""Launches with images: arguments that do not suit, order, graphs, files, debug mode, memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import image_transfer

pytestmark = pytest.mark.device


@lp.kernel
def paint(img: lp.Out[lp.UnsampledImage[lp.f32x4, 2]], red: lp.f32):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = lp.f32x4(red, i, j, 1)


@lp.kernel
def paint_box(img: lp.Out[lp.UnsampledImage[lp.f32, 3]]):
    img[lp.global_id(0), lp.global_id(1), lp.global_id(2)] = 1.0


@lp.kernel
def copy(source: lp.In[lp.UnsampledImage[lp.f32x4, 2]], target: lp.Out[lp.UnsampledImage[lp.f32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    target[i, j] = source[i, j]


@lp.kernel
def add(img: lp.UnsampledImage[lp.f32x4, 2], step: lp.f32):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] += step


@lp.kernel
def peek(img: lp.SampledImage[lp.f32x4, 2], out: lp.Out[lp.f32x4]):
    out[0] = img.sample(0.5, 0.5)


def painted(shape, red):
    i, j = np.mgrid[0 : shape[0], 0 : shape[1]]
    return np.stack(np.broadcast_arrays(red, i, j, 1), -1).astype(np.float32)


def image(device, shape=(4, 6), name="r32g32b32a32_sfloat"):
    return lp.UnsampledImage(shape=shape, format=name, device=device)


# Arguments


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda d: lp.zeros((4, 6), lp.f32x4, device=d),
            r"expected lp\.UnsampledImage\[lp\.f32x4, 2\], found an lp\.Array\[.*\]; lp\.UnsampledImage\(a\) makes",
        ),
        (lambda d: np.zeros((4, 6, 4), np.float32), r"copy it to the device first with lp\.UnsampledImage"),
        (lambda d: lp.SampledImage(np.zeros((4, 6, 4), np.float32), device=d), "shares its memory"),
        (lambda d: image(d, (4,)), "it has 1 dimension"),
        (lambda d: image(d, name="r32g32b32a32_uint"), "as uint, and the parameter's are float"),
    ],
)
def test_what_is_no_such_image_is_refused(device, make, message):
    with pytest.raises(lp.KernelArgumentError, match=message) as caught:
        paint[(4, 6)].on(device.default_queue)(make(device), 1.0)
    assert "argument 'img' (1 of 2)" in str(caught.value)


def test_image_without_sampler_is_not_sampled(device):
    with pytest.raises(lp.KernelArgumentError, match=r"lp\.SampledImage\(img, lp\.ImageSampler"):
        peek[1](image(device), lp.zeros(1, lp.f32x4, device=device))


def test_released_image_is_refused(device):
    img = image(device)
    with img:
        paint[(4, 6)](img, 1.0)
    with pytest.raises(lp.KernelArgumentError, match="released"):
        paint[(4, 6)].on(device.default_queue)(img, 1.0)
    with pytest.raises(lp.InvalidError, match="released"):
        img.numpy()
    assert "released" in repr(img)


def test_image_of_another_device_is_refused(device):
    others = [d for d in lp.devices() if d is not device]
    if not others:
        pytest.skip("there is one device only")
    with pytest.raises(lp.KernelArgumentError, match=r"lp\.UnsampledImage\(img, device=…\)"):
        paint[(4, 6)].on(device.default_queue)(image(others[0]), 1.0)


def test_one_image_is_not_read_and_written_as_two(device):
    img = image(device)
    with pytest.raises(
        lp.KernelArgumentError, match="'source' \\(read\\) and 'target' \\(write\\) are the same image"
    ):
        copy[(4, 6)](img, img)


def test_image_that_is_read_and_written_has_the_format_of_the_pixels(device):
    with pytest.raises(lp.KernelArgumentError, match="format='r32g32b32a32_sfloat'"):
        add[(4, 6)](image(device, name="r8g8b8a8_unorm"), 1.0)


def test_pixels_have_as_many_channels_as_the_format_or_four(device):
    with pytest.raises(lp.KernelArgumentError, match="it has 2 channels"):
        paint_box[(2, 2, 2)](lp.UnsampledImage(shape=(2, 2, 2), format="r32g32_sfloat", device=device))


def test_sampler_that_the_device_has_not_for_a_format(device):
    name = next(f for f in lp.ImageFormat if not device.image_support(f).filters)
    with pytest.raises(lp.FeatureNotSupportedError, match=f"does not filter 2-D images of {name.name}"):
        lp.SampledImage(shape=(4, 4), format=name, sampler=lp.ImageSampler(filtering="linear"), device=device)


# Aspects and limits


@pytest.mark.behaviour("IOP-10", "EXN-04")
def test_device_without_the_aspect_has_no_images(device):
    assert device.has(lp.Aspect.IMAGE) and device.info.image_support
    masked = device.masked(without=[lp.Aspect.IMAGE])
    assert not masked.image_support("r32_sfloat").reads
    with pytest.raises(lp.FeatureNotSupportedError, match="no images") as caught:
        image(masked)
    assert caught.value.errc is lp.Errc.FEATURE_NOT_SUPPORTED
    bundle = lp.get_kernel_bundle(
        lp.Context([device]), state=lp.BundleState.EXECUTABLE, kernel_ids=[lp.get_kernel_id(paint)]
    )
    (built,) = [i for i in bundle if i.has_kernel(lp.get_kernel_id(paint))]
    assert int(lp.Aspect.IMAGE) in built.requirements.aspects
    assert not built.is_compatible(masked)


def test_limits_have_sycls_names(device):
    info = device.info
    assert device.get_info(lp.info.device.image2d_max_width) == info.image2d_max_height >= 4096
    assert min(info.image3d_max_depth, info.image3d_max_height, info.image3d_max_width) >= 256
    assert min(info.max_read_image_args, info.max_write_image_args, info.max_samplers) >= 4
    masked = device.masked(without=[lp.Aspect.IMAGE]).info
    assert (masked.image2d_max_width, masked.image3d_max_depth, masked.max_samplers) == (0, 0, 0)


def test_image_larger_than_the_limit(device):
    most = device.image_support("r8_unorm", 1).max_shape[0]
    with pytest.raises(lp.InvalidError, match="maxImageDimension1D"):
        lp.UnsampledImage(shape=most + 1, format="r8_unorm", device=device)
    with pytest.raises(lp.InvalidError, match="at least one pixel"):
        lp.UnsampledImage(shape=(4, 0), format="r8_unorm", device=device)


# Order


def test_launches_of_several_queues_follow_each_other(device):
    img, queues = image(device), [device.default_queue, lp.Queue(device), lp.Queue(device)]
    for step in range(30):
        add[(4, 6)].on(queues[step % 3])(img, 1.0)
    np.testing.assert_array_equal(img.numpy(), np.full((4, 6, 4), 30, np.float32))


def test_writes_reads_and_copies_alternate(device):
    a, b = image(device), image(device)
    for step in range(5):
        paint[(4, 6)](a, float(step))
        copy[(4, 6)](a, b)
        np.testing.assert_array_equal(b.numpy(), painted((4, 6), step))
        a.copy_from(np.full((4, 6, 4), step, np.float32))
        add[(4, 6)](a, 1.0)
        np.testing.assert_array_equal(a.numpy(), np.full((4, 6, 4), step + 1, np.float32))


@pytest.mark.native_only("graphs are not interpreted")
def test_graph_records_launches_with_images(device):
    a, b, out = image(device), image(device), lp.zeros(1, lp.f32x4, device=device)
    shown = lp.SampledImage(b)
    with lp.graph() as g:
        paint[(4, 6)](a, 7.0)
        copy[(4, 6)](a, b)
        peek[1](shown, out)
    g.replay().wait()
    np.testing.assert_array_equal(b.numpy(), painted((4, 6), 7))
    np.testing.assert_array_equal(out.numpy(), [[7, 0, 0, 1]])
    other = image(device)
    g.bind(a, other)
    g.replay(red=8.0).wait()
    np.testing.assert_array_equal(other.numpy(), painted((4, 6), 8))
    np.testing.assert_array_equal(a.numpy(), painted((4, 6), 7))
    with pytest.raises(lp.KernelArgumentError, match="record another graph"):
        g.bind(other, image(device, (4, 7)))


def test_large_images_are_copied_in_pieces(device, monkeypatch):
    monkeypatch.setattr(image_transfer, "PIECE_BYTES", 100)
    for shape in ((61,), (7, 9), (3, 5, 7)):
        pixels = np.random.default_rng(0).random((*shape, 4), np.float32)
        img = lp.UnsampledImage(pixels, ndim=len(shape), device=device)
        np.testing.assert_array_equal(img.numpy(), pixels)


def test_strided_and_byte_swapped_pixels(device):
    pixels = np.random.default_rng(0).random((8, 12, 4), np.float32)
    img = lp.UnsampledImage(pixels[::2, ::-2], device=device)
    np.testing.assert_array_equal(img.numpy(), pixels[::2, ::-2])
    swapped = lp.UnsampledImage(pixels.astype(">f4"), device=device)
    np.testing.assert_array_equal(swapped.numpy(), pixels)
    out = np.zeros((12, 4, 4), np.float32).transpose(1, 0, 2)[:, ::2]
    img.copy_to(out)
    np.testing.assert_array_equal(out, pixels[::2, ::-2])


# Kernels


def shift(source, target, i, j):
    target[i, j] = source[i, j].wxyz
    return source.shape[1]


@lp.kernel
def through_helpers(
    source: lp.UnsampledImage[lp.f32x4, 2], target: lp.UnsampledImage[lp.f32x4, 2], out: lp.Array[lp.i32, 2]
):
    i, j = lp.global_id(0), lp.global_id(1)
    out[i, j] = shift(source, target, i, j)


def test_helpers_take_images(device):
    pixels = np.random.default_rng(0).random((4, 6, 4), np.float32)
    target, out = image(device), lp.zeros((4, 6), lp.i32, device=device)
    through_helpers[(4, 6)](lp.UnsampledImage(pixels, device=device), target, out)
    np.testing.assert_array_equal(target.numpy(), pixels[..., [3, 0, 1, 2]])
    assert (out.numpy() == 6).all()


@lp.kernel
def last_pixel(img: lp.UnsampledImage[lp.f32x4, 2], out: lp.Out[lp.f32x4]):
    out[0] = img[-1, -2]


@lp.kernel
def beyond(
    img: lp.In[lp.UnsampledImage[lp.f32x4, 2]],
    target: lp.Out[lp.UnsampledImage[lp.f32x4, 2]],
    out: lp.Out[lp.f32x4],
):
    k = lp.global_id(0)
    out[k] = img[k * 1000, -k * 1000 - 1]
    target[k * 1000 + 4, k] = lp.f32x4(9.0)


def test_negative_literals_count_from_the_end(device):
    pixels = np.random.default_rng(0).random((4, 6, 4), np.float32)
    out = lp.zeros(1, lp.f32x4, device=device)
    last_pixel[1](lp.UnsampledImage(pixels, device=device), out)
    np.testing.assert_array_equal(out.numpy(), pixels[-1:, -2])


def test_coordinates_out_of_range_are_harmless(device):
    pixels = np.random.default_rng(0).random((4, 6, 4), np.float32)
    target, out = image(device), lp.zeros(50, lp.f32x4, device=device)
    beyond[50](lp.UnsampledImage(pixels, device=device), target, out)
    np.testing.assert_array_equal(target.numpy(), np.zeros((4, 6, 4)))
    assert out.numpy().shape == (50, 4)


@lp.kernel(local_size=64)
def pass_on(img: lp.UnsampledImage[lp.u32, 1]):
    i = lp.local_id(0)
    img[i] = lp.u32(i)
    lp.barrier()
    value = img[63 - i]
    lp.barrier()
    img[i] = value + 1


def test_barrier_orders_pixels_in_a_work_group(device):
    img = lp.UnsampledImage(shape=64, format="r32_uint", device=device)
    pass_on[64](img)
    np.testing.assert_array_equal(img.numpy(), 64 - np.arange(64))


def test_wide_ranges_with_images_are_right(device):
    """Large enough for the coarsened form that software drivers run."""
    shape = (512, 1024)
    img, target = image(device, shape), image(device, shape)
    paint[shape](img, 3.0)
    copy[shape](img, target)
    np.testing.assert_array_equal(target.numpy(), painted(shape, 3))


# The host


def test_images_of_pil_come_and_go(device):
    pil = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 255, (5, 7, 4), np.uint8)
    picture = pil.fromarray(pixels, "RGBA")
    img = lp.UnsampledImage(picture, device=device)
    assert img.format is lp.ImageFormat.r8g8b8a8_unorm
    assert np.asarray(pil.fromarray(np.asarray(img))).tolist() == pixels.tolist()
    with pytest.raises(lp.InvalidError, match=r"convert\('RGBA'\)"):
        lp.UnsampledImage(picture.convert("RGB"), device=device)


def test_fill(device):
    img = lp.UnsampledImage(shape=(3, 5), format="r8g8_uint", device=device)
    np.testing.assert_array_equal(img.fill((3, 250)).numpy(), np.broadcast_to(np.uint8([3, 250]), (3, 5, 2)))
    np.testing.assert_array_equal(img.fill(7).numpy(), np.full((3, 5, 2), 7))
    for wrong in ((1, 2, 3), 256, -1, 0.5, "x"):
        with pytest.raises(lp.InvalidError, match="fill"):
            img.fill(wrong)


def test_images_give_their_memory_back(device):
    def used():
        gc.collect()
        device.logical.collect()
        return sum(heap.used for heap in device.memory_stats())

    before = used()
    img = lp.UnsampledImage(shape=(256, 256), format="r32g32b32a32_sfloat", device=device)
    device.default_queue.wait()
    assert used() >= before + img.nbytes
    paint[(256, 256)](img, 1.0)
    img.release()
    device.default_queue.wait()
    assert used() <= before


def test_image_moves_to_another_device(device):
    pixels = np.random.default_rng(0).random((4, 6, 4), np.float32)
    there = lp.UnsampledImage(pixels, device=lp.devices()[0])
    img = lp.UnsampledImage(there, device=device)
    np.testing.assert_array_equal(img.numpy(), pixels)
    assert (img.buffer is there.buffer) == (there.device is device)


def test_images_are_no_arrays_on_the_host(device):
    img = image(device)
    for action in (lambda: img[0, 0], lambda: img.__setitem__((0, 0), 1), lambda: iter(img)):
        with pytest.raises(lp.InvalidError, match="on the host"):
            action()
    with pytest.raises(ValueError, match="always copies"):
        np.asarray(img, copy=False) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else img.__array__(
            copy=False
        )
    assert len(img) == 4 and img.size == 24 and "UnsampledImage[r32g32b32a32_sfloat, 2]" in repr(img)
