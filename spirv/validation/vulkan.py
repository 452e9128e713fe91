"""Rules of Vulkan's environment for SPIR-V (Vulkan 1.3, appendix A) that concern compute kernels.

* Addressing is Logical or PhysicalStorageBuffer64, the memory model GLSL450 or Vulkan; no Kernel, Addresses
  or Linkage capability.
* Variables are of classes that shaders have.  Those of class StorageBuffer, Uniform and PushConstant are
  structs decorated Block, or arrays of them; the first two, and UniformConstant, have DescriptorSet and
  Binding.
* An entry point uses one PushConstant variable at most.
* A run-time array lies in a block only, never in shared or private memory.
* Workgroup variables have no initializer but OpConstantNull; Input and StorageBuffer variables have none.
* SpecId stands on scalar specialization constants.  (Two may share one: glslang does so for local sizes.)
* OpSpecConstantOp wraps what shaders may wrap, with the operand types of what it wraps; no float arithmetic.
* Built-ins for compute have their class and type.
* Scopes and memory semantics of compute are constants; a barrier's scope is Workgroup or Subgroup.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import Instruction
from ..reflect import variables_by_entry_point
from ..tables import (
    AddressingModel,
    BuiltIn,
    Capability,
    Decoration,
    MemoryModel,
    Op,
    Scope,
    StorageClass,
    enumerant_name,
    opcode_name,
)
from ..type_info import constant_value
from .arithmetic import ROWS, check_row
from .context import Context
from .finding import Finding

RULE = "vulkan"

_CLASSES = frozenset(
    (
        *(StorageClass.UniformConstant, StorageClass.Input, StorageClass.Uniform, StorageClass.Output),
        *(StorageClass.Workgroup, StorageClass.Private, StorageClass.Function, StorageClass.PushConstant),
        *(StorageClass.Image, StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer),
    )
)
_BLOCK_CLASSES = frozenset((StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.PushConstant))
_DESCRIPTOR_CLASSES = frozenset(
    (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant)
)
_FORBIDDEN = (Capability.Kernel, Capability.Addresses, Capability.Linkage)
_SCALAR_SPEC = frozenset((Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse))

SPEC_CONSTANT_OPS = frozenset(
    (
        *(Op.SConvert, Op.UConvert, Op.FConvert, Op.SNegate, Op.Not, Op.IAdd, Op.ISub, Op.IMul),
        *(Op.UDiv, Op.SDiv, Op.UMod, Op.SRem, Op.SMod, Op.ShiftRightLogical, Op.ShiftRightArithmetic),
        *(Op.ShiftLeftLogical, Op.BitwiseOr, Op.BitwiseXor, Op.BitwiseAnd, Op.VectorShuffle),
        *(Op.CompositeExtract, Op.CompositeInsert, Op.LogicalOr, Op.LogicalAnd, Op.LogicalNot),
        *(Op.LogicalEqual, Op.LogicalNotEqual, Op.Select, Op.IEqual, Op.INotEqual, Op.ULessThan),
        *(Op.SLessThan, Op.UGreaterThan, Op.SGreaterThan, Op.ULessThanEqual, Op.SLessThanEqual),
        *(Op.UGreaterThanEqual, Op.SGreaterThanEqual, Op.QuantizeToF16),
    )
)
"""What OpSpecConstantOp may wrap in a shader (SPIR-V 1.6 §3.49.7)."""

_U32_VECTORS = frozenset(
    (
        *(BuiltIn.NumWorkgroups, BuiltIn.WorkgroupSize, BuiltIn.WorkgroupId),
        *(BuiltIn.LocalInvocationId, BuiltIn.GlobalInvocationId),
    )
)
_U32_SCALARS = frozenset(
    (
        *(BuiltIn.LocalInvocationIndex, BuiltIn.SubgroupSize, BuiltIn.NumSubgroups),
        *(BuiltIn.SubgroupId, BuiltIn.SubgroupLocalInvocationId),
    )
)


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    if not ctx.is_vulkan:
        return
    yield from _environment(ctx)
    for item in ctx.view.of_opcode(Op.Variable):
        yield from (Finding(message, item.ordinal, RULE) for message in _variable(ctx, item))
    yield from _push_constants(ctx)
    yield from _spec_ids(ctx)
    for item in ctx.view.of_opcode(Op.SpecConstantOp):
        yield from (Finding(message, item.ordinal, RULE) for message in _spec_constant_op(ctx, item))
    yield from _builtins(ctx)
    for function in ctx.view.functions:
        for item in function.instructions():
            if item.opcode == Op.ControlBarrier:
                yield from _barrier(ctx, item)


def _environment(ctx: Context) -> Iterator[Finding]:
    for item in ctx.view.of_opcode(Op.MemoryModel):
        addressing, memory = item.operands
        if addressing not in (AddressingModel.Logical, AddressingModel.PhysicalStorageBuffer64):
            name = enumerant_name("AddressingModel", addressing)
            yield Finding(f"Vulkan has no addressing model {name}", item.ordinal, RULE)
        if memory not in (MemoryModel.GLSL450, MemoryModel.Vulkan):
            name = enumerant_name("MemoryModel", memory)
            yield Finding(f"Vulkan has no memory model {name}", item.ordinal, RULE)
    for item in ctx.view.of_opcode(Op.Capability):
        if item.operands[0] in _FORBIDDEN:
            name = enumerant_name("Capability", item.operands[0])
            yield Finding(f"Vulkan allows no capability {name}", item.ordinal, RULE)


def _variable(ctx: Context, item: Instruction) -> Iterator[str]:
    number, storage_class = item.result_id or 0, item.operands[0]
    name, class_name = ctx.spell(number), enumerant_name("StorageClass", storage_class)
    pointer = ctx.pointer(item.result_type or 0)
    if pointer is None:
        return
    if storage_class not in _CLASSES:
        yield f"Vulkan has no storage class {class_name}, which {name} is of"
    kind = ctx.definition(pointer[1])
    if kind is not None and storage_class in _BLOCK_CLASSES:
        yield from _block(ctx, kind, name, storage_class)
    if kind is not None and kind.opcode == Op.TypeRuntimeArray and storage_class not in _DESCRIPTOR_CLASSES:
        yield f"{name} of class {class_name} is a run-time array"
    if storage_class in _DESCRIPTOR_CLASSES:
        for decoration, word in (
            (Decoration.DescriptorSet, "DescriptorSet"),
            (Decoration.Binding, "Binding"),
        ):
            if not ctx.view.is_decorated(number, decoration):
                yield f"{name} of class {class_name} has no {word}"
    if len(item.operands) > 1:
        is_null = ctx.opcode(item.operands[1]) == Op.ConstantNull
        allowed = (StorageClass.Private, StorageClass.Output, StorageClass.Function)
        if storage_class not in allowed and not (storage_class == StorageClass.Workgroup and is_null):
            yield f"{name} of class {class_name} has an initializer"


def _block(ctx: Context, kind: Instruction, name: str, storage_class: int) -> Iterator[str]:
    if kind.opcode in (Op.TypeArray, Op.TypeRuntimeArray) and storage_class != StorageClass.PushConstant:
        kind = ctx.definition(kind.operands[0]) or kind
    number = kind.result_id or 0
    if kind.opcode != Op.TypeStruct:
        yield f"{name} is of type {ctx.spell(number)}, which is no struct"
    # BufferBlock is how versions before 1.3 spelt storage buffers.
    elif not any(ctx.view.is_decorated(number, d) for d in (Decoration.Block, Decoration.BufferBlock)):
        yield f"{name} is of struct {ctx.spell(number)}, which is not decorated Block"


def _push_constants(ctx: Context) -> Iterator[Finding]:
    functions = {function.result_id for function in ctx.view.functions}
    if any(item.operands[1] not in functions for item in ctx.view.of_opcode(Op.EntryPoint)):
        return  # the family entry_points has found it
    for item, variables in variables_by_entry_point(ctx.view):
        count = sum(variable.operands[0] == StorageClass.PushConstant for variable in variables)
        if count > 1:
            yield Finding(f"an entry point uses {count} push-constant variables", item.ordinal, RULE)


def _spec_ids(ctx: Context) -> Iterator[Finding]:
    for target, uses in ctx.view.decorations.items():
        for use in uses:
            if use.decoration == Decoration.SpecId and ctx.opcode(target) not in _SCALAR_SPEC:
                message = (
                    f"SpecId {use.operands[0]} is on {ctx.spell(target)}, no scalar specialization constant"
                )
                yield Finding(message, use.ordinal, RULE)


def _spec_constant_op(ctx: Context, item: Instruction) -> Iterator[str]:
    code, *operands = item.operands
    if code not in SPEC_CONSTANT_OPS:
        yield f"OpSpecConstantOp cannot wrap {opcode_name(code)} in a shader"
    elif code in ROWS:
        yield from check_row(ctx, item, ROWS[code], tuple(operands))
    for operand in ctx.ids(item):
        definition = ctx.definition(operand)
        if definition is not None and "Constant" not in definition.name and definition.opcode != Op.Undef:
            yield f"operand {ctx.spell(operand)} of OpSpecConstantOp is no constant"


def _builtins(ctx: Context) -> Iterator[Finding]:
    for target, uses in ctx.view.decorations.items():
        item = ctx.definition(target)
        for use in uses:
            if use.decoration == Decoration.BuiltIn and use.operands and item is not None:
                for message in _builtin(ctx, item, use.operands[0]):
                    yield Finding(message, use.ordinal, RULE)


def _builtin(ctx: Context, item: Instruction, builtin: int) -> Iterator[str]:
    name = f"BuiltIn {enumerant_name('BuiltIn', builtin)}"
    kind = item.result_type or 0
    if builtin == BuiltIn.WorkgroupSize:
        if "Constant" not in item.name:
            yield f"{name} decorates a constant; {ctx.spell(item.result_id or 0)} is none"
            return
    elif builtin in _U32_VECTORS | _U32_SCALARS:
        pointer = ctx.pointer(kind)
        if item.opcode != Op.Variable or pointer is None or pointer[0] != StorageClass.Input:
            yield f"{name} decorates an Input variable; {ctx.spell(item.result_id or 0)} is none"
            return
        kind = pointer[1]
    else:
        return
    components = 3 if builtin in _U32_VECTORS else 1
    if not ctx.is_int(kind) or ctx.width(kind) != 32 or ctx.components(kind) != components:
        yield f"{name} is {components} 32-bit integers; {ctx.spell(item.result_id or 0)} is something else"


def _barrier(ctx: Context, item: Instruction) -> Iterator[Finding]:
    scope = ctx.definition(item.operands[0])
    if scope is None or scope.opcode not in (Op.Constant, Op.SpecConstant):
        yield Finding("the execution scope of OpControlBarrier is no constant", item.ordinal, RULE)
    elif constant_value(ctx.view, item.operands[0]) not in (Scope.Workgroup, Scope.Subgroup):
        message = "the execution scope of OpControlBarrier is neither Workgroup nor Subgroup"
        yield Finding(message, item.ordinal, RULE)
