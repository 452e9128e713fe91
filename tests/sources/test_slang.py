"""Modules of the Slang compiler: its own ways with names, loops, matrices and block types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit

from .conftest import SHADERS

pytestmark = pytest.mark.device

Kernel = Callable[..., lp.Kernel]


@pytest.fixture(params=[False, True], ids=["as it is", "read and written again"])
def is_rewritten(request: pytest.FixtureRequest) -> bool:
    """Whether the module is the one that the dialect makes of Slang's, which has no names for debuggers."""
    return bool(request.param)


@pytest.fixture
def kernel(built: Callable[..., lp.KernelBundle], is_rewritten: bool) -> Kernel:
    """Returns a kernel of a module in tests/shaders/slang."""

    def kernel(module: str, name: str, *props: object) -> lp.Kernel:
        binary = (SHADERS / "slang" / f"{module}.spv").read_bytes()
        if is_rewritten:
            binary = emit(deserialise(binary), TargetEnv()).binary
        return built(lp.SourceLanguage.SPIRV, binary, *props).ext_oneapi_get_kernel(name)

    return kernel


def on(device: lp.Device, values: np.ndarray) -> lp.Array:
    return lp.asarray(values, device=device)


def test_shared_memory_of_a_fixed_size(device: lp.Device, queue: lp.Queue, kernel: Kernel):
    values = np.arange(256, dtype=np.float32)
    sums = lp.zeros(4, lp.f32, device=device)
    queue.parallel_for(256, kernel("reduce", "reduce"), on(device, values), sums)
    np.testing.assert_array_equal(sums.numpy(), values.reshape(4, 64).sum(axis=1))  # exact: small integers


def test_a_struct_in_a_uniform_buffer_and_two_sets(device: lp.Device, queue: lp.Queue, kernel: Kernel):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-8, 8, shape).astype(np.float32) for shape in ((13, 7), (7, 10)))
    kind = np.dtype([("rows", "<u4"), ("inner", "<u4"), ("columns", "<u4"), ("scale", "<f4")])
    sizes = np.array([(13, 7, 10, 0.5)], kind)
    c = lp.zeros((13, 10), lp.f32, device=device)
    queue.parallel_for(
        (16, 16), kernel("matmul", "product"), on(device, sizes), on(device, a), on(device, b), c
    )
    np.testing.assert_array_equal(c.numpy(), 0.5 * (a @ b))  # exact: small integers


@pytest.mark.parametrize("bins", [4, 11])
def test_atomics_and_a_specialization_constant(device: lp.Device, queue: lp.Queue, kernel: Kernel, bins: int):
    values = np.arange(100, dtype=np.int32) ** 2
    found = lp.zeros(bins, lp.u32, device=device)
    count = kernel("histogram", "count", lp.SpecValues({3: bins}))
    queue.parallel_for(128, count, on(device, values), found, 100, 3)
    np.testing.assert_array_equal(found.numpy(), np.bincount((values + 3) % bins, minlength=bins))


def test_loops_switches_and_waves(device: lp.Device, queue: lp.Queue, kernel: Kernel):
    if not device.has(lp.Aspect.VK_SUBGROUP_ARITHMETIC):
        pytest.skip("the device has no sub-group arithmetic")
    steps, before = (lp.zeros(64, lp.u32, device=device) for _ in range(2))
    queue.parallel_for(64, kernel("waves", "collatz"), steps, before)

    def collatz(n: int) -> int:
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    expected = np.array([collatz(n) for n in range(1, 65)])
    np.testing.assert_array_equal(steps.numpy(), expected)
    size = device.info.sub_group_sizes[0]
    width = min(size, 32)  # of the work-group
    sums = expected.reshape(-1, width).cumsum(axis=1) - expected.reshape(-1, width)
    np.testing.assert_array_equal(before.numpy(), sums.reshape(-1))


