"""Emits a `spirv.module` that a user wrote, or another compiler: what is wrong with it is no fault of our passes."""

from __future__ import annotations

import re

from xdsl.ir import Operation

from ..ir.dialects import spirv
from ..ir.errors import BuildError, Location
from ..ir.target_env import SPIRV_VERSION_OF_VULKAN, TargetEnv
from .emit import emit
from .emit_context import EmissionError


class WrittenModuleError(BuildError):
    """A `spirv.module` in the input that makes no SPIR-V."""

    _stays_behind = ("operation",)

    def __init__(self, message: str, operation: Operation, location: Location | None = None) -> None:
        super().__init__(message, location=location)
        self.operation = operation


def emit_written(module: spirv.ModuleOp) -> bytes:
    """Returns the binary of a verified module, not yet validated.

    Raises:
        WrittenModuleError: an operation that has no SPIR-V form.
    """
    try:
        return emit(module, environment_of(module)).binary
    except EmissionError as error:
        message = error.message.removeprefix("internal error: ")
        raise WrittenModuleError(message, error.operation or module, error.location) from error


def environment_of(module: spirv.ModuleOp) -> TargetEnv:
    """Returns the lowest environment of the SPIR-V version that a module names; the default one where it names none."""
    named = "" if module.vce_triple is None else module.vce_triple.version
    found = re.fullmatch(r"v(\d+)\.(\d+)", named)
    if found is None:
        return TargetEnv()
    version = int(found[1]), int(found[2])
    vulkan = [key for key, spirv_version in SPIRV_VERSION_OF_VULKAN.items() if spirv_version >= version]
    return TargetEnv(vulkan_version=min(vulkan)) if vulkan else TargetEnv()
