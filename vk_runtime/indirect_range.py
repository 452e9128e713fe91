"""IndirectRange: a launch range that an array on the device holds."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from ..ir.errors import KernelArgumentError, NdRangeError
from .array import Array
from .launch_plan import normalise_range

if TYPE_CHECKING:
    from .device import Device

ELEMENT_TYPES = ("u32", "i32")
"""What the array may hold."""


@dataclass(frozen=True, slots=True, eq=False)
class IndirectRange:
    """Work-items as a kernel before has counted them: ``k[lp.IndirectRange(counts)](…)``.

    The range is read on the device, when what writes `counts` has ended; the host waits for nothing.  Work-item
    functions, masked tails and ``global_range`` are as with ``k[n]``.  A range that cannot be (2**31 work-items or
    more, over the device's maxComputeWorkGroupCount, no multiple of the local size where the work-items work
    together) runs nothing and is an `lp.KernelTrap` at the next wait or read.
    """

    __lapilli_indirect__: ClassVar = True

    counts: Array
    """A one-dimensional array of u32 or i32 on the device of the launch."""
    offset: int = 0
    """Where the extents begin in `counts`, slowest dimension first."""
    dimensions: int = 1
    """How many there are, 1 to 3."""
    local_size: int | tuple[int, ...] | None = None
    """Work-items of a work-group in each dimension; None: the kernel's own, or a default."""


@dataclass(frozen=True, slots=True)
class CheckedIndirectRange:
    """An `IndirectRange` that can be launched, without its array."""

    offset: int
    dimensions: int
    local_size: tuple[int, ...] | None


def check_indirect_range(kernel: str, range_: IndirectRange, device: Device) -> CheckedIndirectRange:
    """Checks everything about a range but its values.

    Args:
        kernel: its name, for messages.
        range_: as the user made it.
        device: where the kernel is to run.

    Raises:
        NdRangeError: no array of u32 or i32, or one that does not hold the extents; a local size that cannot be.
        KernelArgumentError: an array of another device, or a released one.
    """
    what = f"kernel '{kernel}', lp.IndirectRange"
    counts = cast(object, range_.counts)
    if not isinstance(counts, Array) or counts.ndim != 1 or counts.spelling not in ELEMENT_TYPES:
        found = f"lp.{counts.signature}" if isinstance(counts, Array) else f"{counts!r:.60}"
        raise NdRangeError(
            f"{what}: expected a one-dimensional lp.Array of u32 or i32 that holds the range, found {found}"
        )
    dimensions, offset = (
        _integer(what, name, getattr(range_, name), least)
        for name, least in (("dimensions", 1), ("offset", 0))
    )
    if dimensions > 3:
        raise NdRangeError(f"{what}: expected 1 to 3 dimensions, found {dimensions}")
    if counts.is_released:
        raise KernelArgumentError(f"{what}: the array was released; make a new one")
    if counts.device is not device:
        raise KernelArgumentError(
            f"{what}: expected an array on device '{device.selector}', found one on '{counts.device.selector}'"
        )
    if offset + dimensions > counts.size:
        raise NdRangeError(
            f"{what}: expected {dimensions} extent{'s' * (dimensions > 1)} from element {offset} on, found an array of "
            f"{counts.size}"
        )
    local = None if range_.local_size is None else normalise_range(range_.local_size, "local size")
    if local is not None and (len(local) != dimensions or 0 in local):
        raise NdRangeError(
            f"{what}: expected a local size of {dimensions} dimension{'s' * (dimensions > 1)}, each at least 1, "
            f"found {local}"
        )
    return CheckedIndirectRange(offset, dimensions, local)


def extents_on_host(range_: IndirectRange) -> tuple[int, ...]:
    """Returns the extents of a checked range; waits for what writes them."""
    values = range_.counts.numpy()[range_.offset : range_.offset + range_.dimensions]
    return tuple(int(value) for value in values)


def _integer(what: str, name: str, value: object, least: int) -> int:
    try:
        number = operator.index(cast(int, value))
    except TypeError:
        number = -1
    if number < least or isinstance(value, bool):
        raise NdRangeError(f"{what}: {name} is an integer of at least {least}, found {value!r}")
    return number


__all__ = ["CheckedIndirectRange", "IndirectRange", "check_indirect_range", "extents_on_host"]
