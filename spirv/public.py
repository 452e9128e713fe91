"""What users get as ``lp.spirv``: SPIR-V binaries as bytes, in and out.

Binaries may come from anywhere: each function reports what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ..ir.errors import Diagnostic, InvalidError, KernelArgumentError, LinkError
from . import linker
from .assembly import assembled
from .binary import parse
from .errors import SpirvValidationError
from .specialise import SpecValue
from .specialise import freeze_spec_constants as _freeze
from .specialise import set_spec_constant_defaults as _set_defaults
from .tools import DEFAULT_TARGET_ENV, spirv_tools
from .type_growth import oversized_type


def validate(binary: bytes, *, target_env: str = DEFAULT_TARGET_ENV) -> None:
    """Checks a module with SPIRV-Tools.

    Args:
        binary: the module.
        target_env: ``vulkan1.1`` … ``vulkan1.4``, or ``spv1.3`` … ``spv1.6`` for a module that is to be linked.

    Raises:
        SpirvValidationError: the module breaks a rule; a BuildError.
        InvalidError: there is no such environment, or `binary` is not bytes.
    """
    data = _bytes(binary)
    oversized = oversized_type(data)
    if oversized is not None:
        message = f"invalid SPIR-V for {target_env}: {oversized}"
        raise SpirvValidationError(message, diagnostics=[Diagnostic(message)])
    finding = spirv_tools().validate(data, target_env)
    if finding is not None:
        where = "" if finding.instruction_ordinal is None else f"instruction {finding.instruction_ordinal}: "
        message = f"invalid SPIR-V for {target_env}: {where}{finding.message}"
        raise SpirvValidationError(
            message, instruction_ordinal=finding.instruction_ordinal, diagnostics=[Diagnostic(message)]
        )


def assemble(text: str, *, target_env: str | None = None) -> bytes:
    """Returns the module of an assembly text, as spirv-as reads it; numeric ids are kept.

    Args:
        text: the assembly.
        target_env: as spirv-as calls it; None: the version that the text is written in, see `assembly.assembled`.

    Raises:
        SpirvTextError: the text does not assemble; a BuildError with line and column.
        InvalidError: there is no such environment, or `text` is no text.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(f"lp.spirv.assemble: expected assembly text as a str, found {type(text).__name__}")
    return assembled(text, target_env)


def disassemble(binary: bytes) -> str:
    """Returns the assembly text of a module, as spirv-dis writes it.

    Raises:
        SpirvError: the bytes are no module; an InvalidError.
    """
    return spirv_tools().disassemble(_bytes(binary))


def link(
    binaries: Iterable[bytes],
    *,
    allow_unresolved: bool = False,
    keep_exports: bool = False,
    labels: Sequence[str] | None = None,
) -> bytes:
    """Links modules into one: every import becomes what another module exports under its name.

    Args:
        binaries: the modules.
        allow_unresolved: imports that no module exports stay imports.
        keep_exports: exported symbols stay exported, which makes a library.
        labels: what messages call each module, such as its file; by default ``module 1`` and so on.

    Raises:
        LinkError: a module is malformed, symbols clash, differ in type or stay unresolved, or the result is invalid.
    """
    if isinstance(binaries, bytes | bytearray | memoryview | str):
        raise InvalidError("lp.spirv.link: expected a list of modules, found a single one")
    linked = linker.link(
        [_bytes(binary) for binary in binaries],
        labels=labels,
        allow_unresolved=allow_unresolved,
        keep_exports=keep_exports,
    )
    oversized = oversized_type(linked)
    if oversized is not None:
        raise LinkError(f"the linked module is invalid: {oversized}")
    module = parse(linked)
    major, minor = module.version
    finding = spirv_tools().validate(linked, f"spv{major}.{minor}")
    if finding is not None:
        raise LinkError(f"the linked module is invalid: {finding.message}")
    return linked


def freeze_spec_constants(binary: bytes) -> bytes:
    """Returns a module whose specialization constants are plain constants with their default values.

    Raises:
        SpirvError: the bytes are no module, or its constants are malformed; an InvalidError.
    """
    return _freeze(_bytes(binary))


def set_spec_constant_defaults(binary: bytes, values: Mapping[int, SpecValue]) -> bytes:
    """Returns a module in which specialization constants have other default values.

    Args:
        binary: the module.
        values: the new default of each constant by SpecId: a bool, int or float that its type holds.

    Raises:
        KernelArgumentError: no constant has a SpecId, or a value is not of its type.
        SpirvError: the bytes are no module; an InvalidError.
    """
    data = _bytes(binary)
    if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise KernelArgumentError(
            f"lp.spirv.set_spec_constant_defaults: expected values by SpecId, {{0: 1.5}}, found {values!r:.60} of type "
            f"{type(values).__name__}"
        )
    return _set_defaults(data, values)


def _bytes(binary: object) -> bytes:
    if not isinstance(binary, bytes | bytearray | memoryview):
        raise InvalidError(f"expected a SPIR-V module as bytes, found {type(binary).__name__}")
    return bytes(cast("bytes", binary))
