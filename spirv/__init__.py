"""The spirv dialect to SPIR-V binaries, and everything about binaries.

Public as ``lp.spirv``: `validate`, `assemble`, `disassemble`, `link`, `freeze_spec_constants` and
`set_spec_constant_defaults`; see `spirv.public`.  No module of this folder may have one of these names: importing it
would hide the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .public import (
        assemble,
        disassemble,
        freeze_spec_constants,
        link,
        set_spec_constant_defaults,
        validate,
    )

__all__ = [
    "assemble",
    "disassemble",
    "freeze_spec_constants",
    "link",
    "set_spec_constant_defaults",
    "validate",
]


def __getattr__(name: str) -> object:
    # Imported when first asked for: the seams of this folder load in processes that only run kernels.
    if name not in __all__:
        raise AttributeError(f"module 'lapilli.spirv' has no attribute {name!r}")
    from . import public

    value = globals()[name] = getattr(public, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
