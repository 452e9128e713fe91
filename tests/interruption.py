"""Ctrl-C at any point of the runtime, one after the other; finalisers in the middle of it.

Python looks for signals after each call and at each backward jump.  A trace function raises KeyboardInterrupt
at exactly these points, which no signal could do reliably.
"""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from lapilli.vk_runtime import queue as queue_module

FOLDER = str(Path(queue_module.__file__).parent)
CHECKED = {
    code
    for name, code in dis.opmap.items()
    if (name.startswith(("CALL", "RESUME")) and "INTRINSIC" not in name) or "JUMP_BACKWARD" in name
}
"""Opcodes after which Python runs signal handlers; Python 3.11 has conditional jumps back, too, as of ``while``."""
JUMPS = {code for name, code in dis.opmap.items() if "JUMP_BACKWARD" in name}
"""Those that do so only where they jump."""


def interrupted_at(
    count: int,
    action: Callable[[], object],
    begin: Callable[[Callable[[], None]], object] = lambda start: start(),
    *,
    instead: Callable[[], object] | None = None,
) -> bool:
    """Runs `action` with Ctrl-C at the `count`-th possible point in the runtime; whether it has so many.

    Points count from where the function is called that `begin` is given.  `instead` is called in place of Ctrl-C, as a
    finaliser or a signal handler is.
    """
    before: dict[object, int] = {}
    left = count
    is_done = False

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left, is_done
        del argument
        if is_done:
            return None
        code = frame.f_code
        # What finalisers raise is swallowed by Python, what callbacks raise (fake_driver.py) by cffi.
        is_swallowed = code.co_name in ("__del__", "address_of")
        if event == "call" and (is_swallowed or not code.co_filename.startswith(FOLDER)):
            return None
        frame.f_trace_opcodes = True
        if (
            event == "exception"
        ):  # a call that raises looks for no signals, nor do the handlers that it comes to
            before.pop(frame, None)
        if event == "opcode":
            last, before[frame] = before.get(frame), frame.f_lasti
            if last is not None and _is_checked(code.co_code[last], frame.f_lasti < last):
                left -= 1
                if left < 0 and (instead is not None or _are_protected_alike(code, last, frame.f_lasti)):
                    if instead is None:
                        raise KeyboardInterrupt
                    is_done = True
                    instead()
        return trace

    def start() -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # Python 3.12 looks when tracing begins whether any frame wants opcodes
            frame.f_trace_opcodes = True
            if frame.f_code.co_filename.startswith(FOLDER):
                frame.f_trace, before[frame] = trace, frame.f_lasti
            frame = frame.f_back
        sys.settrace(trace)

    begin(start)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        before.clear()  # frames keep what they have made
    return is_done


def _is_checked(opcode: int, has_jumped: bool) -> bool:
    return opcode in CHECKED and (has_jumped or opcode not in JUMPS)


def _are_protected_alike(code: CodeType, call: int, behind: int) -> bool:
    """Whether an exception right behind a call meets the handler that meets one of the call, as a signal's is.

    The end of a ``with`` block whose last call's result is returned is not protected any more.
    """
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # nothing public tells it
    first, second = (
        [entry.target for entry in table if entry.start <= place < entry.end] for place in (call, behind)
    )
    return first == second


class Finalised:
    """Garbage that only the collector finds."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.itself, self.action = self, action

    def __del__(self) -> None:
        self.action()


class Refusals:
    """Runs a finaliser at every call of one function, and notes how each was refused."""

    def __init__(self, monkeypatch: Any, owner: object, name: str, action: Callable[[], object]) -> None:
        self.found: list[type] = []
        really_do = getattr(owner, name)

        def interrupted(*args: Any, **kwargs: Any) -> Any:
            Finalised(action)
            gc.collect()
            return really_do(*args, **kwargs)

        monkeypatch.setattr(owner, name, interrupted, raising=False)
        monkeypatch.setattr(sys, "unraisablehook", lambda it: self.found.append(type(it.exc_value)))
