"""`vk_runtime.file_lock`: one owner at a time, whoever dies, stops or forks with it; without it everything goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lapilli.vk_runtime.disk_cache import DiskCache
from lapilli.vk_runtime.file_lock import file_lock

HOLDER = """
import sys, time
from pathlib import Path
from lapilli.vk_runtime.file_lock import file_lock
with file_lock(Path(sys.argv[1])) as is_held:
    print(is_held, flush=True)
    time.sleep(60)
"""


def test_a_lock_has_one_owner_until_it_dies(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = (sys.executable, "-P", "-c", HOLDER, str(path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "True\n"
        with file_lock(path, patience_s=0.05) as is_held:
            assert not is_held, "another has it"
        other.kill()
        other.wait()
        with file_lock(path, patience_s=10) as is_held:
            assert is_held


def test_who_waits_gets_it_and_an_error_gives_it_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), file_lock(path) as is_held:
        assert is_held
        with file_lock(path, patience_s=0) as is_held_twice:
            assert not is_held_twice, "threads of one process are apart, too"
        raise ZeroDivisionError
    with file_lock(path, patience_s=0) as is_held:
        assert is_held


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_that_is_forked_meanwhile_does_not_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        with file_lock(path, patience_s=0) as is_held:
            assert is_held
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("what", ["folder", "link", "gone"])
def test_where_no_lock_can_be_there_is_none(cache: DiskCache, what: str) -> None:
    path = cache.folder / "lock"
    if what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to(path)
    else:
        cache.folder.rmdir()
    with cache.lock() as is_held:
        assert not is_held
        assert cache.store("a", b"payload") and cache.load("a") == b"payload"


def test_a_lock_is_no_entry(cache: DiskCache) -> None:
    cache.store("a", b"payload")
    with cache.lock() as is_held:
        assert is_held and cache.clear() == 1
    assert cache.entries() == () and (cache.folder / "lock").exists()
