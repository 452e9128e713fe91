"""Random programs of work-items that work together: every device and the interpreter give the same numbers.

There is no oracle in Python here: the steps are run with NumPy, one array a step, which is what barriers mean.
"""

from __future__ import annotations

import importlib.util
import itertools
import random

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret
from lapilli.vk_runtime.runtime import runtime

SIZE = 8
GROUPS = 3
_serial = itertools.count()


class Steps:
    """A random sequence of steps on a shared array, as kernel source and as NumPy."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.functions = [], []
        for _ in range(self.random.randrange(2, 6)):
            getattr(self, self.random.choice(["rotate", "fold", "reduce", "scan", "count", "loop"]))()

    def step(self, line, function):
        self.lines += [line, "lp.barrier()"]
        self.functions.append(function)

    def rotate(self):
        by, factor = self.random.randrange(SIZE), self.random.choice([1, 3, -2])
        self.lines += [f"v = tile[(i + {by}) % {SIZE}] * {factor}", "lp.barrier()"]
        self.step("tile[i] = v", lambda t: np.roll(t, -by, axis=1) * np.int32(factor))

    def fold(self):
        half = self.random.choice([1, 2, 4])

        def function(t):
            t = t.copy()
            t[:, :half] += t[:, half : 2 * half]
            return t

        self.lines += [f"if i < {half}:", f"    tile[i] += tile[i + {half}]"]
        self.lines.append("lp.barrier()")
        self.functions.append(function)

    def reduce(self):
        op = self.random.choice(["add", "min", "max", "xor"])
        ufunc = {"add": np.add, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor}[op]
        self.step(
            f'tile[i] -= lp.group.reduce(tile[i], "{op}")',
            lambda t: t - ufunc.reduce(t, axis=1, keepdims=True, dtype=np.int32),
        )

    def scan(self):
        self.step(
            'tile[i] = lp.group.inclusive_scan(tile[i], "add")',
            lambda t: np.cumsum(t, axis=1, dtype=np.int32),
        )

    def count(self):
        def function(t):
            t = t.copy()
            odd = t & 1
            t[:, 0] += odd.sum(axis=1, dtype=np.int32)
            return t

        self.lines += ["o = tile[i] & 1", "lp.barrier()"]
        self.step("lp.atomic.add(tile, 0, o)", function)

    def loop(self):
        rounds = self.random.randrange(1, 4)

        def function(t):
            for r in range(rounds):
                t = t + np.roll(t, -1, axis=1) * np.int32(r + 1)
            return t

        self.lines += [
            f"for r in range({rounds}):",
            f"    w = tile[(i + 1) % {SIZE}] * (r + 1)",
            "    lp.barrier()",
        ]
        self.lines += ["    tile[i] += w", "    lp.barrier()"]
        self.functions.append(function)

    def kernel(self, folder):
        name = f"cooperation_{next(_serial)}"
        path = folder / f"{name}.py"
        body = [
            "tile = lp.local.array(8, lp.i32)",
            "i = lp.local_id(0)",
            "g = lp.global_id(0)",
            "tile[i] = x[g]",
        ]
        body += ["lp.barrier()", *self.lines, "y[g] = tile[i]"]
        path.write_text(
            "import lapilli as lp\n\n"
            f"@lp.kernel(local_size={SIZE})\n"
            "def k(x: lp.In[lp.i32], y: lp.Out[lp.i32]):\n    " + "\n    ".join(body) + "\n"
        )
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.k


@pytest.mark.parametrize("seed", range(12))
def test_every_device_and_the_interpreter_agree(tmp_path, seed):
    steps = Steps(seed)
    kernel = steps.kernel(tmp_path)
    x = np.random.default_rng(seed).integers(-1000, 1000, SIZE * GROUPS, np.int32)
    expected = x.reshape(GROUPS, SIZE)
    for function in steps.functions:
        expected = function(expected)
    y = np.zeros_like(x)
    interpret(kernel, x.size, (x, y), sub_group_size=random.Random(seed).choice([1, 2, 4, 8]))
    np.testing.assert_array_equal(y, expected.ravel())
    for device in runtime().devices:
        out = lp.zeros(x.size, lp.i32, device=device)
        kernel[x.size](lp.asarray(x, device=device), out)
        np.testing.assert_array_equal(out.numpy(), expected.ravel(), device.selector)


@pytest.mark.parametrize("seed", range(12))
def test_a_missing_barrier_is_found(tmp_path, seed):
    """Without one of the barriers that separate a read of a neighbour from a write, there is a race."""
    steps = Steps(seed)
    while steps.lines[1:2] != ["lp.barrier()"] or "tile[(i" not in steps.lines[0] or "+ 0)" in steps.lines[0]:
        seed += 1000
        steps = Steps(seed)
    del steps.lines[1]
    x = np.ones(SIZE * GROUPS, np.int32)
    with pytest.raises(lp.KernelTrap) as caught:
        interpret(steps.kernel(tmp_path), x.size, (x, np.zeros_like(x)))
    assert caught.value.code == "LP4112"
    assert "of shared array 'tile'" in str(caught.value)
