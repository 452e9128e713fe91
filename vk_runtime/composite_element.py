"""One vector, fixed array or struct as a NumPy element: what `fill` writes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from .host_data import converted, scalar_spelling
from .record_data import require_member


def composite_element(value: object, dtype: np.dtype[Any], spelling: str) -> np.ndarray[Any, Any]:
    """Returns `value` as a 0-d array of raw bytes, as long as one element.

    Args:
        value: of a vector one number or its components; of a struct a record of its dtype, an instance, or 0; of a
            fixed array of structs as many of these, or 0.
        dtype: the element's.
        spelling: as lapilli spells it, for messages.

    Raises:
        InvalidError: it does not fit.
    """
    if dtype.names is not None:
        record = np.zeros((), dtype)
        _assign(record, value, dtype, spelling)
        return _raw(record)
    if dtype.base.names is not None:
        records = np.zeros(dtype.shape, dtype.base)
        _assign_elements(records, value, dtype, spelling)
        return _raw(records)
    host = np.asarray(value)
    if host.dtype.kind not in "biuf" or host.shape not in ((), dtype.shape):
        raise InvalidError(
            f"expected one number or {' × '.join(map(str, dtype.shape))} for an array of {spelling}; found {value!r}"
        )
    return _raw(np.broadcast_to(converted(host, scalar_spelling(spelling), value), dtype.shape))


def _assign(record: Any, value: Any, dtype: np.dtype[Any], spelling: str) -> None:
    if isinstance(value, int | float) and value == 0:
        return
    names = dtype.names or ()
    if isinstance(value, np.void | np.ndarray) and cast("Any", value).dtype == dtype:
        record[()] = value
        return
    if isinstance(value, int | float | np.ndarray) or not all(hasattr(value, name) for name in names):
        raise InvalidError(f"expected a struct with the members {', '.join(names)}, or 0; found {value!r}")
    fields: Any = dtype.fields
    for name in names:
        kind, member = fields[name][0], getattr(value, name)
        if kind.names is not None:
            _assign(record[name], member, kind, spelling)
        elif kind.base.names is not None:
            _assign_elements(record[name], member, kind, spelling)
        else:
            require_member(name, np.asarray(member), kind)
            record[name] = member


def _assign_elements(records: Any, value: object, dtype: np.dtype[Any], spelling: str) -> None:
    """Fills a member that is a fixed array of structs; `records` are its elements."""
    if isinstance(value, int | float) and value == 0:
        return
    given = cast("np.ndarray[Any, Any]", np.asarray(value, None if isinstance(value, np.ndarray) else object))
    if given.shape != dtype.shape:
        lengths = " × ".join(map(str, dtype.shape))
        raise InvalidError(f"expected {lengths} structs for {spelling}, found {value!r}")
    for index in np.ndindex(*dtype.shape):
        _assign(records[(*index, ...)], given[index], dtype.base, spelling)


def _raw(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(host.tobytes(), f"V{host.nbytes}").reshape(())
