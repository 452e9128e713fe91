"""Languages of kernels from source, and who compiles them: an open registry (sycl_ext_oneapi_kernel_compiler).

A language is any enum member; lapilli's own are those of `SourceLanguage`.  What compiles one is a `LanguageFrontEnd`,
which is found by `front_end_of` when a bundle is made or built.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..ir.aspects import Aspect
from ..ir.errors import MembersByName
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage as SpirvImage
from .bundle_errors import ConstraintError, type_name
from .device import Device
from .kernel_id import Binder, Describer, LocalSizeOf
from .source_options import SourceOptions
from .spec_values import SpecConstant


class SourceLanguage(enum.Enum, metaclass=MembersByName):
    """The languages that ``lp.create_kernel_bundle_from_source`` takes."""

    SPIRV = "spirv"
    """A SPIR-V module as bytes; a kernel is called as its OpEntryPoint."""
    SPIRV_ASM = "spirv_asm"
    """The assembly text of a SPIR-V module, as spirv-as reads it; kernels as with `SPIRV`."""
    MLIR = "mlir"
    """The text of a module of lapilli's dialects or of upstream's gpu dialect; a kernel is called as its function."""
    PYTHON = "python"
    """The text of a Python module, which is parsed and never executed; a kernel is called as its function, or as
    ``@lp.kernel(name=…)`` says."""
    PYKERNEL = PYTHON
    """Another name of `PYTHON`."""
    GLSL = "glsl"
    """A GLSL compute shader as text, where glslang is installed; the kernel is called ``main``."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a source bundle holds."""

    language: enum.Enum
    code: str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """What a front end is asked to compile."""

    code: str | bytes
    """Text, or bytes where the language is binary."""
    options: SourceOptions
    spec_values: Mapping[int | str, object]
    """Of ``lp.SpecValues``."""
    env: TargetEnv
    """What every device accepts."""
    devices: tuple[Device, ...]
    is_object: bool = False
    """Whether the result is to be linked, so that it may import and export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSource:
    """What a front end made."""

    images: tuple[SpirvImage, ...]
    warnings: tuple[str, ...] = ()
    """What a successful build has to say."""
    binders: Mapping[str, tuple[Binder, tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[Binder, tuple[str, ...]]]
    )
    """How arguments reach a kernel and what they are called, by the kernel's name; others take one argument for each
    parameter."""
    describers: Mapping[str, Describer] = field(default_factory=dict[str, Describer])
    """What a bundle file says of a kernel, by its name; of others that their code alone knows the parameters."""
    local_sizes: Mapping[str, LocalSizeOf] = field(default_factory=dict[str, LocalSizeOf])
    """Work-group sizes that specialization constants take part in, by the kernel's name."""
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kernels that no device can run whatever it has, by name, and why."""
    spec_symbols: Mapping[str, SpecConstant] = field(default_factory=dict[str, SpecConstant])
    """The specialization constants that the kernels read and that the host knows, by symbol."""
    spec_bytes: Mapping[SpecConstant, bytes] = field(default_factory=dict["SpecConstant", bytes])
    """Host bytes of those that were set."""


class LanguageFrontEnd(Protocol):
    """Compiles one language."""

    @property
    def is_binary(self) -> bool:
        """Whether source is bytes."""
        ...

    @property
    def option_prefixes(self) -> Sequence[str]:
        """How the options begin that only this language has: ``-D``.  One that ends in ``=`` needs a value."""
        ...

    def can_compile(self, device: Device) -> bool:
        """Returns whether a device can have kernels of this language."""
        ...

    def compile(self, request: SourceRequest) -> CompiledSource:
        """Compiles source.

        Raises:
            BuildError: it is wrong; the text has every diagnostic with its line.
        """
        ...


_lock = threading.RLock()
_front_ends: dict[enum.Enum, LanguageFrontEnd] = {}


def register_language(language: enum.Enum, front_end: LanguageFrontEnd) -> None:
    """Makes a language known, or replaces what compiles it.

    Args:
        language: a member of any enum.
        front_end: compiles it.

    Raises:
        TypeError: `language` is no enum member.
    """
    with _lock:
        _front_ends[_checked("register_language", language)] = front_end


def unregister_language(language: enum.Enum) -> None:
    """Forgets a language; one that is not known is no error."""
    with _lock:
        _front_ends.pop(language, None)


def front_end_of(language: enum.Enum) -> LanguageFrontEnd | None:
    """Returns what compiles a language, None where nothing does."""
    with _lock:
        return _front_ends.get(language)


def can_compile(device: Device, language: object) -> bool:
    """Returns whether a device can have kernels of a language; False for languages that nobody knows."""
    if not isinstance(language, enum.Enum) or not device.has(Aspect.ONLINE_COMPILER):
        return False
    found = front_end_of(language)
    return found is not None and found.can_compile(device)


def _checked(what: str, language: object) -> enum.Enum:
    if not isinstance(language, enum.Enum):
        raise ConstraintError(
            f"{what} takes an lp.SourceLanguage, found {language!r} of type {type_name(language)}"
        )
    return language


checked_language = _checked
"""Returns a language as it is; TypeError where it is none."""
