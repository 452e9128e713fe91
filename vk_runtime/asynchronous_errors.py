"""Errors that commands of a queue met while they ran, kept until somebody waits."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of
from .handle import living

if TYPE_CHECKING:
    from .context import AsyncHandler

logger = logger_of(__name__)


class AsynchronousErrors:
    """The errors of one queue that nobody has been told of."""

    def __init__(self) -> None:
        self._errors: dict[Error, Error] = {}

    def note(self, *errors: Error) -> None:
        """Keeps errors for `throw`; each once, also if it is noted again."""
        self._errors.update(zip(errors, errors, strict=True))

    def throw(self, handler: AsyncHandler | None) -> None:
        """Hands the errors to a handler, once.  What Ctrl-C keeps from it stays for the next time.

        Raises:
            Error: the first of them, where there is no handler; the others are logged.
        """
        if not self._errors:
            return
        errors: list[Error] = []
        is_told = False
        try:
            # One step for Python: other threads get none of these, and Ctrl-C comes before or behind it.
            errors += filter(None, map(self._errors.pop, living(self._errors), repeat(None)))
            if not errors:
                return
            if handler is not None:
                is_told = True
                handler(errors)
                return
            for error in errors[1:]:  # only one can be raised
                logger.error("%s", error)
            is_told = True
            raise errors[0]
        finally:
            if not is_told:
                self.note(*errors)
