"""Captured tables of 64 numbers and more at run-time indices: words in the argument block on software drivers."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile_options import overridden_options
from lapilli.vk_runtime.bundle_launch import launch_kernel

pytestmark = pytest.mark.device
RNG = np.random.default_rng(11)
FLOATS = RNG.normal(size=130).astype(np.float32)
FLOATS[:4] = np.nan, np.inf, -0.0, 1e-42
WIDE = RNG.integers(-(2**31), 2**31, size=(8, 9), dtype=np.int64).astype(np.int32)
SMALL = RNG.integers(-3, 90, size=70).astype(np.int32)
LONGS = RNG.integers(-(2**63), 2**63, size=64, dtype=np.int64)
DOUBLES = RNG.normal(size=66)
SHIFT = lp.SpecializationId(lp.i32, 3)
N = 300


def wide(i: lp.i32) -> lp.i32:
    return WIDE[i & 7, i % 9]


@lp.kernel
def look_up(step: lp.i32, out: lp.Array[lp.f32], whole: lp.Array[lp.i32]):
    i = lp.global_id(0)
    at = i * step + SHIFT
    out[i] = FLOATS[at % 130]
    whole[i] = wide(at) ^ wide(i) ^ SMALL[at % 70]


@lp.external("constant_tables_pick")
def pick(i: lp.i32) -> lp.f32:
    return FLOATS[4 + (i & 63)] + lp.f32(SMALL[i & 63])


@lp.kernel
def look_up_elsewhere(out: lp.Array[lp.f32]):
    i = lp.global_id(0)
    out[i] = pick(i) + FLOATS[4 + i % 126]


@lp.kernel
def look_up_longs(out: lp.Array[lp.i64], doubles: lp.Array[lp.f64]):
    i = lp.global_id(0)
    out[i] = LONGS[i & 63]
    doubles[i] = DOUBLES[(i * 5) % 66]


def expected(step: int, shift: int = 3) -> tuple[bytes, list[int]]:
    i = np.arange(N)
    at = i * step + shift
    whole = WIDE[at & 7, at % 9] ^ WIDE[i & 7, i % 9] ^ SMALL[at % 70]
    return FLOATS[at % 130].tobytes(), whole.tolist()


def arrays(device) -> tuple[lp.Array, lp.Array]:
    return lp.zeros(N, device=device), lp.zeros(N, lp.i32, device=device)


def found(out: lp.Array, whole: lp.Array) -> tuple[bytes, list[int]]:
    return out.numpy().tobytes(), whole.numpy().tolist()


@pytest.mark.parametrize("constants", ["native", "emulated"])
def test_every_number_is_found(device, constants):
    kernel = look_up if constants == "native" else lp.kernel(look_up.source.function)
    with overridden_options(spec_constants=constants):
        for step, shift in ((1, 3), (7, 3), (2, 5)):
            out, whole = arrays(device)
            kernel[N].spec({SHIFT: shift})(step, out, whole)
            assert found(out, whole) == expected(step, shift)


def test_numbers_of_64_bits(device):
    if not (device.has(lp.Aspect.FP64) and device.has(lp.Aspect.VK_INT64)):
        pytest.skip("needs fp64 and vk_int64")
    out, doubles = lp.zeros(N, lp.i64, device=device), lp.zeros(N, lp.f64, device=device)
    look_up_longs[N](out, doubles)
    assert out.numpy().tolist() == LONGS[np.arange(N) & 63].tolist()
    assert doubles.numpy().tolist() == DOUBLES[np.arange(N) * 5 % 66].tolist()


def test_functions_that_are_exported_keep_their_tables(device):
    out = lp.zeros(N, device=device)
    look_up_elsewhere[N](out)
    i = np.arange(N)
    picked = FLOATS[4 + (i & 63)] + SMALL[i & 63].astype(np.float32)
    assert out.numpy().tolist() == (picked + FLOATS[4 + i % 126]).tolist()


@pytest.mark.native_only("graphs are not interpreted")
def test_indirect_ranges_and_graphs(device):
    count = lp.asarray(np.array([N], np.uint32), device=device)
    out, whole = arrays(device)
    look_up[lp.IndirectRange(count)](4, out, whole)
    assert found(out, whole) == expected(4)
    out.fill(0.0)
    with lp.graph() as graph:
        look_up[N](6, out, whole)
    graph.replay()
    assert found(out, whole) == expected(6)


def test_bundles(device, tmp_path):
    context = lp.Context([device])
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel_ids=[look_up])
    bundle.save(tmp_path / "tables.lpk")
    for each in (bundle, lp.load_kernel_bundle(context, tmp_path / "tables.lpk")):
        out, whole = arrays(device)
        launch_kernel(device.default_queue, each.get_kernel(look_up), N, (5, out, whole))
        assert found(out, whole) == expected(5)


def test_more_tables_than_a_block_holds_are_refused(device):
    if not device.target_env.packs_tables:
        pytest.skip("tables stay in the code")
    tables = [RNG.normal(size=1024).astype(np.float32) for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lapilli.passes.convert_to_spirv.argument_block.MOST_TABLE_WORDS", 1500)
        one, two = tables

        @lp.kernel
        def both(out: lp.Array[lp.f32]):
            i = lp.global_id(0)
            out[i] = one[i] + two[i]

        with pytest.raises(lp.Error, match="more than 6,000 bytes; pass some of them as arrays"):
            both[4](lp.zeros(4, device=device))
