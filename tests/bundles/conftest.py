"""Fixtures of the kernel-bundle tests: a context per device."""

from __future__ import annotations

import pytest

import lapilli as lp


@pytest.fixture
def context(device: lp.Device) -> lp.Context:
    """A context of one device, of its own for each test."""
    return lp.Context([device])
