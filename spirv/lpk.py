"""Kernel bundles as files: the ``.lpk`` format, written and read.  docs/lpk-format.md describes the bytes.

A file is a prefix, a header and blobs of code.  The header says all that is known without looking into code:
kernels with their signatures, specialization constants, and images with their property sets.  It has a checksum of its
own and so has every blob, so that damaged code is found when it is needed, and not before a device was refused.

Standard library only.  What comes from disk is untrusted: every length is checked against the file before anything is
read, every field against its type, and whatever is wrong is an `InvalidError`.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..ir.errors import InvalidError
from ..ir.kernel_info import KernelInfo, SpecConstantInfo
from ..ir.lpk_records import ConstantRecord, KernelRecord, NativeTag, PropertyRecord
from ..ir.property_set import requirements_of_properties
from ..ir.target_env import SPIRV_TARGET, TargetEnv
from .device_image import DeviceImage
from .image_codec import decode, encode

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

MAGIC: Final = b"\x89LPK\r\n\x1a\n"
"""Begins and breaks as PNG's does, so that a transfer as text is noticed."""
FORMAT_VERSION: Final = 1
"""Rises with every change of the format or of the meaning of a field; other versions are refused."""
MAX_HEADER_BYTES: Final = 8 << 20
MAX_BLOB_BYTES: Final = 256 << 20
MAX_FILE_BYTES: Final = 1 << 30
MAX_IMAGES: Final = 4096

