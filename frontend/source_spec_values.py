"""Values of the specialization constants that a Python text declares: ``lp.SpecValues({"TILE": 16})``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir.errors import KernelArgumentError

if TYPE_CHECKING:
    from .spec_constant import SpecializationId


def spec_bytes(
    constants: Sequence[tuple[str, SpecializationId]], given: Mapping[int | str, object]
) -> dict[SpecializationId, bytes]:
    """Returns the host bytes of the values that were given.

    Args:
        constants: each with a name under which it can be set; a name may stand for several.
        given: values by name.

    Raises:
        KernelArgumentError: a name that no constant has or that several have, two values of one constant, or a value
            that does not fit.
    """
    found: dict[SpecializationId, bytes] = {}
    keys: dict[SpecializationId, int | str] = {}
    for key, value in given.items():
        meant = dict.fromkeys(constant for name, constant in constants if name == key)
        if len(meant) != 1:
            known = ", ".join(repr(name) for name in dict.fromkeys(name for name, _ in constants)) or "none"
            count = "several specialization constants" if meant else "no specialization constant"
            raise KernelArgumentError(
                f"lp.SpecValues: the text has {count} {key!r}; expected one of {known}",
                code="LP3012",
            )
        (constant,) = meant
        data, first = constant.to_bytes(value), keys.setdefault(constant, key)
        if found.setdefault(constant, data) != data:
            raise KernelArgumentError(
                f"lp.SpecValues: {first!r} and {key!r} are one specialization constant, found {given[first]!r} and "
                f"{value!r}; expected one value",
                code="LP3012",
            )
    return found
