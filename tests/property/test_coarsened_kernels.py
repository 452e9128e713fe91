"""Coarsened kernels write what plain ones write, bit for bit: random kernels, types, and sizes of every remainder."""

from __future__ import annotations

import random

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.kernel import KernelFunction
from lapilli.vk_runtime import coarsening
from lapilli.vk_runtime.coarse_record import CoarseRecord
from lapilli.vk_runtime.coarsening import Coarsening

from .coarse_programs import COMMON, MARGIN, WIDE, Generator

pytestmark = [
    pytest.mark.device,
    pytest.mark.native_only("the interpreter runs each work-item by itself"),
]
SEEDS = 6
LIMIT = 4
ASPECTS = {"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64, "i8": lp.Aspect.VK_INT8, "u16": lp.Aspect.VK_INT16,
           "i64": lp.Aspect.VK_INT64}  # fmt: skip


def arrays_for(seed: int, dtype: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    extents = (*[n + 1 for n in shape[:-1]], -(-(shape[-1] + MARGIN) // 4) * 4)
    kind = np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    return [rng.integers(0, 9, size).astype(kind) for size in (extents, (16,), extents, extents)]


def run(
    device: lp.Device, text: str, shape: tuple[int, ...], inputs: list[np.ndarray]
) -> tuple[list[bytes], bool]:
    """Returns the bytes of the arrays that a fresh kernel wrote, and whether it was coarsened."""
    kernel = lp.kernel_from_source(text)
    assert isinstance(kernel, KernelFunction)
    arrays = [lp.asarray(array, device=device) for array in inputs]
    kernel[shape](*arrays, LIMIT)
    records = [prepared.record for prepared in kernel.records.values()]
    is_coarse = any(isinstance(record, CoarseRecord) or bool(record.kernel.lanes) for record in records)
    return [array.numpy().tobytes() for array in arrays], is_coarse


@pytest.mark.parametrize("dtype", COMMON + WIDE)
@pytest.mark.parametrize("rank", [1, 2])
def test_coarsened_kernels_write_what_plain_ones_write(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch, dtype: str, rank: int
) -> None:
    if dtype in ASPECTS and not device.has(ASPECTS[dtype]):
        pytest.skip(f"the device has no {dtype}")
    coarse = 0
    for seed in range(SEEDS if dtype in COMMON else SEEDS - 2):
        text = Generator(seed, dtype, rank).text()
        last = random.Random(seed).choice((4, 12, 64, 1028, 1029, 1030, 1031))
        shape = (last,) if rank == 1 else (random.Random(seed).choice((1, 4, 6, 33)), last)
        inputs = arrays_for(seed, dtype, shape)
        found: list[list[bytes]] = []
        for choice in (
            Coarsening(),
            Coarsening(lanes=4, least_with_loops=1, least_without_loops=1),
            Coarsening(lanes=4, least_with_loops=1, least_without_loops=1, splits_branches=False),
        ):
            monkeypatch.setitem(coarsening.COARSENING, device.physical.driver_id, choice)
            written, is_coarse = run(device, text, shape, inputs)
            found.append(written)
            coarse += is_coarse
        assert found[0] == found[1] == found[2], f"seed {seed}, {dtype}, {shape}\n{text}"
    assert coarse > 1, "some of them are coarsened"
