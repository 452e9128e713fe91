"""Lengths of a kernel's own arrays that are computed from specialization constants of every integer type."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import REMEDIES

pytestmark = pytest.mark.device

TYPES = (lp.u8, lp.i8, lp.u16, lp.i16, lp.u32, lp.i32, lp.u64, lp.i64)
ASPECTS = {8: lp.Aspect.VK_INT8, 16: lp.Aspect.VK_INT16, 64: lp.Aspect.VK_INT64}
CONSTANTS = {kind: lp.SpecializationId(kind, 8) for kind in TYPES}


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"], autouse=True)
def env(request, device, monkeypatch):
    """Runs a test as the device needs it, and with what all drivers together need."""
    if request.param:
        changed = replace(device.target_env, **dict.fromkeys(REMEDIES, True))
        monkeypatch.setitem(vars(device), "target_env", changed)


def _needs(device, kind):
    aspect = ASPECTS.get(8 * np.dtype(kind).itemsize)
    if aspect is not None and not device.has(aspect):
        pytest.skip(f"the device lacks {aspect.name}")


@pytest.mark.parametrize("kind", TYPES, ids=repr)
def test_arrays_steps_and_bounds_take_constants_of_every_integer_type(device, kind):
    _needs(device, kind)
    LENGTH = CONSTANTS[kind]

    @lp.kernel(local_size=8)
    def lengths(shared: lp.Array[lp.i32], private: lp.Array[lp.i32], rounds: lp.Array[lp.i32]):
        i, lane = lp.global_id(0), lp.local_id(0)
        row = lp.local.array((LENGTH, 2), lp.i32)
        row[lane, 1] = i
        lp.barrier()
        shared[i] = row[7 - lane, 1]
        own = lp.private.array(LENGTH + LENGTH // 3, lp.i32)
        for k in range(LENGTH + LENGTH // 3):
            own[k] = i + lp.i32(k)
        private[i] = own[LENGTH] + 100 * len(own)
        count = 0
        for _ in range(0, 100, LENGTH):
            count += 1
        rounds[i] = count

    i = np.arange(32)
    for length in (8, 9, 60):
        outs = [lp.zeros(32, lp.i32, device=device) for _ in range(3)]
        lengths[32].spec({LENGTH: length})(*outs)
        np.testing.assert_array_equal(outs[0].numpy(), i // 8 * 8 + 7 - i % 8)
        np.testing.assert_array_equal(outs[1].numpy(), i + length + 100 * (length + length // 3))
        np.testing.assert_array_equal(outs[2].numpy(), len(range(0, 100, length)))


@lp.kernel
def wraps(out: lp.Array[lp.i32], *, N: lp.Spec[lp.u8] = 100):
    own = lp.private.array(N * 2 + 1, lp.i32)
    own[lp.global_id(0)] = 1
    out[0] = 10 * len(own) + own[0]


def test_lengths_wrap_in_the_type_that_they_are_computed_in(device):
    _needs(device, lp.u8)
    out = lp.zeros(1, lp.i32, device=device)
    wraps[1](out, N=200)
    assert out.numpy()[0] == 10 * (200 * 2 + 1 - 256) + 1


@lp.kernel
def wide(out: lp.Array[lp.i32], *, N: lp.Spec[lp.i64] = 8):
    own = lp.private.array(N, lp.i32)
    own[lp.global_id(0)] = 1
    out[0] = own[0]


@pytest.mark.native_only("the interpreter has other limits of memory")
@pytest.mark.parametrize(
    ("length", "error"), [(2**32 + 8, "memory"), (8 - 2**32, "at least 1"), (0, "at least 1")]
)
def test_lengths_of_64_bits_that_no_array_has_are_refused_by_value(device, length, error):
    _needs(device, lp.i64)
    with pytest.raises(lp.Error, match=f"{error}.*; N is {length}$"):
        wide[1](lp.zeros(1, lp.i32, device=device), N=length)


@lp.kernel
def compile_time(out: lp.Array[lp.i32], N: lp.Const[lp.i64]):
    own = lp.private.array(N, lp.i32)
    own[lp.global_id(0)] = 5
    out[0] = 10 * len(own) + own[0]


def test_lengths_that_the_compiler_knows_may_have_64_bits(device):
    out = lp.zeros(1, lp.i32, device=device)
    compile_time[1](out, 9)
    assert out.numpy()[0] == 95
