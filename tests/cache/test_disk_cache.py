"""`vk_runtime.disk_cache`: entries that are whole or absent, the bound, folders that cannot be trusted."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lapilli.ir.errors import InvalidError
from lapilli.vk_runtime import disk_cache
from lapilli.vk_runtime.disk_cache import DiskCache, open_cache


def test_an_entry_comes_back_as_it_was_stored(cache: DiskCache) -> None:
    assert cache.load("a") is None
    assert cache.store("a", b"payload")
    assert cache.load("a") == b"payload"
    assert cache.store("a", b"other")
    assert cache.load("a") == b"other"


@pytest.mark.parametrize(
    "damage", ["cut", "bit", "empty", "longer", "renamed", "link", "loop", "pipe", "folder"]
)
def test_a_damaged_entry_is_absent_and_removed(cache: DiskCache, damage: str) -> None:
    cache.store("a", b"payload")
    path = cache.folder / "a"
    data = path.read_bytes()
    if damage in ("link", "loop", "pipe", "folder"):
        path.unlink()
    match damage:
        case "cut":
            path.write_bytes(data[:-1])
        case "bit":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "empty":
            path.write_bytes(b"")
        case "longer":
            path.write_bytes(data + b"\0")
        case "renamed":
            cache.store("b", b"of b")
            os.replace(cache.folder / "b", path)
        case "link":
            cache.store("b", b"of b")
            path.symlink_to(cache.folder / "b")
        case "loop":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path, 0o600)
        case _:
            path.mkdir()
    assert cache.load("a") is None
    if damage not in ("link", "folder"):
        assert not path.exists()
    cache.store("a", b"again")
    assert cache.load("a") == (None if damage == "folder" else b"again")


def test_a_file_that_others_may_write_is_not_used(cache: DiskCache) -> None:
    cache.store("a", b"payload")
    (cache.folder / "a").chmod(0o666)
    assert cache.load("a") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_files_and_folders_of_another_user_are_not_used(
    cache: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache.store("a", b"payload")
    os.chown(cache.folder / "a", 12345, -1)
    assert cache.load("a") is None
    theirs = tmp_path / "theirs" / "v1"
    theirs.mkdir(mode=0o700, parents=True)
    os.chown(theirs, 12345, -1)
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(theirs.parent))
    with caplog.at_level(logging.WARNING):
        assert open_cache() is None
    assert f"{theirs} belongs to another user" in caplog.text and "chmod" not in caplog.text


def test_what_was_used_last_stays_when_the_cache_is_full(cache: DiskCache) -> None:
    for age, name in enumerate("abcd"):
        cache.store(name, bytes(300_000))
        os.utime(cache.folder / name, (1000 + age, 1000 + age))
    assert cache.load("a") is not None  # touched
    assert cache.prune() == 1
    assert {entry.name for entry in cache.entries()} == {"a", "c", "d"}


def test_entries_of_a_clock_that_ran_ahead_go_first(cache: DiskCache) -> None:
    future = time.time() + 1e8
    for name in "abcd":
        cache.store(name, bytes(300_000))
    stale = cache.folder / "tmp-1-dead"
    stale.touch()
    for name in ("a", "b", stale.name):
        os.utime(cache.folder / name, (future, future))
    assert cache.load("a") is not None  # touched
    assert cache.prune() == 1
    assert {entry.name for entry in cache.entries()} == {"a", "c", "d"} and not stale.exists()


def test_a_folder_that_was_removed_is_made_again(cache: DiskCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.store("a", b"payload")
    shutil.rmtree(cache.folder)
    with caplog.at_level(logging.WARNING):
        assert cache.load("a") is None and cache.store("a", b"other")
        assert cache.load("a") == b"other" and cache.folder.stat().st_mode & 0o777 == 0o700
        assert not caplog.records
        shutil.rmtree(cache.folder)
        elsewhere = cache.folder.with_name("elsewhere")
        cache.folder.symlink_to(elsewhere)
        assert not cache.store("a", b"payload")
        assert len(caplog.records) == 1 and not elsewhere.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("limit_bytes", [0, 512])
def test_a_limit_on_the_size_of_files_ends_no_process(cache: DiskCache, limit_bytes: int) -> None:
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from lapilli.vk_runtime.disk_cache import DiskCache\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes}))\n"
        "cache = DiskCache(Path(sys.argv[1]), 1 << 20)\n"
        "print(cache.store('a', bytes(1000)), cache.store('b', bytes(1000)), cache.load('a'))"
    )
    command = (sys.executable, "-P", "-c", program, str(cache.folder))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False False None\n")
    assert done.stderr.count("cannot write the cache") == 1 and list(cache.folder.iterdir()) == []


def test_storing_keeps_the_bound(cache: DiskCache) -> None:
    for number in range(20):
        cache.store(str(number), bytes(200_000))
    # Between two prunings a process may write SCAN_AFTER_BYTES more.
    assert sum(entry.size_bytes for entry in cache.entries()) <= (1 << 20) + disk_cache.SCAN_AFTER_BYTES
    assert not cache.store("large", bytes((1 << 20) + 1))


def test_stale_temporary_files_are_removed_and_fresh_ones_stay(cache: DiskCache) -> None:
    stale, fresh = cache.folder / "tmp-1-dead", cache.folder / "tmp-2-alive"
    stale.touch()
    fresh.touch()
    past = time.time() - disk_cache.STALE_SECONDS - 1
    os.utime(stale, (past, past))
    cache.prune()
    cache.clear()
    assert (stale.exists(), fresh.exists()) == (False, True)
    assert cache.entries() == ()


def test_a_disk_that_refuses_is_logged_once_and_no_error(
    cache: DiskCache, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache, "_write_new", full)
    with caplog.at_level(logging.WARNING):
        assert not cache.store("a", b"payload")
        assert not cache.store("b", b"payload")
    assert [r.message.endswith("No space left on device") for r in caplog.records] == [True]
    assert list(cache.folder.iterdir()) == []


def test_a_folder_that_others_may_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "shared"))
    (tmp_path / "shared" / "v1").mkdir(parents=True)
    (tmp_path / "shared" / "v1").chmod(0o777)
    with caplog.at_level(logging.WARNING):
        assert open_cache() is None
    assert "chmod go-w" in caplog.text


def test_a_link_in_place_of_the_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "v1").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "mine"))
    with caplog.at_level(logging.WARNING):
        assert open_cache() is None
    assert "is a link or a file where a folder should be" in caplog.text


def test_a_folder_that_cannot_be_made_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert open_cache() is None


def test_the_environment_turns_it_off_and_sets_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("LAPILLI_CACHE", "0")
    assert open_cache() is None
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "12345")
    opened = open_cache()
    assert opened is not None and opened.limit_bytes == 12345
    assert opened.folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "a lot")
    with pytest.raises(InvalidError, match="LAPILLI_CACHE_SIZE takes a number of bytes; found 'a lot'"):
        open_cache()
