"""The source language SPIRV_ASM: assembly text as spirv-as reads it."""

from __future__ import annotations

import re

from ..ir.errors import BuildError, Diagnostic, InvalidError, Location
from ..spirv.errors import SpirvTextError
from ..spirv.tools import DEFAULT_TARGET_ENV, spirv_tools
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .spirv_source import compiled_spirv

LABEL = "<SPIR-V assembly>"

_VERSION = re.compile(r"; Version: 1\.([0-6])")


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of an assembly text.

    Raises:
        BuildError: the text does not assemble, with its line; or the module is not valid.
        InvalidError: ``--target-env`` names no environment.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    default = _version_of(request.code) or DEFAULT_TARGET_ENV
    target_env = (request.options.of_prefix("--target-env=") or (default,))[-1]
    try:
        binary = spirv_tools().assemble(request.code, target_env)
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


def _version_of(text: str) -> str | None:
    """Returns the environment of the version that spirv-dis has put at the head of its output; None without one."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(";"):
            return None
        found = _VERSION.fullmatch(line.strip())
        if found:
            return f"spv1.{found[1]}"
    return None
