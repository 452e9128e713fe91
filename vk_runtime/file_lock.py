"""A lock that processes and threads take before they change an entry of a cache that they have read.

The system gives it back when its owner dies, however that is.  It is advisory, and its file stays where it is: who
removes the folder meanwhile makes another lock, which at worst is as if there were none.  So is a file system
without locks.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

from ..ir.lazy_logging import logger_of

logger = logger_of(__name__)

PATIENCE_S: Final = 2.0
"""How long one waits for others, who hold it for milliseconds; one that was stopped must not keep programs from
ending."""
_PAUSE_S: Final = 0.005


@contextlib.contextmanager
def file_lock(path: Path, patience_s: float = PATIENCE_S) -> Generator[bool]:
    """Holds a lock; gives whether it does, which it may not: see the module.

    Args:
        path: of its file, which is made, in a folder that only this user may write to.
        patience_s: how long to wait for another owner.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        logger.info("there is no lock %s: %s", path, error)
        yield False
        return
    try:
        is_held = _take(descriptor, time.monotonic() + patience_s)
        if not is_held:
            logger.info("the lock %s is not to be had", path)
        try:
            yield is_held
        finally:
            if is_held:  # closing would not do where a fork has the descriptor as well
                _give_back(descriptor)
    finally:
        os.close(descriptor)


def _take(descriptor: int, end: float) -> bool:
    while True:
        try:
            _try(descriptor)
            return True
        except (BlockingIOError, PermissionError):  # Unix, Windows
            if time.monotonic() >= end:
                return False
        except OSError:  # some network file systems have none
            return False
        time.sleep(_PAUSE_S)


if os.name == "nt":
    import msvcrt

    def _try(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _give_back(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _give_back(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
