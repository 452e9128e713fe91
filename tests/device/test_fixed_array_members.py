"""Fixed arrays in structs whose elements loops store: members with memory of their own, and values all the same."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import pytest

import lapilli as lp


@lp.struct
class Place:
    x: lp.i32
    y: lp.i32


@lp.struct
class Inner:
    v: lp.FixedArray[lp.i32, 4]
    w: lp.FixedArray[lp.i32, 4]


@lp.struct
class Box:
    places: lp.FixedArray[Place, 4]
    count: lp.i32
    inner: Inner


def grown(box: Box, by: lp.i32) -> Box:
    k = 0
    while k < box.count:
        if box.places[k].x > 50:
            return box  # out of the middle of a loop
        box.places[k].x += by
        box.places[k].y = box.places[(k + 1) % 4].y * 2 + box.inner.v[k]
        box.inner.v[k % 4] -= box.places[k].x
        k += 1
    box.count -= by  # the struct is a new one, its arrays are not
    return box


@lp.kernel
def changes(a: lp.Array[Box], given: Box, n: lp.i32):
    i = lp.global_id(0)
    box = a[i]
    kept = box
    for k in range(n):
        if k % 3 == i % 3:
            box, kept = kept, box
        elif k % 5 == 1:
            box = grown(box, k % 2)
        elif k == 7:
            box.inner = kept.inner
        elif k == 8:
            box.inner.v, box.inner.w = box.inner.w, box.inner.v
        if box.inner.v[k % 4] % 7 == 0:
            box.count = (box.count + 1) % 5
            given.inner.v[k % 4] += k
            continue
        box.inner.v[k % 4] += k + i
        box.inner.w[(k + 1) % 4] = box.inner.v[k % 4] - box.count + given.inner.v[k % 4]
        kept = kept if k % 2 else box
        if box.inner.w[1] > 300:
            break
    else:
        box.places = kept.places
    a[i] = box
    a[i + 8] = kept
    a[i + 16] = given


@dataclass
class HostBox:
    places: list[list[int]] = field(default_factory=lambda: [[0, 0] for _ in range(4)])
    count: int = 0
    v: list[int] = field(default_factory=lambda: [0] * 4)
    w: list[int] = field(default_factory=lambda: [0] * 4)


def grown_in_python(box: HostBox, by: int) -> HostBox:
    box, k = deepcopy(box), 0
    while k < box.count:
        if box.places[k][0] > 50:
            return box
        box.places[k][0] += by
        box.places[k][1] = box.places[(k + 1) % 4][1] * 2 + box.v[k]
        box.v[k % 4] -= box.places[k][0]
        k += 1
    box.count -= by
    return box


def changes_in_python(box: HostBox, given: HostBox, i: int, n: int) -> tuple[HostBox, HostBox, HostBox]:
    box, kept, given = deepcopy(box), deepcopy(box), deepcopy(given)
    for k in range(n):
        if k % 3 == i % 3:
            box, kept = kept, box
        elif k % 5 == 1:
            box = grown_in_python(box, k % 2)
        elif k == 7:
            box.v, box.w = list(kept.v), list(kept.w)
        elif k == 8:
            box.v, box.w = box.w, box.v
        if box.v[k % 4] % 7 == 0:
            box.count = (box.count + 1) % 5
            given.v[k % 4] += k
            continue
        box.v[k % 4] += k + i
        box.w[(k + 1) % 4] = box.v[k % 4] - box.count + given.v[k % 4]
        kept = kept if k % 2 else deepcopy(box)
        if box.w[1] > 300:
            break
    else:
        box.places = deepcopy(kept.places)
    return box, kept, given


def host_box(number: int) -> HostBox:
    random = np.random.default_rng(number)
    some = [int(v) for v in random.integers(-9, 60, 17)]
    places = [[some[2 * j], some[2 * j + 1]] for j in range(4)]
    return HostBox(places, number % 5, some[8:12], some[12:16])


def stored(box: HostBox) -> tuple[object, ...]:
    return ([tuple(p) for p in box.places], box.count, (box.v, box.w))


@pytest.mark.device
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("n", [0, 1, 6, 11])
def test_members_stay_values(device: lp.Device, level: int, n: int) -> None:
    boxes, given = [host_box(i) for i in range(8)], host_box(20)
    host = np.zeros(24, Box.dtype)
    expected = host.copy()
    for i, box in enumerate(boxes):
        host[i] = stored(box)
        for part, result in enumerate(changes_in_python(box, given, i, n)):
            expected[i + 8 * part] = stored(result)
    a = lp.asarray(host, device=device)
    kernel = lp.kernel(opt_level=level)(changes.function)
    kernel[8](a, np.array(stored(given), Box.dtype)[()], n)
    np.testing.assert_array_equal(a.numpy(), expected)


@lp.kernel
def twice(a: lp.Array[Box]):
    i = lp.global_id(0)
    a[i] = grown(grown(a[i], 3), 3)


def test_elements_are_stored_where_they_are() -> None:
    text = twice.inspect("ir")
    # One array for each member that changes, and none that copies of the others lie in.
    assert text.count("memref.alloca()") == 3
    assert "spirv.Variable" not in text


@lp.struct
class Row:
    v: lp.FixedArray[lp.i32, 4]


@lp.kernel
def exchanges(a: lp.Array[Row], n: lp.i32):
    i = lp.global_id(0)
    one, other = a[i], a[i + 1]
    for k in range(n):
        one.v[k % 4] += k
        if k % 2:
            one, other = other, one
    a[i] = one


@pytest.mark.device
def test_a_struct_of_such_arrays_alone_may_be_another_after_a_round(device: lp.Device) -> None:
    host = np.zeros(2, Row.dtype)
    host["v"] = [[1, 2, 3, 4], [50, 60, 70, 80]]
    a = lp.asarray(host, device=device)
    exchanges[1](a, 3)
    # The first struct gets 0 and 1, the second 2.
    np.testing.assert_array_equal(a.numpy()["v"][0], [50, 60, 72, 80])
