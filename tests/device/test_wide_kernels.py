"""Whatever a kernel does, `index=lp.i64` changes no result: every kind of access and group function, both ways."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

KERNELS = """
import lapilli as lp

@lp.struct
class Part:
    a: lp.f32
    b: lp.FixedArray[lp.i32, 3]

def ends(x: lp.Array[lp.f32], i):
    return x[i] + x[-1] + len(x)

def put(t, i, v):
    t[i] = v

def from_end(t, i):
    return t[len(t) - 1 - i] + t[-1] * t.shape[0]

@lp.kernel({options})
def loops(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    total = 0.0
    for j in range(x.size):
        total += x[j]
    y[i] = total + x[i] + x[-2] + x[3]

@lp.kernel({options})
def helpers(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = ends(x, i) + ends(x, x.size - 1 - i)

@lp.kernel({options})
def integers(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    k, m = lp.u32(i), lp.i16(i)
    y[k] = x[m] + x[lp.u32(3)] + x[lp.i8(2)]

@lp.kernel({options})
def private_arrays(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    t = lp.private.array(8, lp.f32)
    for k in range(8):
        t[k] = x[(i + k) % x.size]
    y[i] = t[i % 8] + t[-1]

@lp.kernel({options})
def shared_arrays(x: lp.In[lp.f32], t: lp.LocalArray[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    put(t, lp.local_id(0), x[i])
    lp.barrier()
    y[i] = from_end(t, 3) + t.size + t[(lp.local_id(0) + 1) % t.size]

@lp.kernel({options})
def three_dimensions(z: lp.Array[lp.i32, 3], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = z[i % z.shape[0], -1, 2] + z[1, i % 2, i % 2] + z.shape[1]
    if i < 3:
        z[i, 1, -2] += 9

@lp.kernel({options})
def structs(p: lp.Array[Part], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    p[i].b[i % 3] = lp.i32(i)
    p[i].a += 2.0
    lp.atomic.add(p, (i, "b", (i + 1) % 3), 5)
    y[i] = p[i].a + p[i].b[2]

@lp.kernel({options})
def groups(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    total = lp.group.reduce(x[i], "add") + lp.group.inclusive_scan(x[i], "add")
    total += lp.group.exclusive_scan(x[i], "max") * lp.f32(x[i] > 0.0) + lp.group.broadcast(x[i], 1)
    y[i] = total if lp.group.any(x[i] > 6.0) else -total

@lp.kernel({options})
def ids(y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = lp.f32(
        lp.local_id(0) + 3 * lp.local_range(0) * i + 100 * lp.group_id(0) + lp.group_range(0) * lp.global_range(0)
        + lp.local_linear_id() + lp.group_linear_id()
    )
"""
SUB_GROUPS = """
import lapilli as lp

@lp.kernel({options})
def sub_groups(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    inside = lp.f32(lp.sub_group.id() < lp.sub_group.size())
    y[i] = lp.sub_group.reduce(x[i], "max") + inside + lp.f32(lp.sub_group.count() > lp.sub_group.index())
"""
NAMES = (
    *(
        "loops",
        "helpers",
        "integers",
        "private_arrays",
        "shared_arrays",
        "three_dimensions",
        "structs",
        "groups",
    ),
    "ids",
)


def results(source: str, name: str, options: str, device: lp.Device) -> list[np.ndarray]:
    """What a kernel leaves in its arrays."""
    kernel = lp.kernel_from_source(source.format(options=options), name=name)
    y = lp.zeros(16, device=device)
    given = {
        "x": lambda: lp.asarray(np.arange(16, dtype=np.float32), device=device),
        "t": lambda: lp.local(4),
        "z": lambda: lp.asarray(np.arange(30, dtype=np.int32).reshape(3, 2, 5), device=device),
        "p": lambda: lp.zeros(16, kernel.function.__globals__["Part"], device=device),
        "y": lambda: y,
    }
    arguments = [given[parameter.name]() for parameter in kernel.signature.parameters]
    kernel[16](*arguments)
    return [argument.numpy() for argument in arguments if isinstance(argument, lp.Array)]


def both(source: str, name: str, device: lp.Device) -> None:
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("needs vk_int64")
    narrow = results(source, name, "local_size=4", device)
    wide = results(source, name, "local_size=4, index=lp.i64", device)
    for one, other in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(one, other)
    assert narrow[-1].view(np.uint8).any()


@pytest.mark.parametrize("name", NAMES)
def test_64_bits_change_nothing(device: lp.Device, name: str) -> None:
    both(KERNELS, name, device)


@pytest.mark.parametrize("name", ["helpers", "three_dimensions", "structs"])
def test_64_bits_change_nothing_in_debug_mode(
    device: lp.Device, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPILLI_DEBUG", "1")
    both(KERNELS, name, device)


def test_64_bits_change_no_sub_group_function(device: lp.Device) -> None:
    if not device.has(lp.Aspect.VK_SUBGROUP_ARITHMETIC):
        pytest.skip("needs vk_subgroup_arithmetic")
    both(SUB_GROUPS, "sub_groups", device)
