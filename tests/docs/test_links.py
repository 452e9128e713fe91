"""Every link of a page to a file of the repository, or to a heading of one of its pages, leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "examples/*/*.md")
    for page in ROOT.glob(pattern)
)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors_of(text: str) -> set[str]:
    """Returns the anchors that GitHub makes of a page's headings."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problem_of(page: Path, link: str) -> str | None:
    """Returns what is wrong with a link of a page, None where it leads somewhere or out of the repository."""
    if link.startswith(("http:", "https:", "mailto:")):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{link}: there is no such file"
    if anchor and anchor not in anchors_of(target.read_text("utf-8")):
        return f"{link}: the page has no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    links = _LINK.findall(_CODE.sub("", page.read_text("utf-8")))
    assert [problem for link in links if (problem := problem_of(page, link))] == []


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `x` thing\n```\n# no heading\n```\n", encoding="utf-8")
    assert problem_of(page, "#one-x-thing") is None
    assert problem_of(page, "page.md#no-heading") == "page.md#no-heading: the page has no such heading"
    assert problem_of(page, "other.md") == "other.md: there is no such file"
