"""Ranges and local sizes: what is accepted, what is chosen, and how large ranges are cut."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.ir.kernel_info import KernelInfo, LaunchAbi
from lapilli.vk_runtime.constants import (
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
)
from lapilli.vk_runtime.launch_plan import (
    default_local_size,
    normalise_range,
    plan_coarse_launch,
    plan_launch,
)
from lapilli.vk_runtime.physical_device import DeviceLimits, busy_work_groups

LIMITS = DeviceLimits(
    max_work_group_invocations=256,
    max_work_group_size=(256, 256, 64),
    max_work_group_count=(65535, 65535, 65535),
    busy_work_groups=0,
    least_work_group=32,
    max_shared_memory_bytes=32768,
    max_push_constant_bytes=128,
    max_uniform_buffer_range_bytes=1 << 16,
    max_uniform_buffers=12,
    max_storage_buffer_range_bytes=1 << 27,
    max_storage_buffers=30,
    max_storage_images=4,
    max_sampled_images=16,
    max_samplers=16,
    max_image_extents=(4096, 4096, 256),
    min_storage_buffer_offset_alignment=256,
    min_uniform_buffer_offset_alignment=256,
    max_memory_allocation_bytes=1 << 30,
    sparse_address_space_bytes=0,
    max_buffer_bytes=1 << 30,
    timestamp_period_ns=1.0,
)


def kernel(rank=1, *, masked=True, required=None, ids=(0, 1, 2)):
    abi = LaunchAbi(rank=rank, is_masked=masked, local_size_spec_ids=ids)
    return KernelInfo(name="k", entry_point="k", parameters=(), abi=abi, required_work_group_size=required)


def plan(info, range_, local=None, **options):
    return plan_launch(info, range_, local, LIMITS, "test device", **options)


@pytest.mark.parametrize(
    ("value", "expected"), [(5, (5,)), (np.int64(5), (5,)), ([2, 3], (2, 3)), ((1, 2, 0), (1, 2, 0))]
)
def test_ranges_that_are_ranges(value, expected):
    assert normalise_range(value) == expected


@pytest.mark.parametrize("value", [-1, (3, -1), 2**31, 1.5, "8", None, (), (1, 2, 3, 4), ((1,),)])
def test_ranges_that_are_not(value):
    with pytest.raises(lp.NdRangeError):
        normalise_range(value)


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ((10**6,), (256,)),
        ((100,), (128,)),
        ((1,), (32,)),
        ((480, 640), (4, 64)),
        ((10**6, 1), (256, 1)),
        ((2, 1000), (2, 128)),
        ((8, 480, 640), (1, 4, 64)),
        ((1000, 1, 1), (64, 1, 1)),
    ],
)
def test_default_local_size(range_, expected):
    assert default_local_size(range_, LIMITS) == expected


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ((256,), (32,)),
        ((4096,), (32,)),
        ((32768,), (64,)),
        ((65536,), (128,)),
        ((67584,), (256,)),
        ((10**6,), (256,)),
        ((1,), (32,)),
        ((128, 128), (1, 32)),
        ((256, 256), (2, 64)),
        ((512, 512), (4, 64)),
        ((4096, 4), (8, 4)),
        ((4, 32, 32), (1, 1, 32)),
    ],
)
def test_default_local_size_leaves_no_processor_idle(range_, expected):
    limits = dataclasses.replace(LIMITS, busy_work_groups=2 * 132)  # an NVIDIA H200's
    assert default_local_size(range_, limits) == expected


def test_processors_to_keep_busy():
    assert busy_work_groups(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 132) == 264
    assert busy_work_groups(VK_PHYSICAL_DEVICE_TYPE_CPU, None) == 0
    unknown = [busy_work_groups(kind, None) for kind in (VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 1, 3)]
    assert unknown == [64, 16, 16]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3),
    st.integers(1, 1024),
    st.sampled_from([0, 16, 264]),
)
def test_default_local_size_is_within_limits(range_, invocations, busy):
    limits = dataclasses.replace(LIMITS, max_work_group_invocations=invocations, busy_work_groups=busy)
    sizes = default_local_size(range_, limits)
    assert math.prod(sizes) <= invocations
    assert all(
        1 <= s <= m for s, m in zip(sizes, reversed(limits.max_work_group_size[: len(range_)]), strict=True)
    )


@pytest.mark.parametrize("busy", [0, 9, 264])
@pytest.mark.parametrize("range_", [(4099,), (37, 1027), (259, 513), (5, 6, 1029)])
def test_a_coarse_launch_and_what_is_left_over_are_the_whole_range(range_, busy):
    limits = dataclasses.replace(LIMITS, busy_work_groups=busy)
    lanes = (1, *([4] * (len(range_) - 1)))[-len(range_) :] if len(range_) > 1 else (4,)
    coarse = dataclasses.replace(kernel(len(range_)), lanes=lanes)
    plans = plan_coarse_launch(coarse, kernel(len(range_)), range_, limits, "test device")
    if plans is None:
        pytest.skip("too small for work-groups of this size")
    times = np.zeros(range_, np.int32)
    for plan_, shares in zip(plans, (lanes, (1,) * len(range_)), strict=True):
        for piece in () if plan_ is None else plan_.pieces:
            sizes = [share * size for share, size in zip(shares, plan_.local, strict=True)]
            counts = reversed(piece.groups[: len(range_)])
            box = [
                slice(base * size, (base + count) * size)
                for base, count, size in zip(piece.base, counts, sizes, strict=True)
            ]
            times[tuple(box)] += 1
    assert (times == 1).all()


def test_local_size_is_reversed_for_vulkan():
    found = plan(kernel(2), (30, 70), (4, 64))
    assert found.local_xyz == (64, 4, 1)
    assert [piece.groups for piece in found.pieces] == [(2, 8, 1)]


def test_pieces_cover_a_range_beyond_the_group_count():
    pieces = list(plan(kernel(2), (65536 * 4, 65535 * 64 * 2), (4, 64)).pieces)
    assert [piece.base for piece in pieces] == [(0, 0), (0, 65535), (65535, 0), (65535, 65535)]
    assert sum(math.prod(piece.groups) for piece in pieces) == 65536 * 65535 * 2
    assert all(max(piece.groups) <= 65535 for piece in pieces)


def test_empty_range_has_no_pieces():
    assert list(plan(kernel(2), (4, 0)).pieces) == []


def test_unmasked_kernel_needs_a_multiple_and_is_told_which():
    assert plan(kernel(masked=False), (128,), (64,)).group_counts == (2,)
    with pytest.raises(lp.NdRangeError, match=r"use \(128,\)"):
        plan(kernel(masked=False), (100,), (64,))


def test_unmasked_kernel_needs_a_local_size():
    with pytest.raises(lp.InvalidError, match="local size"):
        plan(kernel(masked=False), (128,))


def test_nd_range_must_divide_even_where_the_tail_is_masked():
    assert plan(kernel(), (100,), (64,)).group_counts == (2,)
    with pytest.raises(lp.NdRangeError, match=r"use \(128,\)"):
        plan(kernel(), (100,), (64,), is_nd_range=True)


def test_required_local_size_is_used_and_another_refused():
    fixed = kernel(2, required=(2, 8), ids=None)
    assert plan(fixed, (10, 10)).local == (2, 8)
    with pytest.raises(lp.NdRangeError, match=r"requires local size \(2, 8\)"):
        plan(fixed, (10, 10), (8, 2))


@pytest.mark.parametrize("local", [(0,), (-1,), (4, 4), (2**31,)])
def test_local_sizes_that_cannot_be(local):
    with pytest.raises(lp.NdRangeError):
        plan(kernel(), (8,), local)


@pytest.mark.parametrize(("rank", "local"), [(1, (512,)), (2, (32, 32)), (3, (128, 1, 1))])
def test_local_size_over_a_limit_names_limit_need_and_device(rank, local):
    with pytest.raises(lp.KernelNotSupportedError) as caught:
        plan(kernel(rank), (1024,) * rank, local)
    text = str(caught.value)
    assert "test device" in text and str(local) in text and "maxComputeWorkGroup" in text


def test_rank_of_the_range_must_be_the_kernels():
    with pytest.raises(lp.NdRangeError, match="2 dimensions"):
        plan(kernel(2), (8,))


def test_ids_of_the_masked_tail_stay_below_2_to_the_31():
    assert plan(kernel(), (2**31 - 1,), (256,)).group_counts == (2**23,)
    with pytest.raises(lp.NdRangeError, match="power of two"):
        plan(kernel(), (2**31 - 1,), (250,))
