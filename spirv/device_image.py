"""The seam between the compiler and the runtime: one SPIR-V module and all that a launch must know of it.

Standard library only, immutable and serialisable (see `to_bytes`), so that a process that finds an image
in a cache or a file never imports the compiler.  What comes from disk is untrusted: `from_bytes` checks
every field and raises `InvalidError`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from typing import Final

from ..ir.aspects import Aspect
from ..ir.errors import InvalidError
from ..ir.kernel_info import KernelInfo, Requirements, SpecConstantInfo
from ..ir.sha256 import sha256
from ..ir.target_env import TargetEnv
from .image_checks import check_image
from .image_codec import decode, encode

MAGIC: Final = b"LAPILLI\0"
FORMAT_VERSION: Final = 2
"""Rises with every change of the format or of the meaning of a field; other versions are refused."""
MAX_HEADER_BYTES: Final = 16 << 20
MAX_SPIRV_BYTES: Final = 256 << 20

# Magic, format version, bytes of the header, bytes of the SPIR-V, digest; the JSON header and the words
# follow.
_PREFIX: Final = struct.Struct("<8sIIQ32s")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceImage:
    """The unit of compiling and linking: one SPIR-V module."""

    spirv: bytes
    """Little-endian words, validated."""
    kernels: tuple[KernelInfo, ...]
    spec_constants: tuple[SpecConstantInfo, ...]
    """Only those the image refers to, in SpecId order."""
    requirements: Requirements
    target_env: TargetEnv
    imports: tuple[str, ...] = ()
    """Symbols that the code calls and other images define, sorted; an image that has any cannot run before it is
    linked."""
    exports: tuple[str, ...] = ()
    """Symbols that the code defines for other images, sorted; linking drops them, as Vulkan wants."""
    _digest: bytes = field(init=False, default=b"", compare=False, repr=False)
    _code_digest: bytes = field(init=False, default=b"", compare=False, repr=False)

    @property
    def digest(self) -> bytes:
        """SHA-256 over everything else; identifies the image in caches."""
        if not self._digest:
            object.__setattr__(self, "_digest", _digest_of(_header(self), self.spirv))
        return self._digest

    @property
    def code_digest(self) -> bytes:
        """SHA-256 over the SPIR-V: what a driver makes of an image depends on no more, wherever its kernels stand in
        which file."""
        if not self._code_digest:
            object.__setattr__(self, "_code_digest", sha256(self.spirv).digest())
        return self._code_digest

    @property
    def is_object(self) -> bool:
        """Whether it has to be linked before a driver may see it."""
        return bool(self.imports or self.exports)

    @property
    def has_foreign_code(self) -> bool:
        """Whether it is made of modules of other compilers, or linked with such: our own have no generator."""
        return self.spirv[8:12] != bytes(4)

    def kernel(self, name: str) -> KernelInfo:
        """Returns the kernel called `name`; KeyError where the image has none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise KeyError(name)

    @property
    def spec_constant_block(self) -> bytes | None:
        """The default values of all specialization constants, packed as `SpecConstantInfo.offset_bytes` says; None
        where none of them is emulated."""
        if not any(constant.is_emulated for constant in self.spec_constants):
            return None
        return b"".join(constant.default for constant in self.spec_constants)

    def lacking(self, device_aspects: frozenset[Aspect]) -> tuple[int, ...]:
        """Returns the required aspects that `device_aspects` does not hold, ascending."""
        return tuple(a for a in self.requirements.aspects if a not in device_aspects)

    def to_bytes(self) -> bytes:
        """Returns the image as bytes: a versioned prefix with the digest, a JSON header, the SPIR-V words."""
        header = _header(self)
        digest = _digest_of(header, self.spirv)  # of what is written: `relocated` keeps another
        return _PREFIX.pack(MAGIC, FORMAT_VERSION, len(header), len(self.spirv), digest) + header + self.spirv

    @staticmethod
    def from_bytes(data: bytes) -> DeviceImage:
        """Reads what `to_bytes` wrote.

        The SPIR-V itself is taken as it is: whoever takes images from strangers validates it.

        Raises:
            InvalidError: the bytes are no image, of another format version, cut, changed (the digest
                differs), or describe something that cannot be.
        """
        header, spirv, digest = _split(data)
        try:
            fields = json.loads(header)
        # RecursionError: brackets nested without end.
        except (ValueError, RecursionError) as error:
            raise InvalidError(f"the header of the device image is no JSON: {error}") from error
        metadata = decode(_Metadata, fields)
        if _digest_of(header, spirv) != digest:
            raise InvalidError("the device image is damaged: its digest differs from its content")
        image = _assembled(metadata, spirv, digest)
        check_image(image)
        return image

    def relocated(self, kernels: tuple[KernelInfo, ...]) -> DeviceImage:
        """Returns the image with its kernels at other source locations: the same code, which keeps its digest."""
        return _assembled(replace(_metadata(self), kernels=kernels), self.spirv, self.digest)

    def identified(self, digest: bytes) -> DeviceImage:
        """Returns the image under another digest, as one that has a driver's code besides."""
        return _assembled(_metadata(self), self.spirv, digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metadata:
    """What the header holds."""

    kernels: tuple[KernelInfo, ...]
    spec_constants: tuple[SpecConstantInfo, ...]
    requirements: Requirements
    target_env: TargetEnv
    imports: tuple[str, ...]
    exports: tuple[str, ...]


def _metadata(image: DeviceImage) -> _Metadata:
    return _Metadata(
        kernels=image.kernels,
        spec_constants=image.spec_constants,
        requirements=image.requirements,
        target_env=image.target_env,
        imports=image.imports,
        exports=image.exports,
    )


def _assembled(metadata: _Metadata, spirv: bytes, digest: bytes) -> DeviceImage:
    """Returns an image whose digest is known."""
    image = object.__new__(DeviceImage)
    for name in _Metadata.__slots__:
        object.__setattr__(image, name, getattr(metadata, name))
    object.__setattr__(image, "spirv", spirv)
    object.__setattr__(image, "_digest", digest)
    object.__setattr__(image, "_code_digest", b"")
    return image


def _header(image: DeviceImage) -> bytes:
    return json.dumps(encode(_metadata(image)), separators=(",", ":"), sort_keys=True).encode("ascii")


def _digest_of(header: bytes, spirv: bytes) -> bytes:
    return sha256(header + b"\0" + spirv).digest()


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    if len(data) < _PREFIX.size:
        raise InvalidError(f"a device image has at least {_PREFIX.size} bytes; found {len(data)}")
    magic, version, header_bytes, spirv_bytes, digest = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise InvalidError(f"a device image starts with {MAGIC!r}; found {magic!r}")
    if version != FORMAT_VERSION:
        raise InvalidError(
            f"the device image has format {version}; this lapilli reads format {FORMAT_VERSION}"
        )
    if header_bytes > MAX_HEADER_BYTES or spirv_bytes > MAX_SPIRV_BYTES:
        raise InvalidError(f"the device image claims {header_bytes} + {spirv_bytes} bytes, more than is read")
    expected = _PREFIX.size + header_bytes + spirv_bytes
    if len(data) != expected:
        raise InvalidError(f"the device image claims {expected} bytes; found {len(data)}")
    stop = _PREFIX.size + header_bytes
    return data[_PREFIX.size : stop], data[stop:], digest
