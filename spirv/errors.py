"""Errors of this folder.

InvalidError (ir.errors)
└── SpirvError               bytes that are no SPIR-V module, or no readable device image
    └── DeserialisationError valid SPIR-V that has no form in the dialect (`deserialise.errors`)
BuildError (ir.errors)
├── EmissionError            IR that has no SPIR-V form (`emit_context`)
├── SpirvTextError           SPIR-V assembly text that does not assemble
├── SpirvValidationError     a well-formed module that breaks a rule
└── WrittenModuleError       a `spirv.module` of a user's that makes no SPIR-V (`emit_written`)
Error (ir.errors)
└── SpirvToolsMissingError   neither the SPIRV-Tools library nor its executables are installed
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.errors import BuildError, Diagnostic, Error, InvalidError


class SpirvError(InvalidError):
    """Malformed SPIR-V bytes."""

    code = "LP1100"

    def __init__(self, message: str, *, word_offset: int | None = None) -> None:
        """Makes the error; `word_offset` is where in the module, in words from its start."""
        super().__init__(message if word_offset is None else f"{message} (at word {word_offset})")
        self.word_offset = word_offset


class SpirvTextError(BuildError):
    """SPIR-V assembly text that SPIRV-Tools cannot assemble."""

    code = "LP2101"

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        """Makes the error; `line` and `column` count from 1 in the text."""
        super().__init__(message)
        self.line = line
        self.column = column


class SpirvValidationError(BuildError):
    """A module that breaks rules of SPIR-V or of Vulkan."""

    code = "LP2102"

    def __init__(
        self,
        message: str,
        *,
        instruction_ordinal: int | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        """Makes the error; `instruction_ordinal` counts the module's instructions from 0."""
        super().__init__(message, diagnostics=diagnostics)
        self.instruction_ordinal = instruction_ordinal


class SpirvToolsMissingError(Error):
    """SPIRV-Tools is not installed."""

    code = "LP4502"
