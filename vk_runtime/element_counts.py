"""How many elements an array may have for a kernel: positions have 32 bits, with ``index=lp.i64`` 64."""

from __future__ import annotations

from ..ir.errors import KernelArgumentError
from ..ir.kernel_info import BufferParameter, KernelInfo

MOST_ELEMENTS = (1 << 31) - 1
"""Elements of an array that positions of 32 bits reach."""
MOST_BYTES = MOST_ELEMENTS + 1
"""Bytes of the memory of so many single bytes, in whole words."""


def too_many_elements(kernel: KernelInfo, name: str, count: int) -> KernelArgumentError:
    """Returns the error for an array of `count` elements as argument `name`."""
    return KernelArgumentError(
        f"kernel '{kernel.name}', argument '{name}': the array has {count:,} elements; ids, sizes and positions of the "
        f"kernel have 32 bits and reach {MOST_ELEMENTS:,}; declare it @lp.kernel(index=lp.i64)"
    )


def check_count(kernel: KernelInfo, parameter: BufferParameter | None, nbytes: int) -> None:
    """Checks an array that a descriptor shows: that ends below 4 GiB, so that only single bytes can be too many.

    Args:
        kernel: whose argument it is.
        parameter: of the kernel; None where the buffer is the runtime's own.
        nbytes: of its memory, whole words: up to three more than it has elements.

    Raises:
        KernelArgumentError: positions do not reach all of it.
    """
    is_counted = parameter is not None and parameter.ndim and parameter.dtype in ("bool", "i8", "u8")
    if parameter is not None and is_counted and kernel.abi.index_bits == 32 and nbytes > MOST_BYTES:
        raise too_many_elements(kernel, parameter.name, nbytes)
