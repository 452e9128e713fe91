"""A program with a VkInstance, VkDevice and VkBuffers of its own runs lapilli's kernels on them."""

from __future__ import annotations

import gc
import re
import threading

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.interop import events

from .kernels import double, double_wide, saxpy, wide_integers
from .renderer import Renderer


def test_kernel_runs_on_buffers_of_the_application(renderer: Renderer, theirs: lp.Context):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    raw_x, raw_y = renderer.buffer(x), renderer.buffer(y)
    a = lp.vulkan.make_buffer(raw_x, theirs, dtype=lp.f32, size=1000)
    b = lp.vulkan.make_buffer(raw_y, theirs, dtype=lp.f32, size=1000)
    assert a.is_view and a.shape == (1000,) and a.nbytes == 4000
    queue = lp.vulkan.make_queue((renderer.queue, renderer.family), theirs)
    queue.parallel_for(1000, saxpy, 2.0, a, b).wait()
    np.testing.assert_array_equal(renderer.read(raw_y, y), 2 * x + 1)
    np.testing.assert_array_equal(b.numpy(), 2 * x + 1)


@pytest.mark.behaviour("IOP-25", "IOP-26", "IOP-29")
def test_objects_of_the_application_survive_those_of_lapilli(renderer: Renderer, theirs: lp.Context):
    x = np.arange(64, dtype=np.float32)
    raw = renderer.buffer(x)
    array = lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=64)
    assert len(lp.vulkan.get_native(array)) == 1
    double[64](array).wait()
    array.release()
    del array
    gc.collect()
    lp.empty(4, device=theirs.devices[0])  # a safe point: what waits to be destroyed would go now
    np.testing.assert_array_equal(renderer.read(raw, x), 2 * x)


@pytest.mark.behaviour("IOP-30")
def test_host_writes_reach_the_buffer_of_the_application(renderer: Renderer, theirs: lp.Context):
    x = np.zeros(65, np.uint8)
    raw = renderer.buffer(x)
    array = lp.vulkan.make_buffer(raw, theirs, dtype=lp.u8, size=61)
    array.fill(7)
    array.device.default_queue.wait()
    expected = np.concatenate([np.full(61, 7, np.uint8), np.zeros(4, np.uint8)])
    np.testing.assert_array_equal(renderer.read(raw, x), expected)  # nothing behind the end was touched


def test_part_of_a_buffer(renderer: Renderer, theirs: lp.Context):
    alignment = theirs.devices[0].physical.limits.min_storage_buffer_offset_alignment
    skipped = alignment // 4
    x = np.arange(skipped + 100, dtype=np.float32)
    raw = renderer.buffer(x)
    array = lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=100, offset=alignment)
    double[100](array).wait()
    expected = np.concatenate([x[:skipped], 2 * x[skipped:]])
    np.testing.assert_array_equal(renderer.read(raw, x), expected)
    np.testing.assert_array_equal(array.numpy(), expected[skipped:])
    with pytest.raises(lp.InvalidError, match="multiple of"):
        lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=1, offset=alignment + 1)


@pytest.mark.behaviour("IOP-13")
def test_available_event_comes_first(renderer: Renderer, theirs: lp.Context):
    x = np.arange(16, dtype=np.float32)
    raw, semaphore = renderer.buffer(x), renderer.timeline()
    ready = lp.vulkan.make_event((semaphore, 5), theirs)
    array = lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=16, available_event=ready)
    event = double[16](array)
    assert not ready.done and not event.done
    np.testing.assert_array_equal(renderer.read(raw, x), x)
    renderer.signal(semaphore, 5)
    event.wait()
    assert ready.done
    np.testing.assert_array_equal(renderer.read(raw, x), 2 * x)


@pytest.mark.behaviour("IOP-08", "IOP-12")
def test_event_of_several_semaphores(renderer: Renderer, theirs: lp.Context):
    first, second = renderer.timeline(), renderer.timeline()
    event = lp.vulkan.make_event([(first, 1), (second, 2)], theirs)
    natives = lp.vulkan.get_native(event)
    assert [value for _, value in natives] == [1, 2]
    called = threading.Event()
    event.add_done_callback(lambda _: called.set())
    renderer.signal(first, 1)
    assert not event.done and not called.is_set()
    renderer.signal(second, 2)
    assert event.done and event.wait() is event
    assert called.wait(60)


