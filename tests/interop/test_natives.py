"""Native handles of lapilli's own objects: out, in again, and how long they live."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.errors import VulkanError
from lapilli.vk_runtime.headers import ffi
from lapilli.vk_runtime.interop.natives import Native
from lapilli.vk_runtime.physical_device import read_physical_device

from .kernels import double

vulkan = lp.vulkan


@pytest.mark.behaviour("IOP-01")
def test_tables_of_native_types():
    assert vulkan.backend_input_type(lp.Context) == "VkDevice"
    assert vulkan.backend_return_type(lp.Context) == "list[VkDevice]"
    for cls in (
        *(lp.Platform, lp.Device, lp.Queue, lp.Event, lp.Array, lp.Kernel, lp.KernelBundle),
        *(lp.SampledImage, lp.UnsampledImage),
    ):
        assert "Vk" in vulkan.backend_input_type(cls)
        assert "Vk" in vulkan.backend_return_type(cls)
    for wrong in (int, lp.Range, 3):
        with pytest.raises(TypeError):
            vulkan.backend_input_type(wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError):
            vulkan.backend_return_type(wrong)  # pyright: ignore[reportArgumentType]


def _kinds(native: object) -> list[str]:
    """Returns the Vulkan types of handles, of a list those of its first item."""
    if isinstance(native, list):
        assert native
        return _kinds(native[0])  # pyright: ignore[reportUnknownArgumentType]
    parts = native if isinstance(native, tuple) else (native,)
    return [part.kind for part in parts if isinstance(part, Native)]


@pytest.mark.behaviour("IOP-01")
def test_natives_have_the_types_of_the_table(device: lp.Device):
    context = lp.Context([device])
    queue = lp.Queue(context=context)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=double)
    array, kernel = lp.zeros(4, device=device), bundle.get_kernel(double)
    event = queue.parallel_for(4, kernel, array)
    for owner, expected in (
        (device.platform, ["VkInstance"]),
        (device, ["VkPhysicalDevice"]),
        (context, ["VkDevice"]),
        (queue, ["VkQueue"]),
        (event, ["VkSemaphore"]),
        (array, ["VkBuffer"]),
        (kernel, ["VkPipeline", "VkPipelineLayout"]),
        (bundle, ["VkShaderModule"]),
    ):
        cls = next(c for c in type(owner).__mro__ if c.__module__.startswith("lapilli"))
        table, native = vulkan.backend_return_type(cls), vulkan.get_native(owner)
        assert (
            _kinds(native)
            == expected
            == [name for name in re.findall(r"Vk\w+", table) if name != "VkDriverId"]
        )
        assert table.startswith("list[") == isinstance(native, list)


@pytest.mark.behaviour("IOP-02")
def test_platform_round_trip(device: lp.Device):
    native = vulkan.get_native(device.platform)
    assert int(native[0]) != 0 and native[1] == device.physical.driver_id
    assert vulkan.make_platform(native) == device.platform
    with pytest.raises(lp.InvalidError, match="VkDriverId"):
        vulkan.make_platform((native[0], 9999))


@pytest.mark.behaviour("IOP-03")
def test_device_round_trip(device: lp.Device):
    native = vulkan.get_native(device)
    assert isinstance(native, int) and native
    assert vulkan.make_device(native) is device
    assert vulkan.make_device(int(native)) is device
    masked = device.masked(limits={"max_work_group_size": 64})
    assert vulkan.make_device(vulkan.get_native(masked)) is device  # the same hardware


@pytest.mark.behaviour("IOP-04", "IOP-11")
def test_context_round_trip(device: lp.Device):
    context = lp.Context([device])
    natives = vulkan.get_native(context)
    assert len(natives) == 1
    errors: list[object] = []
    made = vulkan.make_context(natives, errors.append)
    assert made is not context and made.devices == (device,) and made.async_handler == errors.append
    assert vulkan.make_context(natives[0]).async_handler is None
    with pytest.raises(lp.InvalidError, match="application made"):
        vulkan.release_context(made)
    several = lp.Context([device, device.masked(limits={"max_work_group_size": 64})])
    first, second = vulkan.get_native(several)
    assert first == natives[0] and second and second != first


@pytest.mark.behaviour("IOP-05", "IOP-12", "IOP-27")
def test_queue_round_trip(device: lp.Device):
    context = lp.Context([device])
    queue = lp.Queue(context=context)
    native, family = vulkan.get_native(queue)
    assert family == device.physical.queue_family_index
    made = vulkan.make_queue((native, family), context)
    assert vulkan.get_native(made) == (native, family)
    copied = copy.copy(queue)
    assert copied == queue and hash(copied) == hash(queue) and copy.deepcopy([queue]) == [queue]
    assert vulkan.get_native(copied) == (native, family)
    del queue, copied
    gc.collect()
    x = lp.asarray(np.arange(8, dtype=np.float32), device=device)
    made.parallel_for(8, double, x).wait()
    np.testing.assert_array_equal(x.numpy(), 2 * np.arange(8))
    del made
    gc.collect()  # no object has it now, only the native
    vulkan.make_queue((native, family), context).parallel_for(8, double, x).wait()
    np.testing.assert_array_equal(x.numpy(), 4 * np.arange(8))


@pytest.mark.behaviour("IOP-27")
def test_objects_outlive_what_was_got_of_them(device: lp.Device):
    """The other way round: giving back what was counted for a native leaves the object as it was."""
    context = lp.Context([device])
    queue, x = lp.Queue(context=context), lp.asarray(np.arange(8, dtype=np.float32), device=device)
    event = queue.parallel_for(8, double, x)
    found = [vulkan.get_native(queue)[0], vulkan.get_native(x)[0], vulkan.get_native(event)[0][0]]
    for native in found:
        before = vulkan.get_reference_count(native)
        vulkan.retain(native)
        vulkan.release(native)
        assert vulkan.get_reference_count(native) == before
    del found, native
    gc.collect()
    event.wait()
    queue.parallel_for(8, double, x).wait()
    np.testing.assert_array_equal(x.numpy(), 4 * np.arange(8))


def test_queue_of_another_context(device: lp.Device):
    others = [d for d in lp.devices() if d.platform != device.platform]
    if not others:
        pytest.skip("there is one platform only")
    native = vulkan.get_native(lp.Queue(device))
    with pytest.raises(lp.InvalidError):
        vulkan.make_queue(native, lp.Context([others[0]]))


@pytest.mark.behaviour("IOP-08", "IOP-12")
def test_event_round_trip(device: lp.Device):
    x, queue = lp.ones(8, device=device), lp.Queue(device)
    event = queue.parallel_for(8, double, x)
    natives = vulkan.get_native(event)
    assert len(natives) == 1
    made = vulkan.make_event(natives, lp.Context([device]))
    single = vulkan.make_event(natives[0], lp.Context([device]))
    made.wait()
    assert made.done and single.done and event.done

    async def main() -> None:
        assert await made is made

    asyncio.run(main())
    for name in ("queue", "elapsed_ns"):
        with pytest.raises(lp.InvalidError, match="native semaphores"):
            getattr(made, name)


@pytest.mark.behaviour("IOP-12")
def test_what_is_no_event(device: lp.Device):
    context = lp.Context([device])
    for wrong in ((0, 1), (-1, 1), (1 << 64, 1), (8, -1), (8, 1 << 64), (8, 1.0), []):
        with pytest.raises(lp.InvalidError):
            vulkan.make_event(wrong, context)
    for wrong in ((None, 1), (True, 1), ("semaphore", 1), (8,), (8, 1, 2), 8, None):
        with pytest.raises(TypeError, match="VkSemaphore"):
            vulkan.make_event(wrong, context)


@pytest.mark.behaviour("IOP-09", "IOP-27", "MEM-09")
def test_native_buffer_outlives_its_array(device: lp.Device):
    context = lp.Context([device])
    array = lp.asarray(np.arange(100, dtype=np.float32), device=device)
    natives = vulkan.get_native(array)
    assert len(natives) == 1
    array.release()
    del array
    gc.collect()
    again = vulkan.make_buffer(natives[0], context, dtype=lp.f32, size=100)
    del natives
    double[100](again)
    np.testing.assert_array_equal(again.numpy(), 2 * np.arange(100))


@pytest.mark.behaviour("IOP-13")
def test_an_array_does_not_end_behind_the_memory_of_its_buffer(device: lp.Device):
    context, array = lp.Context([device]), lp.zeros(100, device=device)
    (native,) = vulkan.get_native(array)
    alignment = device.physical.limits.min_storage_buffer_offset_alignment
    for size, offset in ((1 << 20, 0), (1 << 39, 0), (100, alignment << 20), (1, 1 << 62)):
        offset -= offset % alignment
        with pytest.raises(lp.InvalidError, match="would end at byte"):
            vulkan.make_buffer(native, context, dtype=lp.f32, size=size, offset=offset)
    with pytest.raises(TypeError, match="number of elements"):
        vulkan.make_buffer(native, context, dtype=lp.f32, size=True)
    made = vulkan.make_buffer(native, context, dtype=lp.f32, size=100)
    assert made.shape == (100,) and made.nbytes == 400


@pytest.mark.behaviour("IOP-32")
def test_reference_counts(device: lp.Device):
    context = lp.Context([device])
    queue = lp.Queue(context=context)
    native, _ = vulkan.get_native(queue)
    before = vulkan.get_reference_count(native)
    second = vulkan.make_queue(native, context)
    assert vulkan.get_reference_count(native) == before + 1
    assert vulkan.get_reference_count(int(native)) == before + 1
    del second
    gc.collect()
    assert vulkan.get_reference_count(native) == before
    with pytest.raises(lp.InvalidError, match="no object"):
        vulkan.get_reference_count(1)


@pytest.mark.behaviour("IOP-25", "IOP-32")
def test_count_of_a_buffer_goes_1_2_1(device: lp.Device):
    array = lp.zeros(4, device=device)
    (native,) = vulkan.get_native(array)
    assert vulkan.get_reference_count(native) == 1
    second = vulkan.make_buffer(native, lp.Context([device]), dtype=lp.f32, size=4)
    assert vulkan.get_reference_count(native) == 2
    del second
    gc.collect()
    assert vulkan.get_reference_count(native) == 1


@pytest.mark.behaviour("IOP-28")
def test_wrong_counting_is_the_users_fault(device: lp.Device):
    array = lp.zeros(4, device=device)
    (native,) = vulkan.get_native(array)
    vulkan.retain(native)
    assert vulkan.get_reference_count(native) == 2
    vulkan.release(native)
    vulkan.release(native)  # one too many: ignored
    with lp.config.override(debug=True), pytest.raises(lp.InvalidError, match="more often"):
        vulkan.release(native)
    np.testing.assert_array_equal(array.numpy(), np.zeros(4))


@pytest.mark.parametrize("recorded", [False, True])
def test_copies_and_fills_of_a_part_of_a_buffer_touch_that_part(device, recorded):
    alignment = device.physical.limits.min_storage_buffer_offset_alignment
    whole = lp.zeros(3 * alignment, lp.u8, device=device)
    [native] = vulkan.get_native(whole)
    context = lp.Context([device])
    part, tail = (
        vulkan.make_buffer(native, context, dtype=lp.u8, size=size, offset=offset, device=device)
        for size, offset in ((alignment, alignment), (3, 2 * alignment))
    )
    source = lp.full(3, 5, lp.u8, device=device)

    def write():
        part.fill(7)
        tail.copy_from(source)
        device.default_queue.fill(tail, 8)  # 3 bytes, which are no whole word

    if recorded:
        with lp.graph() as graph:
            write()
        graph.replay()
    else:
        write()
    device.default_queue.wait()
    expected = np.zeros(3 * alignment, np.uint8)
    expected[alignment : 2 * alignment], expected[2 * alignment : 2 * alignment + 3] = 7, 8
    assert np.array_equal(whole.numpy(), expected)


def test_retain_keeps_a_plain_int_valid(device: lp.Device):
    array = lp.asarray(np.arange(4, dtype=np.float32), device=device)
    (native,) = vulkan.get_native(array)
    vulkan.retain(native)
    number = int(native)
    del array, native
    gc.collect()
    lp.empty(4, device=device)
    again = vulkan.make_buffer(number, lp.Context([device]), dtype=lp.f32, size=4)
    np.testing.assert_array_equal(again.numpy(), np.arange(4))
    del again
    vulkan.release(number)


@pytest.mark.behaviour("IOP-31", "EXN-05")
def test_extension_query(device: lp.Device):
    assert vulkan.has_extension(device, "VK_KHR_external_memory_fd")
    assert not vulkan.has_extension(device, "VK_KHR_no_such_thing")
    assert vulkan.has_extension(device.platform, "VK_KHR_get_physical_device_properties2")
    assert not vulkan.has_extension(device.platform, "VK_KHR_external_memory_fd_of_nobody")

    class Other:
        backend = "opencl"

    with pytest.raises(lp.BackendMismatchError) as caught:
        vulkan.has_extension(Other(), "cl_khr_fp64")  # pyright: ignore[reportArgumentType]
    assert caught.value.errc is lp.Errc.BACKEND_MISMATCH
    for call in (vulkan.get_native, lambda x: vulkan.get_proc(x, "vkQueueSubmit")):
        with pytest.raises(lp.BackendMismatchError, match="found one of 'opencl'"):
            call(Other())
    with pytest.raises(TypeError):
        vulkan.has_extension(3, "x")  # pyright: ignore[reportArgumentType]


@pytest.mark.behaviour("EXN-05")
def test_functions_of_extensions(device: lp.Device):
    function = vulkan.get_proc(device, "vkGetDeviceQueue")
    out = ffi.new("VkQueue*")
    queue, family = vulkan.get_native(lp.Queue(device))
    function(ffi.cast("VkDevice", vulkan.get_native(lp.Context([device]))[0]), family, 0, out)
    assert int(ffi.cast("uintptr_t", out[0])) == queue
    assert vulkan.get_proc(device.platform, "vkEnumeratePhysicalDevices")
    assert vulkan.get_proc(device, "vkGetPhysicalDeviceProperties")
    with pytest.raises(lp.InvalidError, match="does not have"):
        vulkan.get_proc(device, "vkNoSuchFunction")
    with pytest.raises(TypeError):
        vulkan.get_proc(device, "strlen")


@pytest.mark.behaviour("IOP-33")
def test_error_codes():
    assert vulkan.get_error_code(lp.InvalidError("logic")) == 0
    failure = VulkanError("vkCreateBuffer", -3)
    assert vulkan.get_error_code(failure) == -3
    wrapped = lp.InvalidError("around")
    wrapped.__cause__ = failure
    assert vulkan.get_error_code(wrapped) == -3
    with pytest.raises(TypeError, match="exception"):
        vulkan.get_error_code(-3)  # pyright: ignore[reportArgumentType]


@pytest.mark.behaviour("IOP-33")
def test_error_codes_of_calls_that_failed(device: lp.Device, monkeypatch: pytest.MonkeyPatch):
    fresh = device.masked(limits={"max_work_group_size": 77})  # a VkDevice of its own
    functions = fresh.logical.vk
    code = -2  # VK_ERROR_OUT_OF_DEVICE_MEMORY
    monkeypatch.setattr(functions, "vkAllocateMemory", lambda *_: code)
    with pytest.raises(lp.MemoryAllocationError) as caught:
        lp.empty(1 << 22, device=fresh)
    assert vulkan.get_error_code(caught.value) == code
    monkeypatch.undo()
    monkeypatch.setattr(functions, "vkCreateSampler", lambda *_: -1, raising=False)
    with pytest.raises(lp.Error) as caught:
        lp.SampledImage(np.zeros((4, 4), np.float32), lp.ImageSampler("clamp"), device=fresh)
    assert vulkan.get_error_code(caught.value) == -1
    with pytest.raises(lp.InvalidError) as caught:
        lp.empty(-1, device=fresh)
    assert vulkan.get_error_code(caught.value) == 0  # VK_SUCCESS: no call to Vulkan failed


@pytest.mark.device
@pytest.mark.behaviour("IOP-34")
def test_backend_names():
    assert lp.is_backend_active(lp.Backend.VULKAN) == bool(lp.devices())
    assert lp.SYCL_BACKEND_VULKAN == vulkan.SYCL_BACKEND_VULKAN == 1
    with pytest.raises(TypeError):
        lp.is_backend_active("vulkan")  # pyright: ignore[reportArgumentType]


@pytest.mark.device
@pytest.mark.behaviour("IOP-35", "IOP-36")
def test_every_driver_is_a_platform_and_contexts_have_one():
    names = {d.platform for d in lp.devices()}
    assert set(lp.platforms()) == names
    for platform in names:
        assert set(platform.devices) == {d for d in lp.devices() if d.platform == platform}
    vk = pytest.importorskip("vulkan")
    info = vk.VkInstanceCreateInfo(
        pApplicationInfo=vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 1, 0))
    )
    instance = vk.vkCreateInstance(info, None)
    loaders = {
        vk.vkGetPhysicalDeviceProperties(physical).deviceName
        for physical in vk.vkEnumeratePhysicalDevices(instance)
    }
    vk.vkDestroyInstance(instance, None)
    assert loaders <= {d.info.name for d in lp.devices()}
    if len(names) > 1:
        with pytest.raises(lp.InvalidError):
            lp.Context([next(d for d in lp.devices() if d.platform == name) for name in names])


@pytest.mark.device
@pytest.mark.behaviour("IOP-37")
def test_queue_without_arguments():
    queue = lp.Queue()
    assert queue.device is lp.device() and queue.device in queue.context.devices


@pytest.mark.behaviour("IOP-37")
def test_queue_where_there_is_no_device():
    text = (
        "import lapilli as lp\ntry:\n    lp.Queue()\nexcept lp.Error as error:\n    print(error.errc.name)\n"
    )
    env = os.environ | {"VK_DRIVER_FILES": "/nowhere/icd.json", "LAPILLI_SWIFTSHADER": ""}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "RUNTIME\n"


@pytest.mark.behaviour("IOP-38")
def test_version_is_not_above_the_loaders(device: lp.Device):
    version = tuple(map(int, device.info.version.split(".")))
    get = vulkan.get_proc(device.platform, "vkGetPhysicalDeviceProperties")
    properties = ffi.new("VkPhysicalDeviceProperties*")
    get(ffi.cast("VkPhysicalDevice", vulkan.get_native(device)), properties)
    number = properties.apiVersion
    own = (number >> 22 & 0x7F, number >> 12 & 0x3FF, number & 0xFFF)
    assert version == min(own, device.physical.instance.api_version)


@pytest.mark.behaviour("IOP-38")
def test_an_older_loader_lowers_the_version(device: lp.Device, monkeypatch: pytest.MonkeyPatch):
    physical = device.physical

    def reported(loader: tuple[int, int, int]) -> tuple[int, int, int]:
        monkeypatch.setitem(vars(physical.instance), "api_version", loader)
        return read_physical_device(physical.instance, physical.raw).reported_api_version

    real, own = physical.instance.api_version, reported((9, 0, 0))
    assert own >= physical.reported_api_version == min(own, real)
    assert reported((1, 1, 5)) == (1, 1, 5)


@pytest.mark.behaviour("EXN-03")
def test_extensions_of_sycl_aspects(device: lp.Device):
    physical = device.physical
    assert device.has(lp.Aspect.FP16) == ("shaderFloat16" in physical.features)
    assert device.has(lp.Aspect.ATOMIC64) == ("shaderBufferInt64Atomics" in physical.features)


def test_natives_of_the_wrong_type(device: lp.Device):
    queue, _ = vulkan.get_native(lp.Queue(device))
    with pytest.raises(TypeError, match="VkPhysicalDevice"):
        vulkan.make_device(queue)
    with pytest.raises(TypeError):
        vulkan.get_native(3)  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(TypeError):
        vulkan.make_queue(queue, device)  # pyright: ignore[reportArgumentType]
    with pytest.raises(lp.BackendMismatchError):

        class Other:
            backend = "cuda"

        vulkan.make_queue(queue, Other())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("junk", [None, 3, "context", []])
def test_only_contexts_are_released(junk):
    with pytest.raises(TypeError, match=r"release_context takes an lp\.Context"):
        vulkan.release_context(junk)


@pytest.mark.behaviour("IOP-32")
def test_counts_take_what_get_native_gives(device: lp.Device):
    queue = lp.Queue(device)
    natives = vulkan.get_native(queue)
    assert vulkan.get_reference_count(natives) == vulkan.get_reference_count(natives[0])
    before = vulkan.get_reference_count(natives)
    vulkan.retain(natives)
    assert vulkan.get_reference_count(natives[0]) == before + 1
    vulkan.release(natives)
    assert vulkan.get_reference_count(natives[0]) == before
    for item in (
        device.platform,
        queue.context,
        lp.zeros(4, device=device),
        queue.fill(lp.zeros(4, device=device), 1.0),
    ):
        assert vulkan.get_reference_count(vulkan.get_native(item)) >= 1
    for wrong in ([], (), [natives[0], natives[0]], "x", None):
        with pytest.raises(TypeError, match="gave for one object"):
            vulkan.get_reference_count(wrong)


@pytest.mark.behaviour("IOP-11", "IOP-12", "MEM-10")
def test_natives_of_another_vkdevice_are_refused(device: lp.Device):
    """Drivers do not check handles: one of another VkDevice, or even driver, may end the process."""
    array, queue = lp.zeros(8, device=device), lp.Queue(device)
    (buffer,), event = vulkan.get_native(array), vulkan.get_native(queue.fill(array, 1.0))
    image = (
        lp.UnsampledImage(shape=4, format="r32_sfloat", device=device)
        if device.has(lp.Aspect.IMAGE)
        else None
    )
    others = [
        device.masked(limits={"max_work_group_size": 71}),
        *(d for d in lp.devices() if d is not device),
    ]
    for other in others:
        context = lp.Context([other])
        with pytest.raises(lp.InvalidError, match="is of another VkDevice than that of device"):
            vulkan.make_buffer(buffer, context, dtype=lp.f32, size=8)
        with pytest.raises(lp.InvalidError, match="is of another VkDevice than that of device"):
            vulkan.make_event(event, context)
        if image is not None:
            with pytest.raises(lp.InvalidError, match="is of another VkDevice than that of device"):
                vulkan.make_unsampled_image(
                    vulkan.get_native(image)[0][0], context, format=image.format, shape=4
                )
        assert other.platform == device.platform or _is_refused_as_made_of(device, other)
    own = lp.Context([device])
    assert vulkan.make_event(event, own).wait().done
    assert (vulkan.make_buffer(buffer, own, dtype=lp.f32, size=8).numpy() == 1).all()
    pair = lp.Context([others[0], device])
    with pytest.raises(lp.InvalidError, match="another VkDevice"):
        vulkan.make_buffer(buffer, pair, dtype=lp.f32, size=8, device=others[0])
    assert vulkan.make_buffer(buffer, pair, dtype=lp.f32, size=8, device=device).device is device


def _is_refused_as_made_of(device: lp.Device, other: lp.Device) -> bool:
    natives = vulkan.get_native(lp.Context([device]))
    assert vulkan.make_context(natives, device=device).devices == (device,)
    with pytest.raises(lp.InvalidError, match="found a device of"):
        vulkan.make_context(natives, device=other)
    return True
