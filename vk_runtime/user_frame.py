"""Where in the user's program lapilli was called from, for messages of the validation layer."""

from __future__ import annotations

import sys

_PACKAGE = __name__.partition(".")[0] + "."


def user_location() -> str | None:
    """Returns ``file:line`` of the innermost frame outside of lapilli, None where there is none."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if not (isinstance(name, str) and (name + ".").startswith(_PACKAGE)):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None
