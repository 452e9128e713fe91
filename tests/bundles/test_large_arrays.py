"""Kernels of bundles over arrays that are larger than a descriptor shows (maxStorageBufferRange)."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

from . import importing

pytestmark = [pytest.mark.device, pytest.mark.native_only("the interpreter has no descriptors")]

LIMIT = 4096
"""Bytes that descriptors of the masked device show."""

SCALE = lp.SpecializationId(lp.f32, 2.0)


@lp.kernel
def saxpy(x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = SCALE * x[i] + y[i]


@lp.kernel(local_size=(2, 4))
def numbered(y: lp.Out[lp.i32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    y[i, j] = 1000 * i + j


@lp.kernel
def checked(x: lp.In[lp.f32]):
    i = lp.global_id(0)
    assert x[i] > 0.0, "too small"
    if i == 2000:
        print("at", i)


@pytest.fixture
def small(device: lp.Device) -> lp.Device:
    """The device with descriptors of 4 KiB."""
    masked = device.masked(limits={"maxStorageBufferRange": LIMIT})
    if not masked.has(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS):
        pytest.skip("no bufferDeviceAddress")
    return masked


def executable(device: lp.Device, *kernels: object) -> lp.KernelBundle:
    return lp.get_kernel_bundle(
        lp.Context([device]), state=lp.BundleState.EXECUTABLE, kernel_ids=list(kernels)
    )


def test_every_element_is_reached_and_the_second_form_is_compiled_once(small: lp.Device) -> None:
    kernel = executable(small, saxpy).get_kernel(saxpy)
    modules = []
    for n in (1000, 5000, 1000, 5000, 7000):
        x, y = np.arange(n, dtype=np.float32), lp.ones(n, device=small)
        with lp.trace() as trace:
            launch_kernel(small.default_queue, kernel, n, (lp.asarray(x, device=small), y))
        np.testing.assert_array_equal(y.numpy(), 2 * x + 1)
        modules.append(trace.count("module"))
    assert modules == [0, 1, 0, 0, 0]


def test_values_of_the_bundle_reach_it(small: lp.Device) -> None:
    source = lp.get_kernel_bundle(lp.Context([small]), state=lp.BundleState.INPUT, kernel_ids=[saxpy])
    source.set_specialization_constant(SCALE, 7)
    x, y = lp.ones(5000, device=small), lp.zeros(5000, device=small)
    for bundle in (lp.build(source), lp.link(lp.compile(source))):
        launch_kernel(small.default_queue, bundle.get_kernel(saxpy), 5000, (x, y))
    assert (y.numpy() == 14).all()


def test_ranges_local_sizes_and_graphs(small: lp.Device) -> None:
    kernel = executable(small, numbered).get_kernel(numbered)
    y = lp.zeros((64, 64), lp.i32, device=small)
    with lp.graph() as graph:
        launch_kernel(small.default_queue, kernel, (64, 64), (y,))
    graph.replay()
    i, j = np.indices((64, 64))
    np.testing.assert_array_equal(y.numpy(), 1000 * i + j)
    y.fill(0)
    count = lp.asarray(np.array([64, 32], np.uint32), device=small)
    launch_kernel(small.default_queue, kernel, lp.IndirectRange(count, dimensions=2), (y,))
    np.testing.assert_array_equal(y.numpy(), np.where(j < 32, 1000 * i + j, 0))


def test_command_groups_reports_and_linked_functions(small: lp.Device, capsys) -> None:
    queue = lp.Queue(small)
    x = lp.ones(5000, device=small)
    bundle = executable(small, checked, importing.importer_kernel)

    def group(handler: lp.Handler) -> None:
        handler.use_kernel_bundle(
            lp.get_kernel_bundle(queue.context, state=lp.BundleState.EXECUTABLE, kernel_ids=[checked])
        )
        handler.parallel_for(5000, checked, x)

    queue.submit(group).wait()
    assert capsys.readouterr().out == "at 2000\n"
    queue = small.default_queue
    launch_kernel(queue, bundle.get_kernel(importing.importer_kernel), 5000, (x,))
    plain = lp.ones(8, device=small)
    importing.importer_kernel[8](plain)
    assert (x.numpy() == plain.numpy()[0]).all()
    x.fill(-1.0)
    launch_kernel(queue, bundle.get_kernel(checked), 5000, (x,))
    with pytest.raises(lp.KernelTrap, match="too small"):
        queue.wait()


def test_without_the_compilers_ir_the_limit_is_told(small: lp.Device, tmp_path) -> None:
    path = tmp_path / "kernels.lpk"
    executable(small, saxpy).save(path)
    loaded = lp.load_kernel_bundle(lp.Context([small]), path)
    x, y = lp.ones(5000, device=small), lp.zeros(5000, device=small)
    with pytest.raises(lp.KernelNotSupportedError, match=r"20,000 bytes.*4,096 bytes.*maxStorageBufferRange"):
        launch_kernel(small.default_queue, loaded.get_kernel("saxpy"), 5000, (x, y))
    without = small.masked(
        without=[lp.Aspect.VK_BUFFER_DEVICE_ADDRESS], limits={"maxStorageBufferRange": LIMIT}
    )
    x, y = lp.ones(5000, device=without), lp.zeros(5000, device=without)
    with pytest.raises(lp.KernelNotSupportedError, match="maxStorageBufferRange"):
        launch_kernel(without.default_queue, executable(without, saxpy).get_kernel(saxpy), 5000, (x, y))
