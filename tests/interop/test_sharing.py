"""Arrays and the array world: NumPy, DLPack, pandas, PIL, torch, host memory, other processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

from .kernels import double

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def visible(device: lp.Device) -> lp.Device:
    """A device whose arrays the host sees."""
    if not lp.empty(1, device=device).is_host_visible:
        pytest.skip(f"the host does not see the memory of {device.selector}")
    return device


@pytest.fixture
def hidden(device: lp.Device) -> lp.Array:
    """0 to 7, in memory that the host does not see, as on a discrete GPU."""
    array = lp.asarray(np.arange(8, dtype=np.float32), device=device)
    array.buffer.host_address = 0  # from here on it is copied through staging memory
    return array


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
def test_dlpack_and_the_array_interface_share_memory(visible: lp.Device, dtype: str):
    host = np.arange(24).astype(dtype).reshape(2, 3, 4)
    array = lp.asarray(host, device=visible)
    by_dlpack, by_interface = np.from_dlpack(array), np.asarray(array)
    assert array.__dlpack_device__() == (1, 0)
    assert np.shares_memory(by_dlpack, by_interface)
    for view in (by_dlpack, by_interface):
        assert view.dtype == host.dtype and view.flags.c_contiguous
        np.testing.assert_array_equal(view, host)


def test_a_view_shows_what_kernels_write_and_the_reverse(visible: lp.Device):
    array = lp.asarray(np.arange(8, dtype=np.float32), device=visible)
    view = np.asarray(array)
    double[8](array).wait()
    np.testing.assert_array_equal(view, 2 * np.arange(8))
    view[:] = 1
    double[8](array)
    np.testing.assert_array_equal(array.numpy(), np.full(8, 2))


def test_views_wait_for_launches(visible: lp.Device):
    array = lp.asarray(np.arange(1 << 16, dtype=np.float32), device=visible)
    double[array.size](array)
    np.testing.assert_array_equal(np.from_dlpack(array), 2.0 * np.arange(1 << 16))
    double[array.size](array)
    np.testing.assert_array_equal(np.asarray(array), 4.0 * np.arange(1 << 16))


def test_views_keep_the_memory(visible: lp.Device):
    array = lp.asarray(np.arange(8, dtype=np.float32), device=visible)
    views = [np.asarray(array), np.from_dlpack(array), array.__array__(copy=False)]
    array.release()
    del array
    gc.collect()
    others = [lp.zeros(8, device=visible) for _ in range(4)]  # would get the memory if it were free
    for view in views:
        np.testing.assert_array_equal(view, np.arange(8))
    del others


def test_array_protocol(visible: lp.Device):
    array = lp.asarray(np.arange(8, dtype=np.float32), device=visible)
    copied = np.array(array, copy=True)
    assert not np.shares_memory(copied, np.asarray(array))
    assert np.asarray(array, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        array.__array__(np.dtype(np.float64), copy=False)
    np.testing.assert_array_equal(array.__array__(copy=True), np.arange(8))
    assert np.asarray(lp.zeros((0, 3), device=visible)).shape == (0, 3)


def test_memory_that_the_host_does_not_see(hidden: lp.Array):
    array = hidden
    assert array.__dlpack_device__()[0] == 7  # kDLVulkan
    assert not hasattr(array, "__array_interface__")
    np.testing.assert_array_equal(np.asarray(array), np.arange(8))
    with pytest.raises(ValueError, match="always copies"):
        array.__array__(copy=False)
    with pytest.raises(BufferError, match="does not see"):
        array.__dlpack__()
    with pytest.raises(BufferError):
        array.__dlpack__(copy=False, dl_device=(1, 0))


def test_released_arrays_give_nothing(visible: lp.Device):
    array = lp.zeros(4, device=visible)
    array.release()
    for use in (np.from_dlpack, np.asarray, lp.from_dlpack):
        with pytest.raises(lp.InvalidError, match="released"):
            use(array)


def test_dlpack_refuses_what_it_cannot_give(visible: lp.Device):
    array = lp.zeros(4, device=visible)
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            array.__dlpack__(**wrong)
    pair = lp.asarray(np.zeros(2, [("a", "<f4"), ("b", "<i4")]), device=visible)
    with pytest.raises(BufferError):
        pair.__dlpack__()


def test_from_dlpack_copies_what_cannot_be_shared(device: lp.Device):
    host = np.arange(10, dtype=np.float32)[::2]
    array = lp.from_dlpack(host, device=device)
    double[5](array)
    np.testing.assert_array_equal(array.numpy(), 2 * host)
    np.testing.assert_array_equal(host, np.arange(10)[::2])
    with pytest.raises((lp.InvalidError, lp.FeatureNotSupportedError)):
        lp.from_dlpack(host, device=device, copy=False)
    for wrong in (3, [1, 2], "x", object()):
        with pytest.raises(lp.InvalidError, match="__dlpack__"):
            lp.from_dlpack(wrong, device=device)


def test_from_dlpack_of_an_array_is_the_array(device: lp.Device):
    array = lp.ones(8, device=device)
    same = lp.from_dlpack(array)
    assert same.is_view and same is not array
    double[8](same)
    np.testing.assert_array_equal(array.numpy(), np.full(8, 2))
    copied = lp.from_dlpack(array, copy=True)
    double[8](copied)
    np.testing.assert_array_equal(array.numpy(), np.full(8, 2))
    np.testing.assert_array_equal(copied.numpy(), np.full(8, 4))


@pytest.fixture
def importing(device: lp.Device) -> lp.Device:
    """A device that uses host memory."""
    try:
        lp.from_host(lp.page_aligned(1), device=device)
    except lp.FeatureNotSupportedError as error:
        assert "VK_EXT_external_memory_host" in str(error)
        pytest.skip(str(error))
    return device


@pytest.mark.parametrize("nbytes", [4, 4096, 4100, 100_000])
def test_host_memory_is_used_where_it_is(importing: lp.Device, nbytes: int):
    host = lp.page_aligned(nbytes // 4)
    host[:] = np.arange(host.size)
    array = lp.from_host(host, device=importing)
    assert array.is_view and np.shares_memory(host, np.asarray(array))
    double[array.size](array).wait()
    np.testing.assert_array_equal(host, 2.0 * np.arange(host.size))
    again = lp.from_dlpack(host, device=importing, copy=False)
    double[array.size](again).wait()
    np.testing.assert_array_equal(host, 4.0 * np.arange(host.size))


def test_host_memory_lives_as_long_as_the_array(importing: lp.Device):
    host = lp.page_aligned((16, 16), lp.i32)
    host[:] = 3
    array = lp.from_host(host, device=importing)
    del host
    gc.collect()
    np.testing.assert_array_equal(array.numpy(), np.full((16, 16), 3))


def test_host_memory_that_cannot_be_used(importing: lp.Device):
    host = lp.page_aligned((64, 64))
    read_only = lp.page_aligned(64)
    read_only.flags.writeable = False
    for wrong in (host.T, host[:, 1:], host[1:].reshape(-1)[1:], read_only, host[:0]):
        with pytest.raises(lp.InvalidError, match="from_host"):
            lp.from_host(wrong, device=importing)
    with pytest.raises(lp.InvalidError, match="NumPy array"):
        lp.from_host([1, 2], device=importing)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("shape", [2**70, (2**32, 2**32), (2**33, 2**31, 4)])
def test_shapes_of_more_than_64_bits(device: lp.Device, shape: int | tuple[int, ...]):
    """Their product must not wrap around to a size that there is memory for."""
    with pytest.raises((lp.InvalidError, lp.MemoryAllocationError)):
        lp.page_aligned(shape)
    with open(os.devnull) as file, pytest.raises(lp.Error):
        lp.import_fd(file.fileno(), shape, lp.f32, device=device)


def test_file_descriptors_share_memory(device: lp.Device):
    array = lp.asarray(np.arange(100, dtype=np.float32), device=device)
    try:
        fd = array.export_fd()
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    assert array.allocation_nbytes >= 400
    np.testing.assert_array_equal(array.numpy(), np.arange(100))
    other = lp.import_fd(fd, 100, lp.f32, device=device)
    double[100](other).wait()
    np.testing.assert_array_equal(array.numpy(), 2 * np.arange(100))
    with pytest.raises(lp.InvalidError, match="only its exporter"):
        other.export_fd()
    array.release()
    np.testing.assert_array_equal(other.numpy(), 2 * np.arange(100))


def test_file_descriptors_that_are_none(device: lp.Device, tmp_path: Path):
    for wrong in (-1, 10**6, "x", None):
        with pytest.raises(lp.InvalidError):
            lp.import_fd(wrong, 4, device=device)  # pyright: ignore[reportArgumentType]
    with (tmp_path / "short").open("wb+") as file, pytest.raises(lp.InvalidError, match="holds 0 bytes"):
        lp.import_fd(file.fileno(), 4, device=device)
    (tmp_path / "long").write_bytes(bytes(100))
    pipe, folder = os.pipe(), os.open(tmp_path, os.O_RDONLY)
    zeros, read_only = os.open("/dev/zero", os.O_RDWR), os.open(tmp_path / "long", os.O_RDONLY)
    cases = [(pipe[0], "a pipe"), (folder, "a folder")]
    if device.logical.is_cpu:  # the drivers of GPUs have files of their own kinds
        cases += [(zeros, "no file"), (read_only, "not open for reading and writing")]
    for (
        fd,
        message,
    ) in cases:  # a driver would wait for the pipe, and end the process at an access to the file
        with pytest.raises(lp.InvalidError, match=message):
            lp.import_fd(fd, 4, device=device)
    for fd in (*pipe, folder, zeros, read_only):
        os.close(fd)  # still the caller's


def test_what_is_not_the_arrays_own_is_not_exported(importing: lp.Device):
    host = lp.page_aligned(16)
    array = lp.from_host(host, device=importing)
    try:
        lp.zeros(4, device=importing).export_fd()
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    with pytest.raises(lp.InvalidError, match="export a copy"):
        array.export_fd()
    double[16](array).wait()
    assert np.shares_memory(host, np.asarray(array))


_CHILD = """
import sys
import lapilli as lp

