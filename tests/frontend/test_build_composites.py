"""Vectors and structs in kernel-level IR: what is loaded and stored, and the mistakes that kernels can make."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module


@lp.struct
class Particle:
    position: lp.f32x3
    mass: lp.f32


def ir(kernel) -> str:
    module = build_module([kernel])
    module.verify()
    return str(module)


@lp.kernel
def one_field(a: lp.Array[Particle]):
    a[3].mass += a[4].position.y


@lp.kernel
def whole_vector(a: lp.Array[lp.f32x4], b: lp.Array[lp.f32x3]):
    a[0] = a[1] * 2.0
    b[0] = b[1]


def test_only_the_field_is_loaded_and_stored() -> None:
    text = ir(one_field)
    assert (text.count("kernel.load_field"), text.count("kernel.store_field")) == (2, 1)
    assert "!spirv.struct<Particle, (!spirv.array<3 x f32, stride=4> [0], f32 [12])>" in text
    assert 'dtype = "{position: f32[3] @0, mass: f32 @12; 16}"' in text


def test_vectors_of_four_move_whole() -> None:
    text = ir(whole_vector)
    assert (text.count("memref.load"), text.count("memref.store")) == (1, 1)
    assert (text.count("kernel.load_field"), text.count("kernel.store_field")) == (3, 3)
    assert "memref<?xvector<4xf32>>" in text and "memref<?x!spirv.array<3 x f32, stride=4>>" in text


HEAD = "a: lp.Array[lp.f32x4], p: lp.Array[Particle], r: lp.In[Particle], w: lp.Out[lp.f32x3], s: lp.f32"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("v = lp.f32x3(1.0, 2.0)", "lp.f32x3 takes 3 components, found 2"),
        ("v = lp.f32x2(p[0])", "lp.f32x2 is made of numbers and vectors, found Particle"),
        ("v = a[0].q", "lp.f32x4 has no component 'q'"),
        ("v = a[0].xyzz + a[0].xy", "takes vectors of one size, found lp.f32x4 and lp.f32x2"),
        ("v = w[0]", "'w' is lp.Out[lp.f32x3], which is write-only"),
        ("v = a[0][4]", "index 4 is out of range"),
        ("v = a[0].xy.z", "lp.f32x2 has no component 'z'"),
        ("v = lp.f32x2(w=1.0)", "takes no keyword argument"),
        ("a[0].xx = lp.f32x2()", "'a[0].xx' names the component x twice"),
        ("v = a[0]\n    v.yxy = lp.f32x3()", "'v.yxy' names the component y twice"),
        ("v = a[0]\n    v.xy.x = 1.0", "a part of the swizzle 'v.xy' cannot be assigned"),
        ("v = a[0]\n    v.xy = 1.0", "the swizzle holds lp.f32x2, found float literal"),
        ("a[0] = 1.0", "'a' holds lp.f32x4, found float literal"),
        ("a[0] = a[0].xyz", "'a' holds lp.f32x4, found lp.f32x3"),
        ("r[0].mass = 1.0", "'r' is lp.In[Particle], which is read-only"),
        ("p[0].velocity = 1.0", "struct 'Particle' has no member 'velocity'"),
        ("p[0] = Particle(mass=a[0])", "'Particle.mass' holds lp.f32, found lp.f32x4"),
        ("p[0] = Particle(1.0)", "'Particle.position' holds lp.f32x3, found float literal"),
        ("p[0] = Particle(weight=1.0)", "struct 'Particle' has no member 'weight'"),
        ("v = p[0] + 1.0", "operator + takes numbers and vectors, found Particle"),
        ("if a[0] > 1.0:\n        pass", "a condition is a number or a bool, found lp.boolx4"),
        ("v = a[0] < a[1] < a[2]", "not chained"),
        ("v = lp.math.cross(a[0], a[1])", "lp.math.cross takes vectors of 3, found lp.f32x4"),
        ("v = lp.math.dot(a[0], 1.0)", "lp.math.dot takes vectors, found float literal"),
        ("v = a[0]\n    v = 1.0", "variable 'v' is lp.f32x4 in one place and float literal in another"),
        ("v = a[0] if s > 0.0 else a[0].xyz", "lp.f32x4 on one path and lp.f32x3 on the other"),
        ("v: lp.f32x3 = a[0]", "variable 'v' holds lp.f32x3, found lp.f32x4"),
        ("s.x = 1.0", "kernels cannot assign to an attribute"),
        ("x, y = p[0]", "expected a tuple of 2 values, found Particle"),
        ("v = lp.Vec[lp.f32, 7]()", "8 or 16 components"),
        ("v = lp.FixedArray[lp.f32, 2](1.0, 2.0, 3.0)", "has 2 elements, found 3"),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k({HEAD}):\n    {body}\n", namespace={"lp": lp, "Particle": Particle}
    )
    with pytest.raises(lp.CompileError) as caught:
        build_module([kernel])
    assert message in str(caught.value)
    assert caught.value.location is not None and caught.value.code
