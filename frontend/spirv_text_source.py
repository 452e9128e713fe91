"""The source language SPIRV_ASM: assembly text as spirv-as reads it."""

from __future__ import annotations

from ..ir.errors import BuildError, Diagnostic, InvalidError, Location
from ..spirv.assembly import assembled
from ..spirv.errors import SpirvTextError
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .spirv_source import compiled_spirv

LABEL = "<SPIR-V assembly>"


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of an assembly text.

    Raises:
        BuildError: the text does not assemble, with its line; or the module is not valid.
        InvalidError: ``--target-env`` names no environment.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    target_env = (request.options.of_prefix("--target-env=") or (None,))[-1]
    try:
        binary = assembled(request.code, target_env)
    except SpirvTextError as error:
        lines = request.code.splitlines()
        line, column = error.line or 1, error.column or 1
        finding = Diagnostic(
            error.message.partition(": ")[2] or error.message,
            Location(LABEL, line, column),
            source_line=lines[line - 1] if line <= len(lines) else None,
        )
        raise BuildError(str(finding), code="LP2101", diagnostics=[finding]) from error
    except InvalidError as error:
        raise InvalidError(f"build option --target-env={target_env}: {error}") from error
    return compiled_spirv(binary, request, LABEL)
