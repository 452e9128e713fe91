"""Modules that say something else than they did: errors of ours, soon, and little memory."""

from __future__ import annotations

import pytest

from .module_reading import read_changed

SEEDS = 30


@pytest.mark.parametrize("start", [0, 1000])
def test_changed_modules_raise_our_errors_only(start: int) -> None:
    for seed in range(start, start + SEEDS):
        read_changed(seed)
