"""Where the memory of a kernel lies in SPIR-V, and what accessors say of it there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp


@lp.kernel(local_size=8)
def regions(source: lp.In[lp.f32], out: lp.Out[lp.f32], scale: lp.f32, n: lp.i32):
    i = lp.global_id(0)
    shared = lp.local.array(8, lp.f32)
    own = lp.private.array(2, lp.f32)
    shared[lp.local_id(0)] = source[i]
    own[i % 2] = scale
    own[(i + 1) % 2] = 0.0
    lp.barrier()
    out[i] = shared[7 - lp.local_id(0)] * own[n % 2 if i % 2 == 0 else (n + 1) % 2]


@pytest.mark.behaviour("MEM-01")
def test_each_region_has_its_storage_class(device: lp.Device):
    text = regions.inspect("spirv")
    found = dict(re.findall(r"(%\S+) = OpVariable %\S+ (\w+)", text))
    assert found["%regions_source"] == found["%regions_out"] == "StorageBuffer"
    assert found["%regions_shared"] == "Workgroup"
    assert found["%regions_arguments"] == "PushConstant"
    assert re.search(r"= OpVariable %_ptr_(Function|Private)__arr_float", text)
    x = np.arange(16, dtype=np.float32)
    out = lp.zeros(16, device=device)
    regions[16](lp.asarray(x, device=device), out, 2.0, 0)
    assert out.numpy().tolist() == (2 * x.reshape(2, 8)[:, ::-1].reshape(-1)).tolist()


@pytest.mark.behaviour("MEM-02")
def test_constant_memory_cannot_be_written():
    @lp.kernel
    def writes(x: lp.In[lp.f32]):
        x[lp.global_id(0)] = 1.0

    with pytest.raises(lp.CompileError, match="read"):
        writes.inspect("ir")
    assert "Generic" not in regions.inspect("spirv")


@pytest.mark.behaviour("MEM-05")
def test_accessors_become_decorations():
    text = regions.inspect("spirv")
    assert "OpDecorate %regions_source NonWritable" in text
    assert "OpDecorate %regions_out NonReadable" in text
    assert "OpDecorate %regions_source NonReadable" not in text
    assert "OpDecorate %regions_out NonWritable" not in text

    @lp.kernel
    def both(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += 1.0

    assert not re.search(r"OpDecorate %both_x Non(Readable|Writable)", both.inspect("spirv"))
