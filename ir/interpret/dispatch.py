"""The table that says how each operation of kernel-level IR is executed; the modules of operations fill it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

if TYPE_CHECKING:
    from .frame import Frame

Handler = Callable[["Frame", Operation, list[Any]], Sequence[Any]]
"""Executes an operation for the active work-items: takes the values of its operands, returns those of its results."""

HANDLERS: dict[str, Handler] = {}
"""By the operation's name."""


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function as the handler of operations."""

    def register(handler: Handler) -> Handler:
        for name in names:
            assert name not in HANDLERS, f"two handlers of {name}"
            HANDLERS[name] = handler
        return handler

    return register


def handles_elementwise(functions: dict[str, Callable[..., Any]]) -> None:
    """Registers functions of the operands' values alone, by the operation's name."""
    for name, function in functions.items():
        handles(name)(_elementwise(function))


def _elementwise(function: Callable[..., Any]) -> Handler:
    def execute(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
        return (function(*operands),)

    return execute
