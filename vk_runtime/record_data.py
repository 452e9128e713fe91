"""Whether numbers fit the members of structs: NumPy, which fills records, would cut 1.5 to an integer's 1."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from .dtypes import spelling_of
from .host_data import converted, exact_integers


def require_members(value: object, records: np.ndarray[Any, Any]) -> None:
    """Raises unless the numbers in nested lists of tuples, of which NumPy made `records`, fit the members.

    Raises:
        InvalidError: one does not fit.
    """
    items = list(_items(value))
    if len(items) == records.size and items:  # else they are no tuples, or all in an array of NumPy
        _require_columns(items, records.dtype)


def _items(value: object) -> Iterator[Any]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _items(item)
    else:
        yield value


def _require_columns(items: Sequence[Any], dtype: np.dtype[Any]) -> None:
    fields: Any = dtype.fields
    names = dtype.names or ()
    rows = [cast("tuple[Any, ...]", item) for item in items if isinstance(item, tuple)]
    # Others are records of NumPy, or numbers for all members.
    rows = [row for row in rows if len(row) == len(names)]
    for position, name in enumerate(names if rows else ()):
        kind, column = fields[name][0], [row[position] for row in rows]
        if kind.base.names is not None:
            _require_columns(list(_items(column)), kind.base)
        else:
            _require_column(name, column, kind)


def _require_column(name: str, column: list[Any], kind: np.dtype[Any]) -> None:
    try:
        given = np.asarray(column)
    except ValueError:  # one number stands for all elements of a member
        for item in column:
            require_member(name, np.asarray(item), kind)
    else:
        require_member(name, exact_integers(column, given, kind.base), kind)


def require_member(name: str, given: np.ndarray[Any, Any], kind: np.dtype[Any]) -> None:
    """Raises InvalidError unless numbers fit a member."""
    if given.dtype.kind not in "biuf" and given.dtype.name != "bfloat16":
        shown = reprlib.repr(given.tolist())
        raise InvalidError(f"member '{name}': expected numbers for {spelling_of(kind.base)}, found {shown}")
    try:
        converted(given, spelling_of(kind.base), given.tolist())
    except InvalidError as error:
        raise InvalidError(f"member '{name}': {error.message}") from error
