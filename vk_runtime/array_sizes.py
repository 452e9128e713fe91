"""Whether the arrays that a kernel makes have lengths and a total size that the device can have.  Pure.

No driver checks it: SwiftShader ends the process over a length of 0, and both software drivers accept more
shared memory than they have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..ir.errors import InvalidError, KernelNotSupportedError
from ..ir.kernel_info import KernelInfo, LocalArrayInfo, SpecConstantInfo
from ..ir.size_arithmetic import evaluate, signed
from .specialization import SpecEntry

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
        KernelNotSupportedError: more shared or private memory than there is.
    """
    if not kernel.local_arrays:
        return
    spec_values = {entry.spec_id: int.from_bytes(entry.data, "little", signed=True) for entry in entries}
    values = evaluate(kernel.size_nodes, spec_values)
    totals = {True: 0, False: 0}
    for array in kernel.local_arrays:
        lengths = [signed(values[node]) for node in array.lengths]
        for dimension, length in enumerate(lengths):
            if length < 1:
                raise _too_short(kernel, array, dimension, length, constants, values)
        totals[array.is_shared] += math.prod(lengths) * array.element_bytes
    _check_total(kernel, totals[True], max_shared_bytes, "shared", "maxComputeSharedMemorySize", device_name)
    _check_total(kernel, totals[False], MAX_PRIVATE_BYTES, "private", "of each work-item", device_name)


def private_bytes(kernel: KernelInfo, entries: Sequence[SpecEntry]) -> int:
    """Returns the bytes of private arrays of one work-item, for the values of specialization constants `entries`."""
    spec_values = {entry.spec_id: int.from_bytes(entry.data, "little", signed=True) for entry in entries}
    values = evaluate(kernel.size_nodes, spec_values)
    return sum(
        math.prod(max(0, signed(values[node])) for node in array.lengths) * array.element_bytes
        for array in kernel.local_arrays
        if not array.is_shared
    )


def _too_short(
    kernel: KernelInfo,
    array: LocalArrayInfo,
    dimension: int,
    length: int,
    constants: Sequence[SpecConstantInfo],
    values: Sequence[int],
) -> InvalidError:
    known = _constant_values(kernel, array.lengths[dimension], constants, values)
    spelled = array.spelled[dimension] if dimension < len(array.spelled) else "an expression of constants"
    where = f"{array.location}: " if array.location is not None else ""
    return InvalidError(
        f"{where}kernel '{kernel.name}': the length {spelled} of an array is {length}, expected at least 1"
        + "".join(f"; {name} is {value}" for name, value in known.items()),
        location=array.location,
    )


def _constant_values(
    kernel: KernelInfo, node: int, constants: Sequence[SpecConstantInfo], values: Sequence[int]
) -> Mapping[str, int]:
    """Returns the specialization constants that a length depends on, by name."""
    names = {leaf.spec_id: constant.name for constant in constants for leaf in constant.leaves}
    found: dict[str, int] = {}
    pending = [node]
    while pending:
        position = pending.pop()
        current = kernel.size_nodes[position]
        if current.opcode == "spec_constant":
            found[names.get(current.operands[0], "the local size")] = signed(values[position])
        elif current.opcode != "constant":
            pending.extend(current.operands)
    return dict(sorted(found.items()))


def _check_total(
    kernel: KernelInfo, need: int, limit: int, kind: str, limit_name: str, device_name: str
) -> None:
    if need > limit:
        raise KernelNotSupportedError(
            f"kernel '{kernel.name}' needs {need} bytes of {kind} memory; device '{device_name}' has {limit} "
            f"({limit_name})",
            location=kernel.location,
        )
