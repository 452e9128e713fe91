"""Assembly text to a module, for the version of SPIR-V that the text is written in."""

from __future__ import annotations

import re
from contextlib import suppress

from .binary import parse
from .errors import SpirvError, SpirvTextError
from .module_view import ModuleView, interface_of
from .reflect import variables_by_entry_point
from .tables import StorageClass
from .tools import DEFAULT_TARGET_ENV, spirv_tools

_LISTED_IN_ALL_VERSIONS = (StorageClass.Input, StorageClass.Output)
_VERSION = re.compile(r"; Version: 1\.([0-6])")


def assembled(text: str, target_env: str | None = None) -> bytes:
    """Returns the module of an assembly text; numeric ids are kept.

    Args:
        text: as spirv-as reads it.
        target_env: the environment, as spirv-as calls it; None: the version that spirv-dis has written at the head,
            else SPIR-V 1.3 where an entry point lists no buffers that it uses, as before 1.4, else that of Vulkan 1.3.

    Raises:
        SpirvTextError: the text does not assemble; has the line and column.
        InvalidError: `target_env` is unknown.
    """
    known = _version_of(text) if target_env is None else target_env
    binary = spirv_tools().assemble(text, DEFAULT_TARGET_ENV if known is None else known)
    if known is None and _lists_inputs_only(binary):
        with suppress(SpirvTextError):  # newer instructions: the validator says what the entry point lacks
            return spirv_tools().assemble(text, "spv1.3")
    return binary


def _lists_inputs_only(binary: bytes) -> bool:
    """Whether an entry point is written as before SPIR-V 1.4: of what it uses, it lists the inputs alone."""
    with suppress(SpirvError):  # the validator says what is wrong
        for entry, used in variables_by_entry_point(ModuleView(parse(binary))):
            listed = interface_of(entry)
            others = [item.result_id for item in used if item.operands[0] not in _LISTED_IN_ALL_VERSIONS]
            if others and not any(id_ in listed for id_ in others):
                return True
    return False


def _version_of(text: str) -> str | None:
    """Returns the environment of the version that spirv-dis has put at the head of its output; None without one."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(";"):
            return None
        found = _VERSION.fullmatch(line.strip())
        if found:
            return f"spv1.{found[1]}"
    return None