def test_callbacks_of_a_native_event_wait_for_as_long_as_it_takes(
    renderer: Renderer, theirs: lp.Context, monkeypatch: pytest.MonkeyPatch
):
    slices, called = threading.Semaphore(0), threading.Event()
    wait_slice = events.SemaphoreTimeline.wait_slice

    def counted(timeline: events.SemaphoreTimeline, value: int) -> bool:
        slices.release()
        return wait_slice(timeline, value)

    monkeypatch.setattr(events.SemaphoreTimeline, "wait_slice", counted)
    monkeypatch.setattr(events, "_WAIT_SLICE_NS", 1_000_000)
    semaphore = renderer.timeline()
    event = lp.vulkan.make_event([(semaphore, 1)], theirs)
    event.add_done_callback(lambda _: called.set())
    for _ in range(4):
        assert slices.acquire(timeout=20)
    renderer.signal(semaphore, 1)
    assert called.wait(60)


def test_launch_waits_for_a_native_event(renderer: Renderer, theirs: lp.Context):
    x = np.arange(16, dtype=np.float32)
    raw, semaphore = renderer.buffer(x), renderer.timeline()
    array = lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=16)
    queue = lp.vulkan.make_queue(renderer.queue, theirs)
    event = double[16].on(queue, wait=[lp.vulkan.make_event([(semaphore, 1)], theirs)])(array)
    assert not event.done
    renderer.signal(semaphore, 1)
    event.wait()
    np.testing.assert_array_equal(renderer.read(raw, x), 2 * x)


def test_the_application_waits_for_an_event_of_lapilli(renderer: Renderer, theirs: lp.Context):
    import vulkan as vk

    x = np.arange(16, dtype=np.float32)
    raw = renderer.buffer(x)
    event = double[16](lp.vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=16))
    ((semaphore, value),) = lp.vulkan.get_native(event)
    handle = vk.ffi.cast("VkSemaphore", semaphore)
    info = vk.VkSemaphoreWaitInfo(semaphoreCount=1, pSemaphores=[handle], pValues=[value])
    vk.vkWaitSemaphores(renderer.device, info, 10**10)
    np.testing.assert_array_equal(renderer.read(raw, x), 2 * x)


@pytest.mark.behaviour("EXN-01")
def test_features_are_those_of_the_application(renderer: Renderer, theirs: lp.Context):
    device = theirs.devices[0]
    assert device.has(lp.Aspect.FP64)
    assert not device.has(lp.Aspect.VK_INT64)
    assert lp.vulkan.make_device(renderer.physical).has(
        lp.Aspect.VK_INT64
    )  # the hardware has it, the VkDevice not
    wide = lp.asarray(np.arange(8.0), device=device)
    double_wide[8](wide)
    np.testing.assert_array_equal(wide.numpy(), 2 * np.arange(8.0))
    with pytest.raises(lp.KernelNotSupportedError, match="vk_int64"):
        wide_integers[8](lp.zeros(8, lp.i64, device=device))


def test_without_a_word_only_the_minimum_is_used(renderer: Renderer):
    lp.vulkan.make_platform(renderer.instance)
    context = lp.vulkan.make_context(renderer.device, device=renderer.physical)
    assert not context.devices[0].has(lp.Aspect.FP64)
    array = lp.asarray(np.arange(8, dtype=np.float32), device=context.devices[0])
    double[8](array)
    np.testing.assert_array_equal(array.numpy(), 2 * np.arange(8))
    lp.vulkan.release_context(context)


@pytest.mark.behaviour("MEM-10")
def test_out_of_context_use_is_refused(renderer: Renderer, theirs: lp.Context):
    array = lp.vulkan.make_buffer(renderer.buffer(np.ones(4, np.float32)), theirs, dtype=lp.f32, size=4)
    other = lp.device()
    with pytest.raises(lp.InvalidError, match="native buffer") as caught:
        lp.Queue(other).parallel_for(4, double, array)
    assert caught.value.errc is lp.Errc.INVALID
    assert isinstance(caught.value, lp.KernelArgumentError)
    queue, own = lp.Queue(other), lp.zeros(4, device=other)
    for call in (
        lambda: queue.copy(own, array),
        lambda: queue.copy(array, own),
        lambda: queue.copy(array, np.zeros(4, np.float32)),
        lambda: queue.fill(array, 2.0),
    ):
        with pytest.raises(lp.InvalidError, match="on device") as caught:
            call()
        assert caught.value.errc is lp.Errc.INVALID


