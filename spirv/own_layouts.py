"""Gives types in buffers and types elsewhere forms of their own, where a compiler has made one for both.

    OpDecorate %a ArrayStride 4                   OpDecorate %laid ArrayStride 4
    %a = OpTypeArray %uint %n                     %a = OpTypeArray %uint %n     %laid = OpTypeArray %uint %n
    %p = OpTypePointer StorageBuffer %a      →    %p = OpTypePointer StorageBuffer %laid
    %q = OpTypePointer Workgroup %a               %q = OpTypePointer Workgroup %a
    %v = OpLoad %a %x                             %w = OpLoad %laid %x   %v = OpCompositeConstruct %a …

glslang 12 and others give shared and local arrays the type, with its stride, of an array in a buffer of the same
elements and length, if the shader uses that first.  Drivers do not mind; Vulkan's rules forbid it
(VUID-StandaloneSpirv-None-10684).
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .binary import Instruction, Module
from .errors import SpirvError
from .module_view import ModuleView
from .tables import Capability, Decoration, Op, StorageClass

_IN_BUFFERS = frozenset(
    (
        StorageClass.StorageBuffer,
        StorageClass.Uniform,
        StorageClass.PushConstant,
        StorageClass.PhysicalStorageBuffer,
    )
)
_LAYOUT = frozenset(
    (
        Decoration.ArrayStride,
        Decoration.MatrixStride,
        Decoration.Offset,
        Decoration.RowMajor,
        Decoration.ColMajor,
    )
)
_COMPOSITES = frozenset((Op.TypeArray, Op.TypeRuntimeArray, Op.TypeStruct))
_MOST_PARTS = 1024
"""Of a value that is copied part by part."""


def layouts_owned(module: Module) -> Module:
    """Returns a module so changed, itself where no type needs it; the module need not be valid.

    Raises:
        SpirvError: it has such a type in a way that is not followed: in decoration groups, or of too many parts.
        LookupError, ValueError: it is not valid.
    """
    view = ModuleView(module)
    shared = _shared_types(view)
    if not shared:
        return module
    if any(view.of_opcode(Op.DecorationGroup)):
        raise SpirvError("types in buffers and elsewhere are the same, and in a group of decorations")
    writer = _Writer(view, shared)
    items = [new for item in module.instructions for new in writer.written(item)]
    return replace(
        module,
        bound=writer.bound,
        instructions=tuple(item._replace(ordinal=place) for place, item in enumerate(items)),
    )


def _shared_types(view: ModuleView) -> set[int]:
    """Returns the types with a layout, or made of one, that memory without layouts has."""
    laid_classes = _classes_with_layout(view)
    found: set[int] = set()
    for pointer in view.of_opcode(Op.TypePointer):
        if pointer.operands[0] not in laid_classes and pointer.operands[0] not in _IN_BUFFERS:
            _find_laid(view, pointer.operands[1], found, set())
    if found:
        for type_ in view.of_opcode(Op.TypeArray, Op.TypeStruct):  # types come behind those of their parts
            if not _is_block(view, type_) and not found.isdisjoint(_parts(type_)):
                found.add(type_.result_id or 0)  # a value of it has parts of those types
    return found


def _is_block(view: ModuleView, type_: Instruction) -> bool:
    blocks = (Decoration.Block, Decoration.BufferBlock)
    return any(use.decoration in blocks for use in view.uses(type_.result_id or 0))


def _classes_with_layout(view: ModuleView) -> set[int]:
    """Returns the storage classes beside those of buffers whose types may have a layout, or are not looked at."""
    allowed: set[int] = {StorageClass.UniformConstant, StorageClass.Input, StorageClass.Output}
    explicit = (Capability.WorkgroupMemoryExplicitLayoutKHR,)
    if any(item.operands == explicit for item in view.of_opcode(Op.Capability)):
        allowed.add(StorageClass.Workgroup)
    if view.module.version < (1, 5):  # before 1.5 no rule forbade layouts there
        allowed |= {StorageClass.Function, StorageClass.Private}
    return allowed


def _find_laid(view: ModuleView, type_: int, found: set[int], seen: set[int]) -> bool:
    """Adds a type, and those that it is made of, to `found` where they have a layout; returns whether it has one."""
    if type_ in found or type_ in seen:
        return type_ in found
    seen.add(type_)
    definition = view.definitions[type_]
    if definition.opcode not in _COMPOSITES:
        return False
    is_laid = any(use.decoration in _LAYOUT for use in view.uses(type_)) or any(
        use.decoration in _LAYOUT
        for (number, _), uses in view.member_decorations.items()
        if number == type_
        for use in uses
    )
    for part in _parts(definition):
        is_laid |= _find_laid(view, part, found, seen)
    if is_laid:
        found.add(type_)
    return is_laid


def _parts(type_: Instruction) -> tuple[int, ...]:
    return type_.operands if type_.opcode == Op.TypeStruct else type_.operands[:1]


class _Writer:
    """Writes instructions for a module in which buffers have types of their own."""

    def __init__(self, view: ModuleView, shared: set[int]) -> None:
        self._view = view
        self.bound = view.module.bound
        self._laid = {type_: self._new_id() for type_ in sorted(shared)}
        """Type → what buffers have in its place."""
        self._in_buffers = _IN_BUFFERS | ({StorageClass.Workgroup} & _classes_with_layout(view))

    def _new_id(self) -> int:
        self.bound += 1
        return self.bound - 1

    def written(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction."""
        if item.opcode in (Op.Decorate, Op.MemberDecorate):
            yield self._decoration(item)
        elif item.opcode in _COMPOSITES:
            yield from self._composite(item)
        elif item.opcode == Op.TypePointer and item.operands[0] in self._in_buffers:
            storage, type_ = item.operands
            yield item._replace(operands=(storage, self._laid.get(type_, type_)))
        elif item.opcode == Op.Load and (type_ := self._loaded_type(item.operands[0])) is not None:
            whole = self._new_id()
            yield item._replace(result_type=self._laid[type_], result_id=whole)
            yield from self._converted(type_, whole, item.result_id or 0, is_laid=True)
        elif item.opcode == Op.Store and (type_ := self._loaded_type(item.operands[0])) is not None:
            whole = self._new_id()
            yield from self._converted(type_, item.operands[1], whole, is_laid=False)
            yield item._replace(operands=(item.operands[0], whole, *item.operands[2:]))
        elif item.opcode == Op.CopyMemory and self._crosses(item):
            yield from self._copy(item)
        else:
            yield item

    def _decoration(self, item: Instruction) -> Instruction:
        """Moves a layout to the type that buffers have."""
        target, *rest = item.operands
        decoration = rest[0] if item.opcode == Op.Decorate else rest[1]
        if decoration in _LAYOUT:
            target = self._laid.get(target, target)
        return item._replace(operands=(target, *rest))

    def _composite(self, item: Instruction) -> Iterator[Instruction]:
        parts = tuple(self._laid.get(part, part) for part in _parts(item))
        in_buffers = item._replace(operands=(*parts, *item.operands[len(parts) :]))
        if item.result_id not in self._laid:
            yield in_buffers
            return
        yield item
        yield in_buffers._replace(result_id=self._laid[item.result_id])

    def _loaded_type(self, pointer: int) -> int | None:
        """Returns the old type of what a pointer into a buffer leads to, None where it stays."""
        type_ = self._view.type_of(pointer)
        if type_ is None or type_.opcode != Op.TypePointer or type_.operands[0] not in self._in_buffers:
            return None
        return type_.operands[1] if type_.operands[1] in self._laid else None

    def _crosses(self, item: Instruction) -> bool:
        places = [self._loaded_type(pointer) for pointer in item.operands[:2]]
        return (places[0] is None) != (places[1] is None)

    def _copy(self, item: Instruction) -> Iterator[Instruction]:
        to, origin, *rest = item.operands
        if rest:
            raise SpirvError("a copy between memory with and without layouts has memory operands")
        source = self._view.type_of(origin)
        assert source is not None, "it is a pointer"
        value = self._new_id()
        yield from self.written(Instruction(Op.Load, source.operands[1], value, (origin,)))
        yield from self.written(Instruction(Op.Store, None, None, (to, value)))

    def _converted(self, type_: int, value: int, result: int, *, is_laid: bool) -> Iterator[Instruction]:
        """Yields what makes a value of one form one of the other form of a type."""
        made = list(self._by_parts(type_, value, result, is_laid=is_laid))
        if len(made) > _MOST_PARTS:
            raise SpirvError("a value of too many parts is copied between memory with and without layouts")
        yield from made

    def _by_parts(self, type_: int, value: int, result: int, *, is_laid: bool) -> Iterator[Instruction]:
        definition = self._view.definitions[type_]
        parts = _parts(definition) if definition.opcode == Op.TypeStruct else self._elements(definition)
        made: list[int] = []
        for number, part in enumerate(parts):
            source = self._laid.get(part, part) if is_laid else part
            taken = self._new_id()
            yield Instruction(Op.CompositeExtract, source, taken, (value, number))
            if part in self._laid:
                inner = self._new_id()
                yield from self._by_parts(part, taken, inner, is_laid=is_laid)
                taken = inner
            made.append(taken)
        target = type_ if is_laid else self._laid[type_]
        yield Instruction(Op.CompositeConstruct, target, result, tuple(made))

    def _elements(self, array: Instruction) -> tuple[int, ...]:
        length = self._view.definitions[array.operands[1]]
        if length.opcode != Op.Constant or not 0 < length.operands[0] <= _MOST_PARTS:
            raise SpirvError(
                "an array of too many elements is copied between memory with and without layouts"
            )
        return array.operands[:1] * length.operands[0]
