"""Keeps addresses in memory of work-items and work-groups as words, for drivers that cannot: `addresses_kept`.

    %v = OpVariable %to_pointer Function       →       %v = OpVariable %to_uint2 Function
    %p = OpLoad %pointer %v                            %w = OpLoad %uint2 %v
                                                       %p = OpBitcast %pointer %w

So it is done in structs and arrays, too, whose types are made anew.  Such a driver (`vk_runtime.quirks`,
carried-addresses) mixes up pointers into physical storage in that memory, or ends the process where it finds that a
loop carries them; what loops carry already becomes words in `carried_phis`.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction, Module
from .code_changes import CodeChanges
from .errors import SpirvError
from .memory_places import CHAINS, MemoryPlaces, base_of, holds_addresses
from .module_editor import Body, ModuleEditor
from .tables import Decoration, Op, StorageClass

_OWN = (StorageClass.Function, StorageClass.Private, StorageClass.Workgroup)
_ALIASING = (Decoration.AliasedPointer, Decoration.RestrictPointer)


def addresses_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no addresses in such memory.

    Raises:
        SpirvError: such memory is used in a way in which its type cannot change.
    """
    editor = ModuleEditor(module)
    wanted = {
        number
        for number, item in editor.view.definitions.items()
        if item.opcode in (Op.Variable, Op.FunctionParameter) and _holds_addresses_itself(editor, item)
    }
    if not wanted:
        return module
    return _Rewriter(editor, MemoryPlaces(editor.view, has_shared=True), wanted).rewritten()


def _holds_addresses_itself(editor: ModuleEditor, item: Instruction) -> bool:
    type_ = editor.view.definitions[item.result_type or 0]
    return (
        type_.opcode == Op.TypePointer
        and type_.operands[0] in _OWN
        and holds_addresses(editor.view, type_.operands[1])
    )


class AddressWords:
    """Types and values in which words stand for addresses."""

    def __init__(self, editor: ModuleEditor) -> None:
        self._editor = editor
        self._types: dict[int, int] = {}

    def type(self, type_: int) -> int:
        """Returns the type that stands for one: itself where there are no addresses in it."""
        if type_ not in self._types:
            self._types[type_] = self._made(type_)
        return self._types[type_]

    def _made(self, type_: int) -> int:
        editor, item = self._editor, self._editor.view.definitions[type_]
        if not holds_addresses(editor.view, type_):
            return type_
        if item.opcode == Op.TypePointer:
            return editor.declared(Op.TypeVector, editor.u32, 2)
        if item.opcode == Op.TypeArray:
            return editor.declared(Op.TypeArray, self.type(item.operands[0]), item.operands[1])
        return editor.declared(Op.TypeStruct, *map(self.type, item.operands))

    def converted(self, body: Body, value: int, type_: int, *, into_words: bool) -> int:
        """Appends the making of a value with words of one with addresses, or the reverse; returns it."""
        words = self.type(type_)
        if words == type_:
            return value
        editor, item = self._editor, self._editor.view.definitions[type_]
        result = words if into_words else type_
        if item.opcode == Op.TypePointer:
            return editor.emit(body, Op.Bitcast, value, type_=result)
        members = item.operands if item.opcode == Op.TypeStruct else [item.operands[0]] * self._length(item)
        parts: list[int] = []
        for index, member in enumerate(members):
            origin = member if into_words else self.type(member)
            part = editor.emit(body, Op.CompositeExtract, value, index, type_=origin)
            parts.append(self.converted(body, part, member, into_words=into_words))
        return editor.emit(body, Op.CompositeConstruct, *parts, type_=result)

    def restored(self, words: int, item: Instruction) -> Body:
        """Returns what makes the result of an instruction of words."""
        body = Body()
        self.converted(body, words, item.result_type or 0, into_words=False)
        body[-1] = body[-1]._replace(result_id=item.result_id)
        return body

    def _length(self, array: Instruction) -> int:
        length = self._editor.view.definitions[array.operands[1]]
        if length.opcode != Op.Constant:
            raise SpirvError(
                "the driver mixes up addresses in variables, and an array of them whose length is a specialization "
                "constant cannot be kept as words; copy its elements one by one, or choose another device"
            )
        return length.operands[0]


class _Rewriter:
    def __init__(self, editor: ModuleEditor, places: MemoryPlaces, wanted: set[int]) -> None:
        self._editor = editor
        self._code = CodeChanges()
        self._changed = places.changeable(wanted)
        self._words = AddressWords(editor)
        left = sorted(wanted - self._changed)
        if left:
            names = ", ".join(editor.view.names.get(number) or f"%{number}" for number in left[:8])
            raise SpirvError(
                f"the driver mixes up addresses in variables, and these cannot be kept as words: {names}; do not pass "
                "pointers to them on, or choose another device"
            )

    def rewritten(self) -> Module:
        """Returns the changed module."""
        for number in sorted(self._changed):
            self._declare(self._editor.view.definitions[number])
        for function in self._editor.view.functions:
            if any(item.result_id in self._changed for item in function.parameters):
                types = [self._code.now(item).result_type or 0 for item in function.parameters]
                definition = function.definition
                type_ = self._editor.declared(Op.TypeFunction, definition.result_type or 0, *types)
                self._code.put(definition, definition._replace(operands=(definition.operands[0], type_)))
            for item in function.instructions():
                self._access(item)
        return self._editor.finished(self._around)

    def _around(self, item: Instruction) -> Iterator[Instruction]:
        is_hint = item.opcode == Op.Decorate and item.operands[1] in _ALIASING
        if not (is_hint and item.operands[0] in self._changed):
            yield from self._code.around(item)

    def _declare(self, place: Instruction) -> None:
        storage, type_ = self._editor.view.definitions[place.result_type or 0].operands
        operands = place.operands
        if len(operands) > 1:  # nothing but null is a constant address
            operands = (storage, self._editor.declared(Op.ConstantNull, type_=self._words.type(type_)))
        now = place._replace(result_type=self._pointer(storage, type_), operands=operands)
        if place.opcode == Op.Variable and storage != StorageClass.Function:
            self._code.put(place)
            self._editor.define(now)  # its type is new, and stands behind the old place
        else:
            self._code.put(place, now)

    def _pointer(self, storage: int, type_: int) -> int:
        return self._editor.pointer(storage, self._words.type(type_))

    def _access(self, item: Instruction) -> None:
        if item.opcode not in (*CHAINS, Op.Load, Op.Store) or base_of(
            self._editor.view, item.operands[0]
        ) not in (self._changed):
            return
        if item.opcode in CHAINS:
            storage, type_ = self._editor.view.definitions[item.result_type or 0].operands
            self._code.put(item, item._replace(result_type=self._pointer(storage, type_)))
        elif item.opcode == Op.Store:
            place, value, *rest = item.operands
            type_ = self._editor.view.definitions[value].result_type or 0
            words = self._words.converted(self._code.before(item), value, type_, into_words=True)
            self._code.put(item, item._replace(operands=(place, words, *rest)))
        elif self._words.type(item.result_type or 0) != item.result_type:
            words = self._editor.new_id()
            load = item._replace(result_type=self._words.type(item.result_type or 0), result_id=words)
            self._code.put(item, load, *self._words.restored(words, item))
