"""Where a user's data and caches lie: `platformdirs`, without importing it on Linux.

Importing it costs 3 ms, a tenth of what importing lapilli may cost, for two lines of the XDG base directory
specification; elsewhere the rules are long and it is asked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_data_folder() -> Path:
    """Returns what ``platformdirs.user_data_dir("lapilli")`` does."""
    if sys.platform == "linux":
        return _xdg("XDG_DATA_HOME", ".local/share")
    import platformdirs

    return Path(platformdirs.user_data_dir("lapilli"))


def user_cache_folder() -> Path:
    """Returns what ``platformdirs.user_cache_dir("lapilli")`` does."""
    if sys.platform == "linux":
        return _xdg("XDG_CACHE_HOME", ".cache")
    import platformdirs

    return Path(platformdirs.user_cache_dir("lapilli"))


def _xdg(variable: str, default: str) -> Path:
    """Returns lapilli's folder in one of the XDG base directories."""
    base = os.environ.get(variable, "").strip()
    # A relative path is invalid and ignored (XDG base directory specification 0.8).
    if not os.path.isabs(base):
        base = os.path.expanduser(f"~/{default}")
    # A user without a home (a number that the container does not know) has no folders: nothing is below a device.
    return Path(base if os.path.isabs(base) else os.devnull) / "lapilli"
