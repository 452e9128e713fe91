"""A kernel's parameters as the runtime sees them: each array, image or stream, and each scalar of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..ir.kernel_info import BufferParameter, LocalParameter, Parameter, ScalarParameter, StreamParameter
from .image_types import ImageType, image_parameter
from .parameter_types import ConstType, LocalArrayType, StreamType
from .struct_types import scalar_leaves
from .types import ArrayType, Type

if TYPE_CHECKING:
    from .kernel import KernelFunction


def parameters_of(kernel: KernelFunction) -> tuple[Parameter, ...]:
    """Returns the parameters as the runtime checks arguments against them, before anything is compiled."""
    found = kernel.compiled.get("parameters")
    if found is None:
        found = kernel.compiled["parameters"] = tuple(
            parameter for p in kernel.signature.parameters for parameter in _parameters(p.name, p.type)
        )
    return cast("tuple[Parameter, ...]", found)


def _parameters(name: str, type_: Type) -> list[Parameter]:
    """Returns what one parameter is to the runtime: an array, or each scalar of a value."""
    if isinstance(type_, ImageType):
        return [image_parameter(name, type_)]
    if isinstance(type_, ArrayType):
        dtype = type_.element.spelling
        access = "read" if type_.access == "constant" else type_.access
        return [BufferParameter(name=name, dtype=dtype, ndim=type_.ndim, access=access)]
    if isinstance(type_, LocalArrayType):
        return [LocalParameter(name=name, dtype=type_.element.spelling, ndim=type_.ndim)]
    if isinstance(type_, StreamType):
        return [StreamParameter(name=name)]
    if isinstance(type_, ConstType):
        return []
    return [
        ScalarParameter(name=name + path, dtype=scalar.spelling, offset_bytes=None)
        for path, scalar, _ in scalar_leaves(type_)
    ]
