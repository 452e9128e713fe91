"""The corpus assembled, for tests whose data hypothesis draws."""

from __future__ import annotations

from pathlib import Path

from lapilli.spirv.tools import spirv_tools

CORPUS_MODULES = tuple(
    spirv_tools().assemble(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "corpus").glob("*.spvasm"))
)
