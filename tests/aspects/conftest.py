"""Every test here sees all aspect warnings anew."""

from __future__ import annotations

import pytest

from lapilli.frontend import aspect_warnings


@pytest.fixture(autouse=True)
def _nothing_reported_yet(monkeypatch: pytest.MonkeyPatch):  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(aspect_warnings, "_reported", set())
