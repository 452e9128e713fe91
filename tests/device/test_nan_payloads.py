"""NaN that are constants of a kernel keep their bits: signalling ones, payloads and signs."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

PATTERNS = {
    16: np.array([0x7D01, 0xFD02, 0x7E33, 0x7E00, 0x8000, 1], np.uint16),
    32: np.array([0x7FA00001, 0xFFA12345, 0x7FC00123, 0x7FC00000, 0x80000000, 1], np.uint32),
    64: np.array([0x7FF4000000000001, 0xFFF4000000000321, 0x7FF8000000000123, 1 << 63, 3, 4], np.uint64),
}
TYPES = {16: (lp.f16, lp.u16), 32: (lp.f32, lp.u32), 64: (lp.f64, lp.u64)}
NEEDS = {16: (lp.Aspect.FP16, lp.Aspect.VK_INT16), 32: (), 64: (lp.Aspect.FP64, lp.Aspect.VK_INT64)}


@pytest.mark.parametrize("bits", TYPES)
def test_captured_numbers_tables_and_bitcasts(device, bits):
    if not all(map(device.has, NEEDS[bits])):
        pytest.skip(f"the device lacks floats or integers of {bits} bits")
    Float, Bits = TYPES[bits]
    patterns = PATTERNS[bits]
    TABLE = patterns.view(f"f{bits // 8}")
    FIRST, SECOND = TABLE[0], TABLE[1]
    NUMBER = int(patterns[1])

    @lp.kernel
    def stored(out: lp.Array[Float], found: lp.Array[Bits]):
        i = lp.global_id(0)
        out[i] = TABLE[i]
        if i == 0:
            out[6] = FIRST
            out[7] = lp.bitcast(Bits(NUMBER), Float)
            found[0] = lp.bitcast(Float(SECOND), Bits)
            found[1] = lp.bitcast(TABLE[2], Bits)
            found[2] = lp.bitcast(lp.bitcast(Bits(NUMBER), Float), Bits)

    out, found = lp.zeros(8, Float, device=device), lp.zeros(3, Bits, device=device)
    stored[6](out, found)
    expected = [*patterns.tolist(), int(patterns[0]), NUMBER]
    assert out.numpy().view(patterns.dtype).tolist() == expected
    assert found.numpy().tolist() == [NUMBER, int(patterns[2]), NUMBER]


def test_another_payload_is_another_constant(device):
    @lp.kernel
    def stored(out: lp.Array[lp.f32]):
        out[0] = NUMBER

    for pattern in PATTERNS[32][:4]:
        NUMBER = pattern[None].view(np.float32)[0]
        out = lp.zeros(1, device=device)
        stored[1](out)
        assert out.numpy().view(np.uint32)[0] == pattern
