"""Reads modules of `module_changes` in every way that needs no driver."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import lapilli as lp
from lapilli.ir.errors import Error
from lapilli.ir.target_env import REMEDIES, TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.driver_remedies import image_for
from lapilli.spirv.emit import emit
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.reflect import reflect
from lapilli.spirv.validation import validate

from .corpus_modules import CORPUS_MODULES
from .module_changes import changed

ALL_REMEDIES = TargetEnv(**dict.fromkeys(REMEDIES, True))  # pyright: ignore[reportArgumentType]
LOOP_CAP = 65535


@cache
def modules() -> tuple[bytes, ...]:
    """Returns the modules to change: of several compilers, and the corpus."""
    shaders = sorted((Path(__file__).parents[1] / "shaders").rglob("*.spv"))
    return (*(path.read_bytes() for path in shaders), *CORPUS_MODULES)


def module_of(seed: int) -> bytes:
    """Returns the changed module of a seed."""
    pick = random.Random(seed)
    return changed(pick.choice(modules()), pick)


def ways(data: bytes) -> Iterator[Callable[[], object]]:
    """Yields what reads a module."""
    yield lambda: validate(data)
    yield lambda: reflect(data)
    yield lambda: _as_kernels(data)
    yield lambda: emit(deserialise(data), TargetEnv())
    yield lambda: lp.spirv.freeze_spec_constants(data)
    yield lambda: lp.spirv.set_spec_constant_defaults(data, {0: 5})
    yield lambda: lp.spirv.disassemble(data)
    yield lambda: lp.spirv.link([data, data])


def _as_kernels(data: bytes) -> None:
    for image in foreign_kernels(data, loop_cap=LOOP_CAP).images:
        image_for(image, ALL_REMEDIES)


def read_changed(seed: int) -> None:
    """Raises AssertionError where anything but an error of ours comes of a seed's module."""
    data = module_of(seed)
    for number, read in enumerate(ways(data)):
        try:
            read()
        except Error:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, way {number}: {type(error).__name__}: {error}") from error
