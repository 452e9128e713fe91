"""Kernels of the same text at other places are compiled once, by us and by the driver, and tell their own places."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

import lapilli as lp
from lapilli.frontend.image_cache import cached_kernel
from lapilli.frontend.kernel import KernelFunction
from lapilli.frontend.process_store import ProcessStore, process_store
from lapilli.ir.target_env import TargetEnv
from lapilli.vk_runtime.device import Device

MakeModule = Callable[[str], ModuleType]

TEXT = """@lp.kernel(name="{name}")
def equal_code(x: lp.Array[lp.f32], limit: lp.i32):
    i = lp.global_id(0)
    assert i < limit
    x[i] = x[i] * {factor} + 41.0
"""


def kernel_at(line: int, name: str = "equal_code", factor: str = "3.5") -> KernelFunction:
    """Returns a kernel whose first line is `line` of its file."""
    return lp.kernel_from_source("\n" * (line - 1) + TEXT.format(name=name, factor=factor))


def launched(kernel: KernelFunction, device: Device) -> tuple[int, int]:
    """Launches a kernel; returns how many modules and pipelines were made for it."""
    with lp.trace() as trace:
        x = lp.zeros(4, device=device)
        kernel[4](x, 4)
        assert x.numpy().tolist() == [41.0] * 4
    return trace.count("module"), trace.count("pipeline")


def test_a_kernel_that_has_moved_has_its_pipeline(device: Device) -> None:
    first = kernel_at(1)
    launched(first, device)
    process_store.clear()  # compiled again, to the same code
    assert launched(kernel_at(1), device) == (0, 0)
    process_store.clear()
    assert launched(kernel_at(9), device) == (0, 0)


def compiled(kernel: KernelFunction, device: Device, *expected: float) -> tuple[int, int]:
    """Launches a kernel; returns how often it was compiled, and found."""
    with lp.trace() as trace:
        x = lp.zeros(len(expected), device=device)
        kernel[len(expected)](x)
        assert x.numpy().tolist() == list(expected)
    return trace.count("compile"), trace.count("cache_hit")


def test_a_function_that_makes_kernels_compiles_once_for_each_value(device: Device) -> None:
    def kernel_of(number: float) -> KernelFunction:
        @lp.kernel
        def put(x: lp.Array[lp.f32]):
            x[lp.global_id(0)] = number

        return put

    assert compiled(kernel_of(1.5), device, 1.5) == (1, 0)
    assert compiled(kernel_of(2.5), device, 2.5) == (1, 0)
    assert compiled(kernel_of(1.5), device, 1.5) == (0, 1)


def test_what_was_found_in_memory_is_watched(device: Device) -> None:
    text = "K = 1.5\n@lp.kernel\ndef put(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = K\n"
    assert compiled(lp.kernel_from_source(text), device, 1.5) == (1, 0)
    second = lp.kernel_from_source(f"\n\n{text}")
    assert compiled(second, device, 1.5) == (0, 1)
    second.function.__globals__["K"] = 2.5
    assert compiled(second, device, 2.5) == (1, 0)


def test_the_same_text_in_another_module_is_compiled_and_warned_of_there(make_module: MakeModule) -> None:
    text = "@lp.kernel\ndef one(x: lp.Array[lp.f32]):\n    x[0] = 1.0\n"
    kernels = [make_module(text).one for _ in range(2)]
    kept = [cached_kernel(ProcessStore(1), kernel, 1, TargetEnv()) for kernel in kernels]
    assert len({each.key for each in kept if each is not None}) == 2


def test_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    store = ProcessStore(10)
    for name in "abc":
        assert store.store(name, bytes(3))
    assert store.load("a") == bytes(3)
    assert store.store("d", bytes(4))
    assert [store.load(name) for name in "abcd"] == [bytes(3), None, bytes(3), bytes(4)]
    assert not store.store("a", bytes(11))
    assert store.load("a") is None
    assert store.store("e", bytes(3))
    assert store.load("c") is not None  # there was room


def test_each_tells_its_own_line(device: Device) -> None:
    x = lp.zeros(4, device=device)
    for line in (5, 1, 12):
        kernel = kernel_at(line)
        kernel[4](x, 3)
        with pytest.raises(lp.KernelTrap) as caught:
            x.numpy()
        location = caught.value.location
        assert location is not None and location.line == line + 3


def test_another_name_or_code_has_a_pipeline_of_its_own(device: Device) -> None:
    launched(kernel_at(1), device)
    assert launched(kernel_at(1, name="another_name"), device)[1] == 1
    x = lp.zeros(4, device=device)
    kernel_at(1, factor="2.5")[4](x, 4)
    kernel_at(1, factor="2.5")[4](x, 4)
    assert x.numpy().tolist() == [41.0 * 2.5 + 41.0] * 4
