"""Tables of constants become words in the argument block, where the environment says so."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv

PACKS = TargetEnv(packs_tables=True)
SBOX = np.random.default_rng(1).permutation(256).astype(np.int32)


def words_of(table, *, packs=True):
    """Returns how many elements each array has that the code of a look-up holds in variables."""

    @lp.kernel
    def look_up(x: lp.Array[lp.i32], out: lp.Array[lp.f32]):
        i = lp.global_id(0)
        out[i] = lp.f32(table[x[i] & 63])

    @lp.kernel
    def look_up_2(x: lp.Array[lp.i32], out: lp.Array[lp.f32]):
        i = lp.global_id(0)
        out[i] = lp.f32(table[x[i] & 7, x[i] & 3])

    text = inspect(look_up if table.ndim == 1 else look_up_2, "spirv", env=PACKS if packs else TargetEnv())
    assert isinstance(text, str)
    return text.count("OpConstant "), [line for line in text.splitlines() if "OpTypeArray " in line]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (SBOX, 64),
        (SBOX.astype(np.uint32) + np.uint32(2**32 - 256), 64),
        (SBOX - 128, 64),
        (SBOX.astype(np.uint8), 64),
        (SBOX.reshape(16, 16), 64),
        (SBOX * 200, 128),
        (SBOX.astype(np.int64) * 200 - 2**40, 128),
        (SBOX & 1, 8),
        (SBOX & 7, 32),
        (np.full(64, 7, np.int32), 2),
        (SBOX[:65], 17),
        (SBOX * 300, 256),
        (SBOX > 7, 8),
        (SBOX.astype(np.float16), 128),
        (SBOX.astype(np.float32), 256),
        (SBOX.astype(np.int64) << 40, 512),
        (SBOX.astype(np.float64), 512),
    ],
)
def test_tables_become_words(table, words):
    _, (line,) = words_of(table)
    assert line.endswith(f"OpTypeArray %uint %uint_{words}")


@pytest.mark.parametrize(
    "table",
    [SBOX[:63], (SBOX > 7)[:63], SBOX[:63].astype(np.float16)],
    ids=["short", "few bools", "few halves"],
)
def test_other_tables_stay(table):
    assert words_of(table) == words_of(table, packs=False)


def test_a_table_that_is_used_as_a_whole_stays():
    table = SBOX

    def changed(values, i):
        values[i] = 1
        return values

    @lp.kernel
    def look_up(x: lp.Array[lp.i32], out: lp.Array[lp.i32]):
        i = lp.global_id(0)
        t = table
        if x[i] > 3:
            t = changed(t, x[i] & 255)
        out[i] = t[x[i] & 15]

    text = inspect(look_up, "spirv", env=PACKS)
    assert (
        isinstance(text, str)
        and "%uint_256\n" in text
        and "%uint_64\n" not in text.partition("OpFunction")[0]
    )


@pytest.mark.parametrize(
    ("count", "class_", "array"),
    [(65, "Uniform", "%v4uint %uint_17"), (101, "StorageBuffer", "%uint %uint_101")],
)
def test_words_lie_in_a_uniform_buffer_that_every_device_can_have(count, class_, array, monkeypatch):
    monkeypatch.setattr("lapilli.passes.convert_to_spirv.argument_block.MOST_UNIFORM_BYTES", 400)
    table = np.arange(count, dtype=np.uint32) * np.uint32(65537)

    @lp.kernel
    def look_up(x: lp.In[lp.i32], out: lp.Out[lp.u32]):
        i = lp.global_id(0)
        out[i] = lp.u32(table[x[i]])

    env = TargetEnv(packs_tables=True, tables_are_uniform=True)
    text = inspect(look_up, "spirv", env=env)
    assert isinstance(text, str)
    assert f"OpTypeArray {array}\n" in text
    assert f"%look_up_arguments = OpVariable %_ptr_{class_}_" in text
    described = inspect(look_up, "metadata", env=env)
    assert isinstance(described, str)
    assert ('"is_argument_block_uniform": true' in described) == (class_ == "Uniform")


def test_software_drivers_ask_for_it(device):
    is_software = any(name in repr(device) for name in ("lavapipe", "swiftshader"))
    assert device.target_env.packs_tables == is_software
    assert device.target_env.tables_are_uniform == ("lavapipe" in repr(device))
