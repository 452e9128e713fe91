"""What to import while the drivers start, which takes as long as importing the rest of lapilli and needs no Python.

Whoever knows that a program will launch kernels says here what that takes; `vk_runtime.runtime` does it while a thread
of it waits for the drivers.  Standard library only.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from .deferred_definitions import deferred_definitions

T = TypeVar("T")

LEAST_STACK_BYTES: Final = 1 << 20
"""Drivers get no thread with less, where the program has chosen the size of its threads' stacks."""

_imports: dict[Callable[[], object], None] = {}
_libraries: dict[Callable[[], object], None] = {}


def import_at_start_up(load: Callable[[], object], libraries: Callable[[], object] | None = None) -> None:
    """Calls `load`, which imports and computes nothing of the program, once while the drivers start.

    Never where they have started already.

    Args:
        load: does it.
        libraries: imports the extension modules that `load` needs; called before, see `side_by_side`.
    """
    _imports[load] = None
    if libraries is not None:
        _libraries[libraries] = None


def import_libraries() -> None:
    """Does the imports of extension modules that `import_at_start_up` was told of."""
    _do(_libraries)


def import_now() -> None:
    """Does the imports of `import_at_start_up`."""
    with deferred_definitions():
        _do(_imports)


def _do(loads: dict[Callable[[], object], None]) -> None:
    while loads:
        load, _ = loads.popitem()
        load()


def side_by_side(work: Callable[[], T], meanwhile: Callable[[], object]) -> T:
    """Returns ``work()``, which runs on a thread of its own while this one calls `meanwhile`; both have ended then.

    `work` gains where it waits outside of Python.  It must import nothing that `meanwhile` has not imported yet: they
    would wait for each other's modules.  Nor may `meanwhile` import extension modules where `work` opens libraries: the
    linker opens one at a time.

    Raises:
        Exception: what `meanwhile` raises, else what `work` does.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="lapilli-start")
    try:
        # A thread that Python starts while it finalises waits for ever before 3.12.
        if 0 < threading.stack_size() < LEAST_STACK_BYTES or sys.is_finalizing():
            raise RuntimeError("no thread")
        thread.start()
    except RuntimeError:  # nor is there a thread at the interpreter's end, or beyond a limit of the system
        meanwhile()
        return work()
    try:
        meanwhile()
    finally:
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
