"""Fixtures of the runtime's tests."""

from __future__ import annotations

import pytest

from lapilli.vk_runtime.arguments import ArgumentChecker


@pytest.fixture
def checks(monkeypatch):
    """The kernels whose arguments were checked, one entry each time."""
    found, really_check = [], ArgumentChecker.quick_check

    def count(self, args, device):
        found.append(self)
        return really_check(self, args, device)

    monkeypatch.setattr(ArgumentChecker, "quick_check", count)
    return found
