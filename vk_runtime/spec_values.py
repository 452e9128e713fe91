"""The values of specialization constants that a kernel bundle was given.

A bundle keeps what was set explicitly; every other constant has its default.  Only INPUT bundles change, under a
lock; what is compiled, linked or joined gets a copy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.lpk_records import ConstantRecord


class SpecConstant(Protocol):
    """A specialization id; `frontend.spec_constant.SpecializationId` is one."""

    @property
    def name(self) -> str:
        """Short name, for messages."""
        ...

    @property
    def symbol(self) -> str:
        """Stable name, the same in IR and images."""
        ...

    @property
    def type(self) -> object:
        """Its lapilli type."""
        ...

    @property
    def current(self) -> SpecConstant:
        """The program's own id where this one of a bundle file stands for it by now, else this one."""
        ...

    @property
    def default_bytes(self) -> bytes:
        """Host bytes of the default."""
        ...

    def describe(self) -> ConstantRecord:
        """Returns what a bundle file says of it."""
        ...

    def to_bytes(self, value: object) -> bytes:
        """Returns the host bytes of a value; KernelArgumentError where it does not fit."""
        ...

    def from_bytes(self, data: bytes) -> Any:
        """Returns the value of host bytes."""
        ...


def checked_constant(what: str, value: object) -> SpecConstant:
    """Returns a specialization id, the program's own where it has one by now.

    Raises:
        KernelArgumentError: it is none.
    """
    if isinstance(value, type) or not all(
        hasattr(value, name) for name in ("symbol", "current", "default_bytes", "to_bytes", "from_bytes")
    ):
        raise KernelArgumentError(
            f"{what} takes an lp.SpecializationId, found {value!r} of type {type(value).__name__}",
            code="LP3011",
        )
    return cast(SpecConstant, value).current


def plain_number(value: object) -> object:
    """Returns the Python value of a NumPy scalar, anything else as it is."""
    is_scalar = hasattr(value, "item") and getattr(value, "shape", None) == ()
    return cast("object", value.item()) if is_scalar else value  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


class SpecValues:
    """Host bytes of the constants that were set, by id: what a file's id was given is its module's id's from then on
    that the program has this."""

    def __init__(self, values: Mapping[SpecConstant, bytes] | None = None) -> None:
        self._lock = threading.RLock()
        self._values: dict[SpecConstant, bytes] = dict(values or {})

    def set(self, constant: SpecConstant, value: object) -> None:
        """Sets a value; the last one counts."""
        data = constant.to_bytes(value)
        with self._lock:
            self._values = {**self.explicit(), constant.current: data}

    def get(self, constant: SpecConstant) -> Any:
        """Returns the value that was set, else the default."""
        return constant.from_bytes(self.explicit().get(constant.current, constant.default_bytes))

    def explicit(self) -> dict[SpecConstant, bytes]:
        """Returns what was set."""
        with self._lock:
            return {key.current: data for key, data in self._values.items()}

    def effective(self) -> dict[SpecConstant, bytes]:
        """Returns what was set to another value than the default."""
        return {key: data for key, data in self.explicit().items() if data != key.default_bytes}

    def by_symbol(self) -> dict[str, bytes]:
        """Returns what was set, by symbol; launches ask for it."""
        with self._lock:
            return {key.symbol: data for key, data in self._values.items()}

    def changed_symbols(self) -> set[str]:
        """Returns the symbols of what was set to another value than the default; launches ask for it."""
        with self._lock:
            return {key.symbol for key, data in self._values.items() if data != key.default_bytes}

    def copy(self) -> SpecValues:
        """Returns the values as they are now."""
        return SpecValues(self.explicit())

    @staticmethod
    def merged(what: str, parts: Iterable[SpecValues]) -> SpecValues:
        """Returns the values of several bundles together.

        Raises:
            InvalidError: two of them set one constant to different values.
        """
        values: dict[SpecConstant, bytes] = {}
        for part in parts:
            for constant, data in part.explicit().items():
                known = values.setdefault(constant, data)
                if known != data:
                    raise InvalidError(
                        f"{what}: the kernel bundles set specialization constant '{constant.name}' to different "
                        f"values, {constant.from_bytes(known)!r} and {constant.from_bytes(data)!r}; "
                        "expected the same value, or that one bundle leaves it unset"
                    )
        return SpecValues(values)
