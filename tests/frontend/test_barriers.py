"""Barriers that not every work-item of a group reaches are refused where the code shows it."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.ir.aspects import Aspect

CASES = []


def wrong(function):
    CASES.append(function)
    return function


def synchronise(x, i):
    if i > 3:
        lp.barrier()


@wrong
def under_an_id(x: lp.Array[lp.i32]):
    if lp.local_id(0) < 3:
        lp.barrier()


@wrong
def after_an_early_return(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if i >= x.size:
        return
    lp.barrier()
    x[i] = 1


@wrong
def in_a_loop_of_different_length(x: lp.Array[lp.i32]):
    for _ in range(lp.local_id(0)):
        lp.barrier()


@wrong
def under_what_an_id_became(x: lp.Array[lp.i32]):
    n = 0
    for k in range(4):
        n += lp.local_id(0) * k
    while n > 4:
        n -= 1
        lp.group_barrier(lp.group)


@wrong
def under_an_element_of_its_own(x: lp.Array[lp.i32]):
    if x[lp.global_id(0)] > 0:
        lp.barrier()


@wrong
def under_an_atomic(x: lp.Array[lp.i32]):
    if lp.atomic.add(x, 0, 1) == 0:
        lp.barrier()


@wrong
def in_a_helper(x: lp.Array[lp.i32]):
    synchronise(x, lp.local_id(0))


@wrong
def under_a_scan(x: lp.Array[lp.i32]):
    if lp.group.inclusive_scan(1, "add") > 3:
        lp.barrier()


@wrong
def under_a_vote_of_the_sub_group(x: lp.Array[lp.i32]):
    if lp.sub_group.any(x[lp.global_id(0)] > 3):
        lp.barrier()


@pytest.mark.parametrize("function", CASES, ids=[c.__name__ for c in CASES])
def test_divergent_barrier_is_refused_at_the_barrier(function):
    with pytest.raises(lp.CompileError, match="not every work-item of the work-group reaches") as caught:
        build_module([lp.kernel(function)])
    assert caught.value.code == "LP2056"
    assert "barrier(" in str(caught.value).splitlines()[1]
    assert "this depends on which work-item runs" in str(caught.value)


def uniform(x: lp.Array[lp.i32], n: lp.i32, flag: lp.bool_):
    shared = lp.local.array(4, lp.i32)
    shared[lp.local_id(0)] = 1
    if flag:
        lp.barrier()
    for k in range(n):
        if lp.group_id(0) % 2 == k or shared[0] == k or x[lp.group_id(0)] == 2:
            lp.barrier()
        if lp.local_id(0) == k:
            x[k] = shared[k]
    synchronise(x, n)
    steps = n
    while steps > 0:
        steps //= 2
        if lp.local_id(0) < steps:
            shared[lp.local_id(0)] += shared[lp.local_id(0) + steps]
        lp.barrier()


def uniform_by_functions_of_the_group(x: lp.Array[lp.i32]):
    value = x[lp.global_id(0)]
    while lp.group.any(value > 3):
        lp.barrier()
        value -= 1
    if lp.group.broadcast(value, 1) == lp.group.reduce(value, "max"):
        lp.barrier()


@pytest.mark.parametrize("function", [uniform, uniform_by_functions_of_the_group])
@pytest.mark.parametrize("has_sub_groups", [False, True])
def test_barriers_that_all_reach_are_taken(function, has_sub_groups):
    optional = frozenset({Aspect.VK_SUBGROUP_ARITHMETIC} if has_sub_groups else ())
    assert "gpu.barrier" in str(build_module([lp.kernel(function)], optional_aspects=optional))
