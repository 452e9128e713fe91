"""What the interpreter finds wrong, one kernel each, with the whole message; and near misses that are right."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret


def place(kernel, text):
    """Returns FILE:LINE of the line of a kernel that contains `text`, and the line."""
    lines, first = inspect.getsourcelines(kernel.function)
    (number,) = [i for i, line in enumerate(lines) if text in line]
    return f"{__file__}:{first + number}", lines[number].rstrip("\n")


def trap_of(kernel, n, *args, **options):
    with pytest.raises(lp.KernelTrap) as caught:
        interpret(kernel, n, args, **options)
    return caught.value


def check(trap, kernel, text, part, code, message):
    """Compares a trap with what it must say; `part` is the expression in the line of `text` it points at."""
    where, line = place(kernel, text)
    column = line.index(part) + 1
    assert trap.code == code
    assert str(trap).split("\n")[0] == f"{where}:{column}: error: kernel '{kernel.name}', {message}"
    assert str(trap).split("\n")[1] == f"    {line}"
    assert (trap.location.file, trap.location.column) == (__file__, column)


def floats(n):
    return np.arange(n, dtype=np.float32)


# Indices


@lp.kernel
def reads_beyond(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = x[i + 1]


def test_an_index_beyond_an_array_is_reported():
    y = floats(8)
    trap = trap_of(reads_beyond, 8, floats(8), y)
    check(
        trap,
        reads_beyond,
        "x[i + 1]",
        "x[i + 1]",
        "LP4110",
        "work-item (7,) of work-group (0,): index 8 is out of range of array 'x', of length 8; expected 0 to 7",
    )
    interpret(reads_beyond, 7, (floats(8), y))
    assert y.tolist() == [1, 2, 3, 4, 5, 6, 7, 7]


@lp.kernel
def writes_before(y: lp.Array[lp.f32, 2]):
    y[lp.global_id(0), lp.global_id(1) - 1] = 1.0


def test_a_negative_index_is_reported_with_its_dimension():
    trap = trap_of(writes_before, (2, 3), np.zeros((2, 3), np.float32))
    check(
        trap,
        writes_before,
        "- 1] = 1.0",
        "y[",
        "LP4110",
        "work-item (0, 0) of work-group (0, 0): index -1 is out of range of dimension 1 of array 'y', of length "
        "3; expected 0 to 2",
    )


@lp.kernel
def reads_empty(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    y[lp.global_id(0)] = x[0]


def test_an_empty_array_has_no_index():
    trap = trap_of(reads_empty, 1, floats(0), floats(1))
    assert "index 0 is out of range of array 'x', of length 0; it is empty" in str(trap)


@lp.kernel(local_size=4)
def shared_beyond(y: lp.Array[lp.i32], k: lp.i32):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    tile[i + k] = i
    lp.barrier()
    y[lp.global_id(0)] = tile[i]


def test_an_index_into_shared_memory_is_not_clamped():
    y = np.zeros(4, np.int32)
    trap = trap_of(shared_beyond, 4, y, 1)
    check(
        trap,
        shared_beyond,
        "tile[i + k] = i",
        "tile[",
        "LP4110",
        "work-item (3,) of work-group (0,): index 4 is out of range of shared array 'tile', of length 4; "
        "expected 0 to 3",
    )
    interpret(shared_beyond, 4, (y, 0))
    assert y.tolist() == [0, 1, 2, 3]


TABLE = lp.SpecializationId(lp.FixedArray[lp.i32, 4], [10, 11, 12, 13])


@lp.kernel
def picks(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = TABLE[x[i]]


@lp.kernel
def picks_component(x: lp.In[lp.i32], v: lp.In[lp.f32x4], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    w = lp.private.array(1, lp.f32x4)
    w[0] = v[i]
    y[i] = w[0][x[i]]


def test_indices_into_values_are_checked():
    x = np.array([0, 3, 4], np.int32)
    trap = trap_of(picks, 3, x, np.zeros(3, np.int32))
    assert (
        "work-item (2,) of work-group (0,): index 4 is out of range of a fixed array in a value, of length 4"
        in str(trap)
    )
    trap = trap_of(picks_component, 3, x, np.zeros((3, 4), np.float32), floats(3))
    assert "index 4 is out of range of a vector in private array 'w', of length 4; expected 0 to 3" in str(
        trap
    )


@lp.kernel
def reads_a_vector_beyond(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    v = lp.f32x2(x[i], 1.0)
    y[i] = v[i]


@lp.kernel
def writes_a_vector_beyond(y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    v = lp.f32x4(1.0)
    v[i - 1] = 2.0
    y[i] = v.x


def test_an_index_of_a_vector_is_reported():
    """Vectors are their components, and an index is a choice of one: out of range it would choose the first."""
    trap = trap_of(reads_a_vector_beyond, 8, floats(8), floats(8))
    assert trap.code == "LP4110" and trap.work_item == (2,) and trap.location.file == __file__
    assert "index 2 is out of range of a vector, whose extent is 2" in str(trap)
    assert trap_of(writes_a_vector_beyond, 4, floats(4)).code == "LP4110"
    interpret(reads_a_vector_beyond, 2, (floats(2), floats(2)))


# Uninitialised memory


@lp.kernel(local_size=4)
def reads_unwritten(y: lp.Array[lp.i32], written: lp.i32):
    tile = lp.local.array((2, 4), lp.i32)
    i = lp.local_id(0)
    if i < written:
        tile[1, i] = i
    lp.barrier()
    y[lp.global_id(0)] = tile[1, 3 - i]


def test_a_read_of_unwritten_shared_memory_is_reported():
    y = np.zeros(8, np.int32)
    trap = trap_of(reads_unwritten, 8, y, 3)
    check(
        trap,
        reads_unwritten,
        "3 - i",
        "tile[",
        "LP4111",
        "work-item (0,) of work-group (0,): element [1, 3] of shared array 'tile' is read before anything was "
        "written to it",
    )
    interpret(reads_unwritten, 8, (y, 4))
    assert y.tolist() == [3, 2, 1, 0] * 2


@lp.kernel
def sums_private(y: lp.Array[lp.i32], n: lp.i32):
    own = lp.private.array(4, lp.i32)
    for k in range(n):
        own[k] = k
    y[lp.global_id(0)] = own[0] + own[3]


def test_a_read_of_an_unwritten_private_array_is_reported():
    y = np.zeros(2, np.int32)
    trap = trap_of(sums_private, 2, y, 3)
    assert trap.code == "LP4111"
    assert "element [3] of private array 'own' is read before anything was written to it" in str(trap)
    interpret(sums_private, 2, (y, 4))
    assert y.tolist() == [3, 3]


# Data races


@lp.kernel(local_size=4)
def misses_a_barrier(y: lp.Array[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    tile[i] = i
    y[lp.global_id(0)] = tile[3 - i]


@lp.kernel(local_size=4)
def has_the_barrier(y: lp.Array[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    for step in range(3):
        tile[i] = i + step
        lp.barrier()
        y[lp.global_id(0)] = tile[3 - i]
        lp.barrier()


def test_a_race_in_shared_memory_is_reported():
    y = np.zeros(8, np.int32)
    trap = trap_of(misses_a_barrier, 8, y)
    there, _ = place(misses_a_barrier, "tile[i] = i")
    check(
        trap,
        misses_a_barrier,
        "tile[3 - i]",
        "tile[",
        "LP4112",
        "work-item (0,) of work-group (0,): data race: element [3] of shared array 'tile' is read here, and written "
        f"by work-item (3,) at {there}; no barrier orders the two",
    )
    interpret(has_the_barrier, 8, (y,))
    assert y.tolist() == [5, 4, 3, 2] * 2


@lp.kernel(local_size=4)
def misses_the_second_barrier(y: lp.Array[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    i = lp.local_id(0)
    for step in range(2):
        tile[i] = i + step
        lp.barrier()
        y[lp.global_id(0)] = tile[3 - i]


def test_a_write_after_a_read_is_a_race_as_well():
    trap = trap_of(misses_the_second_barrier, 4, np.zeros(4, np.int32))
    assert "element [0] of shared array 'tile' is written here, and read by work-item (3,)" in str(trap)


@lp.kernel
def adds_to_one(y: lp.Array[lp.i32], x: lp.In[lp.i32]):
    y[0] += x[lp.global_id(0)]


@lp.kernel
def adds_atomically(y: lp.Array[lp.i32], x: lp.In[lp.i32]):
    lp.atomic.add(y, 0, x[lp.global_id(0)])


def test_an_addition_that_is_not_atomic_is_a_race():
    y, x = np.zeros(1, np.int32), np.ones(300, np.int32)
    trap = trap_of(adds_to_one, 300, y, x)
    assert trap.code == "LP4112"
    assert "data race: element [0] of array 'y' is written here, and read by work-item (" in str(trap)
    y[0] = 0
    interpret(adds_atomically, 300, (y, x))
    assert y[0] == 300


@lp.kernel(local_size=2)
def reads_the_neighbour_group(y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    y[i] = i
    lp.barrier()
    if i >= 2:
        y[i] = y[i - 2]


def test_barriers_do_not_order_work_groups():
    trap = trap_of(reads_the_neighbour_group, 4, np.zeros(4, np.int32))
    assert "element [0] of array 'y' is read here, and written by work-item (0,)" in str(trap)
    assert "nothing orders work-items of different work-groups" in str(trap)


@lp.kernel
def writes_the_same(y: lp.Array[lp.i32]):
    y[0] = 1


def test_two_writes_of_one_value_are_a_race():
    trap = trap_of(writes_the_same, 2, np.zeros(1, np.int32))
    assert "is written here, and written by work-item (0,) here too; no barrier orders the two" in str(trap)
    assert "where all write one value, lp.atomic.store says so" in str(trap)
    interpret(writes_the_same, 1, (np.zeros(1, np.int32),))


@lp.kernel
def mixes(y: lp.Array[lp.i32]):
    if lp.global_id(0) == 0:
        y[0] = 1
    else:
        lp.atomic.add(y, 0, 1)


def test_an_atomic_beside_a_plain_access_is_a_race():
    trap = trap_of(mixes, 2, np.zeros(1, np.int32))
    assert "is changed atomically here, and written by work-item (0,)" in str(trap)


@lp.kernel(local_size=4)
def last_group_sums(x: lp.In[lp.i32], part: lp.Array[lp.i32], count: lp.Array[lp.i32], out: lp.Array[lp.i32]):
    total = lp.group.reduce(x[lp.global_id(0)], "add")
    if lp.local_id(0) == 0:
        part[lp.group_id(0)] = total
        lp.mem_fence("device")
        before = lp.atomic.add(count, 0, 1, order="acq_rel")
        if before == lp.group_range(0) - 1:
            result = 0
            for group in range(lp.group_range(0)):
                result += part[group]
            out[0] = result


def test_fences_and_ordered_atomics_order_work_groups():
    x, part = np.arange(32, dtype=np.int32), np.zeros(8, np.int32)
    count, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    interpret(last_group_sums, 32, (x, part, count, out))
    assert (count[0], out[0]) == (8, 496)


@lp.kernel(local_size=8)
def trusts_the_sub_group(y: lp.Array[lp.i32]):
    tile = lp.local.array(8, lp.i32)
    i = lp.local_id(0)
    tile[i] = i
    lp.sub_group.barrier()
    y[lp.global_id(0)] = tile[i ^ 1]


def test_a_barrier_of_the_sub_group_orders_no_more_than_that():
    y = np.zeros(8, np.int32)
    interpret(trusts_the_sub_group, 8, (y,), sub_group_size=2)
    assert y.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    trap = trap_of(trusts_the_sub_group, 8, y, sub_group_size=1)
    assert trap.code == "LP4112"


def test_one_array_given_twice_is_one_memory():
    @lp.kernel
    def shifts(x: lp.Array[lp.i32], y: lp.Array[lp.i32]):
        i = lp.global_id(0)
        y[i] = x[i + 1]

    a = np.arange(5, dtype=np.int32)
    interpret(shifts, 4, (a.copy(), np.zeros(4, np.int32)))
    assert trap_of(shifts, 4, a, a).code == "LP4112"


# Barriers


@lp.kernel(local_size=4)
def hides_divergence(y: lp.Array[lp.i32], limit: lp.i32):
    own = lp.private.array(1, lp.i32)
    own[0] = lp.local_id(0)
    if own[0] < limit:
        lp.barrier()
    y[lp.global_id(0)] = 1


def test_a_barrier_that_some_do_not_reach_is_reported():
    y = np.zeros(8, np.int32)
    trap = trap_of(hides_divergence, 8, y, 3)
    check(
        trap,
        hides_divergence,
        "lp.barrier()",
        "lp.barrier()",
        "LP4113",
        "work-item (0,) of work-group (0,): not every work-item of the work-group reaches this barrier: (0,) does, "
        "(3,) does not; move it out of the condition or loop",
    )
    for everybody_or_nobody in (4, 0):
        interpret(hides_divergence, 8, (y, everybody_or_nobody))


@lp.kernel(local_size=4)
def loops_by_group(y: lp.Array[lp.i32]):
    for _ in range(lp.group_id(0)):
        lp.barrier()
    y[lp.global_id(0)] = lp.group_id(0)


def test_work_groups_may_reach_different_numbers_of_barriers():
    y = np.zeros(16, np.int32)
    interpret(loops_by_group, 16, (y,))
    assert y.tolist() == [i // 4 for i in range(16)]


# Loops


@lp.kernel
def counts(y: lp.Array[lp.i32], n: lp.i32):
    i = lp.global_id(0)
    while y[i] != n:
        y[i] += 1


def test_a_loop_without_end_is_reported():
    y = np.zeros(2, np.int32)
    interpret(counts, 2, (y, 99), step_limit=200)
    trap = trap_of(counts, 2, y, 50, step_limit=200)
    check(
        trap,
        counts,
        "while",
        "while",
        "LP4114",
        "work-item (0,) of work-group (0,): loops took more than 200 iterations; is this one "
        "endless? Raise step_limit= where it is not",
    )


def test_a_trap_in_a_helper_names_the_helpers_line():
    def third(x):
        return x[3]

    @lp.kernel
    def k(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        y[lp.global_id(0)] = third(x)

    trap = trap_of(k, 1, floats(3), floats(1))
    assert trap.location.line == inspect.getsourcelines(third)[1] + 1
    assert "kernel 'k', work-item (0,)" in str(trap)
