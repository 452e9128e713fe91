"""Structs in kernels, in arrays and as arguments, on every device, against NumPy records."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

N = 6


@lp.struct
class Material:
    colour: lp.f32x3
    shine: lp.f32 = 0.5


@lp.struct
class Body:
    mass: lp.f32
    position: lp.f32x3
    material: Material
    tag: lp.u32 = 7
    weights: lp.FixedArray[lp.f32, 2, 2]


@lp.struct(align=32)
class Wide:
    a: lp.i32
    b: lp.Aligned[lp.f32x2, 16]


def bodies() -> np.ndarray:
    rng = np.random.default_rng(5)
    host = np.zeros(N, Body.dtype)
    host["mass"], host["position"] = rng.normal(size=N), rng.normal(size=(N, 3))
    host["material"]["colour"], host["weights"] = rng.normal(size=(N, 3)), rng.normal(size=(N, 2, 2))
    host["tag"] = np.arange(N)
    return host


def moved(body: Body, step):
    body.position += step
    body.material.colour.y = 2.0
    return body


@lp.kernel
def update(a: lp.Array[Body], by: Body, scale: lp.FixedArray[lp.f32, 2]):
    i = lp.global_id(0)
    body = moved(a[i], by.position)
    body.weights[i % 2, 1] = by.weights[1, i % 2] * scale[i % 2]
    for j in range(2):
        body.weights[j, 0] += scale[j]
    a[i] = body


def test_fields_of_locals_arguments_and_elements(device):
    host = bodies()
    array = lp.asarray(host, device=device)
    by = Body(1.0, (1, 2, 3), weights=[[1, 2], [3, 4]])
    update[N](array, by, [10, 100])
    host["position"] += np.float32([1, 2, 3])
    host["material"]["colour"][:, 1] = 2
    for i in range(N):
        host["weights"][i, i % 2, 1] = np.float32([3, 4])[i % 2] * np.float32([10, 100])[i % 2]
    host["weights"][:, :, 0] += np.float32([10, 100])
    np.testing.assert_array_equal(array.numpy(), host)


@lp.kernel
def touch(a: lp.Array[Body], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    copy = a[i]
    a[i].mass = 4.0
    a[i].tag += lp.u32(i)
    a[i].position[i % 3] *= 2.0
    a[i].weights[i % 2, 0] = 8.0
    a[i].material.shine -= 1.0
    out[i] = copy.mass + a[i].mass


def test_storing_a_field_leaves_the_rest(device):
    host = bodies()
    array, out = lp.asarray(host, device=device), lp.zeros(N, device=device)
    touch[N](array, out)
    np.testing.assert_array_equal(out.numpy(), host["mass"] + np.float32(4))
    host["mass"] = 4
    host["tag"] += np.arange(N, dtype=np.uint32)
    for i in range(N):
        host["position"][i, i % 3] *= 2
        host["weights"][i, i % 2, 0] = 8
    host["material"]["shine"] -= 1
    np.testing.assert_array_equal(array.numpy(), host)


@lp.struct
class Padded:
    """Ends behind its last member, as the alignment of a struct in it asks for."""

    wide: Wide
    last: lp.f32


@lp.struct
class Outer:
    padded: Padded
    number: lp.i32


@lp.kernel
def number(a: lp.Array[Padded], b: lp.Array[Outer]):
    i = lp.global_id(0)
    a[i].last = 1.0 + i
    a[i].wide.b.y = 2.0 + i
    b[i].number = i
    b[i].padded.last = 3.0 + i


def test_padding_for_the_alignment_of_a_member(device):
    a, b = lp.zeros(3, Padded, device=device), lp.zeros(3, Outer, device=device)
    number[3](a, b)
    np.testing.assert_array_equal(a.numpy()["last"], [1, 2, 3])
    np.testing.assert_array_equal(a.numpy()["wide"]["b"], [[0, 2], [0, 3], [0, 4]])
    np.testing.assert_array_equal(b.numpy()["number"], range(3))
    np.testing.assert_array_equal(b.numpy()["padded"]["last"], [3, 4, 5])


@lp.kernel
def choose(out: lp.Out[Material], n: lp.i32):
    i = lp.global_id(0)
    best = Material(lp.f32x3(1.0, 2.0, 3.0))
    for j in range(n):
        if j == i:
            best = Material(shine=lp.f32(j))
        elif j > 3:
            best.colour[0] += 1.0
    out[i] = best


def test_structs_cross_control_flow_and_have_defaults(device):
    out = lp.zeros(4, Material, device=device)
    choose[4](out, 5)
    host = out.numpy()
    np.testing.assert_array_equal(host["shine"], [0, 1, 2, 3])
    np.testing.assert_array_equal(host["colour"], [[1, 0, 0]] * 4)


@lp.kernel
def rows(out: lp.Out[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    table = lp.FixedArray[lp.f32, 3](1.0, 2.0, 3.0)
    other = lp.FixedArray[lp.f32, 3](5)
    for j in range(n):
        table[(i + j) % 3] += other[j % 3]
        if j == 2:
            table, other = other, table
    out[i] = table[0] * 100.0 + table[1] * 10.0 + table[2]


def test_fixed_arrays_are_values(device):
    out = lp.zeros(4, device=device)
    rows[4](out, 4)
    expected = []
    for i in range(4):
        table, other = [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]
        for j in range(4):
            table[(i + j) % 3] += other[j % 3]
            if j == 2:
                table, other = other, table
        expected.append(table[0] * 100 + table[1] * 10 + table[2])
    np.testing.assert_array_equal(out.numpy(), np.float32(expected))


@lp.kernel
def wide(a: lp.Array[Wide]):
    i = lp.global_id(0)
    a[i] = Wide(a[i].a + 1, a[i].b.yx)


def test_alignment(device):
    assert (Wide.dtype.itemsize, Wide.dtype.fields["b"][1]) == (32, 16)
    host = np.zeros(3, Wide.dtype)
    host["a"], host["b"] = [1, 2, 3], [[1, 2], [3, 4], [5, 6]]
    array = lp.asarray(host, device=device)
    wide[3](array)
    found = array.numpy()
    np.testing.assert_array_equal(found["a"], [2, 3, 4])
    np.testing.assert_array_equal(found["b"], [[2, 1], [4, 3], [6, 5]])


@lp.struct
class Mixed:
    flag: lp.bool_
    small: lp.i16
    big: lp.f64
    flags: lp.boolx2


@lp.kernel
def mixed(a: lp.Array[Mixed], v: Mixed):
    i = lp.global_id(0)
    a[i] = Mixed(not a[i].flag, a[i].small + v.small, a[i].big * v.big, a[i].flags.yx)


def test_members_of_every_size(device):
    host = np.zeros(2, Mixed.dtype)
    host["flag"], host["small"], host["big"], host["flags"] = (
        [True, False],
        [-3, 4],
        [1.5, 2.5],
        [[0, 1], [1, 1]],
    )
    array = lp.asarray(host, device=device)
    try:
        mixed[2](array, Mixed(True, 5, 3.0))
    except lp.KernelNotSupportedError as error:
        assert "swiftshader" in device.selector, error
        return
    found = array.numpy()
    assert found["flag"].tolist() == [False, True] and found["small"].tolist() == [2, 9]
    assert found["big"].tolist() == [4.5, 7.5] and found["flags"].tolist() == [[True, False], [True, True]]


def test_host_side(device):
    array = lp.full(2, Material((1, 2, 3)), Material, device=device)
    assert array.numpy()["colour"][1].tolist() == [1, 2, 3] and array.numpy()["shine"].tolist() == [0.5, 0.5]
    same = lp.empty(2, Material.dtype, device=device)
    assert same.spelling == array.spelling
    with pytest.raises(lp.KernelArgumentError, match=r"argument 'v' .* expected an instance"):
        mixed[2](lp.zeros(2, Mixed, device=device), 3)


@lp.struct
class Table:
    entries: lp.FixedArray[lp.f32, 8, 8]
    column: lp.i32


@lp.kernel
def look_up(out: lp.Out[lp.f32], table: Table):
    i = lp.global_id(0)
    out[i] = table.entries[i, table.column]


def test_arguments_larger_than_push_constants(device):
    entries = np.arange(64).reshape(8, 8)
    out = lp.zeros(8, device=device)
    look_up[8](out, Table(entries, 3))
    np.testing.assert_array_equal(out.numpy(), entries[:, 3])


@lp.struct
class Part:
    value: lp.f32
    grid: lp.FixedArray[lp.i32, 2, 2]
    place: lp.f32x3


@lp.struct
class Whole:
    count: lp.i32 = 3
    part: Part
    weights: lp.FixedArray[lp.f32, 4]


@lp.kernel
def compares(out: lp.Out[lp.i32, 2], wholes: lp.Array[Whole]):
    i = lp.global_id(0)
    a = Whole(count=i, part=Part(value=i + 0.5))
    b = a
    out[i, 0] = a == b
    b.part.grid[1, 1] = i
    out[i, 1] = a == b
    out[i, 2] = Whole() == Whole(count=3)
    out[i, 3] = Whole() != Whole(count=4)
    b = a
    b.part.place.z = 1.0
    out[i, 4] = a != b and a.weights[0] == b.weights[0]
    b = a
    b.weights[i] = lp.math.nan
    out[i, 5] = b == b
    out[i, 6] = 1 if (a.part, 2) == (b.part, 2) else 0
    wholes[i] = a
    out[i, 7] = wholes[i] == a and wholes[i].part == a.part


def test_structs_are_compared_by_their_members(device):
    out = lp.zeros((4, 8), lp.i32, device=device)
    compares[4](out, lp.asarray(np.zeros(4, Whole.dtype), device=device))
    assert out.numpy().tolist() == [[1, i == 0, 1, 1, 1, 0, 1, 1] for i in range(4)]


@lp.struct
class Complex:
    re: lp.f32
    im: lp.f32

    def norm2(self) -> lp.f32:
        return self.re * self.re + self.im * self.im

    def scaled(self, by, *, bias=0.0):
        return Complex(self.re * by + bias, self.im * by + bias)

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return self + -other

    def __mul__(self, by):
        return self.scaled(by)

    def __rmul__(self, by):
        return self * by

    def __neg__(self):
        return Complex(-self.re, -self.im)

    def grow(self):
        self.re += 1.0

    @staticmethod
    def one():
        return Complex(1.0, 0.0)


@lp.struct
class Named:
    name: lp.i32
    value: Complex

    def sum(self):
        return self.value.norm2() + self.name


@lp.kernel
def with_methods(a: lp.Array[Complex], named: lp.In[Named], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = a[i].norm2() + 10 * named[i].sum() + 100 * named[i].value.norm2()
    total = Complex.one()
    for _ in range(3):
        total += a[i].scaled(2.0, bias=1.0)
    a[i] = 2.0 * total - a[i] * 0.5


def test_methods_and_operators(device):
    host = np.random.default_rng(3).random((5, 2), np.float32)
    a = lp.asarray([Complex(*row) for row in host], device=device)
    named = lp.asarray([Named(i, Complex(*row)) for i, row in enumerate(host)], Named, device=device)
    out = lp.empty(5, device=device)
    with_methods[5](a, named, out)
    np.testing.assert_allclose(out.numpy(), 111 * (host**2).sum(1) + 10 * np.arange(5), rtol=1e-5)
    expected = 2 * ([1, 0] + 3 * (2 * host + 1)) - host / 2
    np.testing.assert_allclose(a.numpy().view(np.float32).reshape(5, 2), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a[0].grow()", "stores into 'self', a copy"),
        ("p = a[0] + 1.0", "has no attribute 're'"),
        ("p = a[0] / 2.0", "operator / takes numbers and vectors, found Complex"),
        ("x = a[0].norm2(1)", "'norm2' takes 0 positional arguments, found 1"),
        ("x = a[0].norm()", "struct 'Complex' has no member 'norm'"),
    ],
)
def test_wrong_uses_of_methods(text, said):
    source = f"import lapilli as lp\n@lp.kernel\ndef k(a: lp.Array[Complex]):\n    {text}\n"
    kernel = lp.kernel_from_source(source, namespace={"Complex": Complex})
    with pytest.raises(lp.CompileError) as caught:
        kernel.inspect("ir")
    assert said in str(caught.value)


def test_a_method_that_changes_is_compiled_anew(device, monkeypatch):
    array = lp.asarray([Named(2, Complex(1.0, 1.0))], device=device)

    @lp.kernel
    def sums(a: lp.In[Named], out: lp.Out[lp.f32]):
        out[0] = a[0].sum()

    out = lp.empty(1, device=device)
    sums[1](array, out)
    assert out.numpy()[0] == 4
    monkeypatch.setattr(Named, "sum", _halved)
    sums[1](array, out)
    assert out.numpy()[0] == 1


def _halved(self):
    return self.name / 2


def test_arrays_of_instances(device):
    body = Body(1.0, (1, 2, 3), Material((4, 5, 6)), weights=((1, 2), (3, 4)))
    array = lp.asarray([[body, Body(2)]], device=device)
    assert array.shape == (1, 2)
    expected = np.zeros(2, Body.dtype)
    expected[0] = (1, (1, 2, 3), ((4, 5, 6), 0.5), 7, ((1, 2), (3, 4)))
    expected[1]["mass"], expected[1]["material"]["shine"], expected[1]["tag"] = 2, 0.5, 7
    np.testing.assert_array_equal(array.numpy()[0], expected)
    for wrong in ([body, 3], [body, Material()], [object()]):
        with pytest.raises(lp.InvalidError):
            lp.asarray(wrong, Body, device=device)
        with pytest.raises(lp.InvalidError):
            lp.asarray(wrong, device=device)
