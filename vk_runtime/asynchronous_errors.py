"""Errors that commands of a queue met while they ran, kept until somebody waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of

if TYPE_CHECKING:
    from .context import AsyncHandler

logger = logger_of(__name__)


class AsynchronousErrors:
    """The errors of one queue that nobody has been told of."""

    def __init__(self) -> None:
        self._errors: list[Error] = []

    def note(self, error: Error) -> None:
        """Keeps an error for `throw`."""
        self._errors.append(error)

    def throw(self, handler: AsyncHandler | None) -> None:
        """Hands the errors to a handler, once.

        Raises:
            Error: the first of them, where there is no handler; the others are logged.
        """
        errors, self._errors = self._errors, []
        if not errors:
            return
        if handler is not None:
            handler(errors)
            return
        for error in errors[1:]:  # only one can be raised
            logger.error("%s", error)
        raise errors[0]
