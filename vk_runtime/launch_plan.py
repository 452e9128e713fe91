"""Launch ranges: checking them, choosing local sizes, cutting them into dispatches.  Pure.

Tuples are in SYCL's order, slowest dimension first, up to `LaunchPlan`, which turns them into Vulkan's
(x, y, z).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..ir.errors import InvalidError, KernelNotSupportedError, NdRangeError
from ..ir.kernel_info import KernelInfo
from .physical_device import DeviceLimits

_DEFAULT_LOCAL_SIZES = {1: (256,), 2: (4, 64), 3: (1, 4, 64)}
"""Start of `default_local_size`: 256 work-items, unit-stride dimension first."""

_LEAST_LINEAR_SIZE = 32
"""Smaller one-dimensional ranges share this local size, so that they share a pipeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One vkCmdDispatch."""

    groups: tuple[int, int, int]
    """Work-group count as (x, y, z)."""
    base: tuple[int, ...]
    """First work-group index, slowest dimension first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A box of work-groups, slowest dimension first."""

    first: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """A range with its local size; both are checked."""

    range_: tuple[int, ...]
    """Work-items, slowest dimension first."""
    local: tuple[int, ...]
    """Local size, slowest dimension first."""
    group_counts: tuple[int, ...]
    """Work-groups, slowest dimension first."""
    max_group_counts: tuple[int, ...]
    """The most of one dispatch, slowest dimension first."""
    regions: tuple[Region, ...] | None = None
    """The work-groups to dispatch, where that is not all of `group_counts`: another kernel does the rest."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing runs."""
        return 0 in self.range_

    @property
    def local_xyz(self) -> tuple[int, int, int]:
        """The local size as Vulkan wants it."""
        return as_xyz(self.local)

    @property
    def pieces(self) -> Iterator[Piece]:
        """The dispatches, in order: one, unless the range is beyond maxComputeWorkGroupCount or cut into regions."""
        if self.is_empty:
            return
        whole = Region(first=(0,) * len(self.group_counts), counts=self.group_counts)
        for region in (whole,) if self.regions is None else self.regions:
            starts = [range(0, n, m) for n, m in zip(region.counts, self.max_group_counts, strict=True)]
            for start in itertools.product(*starts):
                counts = tuple(
                    min(count - begin, limit)
                    for count, begin, limit in zip(region.counts, start, self.max_group_counts, strict=True)
                )
                base = tuple(first + begin for first, begin in zip(region.first, start, strict=True))
                yield Piece(groups=as_xyz(counts), base=base)


def as_xyz(sizes: Sequence[int]) -> tuple[int, int, int]:
    """Turns a size of one to three dimensions, slowest first, into (x, y, z)."""
    x, y, z = (*reversed(sizes), 1, 1)[:3]
    return x, y, z


def normalise_range(value: object, what: str = "range", *, index_bits: int = 32) -> tuple[int, ...]:
    """Returns a range as a tuple of ints.

    Args:
        value: an integer, or one to three of them.
        what: its name in messages.
        index_bits: of the kernel, 32 or 64.

    Raises:
        NdRangeError: not that, negative, or beyond what its indices reach: 2**31 of 32 bits.
    """
    items = cast("Sequence[object]", value) if isinstance(value, tuple | list) else (value,)
    try:
        extents = tuple(operator.index(cast("int", item)) for item in items)
    except TypeError as error:
        raise NdRangeError(f"a {what} is an integer or a tuple of integers; found {value!r}") from error
    if not 1 <= len(extents) <= 3:
        raise NdRangeError(f"a {what} has 1 to 3 dimensions; found {extents}")
    for extent in extents:
        if extent < 0:
            raise NdRangeError(f"a {what} is 0 or more in each dimension; found {extents}")
        if extent >= 1 << (index_bits - 1):
            raise NdRangeError(
                f"a {what} is less than 2**{index_bits - 1} in each dimension; found {extents}"
            )
    return extents


