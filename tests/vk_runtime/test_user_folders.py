"""`vk_runtime.user_folders` says what platformdirs says."""

from __future__ import annotations

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
