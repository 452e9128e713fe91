"""A work-item reads back what it has just written, beside arrays that are only read or only written.

NVIDIA's driver takes a NonWritable variable for a property of its block type, and then reads other variables of the
type through a cache that does not see the kernel's own stores.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp

BODIES = {
    "copy": ("x[i] = s[i]\n    out[i] = x[i]", lambda s, x: s),
    "sum": ("x[i] = s[i] + 1\n    out[i] = x[i]", lambda s, x: s + 1),
    "twice": ("v = s[i]\n    x[i] = v\n    out[i] = x[i] + v", lambda s, x: 2 * s),
    "swap": ("v = x[i]\n    x[i] = s[i]\n    out[i] = x[i] + v", lambda s, x: s + x),
    "loop": (
        "for k in range(3):\n        x[i] = s[(i + k) % 8]\n        out[i] = zero[i] + x[i]",
        lambda s, x: np.roll(s, -2),
    ),
    "neighbour": ("x[i] = s[i]\n    lp.barrier()\n    out[i] = x[i ^ 1]", lambda s, x: s[np.arange(8) ^ 1]),
}


def _source(dtype: str, body: str) -> str:
    parameters = ", ".join(
        f"{name}: lp.{access}[lp.{dtype}]"
        for name, access in (("s", "In"), ("x", "Array"), ("zero", "In"), ("out", "Out"))
    )
    return f"@lp.kernel(local_size=8)\ndef k({parameters}):\n    i = lp.global_id(0)\n    {body}\n"


@pytest.mark.parametrize("dtype", ["i32", "u32", "f32", "i64", "f64", "i16", "f16", "i8"])
@pytest.mark.parametrize("name", BODIES)
def test_what_was_written_is_read(device: lp.Device, dtype: str, name: str):
    body, expected = BODIES[name]
    kernel = lp.kernel_from_source(_source(dtype, body))
    kind = getattr(lp, dtype).dtype
    s, x = np.arange(1, 9).astype(kind), np.full(8, 50, kind)
    arrays = [lp.asarray(a, device=device) for a in (s, x, np.zeros(8, kind), np.full(8, -1).astype(kind))]
    try:
        kernel[8](*arrays)
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    assert arrays[3].numpy().tolist() == expected(s, x).tolist()


def test_arrays_of_different_access_have_block_types_of_their_own():
    kernel = lp.kernel_from_source(_source("f32", BODIES["copy"][0]))
    text = kernel.inspect("spirv")
    pointers = dict(re.findall(r"(%\S+) = OpVariable (%\S+) StorageBuffer", text))
    blocks = dict(re.findall(r"(%\S+) = OpTypePointer StorageBuffer (%\S+)", text))
    block_of = {variable: blocks[pointer] for variable, pointer in pointers.items()}
    assert block_of["%k_s"] not in (block_of["%k_x"], block_of["%k_out"])
    assert block_of["%k_out"] != block_of["%k_x"]
    assert f"OpMemberDecorate {block_of['%k_s']} 0 NonWritable" in text
    assert f"OpMemberDecorate {block_of['%k_x']} 0 NonWritable" not in text
