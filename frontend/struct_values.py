"""Struct values on the host: what `struct` adds to a class, and values as bytes and as scalars."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..ir.errors import KernelArgumentError
from .host_values import MISFIT_CODE, elements_of_shape, fixed_array_value, scalar_value
from .struct_types import STRUCT_ATTRIBUTE, StructType, value_type_of
from .types import FixedArrayType, ScalarType, Type, unwrap_scalar
from .vector_types import CompositeArrayType, VecType


def add_methods(cls: Any, kind: StructType) -> None:
    """Gives a struct class its constructor, ``dtype``, and ``==`` and ``repr`` where it has none of its own."""
    inherited = getattr(cls, "__lapilli_defaults__", {})
    defaults: dict[str, object] = dict(inherited)
    defaults |= {f.name: cls.__dict__[f.name] for f in kind.fields if f.name in cls.__dict__}
    for field in kind.fields:  # a default that does not fit is found now
        if field.name in defaults:
            host_value(field.type, defaults[field.name], f"the default of '{kind.name}.{field.name}'")

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        given = _bound(kind, args, kwargs)
        for field in kind.fields:
            if field.name in given:
                value = host_value(field.type, given[field.name], f"'{kind.name}.{field.name}'")
            elif field.name in defaults:
                value = host_value(field.type, defaults[field.name], f"'{kind.name}.{field.name}'")
            else:
                value = zero_of(field.type)
            setattr(self, field.name, value)

    def __eq__(self: object, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in kind.fields)

    def __repr__(self: object) -> str:
        members = ", ".join(f"{f.name}={_shown(getattr(self, f.name))}" for f in kind.fields)
        return f"{kind.name}({members})"

    cls.__init__ = __init__
    for method in (__eq__, __repr__):
        if not is_own(cls.__dict__.get(method.__name__)):
            setattr(cls, method.__name__, method)
    cls.__hash__ = None
    cls.__lapilli_defaults__ = defaults
    cls.dtype = kind.dtype
    cls.__match_args__ = tuple(f.name for f in kind.fields)


def is_own(method: object) -> bool:
    """Whether a class wrote a method itself, which `add_methods` has not."""
    return getattr(method, "__module__", __name__) != __name__


def defaults_of(kind: StructType) -> dict[str, object]:
    """Returns what members are that are not given, by name; zero for those that are not there."""
    return getattr(kind.python_class, "__lapilli_defaults__", {})


def _shown(value: object) -> str:
    return repr(cast("Any", value).tolist()) if isinstance(value, np.ndarray | np.generic) else repr(value)


def _bound(kind: StructType, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    """Returns the given members by name.

    Raises:
        KernelArgumentError: too many, an unknown one, or one twice.
    """
    names = [f.name for f in kind.fields]
    if len(args) > len(names):
        raise KernelArgumentError(
            f"struct '{kind.name}' has {len(names)} member{'s' * (len(names) != 1)} ({', '.join(names)}), "
            f"found {len(args)} values",
            code=MISFIT_CODE,
        )
    given: dict[str, object] = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise KernelArgumentError(
                f"struct '{kind.name}' has no member '{name}'; it has {', '.join(names)}", code=MISFIT_CODE
            )
        if name in given:
            raise KernelArgumentError(
                f"struct '{kind.name}': member '{name}' is given twice", code=MISFIT_CODE
            )
        given[name] = value
    return given


def zero_of(kind: Type) -> Any:
    """Returns the host value of all zeros; a struct's members get their defaults."""
    if isinstance(kind, StructType):
        return kind.python_class()
    assert isinstance(kind, ScalarType | VecType | FixedArrayType | CompositeArrayType)
    return kind()


