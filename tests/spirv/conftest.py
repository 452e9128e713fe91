"""Modules that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.spirv.tools import SpirvTools, spirv_tools

CORPUS = Path(__file__).parent / "corpus"
NAMES = sorted(path.stem for path in CORPUS.glob("*.spvasm"))


@pytest.fixture(scope="session")
def tools() -> SpirvTools:
    """SPIRV-Tools in process."""
    return spirv_tools()


@pytest.fixture(params=NAMES)
def corpus_text(request: pytest.FixtureRequest) -> str:
    """The assembly text of each module of the corpus."""
    return (CORPUS / f"{request.param}.spvasm").read_text(encoding="utf-8")


@pytest.fixture
def corpus_module(corpus_text: str, tools: SpirvTools) -> bytes:
    """Each module of the corpus."""
    return tools.assemble(corpus_text)


@pytest.fixture(scope="session")
def saxpy_text() -> str:
    """The assembly text of the saxpy kernel."""
    return (CORPUS / "saxpy.spvasm").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def saxpy(saxpy_text: str, tools: SpirvTools) -> bytes:
    """The saxpy kernel."""
    return tools.assemble(saxpy_text)
