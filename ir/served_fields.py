"""Reading fields of operations whose class is not defined yet, without defining it: 0.3 ms for each of 17 classes.

For `deferred_operations`, which defines a class whose fields are read often.  What is read is what xDSL's accessors
give: properties and attributes by name, operands, results, regions and successors by place where neither they nor
what is in front of them is variadic.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef, operations

Reader = Callable[[Any], Any]
"""Reads a field of an operation."""

_module: Any = operations
_SEQUENCES: Final = {
    _module._OperandFieldDef: "operands",
    _module._ResultFieldDef: "results",
    _module._RegionFieldDef: "regions",
    _module._SuccessorFieldDef: "successors",
}
_DICTIONARIES: Final = {_module._PropertyFieldDef: "properties", _module._AttributeFieldDef: "attributes"}


def reader_of(field: Any, kind: type) -> Reader | None:
    """Returns what reads a field of the operations of a class; None where the class has to be defined.

    Args:
        field: what xDSL's `operand_def` and its kin return, in the class or in a parent.
        kind: the class.
    """
    owners = [owner for owner in kind.__mro__ if owner not in IRDLOperation.__mro__]
    places = [(owner, name) for owner in owners for name, value in vars(owner).items() if value is field]
    if len(places) != 1:
        return None
    ((owner, name),) = places
    if sum(name in vars(each) for each in owners) != 1:
        return None
    container = _DICTIONARIES.get(type(field))
    if container is not None:
        return _by_name(container, field.ir_name or name, field)
    return _by_place(field, owner, owners)


def _by_name(container: str, name: str, field: Any) -> Reader:
    table_of: Callable[[Any], dict[str, Any]] = attrgetter(container)
    if issubclass(field.cls, OptionalDef):
        return lambda op: table_of(op).get(name, field.default_value)
    return lambda op: table_of(op)[name]


def _by_place(field: Any, owner: type, owners: list[type]) -> Reader | None:
    if any(
        type(value) is type(field) for each in owners if each is not owner for value in vars(each).values()
    ):
        return None
    alike = [value for value in vars(owner).values() if type(value) is type(field)]
    index = alike.index(field)
    if any(issubclass(each.cls, VariadicDef) for each in alike[: index + 1]):
        return None
    sequence_of: Callable[[Any], Any] = attrgetter(_SEQUENCES[type(field)])
    return lambda op: sequence_of(op)[index]
