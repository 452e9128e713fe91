"""Tells PyInstaller what a frozen program needs of lapilli: the entry point ``pyinstaller40`` names `hook_folders`.

Lapilli imports its modules when they are first used, which PyInstaller cannot see in the code.  The hook itself is
``hook-lapilli.py``, a name that PyInstaller asks for; only PyInstaller runs it.
"""

from __future__ import annotations

from pathlib import Path


def hook_folders() -> list[str]:
    """Returns the folder of the hook."""
    return [str(Path(__file__).parent)]
