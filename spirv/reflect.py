"""What a finished SPIR-V binary asks of its host: entry points, bindings, push constants, spec constants.

Read before a foreign binary is used, and in tests to hold `KernelInfo` against what was emitted.  Facts are
per entry point and count only what its call graph touches.  Standard library only; hostile input raises
SpirvError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from .binary import Instruction, Module, decode_string, parse
from .errors import SpirvError
from .module_view import FunctionView, ModuleView
from .operands import id_operands
from .reflection import (
    DescriptorBinding,
    EntryPoint,
    LinkageSymbol,
    LocalSize,
    PushConstantBlock,
    PushConstantMember,
    Reflection,
    SpecConstant,
    WorkgroupVariable,
)
from .tables import BuiltIn, Decoration, ExecutionMode, LinkageType, Op, StorageClass
from .type_info import TypeInfo, constant_value, type_table

__all__ = [
    "DescriptorBinding",
    "EntryPoint",
    "LinkageSymbol",
    "LocalSize",
    "PushConstantBlock",
    "PushConstantMember",
    "Reflection",
    "SpecConstant",
    "WorkgroupVariable",
    "reflect",
    "variables_by_entry_point",
]


def reflect(source: bytes | Module) -> Reflection:
    """Reads a module.

    Raises:
        SpirvError: the bytes are no module, or what the host needs to know is malformed or missing: no
            memory model, an entry point without function, a buffer without set or binding, a SpecId on
            anything but a scalar.
    """
    module = source if isinstance(source, Module) else parse(source)
    view = ModuleView(module)
    types = type_table(view)
    addressing_model, memory_model = _memory_model(view)
    imports, exports = _linkage(view)
    return Reflection(
        version=module.version,
        capabilities=tuple(_word(item, 0) for item in view.of_opcode(Op.Capability)),
        extensions=tuple(decode_string(item.operands)[0] for item in view.of_opcode(Op.Extension)),
        addressing_model=addressing_model,
        memory_model=memory_model,
        entry_points=_entry_points(view, types),
        spec_constants=_spec_constants(view, types),
        imports=imports,
        exports=exports,
    )


def _word(item: Instruction, index: int) -> int:
    if index >= len(item.operands):
        raise SpirvError(f"instruction {item.ordinal}, {item.name}, has no operand {index}")
    return item.operands[index]


def _memory_model(view: ModuleView) -> tuple[int, int]:
    for item in view.of_opcode(Op.MemoryModel):
        return _word(item, 0), _word(item, 1)
    raise SpirvError("the module has no OpMemoryModel")


def _linkage(view: ModuleView) -> tuple[tuple[LinkageSymbol, ...], tuple[LinkageSymbol, ...]]:
    symbols: dict[int, list[LinkageSymbol]] = {LinkageType.Import: [], LinkageType.Export: []}
    for target, uses in view.decorations.items():
        for use in uses:
            if use.decoration != Decoration.LinkageAttributes:
                continue
            name, end = decode_string(use.operands)
            kind = use.operands[end] if end < len(use.operands) else None
            if kind not in symbols:
                continue
            defined = view.definitions.get(target)
            is_function = defined is not None and defined.opcode == Op.Function
            symbols[kind].append(LinkageSymbol(name=name, target_id=target, is_function=is_function))
    return tuple(symbols[LinkageType.Import]), tuple(symbols[LinkageType.Export])


def variables_by_entry_point(view: ModuleView) -> Iterator[tuple[Instruction, list[Instruction]]]:
    """Yields each OpEntryPoint with the global variables, by id, that its call graph names.

    Raises:
        SpirvError: an entry point is no function, or an instruction that names a variable is malformed.
    """
    functions = {function.result_id: function for function in view.functions}
    variables = {item.result_id or 0: item for item in view.of_opcode(Op.Variable)}
    used_by = {number: _uses(function, variables) for number, function in functions.items()}
    for item in view.of_opcode(Op.EntryPoint):
        function_id = _word(item, 1)
        if function_id not in functions:
            raise SpirvError(f"instruction {item.ordinal}, OpEntryPoint: {function_id} is no function")
        used = sorted(_reachable(function_id, functions, used_by))
        yield item, [variables[number] for number in used]


def _entry_points(view: ModuleView, types: Mapping[int, TypeInfo]) -> tuple[EntryPoint, ...]:
    entries: list[EntryPoint] = []
    for item, used in variables_by_entry_point(view):
        function_id = _word(item, 1)
        name, end = decode_string(item.operands, 2)
        entries.append(
            EntryPoint(
                name=name,
                execution_model=_word(item, 0),
                function_id=function_id,
                interface=item.operands[end:],
                local_size=_local_size(view, function_id),
                bindings=_bindings(view, used),
                push_constants=_push_constants(view, types, used),
                workgroup_variables=_workgroup(view, types, used),
            )
        )
    return tuple(entries)


def _uses(function: FunctionView, variables: Mapping[int, Instruction]) -> tuple[set[int], set[int]]:
    """Ids of the functions that a function calls, and of the global variables that it names."""
    called: set[int] = set()
    named: set[int] = set()
    for item in function.instructions():
        if item.opcode == Op.FunctionCall:
            called.add(_word(item, 0))
        # Splitting operands is slow: only where a word could be such an id.
        if not variables.keys().isdisjoint(item.operands):
            named.update(number for number in id_operands(item) if number in variables)
    return called, named


def _reachable(
    start: int, functions: Mapping[int, FunctionView], used_by: Mapping[int, tuple[set[int], set[int]]]
) -> set[int]:
    seen, pending, used = {start}, [start], set[int]()
    while pending:
        called, named = used_by[pending.pop()]
        used |= named
        fresh = {number for number in called if number in functions} - seen
        seen |= fresh
        pending.extend(fresh)
    return used


def _storage_class(variable: Instruction) -> int:
    return _word(variable, 0)


def _pointee(view: ModuleView, variable: Instruction) -> Instruction:
    pointer = view.definitions.get(variable.result_type or 0)
    if pointer is None or pointer.opcode != Op.TypePointer:
        raise SpirvError(f"instruction {variable.ordinal}, OpVariable: its type is no pointer")
    pointee = view.definitions.get(_word(pointer, 1))
    if pointee is None:
        raise SpirvError(f"instruction {pointer.ordinal}, OpTypePointer: {_word(pointer, 1)} is no type")
    return pointee


def _bindings(view: ModuleView, variables: list[Instruction]) -> tuple[DescriptorBinding, ...]:
    classes = (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant)
    found = [_binding(view, item) for item in variables if _storage_class(item) in classes]
    return tuple(sorted(found, key=lambda item: (item.descriptor_set, item.binding, item.variable_id)))


def _binding(view: ModuleView, variable: Instruction) -> DescriptorBinding:
    number = variable.result_id or 0
    kind, count = _pointee(view, variable), 1
    if kind.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        count = _array_length(view, kind)
        kind = view.definitions.get(_word(kind, 0), kind)
    block = kind.result_id or 0
    is_block = kind.opcode == Op.TypeStruct
    return DescriptorBinding(
        name=view.names.get(number) or view.names.get(block, ""),
        descriptor_set=_decoration_word(view, number, Decoration.DescriptorSet, "DescriptorSet"),
        binding=_decoration_word(view, number, Decoration.Binding, "Binding"),
        storage_class=_storage_class(variable),
        is_block=is_block,
        non_writable=_has_everywhere(view, number, kind, Decoration.NonWritable),
        non_readable=_has_everywhere(view, number, kind, Decoration.NonReadable),
        count=count,
        variable_id=number,
    )


def _array_length(view: ModuleView, array: Instruction) -> int | None:
    if array.opcode == Op.TypeRuntimeArray:
        return None
    length = view.definitions.get(_word(array, 1))
    if length is None or length.opcode != Op.Constant:
        return None
    return constant_value(view, length.result_id or 0)


def _decoration_word(view: ModuleView, number: int, decoration: int, name: str) -> int:
    words = view.decoration(number, decoration)
    if not words:
        raise SpirvError(f"variable {number} ({view.names.get(number, '')!r}) has no {name} decoration")
    return words[0]


def _has_everywhere(view: ModuleView, variable: int, kind: Instruction, decoration: int) -> bool:
    if view.is_decorated(variable, decoration):
        return True
    if kind.opcode != Op.TypeStruct or not kind.operands:
        return False
    struct_id = kind.result_id or 0
    members = range(len(kind.operands))
    return all(view.member_decoration(struct_id, member, decoration) is not None for member in members)


def _push_constants(
    view: ModuleView, types: Mapping[int, TypeInfo], variables: list[Instruction]
) -> PushConstantBlock | None:
    blocks = [item for item in variables if _storage_class(item) == StorageClass.PushConstant]
    if not blocks:
        return None
    if len(blocks) > 1:
        raise SpirvError("an entry point uses more than one push-constant block")
    number, kind = blocks[0].result_id or 0, _pointee(view, blocks[0])
    struct_id = kind.result_id or 0
    if kind.opcode != Op.TypeStruct:
        raise SpirvError(f"push constants {number} are no struct")
    members: list[PushConstantMember] = []
    for index, member in enumerate(kind.operands):
        offset = view.member_decoration(struct_id, index, Decoration.Offset)
        if not offset:
            raise SpirvError(f"member {index} of the push-constant block {struct_id} has no Offset")
        info = types.get(member)
        members.append(
            PushConstantMember(
                name=view.member_names.get((struct_id, index), ""),
                offset_bytes=offset[0],
                size_bytes=info.size_bytes if info else None,
                type=info.name if info else "opaque",
            )
        )
    return PushConstantBlock(
        name=view.names.get(number) or view.names.get(struct_id, ""),
        members=tuple(members),
        size_bytes=max((m.offset_bytes + (m.size_bytes or 0) for m in members), default=0),
    )


def _workgroup(
    view: ModuleView, types: Mapping[int, TypeInfo], variables: list[Instruction]
) -> tuple[WorkgroupVariable, ...]:
    found: list[WorkgroupVariable] = []
    for item in variables:
        if _storage_class(item) != StorageClass.Workgroup:
            continue
        number, kind = item.result_id or 0, _pointee(view, item)
        size, spec_id = _workgroup_size(view, types, kind)
        found.append(
            WorkgroupVariable(
                name=view.names.get(number, ""), size_bytes=size, length_spec_id=spec_id, variable_id=number
            )
        )
    return tuple(found)


def _workgroup_size(
    view: ModuleView, types: Mapping[int, TypeInfo], kind: Instruction
) -> tuple[int | None, int | None]:
    """Shared memory has no strides: the size of an array is that of its elements."""
    if kind.opcode != Op.TypeArray:
        info = types.get(kind.result_id or 0)
        return (info.size_bytes if info else None), None
    length_spec = view.decoration(_word(kind, 1), Decoration.SpecId)
    length, element = _array_length(view, kind), types.get(_word(kind, 0))
    size = element.size_bytes if element else None
    total = None if length is None or size is None else length * size
    return total, (length_spec[0] if length_spec else None)


def _local_size(view: ModuleView, function: int) -> LocalSize | None:
    """A constant decorated WorkgroupSize wins over the execution modes (SPIR-V 1.6 §3.21)."""
    for target, uses in view.decorations.items():
        if any(use[:2] == (Decoration.BuiltIn, (BuiltIn.WorkgroupSize,)) for use in uses):
            composite = view.definitions.get(target)
            if composite is None or len(composite.operands) != 3:
                raise SpirvError(f"WorkgroupSize decorates {target}, which is no constant of 3 components")
            return _local_size_of_ids(view, composite.operands)
    for item in view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId):
        if item.operands[:1] != (function,) or len(item.operands) != 5:
            continue
        x, y, z = item.operands[2:]
        if item.operands[1] == ExecutionMode.LocalSize:
            return LocalSize(size=(x, y, z))
        if item.operands[1] == ExecutionMode.LocalSizeId:
            return _local_size_of_ids(view, (x, y, z))
    return None


def _local_size_of_ids(view: ModuleView, ids: tuple[int, ...]) -> LocalSize:
    x, y, z = ((constant_value(view, number), _spec_id(view, number)) for number in ids)
    return LocalSize(size=(x[0], y[0], z[0]), spec_ids=(x[1], y[1], z[1]))


def _spec_id(view: ModuleView, number: int) -> int | None:
    words = view.decoration(number, Decoration.SpecId)
    return words[0] if words else None


def _spec_constants(view: ModuleView, types: Mapping[int, TypeInfo]) -> tuple[SpecConstant, ...]:
    found: list[SpecConstant] = []
    for target in view.decorations:
        spec_id = _spec_id(view, target)
        if spec_id is None:
            continue
        item = view.definitions.get(target)
        if item is None or item.opcode not in (Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse):
            raise SpirvError(
                f"SpecId {spec_id} decorates {target}, which is no scalar specialization constant"
            )
        info = types.get(item.result_type or 0)
        if info is None:
            raise SpirvError(f"specialization constant {target} has no scalar type")
        is_bool = info.name == "bool"
        found.append(
            SpecConstant(
                spec_id=spec_id,
                name=view.names.get(target, ""),
                type=info.name,
                size_bytes=4 if is_bool else info.size_bytes or 0,
                default=item.opcode == Op.SpecConstantTrue if is_bool else _default(item, info),
                result_id=target,
            )
        )
    return tuple(sorted(found, key=lambda constant: (constant.spec_id, constant.result_id)))


# Formats of struct by the type's spelling; narrow values lie in the low bytes of their word.
_FORMATS = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


def _default(item: Instruction, info: TypeInfo) -> int | float:
    data = struct.pack(f"<{len(item.operands)}I", *item.operands)
    if item.opcode != Op.SpecConstant or len(data) < (info.size_bytes or 1):
        raise SpirvError(
            f"specialization constant {item.result_id} of type {info.name} has no fitting default"
        )
    if info.name == "bf16":
        # The upper half of an f32.
        return struct.unpack("<f", bytes(2) + data[:2])[0]
    if info.name not in _FORMATS:
        raise SpirvError(f"specialization constant {item.result_id} has type {info.name}, which is no scalar")
    return struct.unpack_from(f"<{_FORMATS[info.name]}", data)[0]
