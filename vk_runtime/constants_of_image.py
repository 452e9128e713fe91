"""What a device image says of its specialization constants: `SpecConstantInfo`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.kernel_info import SpecConstantInfo as ConstantInfo
from ..ir.kernel_info import SpecConstantLeaf
from .dtypes import numpy_dtype
from .spec_values import SpecConstant


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConstantInfo:
    """A specialization constant that the kernels of an image read.  Equal by content, the default by its bytes."""

    id: SpecConstant | None
    """The `lp.SpecializationId`; of a native module in state INPUT what stands for its constant, None for a constant
    of other SPIR-V that lapilli did not make."""
    name: str
    """Its short name."""
    type: object
    """``lp.f32``, ``lp.FixedArray[lp.f32, 3, 3]``, …; without an id the scalar's spelling, ``"f32"``."""
    offset_bytes: int
    """Where the host value lies in `DeviceImage.spec_constant_block`."""
    size_bytes: int
    """Size of the host value."""
    default: Any = field(compare=False)
    """The default, a host value."""
    default_bytes: bytes = field(repr=False)
    """Host bytes of the default, `size_bytes` long; what counts where two of these are compared."""
    leaves: tuple[SpecConstantLeaf, ...]
    """One entry a scalar, in C order; offsets are from the start of this constant."""
    is_emulated: bool
    """Whether the value travels with the arguments; its SpecIds are then numbers that no OpSpecConstant has."""


def public_infos(
    constants: Iterable[ConstantInfo], ids: Mapping[str, SpecConstant]
) -> tuple[SpecConstantInfo, ...]:
    """Returns the constants of an image as users see them; `ids` are the specialization ids by symbol."""
    current = {symbol: found.current for symbol, found in ids.items()}
    return tuple(_public(constant, current.get(constant.symbol)) for constant in constants)


def _public(constant: ConstantInfo, found: SpecConstant | None) -> SpecConstantInfo:
    value = (
        np.frombuffer(constant.default, numpy_dtype(constant.type))[0].item()
        if found is None
        else found.from_bytes(constant.default)
    )
    return SpecConstantInfo(
        id=found,
        name=constant.name,
        type=constant.type if found is None else found.type,
        offset_bytes=constant.offset_bytes,
        size_bytes=constant.size_bytes,
        default=value,
        default_bytes=constant.default,
        leaves=constant.leaves,
        is_emulated=constant.is_emulated,
    )
