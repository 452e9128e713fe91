"""What ``LAPILLI_DUMP`` and ``lp.config.dump`` ask for: stages of kernels, written when they are compiled.

    LAPILLI_DUMP=saxpy:ir python program.py                      # to standard error
    LAPILLI_DUMP='*:all' LAPILLI_DUMP_DIR=out python program.py  # to files

A kernel from the cache on disk is written as well: it is compiled once more for that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir.config import config
from ..ir.errors import InvalidError
from ..ir.target_env import TargetEnv
from .inspection import inspect

if TYPE_CHECKING:
    from .kernel import KernelFunction

SUFFIXES = {
    "python": ".py",
    "ir": ".mlir",
    "split": ".split.mlir",
    "spirv-dialect": ".spirv.mlir",
    "spirv": ".spvasm",
    "binary": ".spv",
    "metadata": ".json",
}
"""The stages of `KernelFunction.inspect`, and how their files end."""

ALL = "all"
"""Stands for every stage, or every one that is text where there is no folder."""


def dump_stages(kernel: KernelFunction, rank: int | None, env: TargetEnv, selector: str) -> None:
    """Writes the stages of a kernel that the option `dump` names.

    Args:
        kernel: what is being compiled.
        rank: dimensions of the launch range; None: as many as the kernel uses.
        env: what it is compiled for.
        selector: of the device, part of the files' names; empty where there are several.

    Raises:
        InvalidError: a word of the option is not KERNEL:STAGE, or the file cannot be written.
        BuildError: the kernel cannot be compiled as far as the stage; earlier stages were written.
    """
    folder = config.dump_dir
    names = (kernel.name, kernel.qualified_name)
    for stage in _stages_of(names, has_folder=folder is not None):
        content = inspect(kernel, stage, rank=rank, env=env)
        if folder is None:
            assert isinstance(content, str), "binaries need a folder"
            print(f"// {kernel.name}: {stage}, {selector or 'no device'}\n{content}", end="", file=sys.stderr)
        else:
            _write(folder / _file_name(kernel.name, stage, rank, env, selector), content)


def _stages_of(names: tuple[str, ...], *, has_folder: bool) -> Iterator[str]:
    """Yields the stages of a kernel that has these names, in the order of the pipeline, each once."""
    wanted: set[str] = set()
    for word in config.dump:
        pattern, colon, stage = word.rpartition(":")
        if not colon or not pattern or stage not in (*SUFFIXES, ALL):
            raise InvalidError(
                f"LAPILLI_DUMP and lp.config.dump take KERNEL:STAGE,… with a stage of {', '.join(SUFFIXES)} or "
                f"{ALL}; found {word!r}"
            )
        if not any(fnmatchcase(name, pattern) for name in names):
            continue
        if stage == "binary" and not has_folder:
            raise InvalidError(
                f"{word!r} is binary: name a folder with LAPILLI_DUMP_DIR or lp.config.dump_dir"
            )
        wanted |= {*SUFFIXES} - (set() if has_folder else {"binary"}) if stage == ALL else {stage}
    yield from (stage for stage in SUFFIXES if stage in wanted)


def _file_name(name: str, stage: str, rank: int | None, env: TargetEnv, selector: str) -> str:
    """Returns one name for each form of a kernel that a program may use."""
    if stage == "python":
        return _plain(name) + SUFFIXES[stage]
    lanes = f"x{env.lanes_per_invocation}" if env.lanes_per_invocation > 1 else ""
    parts = (name, selector, f"{rank}d" if rank else "", lanes)
    return "-".join(_plain(part) for part in parts if part) + SUFFIXES[stage]


def _plain(text: str) -> str:
    """Returns a text with only what every file system takes."""
    return "".join(c if c.isalnum() or c in "_." else "-" for c in text).strip("-.")[:100] or "kernel"


def _write(path: Path, content: str | bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    except OSError as error:
        raise InvalidError(
            f"the stage of a kernel cannot be written to {path}: {error.strerror or error}; LAPILLI_DUMP_DIR or "
            "lp.config.dump_dir names the folder"
        ) from None
