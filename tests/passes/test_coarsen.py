"""What the pass `coarsen` does and leaves alone; what the results are is tested on devices."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.call_graph import functions
from lapilli.ir.dialects.kernel import is_kernel
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.coarsen.coarsen import CoarsenPass, coarsened
from lapilli.passes.coarsen.item_indices import shares_quotient
from lapilli.passes.coarsen.pure_calls import pure_calls
from lapilli.passes.errors import PassError


def coarsen(kernel: KernelFunction) -> str:
    """Returns the module of a kernel after the pass."""
    (image,) = analyse_kernels([kernel], TargetEnv(lanes_per_invocation=4)).images
    CoarsenPass().apply(Context(), image.module)
    image.module.verify()
    return str(image.module)


def counts(text: str) -> tuple[int, int, int, int]:
    """Returns how many plain loads and stores and wide loads and stores there are."""
    names = ("memref.load", "memref.store", "kernel.load_wide", "kernel.store_wide")
    loads, stores, wide_loads, wide_stores = (text.count(name) for name in names)
    return loads, stores, wide_loads, wide_stores


def test_neighbouring_elements_move_together():
    @lp.kernel
    def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        y[i] = a * x[i] + y[i]

    text = coarsen(saxpy)
    assert "kernel.lanes = array<i32: 4>" in text
    assert "aligned_rows" not in text
    assert counts(text) == (0, 0, 2, 1)


def test_a_row_of_a_stencil_takes_one_vector_and_its_two_neighbours():
    @lp.kernel
    def blur(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = x[i - 1] + x[i] + x[i + 1]

    assert counts(coarsen(blur)) == (2, 0, 1, 1)


def test_a_matrix_product_shares_rows_and_columns():
    @lp.kernel
    def matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total

    text = coarsen(matmul)
    assert "kernel.lanes = array<i32: 4, 4>" in text
    assert "kernel.aligned_rows = array<i32: 1, 2>" in text
    assert counts(text) == (4, 0, 1, 4)


def test_what_a_block_has_in_common_is_loaded_once():
    @lp.kernel
    def blocks(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        y[i, j] = x[i // 4, j // 8] + x[i, (j + 4) // 8]

    @lp.kernel
    def apart(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        y[i, j] = x[i // 4, j // 6] + x[i, (j + 2) // 4]

    assert counts(coarsen(blocks)) == (2, 0, 0, 1)
    assert counts(coarsen(apart)) == (8, 0, 0, 1)


@pytest.mark.parametrize(
    ("operation", "is_shared"),
    [
        ("divui %i, %eight", True),
        ("divui %i, %six", False),
        ("floordivsi %i, %eight", True),
        ("divsi %i, %eight", False),  # towards zero: -1 / 8 and -8 / 8 differ
        ("shrui %i, %two", True),
        ("shrsi %i, %one", False),
        ("shrsi %before, %two", True),
        ("shrsi %odd, %two", False),
        ("divui %i, %zero", False),
    ],
)
def test_quotients_of_four_neighbours(operation: str, *, is_shared: bool):
    text = f"""func.func @k(%a: memref<?xindex>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %six = arith.constant 6 : index
      %eight = arith.constant 8 : index
      %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
      %before = arith.subi %i, %eight : index
      %odd = arith.addi %i, %six : index
      %q = arith.{operation} : index
      memref.store %q, %a[%i] : memref<?xindex>
      func.return
    }}"""
    found = [op for op in parse_module(text).module.walk() if op.name.startswith("arith.")][-1]
    assert shares_quotient(found, 4) is is_shared
    assert not shares_quotient(found, 16)


def test_functions_that_only_compute_are_called_for_each_work_item():
    @lp.kernel
    def powers(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = lp.math.exp(x[i]) + lp.math.exp(lp.f32(x.size))

    text = coarsen(powers)
    assert counts(text) == (0, 0, 1, 1)
    assert text.count("func.call @exp") == 5  # what all work-items compute alike is computed once


def test_functions_that_come_to_too_much_are_not_called_for_each_work_item():
    @lp.kernel
    def gammas(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        v = x[i]
        for _ in lp.static_range(8):
            v = lp.math.lgamma(v)
        y[i] = v

    assert counts(coarsen(gammas)) == (1, 1, 0, 0)


def test_functions_that_reach_memory_keep_a_kernel_as_it_is():
    @lp.kernel(opt_level=0)
    def reads(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        y[i] = _element(x, i)

    assert counts(coarsen(reads)) == (1, 1, 0, 0)


def _element(x, i):
    return x[i]


def test_loads_are_not_brought_forward_past_a_store():
    @lp.kernel
    def twice(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        y[i] = x[i] + 1.0
        y[i] = x[i] * 2.0

    assert counts(coarsen(twice)) == (0, 0, 2, 2)


def test_a_value_of_all_work_items_is_loaded_once():
    @lp.kernel
    def total(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        acc = 0.0
        for k in range(len(x)):
            acc += x[k] * lp.f32(lp.global_id(0))
        y[lp.global_id(0)] = acc

    assert counts(coarsen(total)) == (1, 0, 0, 1)


def test_branches_at_borders_become_selections():
    @lp.kernel
    def stencil(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        if i > 0 and j > 0 and j < x.shape[1] - 1:
            y[i, j] = x[i - 1, j] + x[i, j - 1] + x[i, j + 1]
        else:
            y[i, j] = x[i, j]

    text = coarsen(stencil)
    assert text.count("scf.if") == 1, "the test of the range"
    assert text.count("arith.select") == 4
    assert counts(text) == (2, 0, 2, 1)


def test_arrays_that_are_loaded_unasked_end_with_a_vector():
    @lp.kernel
    def following(x: lp.In[lp.f32], y: lp.Out[lp.f32], z: lp.In[lp.f32]):
        i = lp.global_id(0)
        total = z[i]
        for d in range(4):
            total += x[i + d] if i + d < x.size else lp.f32(0)
        y[i] = total

    text = coarsen(following)
    assert "kernel.aligned_rows = array<i32: 0>" in text
    assert counts(text) == (3, 0, 2, 1)


def test_short_loops_are_unrolled_so_that_their_loads_are_joined():
    @lp.kernel
    def blur(w: lp.In[lp.f32, 2], x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        total = 0.0
        if i > 0 and j > 0 and i < x.shape[0] - 1 and j < x.shape[1] - 1:
            for di in range(3):
                for dj in range(3):
                    total += w[di, dj] * x[i + di - 1, j + dj - 1]
        y[i, j] = total

    text = coarsen(blur)
    assert "scf.for" not in text
    assert counts(text) == (9 + 3 * 2, 0, 3, 1)


def test_what_a_work_item_needs_of_a_row_is_one_load():
    @lp.kernel
    def forces(bodies: lp.In[lp.f32, 2], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        x, y = bodies[i, 0], bodies[i, 1]
        total = 0.0
        for k in range(bodies.shape[0]):
            dx, dy = bodies[k, 0] - x, bodies[k, 1] - y
            total += bodies[k, 3] * (dx * dx + dy * dy)
        out[i] = total

    text = coarsen(forces)
    assert "kernel.aligned_rows = array<i32: 0>" in text
    assert counts(text) == (0, 0, 4 + 1, 1)


def test_a_row_is_loaded_again_behind_a_store():
    @lp.kernel
    def turn(p: lp.Array[lp.f32, 2], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        a = p[0, 0] + p[0, 1]
        p[i, 1] = a
        out[i] = p[0, 0] * p[0, 1] + p[0, 7]

    assert counts(coarsen(turn)) == (1, 4, 2, 1)


def _stores_elsewhere() -> KernelFunction:
    @lp.kernel
    def k(x: lp.In[lp.f32], y: lp.Array[lp.f32], z: lp.Array[lp.f32]):
        i = lp.global_id(0)
        if i > 0:
            y[i] = x[i]
        else:
            z[i] = x[i]

    return k


def _loads_behind_a_store() -> KernelFunction:
    @lp.kernel
    def k(x: lp.In[lp.f32], y: lp.Array[lp.f32], z: lp.Array[lp.f32]):
        i = lp.global_id(0)
        if i > 0:
            y[i] = x[i]
            z[i] = y[i - 1]
        else:
            y[i] = x[i]
            z[i] = 0.0

    return k


def _loops_over_data() -> KernelFunction:
    @lp.kernel
    def k(n: lp.i32, x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        total = 0.0
        if i > 0:
            for j in range(n):
                total += x[j]
        y[i] = total

    return k


@pytest.mark.parametrize("make", [_stores_elsewhere, _loads_behind_a_store, _loops_over_data])
def test_branches_that_may_not_run_unasked_stay(make: object):
    assert callable(make)
    text = coarsen(make())
    assert "kernel.lanes" in text and text.count("scf.if") > 1


def _local_id() -> KernelFunction:
    @lp.kernel
    def k(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] += lp.f32(lp.local_id(0))

    return k


def _barrier() -> KernelFunction:
    @lp.kernel(local_size=64)
    def k(x: lp.Array[lp.f32]):
        shared = lp.local.array(64, lp.f32)
        shared[lp.local_id(0)] = x[lp.global_id(0)]
        lp.barrier()
        x[lp.global_id(0)] = shared[63 - lp.local_id(0)]

    return k


def _atomic() -> KernelFunction:
    @lp.kernel
    def k(x: lp.Array[lp.i32]):
        lp.atomic.add(x, 0, lp.global_id(0))

    return k


def _own_loop() -> KernelFunction:
    @lp.kernel
    def k(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        for j in range(i):
            y[i] += x[j]

    return k


def _scattered() -> KernelFunction:
    @lp.kernel
    def k(x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        y[i * 3] = x[i * 5]

    return k


@pytest.mark.parametrize("make", [_local_id, _barrier, _atomic, _own_loop, _scattered])
def test_kernels_that_cannot_gain_or_would_see_it_stay_as_they_are(make: object):
    assert callable(make)
    assert "kernel.lanes" not in coarsen(make())


def test_another_number_of_lanes_is_refused():
    with pytest.raises(PassError, match="lanes is 4"):
        CoarsenPass(lanes=3).apply(Context(), ModuleOp([]))


def test_branches_that_work_items_disagree_about_may_be_left_out():
    @lp.kernel
    def border(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        i = lp.global_id(0)
        if i > 0:
            y[i] = x[i]

    (image,) = analyse_kernels([border], TargetEnv()).images
    (kernel,) = [op for op in image.module.walk() if op.name == "func.func"]
    assert isinstance(kernel, func.FuncOp)
    assert coarsened(kernel, 4) is not None
    assert coarsened(kernel, 4, splits_branches=False) is None


def _own_steps(v, n):
    for _ in range(n):
        v = v * 3 + 1
    return v


@lp.kernel
def loop_in_a_branch(n: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    if v > 3:
        for k in range(n):
            v = v * 3 + x[k]
    y[i] = v


@lp.kernel
def loop_that_stores_in_a_branch(n: lp.i32, x: lp.In[lp.i32], y: lp.Array[lp.i32]):
    i = lp.global_id(0)
    if x[i] > 3:
        for k in range(n):
            y[i] = x[i] - k


@lp.kernel
def loop_that_divides_in_a_branch(n: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    if v > 3:
        for k in range(n):
            v = v * 3 + lp.bitcast(lp.u32(k) // lp.u32(v), lp.i32)
    y[i] = v


@lp.kernel
def loop_in_both_arms(n: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    if v > 3:
        v = _own_steps(v, n)
    else:
        v = _own_steps(v + 1, n)
    y[i] = v


@pytest.mark.parametrize(
    ("kernel", "loops"),
    [
        (loop_in_a_branch, 1),
        (loop_that_stores_in_a_branch, 5),  # for all, and for each
        (loop_that_divides_in_a_branch, 5),
        (loop_in_both_arms, 9),
    ],
)
def test_loops_in_branches(kernel: KernelFunction, loops: int):
    (image,) = analyse_kernels([kernel], TargetEnv(lanes_per_invocation=4)).images
    (function,) = [op for op in functions(image.module) if is_kernel(op)]
    made = coarsened(function, 4, splits_branches=True)
    assert (str(made).count("scf.for") if made is not None else loops) == loops
    unsplit = coarsened(function, 4, splits_branches=False)
    assert (unsplit is not None) is (loops == 1)


def test_a_branch_that_all_take_where_one_does():
    text = coarsen(loop_in_a_branch)
    assert text.count("scf.if") == 2  # and the one for work-items beyond the range
    assert text.count("arith.ori") == 3
    assert text.count("arith.select") == 4


def steps(v, n):
    for _ in range(n):
        v = v * 3 + 1
    return v


def known_steps(v):
    for _ in range(400):
        v = v * 3 + (v >> 5)
    return v


@lp.kernel
def calls_loops(n: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = steps(x[i], n)


@lp.kernel
def calls_known_loops(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = known_steps(x[i])


@lp.kernel
def known_loops_in_a_branch(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    if i > 0:
        y[i] = known_steps(x[i])


@pytest.mark.parametrize(
    ("kernel", "cap", "is_coarsened"),
    [
        (calls_loops, None, True),
        (calls_loops, 65535, False),
        (calls_known_loops, 65535, True),
        (calls_known_loops, 1000, False),  # four times 401
        (known_loops_in_a_branch, 65535, True),
        (known_loops_in_a_branch, 1000, False),
    ],
)
def test_loops_that_run_once_for_each_work_item_stay_below_the_cap(
    kernel: KernelFunction, cap: int | None, *, is_coarsened: bool
):
    disabled = () if kernel is known_loops_in_a_branch else ("inline",)
    env = TargetEnv(lanes_per_invocation=4, loop_iteration_cap=cap, disabled_passes=disabled)
    (image,) = analyse_kernels([kernel], env).images
    (function,) = [op for op in functions(image.module) if is_kernel(op)]
    assert (coarsened(function, 4, loop_cap=cap) is not None) is is_coarsened


def test_functions_that_call_the_next_one_twice_are_measured_once_each():
    links = [f"def f{k + 1}(v):\n    return f{k}(v) + f{k}(v + 1.0)\n" for k in range(60)]
    text = f"import lapilli as lp\ndef f0(v):\n    return v * v\n{''.join(links)}" + (
        "@lp.kernel\ndef k(x: lp.In[lp.f32], y: lp.Out[lp.f32]):\n    i = lp.global_id(0)\n    y[i] = f60(x[i])\n"
    )
    (image,) = analyse_kernels([lp.kernel_from_source(text)], TargetEnv(disabled_passes=("inline",))).images
    (kernel,) = [op for op in functions(image.module) if is_kernel(op)]
    assert pure_calls(kernel)["f60"].operations > 1 << 60
