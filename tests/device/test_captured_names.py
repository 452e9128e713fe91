"""Captured tuples whose items have names, and members of enumerations, on every device."""

from __future__ import annotations

import enum
from collections import namedtuple
from typing import Annotated, NamedTuple

import pytest

import lapilli as lp

pytestmark = pytest.mark.device


class Kind(enum.IntEnum):
    SLOW = 3
    FAST = 4


class Scale(enum.Enum):
    HALF = 0.5
    PAIR = (7, 8)


Point = namedtuple("Point", "x y")


class Settings(NamedTuple):
    origin: Point
    weight: float = 1.5


SETTINGS = Settings(Point(10, 20))


def moved(point, settings):
    return point.x + settings.weight, point[1] - settings.origin.y


@lp.kernel
def reads(out: lp.Out[lp.f32], n: lp.i32):
    x, y = moved(SETTINGS.origin, SETTINGS)
    out[0] = x + y
    out[1] = Kind.FAST.value * Kind.SLOW
    out[2] = Scale.HALF.value + Scale.PAIR.value[1]
    chosen = SETTINGS.origin if n > 0 else (1, 2)
    out[3] = chosen[0] + len(SETTINGS)
    out[4] = 1.0 if SETTINGS.origin == (10, 20) else 0.0
    origin = SETTINGS.origin
    if n > 0:
        origin = (n, n)
    out[5] = origin[1]


def test_items_are_read_by_name(device):
    out = lp.zeros(6, device=device)
    reads[1](out, 1)
    assert out.numpy().tolist() == [11.5, 12, 8.5, 12, 1, 1]
    reads[1](out, 0)
    assert out.numpy().tolist() == [11.5, 12, 8.5, 3, 1, 20]


def test_other_names_for_the_same_items_compile_again(device, monkeypatch):
    out = lp.zeros(6, device=device)
    reads[1](out, 0)
    swapped = namedtuple("Point", "y x")
    monkeypatch.setitem(globals(), "SETTINGS", Settings(swapped(10, 20)))
    reads[1](out, 0)
    assert out.numpy()[0] == 20 + 1.5 + 20 - 10


Metres = Annotated[lp.f32, "metres"]


@lp.kernel
def annotated(x: Metres, out: lp.Out[Metres]):
    total: Metres = 0
    for i in range(3):
        total += i  # an i32, were it not for the annotation
    out[0] = x + total / 2


def test_variables_of_annotated_types(device):
    out = lp.zeros(1, device=device)
    annotated[1](0.25, out)
    assert out.numpy()[0] == 1.75
