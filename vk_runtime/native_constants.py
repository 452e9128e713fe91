"""The specialization constants of a native module in a bundle of state INPUT: they have SpecIds and no ids of lapilli.

Compiling the bundle fixes them, so that a length or a work-group size of them is a number from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ..ir.errors import InvalidError, KernelArgumentError
from .dtypes import numpy_dtype
from .spec_values import plain_number


@dataclass(frozen=True, slots=True)
class NativeConstant:
    """A constant of one module; a `spec_values.SpecConstant`."""

    module: bytes
    """Identifies the module: several in a bundle may use one SpecId."""
    spec_id: int
    names: tuple[str, ...] = field(compare=False)
    """OpName of each constant with the SpecId."""
    type: str = field(compare=False)
    """``u32``, ``f32`` …"""
    default_bytes: bytes = field(compare=False)
    """Host bytes of the default."""
    encode: Callable[[object], bytes] = field(compare=False)
    """Returns the host bytes of a value; KernelArgumentError where it is not of the type."""

    @property
    def name(self) -> str:
        """Its name in the module, else its SpecId, for messages."""
        return next(iter(self.names), f"SpecId {self.spec_id}")

    @property
    def symbol(self) -> str:
        """What no other constant is called."""
        return f"spirv.{self.module.hex()}.{self.spec_id}"

    @property
    def current(self) -> NativeConstant:
        """Itself."""
        return self

    @property
    def default(self) -> Any:
        """The default, a number or a bool."""
        return self.from_bytes(self.default_bytes)

    def describe(self) -> NoReturn:
        """Files have modules that are compiled, in which it is fixed."""
        raise InvalidError(
            f"specialization constant '{self.name}' is one of a module that is not compiled yet"
        )

    def to_bytes(self, value: object) -> bytes:
        """Returns the host bytes of a number or a bool; KernelArgumentError where it does not fit."""
        return self.encode(plain_number(value))

    def from_bytes(self, data: bytes) -> Any:
        """Returns the value of host bytes."""
        return np.frombuffer(data, numpy_dtype(self.type))[0].item()

    def __repr__(self) -> str:
        named = "".join(f" {name!r}" for name in self.names)
        return f"<SpecId {self.spec_id}{named}: {self.type} = {self.default!r}>"


def constant_of_key(what: str, key: int | str, constants: Iterable[NativeConstant]) -> NativeConstant:
    """Returns the constant with a SpecId or a name.

    Raises:
        KernelArgumentError: there is none, or there are several.
    """
    known = list(constants)
    found = constants_of_key(key, known)
    if len(found) != 1:
        shown = ", ".join(map(repr, known)) or "none"
        more = (
            ""
            if not found
            else "; set the one of kb.specialization_constants, or before the bundles are joined"
        )
        raise KernelArgumentError(
            f"{what}: the kernel bundle has {'several' if found else 'no'} specialization constant {key!r}; it has "
            f"{shown}{more}",
            code="LP3012",
        )
    return found[0]


def constants_of_key(key: int | str, constants: Iterable[NativeConstant]) -> list[NativeConstant]:
    """Returns the constants with a SpecId or a name."""
    return [c for c in constants if (key in c.names if isinstance(key, str) else key == c.spec_id)]
