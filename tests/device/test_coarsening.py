"""Coarsened kernels give what plain ones give, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.kernel import KernelFunction
from lapilli.vk_runtime import coarsening as tables
from lapilli.vk_runtime import launch_plan
from lapilli.vk_runtime.coarse_record import CoarseRecord
from lapilli.vk_runtime.coarsening import Coarsening
from lapilli.vk_runtime.physical_device import DeviceLimits

pytestmark = pytest.mark.native_only("the interpreter runs each work-item by itself")

ALWAYS = Coarsening(lanes=4, least_with_loops=1, least_without_loops=1)
NEVER = Coarsening()


@pytest.fixture
def coarsening(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Coarsening], None]]:
    """Sets when launches on the device are coarsened; with the same work-groups on all devices, because the smallest
    range that is cut depends on them."""
    chosen = launch_plan.default_local_size

    def choose(range_: tuple[int, ...], limits: DeviceLimits) -> tuple[int, ...]:
        return chosen(range_, replace(limits, busy_work_groups=0))

    monkeypatch.setattr(launch_plan, "default_local_size", choose)

    def use(choice: Coarsening) -> None:
        monkeypatch.setitem(tables.COARSENING, device.physical.driver_id, choice)

    yield use


def was_coarsened(kernel: KernelFunction) -> bool:
    """Whether some launch of the kernel has several work-items in an invocation."""
    records = [prepared.record for prepared in kernel.records.values()]
    return any(isinstance(record, CoarseRecord) or bool(record.kernel.lanes) for record in records)


def both(
    kernel: Callable[[], KernelFunction],
    use: Callable[[Coarsening], None],
    launch: Callable[[KernelFunction], list[np.ndarray]],
    *,
    expects: bool = True,
) -> None:
    """Runs a fresh kernel plain and coarsened and compares all that it wrote."""
    use(NEVER)
    plain = launch(kernel())
    use(ALWAYS)
    coarse = kernel()
    results = launch(coarse)
    assert was_coarsened(coarse) is expects
    for expected, actual in zip(plain, results, strict=True):
        assert np.array_equal(expected, actual, equal_nan=True)


def saxpy() -> KernelFunction:
    @lp.kernel
    def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
        i = lp.global_id(0)
        y[i] = a * x[i] + y[i]

    return saxpy


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 31, 64, 1000, 1003, 1027, 4096, 5001, 5002, 5003])
def test_saxpy_of_any_size(device: lp.Device, coarsening: Callable[[Coarsening], None], count: int):
    rng = np.random.default_rng(count)
    x, y = rng.random((2, count + 3), dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        a, b = lp.asarray(x, device=device), lp.asarray(y, device=device)
        kernel[count](3.5, a, b)
        return [b.numpy()]

    both(saxpy, coarsening, launch, expects=count % 4 == 0 or count > 1024)


def test_one_array_given_twice(device: lp.Device, coarsening: Callable[[Coarsening], None]):
    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        a = lp.asarray(np.arange(64, dtype=np.float32), device=device)
        kernel[64](2.0, a, a)
        return [a.numpy()]

    both(saxpy, coarsening, launch)


def stencil() -> KernelFunction:
    @lp.kernel
    def stencil(x: lp.In[lp.f32, 2], y: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
            y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
        else:
            y[i, j] = x[i, j]

    return stencil


@pytest.mark.parametrize("shape", [(5, 8), (16, 16), (7, 12), (3, 4)])
@pytest.mark.parametrize("extra", [0, 1, 4])
def test_stencil_with_rows_of_any_length(
    device: lp.Device, coarsening: Callable[[Coarsening], None], shape: tuple[int, int], extra: int
):
    source = np.random.default_rng(1).random((shape[0], shape[1] + extra), dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros(source.shape, device=device)
        kernel[shape](lp.asarray(source, device=device), y)
        return [y.numpy()]

    both(stencil, coarsening, launch)


@pytest.mark.parametrize("extra", range(6))
def test_elements_behind_an_end_in_the_middle_of_a_vector(
    device: lp.Device, coarsening: Callable[[Coarsening], None], extra: int
):
    def following() -> KernelFunction:
        @lp.kernel
        def following(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
            i = lp.global_id(0)
            total = x[i]
            for d in range(1, 5):
                total += x[i + d] if i + d < x.size else lp.f32(0)
            y[i] = total

        return following

    source = np.random.default_rng(extra).random(64 + extra, dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros(64, device=device)
        kernel[64](lp.asarray(source, device=device), y)
        return [y.numpy()]

    both(following, coarsening, launch)


def test_rows_that_fit_after_rows_that_do_not(device: lp.Device, coarsening: Callable[[Coarsening], None]):
    coarsening(ALWAYS)
    kernel = stencil()
    for width in (8, 9, 8, 12, 10):
        source = np.random.default_rng(width).random((6, width), dtype=np.float32)
        y = lp.zeros(source.shape, device=device)
        kernel[(6, 8)](lp.asarray(source, device=device), y)
        expected = source.copy()
        inner = (
            source[1:-1, 1:-1] + source[:-2, 1:-1] + source[2:, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:]
        )
        expected[1:-1, 1:-1] = np.float32(0.2) * inner
        assert np.allclose(y.numpy()[:, :8], expected[:, :8], rtol=1e-6)


def matmul() -> KernelFunction:
    @lp.kernel
    def matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total

    return matmul


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [(8, 5, 12), (4, 16, 4), (6, 3, 8), (8, 4, 6), (5, 7, 9), (70, 3, 64), (33, 5, 516), (64, 3, 1030)],
)
def test_matrix_product(
    device: lp.Device, coarsening: Callable[[Coarsening], None], rows: int, inner: int, columns: int
):
    rng = np.random.default_rng(rows)
    a, b = rng.random((rows, inner), dtype=np.float32), rng.random((inner, columns), dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        c = lp.zeros((rows, columns), device=device)
        kernel[(rows, columns)](lp.asarray(a, device=device), lp.asarray(b, device=device), c)
        assert np.allclose(c.numpy(), a @ b, rtol=1e-5)
        return [c.numpy()]

    is_whole = rows % 4 == 0 and columns % 4 == 0
    both(matmul, coarsening, launch, expects=is_whole or rows * columns > 4000)


@pytest.mark.parametrize("shape", [(3, 1030), (37, 1027), (259, 513), (1031, 2), (5, 6, 1029), (2, 1029, 8)])
def test_what_is_left_over_of_a_range_is_done_too_and_nothing_else(
    device: lp.Device, coarsening: Callable[[Coarsening], None], shape: tuple[int, ...]
):
    """Arrays are larger than the range, so that work-items beyond it would be seen."""

    def make() -> KernelFunction:
        if len(shape) == 2:

            @lp.kernel
            def mark(x: lp.In[lp.i32, 2], y: lp.Array[lp.i32, 2]):
                i, j = lp.global_id(0), lp.global_id(1)
                y[i, j] += x[i, j] * lp.global_range(1) + i

            return mark

        @lp.kernel
        def mark3(x: lp.In[lp.i32, 3], y: lp.Array[lp.i32, 3]):
            i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
            y[i, j, k] += x[i, j, k] * lp.global_range(2) + i - j

        return mark3

    extents = tuple((n + 4) // 4 * 4 for n in shape)
    x = np.random.default_rng(5).integers(-1000, 1000, extents).astype(np.int32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.full(extents, 7, dtype=lp.i32, device=device)
        kernel[shape](lp.asarray(x, device=device), y)
        found = y.numpy()
        inside = tuple(slice(n) for n in shape)
        index = np.indices(shape)
        other = index[0] if len(shape) == 2 else index[0] - index[1]
        expected = np.full(extents, 7, np.int32)
        expected[inside] += x[inside] * shape[-1] + other
        assert np.array_equal(found, expected)
        return [found]

    both(make, coarsening, launch, expects=shape[-1] > 4)


def test_graphs_launch_coarsened_kernels_and_what_is_left_over(
    device: lp.Device, coarsening: Callable[[Coarsening], None]
):
    coarsening(ALWAYS)
    kernel = saxpy()
    x, y = lp.ones(2051, device=device), lp.zeros(2051, device=device)
    with lp.graph() as graph:
        first = kernel[2051](2.0, x, y)
        kernel[2048](1.0, x, y)
    assert was_coarsened(kernel)
    graph.replay()
    graph.replay()
    assert y.numpy().tolist() == [6.0] * 2048 + [4.0] * 3
    graph.update(first, a=0.5)
    graph.replay().wait()
    assert y.numpy().tolist() == [7.5] * 2048 + [4.5] * 3


def test_a_launch_in_two_parts_is_one_event(device: lp.Device, coarsening: Callable[[Coarsening], None]):
    coarsening(ALWAYS)
    kernel = saxpy()
    queue = lp.Queue(device, profiling=device.has(lp.Aspect.QUEUE_PROFILING))
    x, y = lp.ones(4099, device=device), lp.zeros(4099, device=device)
    with lp.trace() as trace:
        events = [kernel[4099].on(queue)(1.0, x, y) for _ in range(3)]
    assert trace.count("launch") == 3
    for event in reversed(events):
        event.wait()
        assert event.done
    if queue.is_profiling:
        assert all(event.elapsed_ns >= 0 for event in events)
    assert y.numpy().tolist() == [3.0] * 4099
    queue.close()


@pytest.mark.parametrize("columns", [4, 5, 8])
def test_rows_of_coordinates(device: lp.Device, coarsening: Callable[[Coarsening], None], columns: int):
    def make() -> KernelFunction:
        @lp.kernel
        def forces(bodies: lp.In[lp.f32, 2], out: lp.Array[lp.f32, 2]):
            i = lp.global_id(0)
            x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
            for k in range(bodies.shape[0]):
                dx, dy, dz = bodies[k, 0] - x, bodies[k, 1] - y, bodies[k, 2] - z
                scale = bodies[k, 3] / (dx * dx + dy * dy + dz * dz + 0.5)
                out[i, 0] += dx * scale
                out[i, 1] += dy * scale + out[i, 0]
                out[i, 3] = out[i, 0] + out[i, 1] * dz

        return forces

    bodies = np.random.default_rng(columns).random((12, columns), dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        out = lp.ones((12, columns), device=device)
        kernel[12](lp.asarray(bodies, device=device), out)
        return [out.numpy()]

    both(make, coarsening, launch)


def branches() -> KernelFunction:
    @lp.kernel
    def branches(x: lp.Array[lp.i32], y: lp.Array[lp.i32], limit: lp.i32):
        i = lp.global_id(0)
        v = x[i]
        if v > limit:
            if i % 3 == 0:
                v = v * 2 + x[0]
            else:
                y[i] = v
                v += y[i]
        elif v == limit:
            v = 7
        for k in range(limit):
            w = x[k]
            if (v + w) % 2 == 0:
                v += w
            else:
                v -= k
        y[i] = v + i

    return branches


@pytest.mark.parametrize("limit", [0, 3, 9])
def test_branches_that_work_items_disagree_about(
    device: lp.Device, coarsening: Callable[[Coarsening], None], limit: int
):
    x = np.random.default_rng(2).integers(0, 12, 64).astype(np.int32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros(64, dtype=lp.i32, device=device)
        kernel[64](lp.asarray(x, device=device), y, limit)
        return [y.numpy()]

    both(branches, coarsening, launch)


def test_work_items_that_end_their_loops_alone_stay_alone(
    device: lp.Device, coarsening: Callable[[Coarsening], None]
):
    def make() -> KernelFunction:
        @lp.kernel
        def collatz(x: lp.Array[lp.i32], y: lp.Array[lp.i32]):
            i = lp.global_id(0)
            n, steps = x[i], 0
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                steps += 1
            y[i] = steps

        return collatz

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros(32, dtype=lp.i32, device=device)
        kernel[32](lp.asarray(np.arange(1, 33, dtype=np.int32), device=device), y)
        return [y.numpy()]

    both(make, coarsening, launch, expects=False)


def test_three_dimensions_vectors_and_structs(device: lp.Device, coarsening: Callable[[Coarsening], None]):
    @lp.struct
    class Cell:
        weight: lp.f32
        kind: lp.i32

    def make() -> KernelFunction:
        @lp.kernel
        def mix(cells: lp.Array[Cell], colours: lp.Array[lp.f32x4], out: lp.Array[lp.f32, 3]):
            i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
            colour = colours[k]
            total = 0.0
            for c in range(len(cells)):
                total += cells[c].weight * colour.y + cells[c].kind
            out[i, j, k] = total + i * 100 + j * 10 + out[i, j, k]

        return mix

    cells = np.zeros(5, dtype=Cell.dtype)
    cells["weight"], cells["kind"] = np.arange(5), np.arange(5)[::-1]
    colours = np.random.default_rng(3).random((8, 4), dtype=np.float32)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        out = lp.ones((2, 4, 8), device=device)
        kernel[(2, 4, 8)](
            lp.asarray(cells, device=device), lp.asarray(colours, dtype=lp.f32x4, device=device), out
        )
        return [out.numpy()]

    both(make, coarsening, launch)


def test_a_local_size_or_a_barrier_keeps_the_kernel_plain(
    device: lp.Device, coarsening: Callable[[Coarsening], None]
):
    coarsening(ALWAYS)
    kernel = saxpy()
    x, y = lp.ones(64, device=device), lp.ones(64, device=device)
    kernel[lp.NdRange(64, 16)](1.0, x, y)
    assert not was_coarsened(kernel)
    assert y.numpy().tolist() == [2.0] * 64


def test_small_launches_are_not_compiled_twice(device: lp.Device):
    kernel = saxpy()
    x, y = lp.ones(64, device=device), lp.ones(64, device=device)
    with lp.trace() as trace:
        kernel[64](1.0, x, y)
    assert trace.count("compile") == 1


def test_rows_of_loops_are_left_alone_where_they_do_not_gain(device: lp.Device, coarsening):
    """A kernel with a loop over one dimension, whose loads neighbours share: plain where the driver's entry says so."""

    def total() -> KernelFunction:
        @lp.kernel
        def total(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
            i = lp.global_id(0)
            s = lp.f32(0.0)
            for k in range(x.size):
                s += x[k] * x[i]
            y[i] = s

        return total

    for rows_of_loops in (True, False):
        coarsening(Coarsening(lanes=4, least_with_loops=1, rows_of_loops=rows_of_loops))
        kernel = total()
        x, y = lp.ones(64, device=device), lp.zeros(64, device=device)
        kernel[64](x, y)
        assert was_coarsened(kernel) is rows_of_loops
        assert y.numpy().tolist() == [64.0] * 64


FACTOR = lp.SpecializationId(lp.f32, 3.0)


def test_specialization_constants_of_coarsened_kernels(
    device: lp.Device, coarsening: Callable[[Coarsening], None]
):
    def scale() -> KernelFunction:
        @lp.kernel
        def scale(x: lp.In[lp.f32], y: lp.Out[lp.f32], *, SHIFT: lp.Spec[lp.f32] = 1.0):
            i = lp.global_id(0)
            y[i] = FACTOR * x[i] + SHIFT

        return scale

    x = lp.asarray(np.arange(40, dtype=np.float32), device=device)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        outputs = [lp.zeros_like(x) for _ in range(2)]
        kernel[40](x, outputs[0])
        kernel[40].spec({FACTOR: 0.5})(x, outputs[1], SHIFT=-2.0)
        return [y.numpy() for y in outputs]

    both(scale, coarsening, launch)
    np.testing.assert_array_equal(launch(scale())[1], 0.5 * x.numpy() - 2)


def many_steps(v):
    """So many operations that calls of it stay calls, and more rounds than a quarter of lavapipe's."""
    for _ in range(20_000):
        for _ in lp.static_range(12):
            v = (v ^ (v >> 7)) * 1664525 + 1013904223
    return v


def test_rounds_of_functions_that_are_called_for_each_work_item(
    device: lp.Device, coarsening: Callable[[Coarsening], None]
):
    def steps() -> KernelFunction:
        @lp.kernel
        def steps(x: lp.In[lp.u32], y: lp.Out[lp.u32]):
            i = lp.global_id(0)
            y[i] = many_steps(x[i]) + many_steps(~x[i])

        return steps

    x = lp.asarray(np.arange(8, dtype=np.uint32), device=device)

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros_like(x)
        kernel[8](x, y)
        return [y.numpy()]

    both(steps, coarsening, launch, expects=device.target_env.loop_iteration_cap is None)


@pytest.mark.parametrize("divides", [False, True])
def test_rounds_of_loops_that_neighbours_pass_by(
    device: lp.Device, coarsening: Callable[[Coarsening], None], *, divides: bool
):
    """Written for each of them, as what may divide by zero is, a loop costs lavapipe rounds where nobody enters it,
    which nothing counts; written once for all it does not."""

    def sums() -> KernelFunction:
        @lp.kernel
        def sums(a: lp.In[lp.i32, 2], b: lp.In[lp.i32, 2], m: lp.i32, y: lp.Out[lp.i32, 2]):
            i, j = lp.global_id(0), lp.global_id(1)
            total = 0
            for r in range(a.shape[1]):
                total += a[i, r] * b[r, j]
                if b[r, j] > 5:
                    for q in range(m):
                        total += lp.i32(lp.u32(6) // lp.u32(b[r, j] - 5)) if divides else q + 1
            y[i, j] = total

        return sums

    random = np.random.default_rng(5)
    a, b = (random.integers(0, 9, shape).astype(np.int32) for shape in ((4, 12_000), (12_000, 8)))
    arrays = [lp.asarray(array, device=device) for array in (a, b)]

    def launch(kernel: KernelFunction) -> list[np.ndarray]:
        y = lp.zeros((4, 8), lp.i32, device=device)
        kernel[4, 8](*arrays, 1, y)
        return [y.numpy()]

    added = np.where(b > 5, 6 // np.maximum(b - 5, 1) if divides else 1, 0)
    np.testing.assert_array_equal(launch(sums())[0], a @ b + added.sum(0))
    both(sums, coarsening, launch, expects=not divides or device.target_env.loop_iteration_cap is None)


@pytest.mark.parametrize("rounds", [0, 3, 32_760, 32_767, 65_533, 65_534, 65_535, 131_070])
def test_branches_that_all_take_where_one_does_are_right_or_trap(
    device: lp.Device, coarsening: Callable[[Coarsening], None], rounds: int
):
    @lp.kernel
    def steps(m: lp.i32, x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        total = 0
        if x[i] > 4:
            for k in range(m):
                total += x[k % 8] // 3 + x[i]
        if x[i + 1] > 6:
            k = 0
            while k < m // 2:
                k += 1
                total -= x[i]
        y[i] = total

    coarsening(ALWAYS)
    x = np.random.default_rng(rounds).integers(0, 9, 64).astype(np.int32)
    y = lp.zeros(60, lp.i32, device=device)
    steps[60](rounds, lp.asarray(x, device=device), y)
    first, following = x[:60], x[1:61]
    shared = sum(int(x[k % 8]) // 3 for k in range(rounds))
    expected = np.where(first > 4, shared + rounds * first, 0) - np.where(
        following > 6, rounds // 2 * first, 0
    )
    try:
        np.testing.assert_array_equal(y.numpy(), expected)
    except lp.KernelTrap:
        assert device.target_env.loop_iteration_cap is not None
        assert rounds + rounds // 2 > 65_000
    assert was_coarsened(steps)
