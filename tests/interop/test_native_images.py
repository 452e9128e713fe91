"""Images as native handles: VkImage, VkImageView and VkSampler out, a VkImage of the application in."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import vulkan as vk

import lapilli as lp

from .renderer import Renderer

ALL_USES = (
    vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
    | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
    | vk.VK_IMAGE_USAGE_SAMPLED_BIT
    | vk.VK_IMAGE_USAGE_STORAGE_BIT
)
SHAPE = (3, 5)
EXPECTED = np.stack(np.broadcast_arrays(*np.mgrid[0:3, 0:5], 7, 1), -1).astype(np.float32)


@lp.kernel
def number(img: lp.Out[lp.UnsampledImage[lp.f32x4, 2]]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] = lp.f32x4(i, j, 7, 1)


@lp.kernel
def corner(img: lp.SampledImage[lp.f32x4, 2], out: lp.Out[lp.f32x4]):
    out[0] = img.sample(1.0, 1.0)


@pytest.mark.behaviour("IOP-01", "IOP-10", "IOP-27")
def test_handles_of_images(device: lp.Device):
    img = lp.UnsampledImage(shape=SHAPE, format="r32g32b32a32_sfloat", device=device)
    ((image, view),) = lp.vulkan.get_native(img)
    shown = lp.SampledImage(img, lp.ImageSampler("repeat", "normalized"))
    ((same, same_view, sampler),) = lp.vulkan.get_native(shown)
    assert (image, view) == (same, same_view) and sampler
    assert [h.kind for h in (image, view, sampler)] == ["VkImage", "VkImageView", "VkSampler"]
    assert lp.vulkan.get_reference_count(image) == 2
    img.release()
    del img, shown
    gc.collect()
    assert lp.vulkan.get_reference_count(image) == 1  # the handle itself keeps it
    assert "VkImage" in lp.vulkan.backend_input_type(lp.SampledImage)
    assert "VkSampler" in lp.vulkan.backend_return_type(lp.SampledImage)


@pytest.mark.behaviour("IOP-10", "IOP-29")
def test_kernel_writes_an_image_of_the_application(renderer: Renderer, theirs: lp.Context):
    raw = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, ALL_USES)
    img = lp.vulkan.make_unsampled_image(
        raw, theirs, format="r32g32b32a32_sfloat", shape=SHAPE, layout=vk.VK_IMAGE_LAYOUT_UNDEFINED
    )
    assert isinstance(img, lp.UnsampledImage) and img.shape == SHAPE
    assert len(lp.vulkan.get_native(img)) == 1
    number[SHAPE](img).wait()
    np.testing.assert_array_equal(img.numpy(), EXPECTED)
    img.release()
    del img
    gc.collect()
    lp.empty(4, device=theirs.devices[0])  # a safe point: what waits to be destroyed goes now
    np.testing.assert_array_equal(renderer.read_image(raw, EXPECTED, SHAPE), EXPECTED)


@pytest.mark.behaviour("IOP-14")
def test_sampled_image_takes_a_sampler_and_waits_for_its_event(renderer: Renderer, theirs: lp.Context):
    raw, semaphore = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, ALL_USES), renderer.timeline()
    format_ = lp.ImageFormat.r32g32b32a32_sfloat
    written = lp.vulkan.make_unsampled_image(raw, theirs, format=format_, shape=SHAPE, layout=0)
    number[SHAPE](written).wait()
    ready = lp.vulkan.make_event((semaphore, 3), theirs)
    sampler = lp.ImageSampler("clamp_to_edge", "unnormalized", "linear")
    img = lp.vulkan.make_sampled_image(raw, theirs, sampler, ready, format=format_, shape=SHAPE)
    assert img.sampler == sampler
    out = lp.zeros(1, lp.f32x4, device=theirs.devices[0])
    event = corner[1](img, out)
    assert not event.done
    renderer.signal(semaphore, 3)
    np.testing.assert_array_equal(out.numpy(), [[0.5, 0.5, 7, 1]])


@pytest.mark.behaviour("IOP-14")
def test_unsampled_image_waits_for_its_event(renderer: Renderer, theirs: lp.Context):
    raw, semaphore = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, ALL_USES), renderer.timeline()
    ready = lp.vulkan.make_event((semaphore, 1), theirs)
    img = lp.vulkan.make_unsampled_image(
        raw, theirs, format="r32g32b32a32_sfloat", shape=SHAPE, layout=0, available_event=ready
    )
    event = number[SHAPE](img)
    assert not event.done
    renderer.signal(semaphore, 1)
    event.wait()
    np.testing.assert_array_equal(img.numpy(), EXPECTED)


def test_image_without_storage_usage_is_not_written(renderer: Renderer, theirs: lp.Context):
    usage = ALL_USES & ~vk.VK_IMAGE_USAGE_STORAGE_BIT
    raw = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, usage)
    img = lp.vulkan.make_unsampled_image(
        raw, theirs, format="r32g32b32a32_sfloat", shape=SHAPE, layout=0, usage=usage
    )
    with pytest.raises(lp.FeatureNotSupportedError, match="does not write"):
        number[SHAPE](img)


def test_image_without_transfer_usage_is_not_copied(renderer: Renderer, theirs: lp.Context):
    usage = vk.VK_IMAGE_USAGE_STORAGE_BIT | vk.VK_IMAGE_USAGE_SAMPLED_BIT
    raw = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, usage)
    img = lp.vulkan.make_unsampled_image(
        raw, theirs, format="r32g32b32a32_sfloat", shape=SHAPE, layout=0, usage=usage
    )
    number[SHAPE](img).wait()
    queue, array = (
        lp.Queue(context=theirs),
        lp.zeros((*SHAPE, 4), device=theirs.devices[0]),
    )
    for use, name in (
        (img.numpy, "TRANSFER_SRC"),
        (lambda: queue.copy(img, array), "TRANSFER_SRC"),
        (lambda: queue.copy(array, img), "TRANSFER_DST"),
        (lambda: img.fill(0), "TRANSFER_DST"),
    ):
        with pytest.raises(lp.InvalidError, match=name):
            use()


def test_image_belongs_to_its_context(renderer: Renderer, theirs: lp.Context, device: lp.Device):
    raw = renderer.image(SHAPE, vk.VK_FORMAT_R32G32B32A32_SFLOAT, ALL_USES)
    img = lp.vulkan.make_unsampled_image(raw, theirs, format="r32g32b32a32_sfloat", shape=SHAPE, layout=0)
    with pytest.raises(lp.InvalidError, match="its context"):
        number[SHAPE].on(device.default_queue)(img)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vk_image": 0}, lp.InvalidError, "no handle"),
        ({"vk_image": "x"}, TypeError, "VkImage"),
        ({"format": None}, TypeError, "lp.ImageFormat"),
        ({"format": "r8"}, lp.InvalidError, "lp.ImageFormat"),
        ({"shape": (0, 4)}, lp.InvalidError, "at least one pixel"),
        ({"layout": "GENERAL"}, TypeError, "layout"),
        ({"available_event": 3}, TypeError, "lp.Event"),
        ({"ctx": 3}, TypeError, "lp.Context"),
    ],
)
def test_wrong_arguments(device: lp.Device, options, error, message):
    given = {"vk_image": 64, "ctx": lp.Context([device]), "format": "r32_sfloat", "shape": (4, 4), **options}
    raw, ctx = given.pop("vk_image"), given.pop("ctx")
    with pytest.raises(error, match=message):
        lp.vulkan.make_unsampled_image(raw, ctx, **given)


def test_wrong_sampler(device: lp.Device):
    with pytest.raises(TypeError, match="ImageSampler"):
        lp.vulkan.make_sampled_image(64, lp.Context([device]), "repeat", format="r32_sfloat", shape=4)


@pytest.mark.behaviour("IOP-10", "IOP-14")
def test_device_without_images_refuses(device: lp.Device):
    masked = device.masked(without=[lp.Aspect.IMAGE])
    with pytest.raises(lp.FeatureNotSupportedError, match="no images"):
        lp.vulkan.make_unsampled_image(64, lp.Context([masked]), format="r32_sfloat", shape=4)
    with pytest.raises(lp.FeatureNotSupportedError, match="no images") as caught:
        lp.vulkan.make_sampled_image(
            64, lp.Context([masked]), lp.ImageSampler(), format="r32_sfloat", shape=4
        )
    assert caught.value.errc is lp.Errc.FEATURE_NOT_SUPPORTED