_PREFIX: Final = struct.Struct("<8sII32s")
"""Magic, format version, bytes of the header, SHA-256 of the header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRecord:
    """Where some code lies."""

    offset_bytes: int
    """From the end of the header."""
    size_bytes: int
    sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """One device image."""

    target: str
    """`SPIRV_TARGET`, or the name of the target that a native image is for."""
    properties: tuple[PropertyRecord, ...]
    """What a device must have, see `ir.property_set`."""
    kernels: tuple[KernelInfo, ...]
    ids: tuple[int, ...]
    """For each of `kernels`, its position in `LpkHeader.kernels`."""
    spec_constants: tuple[SpecConstantInfo, ...]
    symbols: tuple[str, ...]
    """The specialization constants that its source reads, by symbol: also those that are frozen in its code."""
    target_env: TargetEnv
    features: tuple[str, ...] = ()
    """Vulkan features that are no aspects, see `Requirements`."""
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    code: int | None = None
    """The blob of its SPIR-V; None: the target cannot run it, only what it needs is known."""
    native: NativeTag | None = None
    """What device a native image was made on."""
    native_code: int | None = None
    """The blob that the driver made."""

    def property_sets(self) -> dict[str, dict[str, bytes]]:
        """Returns the properties by set and name."""
        sets: dict[str, dict[str, bytes]] = {}
        for item in self.properties:
            sets.setdefault(item.set, {})[item.name] = item.data
        return sets

    def image(self, spirv: bytes) -> DeviceImage:
        """Returns the image with its code."""
        return DeviceImage(
            spirv=spirv,
            kernels=self.kernels,
            spec_constants=self.spec_constants,
            requirements=replace(requirements_of_properties(self.property_sets()), features=self.features),
            target_env=self.target_env,
            imports=self.imports,
            exports=self.exports,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LpkHeader:
    """All of a file but its code."""

    producer: str
    """What wrote it."""
    kernels: tuple[KernelRecord, ...]
    constants: tuple[ConstantRecord, ...]
    images: tuple[ImageRecord, ...]
    blobs: tuple[BlobRecord, ...]


@dataclass(slots=True)
class BlobTable:
    """The code of a file that is being written; equal code is kept once."""

    _positions: dict[bytes, int] = field(default_factory=dict[bytes, int])
    _parts: list[bytes] = field(default_factory=list[bytes])

    def add(self, data: bytes) -> int:
        """Returns the position of some code, which is added where it is new."""
        digest = hashlib.sha256(data).digest()
        if digest not in self._positions:
            self._positions[digest] = len(self._parts)
            self._parts.append(data)
        return self._positions[digest]

    def records(self) -> tuple[BlobRecord, ...]:
        """Returns where each part will lie."""
        offset, found = 0, list[BlobRecord]()
        for digest, data in zip(self._positions, self._parts, strict=True):
            found.append(BlobRecord(offset_bytes=offset, size_bytes=len(data), sha256=digest))
            offset += len(data)
        return tuple(found)

    def data(self) -> bytes:
        """Returns all parts, in order."""
        return b"".join(self._parts)


def _own_name() -> str:
    package = __name__.rpartition(".spirv.")[0]
    return f"lapilli {getattr(sys.modules.get(package), '__version__', '')}".rstrip()


def to_bytes(
    kernels: Sequence[KernelRecord],
    constants: Sequence[ConstantRecord],
    images: Sequence[ImageRecord],
    blobs: BlobTable,
    producer: str | None = None,
) -> bytes:
    """Returns a file.  Equal arguments give equal bytes.

    Args:
        producer: what the header says wrote it; None: this lapilli, with its version.
    """
    header = LpkHeader(
        producer=producer if producer is not None else _own_name(),
        kernels=tuple(kernels),
        constants=tuple(constants),
        images=tuple(images),
        blobs=blobs.records(),
    )
    text = json.dumps(encode(header), separators=(",", ":"), sort_keys=True).encode("ascii")
    if len(text) > MAX_HEADER_BYTES:
        raise InvalidError(
            f"the bundle file would have {len(text)} bytes of header; at most {MAX_HEADER_BYTES}"
        )
    prefix = _PREFIX.pack(MAGIC, FORMAT_VERSION, len(text), hashlib.sha256(text).digest())
    return prefix + text + blobs.data()


class LpkFile:
    """A bundle file that was opened: its header, checked, and its code, read and checked piece by piece.

    Args:
        data: the whole file.
        where: names it in messages.

    Raises:
        InvalidError: no bundle file, one of another version, cut, or damaged.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        text = self._header_text(data)
        self._code = memoryview(data)[_PREFIX.size + len(text) :]
        self.digest = hashlib.sha256(data[: _PREFIX.size]).digest()
        """Identifies the header."""
        try:
            self.header = decode(LpkHeader, json.loads(text))
        # RecursionError: brackets nested without end.
        except (ValueError, RecursionError) as error:
            raise self.error(f"its header cannot be read: {error}") from error
        self._check()

    @staticmethod
    def open(path: Path | Traversable) -> LpkFile:
        """Reads a file; errors as the constructor's, and InvalidError where it cannot be read or is too large."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except MemoryError:
            raise InvalidError(f"the bundle file {path} does not fit into memory", code="LP1060") from None
        except Exception as error:  # OSError, ValueError of a NUL in a path, and those of damaged zip files
            reason = getattr(error, "strerror", None) or error
            if isinstance(error, NotADirectoryError):
                reason = f"{reason}; in a zip file give what importlib.resources.files(…) has, not its text"
            raise InvalidError(f"the bundle file {path} cannot be read: {reason}", code="LP1060") from error
        return LpkFile(data, str(path))

    def error(self, problem: str) -> InvalidError:
        """Returns the error for something that is wrong with the file."""
        return InvalidError(
            f"the bundle file {self.where}: {problem}; make it again with lapilli build", code="LP1060"
        )

    def blob(self, position: int) -> bytes:
        """Returns some code.

        Raises:
            InvalidError: it is damaged.
        """
        record = self.header.blobs[position]
        data = bytes(self._code[record.offset_bytes : record.offset_bytes + record.size_bytes])
        if hashlib.sha256(data).digest() != record.sha256:
            raise self.error(f"code {position} is damaged: its checksum differs")
        return data

    def _header_text(self, data: bytes) -> bytes:
        if data.startswith(b"[Code|"):
            raise self.error(
                "it is a file table, for other tools; the name of a bundle file does not end in .table"
            )
        if data[: len(MAGIC)] != MAGIC:
            raise self.error(f"it is no bundle file: expected it to begin with {MAGIC!r}, found {data[:8]!r}")
        if len(data) < _PREFIX.size:
            raise self.error(f"it is cut: expected at least {_PREFIX.size} bytes, found {len(data)}")
        if len(data) > MAX_FILE_BYTES:
            raise self.error(f"expected at most {MAX_FILE_BYTES} bytes, found more")
        _, version, size, digest = _PREFIX.unpack_from(data)
        if version != FORMAT_VERSION:
            raise self.error(f"it has format version {version}, this lapilli reads {FORMAT_VERSION}")
        if size > MAX_HEADER_BYTES or _PREFIX.size + size > len(data):
            raise self.error(f"its header claims {size} bytes; it is cut or no header")
        text = data[_PREFIX.size : _PREFIX.size + size]
        if hashlib.sha256(text).digest() != digest:
            raise self.error("its header is damaged: the checksum differs")
        return text

    def _check(self) -> None:
        """Checks what the code of `images` and `blob` relies on."""
        header, end = self.header, 0
        for number, blob in enumerate(header.blobs):
            if blob.offset_bytes != end or not 0 <= blob.size_bytes <= MAX_BLOB_BYTES:
                raise self.error(f"code {number} lies at {blob.offset_bytes} with {blob.size_bytes} bytes")
            end += blob.size_bytes
        if end != len(self._code):
            raise self.error(f"expected {end} bytes of code, found {len(self._code)}")
        if len(header.images) > MAX_IMAGES:
            raise self.error(f"expected at most {MAX_IMAGES} images, found {len(header.images)}")
        if len({kernel.qualified_name for kernel in header.kernels}) != len(header.kernels):
            raise self.error("a kernel appears twice")
        if len({constant.symbol for constant in header.constants}) != len(header.constants):
            raise self.error("a specialization constant appears twice")
        for number, image in enumerate(header.images):
            self._check_image(number, image)

    def _check_image(self, number: int, image: ImageRecord) -> None:
        header = self.header
        if len(image.ids) != len(image.kernels) or len(set(image.ids)) != len(image.ids):
            raise self.error(f"image {number} has {len(image.kernels)} kernels and {len(image.ids)} names")
        if not all(0 <= position < len(header.kernels) for position in image.ids):
            raise self.error(f"image {number} names a kernel that is not there")
        for blob in (image.code, image.native_code):
            if blob is not None and not 0 <= blob < len(header.blobs):
                raise self.error(f"image {number} names code {blob}, which is not there")
        self._check_constants(number, image)
        if (image.native is None) != (image.target == SPIRV_TARGET) or (
            image.native_code is not None and (image.native is None or image.code is None)
        ):
            raise self.error(f"image {number} is neither SPIR-V nor native")
        try:
            requirements_of_properties(image.property_sets())
        except InvalidError as error:
            raise self.error(f"image {number}: {error}") from error

    def _check_constants(self, number: int, image: ImageRecord) -> None:
        header = self.header
        known = {constant.symbol: constant for constant in header.constants}
        for symbol in image.symbols:
            if symbol not in known:
                raise self.error(f"image {number}: specialization constant {symbol!r} is not described")
        # Foreign kernels have constants that no Python object stands for: their image alone knows the values.
        is_foreign = any(header.kernels[position].is_foreign for position in image.ids)
        for constant in image.spec_constants:
            found = known.get(constant.symbol)
            if found is None and is_foreign:
                continue
            if found is None or len(found.default) != constant.size_bytes:
                raise self.error(
                    f"image {number}: specialization constant {constant.symbol!r} is not described"
                )


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all, in place of one that is there; into what is no file, such as ``/dev/null``.

    Raises:
        InvalidError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{id(data):x}.tmp")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        raise InvalidError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
