"""Whether the arrays that a kernel makes have lengths and a total size that the device can have.  Pure.

No driver checks it: SwiftShader ends the process over a length of 0, and both software drivers accept more
shared memory than they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..ir.errors import InvalidError, KernelNotSupportedError, Location
from ..ir.kernel_info import KernelInfo, LocalArrayInfo, SpecConstantInfo
from ..ir.lazy_logging import logger_of
from ..ir.size_arithmetic import evaluate, signed
from .specialization import SpecEntry

logger = logger_of(__name__)

MAX_PRIVATE_BYTES = 1 << 16
"""Bytes of private arrays that one work-item may have.  Vulkan names no limit; drivers keep them on a stack."""


def check_array_sizes(
    kernel: KernelInfo,
    constants: Sequence[SpecConstantInfo],
    entries: Sequence[SpecEntry],
    max_shared_bytes: int,
    device_name: str,
) -> None:
    """Raises where a kernel's arrays cannot be made.

    Args:
        kernel: has the arrays.
        constants: of its image, for their names.
        entries: the value of every specialization constant, the local size among them.
        max_shared_bytes: maxComputeSharedMemorySize.
        device_name: for messages.

    Raises:
        InvalidError: a length below 1; names constants, expression and value.
        KernelNotSupportedError: more shared or private memory than there is; names the limit, and these of every array.
    """
    if not kernel.local_arrays:
        return
    spec_values = {entry.spec_id: int.from_bytes(entry.data, "little", signed=True) for entry in entries}
    sizes = _Sizes(kernel, constants, evaluate(kernel.size_nodes, spec_values))
    for array in kernel.local_arrays:
        for dimension, length in enumerate(sizes.lengths(array)):
            if length < 1:
                raise sizes.too_short(array, dimension)
    for is_shared, limit, of in (
        (
            True,
            max_shared_bytes,
            f"device '{device_name}' has {max_shared_bytes} (maxComputeSharedMemorySize)",
        ),
        (False, MAX_PRIVATE_BYTES, f"device '{device_name}' has {MAX_PRIVATE_BYTES} (of each work-item)"),
    ):
        if sizes.total_bytes(is_shared) > limit:
            raise sizes.too_large(is_shared, of)


def private_bytes(kernel: KernelInfo, entries: Sequence[SpecEntry]) -> int:
    """Returns the bytes of private arrays of one work-item, for the values of specialization constants `entries`."""
    spec_values = {entry.spec_id: int.from_bytes(entry.data, "little", signed=True) for entry in entries}
    values = evaluate(kernel.size_nodes, spec_values)
    return sum(
        math.prod(max(0, signed(values[node], kernel.size_nodes[node].bits)) for node in array.lengths)
        * array.element_bytes
        for array in kernel.local_arrays
        if not array.is_shared
    )


def without_notes(
    kernel: KernelInfo,
    constants: Sequence[SpecConstantInfo],
    entries: tuple[SpecEntry, ...],
    max_shared_bytes: int,
    device_name: str,
) -> tuple[SpecEntry, ...]:
    """Returns the specialization of a kernel, in debug mode without the bits that say what was written to its shared
    memory where these do not fit; the log says so.

    Args: as of `check_array_sizes`.
    """
    switch = kernel.abi.without_notes_spec_id
    if switch is None:
        return entries
    fewer = (*entries, SpecEntry(switch, (1).to_bytes(4, "little")))
    needed, without = (_shared_bytes(kernel, constants, found) for found in (entries, fewer))
    if needed <= max_shared_bytes:
        return entries
    if without <= max_shared_bytes:
        _tell_of_notes(kernel.name, kernel.location, needed - without, without, max_shared_bytes, device_name)
    return fewer


def _shared_bytes(
    kernel: KernelInfo, constants: Sequence[SpecConstantInfo], entries: Sequence[SpecEntry]
) -> int:
    spec_values = {entry.spec_id: int.from_bytes(entry.data, "little", signed=True) for entry in entries}
    return _Sizes(kernel, constants, evaluate(kernel.size_nodes, spec_values)).total_bytes(True)


@lru_cache(maxsize=256)
def _tell_of_notes(
    kernel: str, location: Location | None, notes: int, used: int, limit: int, device: str
) -> None:
    """Says once that reads of unwritten shared memory are not found."""
    where = "" if location is None else f"{location}: "
    logger.warning(
        "%skernel '%s': reads of shared memory that nothing was written to are not found: that takes %d bytes beside "
        "the %d of its arrays, and device '%s' has %d (maxComputeSharedMemorySize)",
        where, kernel, notes, used, device, limit,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The lengths of a kernel's arrays for some values of the specialization constants."""

    kernel: KernelInfo
    constants: Sequence[SpecConstantInfo]
    values: Sequence[int]
    """Of `KernelInfo.size_nodes`."""

    def lengths(self, array: LocalArrayInfo) -> list[int]:
        """Returns the extents of an array."""
        return [signed(self.values[node], self.kernel.size_nodes[node].bits) for node in array.lengths]

    def total_bytes(self, is_shared: bool) -> int:
        """Returns the size of all shared or all private arrays."""
        return sum(
            math.prod(self.lengths(array)) * array.element_bytes
            for array in self.kernel.local_arrays
            if array.is_shared is is_shared
        )

    def too_short(self, array: LocalArrayInfo, dimension: int) -> InvalidError:
        """Returns the error for a length below 1."""
        where = f"{array.location}: " if array.location is not None else ""
        return InvalidError(
            f"{where}kernel '{self.kernel.name}': the length {_spelled(array, dimension)} of an array is "
            f"{self.lengths(array)[dimension]}, expected at least 1{self._of_constants([array.lengths[dimension]])}",
            location=array.location,
        )

    def too_large(self, is_shared: bool, there_is: str) -> KernelNotSupportedError:
        """Returns the error for more memory than `there_is`."""
        arrays = [array for array in self.kernel.local_arrays if array.is_shared is is_shared]
        nodes = [node for array in arrays for node in array.lengths]
        return KernelNotSupportedError(
            f"kernel '{self.kernel.name}' needs {self.total_bytes(is_shared)} bytes of "
            f"{'shared' if is_shared else 'private'} memory; {there_is}: "
            + ", ".join(map(self._described, arrays))
            + self._of_constants(nodes),
            location=arrays[0].location or self.kernel.location,
        )

    def _described(self, array: LocalArrayInfo) -> str:
        where = f" ({array.location})" if array.location is not None else ""
        nodes = [self.kernel.size_nodes[node] for node in array.lengths]
        if not array.spelled and all(node.opcode == "constant" for node in nodes):  # of other sources
            return f"an array of {math.prod(self.lengths(array)) * array.element_bytes} bytes{where}"
        extents = [
            str(length)
            if _spelled(array, dimension) == str(length)
            else f"{_spelled(array, dimension)} = {length}"
            for dimension, length in enumerate(self.lengths(array))
        ]
        return f"an array of {' × '.join(extents)} elements of {array.element_bytes} bytes{where}"

    def _of_constants(self, nodes: Sequence[int]) -> str:
        """Returns the specialization constants that lengths depend on, as text to end a message with.

        Lengths that the launch gives have no name; the text of the array says them.
        """
        names = {leaf.spec_id: constant.name for constant in self.constants for leaf in constant.leaves}
        sizes = zip(self.kernel.abi.local_size_spec_ids or (), ("last", "middle", "first"), strict=False)
        names |= {
            spec_id: f"the local size in the {place} dimension"
            for spec_id, place in sizes
            if spec_id is not None
        }
        found: dict[str, int] = {}
        pending = list(nodes)
        while pending:
            position = pending.pop()
            current = self.kernel.size_nodes[position]
            if current.opcode == "spec_constant":
                name = names.get(current.operands[0])
                if name is not None:
                    found[name] = signed(self.values[position], current.bits)
            elif current.opcode != "constant":
                pending.extend(current.operands)
        return "".join(f"; {name} is {value}" for name, value in sorted(found.items()))


def _spelled(array: LocalArrayInfo, dimension: int) -> str:
    return array.spelled[dimension] if dimension < len(array.spelled) else "an expression of constants"
