"""Every scalar type in every place, on every device: the kernels of tools/dtype_matrix.py."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.struct_types import StructType
from lapilli.frontend.types import ArrayType, FixedArrayType
from lapilli.ir.aspects import aspect_spelling
from lapilli.tools.dtype_matrix import DTYPES, PLACES, SEEDS, expected, source
from lapilli.tools.gen_dtype_support import DOCUMENT, main

pytestmark = pytest.mark.device


def _cells() -> dict[tuple[str, str], str]:
    """Returns the cells of the published table by place and type."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in DOCUMENT.read_text("utf-8").splitlines()
        if line.startswith("| ")
    ]
    types = rows[0][1:]
    return {(row[0], dtype): cell for row in rows[1:] for dtype, cell in zip(types, row[1:], strict=True)}


CELLS = _cells()


def _argument(kernel, dtype: str, device):
    """Returns the argument between seeds and out, of zeros: none, an array or a value."""
    parameters = kernel.signature.parameters
    if len(parameters) == 2:
        return ()
    kind = parameters[1].type
    if isinstance(kind, ArrayType):
        return (lp.zeros(8, kind.element, device=device),)
    if isinstance(kind, FixedArrayType):
        return (np.zeros(3, getattr(lp, dtype).dtype),)
    return (kernel.function.__globals__["Pair"](),) if isinstance(kind, StructType) else (kind(0),)


@pytest.mark.behaviour("DT-01", "DT-02", "DT-04", "DT-08", "ASP-03", "ASP-04")
@pytest.mark.parametrize("dtype", DTYPES)
def test_value_goes_through_every_place_or_the_device_is_refused_by_name(device, dtype):
    seeds = lp.asarray(np.int32(SEEDS), device=device)
    for place in PLACES:
        cell = CELLS[place.name, dtype.rstrip("_")]
        kernel = lp.kernel_from_source(source(place, dtype))
        out = lp.full(8, -1, lp.i32, device=device)
        if cell == "refused":
            with pytest.raises(lp.CompileError):
                kernel[8](seeds, *_argument(kernel, dtype, device), out)
            continue
        needed = re.findall(r"`(\w+)`", cell)
        missing = [
            name for name in needed if name not in {aspect_spelling(a) for a in lp.Aspect if device.has(a)}
        ]
        arguments = _argument(kernel, dtype, device)
        if missing:
            with pytest.raises(lp.KernelNotSupportedError, match="|".join(missing)):
                kernel[8](seeds, *arguments, out)
        else:
            kernel[8](seeds, *arguments, out)
            assert out.numpy().tolist() == expected(place, dtype), (place.name, dtype)


OPTIONAL = {
    "f16": (lp.Aspect.FP16, "OpTypeFloat 16"), "f64": (lp.Aspect.FP64, "OpTypeFloat 64"),
    "i8": (lp.Aspect.VK_INT8, "OpTypeInt 8"), "i16": (lp.Aspect.VK_INT16, "OpTypeInt 16"),
    "i64": (lp.Aspect.VK_INT64, "OpTypeInt 64"),
}  # fmt: skip


@pytest.mark.behaviour("DT-04", "DT-08")
@pytest.mark.parametrize("dtype", OPTIONAL)
def test_a_device_without_the_type_is_refused_though_the_kernel_compiles(device, dtype):
    aspect, type_ = OPTIONAL[dtype]
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef squares(x: lp.Array[lp.{dtype}]):\n"
        "    i = lp.global_id(0)\n    x[i] = x[i] * x[i]\n"
    )
    assert type_ in kernel.inspect("spirv")
    lesser = device.masked(without=[aspect]) if device.has(aspect) else device
    x = lp.asarray(np.arange(4).astype(getattr(lp, dtype).dtype), device=lesser)
    with pytest.raises(lp.KernelNotSupportedError, match=aspect.name.lower()) as caught:
        kernel[4](x)
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
    np.testing.assert_array_equal(x.numpy(), np.arange(4))


SIZES = {
    "bool_": ("b", 1), "i8": ("i", 1), "u8": ("u", 1), "i16": ("i", 2), "u16": ("u", 2), "i32": ("i", 4),
    "u32": ("u", 4), "i64": ("i", 8), "u64": ("u", 8), "f16": ("f", 2), "f32": ("f", 4), "f64": ("f", 8),
}  # fmt: skip


@pytest.mark.behaviour("DT-01", "DT-07")
@pytest.mark.parametrize("dtype", SIZES)
def test_sizes_and_signs_are_fixed(device, dtype):
    """The host's NumPy dtype, and the distance of elements on the device."""
    kind, nbytes = SIZES[dtype]
    host = np.dtype(getattr(lp, dtype).dtype)
    assert (host.kind, host.itemsize) == (kind, nbytes)
    assert lp.zeros(3, getattr(lp, dtype), device=device).nbytes == 3 * nbytes
    kernel = lp.kernel_from_source(f"@lp.kernel\ndef moves(x: lp.Array[lp.{dtype}]):\n    x[0] = x[1]\n")
    assert re.findall(r"ArrayStride (\d+)", kernel.inspect("spirv")) == [str(nbytes)]


@pytest.mark.device
@pytest.mark.behaviour("DT-07")
def test_types_of_c_have_the_size_of_the_host():
    """C's long, size_t and the like: arrays of them, and kernels only have types of fixed width."""
    for name in ("c_short", "c_int", "c_long", "c_longlong", "c_size_t", "c_ulong", "c_float", "c_double"):
        kind = getattr(ctypes, name)
        array = lp.zeros(3, np.dtype(kind))
        assert array.dtype.itemsize == ctypes.sizeof(kind) and array.nbytes == 3 * ctypes.sizeof(kind)
    assert not {"long", "size_t", "ulong"} & set(dir(lp))


@lp.kernel
def positive(x: lp.In[lp.i32], out: lp.Out[lp.bool_]):
    i = lp.global_id(0)
    out[i] = x[i] > 0


@pytest.mark.behaviour("DT-02")
def test_true_is_stored_as_one(device):
    out = lp.asarray(np.full(4, True), device=device)
    try:
        positive[4](lp.asarray(np.int32([-7, 7, 0, 1 << 30]), device=device), out)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    assert out.numpy().view(np.uint8).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type_exist_on_every_device(device, dtype):
    kind = getattr(lp, dtype)
    data = np.array(SEEDS).astype(kind.dtype)
    array = lp.asarray(data, device=device)
    assert array.dtype == kind.dtype
    np.testing.assert_array_equal(array.numpy(), data)


def test_published_table_is_what_the_compiler_does():
    assert main(["--check"]) == 0
