"""`vk_runtime.user_folders` says what platformdirs says."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from lapilli.vk_runtime.user_folders import user_cache_folder, user_data_folder


@pytest.mark.parametrize("value", [None, "", "/somewhere/else"])
def test_the_folders_are_those_of_platformdirs(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert user_cache_folder() == Path(platformdirs.user_cache_dir("lapilli"))
    assert user_data_folder() == Path(platformdirs.user_data_dir("lapilli"))


@pytest.mark.skipif(sys.platform != "linux", reason="asks platformdirs elsewhere")
def test_a_user_without_a_home_has_no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that begins with a folder called ~ would lie wherever the program runs."""

    def nobody(*_: object) -> None:
        raise KeyError("getpwuid(): uid not found")

    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    for folder in (user_cache_folder(), user_data_folder()):
        assert folder.is_absolute() and not folder.exists()
        with pytest.raises(OSError):
            folder.mkdir(parents=True)
