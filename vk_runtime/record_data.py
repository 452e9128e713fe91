"""Whether numbers fit the members of structs: NumPy, which fills records, would cut 1.5 to an integer's 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from .dtypes import spelling_of
from .host_data import converted


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
    if any(
        not isinstance(item, tuple) or len(cast("tuple[object, ...]", item)) != len(names) for item in items
    ):
        return  # records of NumPy, or one number for all members
    for position, name in enumerate(names):
        kind, column = fields[name][0], [item[position] for item in items]
        if kind.names is not None:
            _require_columns(column, kind)
        elif kind.base.names is None:
            require_member(name, np.asarray(column), kind)


def require_member(name: str, given: np.ndarray[Any, Any], kind: np.dtype[Any]) -> None:
    """Raises InvalidError unless numbers fit a member."""
    if given.dtype.kind not in "biuf":
        return  # NumPy has converted them, or raised
    try:
        converted(given, spelling_of(kind.base), given.tolist())
    except InvalidError as error:
        raise InvalidError(f"member '{name}': {error.message}") from error
