"""The values of ``lp.Const`` parameters: which code a launch needs.

Two launches share an image if the scalars of their constants agree bit by bit: -0.0 is not 0.0 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..ir.errors import InvalidError
from .parameter_types import ConstType
from .struct_values import leaf_values

if TYPE_CHECKING:
    from .signature import Signature

Leaves = tuple[int | float | bool, ...]
"""The scalars of a value in C order."""


class Constants:
    """The value of each constant parameter, as its scalars; hashable, equal by their bits.

    Args:
        values: by parameter name, in signature order.
    """

    def __init__(self, values: Mapping[str, Leaves]) -> None:
        self.values: Final = dict(values)

    @cached_property
    def key(self) -> str:
        """A text that tells two sets of values apart; repr tells -0.0 from 0.0, and one NaN is every NaN."""
        return repr(self.values) if self.values else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Constants({self.key})"


NO_CONSTANTS: Final = Constants({})
"""Of a kernel without such parameters."""


class MissingConstantError(InvalidError):
    """A kernel is to be compiled without a value for a constant parameter that has no default."""


def default_constants(signature: Signature) -> Constants:
    """Returns the constants of a launch that leaves every one out that has a default."""
    values: dict[str, Leaves] = {}
    for parameter in signature.constants:
        if parameter.has_default:
            assert isinstance(parameter.type, ConstType)
            values[parameter.name] = tuple(
                leaf_values(parameter.type.element, parameter.default, f"'{parameter.name}'")
            )
    return Constants(values)