def padded(kernel: KernelInfo, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a range with ones in front, for a kernel that does not tell the difference.

    Of any kernel, ones in front that are more than its dimensions are left out.
    """
    more = len(extents) - kernel.abi.rank
    if more > 0:
        return extents[more:] if extents[:more] == (1,) * more else extents
    return (1,) * -more + extents if kernel.has_any_rank else extents


def _unpadded(kernel: KernelInfo, *parts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Returns sizes for messages, without the ones in front that all of them have; see `padded`."""
    most = len(parts[0]) - 1 if kernel.has_any_rank else 0
    count = next((i for i in range(most) if any(part[i] != 1 for part in parts)), most)
    return [part[count:] for part in parts]


def default_local_size(range_: Sequence[int], limits: DeviceLimits) -> tuple[int, ...]:
    """Returns the local size of a launch that names none: powers of two, the last dimension widest.

    A dimension that the range does not fill gives its share to the others.  A range that would leave processors of a
    GPU without work is cut into smaller work-groups.  No size is below 1, also on a device that is masked to less.
    """
    rank = len(range_)
    budget = 1 << (max(1, min(256, limits.max_work_group_invocations)).bit_length() - 1)
    while budget > limits.least_work_group and budget * limits.busy_work_groups > math.prod(range_):
        budget //= 2
    most = tuple(reversed(limits.max_work_group_size[:rank]))
    useful = [1 << max(extent - 1, 0).bit_length() for extent in range_]
    if rank == 1:
        useful[0] = max(useful[0], _LEAST_LINEAR_SIZE)
    wanted = [min(u, 1 << (max(m, 1).bit_length() - 1)) for u, m in zip(useful, most, strict=True)]
    sizes = [min(size, w) for size, w in zip(_DEFAULT_LOCAL_SIZES[rank], wanted, strict=True)]
    for dimension in range(rank):  # the last one stays wide: neighbours there are neighbours in memory
        while sizes[dimension] > 1 and math.prod(sizes) > budget:
            sizes[dimension] //= 2
    for dimension in reversed(range(rank)):
        while sizes[dimension] < wanted[dimension] and 2 * math.prod(sizes) <= budget:
            sizes[dimension] *= 2
    return tuple(sizes)


def plan_launch(
    kernel: KernelInfo,
    range_: tuple[int, ...],
    local: tuple[int, ...] | None,
    limits: DeviceLimits,
    device_name: str,
    *,
    is_nd_range: bool = False,
) -> LaunchPlan:
    """Checks a range and a local size and brings them together.

    Args:
        kernel: says what it needs.
        range_: total work-items, slowest dimension first.
        local: local size, slowest first; None: the kernel's own, or a default.
        limits: of the device.
        device_name: for messages.
        is_nd_range: whether the range must be a multiple of `local` even if the kernel masks its tail.

    Raises:
        NdRangeError: a range or local size that cannot be, or that the kernel does not accept.
        KernelNotSupportedError: a local size over a limit of the device.
        InvalidError: the kernel needs a local size and has none.
    """
    extents = normalise_range(range_, index_bits=kernel.abi.index_bits)
    rank = kernel.abi.rank
    if len(extents) != rank:
        raise NdRangeError(
            f"kernel '{kernel.name}' runs over {rank} dimension{'s' * (rank > 1)}; found range {extents}"
        )
    lanes = kernel.lanes or (1,) * rank
    if any(extent % lane for extent, lane in zip(extents, lanes, strict=True)):
        raise NdRangeError(
            f"kernel '{kernel.name}' is coarsened by {lanes}, which {extents} is no multiple of"
        )
    invocations = tuple(extent // lane for extent, lane in zip(extents, lanes, strict=True))
    sizes = _local_size(kernel, invocations, local, limits)
    check_local_size(kernel, sizes, limits, device_name)
    groups = tuple(-(-n // size) for n, size in zip(invocations, sizes, strict=True))
    rounded = tuple(count * size for count, size in zip(groups, sizes, strict=True))
    if rounded != invocations and (is_nd_range or not kernel.abi.is_masked):
        reason = "in an nd_range" if is_nd_range else "as it runs whole work-groups only"
        wanted, found, remedy = _unpadded(kernel, sizes, extents, rounded)
        raise NdRangeError(
            f"kernel '{kernel.name}' needs a range that is a multiple of its local size {wanted} {reason}; "
            f"found {found}, use {remedy}"
        )
    if any(extent > 1 << (kernel.abi.index_bits - 1) for extent in rounded):
        raise NdRangeError(
            f"kernel '{kernel.name}': range {extents} in groups of {sizes} passes "
            f"2**{kernel.abi.index_bits - 1} work-items; choose a local size that is a power of two"
        )
    most = tuple(reversed(limits.max_work_group_count[:rank]))
    is_over = any(n > limit for n, limit in zip(groups, most, strict=True))
    if is_over and (not kernel.abi.is_divisible or 0 in most):
        raise KernelNotSupportedError(
            f"kernel '{kernel.name}': range {extents} has {groups} work-groups, device '{device_name}' allows at most "
            f"{most} in one dispatch (maxComputeWorkGroupCount)"
        )
    return LaunchPlan(range_=extents, local=sizes, group_counts=groups, max_group_counts=most)


def plan_coarse_launch(
    coarse: KernelInfo, plain: KernelInfo, range_: tuple[int, ...], limits: DeviceLimits, device_name: str
) -> tuple[LaunchPlan, LaunchPlan | None] | None:
    """Plans a launch whose work-items share invocations, and what is left over for the plain kernel.

    Args:
        coarse: the coarsened kernel.
        plain: the kernel itself.
        range_: total work-items, slowest dimension first.
        limits: of the device.
        device_name: for messages.

    Returns:
        What each does, None for the plain kernel where nothing is left over; None where the range is too small.

    Raises: as `plan_launch`.
    """
    lanes = coarse.lanes
    if not any(n % lane for n, lane in zip(range_, lanes, strict=True)):
        return plan_launch(coarse, range_, None, limits, device_name), None
    rest = plan_launch(plain, range_, None, limits, device_name)
    sizes = default_local_size([n // lane for n, lane in zip(range_, lanes, strict=True)], limits)
    # What one kernel does ends where a work-group of either does: both numbers are powers of two.
    ends = [
        n if n % lane == 0 else n - n % max(lane * size, other)
        for n, lane, size, other in zip(range_, lanes, sizes, rest.local, strict=True)
    ]
    if 0 in ends:
        return None
    first = tuple(0 for _ in range_)
    counts = tuple(-(-end // (lane * size)) for end, lane, size in zip(ends, lanes, sizes, strict=True))
    done = replace(rest, local=sizes, group_counts=counts, regions=(Region(first=first, counts=counts),))
    left: list[Region] = []
    for dimension, (end, size) in enumerate(zip(ends, rest.local, strict=True)):
        if end == range_[dimension]:
            continue
        begin, count = list(first), list(rest.group_counts)
        for before in range(dimension):  # the part of these dimensions that is not left over already
            count[before] = -(-ends[before] // rest.local[before])
        begin[dimension] = end // size
        count[dimension] -= begin[dimension]
        left.append(Region(first=tuple(begin), counts=tuple(count)))
    return done, replace(rest, regions=tuple(left))


def _local_size(
    kernel: KernelInfo, extents: tuple[int, ...], local: tuple[int, ...] | None, limits: DeviceLimits
) -> tuple[int, ...]:
    required = kernel.required_work_group_size
    if local is not None:
        sizes = normalise_range(local, "local size")
        if required is not None and sizes != tuple(required):
            raise NdRangeError(f"kernel '{kernel.name}' requires local size {tuple(required)}; found {sizes}")
        _check_fixed_sizes(kernel, sizes)
        return sizes
    if required is not None:
        return tuple(required)
    if kernel.abi.local_size_spec_ids is None:
        raise InvalidError(f"kernel '{kernel.name}' has a fixed local size, and its image does not say which")
    if kernel.has_any_local_size:
        return _dividing(default_local_size(extents, limits), extents)
    if not kernel.abi.is_masked:
        raise InvalidError(
            f"kernel '{kernel.name}' runs in whole work-groups, as its work-items work together or count on their "
            "size, so it needs a local size: @lp.kernel(local_size=…), @lp.reqd_work_group_size(…) or "
            "k[lp.NdRange(global_, local_)]"
        )
    return default_local_size(extents, limits)


def _dividing(sizes: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """Returns local sizes of at most these that divide a range."""
    return tuple(
        next(size for size in range(most, 0, -1) if extent % size == 0)
        for most, extent in zip(sizes, extents, strict=True)
    )


def _check_fixed_sizes(kernel: KernelInfo, sizes: tuple[int, ...]) -> None:
    """Raises where a local size differs in a dimension that the binary fixes, or in two that are one constant."""
    fixed, ids = kernel.abi.fixed_local_size, kernel.abi.local_size_spec_ids
    if fixed is None or ids is None or len(sizes) != len(fixed):
        return
    xyz = tuple(reversed(sizes))
    expected = tuple(
        size if number is None else xyz[ids.index(number)] for number, size in zip(ids, fixed, strict=True)
    )
    if xyz != expected:
        raise NdRangeError(
            f"kernel '{kernel.name}' requires local size {tuple(reversed(expected))}; found {sizes}: its other "
            "dimensions are fixed or depend on each other"
        )


def check_local_size(
    kernel: KernelInfo, sizes: tuple[int, ...], limits: DeviceLimits, device_name: str
) -> None:
    """Raises where a device cannot run work-groups of a size; drivers do not check it themselves.

    Raises:
        NdRangeError: a size of 0, or another number of dimensions than the kernel.
        KernelNotSupportedError: over maxComputeWorkGroupSize or maxComputeWorkGroupInvocations.
    """
    rank = kernel.abi.rank
    if len(sizes) != rank:
        dimensions = f"{rank} dimension{'s' * (rank > 1)}"
        if sizes == kernel.required_work_group_size:
            raise NdRangeError(
                f"kernel '{kernel.name}' requires local size {sizes}; found a range of {dimensions}, "
                f"expected {len(sizes)}"
            )
        raise NdRangeError(f"kernel '{kernel.name}' runs over {dimensions}; found local size {sizes}")
    if 0 in sizes:
        raise NdRangeError(f"kernel '{kernel.name}': a local size is 1 or more; found {sizes}")
    most = tuple(reversed(limits.max_work_group_size[:rank]))
    for dimension, (size, limit) in enumerate(zip(sizes, most, strict=True)):
        if size > limit:
            raise KernelNotSupportedError(
                f"kernel '{kernel.name}' needs local size {sizes}; device '{device_name}' allows at most "
                f"{limit} in dimension {dimension} (max_work_item_sizes {most}, maxComputeWorkGroupSize)"
            )
    if math.prod(sizes) > limits.max_work_group_invocations:
        raise KernelNotSupportedError(
            f"kernel '{kernel.name}' needs work-groups of {math.prod(sizes)} work-items ({sizes}); device "
            f"'{device_name}' allows at most {limits.max_work_group_invocations} "
            "(max_work_group_size, maxComputeWorkGroupInvocations)"
        )


def rank_to_show(kernel: KernelInfo, range_: Sequence[int]) -> int:
    """Returns the dimensions of the ids in messages: those that padding has put in front do not count."""
    rank = len(range_)
    if kernel.has_any_rank:
        while rank > 1 and range_[len(range_) - rank] == 1:
            rank -= 1
    return rank
