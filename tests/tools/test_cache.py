"""``lapilli cache``."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.tools.cli import main
from lapilli.vk_runtime.disk_cache import DiskCache, open_cache


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    """Returns a cache of two images and one pipeline cache."""
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path))
    cache = open_cache()
    assert cache is not None
    for name in ("image-a-0", "image-b-0", "pipelines-c"):
        cache.store(name, bytes(1000))
    return cache


def output(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Runs the command, which must succeed."""
    with pytest.raises(SystemExit) as done:
        main(["cache", *args])
    captured = capsys.readouterr()
    assert done.value.code == 0, captured.err
    return captured.out


def test_info_counts_each_kind(filled: DiskCache, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "info")
    assert str(filled.folder) in text
    assert "device images          2 entries" in text
    assert "pipeline caches        1 entries" in text


def test_without_a_command_it_prints_the_same(filled: DiskCache, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(filled.folder) in (text := output(capsys))
    assert text == output(capsys, "info")


def test_prune_keeps_what_fits(filled: DiskCache, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "prune", "--size", "2500") == "removed 1 entries\n"
    assert len(filled.entries()) == 2


def test_clear_removes_everything(filled: DiskCache, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "clear") == "removed 3 entries\n"
    assert filled.entries() == ()


def test_what_cannot_be_removed_is_not_counted(
    filled: DiskCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)  # root may remove whatever the folder's mode says
    with pytest.raises(SystemExit) as done:
        main(["cache", "clear"])
    captured = capsys.readouterr()
    assert done.value.code == 1 and captured.out == ""
    assert f"nothing can be removed from {filled.folder}" in captured.err


def test_a_cache_that_is_off_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE", "0")
    assert "off" in output(capsys, "info")
    with pytest.raises(SystemExit):
        main(["cache", "clear"])
    assert "LAPILLI_CACHE=0" in capsys.readouterr().err