@lp.kernel
def double(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = 2.0 * x[i]

array = lp.import_fd(int(sys.argv[1]), 1000, lp.f32, device=sys.argv[2])
double[1000](array).wait()
print(array.numpy()[:3].tolist())
"""


def test_two_processes_share_an_array(device: lp.Device, tmp_path: Path):
    array = lp.asarray(np.arange(1000, dtype=np.float32), device=device)
    try:
        fd = array.export_fd()
    except lp.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    script = tmp_path / "child.py"
    script.write_text(_CHILD, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(fd), device.selector],
        pass_fds=[fd],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(fd)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[0.0, 2.0, 4.0]"
    np.testing.assert_array_equal(array.numpy(), 2 * np.arange(1000))


def test_pil_images(device: lp.Device):
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    array = lp.asarray(image.fromarray(pixels), device=device)
    assert array.shape == (4, 4, 3) and array.spelling == "u8"
    back = image.fromarray(np.asarray(array))
    np.testing.assert_array_equal(np.asarray(back), pixels)


def test_pandas_columns(device: lp.Device):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(5, dtype=np.float32), "b": np.ones(5, np.float32)})
    np.testing.assert_array_equal(lp.asarray(frame["a"], device=device).numpy(), np.arange(5))
    assert lp.asarray(frame, device=device).shape == (5, 2)
    assert pandas.Series(np.asarray(lp.ones(3, device=device))).sum() == 3


def test_torch_tensors(visible: lp.Device):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(8, dtype=torch.float32)
    array = lp.from_dlpack(tensor, device=visible)
    np.testing.assert_array_equal(array.numpy(), np.arange(8))
    np.testing.assert_array_equal(lp.asarray(tensor, device=visible).numpy(), np.arange(8))
    back = torch.from_dlpack(array)
    double[8](array).wait()
    np.testing.assert_array_equal(back.numpy(), 2 * np.arange(8))


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ],
)
def test_torch_has_the_types_too(visible: lp.Device, name: str):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)
    tensor = torch.tensor([0, 1, 1, 0, 1, 0], dtype=dtype).reshape(2, 3)
    for given in (tensor, tensor.T, tensor[:, ::2], tensor[:0], tensor[1, 1]):
        for array in (lp.from_dlpack(given, device=visible), lp.asarray(given, device=visible)):
            back = torch.from_dlpack(array)
            assert (
                back.dtype is dtype and back.data_ptr() == np.asarray(array).ctypes.data
            ) or not array.size
            assert torch.equal(back, given if given.ndim else given.reshape(1))
    array = lp.from_dlpack(tensor, device=visible)
    back = torch.from_dlpack(array)
    back[0, 0] = 1
    del array, tensor
    gc.collect()
    assert lp.from_dlpack(back, device=visible).numpy().astype(np.float32).tolist() == [[1, 1, 1], [0, 1, 0]]


def test_torch_tensors_that_are_no_plain_memory(visible: lp.Device):
    torch = pytest.importorskip("torch")
    sparse, meta = torch.eye(3).to_sparse(), torch.empty(3, device="meta")
    for wrong in (torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.complex64), sparse, meta):
        for take in (lp.from_dlpack, lp.asarray):
            with pytest.raises(lp.InvalidError, match=r"grad|complex64|layout|meta"):
                take(wrong, device=visible)


class _Bfloat16:
    """Speaks DLPack with bfloat16, which NumPy does not; what torch does, without torch."""

    def __init__(self, bits: np.ndarray) -> None:
        self.bits = bits

    def __dlpack__(self, **options: object) -> object:
        from lapilli.vk_runtime.dlpack_bf16 import mark_bfloat16

        return mark_bfloat16(self.bits.__dlpack__(**options))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_bfloat16_travels_by_dlpack(visible: lp.Device, version: tuple[int, int] | None):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.arange(8).astype(ml_dtypes.bfloat16)
    for array in (
        lp.from_dlpack(_Bfloat16(host.view(np.uint16)), device=visible),
        lp.asarray(_Bfloat16(host.view(np.uint16)), device=visible)
        if version is None
        else lp.from_dlpack(host),
    ):
        assert array.spelling == "bf16" and array.numpy().tolist() == host.tolist()
    array = lp.asarray(host, device=visible)
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(array)  # a type that NumPy does not know
    again = lp.from_dlpack(_Passing(array, version), device=visible)
    assert again.spelling == "bf16" and again.numpy().tolist() == host.tolist()
    bits = lp.asarray(host.view(np.uint16), device=visible)
    assert np.from_dlpack(bits).dtype == np.uint16


class _Passing:
    """Hands out an array's capsule, as of an older or a newer DLPack."""

    def __init__(self, array: lp.Array, version: tuple[int, int] | None) -> None:
        self.array, self.version = array, version

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(max_version=self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@lp.struct
class Particle:
    position: lp.f32x3
    mass: lp.f32


def test_structured_dtypes_are_structs(visible: lp.Device):
    host = np.zeros(4, Particle.dtype)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    host["mass"] = [1, 2, 3, 4]
    host["position"][:, 1] = 7
    array = lp.asarray(host, device=visible)
    view = np.asarray(array)
    assert view.dtype == host.dtype
    np.testing.assert_array_equal(view, host)
    view["mass"][0] = 9
    assert array.numpy()["mass"].tolist() == [9, 2, 3, 4]


def test_ml_dtypes_are_bf16(visible: lp.Device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.arange(8).astype(ml_dtypes.bfloat16)
    array = lp.asarray(host, device=visible)
    assert array.spelling == "bf16" and array.numpy().dtype == host.dtype
    assert np.asarray(array).dtype == host.dtype
    assert np.asarray(array).tolist() == host.tolist()
