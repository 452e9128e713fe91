"""Importing xDSL's dialects without parsing the assembly formats of their operations.

A declarative format costs 0.3 ms an operation at import and serves only the parser and the printer of MLIR text,
which a launch never uses.  Within `deferred_formats` it is parsed when an operation is first parsed or printed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.irdl import OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram

_lock = threading.RLock()


class DeferredFormat:
    """A format that is parsed when it is used; stands for a `FormatProgram`.

    Args:
        text: the format.
        op_def: the operation's definition.
        original: `FormatProgram.from_str`.
    """

    def __init__(self, text: str, op_def: OpDef, original: Any) -> None:
        self._text = text
        self._op_def = op_def
        self._original = original

    @cached_property
    def program(self) -> FormatProgram:
        """The parsed format."""
        return self._original(self._text, self._op_def)

    def parse(self, parser: Any, op_type: Any) -> Any:
        """Parses an operation; see `FormatProgram.parse`."""
        return self.program.parse(parser, op_type)

    def print(self, printer: Any, op: Any) -> None:
        """Prints an operation; see `FormatProgram.print`."""
        self.program.print(printer, op)


@contextlib.contextmanager
def deferred_formats() -> Generator[None]:
    """Defers the formats of the operations that this thread defines within."""
    from xdsl.irdl import declarative_assembly_format as formats

    if not _lock.acquire(blocking=False):  # as in `deferred_definitions`
        yield
        return
    owner: Any = formats.FormatProgram
    original, thread = owner.from_str, threading.get_ident()

    def from_str(text: str, op_def: OpDef) -> Any:
        if threading.get_ident() != thread:
            return original(text, op_def)
        return DeferredFormat(text, op_def, original)

    owner.from_str = staticmethod(from_str)
    try:
        yield
    finally:
        owner.from_str = staticmethod(original)
        _lock.release()
