"""Debug mode in kernel bundles, in files of them and in kernels from source text."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

from . import cooperating, reporting_library

pytestmark = [pytest.mark.device, pytest.mark.native_only("bundles run on devices")]

EXECUTABLE, OBJECT, INPUT = lp.BundleState.EXECUTABLE, lp.BundleState.OBJECT, lp.BundleState.INPUT
KERNELS = [cooperating.mirrored, cooperating.apart]


@pytest.fixture(autouse=True)
def _debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_DEBUG", "1")


def from_kernels(context, _path):
    return lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=KERNELS)


def by_steps(context, _path):
    objects = lp.compile(lp.get_kernel_bundle(context, state=INPUT, kernel_ids=KERNELS))
    library = lp.get_kernel_bundle(context, state=OBJECT, kernel_ids=[reporting_library.library_kernel])
    return lp.link([objects, library])


def from_file(context, path):
    by_steps(context, path).save(path / "kernels.lpk")
    return lp.load_kernel_bundle(context, path / "kernels.lpk")


@pytest.mark.parametrize("make", [from_kernels, by_steps, from_file], ids=lambda make: make.__name__)
def test_kernels_of_bundles_trap(make, device, context, tmp_path):
    bundle, queue = make(context, tmp_path), lp.Queue(device, context=context)
    mirrored, apart = (
        bundle.get_kernel("mirrored" if make is from_file else KERNELS[0]),
        bundle.get_kernel("apart" if make is from_file else KERNELS[1]),
    )
    x, y = lp.asarray(np.arange(8, dtype=np.float32), device=device), lp.zeros(8, device=device)
    range_ = lp.NdRange(8, 4)
    queue.parallel_for(range_, mirrored, -1, x, lp.local(4), y)
    queue.wait()
    assert y.numpy().tolist() == [7, 5, 3, 1, 15, 13, 11, 9]
    queue.parallel_for(range_, mirrored, 6, x, lp.local(40), y)
    with pytest.raises(lp.KernelTrap, match=r"element \[2\] of shared array 'tile'") as raised:
        queue.wait()
    assert (raised.value.work_item, raised.value.code) == ((5,), "LP4111")
    queue.parallel_for(range_, apart, -1, y)
    queue.wait()
    queue.parallel_for(range_, apart, 6, y)
    with pytest.raises(lp.KernelTrap, match="not every work-item of the work-group reaches") as raised:
        queue.wait()
    assert (raised.value.work_item, raised.value.code) == ((6,), "LP4113")
    # Without room for notes the kernel runs unchecked; the switch's SpecId is its own in linked images, too.
    most = device.physical.limits.max_shared_memory_bytes // 4 - 20
    queue.parallel_for(range_, mirrored, 6, x, lp.local(most), y)
    queue.wait()


def test_graphs_trap_at_each_replay(device):
    skipped, x = 6, lp.ones(8, device=device)
    y = lp.zeros(8, device=device)
    with lp.graph() as graph:
        cooperating.mirrored[8](skipped, x, lp.local(4), y)
        cooperating.apart[8](-1, y)
    for _ in range(2):
        graph.replay()
        with pytest.raises(lp.KernelTrap, match=r"element \[2\] of shared array 'tile'"):
            y.numpy()


MLIR = """
gpu.module @m {
  gpu.func @k(%x: memref<?xi32>, %y: memref<?xi32>)
      workgroup(%tile: memref<4xi32, #gpu.address_space<workgroup>>) kernel {
    %i = gpu.global_id x
    %l = gpu.thread_id x
    %zero = arith.constant 0 : i32
    %v = memref.load %x[%i] : memref<?xi32>
    %c = arith.cmpi ne, %v, %zero : i32
    scf.if %c {
      memref.store %v, %tile[%l] : memref<4xi32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %w = memref.load %tile[%l] : memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %w, %y[%i] : memref<?xi32>
    gpu.return
  }
}
"""
PYTHON = """
import lapilli as lp

@lp.kernel(local_size=4)
def k(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    if x[lp.global_id(0)] != 0:
        tile[i] = x[lp.global_id(0)]
    lp.barrier()
    y[lp.global_id(0)] = tile[i]
"""


@pytest.mark.parametrize(("language", "text", "line"), [("MLIR", MLIR, 14), ("PYTHON", PYTHON, 11)])
def test_kernels_from_text_trap(language, text, line, device, context, monkeypatch):
    def run(x: np.ndarray) -> lp.Array:
        bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage[language], text))
        y = lp.zeros(len(x), lp.i32, device=device)
        queue = lp.Queue(device, context=context)
        queue.parallel_for(
            lp.NdRange(len(x), 4), bundle.ext_oneapi_get_kernel("k"), lp.asarray(x, device=device), y
        )
        queue.wait()
        return y

    x = np.array([1, 2, 3, 4, 5, 6, 0, 8], np.int32)
    assert run(x[:4]).numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(lp.KernelTrap, match=r"element \[2\] of shared array 'tile' is read") as raised:
        run(x)
    assert raised.value.work_item == (6,)
    assert raised.value.location is not None
    assert raised.value.location.line == line
    monkeypatch.setenv("LAPILLI_DEBUG", "0")
    assert run(x).numpy().tolist()[:6] == [1, 2, 3, 4, 5, 6]
