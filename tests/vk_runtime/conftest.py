"""Fixtures of the runtime's tests."""

from __future__ import annotations

import pytest

from lapilli.vk_runtime.arguments import ArgumentChecker
from lapilli.vk_runtime.command_stream import CommandStream


@pytest.fixture
def checks(monkeypatch):
    """The kernels whose arguments were checked, one entry each time."""
    found, really_check = [], ArgumentChecker.quick_check

    def count(self, args, device):
        found.append(self)
        return really_check(self, args, device)

    monkeypatch.setattr(ArgumentChecker, "quick_check", count)
    return found


@pytest.fixture
def opened(monkeypatch):
    """The queues that began a recording, one entry each time."""
    found, really_open = [], CommandStream.open

    def count(self):
        if self.recording is None:
            found.append(self)
        return really_open(self)

    monkeypatch.setattr(CommandStream, "open", count)
    return found
