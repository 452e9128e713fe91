"""What ``@lp.kernel(…)`` says about a kernel beside its function: `KernelOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, cast

from ..ir.errors import InvalidError, closest
from .intrinsics import MATH_FUNCTIONS
from .local_size import SizePart, checked_parts
from .types import ScalarType, i32, i64

OptLevel = Literal[0, 1, 2]
"""0 folds nothing, 1 is the default, 2 spends more time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """The checked options of a kernel."""

    name: str | None = None
    """Name for the user and for the entry point; None: the function's."""
    local_size: tuple[SizePart, ...] | None = None
    """Work-group size in work-items, slowest dimension first; None: the runtime chooses."""
    index: ScalarType = i32
    """Type of ids, sizes and shapes: i32 or i64."""
    contract: bool = True
    """Whether a multiplication and an addition may become one operation."""
    math_accuracy: str | Mapping[str, str] | None = None
    """``"high"``, or by function name ``"high"`` or ``"low"``, which is the device's own; None is high."""
    opt_level: OptLevel | None = None
    """None: that of the module, else 1."""
    debug: bool | None = None
    """Debug mode; None: as the module."""

    @property
    def accuracy_aspects(self) -> tuple[int, ...]:
        """The internal aspects, below 0, that stand for `math_accuracy`: kernels that differ in it share no image."""
        if self.math_accuracy is None:
            return ()
        if isinstance(self.math_accuracy, str):
            return (-1,)
        names = MATH_FUNCTIONS
        return tuple(
            -2 - names.index(name) * len(_ACCURACIES) - _ACCURACIES.index(level)
            for name, level in sorted(self.math_accuracy.items())
        )

    @property
    def device_functions(self) -> frozenset[str]:
        """The functions of ``lp.math`` whose accuracy may be the device's."""
        if self.math_accuracy is None or isinstance(self.math_accuracy, str):
            return frozenset()
        return frozenset(name for name, accuracy in self.math_accuracy.items() if accuracy == "low")

    @classmethod
    def checked(
        cls,
        *,
        name: object = None,
        local_size: object = None,
        index: object = None,
        contract: object = True,
        math_accuracy: object = None,
        opt_level: object = None,
        debug: object = None,
        **others: object,
    ) -> KernelOptions:
        """Makes options of what a user gave.

        Raises:
            InvalidError: a value that the option does not take.
            NdRangeError: a local size that cannot be.
            TypeError: there is no such option.
        """
        for other in others:
            names = [field.name for field in fields(cls)]
            meant = closest(other, names)
            hint = f"did you mean '{meant}'?" if meant else f"there are {', '.join(names)}"
            raise TypeError(f"@lp.kernel has no option '{other}'; {hint}")
        if name is not None and not (isinstance(name, str) and _is_entry_point_name(name)):
            raise _bad("name", "a Unicode text that is not empty and has no NUL", name)
        if index not in (None, i32, i64):
            raise _bad("index", "lp.i32 or lp.i64", index)
        if not isinstance(contract, bool):
            raise _bad("contract", "True or False", contract)
        if isinstance(opt_level, bool) or opt_level not in (None, 0, 1, 2):
            raise _bad("opt_level", "0, 1 or 2", opt_level)
        if debug is not None and not isinstance(debug, bool):
            raise _bad("debug", "True or False", debug)
        return cls(
            name=name,
            local_size=None if local_size is None else checked_parts(local_size),
            index=i32 if index is None else cast(ScalarType, index),
            contract=contract,
            math_accuracy=_accuracy(math_accuracy),
            opt_level=opt_level,
            debug=debug,
        )


_ACCURACIES = ("high", "low")


def _accuracy(value: object) -> str | Mapping[str, str] | None:
    if value is None or value == "high":
        return cast("str | None", value)
    if not isinstance(value, Mapping):
        raise _bad("math_accuracy", '"high" or a mapping from function name to accuracy', value)
    accuracies = dict(cast("Mapping[object, object]", value))
    for name, accuracy in accuracies.items():
        if name not in MATH_FUNCTIONS:
            raise _bad("math_accuracy", "names of functions of lp.math, such as 'sin'", name)
        if accuracy not in _ACCURACIES:
            raise _bad("math_accuracy", f'"high" or "low" for {name!r}', accuracy)
    return cast("Mapping[str, str]", accuracies)


def _is_entry_point_name(name: str) -> bool:
    """Whether a text can be a literal string of SPIR-V: UTF-8 up to the first NUL."""
    has_surrogates = name.encode("utf-8", "replace").decode() != name
    return bool(name) and "\0" not in name and not has_surrogates


def _bad(option: str, expected: str, found: object) -> InvalidError:
    return InvalidError(f"@lp.kernel({option}=…): expected {expected}, found {found!r}", code="LP1004")
