"""sin, cos and tan of angles of every size, in both forms: with a branch for large angles, and without one."""

import math
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import environment_of, executable_for
from lapilli.frontend.math_library.angle_reduction import BITS_F64, GENERAL_BITS_F32
from lapilli.vk_runtime.launch import prepare

TWO_OVER_PI_BITS = 64 * (len(BITS_F64) - 1)
TWO_OVER_PI = sum(word << (TWO_OVER_PI_BITS - 64 * i) for i, word in enumerate(BITS_F64))
"""2/π * 2**TWO_OVER_PI_BITS."""
STATED_ULP = {"sin": 3, "cos": 3, "tan": 4}


@lp.kernel
def compute(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[0, i] = lp.math.sin(x[i])
    out[1, i] = lp.math.cos(x[i])
    out[2, i] = lp.math.tan(x[i])


def _exact(x: float) -> tuple[float, float, float]:
    """Returns sin, cos and tan, the angle reduced in whole numbers."""
    numerator, denominator = abs(x).as_integer_ratio()
    quarters, denominator = numerator * TWO_OVER_PI, denominator << TWO_OVER_PI_BITS
    quarter = (2 * quarters + denominator) // (2 * denominator)
    rest = (quarters - quarter * denominator) / denominator * (math.pi / 2)
    turns = ((0, 1), (1, 0), (0, -1), (-1, 0))[quarter % 4]
    sine = turns[1] * math.sin(rest) + turns[0] * math.cos(rest)
    cosine = turns[1] * math.cos(rest) - turns[0] * math.sin(rest)
    sine = math.copysign(sine, x) if x == 0 else sine * math.copysign(1, x)
    return sine, cosine, sine / cosine


def _angles() -> np.ndarray:
    """Returns angles of every exponent, and those next to multiples of a quarter turn, where results are near zero."""
    random = np.random.default_rng(5)
    bits = random.integers(0x00800000, 0x7F800000, 6000, dtype=np.uint32)
    multiples = np.concatenate([np.arange(1, 3000), random.integers(3000, 1 << 30, 3000)]) * (math.pi / 2)
    near = multiples.astype(np.float32)
    hard = np.array(
        [16367173 * 2.0**72, 6381956970095103 * 2.0**70, 2.0**-12, 2.0**-13, 2.0**-14], np.float32
    )
    x = np.concatenate([bits.view(np.float32), near, np.nextafter(near, np.float32(0)), hard])
    return np.concatenate([x, -x])


@pytest.mark.parametrize("runs_all_branches", [True, False])
def test_angles_of_every_size(device, runs_all_branches):
    x = _angles()
    found = _run(device, x, runs_all_branches=runs_all_branches)
    exact = np.array([_exact(float(value)) for value in x]).T
    with np.errstate(over="ignore"):
        ulp = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32))
    errors = np.abs(found - exact) / ulp
    for row, (name, stated) in enumerate(STATED_ULP.items()):
        worst = int(np.argmax(errors[row]))
        assert errors[row][worst] <= stated, (name, x[worst], found[row][worst], exact[row][worst])


@pytest.mark.parametrize("runs_all_branches", [True, False])
def test_zeros_infinities_and_nan(device, runs_all_branches):
    found = _run(
        device,
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32),
        runs_all_branches=runs_all_branches,
    )
    assert found[0][:2].tolist() == found[2][:2].tolist() == [0, 0]
    assert np.signbit(found[0][:2]).tolist() == np.signbit(found[2][:2]).tolist() == [False, True]
    assert found[1][:2].tolist() == [1, 1]
    assert np.isnan(found[:, 2:]).all()


def test_the_words_of_the_general_form_are_bits_of_two_over_pi():
    value = sum(word << (32 * (len(GENERAL_BITS_F32) - 1 - i)) for i, word in enumerate(GENERAL_BITS_F32))
    assert value == TWO_OVER_PI >> (TWO_OVER_PI_BITS + 38 - 32 * len(GENERAL_BITS_F32))


def _run(device, x: np.ndarray, *, runs_all_branches: bool) -> np.ndarray:
    """Launches `compute` in one of its forms, whichever the device would have."""
    env = replace(environment_of(compute, device.target_env), runs_all_branches=runs_all_branches)
    form = executable_for(compute, 1, device, env)
    arguments = (lp.asarray(x, device=device), lp.zeros((3, x.size), device=device))
    record = prepare(device, form.image, form.kernel, (x.size,), (64,), arguments, {})
    record.launch(lp.Queue(device), arguments).wait()
    return arguments[1].numpy().astype(np.float64)
