"""``lp.Target.CONSTANT_BUFFER``: arrays that kernels read through uniform buffers; deprecated, as in SYCL 2020."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.kernel_info import BufferParameter
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.device_image import DeviceImage

pytestmark = pytest.mark.device

CONSTANT = lp.Target.CONSTANT_BUFFER


def kernel_of(element: Any, ndim: int = 1, **options: Any) -> Any:
    """A kernel that copies a constant buffer to an array, from back to front."""
    with pytest.warns(DeprecationWarning, match=r"'x' of 'copy'.*CONSTANT_BUFFER is deprecated"):

        @lp.kernel(**options)
        def copy(x: lp.In[element, ndim, CONSTANT], out: lp.Out[element]):
            i = lp.global_id(0)
            out[i] = x[x.size - 1 - i]

    return copy


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)

    @lp.kernel
    def reversed_copy(x: lp.In[lp.f32, 1, CONSTANT], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        out[i] = x[x.size - 1 - i]


@pytest.mark.behaviour("MEM-03")
@pytest.mark.parametrize(
    "dtype", ["f32", "i32", "u32", "f32x4", "i32x4", "f32x2", "f32x3", "f64", "i8", "f16"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1023])
def test_elements_of_every_size(device: lp.Device, dtype: str, n: int):
    kind = getattr(lp, dtype)
    values = (np.arange(n * 4) % 100).astype(kind.dtype.base).reshape(n, 4)
    values = values[:, : kind.dtype.shape[0]] if kind.dtype.shape else values[:, 0]
    out = lp.empty(n, kind, device=device)
    try:
        kernel_of(kind)[n](lp.asarray(np.ascontiguousarray(values), dtype=kind, device=device), out)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    np.testing.assert_array_equal(out.numpy(), values[::-1])


@pytest.mark.behaviour("MEM-03")
def test_components_of_vectors(device: lp.Device):
    with pytest.warns(DeprecationWarning):

        @lp.kernel
        def components(
            x: lp.In[lp.f32x4, 1, CONSTANT],
            n: lp.In[lp.i32x4, 2, CONSTANT],
            k: lp.i32,
            out: lp.Out[lp.f32, 2],
        ):
            i = lp.global_id(0)
            out[i, 0] = x[i].y
            out[i, 1] = x[i][k] - x[3].w
            out[i, 2] = lp.f32(n[i, 1].z + n[i, k].x)

    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    n = np.arange(96, dtype=np.int32).reshape(8, 3, 4)
    out = lp.empty((8, 3), device=device)
    components[8](lp.asarray(x, lp.f32x4, device=device), lp.asarray(n, lp.i32x4, device=device), 2, out)
    expected = np.stack([x[:, 1], x[:, 2] - x[3, 3], n[:, 1, 2] + n[:, 2, 0]], axis=1)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def write(value: lp.f32, x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = value


@pytest.mark.behaviour("MEM-03")
def test_what_a_launch_before_has_written(device: lp.Device):
    """GPUs read uniform buffers through caches of their own, of which barriers must say something."""
    x, found = lp.zeros(16, device=device), []
    outs = [lp.zeros(16, device=device) for _ in range(12)]
    for value, out in enumerate(outs):
        write[16](float(value), x)
        reversed_copy[16](x, out)
        if value % 4 == 3:
            found += [int(each.numpy()[3]) for each in outs[value - 3 : value + 1]]
    assert found == list(range(12))


@pytest.mark.behaviour("MEM-03", "IOP-41")
def test_they_are_uniform_buffers(device: lp.Device):
    env = device.target_env
    (image,) = _images(kernel_of(lp.f32), env)
    parameters = {p.name: p for p in image.kernels[0].parameters if isinstance(p, BufferParameter)}
    assert parameters["x"].is_uniform and parameters["x"].access == "read"
    assert not parameters["out"].is_uniform
    text = lp.spirv.disassemble(image.spirv)
    assert "OpTypePointer Uniform " in text and "ArrayStride 16" in text
    (plain,) = _images(kernel_of(lp.f64), env)
    assert "OpTypePointer Uniform " not in lp.spirv.disassemble(plain.spirv)


def _images(kernel: Any, env: TargetEnv) -> tuple[DeviceImage, ...]:
    from lapilli.frontend.compile import compile_kernels

    return compile_kernels([kernel], env, rank=1)


def test_two_dimensions_and_helpers(device: lp.Device):
    with pytest.warns(DeprecationWarning):

        @lp.kernel
        def filtered(weights: lp.In[lp.f32, 2, CONSTANT], x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
            i, j = lp.global_id(0), lp.global_id(1)
            total = 0.0
            for a in range(3):
                for b in range(3):
                    total += at(weights, a, b) * x[i + a, j + b]
            y[i, j] = total

    rng = np.random.default_rng(3)
    x, weights = rng.integers(0, 9, (18, 34)).astype(np.float32), np.arange(9, dtype=np.float32).reshape(3, 3)
    y = lp.empty((16, 32), device=device)
    filtered[16, 32](lp.asarray(weights, device=device), lp.asarray(x, device=device), y)
    expected = sum(weights[a, b] * x[a : a + 16, b : b + 32] for a in range(3) for b in range(3))
    np.testing.assert_array_equal(y.numpy(), expected)  # exact: small integers


def at(weights: Any, a: Any, b: Any):
    return weights[a, b]


@pytest.mark.behaviour("MEM-03")
@pytest.mark.parametrize("n", [1 << 14, (1 << 14) + 1, 1 << 16])
def test_what_is_too_large_for_a_uniform_buffer(device: lp.Device, n: int):
    """Up to 64 KiB and maxUniformBufferRange; a longer array is reached in another way, or the limit is named."""
    values = np.arange(n, dtype=np.float32)
    out = lp.empty(n, device=device)
    limit = device.physical.limits.max_uniform_buffer_range_bytes
    try:
        kernel_of(lp.f32)[n](lp.asarray(values, device=device), out)
    except lp.KernelNotSupportedError as error:
        assert values.nbytes > min(limit, 1 << 16)
        assert "'x'" in str(error) and (
            "maxUniformBufferRange" in str(error) or "of a constant buffer" in str(error)
        )
        return
    np.testing.assert_array_equal(out.numpy(), values[::-1])


@pytest.mark.behaviour("MEM-02")
def test_they_must_not_overlap_with_what_is_written(device: lp.Device):
    x = lp.ones(8, device=device)
    with pytest.raises(lp.KernelArgumentError, match="same"):
        kernel_of(lp.f32)[8](x, x)


def test_in_bundle_files(device: lp.Device, tmp_path: Path):
    context = lp.Context([device])
    lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=reversed_copy).save(
        tmp_path / "x.lpk"
    )
    loaded = lp.load_kernel_bundle(context, tmp_path / "x.lpk")
    x, out = lp.asarray(np.arange(8, dtype=np.float32), device=device), lp.empty(8, device=device)

    def group(h: lp.Handler):
        h.use_kernel_bundle(loaded)
        h.parallel_for(8, reversed_copy, x, out)

    lp.Queue(context=context).submit(group)
    assert out.numpy().tolist() == list(range(8))[::-1]


@pytest.mark.behaviour("MEM-02")
def test_wrong_annotations():
    with pytest.raises(lp.CompileError, match="only read"):

        @lp.kernel
        def k(x: lp.Array[lp.f32, 1, CONSTANT]):
            x[0] = 1.0

    with (
        pytest.warns(DeprecationWarning),
        pytest.raises(lp.CompileError, match="read-only"),
    ):

        @lp.kernel
        def w(x: lp.In[lp.f32, 1, CONSTANT]):
            x[0] = 1.0  # pyright: ignore[reportIndexIssue]

        w.inspect("ir")


def test_the_other_target_changes_nothing(device: lp.Device):
    @lp.kernel
    def twice(x: lp.Array[lp.f32, 1, lp.Target.DEVICE]):
        x[lp.global_id(0)] *= 2.0

    x = lp.ones(4, device=device)
    twice[4](x)
    assert x.numpy().tolist() == [2] * 4
