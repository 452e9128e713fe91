"""Atomics on fields of structs: by instruction, by compare-exchange on the bits of floats, and by address."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.target_env import BindingModel, TargetEnv

pytestmark = pytest.mark.device

N = 60


@lp.struct
class Inner:
    tag: lp.i32
    weights: lp.FixedArray[lp.f32, 2, 3]
    velocity: lp.f32x3


@lp.struct
class Cell:
    count: lp.i32
    total: lp.f32
    bins: lp.FixedArray[lp.u32, 5]
    inner: Inner


@lp.kernel
def update(cells: lp.Array[Cell, 2], total: lp.Array[lp.f32], taken: lp.Array[lp.f32]):
    i = lp.global_id(0)
    r = i % 2
    lp.atomic.add(cells, (r, 1, "count"), i)
    lp.atomic.sub(cells, (r, 0, "total"), 2.0)
    lp.atomic.max(cells, ((r, 1), "bins", i % 5), lp.u32(i))
    lp.atomic.add(cells, (r, -1, "inner", "weights", 1, i % 3), 0.5)
    lp.atomic.min(cells, (0, 0, "inner", "velocity", "z"), -lp.f32(i))
    lp.atomic.add(total, 0, 1.0)
    taken[i] = lp.atomic.exchange(cells, (0, 1, "total"), lp.f32(i))
    lp.atomic.store(
        cells, (1, 1, "inner", "velocity", 0), lp.atomic.load(cells, (1, 0, "inner", "velocity", 1))
    )
    lp.atomic.compare_exchange(cells, (1, 1, "inner", "velocity", "y"), 0.0, lp.f32(i + 1))


def test_fields_at_constant_and_run_time_steps(device):
    cells = np.zeros((2, 2), Cell.dtype)
    cells["inner"]["velocity"][1, 0] = (7, 8, 9)
    cells = lp.asarray(cells, device=device)
    total, taken = lp.zeros(1, device=device), lp.zeros(N, device=device)
    update[N](cells, total, taken)
    found, all_ids = cells.numpy(), np.arange(N)
    for r in range(2):
        ids = all_ids[all_ids % 2 == r]
        assert found["count"][r, 1] == ids.sum()
        assert found["total"][r, 0] == -N
        assert found["bins"][r, 1].tolist() == [ids[ids % 5 == k].max() for k in range(5)]
        assert found["inner"]["weights"][r, 1].tolist() == [[0, 0, 0], [5, 5, 5]]
    assert found["inner"]["velocity"][0, 0].tolist() == [0, 0, 1 - N]
    assert found["inner"]["velocity"][1, 1, 0] == 8
    assert 1 <= found["inner"]["velocity"][1, 1, 1] <= N
    assert sorted([*taken.numpy(), found["total"][0, 1]]) == sorted([0, *all_ids])
    assert total.numpy().tolist() == [N]


@lp.struct
class Wide:
    count: lp.i64
    total: lp.f64


@lp.kernel
def update_wide(cells: lp.Array[Wide]):
    i = lp.global_id(0)
    lp.atomic.add(cells, (i % 3, "count"), lp.i64(i) << 32)
    lp.atomic.add(cells, (i % 3, "total"), lp.f64(i))


def test_fields_of_64_bits(device):
    if not (device.has(lp.Aspect.ATOMIC64) and device.has(lp.Aspect.FP64)):
        pytest.skip("the device has no 64-bit atomics, or no doubles")
    cells = lp.zeros(3, Wide, device=device)
    update_wide[N](cells)
    sums = [int(np.arange(k, N, 3).sum()) for k in range(3)]
    assert cells.numpy()["count"].tolist() == [s << 32 for s in sums]
    assert cells.numpy()["total"].tolist() == sums


@pytest.mark.parametrize("model", BindingModel)
@pytest.mark.parametrize("is_native", [False, True])
def test_every_binding_model_has_a_valid_module(model, is_native):
    from lapilli.spirv.tools import spirv_tools

    aspects = (
        (int(lp.Aspect.VK_FLOAT_ATOMIC_ADD), int(lp.Aspect.VK_FLOAT_ATOMIC_MIN_MAX)) if is_native else ()
    )

    @lp.kernel
    def adds(cells: lp.Array[Cell], i: lp.i32):
        lp.atomic.add(cells, (i, "total"), 1.0)
        lp.atomic.max(cells, (i, "inner", "weights", i, 2), 1.0)
        cells[i].total += 1.0

    (image,) = compile_kernels([adds], TargetEnv(optional_aspects=aspects, binding_model=model))
    text = spirv_tools().disassemble(image.spirv)
    assert ("OpAtomicFAddEXT" in text) == is_native
    assert ("OpAtomicCompareExchange" in text) != is_native
