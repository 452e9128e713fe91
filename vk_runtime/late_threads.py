"""Threads that go on when the program has ended: nobody wants to know that a device is closed by then.

Only daemon threads do, which Python stops wherever they are soon after.  What else they meet is shown as ever.
"""

from __future__ import annotations

import threading

from ..ir.errors import DeviceLostError


def hush() -> None:
    """Has `threading.excepthook` pass over devices that are closed; for the end of the program."""
    show = threading.excepthook

    def show_others(args: threading.ExceptHookArgs, /) -> None:
        if not isinstance(args.exc_value, DeviceLostError):
            show(args)

    threading.excepthook = show_others
