"""The capabilities that a lowered module's text declares (`vce_triple`), which upstream's tools ask for.

By scalar types alone: emission computes exactly what a binary uses and does not look here.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, i8, i16, i64
from xdsl.ir import Attribute

from ...ir.dialects.spirv.attributes import VerCapExtAttr
from ...ir.target_env import BindingModel, TargetEnv

_OF_SCALARS: tuple[tuple[Attribute, str, str | None], ...] = (
    (i8, "Int8", "StorageBuffer8BitAccess"),
    (i16, "Int16", "StorageBuffer16BitAccess"),
    (i64, "Int64", None),
    (Float16Type(), "Float16", "StorageBuffer16BitAccess"),
    (Float64Type(), "Float64", None),
)
"""Scalar type, capability of its arithmetic, capability to load and store it."""
_FLOATS: frozenset[Attribute] = frozenset((Float16Type(), Float32Type(), Float64Type()))


def vce_triple(types: Iterable[Attribute], env: TargetEnv) -> VerCapExtAttr:
    """Returns version, capabilities and extensions of a module that uses these converted types.

    An 8- or 16-bit type is taken to be in buffers too.
    """
    used = set(types)
    capabilities = ["Shader"]
    for scalar, arithmetic, storage in _OF_SCALARS:
        if scalar in used:
            capabilities += [arithmetic] if storage is None else [arithmetic, storage]
    if env.signed_zero_inf_nan_preserve_bits and used & _FLOATS:
        capabilities.append("SignedZeroInfNanPreserve")
    extensions: list[str] = []
    major, minor = env.spirv_version
    if "StorageBuffer8BitAccess" in capabilities and (major, minor) < (1, 5):
        extensions.append("SPV_KHR_8bit_storage")
    if env.binding_model is BindingModel.ADDRESS:
        capabilities.append("PhysicalStorageBufferAddresses")
        if (major, minor) < (1, 5):
            extensions.append("SPV_KHR_physical_storage_buffer")
    return VerCapExtAttr((f"v{major}.{minor}", tuple(dict.fromkeys(capabilities)), tuple(extensions)))
