"""Creating attributes in a sixth of the time that xDSL's constructors take, which check what callers here know.

What is made is what the constructors make (tests/ir/test_attributes.py compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, ParametrizedAttribute

_Attribute = TypeVar("_Attribute", bound=ParametrizedAttribute)

_set = object.__setattr__
_NOT_NESTED: ArrayAttr[StringAttr] = ArrayAttr(())
_NO_TYPES: ArrayAttr[Attribute] = ArrayAttr(())


def attribute(kind: type[_Attribute], *parameters: Attribute) -> _Attribute:
    """Returns the attribute of a class with these parameters, which are taken to be what the class wants."""
    made = kind.__new__(kind)
    for name, parameter in zip(_parameter_names(kind), parameters, strict=True):
        _set(made, name, parameter)  # it is frozen, and `vars` would give each one a dictionary
    return made


@cache
def _parameter_names(kind: type[ParametrizedAttribute]) -> tuple[str, ...]:
    return tuple(name for name, _ in kind.get_irdl_definition().parameters)


@lru_cache(maxsize=1024)
def text_attribute(text: str) -> StringAttr:
    """Returns a string."""
    return StringAttr(text)


@lru_cache(maxsize=1024)
def symbol_reference(name: str) -> FlatSymbolRefAttr:
    """Returns ``@name``."""
    return attribute(SymbolRefAttr, text_attribute(name), _NOT_NESTED)


@lru_cache(maxsize=1024)
def i32_attribute(value: int) -> IntegerAttr[IntegerType]:
    """Returns an integer of 32 bits; `value` is signed and in range."""
    return IntegerAttr(value, i32)


def function_type(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> FunctionType:
    """Returns the type of a function."""
    return attribute(FunctionType, _types(tuple(inputs)), _types(tuple(outputs)))


def _types(types: tuple[Attribute, ...]) -> ArrayAttr[Attribute]:
    return ArrayAttr(types) if types else _NO_TYPES


@lru_cache(maxsize=4096)
def number_attribute(value: int) -> IntAttr:
    """Returns a number without a type."""
    return IntAttr(value)