def test_matrices_in_push_constants_and_structs_in_buffers(
    device: lp.Device, queue: lp.Queue, kernel: Kernel, is_rewritten: bool
):
    kind = np.dtype([("colour", np.float32, 3), ("alpha", np.float32)])
    pixels = np.zeros(16, kind)
    pixels["colour"] = np.arange(48).reshape(16, 3) / 64
    turn = np.array([[0, 1, 0], [0, 0, 2], [1, 0, 0]], np.float32)
    lift = np.array([0.5, 0, 0.25], np.float32)
    out = on(device, pixels)
    # Slang makes rows columns, and only OpSource tells that it was Slang.
    queue.parallel_for(16, kernel("colours", "grade"), out, turn.T if is_rewritten else turn, lift, 0.5)
    expected = 0.5 * pixels["colour"] @ turn.T + lift
    found = out.numpy()
    np.testing.assert_array_equal(found["colour"], expected)  # exact: powers of two
    np.testing.assert_array_equal(found["alpha"], np.clip(expected @ [0.25, 0.5, 0.25], 0, 1))


@pytest.mark.behaviour("SRC-26", "SRC-28")
def test_several_entry_points_and_tiles(device: lp.Device, queue: lp.Queue, kernel: Kernel):
    grid = np.random.default_rng(2).integers(0, 64, (16, 24)).astype(np.float32)
    old, new = on(device, grid), lp.zeros(grid.shape, lp.f32, device=device)
    queue.parallel_for(grid.shape, kernel("stencil", "diffuse"), old, new, 24, 16, 0.25)
    p = np.pad(grid, 1, mode="edge")
    expected = grid + 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * grid)
    np.testing.assert_array_equal(new.numpy(), expected)  # exact: quarters of small integers
    change = lp.zeros(1, lp.u32, device=device)
    queue.parallel_for(grid.size, kernel("stencil", "largest_change"), old, new, change)
    assert change.numpy().view(np.float32)[0] == np.abs(expected - grid).max()


def test_arguments_have_their_names(
    device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle]
):
    kb = built(lp.SourceLanguage.SPIRV, (SHADERS / "slang" / "histogram.spv").read_bytes())
    bins = lp.zeros(4, lp.u32, device=device)
    values = on(device, np.arange(32, dtype=np.int32))
    queue.parallel_for(32, kb.ext_oneapi_get_kernel("count"), offset=1, count=30, bins=bins, values=values)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(np.arange(1, 31) % 4))


@pytest.mark.parametrize(("module", "counts"), [("reduce", True), ("histogram", False)])
def test_loops_are_counted_where_the_driver_ends_them(
    device: lp.Device, built: Callable[..., lp.KernelBundle], module: str, counts: bool
):
    bundle = built(
        lp.SourceLanguage.SPIRV, (SHADERS / "slang" / f"{module}.spv").read_bytes(), log := lp.SaveLog()
    )
    cap = device.target_env.loop_iteration_cap
    assert "has loops" not in log.text
    assert any("GroupNonUniformElect" in image.disassemble() for image in bundle) == (
        counts and cap is not None
    )


def test_ranges_beyond_one_dispatch_are_refused(device: lp.Device, queue: lp.Queue, kernel: Kernel):
    """A foreign kernel gets its ids from the driver, so that its range cannot be dispatched in pieces."""
    limited = device.masked(limits={"maxComputeWorkGroupCount": (3, 1, 1)})
    context = lp.Context([limited])
    source = (SHADERS / "slang" / "reduce.spv").read_bytes()
    kb = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, source))
    reduce, own = kb.ext_oneapi_get_kernel("reduce"), lp.Queue(context=context)
    values, sums = lp.ones(320, device=limited), lp.zeros(5, device=limited)
    own.parallel_for(192, reduce, values, sums).wait()
    assert sums.numpy().tolist() == [64, 64, 64, 0, 0]
    with pytest.raises(
        lp.KernelNotSupportedError, match=r"'reduce'.*\(1, 1, 5\).*\(1, 1, 3\).*maxComputeWorkGroupCount"
    ):
        own.parallel_for(320, reduce, values, sums)
