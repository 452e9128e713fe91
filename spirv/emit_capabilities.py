"""Finds the capabilities and extensions that a module uses, and no more.

8- and 16-bit types are the hard part.  StorageBuffer8BitAccess alone allows them in buffers as long as values
are only loaded, stored and converted; anything else needs Int8, Int16 or Float16 (SPIR-V 1.6 §3.31;
SPIRV-Tools' validate_small_type_uses.cpp).  Many devices have the former and not the latter.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Attribute, Operation

from ..ir.dialects import spirv
from ..ir.dialects.spirv.enums import AddressingModel, ExecutionMode, MemoryModel, StorageClass
from ..ir.dialects.spirv.matrix_types import CooperativeMatrixType, MatrixType
from ..ir.dialects.spirv.scalars import bit_width, scalar_of
from ..ir.dialects.spirv.types import ArrayType, PointerType, RuntimeArrayType, SpecArrayType, StructType
from ..ir.narrowing import is_integer_type
from .emit_context import EmitContext, cannot_emit
from .layout import is_laid_out
from .tables import Capability, Enumerant, enumerant, enumerant_value

_TRANSPARENT = frozenset(
    (
        "spirv.Load",
        "spirv.Store",
        "spirv.CopyMemory",
        "spirv.UConvert",
        "spirv.SConvert",
        "spirv.FConvert",
        "spirv.AccessChain",
        "spirv.InBoundsAccessChain",
        "spirv.PtrAccessChain",
        "spirv.mlir.addressof",
    )
)
"""Operations that small types may take part in without their arithmetic capability."""

Storage = Mapping[tuple[StorageClass, int], int]
"""Capability by storage class and bits of what lies there."""

_STORAGE_CAPABILITIES: Storage = {
    (StorageClass.StorageBuffer, 8): Capability.StorageBuffer8BitAccess,
    (StorageClass.PhysicalStorageBuffer, 8): Capability.StorageBuffer8BitAccess,
    (StorageClass.Uniform, 8): Capability.UniformAndStorageBuffer8BitAccess,
    (StorageClass.PushConstant, 8): Capability.StoragePushConstant8,
    (StorageClass.StorageBuffer, 16): Capability.StorageBuffer16BitAccess,
    (StorageClass.PhysicalStorageBuffer, 16): Capability.StorageBuffer16BitAccess,
    (StorageClass.Uniform, 16): Capability.UniformAndStorageBuffer16BitAccess,
    (StorageClass.PushConstant, 16): Capability.StoragePushConstant16,
}
_OF_SHARED_BLOCKS: Storage = {
    (StorageClass.Workgroup, 8): Capability.WorkgroupMemoryExplicitLayout8BitAccessKHR,
    (StorageClass.Workgroup, 16): Capability.WorkgroupMemoryExplicitLayout16BitAccessKHR,
}
_MODE_CAPABILITIES = {
    ExecutionMode.DenormPreserve: Capability.DenormPreserve,
    ExecutionMode.DenormFlushToZero: Capability.DenormFlushToZero,
    ExecutionMode.SignedZeroInfNanPreserve: Capability.SignedZeroInfNanPreserve,
    ExecutionMode.RoundingModeRTE: Capability.RoundingModeRTE,
    ExecutionMode.RoundingModeRTZ: Capability.RoundingModeRTZ,
}


def add_module_capabilities(context: EmitContext) -> None:
    """Adds what addressing model, memory model, execution modes and small types need.

    Types and instructions that were emitted before have added theirs already.
    """
    module = context.module
    if module.addressing_model.data is AddressingModel.PhysicalStorageBuffer64:
        context.capabilities.add(Capability.PhysicalStorageBufferAddresses)
    if module.memory_model.data is MemoryModel.Vulkan:
        context.capabilities.add(Capability.VulkanMemoryModel)
    for op in context.ops:
        if type(op) is spirv.ExecutionModeOp:
            capability = _MODE_CAPABILITIES.get(op.execution_mode.data)
            if capability is not None:
                context.capabilities.add(capability)
            _add_extension(context, enumerant("ExecutionMode", op.execution_mode.data))
    context.capabilities.update(_declared(module))
    storage = _STORAGE_CAPABILITIES
    if any(type(op) is spirv.GlobalVariableOp and is_laid_out(op.type) for op in context.ops):
        context.capabilities.add(Capability.WorkgroupMemoryExplicitLayoutKHR)
        storage = {**storage, **_OF_SHARED_BLOCKS}
    if context.types.small_types:
        context.capabilities.update(_small_type_capabilities(module, storage))
        context.capabilities.update(_of_passing_values(module, context.capabilities, storage))
    _add_extensions(context)


_DECLARED = frozenset(
    (
        Capability.VariablePointers,
        Capability.VariablePointersStorageBuffer,
        Capability.VulkanMemoryModelDeviceScope,
        Capability.DeviceGroup,
        Capability.ShaderNonUniform,
        Capability.UniformBufferArrayDynamicIndexing,
        Capability.UniformBufferArrayNonUniformIndexing,
        Capability.StorageBufferArrayDynamicIndexing,
        Capability.StorageBufferArrayNonUniformIndexing,
        Capability.SampledImageArrayDynamicIndexing,
        Capability.SampledImageArrayNonUniformIndexing,
        Capability.StorageImageArrayDynamicIndexing,
        Capability.StorageImageArrayNonUniformIndexing,
        Capability.UniformTexelBufferArrayDynamicIndexing,
        Capability.UniformTexelBufferArrayNonUniformIndexing,
        Capability.StorageTexelBufferArrayDynamicIndexing,
        Capability.StorageTexelBufferArrayNonUniformIndexing,
        Capability.RuntimeDescriptorArray,
        Capability.WorkgroupMemoryExplicitLayoutKHR,
        Capability.AtomicFloat16AddEXT,
        Capability.Linkage,
    )
)
"""What no operation alone asks for: taken over from `vce_triple` where it stands there."""


def _declared(module: spirv.ModuleOp) -> Iterator[int]:
    triple = module.vce_triple
    for name in () if triple is None else triple.capabilities:
        try:
            number = enumerant_value("Capability", name)
        except KeyError:
            cannot_emit(f"vce_triple names the unknown capability {name}", module)
        if number in _DECLARED:
            yield number


def _small_type_capabilities(module: Operation, storage: Storage) -> Iterator[int]:
    for op in module.walk():
        if isinstance(op, spirv.GlobalVariableOp):
            yield from _of_memory(op.type, storage)
            # SPIRV-Tools also looks behind pointers that a block holds.
            yield from _arithmetic(_behind_pointers(op.type.pointee))
        elif isinstance(op, spirv.SpecConstantOp):
            yield from _arithmetic([op.type])
        elif op.name in _TRANSPARENT:
            # Pointers into physical storage appear here only.
            yield from _of_pointers((value.type for value in (*op.operands, *op.results)), storage)
            if isinstance(op, spirv.LoadOp | spirv.StoreOp):
                yield from _arithmetic_vectors(op)
        else:
            yield from _of_values(op, storage)


def _of_passing_values(module: Operation, found: Container[int], storage: Storage) -> Iterator[int]:
    """Yields what small types need that only conversions see, ``f32(f16(x))``: no storage capability covers them."""
    for op in module.walk():
        if isinstance(op, spirv.UConvertOp | spirv.SConvertOp | spirv.FConvertOp):
            for value in (*op.operands, *op.results):
                scalar = scalar_of(value.type)
                covering = (c for (_, bits), c in storage.items() if bits == bit_width(scalar))
                if not any(capability in found for capability in covering):
                    yield from _arithmetic([scalar])


def _of_values(op: Operation, storage: Storage) -> Iterator[int]:
    types = [value.type for value in (*op.operands, *op.results)]
    for region in op.regions:
        for block in region.blocks:
            types += [argument.type for argument in block.args]
    pointers = [type_ for type_ in types if isinstance(type_, PointerType)]
    yield from _arithmetic(scalar for type_ in types for scalar in _scalars(type_))
    yield from _of_pointers(pointers, storage)


def _arithmetic_vectors(op: Operation) -> Iterator[int]:
    """A composite with small components cannot be used as a value without the arithmetic capability."""
    for value in (*op.operands, *op.results):
        if isinstance(value.type, ArrayType | StructType):
            yield from _arithmetic(_scalars(value.type))


def _of_pointers(types: Iterable[Attribute], storage: Storage) -> Iterator[int]:
    for type_ in types:
        if isinstance(type_, PointerType):
            yield from _of_memory(type_, storage)


def _of_memory(pointer: PointerType, storage: Storage) -> Iterator[int]:
    storage_class = pointer.storage_class.data
    for scalar in _scalars(pointer.pointee):
        width = bit_width(scalar)
        if width not in (8, 16):
            continue
        capability = storage.get((storage_class, width))
        if capability is not None:
            yield capability
        else:
            yield from _arithmetic([scalar])


def _scalars(type_: Attribute) -> Iterator[Attribute]:
    if isinstance(type_, StructType):
        for member in type_.member_types:
            yield from _scalars(member)
    elif isinstance(type_, ArrayType | RuntimeArrayType | SpecArrayType):
        yield from _scalars(type_.element_type)
    elif isinstance(type_, MatrixType | CooperativeMatrixType):
        yield type_.element_type
    elif not isinstance(type_, PointerType):
        yield scalar_of(type_)


def _behind_pointers(type_: Attribute) -> Iterator[Attribute]:
    if isinstance(type_, StructType):
        for member in type_.member_types:
            yield from _behind_pointers(member)
    elif isinstance(type_, ArrayType | RuntimeArrayType | SpecArrayType):
        yield from _behind_pointers(type_.element_type)
    elif isinstance(type_, PointerType):
        yield from _scalars(type_.pointee)


def _arithmetic(types: Iterable[Attribute]) -> Iterator[int]:
    for type_ in types:
        width = bit_width(type_)
        if is_integer_type(type_):
            if width == 8:
                yield Capability.Int8
            elif width == 16:
                yield Capability.Int16
        elif width == 16 and not isinstance(type_, BFloat16Type):
            yield Capability.Float16


def _add_extension(context: EmitContext, row: Enumerant | None) -> bool:
    """Adds the extension of an enumerant that the target's version has not; returns whether there is one."""
    version = context.env.spirv_version
    if row is None or not row.extensions or (row.min_version is not None and row.min_version <= version):
        return False
    # Of two spellings the later row is the ratified one (KHR).
    context.extensions.add(row.extensions[-1])
    return True


def _add_extensions(context: EmitContext) -> None:
    version = context.env.spirv_version
    for number in context.capabilities:
        row = enumerant("Capability", number)
        if row is None:
            cannot_emit(f"capability {number} is in no table", context.module)
        if _add_extension(context, row):
            continue
        if row.min_version is not None and row.min_version > version:
            needed = ".".join(map(str, row.min_version))
            cannot_emit(
                f"capability {row.name} needs SPIR-V {needed}, the target has {version}", context.module
            )
