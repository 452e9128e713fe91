"""Moves structs and arrays that hold addresses part by part, for drivers that end the process at such a whole.

    %v = OpLoad %leaf %p Aligned 8      →      %a = OpAccessChain %to_uint %p %0    %x = OpLoad %uint %a Aligned 8
                                               %b = OpAccessChain %to_next %p %1    %y = OpLoad %next %b Aligned 8
                                               %v = OpCompositeConstruct %leaf %x %y

Stores and OpCopyLogical likewise.  Memory of work-items and work-groups is left to `address_words`.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Final

from .binary import Instruction, Module
from .errors import SpirvError
from .memory_places import holds_addresses
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import Decoration, MemoryAccess, Op, StorageClass
from .type_info import constant_value

_OWN = (StorageClass.Function, StorageClass.Private, StorageClass.Workgroup)
_COMPOSITES = (Op.TypeStruct, Op.TypeArray)
MOST_PARTS: Final = 1024
"""Of one value."""


def composites_split(module: Module) -> Module:
    """Returns a valid module so changed; itself where it moves no such value.

    Raises:
        SpirvError: a value has more than `MOST_PARTS` parts, or a length that is a specialization constant.
    """
    rewrite = Rewrite(module)
    splitter = _Splitter(rewrite.editor)
    for _, item in rewrite.instructions(Op.CopyLogical, Op.Load, Op.Store):
        body = splitter.instead(item)
        if body:
            rewrite.put(item, *body)
    return rewrite.finished()


class _Splitter:
    def __init__(self, editor: ModuleEditor) -> None:
        self._editor = editor
        self._view = editor.view
        self._left = MOST_PARTS

    def instead(self, item: Instruction) -> Body:
        """Returns what takes the place of an instruction; nothing where it stays."""
        body: Body = []
        self._left = MOST_PARTS
        if item.opcode == Op.CopyLogical and self._is_whole(item.result_type or 0):
            value = item.operands[0]
            self._copy(body, value, self._editor.type_of(value), item.result_type or 0, item.result_id)
        elif item.opcode in (Op.Load, Op.Store):
            storage, type_ = self._view.definitions[self._editor.type_of(item.operands[0])].operands
            if storage not in _OWN and self._is_whole(type_):
                if item.opcode == Op.Load:
                    self._load(body, item.operands[0], storage, type_, item.operands[1:], item.result_id)
                else:
                    self._store(body, item.operands[0], storage, type_, item.operands[2:], item.operands[1])
        return body

    def _is_whole(self, type_: int) -> bool:
        return self._view.definitions[type_].opcode in _COMPOSITES and holds_addresses(self._view, type_)

    def _parts(self, type_: int) -> Iterator[tuple[int, int]]:
        """Yields the type of each part and the bytes in front of it."""
        item = self._view.definitions[type_]
        if item.opcode == Op.TypeStruct:
            for index, part in enumerate(item.operands):
                yield part, (self._view.member_decoration(type_, index, Decoration.Offset) or (0,))[0]
            return
        stride = (self._view.decoration(type_, Decoration.ArrayStride) or (0,))[0]
        if self._view.definitions[item.operands[1]].opcode != Op.Constant:
            raise SpirvError(
                "an array that holds addresses is moved as a whole, and its length is specialised"
            )
        for index in range(constant_value(self._view, item.operands[1]) or 0):
            yield item.operands[0], index * stride

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise SpirvError(f"a value that holds addresses has more than {MOST_PARTS} parts")

    def _places(
        self, body: Body, pointer: int, storage: int, type_: int, access: Sequence[int]
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Appends a pointer to each part; yields its type, the pointer and the memory operands."""
        for index, (part, offset) in enumerate(self._parts(type_)):
            self._count()
            place = self._editor.new_id()
            to_part = self._editor.pointer(storage, part)
            body.append(Instruction(Op.AccessChain, to_part, place, (pointer, self._editor.number(index))))
            yield part, place, _at(access, offset)

    def _load(
        self,
        body: Body,
        pointer: int,
        storage: int,
        type_: int,
        access: Sequence[int],
        result: int | None = None,
    ) -> int:
        made = result or self._editor.new_id()
        if not self._is_whole(type_):
            body.append(Instruction(Op.Load, type_, made, (pointer, *access)))
            return made
        values = [
            self._load(body, place, storage, part, of_part)
            for part, place, of_part in self._places(body, pointer, storage, type_, access)
        ]
        body.append(Instruction(Op.CompositeConstruct, type_, made, tuple(values)))
        return made

    def _store(
        self, body: Body, pointer: int, storage: int, type_: int, access: Sequence[int], value: int
    ) -> None:
        if not self._is_whole(type_):
            body.append(Instruction(Op.Store, None, None, (pointer, value, *access)))
            return
        places = self._places(body, pointer, storage, type_, access)
        for index, (part, place, of_part) in enumerate(places):
            self._store(body, place, storage, part, of_part, self._part(body, value, part, index))

    def _copy(self, body: Body, value: int, origin: int, type_: int, result: int | None = None) -> int:
        if origin == type_:
            return value
        made = result or self._editor.new_id()
        if not self._is_whole(type_):
            body.append(Instruction(Op.CopyLogical, type_, made, (value,)))
            return made
        values: list[int] = []
        pairs = zip(self._parts(origin), self._parts(type_), strict=True)
        for index, ((before, _), (behind, _)) in enumerate(pairs):
            self._count()
            values.append(self._copy(body, self._part(body, value, before, index), before, behind))
        body.append(Instruction(Op.CompositeConstruct, type_, made, tuple(values)))
        return made

    def _part(self, body: Body, value: int, type_: int, index: int) -> int:
        made = self._editor.new_id()
        body.append(Instruction(Op.CompositeExtract, type_, made, (value, index)))
        return made


def _at(access: Sequence[int], offset: int) -> tuple[int, ...]:
    """Returns memory operands for what lies some bytes behind."""
    if len(access) < 2 or not access[0] & MemoryAccess.Aligned:
        return tuple(access)
    return access[0], gcd(access[1], offset), *access[2:]
