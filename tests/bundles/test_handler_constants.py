"""Specialization constants of command groups: SYCL 2020's names and the Modules proposal's, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.submission import is_submitting

pytestmark = pytest.mark.device

A = lp.SpecializationId(lp.i32, 20)
B = lp.SpecializationId(lp.f32, 1.5)


@lp.kernel
def read(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] = lp.f32(A) + 1000.0 * B


@pytest.fixture
def out(device):
    return lp.zeros(1, device=device)


@pytest.fixture
def queue(device):
    return lp.Queue(device)


def invalid(match):
    return pytest.raises(lp.InvalidError, match=match)


@pytest.mark.behaviour("SC-23")
def test_a_placeholder_compares_as_its_value(queue):
    with queue.submit() as h:
        placeholder, other = h.set_spec_constant(A, 8), h.get_spec_constant(B)
        assert placeholder == 8 and placeholder != 9 and other == 1.5 and placeholder != other
        assert {placeholder: 1}[8] == 1
    assert lp.SpecConstant() != 8 and lp.SpecConstant() != placeholder


@pytest.mark.behaviour("SC-23")
def test_a_placeholder_computes_as_its_value(queue):
    """C++'s is converted wherever a value stands."""
    table = lp.SpecializationId(lp.FixedArray[lp.f32, 2, 2])
    with queue.submit() as h:
        a, b = h.set_spec_constant(A, 8), h.get_spec_constant(B)
        weights = h.set_spec_constant(table, [[1, 2], [3, 4]])
    assert (a + 1, 1 + a, a * b, 2.0 - b, a // 3, -a, a < 9, a >= 9) == (9, 9, 12.0, 0.5, 2, -8, True, False)
    assert np.asarray(weights).dtype == np.float32
    np.testing.assert_array_equal(weights, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(2 * weights, [[2, 4], [6, 8]])
    assert weights[1, 0] == 3 and weights[0][1] == 2
    np.testing.assert_array_equal(weights != 3, [[True, True], [False, True]])
    with pytest.raises(lp.InvalidError, match="stands for no constant"):
        lp.SpecConstant() + 1


@pytest.mark.behaviour("SC-23")
def test_get_gives_the_default_and_then_what_was_set(queue, out):
    with queue.submit() as h:
        assert h.get_specialization_constant(A) == 20
        h.set_specialization_constant(A, 3)
        assert h.get_specialization_constant(A) == 3
        assert h.get_specialization_constant(B) == 1.5
        h.parallel_for(1, read, out)
    assert out.numpy()[0] == 1503


@pytest.mark.behaviour("SC-25")
def test_the_last_value_counts_under_the_sycl_names(queue, out):
    with queue.submit() as h:
        h.set_specialization_constant(A, 1)
        h.parallel_for(1, read, out)
        h.set_specialization_constant(A, 2)
    assert out.numpy()[0] == 1502


@pytest.mark.behaviour("SC-24")
@pytest.mark.parametrize("first", ["set", "get"])
@pytest.mark.parametrize("second", ["set", "get"])
def test_a_second_call_under_the_older_names_is_invalid(queue, out, first, second):
    calls = {
        "set": lambda h: h.set_spec_constant(A, 4),
        "get": lambda h: h.get_spec_constant(A),
    }
    with lp.trace() as trace, invalid("expected one call .* found a second") as caught, queue.submit() as h:
        calls[first](h)
        h.get_spec_constant(B)  # another constant may be used
        h.parallel_for(1, read, out)
        calls[second](h)
    assert caught.value.errc is lp.Errc.INVALID
    assert trace.count("launch") == 0


@pytest.mark.behaviour("SC-23")
def test_a_placeholder_carries_the_value(queue, out):
    with queue.submit() as h:
        a, b = h.set_spec_constant(A, 7), h.get_spec_constant(B)
        assert (a.get(), b.get()) == (7, 1.5)
        assert (int(a), float(b), range(9)[a], bool(a)) == (7, 1.5, 7, True)
        assert isinstance(a, lp.SpecConstant) and "A" in repr(a)
        h.parallel_for(1, read, out)
    assert out.numpy()[0] == 1507


@pytest.mark.behaviour("SC-30")
def test_a_placeholder_made_without_a_group_has_no_value():
    with invalid("stands for no constant"):
        lp.SpecConstant().get()
    with invalid("stands for no constant"):
        int(lp.SpecConstant())


@pytest.mark.behaviour("SC-29")
def test_a_placeholder_in_a_kernel_has_the_value_of_the_launching_group(queue, out):
    with queue.submit() as h:
        kept = h.set_spec_constant(A, 7)

    @lp.kernel
    def captured(x: lp.Array[lp.f32]):
        x[0] = lp.f32(kept.get()) + lp.f32(kept) * 100.0

    found = []
    for value in (1, 2):
        with queue.submit() as h:
            h.set_spec_constant(A, value)
            h.parallel_for(1, captured, out)
        found.append(float(out.numpy()[0]))
    queue.parallel_for(1, captured, out)
    assert [*found, float(out.numpy()[0])] == [101, 202, 2020]


@lp.kernel
def by_value(x: lp.Array[lp.f32], n: lp.i32):
    x[0] = lp.f32(n)


def test_a_placeholder_as_an_argument_is_the_value_in_the_launching_group(queue, out):
    with queue.submit() as h:
        kept = h.set_spec_constant(A, 7)
        h.parallel_for(1, by_value, out, kept)
    assert out.numpy()[0] == 7
    with queue.submit() as h:
        h.set_arg("n", kept)
        h.parallel_for(1, by_value, out)
    assert out.numpy()[0] == 20


@pytest.mark.parametrize(
    "calls",
    [
        (lambda h: h.set_spec_constant(A, 1), lambda h: h.set_specialization_constant(A, 1)),
        (lambda h: h.get_spec_constant(A), lambda h: h.get_specialization_constant(A)),
        (lambda h: h.set_specialization_constant(A, 1), lambda h: h.get_spec_constant(A)),
        (lambda h: h.get_specialization_constant(A), lambda h: h.set_spec_constant(A, 1)),
    ],
)
def test_one_constant_under_both_names_is_invalid(queue, calls):
    with invalid("use one pair"), queue.submit() as h:
        calls[0](h)
        h.set_spec_constant(B, 2)
        calls[1](h)


@pytest.mark.behaviour("SC-31")
def test_groups_with_different_values_are_independent(queue):
    outs = [lp.zeros(1, device=queue.device) for _ in range(4)]
    for x, value in zip(outs, (5, 10, None, 5), strict=True):
        with queue.submit() as h:
            if value is not None:
                h.set_specialization_constant(A, value)
            h.parallel_for(1, read, x)
    assert [float(x.numpy()[0]) - 1500 for x in outs] == [5, 10, 20, 5]


@pytest.mark.behaviour("SC-28")
def test_a_value_makes_one_pipeline(queue, out):
    @lp.kernel
    def fresh(x: lp.Array[lp.f32]):
        x[0] = lp.f32(A)

    counts = []
    for value in (1, 1, 2, 1):
        with lp.trace() as trace, queue.submit() as h:
            h.set_specialization_constant(A, value)
            h.parallel_for(1, fresh, out)
        counts.append((trace.count("pipeline"), trace.count("compile") + trace.count("cache_hit")))
        assert out.numpy()[0] == value
    assert counts == [(1, 1), (0, 0), (1, 0), (0, 0)]


@pytest.mark.parametrize("name", ["set_specialization_constant", "set_spec_constant"])
@pytest.mark.parametrize("value", [2**31, 1.5, "x", None, [1]])
def test_a_misfit_raises_at_the_call_and_changes_nothing(queue, out, name, value):
    with queue.submit() as h:
        with pytest.raises(lp.KernelArgumentError, match="specialization constant 'A'"):
            getattr(h, name)(A, value)
        h.parallel_for(1, read, out)
    assert out.numpy()[0] == 1520


@pytest.mark.parametrize("wrong", ["A", 3, None, lp.i32])
def test_what_is_no_id_is_refused(queue, wrong):
    with queue.submit() as h:
        for call in (h.get_specialization_constant, h.get_spec_constant):
            with pytest.raises(lp.KernelArgumentError, match=r"takes an lp\.SpecializationId"):
                call(wrong)
        for call in (h.set_specialization_constant, h.set_spec_constant):
            with pytest.raises(lp.KernelArgumentError, match=r"takes an lp\.SpecializationId"):
                call(wrong, 1)


def test_a_group_of_this_thread_is_known(queue):
    assert not is_submitting()
    with queue.submit():
        assert is_submitting()
        with queue.submit():
            pass
        assert is_submitting()
    with pytest.raises(KeyError), queue.submit():
        raise KeyError
    assert not is_submitting()
