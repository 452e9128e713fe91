"""Entries of a cache on disk: one file each, whole or not there, bounded in total, safe among processes.

An entry is a header (magic, format, size, SHA-256 over its name and payload) and the payload.  It is written
beside and moved into place, so that a reader sees an old entry or a new one, and a process that is killed
leaves at most a temporary file, which `prune` removes.  What does not read back as it was written is removed
and counts as absent.  Nothing here raises for what the disk does: without a cache everything still works.

The checksum finds damage, not attackers.  Against those: a folder that somebody else owns or may write to is
refused, and so is a file of another owner; who can write there as the user can run code as the user anyway.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..ir.config import config
from ..ir.lazy_logging import logger_of
from ..ir.sha256 import sha256
from .user_folders import user_cache_folder

logger = logger_of(__name__)

MAX_ENTRY_BYTES: Final = 64 << 20
"""Nothing larger is written or read."""
STALE_SECONDS: Final = 600.0
"""Age from which a temporary file belongs to a process that is gone; writing one takes milliseconds."""
SCAN_AFTER_BYTES: Final = 1 << 20
"""How much one process writes before it adds the cache up again."""

_MAGIC: Final = b"LPCACHE\0"
_FORMAT: Final = 1
_HEADER: Final = struct.Struct("<8sIIQ32s")
_TEMPORARY: Final = "tmp-"
_LOCK: Final = "lock"
_FOLDER: Final = "v1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the cache."""

    name: str
    size_bytes: int
    used_at: float
    """Seconds of the epoch when it was last written or read."""


class DiskCache:
    """The entries of one folder.

    Args:
        folder: exists, and `is_private`.
        limit_bytes: of all entries; `store` removes those that were not used for longest.
    """

    outlives_process = True

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self._unscanned_bytes = SCAN_AFTER_BYTES
        self._has_warned = False

    def load(self, name: str) -> bytes | None:
        """Returns the payload of an entry, None where there is none; a damaged one is removed."""
        path = self.folder / name
        try:
            data = _read_own(path)
        except FileNotFoundError:
            logger.debug("there is no entry %s", name)
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        payload = None if data is None else _payload(name, data)
        if payload is None:
            logger.info("removed the damaged cache entry %s", path)
            self.remove(name)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return payload

    def store(self, name: str, payload: bytes) -> bool:
        """Writes an entry, in place of one of that name; returns whether it is there now."""
        if len(payload) > min(MAX_ENTRY_BYTES, self.limit_bytes):
            return False
        digest = _digest(name, payload)
        data = _HEADER.pack(_MAGIC, _FORMAT, 0, len(payload), digest) + payload
        temporary = self.folder / f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            try:
                _write_new(temporary, data)
            except FileNotFoundError:  # somebody removed the folder
                self._make_folder()
                _write_new(temporary, data)
            os.replace(temporary, self.folder / name)
        except OSError as error:
            self._warn("write", error)
            with contextlib.suppress(OSError):
                temporary.unlink()
            return False
        logger.debug("wrote the entry %s, %d bytes", name, len(data))
        self._unscanned_bytes += len(data)
        if self._unscanned_bytes >= SCAN_AFTER_BYTES:
            self._unscanned_bytes = 0
            self.prune()
        return True

    def _make_folder(self) -> None:
        """Makes the folder anew; OSError where it cannot be, or where there is another by now that is not private."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refusal = _refusal(self.folder, self.folder.lstat())
        if refusal is not None:
            raise PermissionError(refusal)

    def lock(self) -> contextlib.AbstractContextManager[bool]:
        """Keeps others from changing entries between reading and writing one, if all take it; see `file_lock`."""
        from .file_lock import file_lock  # few programs write what they have read

        return file_lock(self.folder / _LOCK)

    def remove(self, name: str) -> bool:
        """Removes an entry that may be there; returns whether it did."""
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            self._warn("remove entries from", error)
            return False
        return True

    def entries(self) -> tuple[Entry, ...]:
        """Returns every entry, the one that was used last first; none where the folder cannot be read.

        Those of the future come last: the clock was wrong, and they would stay until it gets there.
        """
        found = [entry for entry in self._files() if not entry.name.startswith(_TEMPORARY)]
        latest = time.time() + STALE_SECONDS  # clocks of other machines may be ahead by as much
        return tuple(sorted(found, key=lambda e: (e.used_at <= latest, e.used_at), reverse=True))

    def prune(self, limit_bytes: int | None = None) -> int:
        """Removes what was not used for longest until the rest fits, and stale temporary files.

        Args:
            limit_bytes: None: that of the cache.

        Returns:
            How many entries are gone.
        """
        for entry in self._files():
            if entry.name.startswith(_TEMPORARY) and abs(time.time() - entry.used_at) > STALE_SECONDS:
                self.remove(entry.name)
        left = self.limit_bytes if limit_bytes is None else limit_bytes
        removed = 0
        for entry in self.entries():
            left -= entry.size_bytes
            if left < 0:
                removed += self.remove(entry.name)
        return removed

    def clear(self) -> int:
        """Removes every entry; returns how many.  Another process may be writing: its temporary file stays."""
        return self.prune(0)

    def _files(self) -> Iterator[Entry]:
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for item in found:
                with contextlib.suppress(OSError):  # another process removed it meanwhile
                    status = item.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and item.name != _LOCK:
                        yield Entry(item.name, status.st_size, status.st_mtime)

    def _warn(self, what: str, error: OSError) -> None:
        """Logs once that the cache does not work; a full disk is no error of the program."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning("cannot %s the cache in %s: %s", what, self.folder, error)


