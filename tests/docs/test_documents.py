"""The documents are programs: every ```python block of docs/*.md runs, in order, file by file.

The blocks of a document are one Python module, at the lines that they have in the document, so that kernels find
their source and a failure names the place.  ```python module=other begins, or goes on with, another module of the
same document, which the main one may import; blocks with another language do not run.  Results are checked by
`assert` in the blocks themselves.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = sorted(FOLDER.glob("*.md"))

_FENCE = re.compile(r"^```(?P<language>\w*)(?P<options>.*)$")


def modules_of(text: str) -> dict[str, str]:
    """Returns the source of each module of a document, every line where the document has it."""
    lines = text.splitlines()
    sources: dict[str, list[str]] = {}
    current: list[str] | None = None
    is_fenced = False
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            if current is not None:
                current[number] = line
        elif is_fenced:
            is_fenced, current = False, None
        else:
            is_fenced = True
            if fence["language"] == "python":
                name = dict(part.split("=") for part in fence["options"].split()).get("module", "main")
                current = sources.setdefault(name, [""] * len(lines))
    return {name: "\n".join(source) + "\n" for name, source in sources.items()}


@pytest.mark.device
@pytest.mark.parametrize("document", DOCUMENTS, ids=[d.stem for d in DOCUMENTS])
def test_document_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    sources = modules_of(document.read_text("utf-8"))
    for name, source in sorted(sources.items(), key=lambda item: item[0] == "main"):
        module_name = f"document_{document.stem.replace('-', '_')}_{name}"
        file = tmp_path / f"{module_name}.py"
        file.write_text(source, "utf-8")
        spec = importlib.util.spec_from_file_location(module_name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        for known_as in (module_name, name):
            monkeypatch.setitem(sys.modules, known_as, module)
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as a program sees them; a block that cares says so itself
            spec.loader.exec_module(module)


def test_there_are_documents():
    assert DOCUMENTS


def test_blocks_keep_their_lines_and_modules():
    text = "# T\n```python\na = 1\n```\n```bash\nrm\n```\n```python module=b\nc = 2\n```\n```python\nd = 3\n```\n"
    assert modules_of(text) == {
        "main": "\n\na = 1" + "\n" * 9 + "d = 3\n\n",
        "b": "\n" * 8 + "c = 2" + "\n" * 5,
    }
