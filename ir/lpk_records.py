"""What a bundle file says of kernels and constants, so that launching them needs neither their source nor a compiler.

Frozen dataclasses of scalars, encoded by `image_codec`.  `frontend.lpk_signatures` makes them of signatures and
types, and the reverse, and checks what they mean.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

TypeKind = Literal[
    "scalar", "vec", "fixed", "struct", "array", "image", "const", "local", "stream", "foreign"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRecord:
    """A type of the kernel language."""

    kind: str
    """A `TypeKind`; ``foreign``: the code alone says it, of all parameters of a kernel that no Python function made."""
    name: str = ""
    """Of a scalar, ``f32``, or of a struct; ``sampled`` of an image with a sampler."""
    element: TypeRecord | None = None
    """Of vectors, fixed arrays, arrays and images; of a constant parameter (``const``) its type."""
    shape: tuple[int, ...] = ()
    """The components of a vector, the extents of a fixed array, the number of dimensions of an array, also of one in
    the memory of a work-group (``local``)."""
    access: str = ""
    """Of an array or image: ``read``, ``write`` or ``read_write``; of an array also ``constant``."""
    fields: tuple[FieldRecord, ...] = ()
    """Of a struct."""
    alignment: int = 0
    """Of a struct, in bytes."""
    size_bytes: int = 0
    """Of a struct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRecord:
    """A member of a struct."""

    name: str
    type: TypeRecord
    offset_bytes: int
    default: bytes | None = None
    """Host bytes of what it is where it is not given; None: zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRecord:
    """A parameter that a launch gives an argument for."""

    name: str
    type: TypeRecord
    default: bytes | None = None
    """Host bytes of the value that it may be left out for."""
    is_keyword_only: bool = False
    is_positional_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecParameterRecord:
    """An ``lp.Spec`` parameter: a specialization constant that a launch may give by name."""

    name: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeNameRecord:
    """A name in an expression of ``local_size=``."""

    name: str
    symbol: str | None
    """Of the specialization constant that it names; None: a number."""
    value: int = 0
    """Of a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRecord:
    """One dimension of ``local_size=``: integer arithmetic over constants."""

    text: str
    names: tuple[SizeNameRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRecord:
    """A kernel apart from its code."""

    name: str
    """The user's name for it."""
    qualified_name: str
    """Python module and qualified name of the function."""
    parameters: tuple[ParameterRecord, ...]
    spec_parameters: tuple[SpecParameterRecord, ...] = ()
    local_size: tuple[SizeRecord, ...] | None = None
    """Slowest dimension first; None: the runtime chooses."""

    @property
    def is_foreign(self) -> bool:
        """Whether the code alone says what the parameters are."""
        return any(parameter.type.kind == "foreign" for parameter in self.parameters)


def foreign_record(name: str, qualified_name: str, parameter_names: Iterable[str]) -> KernelRecord:
    """Returns what a file says of a kernel that no Python function made: of SPIR-V, GLSL and other languages."""
    parameters = (ParameterRecord(name=p, type=TypeRecord(kind="foreign")) for p in parameter_names)
    return KernelRecord(name=name, qualified_name=qualified_name, parameters=tuple(parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRecord:
    """A specialization constant."""

    symbol: str
    name: str
    type: TypeRecord
    default: bytes
    """Host bytes."""
    value: bytes | None = None
    """Host bytes of the value that the bundle was given; None: the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyRecord:
    """One property of a set."""

    set: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeTag:
    """The device and driver that native code was made by."""

    kind: str
    """``pipeline_cache``: the data of a VkPipelineCache; ``pipeline_binary``: binaries of VK_KHR_pipeline_binary."""
    vendor_id: int
    device_id: int
    device_uuid: bytes
    driver_uuid: bytes
    driver_version: int
    cache_uuid: bytes
    """VkPhysicalDeviceProperties::pipelineCacheUUID."""
