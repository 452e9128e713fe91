"""Reads single files out of a Debian package without unpacking or running anything.

A ``.deb`` is an ``ar`` archive of ``debian-binary``, ``control.tar.*`` and ``data.tar.*`` (deb(5)).  Only
regular files asked for by name are returned, as bytes, so nothing in the package decides where something is
written.
"""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from ..ir.errors import InvalidError

_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60
MAX_FILE_BYTES = 256 << 20
"""Largest file that is read out; more means that the package is not what it should be."""


class _Section(io.RawIOBase):
    """The bytes of one ar member as a file, so that 100 MB of package never lie in memory."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        self._file = file
        self._left_bytes = size_bytes

    def read(self, size: int = -1, /) -> bytes:
        if size < 0 or size > self._left_bytes:
            size = self._left_bytes
        data = self._file.read(size)
        self._left_bytes -= len(data)
        return data


def read_files(deb: Path, section: str, names: Collection[str]) -> dict[str, bytes]:
    """Returns the contents of the regular files `names` in one section of the package.

    Args:
      deb: the package.
      section: ``"control"`` or ``"data"``.
      names: paths from the root without a leading slash, ``usr/lib/…``.

    Raises:
      InvalidError: `deb` is no Debian package, is cut short, uses a compression this Python cannot read, or
      lacks one
        of `names`.
    """
    with deb.open("rb") as file:
        for member, size_bytes in _ar_members(file, deb):
            if member.startswith(f"{section}.tar"):
                try:
                    return _read_tar(_Section(file, size_bytes), deb, names)
                except (tarfile.TarError, EOFError, OSError) as error:
                    raise InvalidError(
                        f"{deb}: {member} cannot be read by Python {sys.version.split()[0]}: {error}"
                    ) from error
    raise InvalidError(f"{deb} is no Debian package: it has no section {section}.tar")


def _ar_members(file: BinaryIO, deb: Path) -> Iterator[tuple[str, int]]:
    """Yields name and size of each member, with `file` standing at its first byte."""
    if file.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise InvalidError(f"{deb} is no Debian package: it does not begin with {_AR_MAGIC!r}")
    while header := file.read(_AR_HEADER_BYTES):
        size_text = header[48:58].strip()
        if len(header) != _AR_HEADER_BYTES or header[58:60] != b"`\n" or not size_text.isdigit():
            raise InvalidError(f"{deb}: damaged member header at byte {file.tell() - len(header)}")
        start, size_bytes = file.tell(), int(size_text)
        yield header[:16].decode("ascii", "replace").strip().rstrip("/"), size_bytes
        file.seek(start + size_bytes + size_bytes % 2)  # members lie on even offsets


def _read_tar(section: _Section, deb: Path, names: Collection[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=section, mode="r|*") as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            if name not in names:
                continue
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or member.size > MAX_FILE_BYTES:
                raise InvalidError(
                    f"{deb}: {name} is {member.size} bytes, expected a regular file of a few MB"
                )
            found[name] = content.read()
            if len(found) == len(names):
                return found
    missing = sorted(set(names) - set(found))
    raise InvalidError(f"{deb} lacks {', '.join(missing)}")
