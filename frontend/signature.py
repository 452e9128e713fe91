"""The parameters of a kernel: what a launch gives by name and type, and what of it the runtime sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from .image_types import ImageType, image_parameter
from .parameter_types import ConstType, LocalArrayType, StreamType, WorkItemType
from .spec_constant import SpecializationId
from .struct_types import scalar_leaves
from .types import ArrayType, ScalarType, Type

if TYPE_CHECKING:
    from ..ir.kernel_info import Parameter as RuntimeParameter


class _NoDefault:
    """Type of `NO_DEFAULT`."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault()
"""`ParameterSpec.default` of a parameter that every launch must give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpec:
    """One parameter of a kernel."""

    name: str
    type: Type
    """An `ArrayType`, or the type of a value: scalar, vector, struct, fixed array."""
    default: object = NO_DEFAULT
    """A host value of the type, or `NO_DEFAULT`."""
    keyword_only: bool = False
    positional_only: bool = False

    @property
    def has_default(self) -> bool:
        """Whether a launch may leave it out."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True)
class Signature:
    """The parameters of a kernel in the order of its ``def``."""

    parameters: tuple[ParameterSpec, ...]
    """Those that a launch gives arguments for."""
    specialization_ids: Mapping[str, SpecializationId] = field(default_factory=dict[str, SpecializationId])
    """The constants that `Spec` parameters declare, by name."""
    handlers: tuple[str, ...] = ()
    """Parameters of type `KernelHandler`."""
    work_items: Mapping[str, WorkItemType] = field(default_factory=dict[str, WorkItemType])
    """Parameters that say which work-item runs, by name; the runtime supplies them."""

    @cached_property
    def constants(self) -> tuple[ParameterSpec, ...]:
        """The parameters whose values are compiled in."""
        return tuple(p for p in self.parameters if isinstance(p.type, ConstType))

    @cached_property
    def rank(self) -> int | None:
        """Dimensions that the launch range must have, None where the parameters do not say."""
        return next((kind.rank for kind in self.work_items.values()), None)

    @cached_property
    def positional_names(self) -> tuple[str, ...]:
        """Parameters that an argument without a name may reach, in order."""
        return tuple(p.name for p in self.parameters if not p.keyword_only)

    @cached_property
    def positional_count(self) -> int:
        """How many arguments without a name a launch may give."""
        return len(self.positional_names)

    @cached_property
    def keyword_names(self) -> tuple[str, ...]:
        """Parameters that an argument may name."""
        return tuple(p.name for p in self.parameters if not p.positional_only)

    @cached_property
    def has_composites(self) -> bool:
        """Whether an argument is no array or scalar that goes to the kernel as it is: a vector, struct, fixed array,
        constant of the code, or shared memory."""
        return any(not isinstance(p.type, ArrayType | ScalarType) for p in self.parameters)

    @cached_property
    def runtime_parameters(self) -> tuple[RuntimeParameter, ...]:
        """The parameters as the runtime checks arguments against them, before anything is compiled."""
        return tuple(found for p in self.parameters for found in _runtime_parameters(p.name, p.type))

    def __str__(self) -> str:
        parts = [f"{p.name}: {p.type}" for p in self.parameters if not p.keyword_only]
        parts += [f"{name}: {kind}" for name, kind in self.work_items.items()]
        by_name = [f"{p.name}: {p.type}" for p in self.parameters if p.keyword_only]
        by_name += [f"{name}: Spec[{c.type}] = {c.default}" for name, c in self.specialization_ids.items()]
        if by_name:
            parts += ["*", *by_name]
        return f"({', '.join(parts)})"


def _runtime_parameters(name: str, type_: Type) -> list[RuntimeParameter]:
    """Returns what one parameter is to the runtime: an array, or each scalar of a value."""
    # Imported here, because defining a kernel does not need it.
    from ..ir.kernel_info import BufferParameter, LocalParameter, ScalarParameter, StreamParameter

    if isinstance(type_, ImageType):
        return [image_parameter(name, type_)]
    if isinstance(type_, ArrayType):
        dtype = type_.element_spelling
        access = "read" if type_.access == "constant" else type_.access
        return [BufferParameter(name=name, dtype=dtype, ndim=type_.ndim, access=access)]
    if isinstance(type_, LocalArrayType):
        return [LocalParameter(name=name, dtype=type_.element_spelling, ndim=type_.ndim)]
    if isinstance(type_, StreamType):
        return [StreamParameter(name=name)]
    if isinstance(type_, ConstType):
        return []
    return [
        ScalarParameter(name=name + path, dtype=scalar.spelling, offset_bytes=None)
        for path, scalar, _ in scalar_leaves(type_)
    ]
