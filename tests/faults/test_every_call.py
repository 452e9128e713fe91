"""Every Vulkan call of a program fails once, with every error that Vulkan allows it.

Whatever fails: the documented exception, no call that a driver may crash on, nothing left behind when the device is
closed.  Unless the device is lost the same program then runs from start to end; if it is, every later use says why.
"""

from __future__ import annotations

from functools import cache

import pytest

import lapilli as lp
from lapilli.vk_runtime import timeline_semaphore
from lapilli.vk_runtime.constants import VK_ERROR_DEVICE_LOST, VK_TIMEOUT
from lapilli.vk_runtime.errors import result_name

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import Program

pytestmark = pytest.mark.native_only("faults of drivers")

UNKNOWN, INITIALIZATION_FAILED, MAP_FAILED, TOO_MANY_OBJECTS = -13, -3, -5, -10
EXTENSION_NOT_PRESENT, FEATURE_NOT_PRESENT, FRAGMENTED_POOL = -7, -8, -12
OUT_OF_POOL, FRAGMENTATION, INVALID_SHADER = -1000069000, -1000161000, -1000012000
MEMORY = (-1, -2)
OUT_OF_MEMORY = frozenset({*MEMORY, OUT_OF_POOL, FRAGMENTED_POOL, FRAGMENTATION})
LOST = VK_ERROR_DEVICE_LOST

RESULTS: dict[str, tuple[int, ...]] = {
    "vkCreateDevice": (
        *MEMORY,
        LOST,
        INITIALIZATION_FAILED,
        EXTENSION_NOT_PRESENT,
        FEATURE_NOT_PRESENT,
        TOO_MANY_OBJECTS,
    ),
    "vkAllocateMemory": (*MEMORY, TOO_MANY_OBJECTS),
    "vkMapMemory": (*MEMORY, MAP_FAILED),
    "vkCreateBuffer": MEMORY,
    "vkBindBufferMemory": MEMORY,
    "vkCreateShaderModule": (*MEMORY, INVALID_SHADER),
    "vkCreateComputePipelines": (*MEMORY, INVALID_SHADER),
    "vkCreatePipelineCache": MEMORY,
    "vkCreatePipelineLayout": MEMORY,
    "vkCreateDescriptorSetLayout": MEMORY,
    "vkCreateDescriptorPool": (*MEMORY, FRAGMENTATION),
    "vkAllocateDescriptorSets": (*MEMORY, FRAGMENTED_POOL, OUT_OF_POOL),
    "vkCreateCommandPool": MEMORY,
    "vkAllocateCommandBuffers": MEMORY,
    "vkBeginCommandBuffer": MEMORY,
    "vkEndCommandBuffer": MEMORY,
    "vkCreateSemaphore": MEMORY,
    "vkCreateQueryPool": MEMORY,
    "vkGetQueryPoolResults": (*MEMORY, LOST),
    "vkQueueSubmit": (*MEMORY, LOST),
    "vkWaitSemaphores": (*MEMORY, LOST, VK_TIMEOUT),
    "vkGetSemaphoreCounterValue": (*MEMORY, LOST),
    "vkDeviceWaitIdle": (*MEMORY, LOST),
}
"""What a function may return beside success, as its manual page says, without VK_ERROR_UNKNOWN, which all may."""

RETRIED = frozenset(
    {
        "vkAllocateMemory",
        "vkMapMemory",
        "vkCreateBuffer",
        "vkBindBufferMemory",
        "vkCreateDescriptorPool",
        "vkAllocateDescriptorSets",
        "vkCreateCommandPool",
    }
)
"""Where memory that ran out is looked for once more."""

CLOSING = frozenset({"vkDeviceWaitIdle"})
"""Called while a device is closed, where nobody is told."""

LOSES_COMMANDS = frozenset({"vkEndCommandBuffer", "vkQueueSubmit"})
"""Where any error loses commands that others wait for, and with them the device."""

NO_RESULT = ("vkCmd", "vkDestroy", "vkFree", "vkUpdate", "vkGetBuffer", "vkGetDeviceQueue", "vkGetPhysical")


