"""SpecConstant: what the older-named calls of a command group return for a specialization constant.

It stands for the constant in a kernel (where it, and its ``.get()``, are the constant's value) and reads as the
value of its command group on the host.  Which value a kernel sees depends on the group that launches it, never on
the placeholder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..ir.errors import InvalidError
from .spec_values import SpecConstant as SpecializationConstant


class SpecConstant(NDArrayOperatorsMixin):
    """A specialization constant of a command group, which computes as its value; one made without a group has none."""

    __lapilli_placeholder__ = True
    __slots__ = ("_constant", "_read")

    _constant: SpecializationConstant | None
    _read: Callable[[], bytes] | None

    def __init__(self) -> None:
        self._constant = self._read = None

    @classmethod
    def of(cls, constant: SpecializationConstant, read: Callable[[], bytes]) -> SpecConstant:
        """Returns the placeholder of `constant`; `read` gives its host bytes in the command group."""
        made = cls()
        made._constant, made._read = constant, read
        return made

    @property
    def constant(self) -> SpecializationConstant:
        """The specialization id that it stands for.

        Raises:
            InvalidError: it was made without a command group.
        """
        if self._constant is None:
            raise InvalidError(
                "this lp.SpecConstant stands for no constant; h.set_spec_constant(ID, value) and "
                "h.get_spec_constant(ID) return one that does"
            )
        return self._constant

    def get(self) -> Any:
        """Returns the value that the constant has in the command group.

        Raises:
            InvalidError: it was made without a command group.
        """
        constant = self.constant
        assert self._read is not None, "both are set together"
        return constant.from_bytes(self._read())

    def __eq__(self, other: object) -> Any:
        """Compares the value, as C++'s implicit conversion does; one without a group equals itself only."""
        if self._constant is None:
            return self is other
        return self.get() == (other.get() if isinstance(other, SpecConstant) else other)

    def __ne__(self, other: object) -> Any:
        if self._constant is None:
            return self is not other
        return self.get() != (other.get() if isinstance(other, SpecConstant) else other)

    def __hash__(self) -> int:
        return object.__hash__(self) if self._constant is None else hash(self.get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.get(), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [part.get() if isinstance(part, SpecConstant) else part for part in inputs]
        return getattr(ufunc, method)(*values, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.get()[index]

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __index__(self) -> int:
        return self.get().__index__()

    def __float__(self) -> float:
        return float(self.get())

    def __repr__(self) -> str:
        name = "none" if self._constant is None else self._constant.name
        return f"<lp.SpecConstant {name}>"
