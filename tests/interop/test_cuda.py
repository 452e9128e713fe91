"""Arrays shared with CUDA: needs an NVIDIA GPU with its Vulkan driver, and the CUDA driver library; skips elsewhere.

Only libcuda is used, through ctypes, so that neither torch nor CuPy has to be installed:
``pytest tests/interop/test_cuda.py -rs``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import lapilli as lp

from .kernels import double

_NVIDIA = 0x10DE
_OPAQUE_FD, _DEDICATED = 1, 1
_SEMAPHORE_TYPES = {"binary": 1, "timeline": 9}
"""CUexternalSemaphoreHandleType: OPAQUE_FD, TIMELINE_SEMAPHORE_FD."""


class _MemoryHandle(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC: its union has 16 bytes and begins at 8, as it holds pointers too."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("fd", ctypes.c_int),
        ("rest_of_union", ctypes.c_int * 3),
        ("size", ctypes.c_ulonglong),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class _BufferDescription(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC."""

    _fields_ = (
        ("offset", ctypes.c_ulonglong),
        ("size", ctypes.c_ulonglong),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class _SemaphoreHandle(ctypes.Structure):
    """CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC: its union is that of `_MemoryHandle`."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("fd", ctypes.c_int),
        ("rest_of_union", ctypes.c_int * 3),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class _Point(ctypes.Structure):
    """CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and its like for waits: what is not the value is zero here."""

    _fields_ = (("value", ctypes.c_ulonglong), ("rest", ctypes.c_ubyte * 136))


@pytest.fixture
def cuda() -> Iterator[ctypes.CDLL]:
    """The CUDA driver with a context on the first GPU."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        pytest.skip(f"no CUDA driver: {error}")
    if library.cuInit(0) != 0:
        pytest.skip("the CUDA driver finds no GPU")
    context = ctypes.c_void_p()
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    yield library
    library.cuDevicePrimaryCtxRelease_v2(0)


@pytest.fixture
def gpu(cuda: ctypes.CDLL) -> lp.Device:
    """The same GPU as a Vulkan device: told by its UUID."""
    uuid = (ctypes.c_ubyte * 16)()
    assert cuda.cuDeviceGetUuid(uuid, 0) == 0
    for device in lp.devices():
        if device.physical.vendor_id == _NVIDIA and device.physical.device_uuid == bytes(uuid):
            return device
    pytest.skip("Vulkan does not list the GPU that CUDA uses")


def test_cuda_reads_and_writes_an_array(cuda: ctypes.CDLL, gpu: lp.Device):
    x = np.arange(1 << 16, dtype=np.float32)
    array = lp.asarray(x, device=gpu)
    handle = _MemoryHandle(type=_OPAQUE_FD, flags=_DEDICATED)
    handle.fd = array.export_fd()
    handle.size = array.allocation_nbytes
    memory, pointer = ctypes.c_void_p(), ctypes.c_ulonglong()
    assert cuda.cuImportExternalMemory(ctypes.byref(memory), ctypes.byref(handle)) == 0
    description = _BufferDescription(offset=0, size=array.nbytes)
    mapped = cuda.cuExternalMemoryGetMappedBuffer(ctypes.byref(pointer), memory, ctypes.byref(description))
    assert mapped == 0
    double[x.size](array).wait()
    out = np.empty_like(x)
    assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), pointer, ctypes.c_size_t(out.nbytes)) == 0
    np.testing.assert_array_equal(out, 2 * x)
    assert cuda.cuMemsetD32_v2(pointer, 0x3F800000, ctypes.c_size_t(x.size)) == 0  # 1.0f
    assert cuda.cuCtxSynchronize() == 0
    np.testing.assert_array_equal(array.numpy(), np.ones_like(x))
    assert cuda.cuMemFree_v2(pointer) == 0
    assert cuda.cuDestroyExternalMemory(memory) == 0


def _imported(cuda: ctypes.CDLL, semaphore: lp.ExternalSemaphore) -> ctypes.c_void_p:
    handle = _SemaphoreHandle(type=_SEMAPHORE_TYPES[semaphore.kind])
    handle.fd = semaphore.export_fd()
    made = ctypes.c_void_p()
    assert cuda.cuImportExternalSemaphore(ctypes.byref(made), ctypes.byref(handle)) == 0
    return made


@pytest.mark.parametrize("kind", ["timeline", "binary"])
def test_semaphores_order_cuda_and_kernels(cuda: ctypes.CDLL, gpu: lp.Device, kind: str):
    """Kernel, then CUDA, then a kernel, on one array, and the host waits for none of them."""
    x = np.arange(1 << 20, dtype=np.float32)
    array, queue = lp.asarray(x, device=gpu), lp.Queue(gpu)
    handle = _MemoryHandle(
        type=_OPAQUE_FD, flags=_DEDICATED, fd=array.export_fd(), size=array.allocation_nbytes
    )
    memory, pointer = ctypes.c_void_p(), ctypes.c_ulonglong()
    assert cuda.cuImportExternalMemory(ctypes.byref(memory), ctypes.byref(handle)) == 0
    description = _BufferDescription(offset=0, size=array.nbytes)
    assert cuda.cuExternalMemoryGetMappedBuffer(ctypes.byref(pointer), memory, ctypes.byref(description)) == 0
    there, back = (lp.ExternalSemaphore(gpu, kind=kind) for _ in range(2))
    theirs, ours = _imported(cuda, there), _imported(cuda, back)
    value = 1 if kind == "timeline" else 0
    out = np.empty_like(x)
    for _ in range(20):
        double[x.size].on(queue)(array)
    there.signal(queue, value)
    point = _Point(value=value)
    stream = ctypes.c_void_p()  # the default one
    nbytes = ctypes.c_size_t(out.nbytes)
    assert cuda.cuWaitExternalSemaphoresAsync(ctypes.byref(theirs), ctypes.byref(point), 1, stream) == 0
    assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), pointer, nbytes) == 0
    np.testing.assert_array_equal(out, x * 2.0**20)
    assert cuda.cuMemsetD32Async(pointer, 0x3F800000, ctypes.c_size_t(x.size), stream) == 0
    assert cuda.cuSignalExternalSemaphoresAsync(ctypes.byref(ours), ctypes.byref(point), 1, stream) == 0
    back.wait(queue, value)
    double[x.size].on(queue)(array)
    np.testing.assert_array_equal(array.numpy(), np.full_like(x, 2.0))
    assert cuda.cuCtxSynchronize() == 0
    for made in (theirs, ours):
        assert cuda.cuDestroyExternalSemaphore(made) == 0
    assert cuda.cuMemFree_v2(pointer) == 0
    assert cuda.cuDestroyExternalMemory(memory) == 0
