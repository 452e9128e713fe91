"""What a name means around a function: its captured variables, its globals, the builtins.

Apart from `source`, because whoever only checks a cached kernel needs no syntax tree.
"""

from __future__ import annotations

import types
from typing import Final

from .spec_constant import SpecializationId


class _Missing:
    """Type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What `resolve` returns for a name that has no value."""


def resolve(function: types.FunctionType, name: str) -> object:
    """Returns what `name` means now inside of `function`, else `MISSING`.

    A specialization constant without a name of its own learns the one that it is found under.
    """
    value = _lookup(function, name)
    if isinstance(value, SpecializationId):
        value.suggest_name(name, scope=function.__qualname__.rpartition(".")[0])
    return value


def _lookup(function: types.FunctionType, name: str) -> object:
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # assigned later in the enclosing function
            return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return function.__builtins__.get(name, MISSING)