def host_value(kind: Type, value: Any, what: str) -> Any:
    """Returns `value` as a new host value of a type, checked strictly (see `host_values`).

    Args:
        kind: scalar (gives a NumPy scalar), vector or fixed array (an ndarray, of records where its elements are
            structs), or struct (an instance).
        value: what may stand for it; for a struct an instance, a NumPy record of its dtype, or a tuple of members.
        what: the thing that gets the value, for messages.

    Raises:
        KernelArgumentError: it does not fit.
    """
    if isinstance(kind, ScalarType):
        return scalar_value(kind, value, what)
    if isinstance(kind, FixedArrayType):
        return fixed_array_value(kind, (value,), what)
    if isinstance(kind, VecType):
        return fixed_array_value(FixedArrayType(kind.element, (kind.size,)), (value,), what, called=kind)
    if isinstance(kind, CompositeArrayType):
        return composite_array_value(kind, (value,), what)
    assert isinstance(kind, StructType)
    if isinstance(value, kind.python_class):
        members = {f.name: getattr(value, f.name) for f in kind.fields}
        return kind.python_class(**members)
    other = struct_of_value(value)
    if other is not None and other.spelling == kind.spelling:  # the same struct, read from a bundle file
        return kind.python_class(**{f.name: getattr(value, f.name) for f in kind.fields})
    if isinstance(value, np.ndarray):
        value = unwrap_scalar(cast("object", value))
    if isinstance(value, np.void) and value.dtype.names == tuple(f.name for f in kind.fields):
        return kind.python_class(**{f.name: value[f.name] for f in kind.fields})
    if isinstance(value, tuple):
        return kind.python_class(*cast("tuple[object, ...]", value))
    raise KernelArgumentError(
        f"{what} has type {kind.name}: expected an instance of it, found {value!r} of type "
        f"{type(value).__name__}",
        code=MISFIT_CODE,
    )


def composite_array_value(
    kind: CompositeArrayType, values: tuple[object, ...], what: str
) -> np.ndarray[Any, Any]:
    """Returns a C-ordered ndarray of `kind`, a new one: as `fixed_array_value` of numbers.

    Raises:
        KernelArgumentError: the shape differs, or an element does not fit.
    """
    if isinstance(kind.element, VecType):
        base, lengths = kind.layout
        assert isinstance(base, ScalarType)
        return fixed_array_value(FixedArrayType(base, lengths), values, what, called=kind)
    result = np.zeros(kind.shape, kind.element.dtype)
    if not values:
        result[...] = to_record(kind.element, zero_of(kind.element), what)
        return result
    elements = elements_of_shape(values[0] if len(values) == 1 else values, kind.shape)
    if elements is None:
        raise KernelArgumentError(
            f"{what} has type {kind!r}: expected {' × '.join(map(str, kind.shape))} elements of type "
            f"{kind.element!r}, found {values[0] if len(values) == 1 else values!r:.200}",
            code=MISFIT_CODE,
        )
    for index, element in elements:
        result[index] = to_record(kind.element, element, f"{what}{list(index)}")
    return result


def to_record(kind: Type, value: object, what: str) -> np.ndarray[Any, Any]:
    """Returns a value as one element of the type's dtype, padding zero: shape (), of a vector (n,)."""
    checked = host_value(kind, value, what)
    if not isinstance(kind, StructType):
        return np.asarray(checked)
    record = np.zeros((), kind.dtype)
    for field in kind.fields:
        record[field.name] = to_record(field.type, getattr(checked, field.name), what)
    return record


def from_record(kind: Type, record: Any) -> Any:
    """Returns the host value that one element of the type's dtype holds: Python scalars for scalar types."""
    if isinstance(kind, ScalarType):
        return record.item() if hasattr(record, "item") else record
    if isinstance(kind, StructType):
        return kind.python_class(**{f.name: from_record(f.type, record[f.name]) for f in kind.fields})
    return np.array(record)


def leaf_values(kind: Type, value: object, what: str) -> list[Any]:
    """Returns the scalars of a host value in C order, as Python numbers.

    Raises:
        KernelArgumentError: it does not fit.
    """
    checked = host_value(kind, value, what)
    if isinstance(kind, StructType):
        return [
            leaf
            for field in kind.fields
            for leaf in leaf_values(field.type, getattr(checked, field.name), f"{what}.{field.name}")
        ]
    if isinstance(kind, ScalarType):
        return [checked.item()]
    if isinstance(kind, CompositeArrayType) and isinstance(kind.element, StructType):
        return [
            leaf
            for index in np.ndindex(*kind.shape)
            for leaf in leaf_values(kind.element, checked[index], f"{what}{list(index)}")
        ]
    return cast("list[Any]", checked.reshape(-1).tolist())


def struct_of_value(value: object) -> StructType | None:
    """Returns the struct type that a host value is an instance of, or None."""
    found = value_type_of(type(value)) if hasattr(type(value), STRUCT_ATTRIBUTE) else None
    return found if isinstance(found, StructType) else None
