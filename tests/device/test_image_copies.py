"""Copies and fills of images as commands of a queue: order, events, graphs, and what does not go together."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

CASES = [
    ("r8_unorm", (7,)),
    ("r16g16_sint", (5, 7)),
    ("r8g8b8a8_unorm", (3, 5)),
    ("r32g32b32a32_sfloat", (2, 3, 5)),
    ("r32_uint", (2, 3, 5)),
]


@lp.kernel
def brighten(img: lp.UnsampledImage[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    img[i, j] += 1.0


@lp.kernel
def double(x: lp.Array[lp.f32x4, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    x[i, j] = x[i, j] * 2.0


def pixels_of(img: lp.UnsampledImage, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if img.dtype.kind == "f":
        return generator.uniform(-2, 2, img.host_shape).astype(img.dtype)
    limits = np.iinfo(img.dtype)
    return generator.integers(limits.min, limits.max, img.host_shape, img.dtype, endpoint=True)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_images_arrays_and_the_host(device, name, shape):
    if not device.image_support(name, len(shape)).reads:
        pytest.skip(f"{device.selector} has no {len(shape)}-D images of {name}")
    a, b = (lp.UnsampledImage(shape=shape, format=name, device=device) for _ in range(2))
    queue, pixels = lp.Queue(device), pixels_of(a)
    flat = pixels.ndim <= 3
    out = np.empty_like(pixels)
    queue.copy(pixels, a)
    queue.copy(a, b)
    if flat:  # arrays have three dimensions at most
        array = lp.zeros(pixels.shape, pixels.dtype, device=device)
        queue.copy(b, array)
        b.fill(0)
        queue.copy(array, b)
        np.testing.assert_array_equal(array.numpy(), pixels)
    queue.copy(b, out)
    np.testing.assert_array_equal(out, pixels)
    one = pixels.reshape(-1, a.channels)[0] if a.channels > 1 else pixels.flat[0]
    queue.fill(a, one).wait()
    np.testing.assert_array_equal(a.numpy(), np.broadcast_to(one, a.host_shape))
    np.testing.assert_array_equal(b.numpy(), pixels)


def image(device, shape=(4, 6)):
    return lp.UnsampledImage(shape=shape, format="r32g32b32a32_sfloat", device=device)


def test_copies_and_kernels_of_several_queues_follow_each_other(device):
    a, b, x = image(device), image(device), lp.zeros((4, 6), lp.f32x4, device=device)
    queues = [lp.Queue(device) for _ in range(3)]
    expected = 0.0
    for step in range(12):
        q, r = queues[step % 3], queues[(step + 1) % 3]
        brighten[(4, 6)].on(q)(a)
        r.copy(a, b)
        q.copy(b, x)
        double[(4, 6)].on(r)(x)
        queues[(step + 2) % 3].copy(x, a)
        expected = 2 * (expected + 1)
    np.testing.assert_array_equal(a.numpy(), np.full((4, 6, 4), expected))
    np.testing.assert_array_equal(b.numpy(), np.full((4, 6, 4), expected / 2))


def test_a_sampled_image_shares_what_is_copied(device):
    a = image(device)
    shown, other = lp.SampledImage(a), image(device)
    a.fill(3)
    device.default_queue.copy(shown, other)
    device.default_queue.copy(shown, a)  # the same memory: nothing to do
    np.testing.assert_array_equal(other.numpy(), np.full((4, 6, 4), 3))
    event = device.default_queue.submit(lambda h: h.copy(a, shown))
    event.wait()
    np.testing.assert_array_equal(a.numpy(), np.full((4, 6, 4), 3))


@pytest.mark.native_only("graphs are not interpreted")
def test_graphs_record_copies_of_images(device):
    a, b, x = image(device), image(device), lp.zeros((4, 6), lp.f32x4, device=device)
    queue = lp.Queue(device)
    with lp.graph() as g:
        queue.copy(x, a)
        brighten[(4, 6)].on(queue)(a)
        queue.copy(a, b)
        queue.copy(b, b)
        event = queue.copy(b, x)
    for step in (1, 2, 3):
        g.replay(queue).wait()
        np.testing.assert_array_equal(x.numpy(), np.full((4, 6, 4), step))
    with lp.profile() as p:
        g.replay(queue).wait()
    assert sum(e.kind == "copy" for e in p.events) >= 3
    other = image(device)
    g.bind(b, other)
    g.replay(queue).wait()
    np.testing.assert_array_equal(other.numpy(), np.full((4, 6, 4), 5))
    with pytest.raises(lp.InvalidError, match="recorded in a graph"):
        event.wait()
    with pytest.raises(lp.KernelArgumentError, match=r"expected an lp\.UnsampledImage"):
        g.bind(other, x)
    with pytest.raises(lp.InvalidError, match="host memory"), lp.graph():
        queue.copy(np.zeros((4, 6, 4), np.float32), a)


def test_what_does_not_go_together(device):
    a, queue = image(device), lp.Queue(device)
    narrow = lp.UnsampledImage(shape=(4, 6), format="r16g16b16a16_sfloat", device=device)
    released = image(device)
    released.release()
    for source, target, message in (
        (a, narrow, "r16g16b16a16_sfloat"),
        (a, image(device, (6, 4)), r"\(6, 4\)"),
        (a, lp.zeros((4, 6), device=device), r"\(4, 6, 4\)"),
        (lp.zeros((4, 6, 4), lp.i32, device=device), a, "float32"),
        (np.zeros((4, 6), np.float32), a, "the source has shape"),
        (a, np.zeros((4, 6, 4)), "the target has dtype float64"),
        (a, np.broadcast_to(np.float32(0), (4, 6, 4)), "read-only"),
        (a, [1, 2], "must be an lp.Array, an image"),
    ):
        with pytest.raises(lp.InvalidError, match=message):
            queue.copy(source, target)
    for source, target in ((released, a), (a, released)):
        with pytest.raises(lp.KernelArgumentError, match="image was released"):
            queue.copy(source, target)
    for value in ("x", [1, 2], 1j):
        with pytest.raises(lp.InvalidError, match="fill"):
            queue.fill(a, value)
    for other in lp.devices():
        if other is not device:
            with pytest.raises(lp.KernelArgumentError, match=r"lp\.UnsampledImage\(a, device=…\)"):
                queue.copy(image(other), a)
    np.testing.assert_array_equal(a.numpy(), np.zeros((4, 6, 4)))


@pytest.mark.parametrize(
    "pixels",
    [[[1, 2], [3]], [[[1, 2, 3, 300]]], [[[1, 2, 3, -1]]], [[[1, 2, 3, 0.5]]], [["x"]], [[[1, 2, 3]]], []],
    ids=str,
)
def test_numbers_in_lists_that_are_no_pixels(device, pixels):
    image = lp.UnsampledImage(np.full((1, 1, 4), 7, np.uint8), device=device)
    with pytest.raises(lp.InvalidError, match=r"copy_from|does not fit u8"):
        image.copy_from(pixels)
    with pytest.raises(lp.InvalidError, match="fill"):
        image.fill(pixels)
    assert (image.numpy() == 7).all()


def test_lists_of_numbers_are_taken_as_arrays_take_them(device):
    image = lp.UnsampledImage(shape=(1, 2), format="r8g8b8a8_unorm", device=device)
    pixels = [[(1, 2, 3, 4), (5, 6, 7, 255)]]
    assert image.copy_from(pixels).numpy().tolist() == np.array(pixels).tolist()
