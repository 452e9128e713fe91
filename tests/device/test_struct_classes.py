"""What classes of structs bring along, on every device: members and methods of a base, and operators of their own."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Shape:
    x: lp.f32
    sides: lp.i32 = 4

    def area(self):
        return self.x * self.x

    def doubled(self):
        return 2.0 * self.area()


@lp.struct
class Box(Shape):
    height: lp.f32 = 2.5

    def area(self):
        return 6.0 * Shape.area(self)

    def volume(self):
        return Shape.area(self) * self.height


@lp.kernel
def inherits(boxes: lp.Array[Box], out: lp.Out[lp.f32]):
    box = Box(2.0, height=3.0)
    out[0] = box.volume()
    out[1] = box.doubled()  # which calls the area of a Box
    out[2] = box.sides + Box(1.0).height
    boxes[0].sides += 1
    boxes[1] = box


def test_members_and_methods_of_a_base(device):
    boxes = lp.asarray([Box(1.0), Box(1.0)], device=device)
    out = lp.zeros(3, device=device)
    inherits[1](boxes, out)
    assert out.numpy().tolist() == [12, 48, 6.5]
    assert boxes.numpy().tolist() == [(1, 5, 2.5), (2, 4, 3)]


@lp.struct
class Complex:
    re: lp.f32
    im: lp.f32 = 0.0

    def __sub__(self, other):
        return Complex(self.re - other.re, self.im - other.im)

    def __abs__(self):
        return lp.math.sqrt(self.re * self.re + self.im * self.im)

    def __len__(self):
        return 2

    def __eq__(self, other):
        return abs(self - other) < 0.5

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __le__(self, other):
        return abs(self) <= abs(other)

    def __invert__(self):
        return Complex(self.re, -self.im)

    def __pos__(self):
        return Complex(self.re + 1.0, self.im)

    def __repr__(self):
        return f"{self.re}+{self.im}i"


@lp.struct
class Tag:
    number: lp.i32


def known(value=None):
    if value is None:
        return -1.0
    return value.x


@lp.kernel
def compares(a: Complex, b: Complex, c: Complex, out: lp.Array[lp.i32]):
    out[0] = a == b
    out[1] = a == c
    out[2] = a != b
    out[3] = a != c
    out[4] = a < c
    out[5] = a > c
    out[6] = a >= c
    out[7] = a < b < c
    out[8] = a < c < b
    out[9] = b in (c, a)
    out[10] = (1, a) == (1, b)
    out[11] = Tag(3) in (Tag(2), Tag(3))
    out[12] = 1 if known() < 0 and known(lp.f32x2(4, 5)) == 4 else 0
    out[13] = a is None or Tag(1) is None


def test_comparisons_of_a_class(device):
    a, b, c = Complex(3, 4), Complex(3.1, 4), Complex(0, 9)
    out = lp.zeros(14, lp.i32, device=device)
    compares[1](a, b, c, out)
    assert out.numpy().tolist() == [1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0]


@lp.kernel
def applies(a: Complex, out: lp.Out[lp.f32]):
    out[0] = abs(a)
    out[1] = (~a).im
    out[2] = (+a).re
    out[3] = len(a)


def test_operators_of_one_operand(device):
    out = lp.zeros(4, device=device)
    applies[1](Complex(3, 4), out)
    assert out.numpy().tolist() == [5, -4, 4, 2]
