"""Binds the arguments of a launch to the parameters of a kernel, by position and by name.

Only which value goes to which parameter is decided here; whether the value suits the parameter's type is the
runtime's to check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.errors import KernelArgumentError, closest
from ..ir.local_memory import LocalMemory
from .constant_arguments import NO_CONSTANTS, Constants, Leaves
from .parameter_types import ConstType, LocalArrayType, StreamType
from .signature import Signature
from .struct_values import leaf_values
from .types import ArrayType, ScalarType


def bind_arguments(
    signature: Signature, args: tuple[object, ...], kwargs: Mapping[str, object], kernel_name: str
) -> tuple[object, ...]:
    """Returns one value for each parameter, in the order of the signature.

    Raises:
        KernelArgumentError: a parameter has no value or two, or a value has no parameter.
    """
    if not kwargs and len(args) == signature.positional_count == len(signature.parameters):
        return args
    values: dict[str, object] = dict(zip(signature.positional_names, args, strict=False))
    if len(args) > (most := signature.positional_count):
        raise _error(
            kernel_name,
            signature,
            f"expected at most {most} positional argument{'' if most == 1 else 's'}, found {len(args)}",
            "LP3002",
        )
    for name, value in kwargs.items():
        if name not in signature.keyword_names:
            raise _unknown(kernel_name, signature, name)
        if name in values:
            raise _error(
                kernel_name,
                signature,
                f"parameter '{name}': expected one value, found two, by position and by name",
                "LP3004",
            )
        values[name] = value
    missing = [p for p in signature.parameters if p.name not in values and not p.has_default]
    if missing:
        named = ", ".join(f"'{p.name}' ({p.type!r})" for p in missing)
        raise _error(
            kernel_name,
            signature,
            f"expected a value for {'parameter' if len(missing) == 1 else 'parameters'} {named}, found none",
            "LP3001",
        )
    return tuple(values.get(p.name, p.default) for p in signature.parameters)


_BOOLS: tuple[type[Any], ...] = (bool, np.bool_)


@dataclass(frozen=True, slots=True)
class LaunchArguments:
    """The arguments of one launch by where they go."""

    values: tuple[object, ...]
    """What the runtime passes: arrays, scalars, shapes of shared memory."""
    constants: Constants = NO_CONSTANTS
    """What is compiled in."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """Of the shared memory among `values`."""


def taken_apart(signature: Signature, values: tuple[object, ...], kernel_name: str) -> LaunchArguments:
    """Takes vectors, structs and fixed arrays apart, since the runtime passes each of their scalars by itself, and
    sorts out what is no argument of the compiled kernel.

    Raises:
        KernelArgumentError: a value is none of its parameter's type.
    """
    flat: list[object] = []
    constants: dict[str, tuple[int | float | bool, ...]] = {}
    shapes: list[tuple[int, ...]] = []
    for position, (parameter, value) in enumerate(zip(signature.parameters, values, strict=True)):
        kind = parameter.type
        count = len(signature.parameters)
        what = f"kernel '{kernel_name}', argument '{parameter.name}' ({position + 1} of {count})"
        if isinstance(kind, ConstType):
            constants[parameter.name] = _constant(kind, value, what)
        elif isinstance(kind, LocalArrayType):
            flat.append(value)
            if isinstance(value, LocalMemory):
                shapes.append(value.shape)
        elif isinstance(kind, ArrayType | ScalarType | StreamType):
            flat.append(value)
        else:
            flat += leaf_values(kind, value, what)
    return LaunchArguments(tuple(flat), Constants(constants), tuple(shapes))


def _constant(kind: ConstType, value: object, what: str) -> Leaves:
    """Returns the scalars of a constant; a bool is no number here either, as for other arguments."""
    element = kind.element
    if isinstance(element, ScalarType) and element.kind != "bool" and isinstance(value, _BOOLS):
        raise KernelArgumentError(f"{what}: expected {element!r}, found {type(value).__name__} {value!r}")
    return tuple(leaf_values(element, value, what))


def _unknown(kernel_name: str, signature: Signature, name: str) -> KernelArgumentError:
    if name in signature.positional_names:
        return _error(
            kernel_name, signature, f"parameter '{name}' is positional-only; found it by name", "LP3003"
        )
    meant = closest(name, signature.keyword_names)
    hint = f"; did you mean '{meant}'?" if meant else ""
    return _error(kernel_name, signature, f"there is no parameter '{name}'{hint}", "LP3003")


def _error(kernel_name: str, signature: Signature, message: str, code: str) -> KernelArgumentError:
    return KernelArgumentError(
        f"kernel '{kernel_name}': {message}\n    its parameters are {signature}", code=code
    )