def test_released_context_cannot_be_used(renderer: Renderer):
    lp.vulkan.make_platform(renderer.instance)
    context = lp.vulkan.make_context(renderer.device, device=renderer.physical)
    array = lp.ones(8, device=context.devices[0])
    double[8](array)
    lp.vulkan.release_context(context)
    with pytest.raises(lp.DeviceLostError, match="closed"):
        double[8](array)
    with pytest.raises(lp.Error):
        array.numpy()


@pytest.mark.behaviour("IOP-11", "IOP-22")
def test_wrong_arguments_of_make_context(renderer: Renderer):
    make_context = lp.vulkan.make_context
    lp.vulkan.make_platform(renderer.instance)
    for wrong in (0, -1, 12345, 1 << 64):
        with pytest.raises(lp.InvalidError):
            make_context(wrong, device=renderer.physical)
    with pytest.raises(TypeError, match="VkDevice"):
        make_context("device")
    with pytest.raises(lp.InvalidError, match="family"):
        make_context(renderer.device, device=renderer.physical, queue_family=99)
    with pytest.raises(lp.InvalidError, match="does not have the extension"):
        make_context(renderer.device, device=renderer.physical, extensions=["VK_NO_such"])
    with pytest.raises(lp.InvalidError, match="timelineSemaphore"):
        make_context(renderer.device, device=renderer.physical, features=["shaderFloat64"])
    with pytest.raises(lp.InvalidError, match="did you mean shaderFloat64"):
        make_context(
            renderer.device, device=renderer.physical, features=["timelineSemaphore", "shaderFlaot64"]
        )
    with pytest.raises(TypeError, match="list of names"):
        make_context(renderer.device, device=renderer.physical, features="shaderFloat64")
    with pytest.raises(lp.InvalidError):
        make_context([], device=renderer.physical)


@pytest.mark.device
@pytest.mark.parametrize(
    ("version", "message"),
    [((1, 0), "lacks the Vulkan feature timelineSemaphore"), ((1, 1), r"older than 1\.2")],
)
def test_programs_of_an_older_vulkan(version: tuple[int, int], message: str):
    """Its VkDevice has no timeline semaphores, whatever the hardware has."""
    vk = pytest.importorskip("vulkan")
    application = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(*version, 0))
    instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
    physical = vk.vkEnumeratePhysicalDevices(instance)[0]
    queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, queueCount=1, pQueuePriorities=[1.0])
    info = vk.VkDeviceCreateInfo(queueCreateInfoCount=1, pQueueCreateInfos=[queue])
    device = vk.vkCreateDevice(physical, info, None)
    try:
        lp.vulkan.make_platform(instance)
        context = lp.vulkan.make_context(device, device=physical)
    except lp.InvalidError as error:
        assert re.search(message, str(error))
    else:
        lp.vulkan.release_context(context)
        assert version > (1, 0)
        pytest.skip("the driver gives its functions to programs of any version")
    finally:
        lp.vulkan.release_instance(instance)
        vk.vkDestroyDevice(device, None)
        vk.vkDestroyInstance(instance, None)


@pytest.mark.behaviour("IOP-12", "IOP-13")
def test_wrong_arguments_of_other_makers(renderer: Renderer, theirs: lp.Context):
    vulkan, raw = lp.vulkan, renderer.buffer(np.ones(4, np.float32))
    own = lp.device().default_context
    with pytest.raises(lp.InvalidError, match="make_context"):
        vulkan.make_queue(renderer.queue, own)
    with pytest.raises(lp.InvalidError, match="family"):
        vulkan.make_queue((renderer.queue, renderer.family + 1), theirs)
    with pytest.raises(lp.InvalidError, match="make_platform"):
        vulkan.make_device(12345)
    with pytest.raises(lp.InvalidError):
        vulkan.make_platform(12344)
    with pytest.raises(lp.InvalidError, match="empty"):
        vulkan.make_event([], theirs)
    with pytest.raises(TypeError, match="one dimension"):
        vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=(2, 2))  # pyright: ignore[reportArgumentType]
    with pytest.raises(lp.InvalidError):
        vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=-1)
    with pytest.raises(lp.InvalidError):
        vulkan.make_buffer(raw, theirs, dtype=object, size=1)
    with pytest.raises(TypeError, match="VkBuffer"):
        vulkan.make_buffer(renderer.queue, theirs, dtype=lp.f32, size=1)
