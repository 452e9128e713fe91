"""Structs that contain pointers to themselves, as upstream MLIR spells them: lists, trees, graphs.

    !spirv.struct<Node, (i32 [0], !spirv.ptr<!spirv.struct<Node>, PhysicalStorageBuffer> [8])>

Inside of a named struct its name alone is a reference to it.  Of two ways to write one type out, beginning with
either of two structs that point to each other, one is canonical: a struct that stands around is a reference, any
other is written out.  So equal types are equal attributes, as long as what leaves a struct is made canonical again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from .types import ArrayType, PointerType, RuntimeArrayType, SpecArrayType, StructShape, StructType

MAX_PARTS: Final = 1 << 13
"""Of a type that is written out: structs that all point to each other take the factorial of their number."""


def has_references(type_: Attribute) -> bool:
    """Whether a reference to a struct stands anywhere in a type."""
    return any(isinstance(part, StructType) and part.data.is_reference for part in _parts_of(type_))


def written_out(type_: Attribute, bodies: Mapping[str, StructShape]) -> Attribute:
    """Returns the canonical form of a type whose references name structs among `bodies`.

    Raises:
        VerifyException: it has more than `MAX_PARTS` parts.
    """
    return _Writer(bodies).write(type_, ())


def member_type(struct: StructType, index: int) -> Attribute:
    """Returns the type of a member of a struct as it is outside of the struct: its references are written out."""
    found = struct.members[index].type
    if not struct.identifier or not has_references(found):
        return found
    named = (part for part in _parts_of(struct) if isinstance(part, StructType) and part.identifier)
    bodies = {part.identifier: part.data for part in named if not part.data.is_reference}
    return written_out(found, bodies)


def _parts_of(type_: Attribute) -> Iterator[Attribute]:
    """Yields a type and every type in it, behind pointers too."""
    pending = [type_]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, PointerType):
            pending.append(part.pointee)
        elif isinstance(part, ArrayType | RuntimeArrayType | SpecArrayType):
            pending.append(part.element_type)
        elif isinstance(part, StructType):
            pending.extend(part.member_types)


class _Writer:
    def __init__(self, bodies: Mapping[str, StructShape]) -> None:
        self._bodies = bodies
        self._left = MAX_PARTS

    def write(self, type_: Attribute, around: tuple[str, ...]) -> Attribute:
        """Writes a type that stands in the structs `around`."""
        self._left -= 1
        if self._left < 0:
            raise VerifyException(f"the type has more than {MAX_PARTS} parts")
        if isinstance(type_, PointerType):
            return PointerType(self.write(type_.pointee, around), type_.storage_class)
        if isinstance(type_, ArrayType):
            return ArrayType(self.write(type_.element_type, around), type_.count, type_.stride)
        if isinstance(type_, RuntimeArrayType):
            return RuntimeArrayType(self.write(type_.element_type, around), type_.stride)
        if isinstance(type_, StructType):
            return self._struct(type_, around)
        return type_

    def _struct(self, type_: StructType, around: tuple[str, ...]) -> Attribute:
        name = type_.identifier
        if name and name in around:
            return StructType.reference(name)
        shape = self._bodies.get(name, type_.data) if type_.data.is_reference else type_.data
        inside = (*around, name) if name else around
        members = (replace(member, type=self.write(member.type, inside)) for member in shape.members)
        return StructType(replace(shape, members=tuple(members)))