def _payload(name: str, data: bytes) -> bytes | None:
    """Returns what an entry holds, None where it is not what `store` wrote under this name."""
    if len(data) < _HEADER.size:
        return None
    magic, version, _, size, digest = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if magic != _MAGIC or version != _FORMAT or size != len(payload):
        return None
    return payload if _digest(name, payload) == digest else None


def _digest(name: str, payload: bytes) -> bytes:
    return sha256(name.encode() + b"\0" + payload).digest()


def _read_own(path: Path) -> bytes | None:
    """Reads a file of this user's; None where it is another's, no plain file, or too large."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_ENTRY_BYTES + _HEADER.size:
            return None
        if not _is_ours(status):
            return None
        parts: list[bytes] = []
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _write_new(path: Path, data: bytes) -> None:
    """Writes a file that was not there, readable by nobody else."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _is_ours(status: os.stat_result) -> bool:
    """Whether only this user can have written it.  Windows guards profiles by access lists instead."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# The cache of this process


def cache_root() -> Path:
    """Returns ``lp.config.cache_dir``, else the user's cache folder of lapilli."""
    return config.cache_dir or user_cache_folder()


def open_cache() -> DiskCache | None:
    """Returns the cache that the options name, None where there is none to be had; says why once.

    Raises:
        InvalidError: an option takes no such value.
    """
    return _opened(cache_root(), config.cache_size) if config.cache else None


@lru_cache(maxsize=8)
def _opened(root: Path, limit_bytes: int) -> DiskCache | None:
    folder = root / _FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        logger.warning("there is no cache in %s: %s", root, error)
        return None
    refusal = _refusal(folder, status)
    if refusal is not None:
        logger.warning("the cache in %s is not used: %s", root, refusal)
        return None
    return DiskCache(folder, limit_bytes)


def _refusal(folder: Path, status: os.stat_result) -> str | None:
    """Returns why the folder of entries cannot be trusted, and what to do; None where it can."""
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is a link or a file where a folder should be; remove it, or set LAPILLI_CACHE_DIR"
    if _is_ours(status):
        return None
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to another user; set LAPILLI_CACHE_DIR"
    return f"others may write to {folder}; run: chmod go-w {folder}"


def cache_trouble(root: Path) -> str | None:
    """Returns why a process could not keep its compilations below `root`, None where it can; changes nothing."""
    folder = root / _FOLDER
    try:
        return _refusal(folder, folder.lstat()) or (
            None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"
        )
    except FileNotFoundError:
        pass
    except OSError as error:
        return f"{folder} cannot be used: {error.strerror}"
    existing = next(path for path in folder.parents if os.path.lexists(path))
    if not existing.is_dir():
        return f"{existing} is no folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} cannot be written"
