"""Functions of other modules that make private arrays, or change elements of fixed arrays, in loops."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapilli as lp

Load = Callable[..., types.ModuleType]

LIBRARY = """
N = lp.SpecializationId(lp.i32, 4)

def filled(a, x):
    for k in range(4):
        a[k] = x * lp.f32(k)

@lp.external
def fixed(x: lp.f32, k: lp.i32) -> lp.f32:
    a = lp.private.array((2, 2), lp.f32)
    for j in range(4):
        a[j // 2, j % 2] = x + lp.f32(j)
    return a[k % 2, 1]

@lp.external
def of_helper(x: lp.f32, k: lp.i32) -> lp.f32:
    a = lp.private.array(4, lp.f32)
    filled(a, x)
    return a[k % 4]

@lp.external
def summed(x: lp.f32, k: lp.i32) -> lp.f32:
    a = lp.FixedArray[lp.f32, 100]()
    for j in range(200):
        a[j % 100] += x
    return a[k]

@lp.external
def sized(x: lp.f32, k: lp.i32) -> lp.f32:
    a = lp.private.array(N, lp.f32)
    for j in range(N):
        a[j] = x * lp.f32(j)
    return a[min(k, N - 1)] + fixed(x, k)

@lp.kernel
def own(y: lp.Array[lp.f32]):
    y[lp.global_id(0)] = 1.0
"""
USER = "import {0} as library\n" + "".join(
    f"""
@lp.kernel
def {name}(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = library.{name}(y[i], i)
"""
    for name in ("fixed", "of_helper", "summed", "sized")
)
NUMBERS = np.arange(1, 9, dtype=np.float32)
PLACES = np.arange(8)
FIXED = NUMBERS + np.where(PLACES % 2 == 0, 1, 3)


@pytest.fixture
def program(load: Load, device: lp.Device, request: pytest.FixtureRequest) -> types.ModuleType:
    """A module of kernels that call the functions of another."""
    # Names of its own: modules of other tests may be alive.
    test = str(request.node.name)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    name = "ext_arrays_" + re.sub(r"\W", "_", test)
    library = LIBRARY
    for function in ("fixed", "of_helper", "summed", "sized"):
        library = library.replace(
            f"@lp.external\ndef {function}", f"@lp.external('{name}.{function}')\ndef {function}"
        )
    load(name, library)
    return load(f"{name}_user", USER.format(name))


def run(kernel: Any, device: lp.Device, **values: Any) -> np.ndarray:
    y = lp.asarray(NUMBERS, device=device)
    kernel[y.size].spec(values.get("spec", {}))(y)
    return y.numpy()


def test_exported_functions_make_arrays(device: lp.Device, program: types.ModuleType) -> None:
    np.testing.assert_array_equal(run(program.fixed, device), FIXED)  # exact in f32, as all of them
    np.testing.assert_array_equal(run(program.of_helper, device), NUMBERS * (PLACES % 4))
    np.testing.assert_array_equal(run(program.summed, device), NUMBERS * 2)
    for length in (1, 3, 8):
        found = run(program.sized, device, spec={program.library.N: length})
        np.testing.assert_array_equal(found, NUMBERS * np.minimum(PLACES, length - 1) + FIXED)


@pytest.mark.native_only("lengths are checked before a driver has them")
def test_their_sizes_are_checked_with_the_kernels(device: lp.Device, program: types.ModuleType) -> None:
    length = program.library.N
    for value in (0, -3):
        with pytest.raises(lp.InvalidError, match=rf"is {value}, expected at least 1; N is {value}$"):
            run(program.sized, device, spec={length: value})
    with pytest.raises(
        lp.KernelNotSupportedError, match=r"'sized' needs \d+ bytes of private memory.*N is 90000"
    ):
        run(program.sized, device, spec={length: 90000})
    assert run(program.sized, device).shape == (8,)


@pytest.mark.native_only("bundles are of devices")
def test_loaded_objects_keep_their_arrays(
    device: lp.Device, program: types.ModuleType, tmp_path: Path
) -> None:
    context = lp.Context([device])
    source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=program.sized)
    source.set_specialization_constant(program.library.N, 3)
    lp.build(source).save(tmp_path / "built.lpk")
    loaded = lp.load_kernel_bundle(context, tmp_path / "built.lpk", state=lp.BundleState.INPUT)
    y = lp.asarray(NUMBERS, device=device)
    lp.Queue(context=context).parallel_for(y.size, lp.build(loaded).get_kernel("sized"), y)
    np.testing.assert_array_equal(y.numpy(), NUMBERS * np.minimum(PLACES, 2) + FIXED)
    (constant,) = loaded.specialization_constants
    loaded.set_specialization_constant(constant, 0)
    with pytest.raises(lp.InvalidError, match="expected at least 1; N is 0"):
        lp.Queue(context=context).parallel_for(y.size, lp.build(loaded).get_kernel("sized"), y)


@pytest.mark.native_only("bundles are of devices")
def test_loaded_objects_are_linked(device: lp.Device, program: types.ModuleType, tmp_path: Path) -> None:
    """The library's file has functions with arrays of computed length, and no kernel that could describe them."""
    context, objects = lp.Context([device]), list[lp.KernelBundle]()
    for name, kernel in (("user", program.sized), ("library", program.library.own)):
        path = tmp_path / f"{name}.lpk"
        lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, kernel=kernel).save(path)
        objects.append(lp.load_kernel_bundle(context, path, state=lp.BundleState.OBJECT))
    for order in (objects, objects[::-1]):
        y = lp.asarray(NUMBERS, device=device)
        lp.Queue(context=context).parallel_for(y.size, lp.link(order).get_kernel(program.sized), y)
        np.testing.assert_array_equal(y.numpy(), NUMBERS * np.minimum(PLACES, 3) + FIXED)
