"""Images, and memory and semaphores that others share: every Vulkan call that makes them fails, on real drivers.

As in `test_every_call`: the documented exception names the function, nothing that was made is left, no file descriptor
is lost, and the same operation works afterwards.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.errors import result_name
from lapilli.vk_runtime.headers import NULL

pytestmark = [pytest.mark.device, pytest.mark.native_only("faults of drivers")]

MEMORY = (-1, -2)
MAP_FAILED, TOO_MANY_OBJECTS, INVALID_HANDLE, UNKNOWN = -5, -10, -1000072003, -13

SIZE = 64


class Watched:
    """The functions of a device: makes one fail, and counts what is made and destroyed."""

    def __init__(self, device: lp.Device) -> None:
        self.vk: Any = device.logical.vk
        self.living: Counter[str] = Counter()
        self.failing: tuple[str, int, int] | None = None
        """Function, VkResult, and which call of it from now on, from 0."""
        self.has_failed = False
        for kind in ("Buffer", "Image", "ImageView", "PipelineCache", "Sampler", "Semaphore"):
            self._watch(f"vkCreate{kind}", kind, 1)
            self._watch(f"vkDestroy{kind}", kind, -1)
        self._watch("vkAllocateMemory", "Memory", 1)
        self._watch("vkFreeMemory", "Memory", -1)
        for name in (
            "vkBindBufferMemory",
            "vkBindImageMemory",
            "vkMapMemory",
            "vkMergePipelineCaches",
            "vkGetMemoryFdKHR",
            "vkGetMemoryHostPointerPropertiesEXT",
            "vkGetSemaphoreFdKHR",
            "vkImportSemaphoreFdKHR",
        ):
            with contextlib.suppress(AttributeError):  # not of this driver
                self._watch(name, "", 0)

    def _watch(self, name: str, kind: str, change: int) -> None:
        function = getattr(self.vk, name)

        def call(*args: Any) -> Any:
            if self.failing is not None and self.failing[0] == name:
                _, result, left = self.failing
                self.failing = (name, result, left - 1)
                if left == 0:
                    self.has_failed = True
                    return result
            if change < 0 and args[1] == NULL:  # of nothing
                return function(*args)
            result = function(*args)
            if change < 0 or result == 0:
                self.living[kind] += change
            return result

        setattr(self.vk, name, call)


@pytest.fixture
def opened(device: lp.Device) -> Iterator[lp.Device]:
    """A device of its own."""
    made = Device(device.physical, "watched")
    yield made
    made.shut_down()


def image(device: lp.Device) -> None:
    pixels = np.arange(16, dtype=np.float32).reshape(4, 4)
    with lp.UnsampledImage(pixels, device=device) as made:
        np.testing.assert_array_equal(made.numpy(), pixels)


def sampled(device: lp.Device) -> None:
    pixels = np.zeros((4, 4), np.float32)
    with lp.SampledImage(pixels, lp.ImageSampler("clamp"), device=device) as made:
        np.testing.assert_array_equal(made.numpy(), pixels)
    device.logical.images._samplers.clear()  # pyright: ignore[reportPrivateUsage]


def merge(device: lp.Device) -> None:
    cache = device.logical.pipelines.cache
    data = cache.data()
    assert data is not None and cache.merge(data)


def export(device: lp.Device) -> None:
    with lp.ones(SIZE, device=device) as array:
        os.close(array.export_fd())
        assert (array.numpy() == 1).all()


def import_(device: lp.Device) -> None:
    with lp.ones(SIZE, device=device) as array:
        fd = array.export_fd()
        try:
            made = lp.import_fd(fd, SIZE, device=device)
        except lp.Error:
            os.close(fd)  # still the caller's
            raise
        with made:
            assert (made.numpy() == 1).all()


def from_host(device: lp.Device) -> None:
    host = lp.page_aligned(SIZE)
    with lp.from_host(host, device=device) as array:
        array.fill(2.0)
        device.default_queue.wait()
    assert (host == 2).all()


def semaphore(device: lp.Device) -> None:
    made = lp.ExternalSemaphore(device, kind="binary")
    fd = made.export_fd()
    try:
        lp.import_semaphore_fd(fd, device=device, kind="binary").close()
    except lp.Error:
        os.close(fd)
        raise
    made.close()


OPERATIONS: dict[str, tuple[Callable[[lp.Device], None], dict[str, tuple[int, ...]]]] = {
    "image": (
        image,
        {
            "vkCreateImage": MEMORY,
            "vkBindImageMemory": MEMORY,
            "vkAllocateMemory": MEMORY,
            "vkCreateImageView": MEMORY,
        },
    ),
    "sampled image": (
        sampled,
        {"vkCreateSampler": (*MEMORY, TOO_MANY_OBJECTS), "vkCreateImageView": MEMORY},
    ),
    "merge": (merge, {"vkMergePipelineCaches": MEMORY}),
    "export": (
        export,
        {
            "vkCreateBuffer": MEMORY,
            "vkAllocateMemory": (*MEMORY, TOO_MANY_OBJECTS),
            "vkBindBufferMemory": MEMORY,
            "vkMapMemory": (*MEMORY, MAP_FAILED),
            "vkGetMemoryFdKHR": (-1, TOO_MANY_OBJECTS),
        },
    ),
    "import": (
        import_,
        {
            "vkCreateBuffer": MEMORY,
            "vkAllocateMemory": (*MEMORY, INVALID_HANDLE),
            "vkBindBufferMemory": MEMORY,
            "vkMapMemory": (*MEMORY, MAP_FAILED),
        },
    ),
    "from_host": (
        from_host,
        {
            "vkGetMemoryHostPointerPropertiesEXT": (-1, INVALID_HANDLE),
            "vkCreateBuffer": MEMORY,
            "vkAllocateMemory": (*MEMORY, INVALID_HANDLE),
            "vkBindBufferMemory": MEMORY,
        },
    ),
    "semaphore": (
        semaphore,
        {
            "vkCreateSemaphore": MEMORY,
            "vkGetSemaphoreFdKHR": (-1, TOO_MANY_OBJECTS),
            "vkImportSemaphoreFdKHR": (-1, INVALID_HANDLE),
        },
    ),
}


def open_files() -> int:
    """Returns how many file descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts file descriptors as Linux shows them")
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_that_fails(opened: lp.Device, name: str) -> None:
    operation, functions = OPERATIONS[name]
    try:
        operation(opened)
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    watched, logical = Watched(opened), opened.logical

    def settle() -> tuple[Counter[str], int]:
        opened.default_queue.wait()  # what is recorded keeps what it uses
        gc.collect()
        with logical.lock:
            logical.collect()
            logical.memory._spares.clear()  # pyright: ignore[reportPrivateUsage]
            logical.memory._blocks.release_empty()  # pyright: ignore[reportPrivateUsage]
        return +watched.living, open_files()

    operation(opened)
    before, told = settle(), 0
    for function, results in functions.items():
        for result in (*results, UNKNOWN):
            for call in range(3):
                where = f"call {call} of {function} returns {result_name(result)}"
                watched.failing, watched.has_failed = (function, result, call), False
                try:
                    operation(opened)
                except lp.Error as error:
                    assert watched.has_failed and function in str(error), f"{where}: {error!r}"
                    told += 1
                watched.failing = None
                assert settle() == before, where
                operation(opened)
                assert settle() == before, f"afterwards: {where}"
    assert told, "some failure was told"


@pytest.mark.parametrize("result", MEMORY)
def test_a_sampler_for_which_there_was_no_memory_is_tried_once_more(opened: lp.Device, result: int) -> None:
    try:
        sampled(opened)
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    watched = Watched(opened)
    watched.failing = ("vkCreateSampler", result, 0)
    sampled(opened)
    assert watched.has_failed
