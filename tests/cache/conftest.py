"""Fixtures of the cache tests: a cache of their own, and programs that run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lapilli.vk_runtime.disk_cache import DiskCache

Run = Callable[[Path], str]


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    """Returns an empty cache of one megabyte."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return DiskCache(folder, 1 << 20)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Returns a function that runs a file in a new process, with a cache of this test, and returns its output."""
    return runner(tmp_path)


def runner(folder: Path) -> Run:
    """Returns a function that runs a file in a new process, with a cache in `folder`, and returns its output."""

    def run_file(program: Path) -> str:
        environment = {**os.environ, "LAPILLI_CACHE_DIR": str(folder / "cache"), "LAPILLI_CACHE": "1"}
        done = subprocess.run(
            (sys.executable, "-P", str(program)), capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_file