@pytest.fixture(autouse=True)
def _same_calls_every_time(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Waits for a GPU poll until they have a result, however slow this machine is."""
    monkeypatch.setattr(timeline_semaphore, "_LEAST_SPIN_NS", 10**12)
    monkeypatch.setattr(timeline_semaphore, "_LONG_NS", 10**12)


@cache
def clean_calls(is_gpu: bool) -> dict[str, int]:
    """Returns how often a program calls each function when nothing fails."""
    driver = FakeDriver()
    device = make_device(driver, is_gpu=is_gpu)
    assert Program(device).run() == [None] * len(Program(device).steps)
    device.shut_down()
    assert driver.violations == []
    return dict(driver.calls)


@pytest.mark.parametrize("is_gpu", [False, True])
def test_every_function_that_can_fail_is_in_the_table(is_gpu: bool) -> None:
    fallible = {name for name in clean_calls(is_gpu) if not name.startswith(NO_RESULT)}
    assert fallible <= set(RESULTS)


def expected(function: str, result: int) -> tuple[type[lp.Error], ...]:
    """Returns what a program may be told."""
    told: tuple[type[lp.Error], ...] = (lp.RuntimeFailure,)
    if result == LOST:
        told = (lp.DeviceLostError,)
    elif result in OUT_OF_MEMORY:
        told = (lp.MemoryAllocationError,)
    return (*told, lp.DeviceLostError) if function in LOSES_COMMANDS else told


def run_with(function: str, result: int, call: int, is_gpu: bool) -> None:
    driver = FakeDriver()
    driver.inject(function, result, call)
    device = make_device(driver, is_gpu=is_gpu)
    place = f"{function} call {call} returns {result_name(result)}"
    program = Program(device)
    errors = program.run()
    raised = [error for error in errors if isinstance(error, lp.Error)]
    assert driver.calls[function] > call or function in CLOSING, place
    is_lost = device.is_open and device.logical.is_lost
    if raised:
        assert isinstance(raised[0], expected(function, result)), f"{place}: {raised[0]!r}"
        assert function in str(raised[0]), f"{place}: {raised[0]}"
    else:
        is_absorbed = (
            result == VK_TIMEOUT or function in CLOSING or (function in RETRIED and result in OUT_OF_MEMORY)
        )
        assert is_absorbed or program.notes, f"{place}: nothing was told"
    if is_lost:
        later = raised[1:]
        assert all(isinstance(error, lp.DeviceLostError) for error in later), f"{place}: {later}"
        with pytest.raises(lp.DeviceLostError, match=function):
            lp.zeros(3, device=device)
    else:
        again = Program(device).run()
        assert again == [None] * len(again), f"{place}: afterwards {again}"
    device.shut_down()
    left = [item.kind for item in driver.living.values()]
    assert (driver.violations, left) == (
        [],
        [],
    ), place


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
@pytest.mark.parametrize("function", RESULTS)
def test_a_call_that_fails(function: str, is_gpu: bool) -> None:
    results = (*RESULTS[function], UNKNOWN)
    calls = clean_calls(is_gpu).get(function, 0)
    if not calls:
        pytest.skip("the program does not call it on such a device")
    for result in results:
        run_with(function, result, 0, is_gpu)
    for call in range(1, calls):
        run_with(function, results[call % len(results)], call, is_gpu)


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
@pytest.mark.parametrize("function", sorted(RETRIED))
def test_memory_that_stays_out_is_told_with_sizes(function: str, is_gpu: bool) -> None:
    """After one more try for each thing that is made, and no more."""
    driver = FakeDriver()
    device = make_device(driver, is_gpu=is_gpu)
    for call in range(1000):
        driver.inject(function, -2, call)
    errors = [error for error in Program(device).run() if isinstance(error, lp.Error)]
    told = [error for error in errors if isinstance(error, lp.MemoryAllocationError)]
    if not told:
        assert function == "vkMapMemory" and not driver.calls[function]
    else:
        first = str(told[0])
        assert (
            "cannot hold" in first and "arrays of this process" in first and f"{function} returned" in first
        )
    device.shut_down()
    assert driver.violations == []
