"""What can be told of a file descriptor before a driver takes it: drivers look no closer."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

_OTHERS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a block device"),
)
"""What nothing is exported as."""


def require_shared_fd(what: str, device: LogicalDevice, fd: int, least_bytes: int) -> None:
    """Raises where a file descriptor cannot be memory, or a semaphore, that a driver exported.

    Software drivers read and map the file: a pipe would hold them up, and a file that is too short or not writable
    would end the process at the first access.  GPU drivers have files of their own, whose mode says nothing.

    Args:
        what: who asks, for messages.
        device: whose driver is to take it.
        fd: a file descriptor.
        least_bytes: that a file must hold.

    Raises:
        InvalidError: not open, of another kind, too short, or not writable.
    """
    import fcntl  # Unix only, as such file descriptors are

    try:
        found = os.fstat(fd)
    except (OSError, OverflowError) as error:
        raise InvalidError(f"{what}: {fd} is no open file descriptor: {error}") from error
    is_file = stat.S_ISREG(found.st_mode)
    other = next((name for test, name in _OTHERS if test(found.st_mode)), "")
    if other or (device.is_cpu and not is_file):
        raise InvalidError(
            f"{what}: file descriptor {fd} is {other or 'no file'}; expected one that export_fd, or another program "
            "that uses the same driver, exported"
        )
    if is_file and found.st_size < least_bytes:
        raise InvalidError(
            f"{what}: the file descriptor holds {found.st_size:,} bytes; expected {least_bytes:,} or more"
        )
    if device.is_cpu and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
        raise InvalidError(f"{what}: file descriptor {fd} is not open for reading and writing")
