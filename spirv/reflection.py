"""The facts that `reflect` finds in a SPIR-V binary.  Standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorBinding:
    """A variable that a descriptor is bound to."""

    name: str
    """OpName of the variable, or of its block; may be empty."""
    descriptor_set: int
    binding: int
    storage_class: int
    """`StorageClass.StorageBuffer`, `Uniform` or `UniformConstant`."""
    is_block: bool
    """Whether it is a buffer; otherwise an image or a sampler."""
    non_writable: bool
    """Decorated NonWritable, the variable or every member of its block."""
    non_readable: bool
    count: int | None
    """Descriptors: 1, or the length of the array; None where it is not a plain constant."""
    variable_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConstantMember:
    """A member of a push-constant block."""

    name: str
    offset_bytes: int
    size_bytes: int | None
    type: str
    """Scalars and vectors as lapilli spells them (``f32x4``), else ``struct`` or ``array``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConstantBlock:
    """The push constants of an entry point."""

    name: str
    members: tuple[PushConstantMember, ...]
    """In order of the struct."""
    size_bytes: int
    """End of the last member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSize:
    """The work-group size of an entry point, (x, y, z)."""

    size: tuple[int | None, int | None, int | None]
    """Literals and defaults; None where the component is a specialization expression."""
    spec_ids: tuple[int | None, int | None, int | None] = (None, None, None)
    """SpecId of each component that is a specialization constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkgroupVariable:
    """Shared memory of a work-group."""

    name: str
    size_bytes: int | None
    """None where the length is a specialization constant, or where the type carries no layout."""
    length_spec_id: int | None
    """SpecId of the length of an array that is sized by a specialization constant."""
    variable_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """An OpEntryPoint, with what its call graph uses."""

    name: str
    execution_model: int
    function_id: int
    interface: tuple[int, ...]
    """Ids that it lists."""
    local_size: LocalSize | None
    bindings: tuple[DescriptorBinding, ...]
    """By set, then binding."""
    push_constants: PushConstantBlock | None
    workgroup_variables: tuple[WorkgroupVariable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConstant:
    """A scalar with a SpecId."""

    spec_id: int
    name: str
    """OpName, or empty."""
    type: str
    """``bool``, ``u32``, ``f16`` …"""
    size_bytes: int
    """Size in VkSpecializationInfo: a bool has 4 (VkBool32)."""
    default: bool | int | float
    result_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkageSymbol:
    """An import or export."""

    name: str
    target_id: int
    is_function: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """Facts of a module."""

    version: tuple[int, int]
    capabilities: tuple[int, ...]
    extensions: tuple[str, ...]
    addressing_model: int
    memory_model: int
    entry_points: tuple[EntryPoint, ...]
    spec_constants: tuple[SpecConstant, ...]
    """By SpecId."""
    imports: tuple[LinkageSymbol, ...]
    exports: tuple[LinkageSymbol, ...]

    def entry_point(self, name: str) -> EntryPoint:
        """Returns the entry point of that name; KeyError where there is none."""
        for entry in self.entry_points:
            if entry.name == name:
                return entry
        raise KeyError(name)
