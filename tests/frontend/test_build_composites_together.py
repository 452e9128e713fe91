"""What vectors and structs cannot do together with atomics, group functions and the arrays that kernels make."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module


@lp.struct
class Pair:
    a: lp.f32
    b: lp.i32


@lp.kernel
def atomic_on_vectors(x: lp.Array[lp.i32x2]):
    lp.atomic.add(x, 0, 1)


@lp.kernel
def atomic_on_structs(x: lp.Array[Pair]):
    lp.atomic.add(x, 0, 1)


@lp.kernel
def atomic_on_shared_vectors(x: lp.Array[lp.i32]):
    table = lp.local.array(4, lp.u32x4)
    lp.atomic.or_(table, 0, x[0])


@lp.kernel
def atomic_at_a_vector(x: lp.Array[lp.i32, 2]):
    lp.atomic.add(x, lp.f32x2(0, 1), 1)


@lp.kernel
def atomic_of_a_vector(x: lp.Array[lp.i32]):
    lp.atomic.add(x, 0, lp.i32x2(0, 1))


@lp.kernel
def shape_is_a_vector(x: lp.Array[lp.i32]):
    table = lp.private.array(lp.i32x2(2, 2), lp.i32)
    x[0] = table[0, 1]


@lp.kernel
def broadcast_of_a_struct(x: lp.Array[Pair]):
    x[0] = lp.group.broadcast(x[0])


@lp.kernel
def vote_of_a_vector(x: lp.Array[lp.i32x2]):
    x[0].x = lp.sub_group.any(x[0] > 0)


ERRORS = {
    atomic_on_vectors: "works on numbers, found lp.i32x2 in 'x'",
    atomic_on_structs: "works on numbers, found Pair in 'x'",
    atomic_on_shared_vectors: "works on numbers, found lp.u32x4",
    atomic_at_a_vector: "must be an integer, found lp.f32x2",
    atomic_of_a_vector: "lp.i32x2",
    shape_is_a_vector: "is an integer or a tuple of them, found lp.i32x2",
    broadcast_of_a_struct: "takes numbers and vectors, found Pair",
    vote_of_a_vector: "found lp.boolx2",
}


@pytest.mark.parametrize("kernel", ERRORS, ids=lambda kernel: kernel.name)
def test_what_does_not_go_together_is_said(kernel):
    with pytest.raises(lp.CompileError) as caught:
        build_module([kernel])
    assert ERRORS[kernel] in str(caught.value)
    assert caught.value.location is not None
