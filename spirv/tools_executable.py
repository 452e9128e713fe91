"""SPIRV-Tools' executables: the fallback where its library is not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Final

from ..ir.errors import InvalidError
from .errors import SpirvError, SpirvTextError
from .tools import DEFAULT_TARGET_ENV, SpirvTools, ValidationFinding, encoded

NAMES: Final = ("spirv-val", "spirv-as", "spirv-dis")
TIMEOUT_SECONDS: Final = 60

_VALIDATION_LINE = re.compile(r"error: line (\d+): (.*)", re.DOTALL)
_ASSEMBLY_LINE = re.compile(r"error: (\d+): (\d+): (.*)", re.DOTALL)
_UNKNOWN_TARGET = "Unrecognized target env"
# Releases before 2024.4 do not know vulkan1.4; it allows all that 1.3 does.
_OLDER_TARGET = {"vulkan1.4": "vulkan1.3"}


class ExecutableSpirvTools(SpirvTools):
    """SPIRV-Tools as processes, 2 ms a call."""

    kind = "executable"

    def __init__(self, folder: Path) -> None:
        """Uses the executables of `folder`."""
        self.path = folder

    @classmethod
    def search(cls, folders: Iterable[Path] = ()) -> ExecutableSpirvTools | None:
        """Returns the first of `folders`, then of ``PATH``, that has all three; None where none has."""
        path = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
        for folder in (*folders, *path):
            if all(shutil.which(name, path=str(folder)) for name in NAMES):
                return cls(folder)
        return None

    @property
    def version(self) -> str:
        return self._version

    @cached_property
    def _version(self) -> str:
        output = self._run("spirv-val", ("--version",), b"").stdout.decode("utf-8", "replace")
        found = re.search(r"SPIRV-Tools (v\S+)", output)
        return found[1] if found else "unknown"

    def validate(
        self, binary: bytes, target_env: str = DEFAULT_TARGET_ENV, *, scalar_block_layout: bool = False
    ) -> ValidationFinding | None:
        options = ["--allow-localsizeid"]
        if scalar_block_layout:
            options.append("--scalar-block-layout")
        done = self._run_for("spirv-val", target_env, (*options, "-"), binary)
        if done.returncode == 0:
            return None
        message = self._message(done, target_env)
        found = _VALIDATION_LINE.search(message)
        if found is None:
            return ValidationFinding(message.removeprefix("error: "), None)
        ordinal = int(found[1])
        # Counted from 1 there; 0 belongs to no instruction.
        return ValidationFinding(found[2], ordinal - 1 if ordinal else None)

    def assemble(self, text: str, target_env: str = DEFAULT_TARGET_ENV) -> bytes:
        options = ("--preserve-numeric-ids", "-o", "-", "-")
        done = self._run_for("spirv-as", target_env, options, encoded(text))
        if done.returncode == 0:
            return done.stdout
        message = self._message(done, target_env)
        found = _ASSEMBLY_LINE.search(message)
        if found is None:
            raise SpirvTextError(message.removeprefix("error: "))
        line, column = int(found[1]), int(found[2])
        raise SpirvTextError(f"{line}:{column}: {found[3]}", line=line, column=column)

    def disassemble(self, binary: bytes, *, friendly_names: bool = True, indent: bool = True) -> str:
        options = [] if friendly_names else ["--raw-id"]
        if not indent:
            options.append("--no-indent")
        done = self._run("spirv-dis", (*options, "-"), binary)
        if done.returncode:
            raise SpirvError(f"the module cannot be disassembled: {self._message(done, '')}")
        return done.stdout.decode("utf-8", "replace")

    def _run_for(
        self, name: str, target_env: str, options: Iterable[str], data: bytes
    ) -> subprocess.CompletedProcess[bytes]:
        done = self._run(name, ("--target-env", target_env, *options), data)
        older = _OLDER_TARGET.get(target_env)
        if older is not None and _UNKNOWN_TARGET.encode() in done.stderr:
            return self._run(name, ("--target-env", older, *options), data)
        return done

    def _run(self, name: str, options: Iterable[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
        command = [str(shutil.which(name, path=str(self.path))), *options]
        try:
            return subprocess.run(
                command, input=data, capture_output=True, check=False, timeout=TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise SpirvError(f"{name} did not end within {TIMEOUT_SECONDS} s") from error

    def _message(self, done: subprocess.CompletedProcess[bytes], target_env: str) -> str:
        message = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        if _UNKNOWN_TARGET in message:
            error = f"SPIRV-Tools {self.version} knows no target environment {target_env!r}"
            raise InvalidError(error)
        return message or f"it ended with status {done.returncode}"
