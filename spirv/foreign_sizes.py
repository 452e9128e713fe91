"""Local sizes, specialization constants and arrays of a foreign entry point.

Drivers check none of them: a length of 0 or more shared memory than there is may end the process.  So every length is
described as `SizeNode`s, which a launch computes before the driver sees the kernel.  Standard library only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from ..ir.errors import FeatureNotSupportedError
from ..ir.kernel_info import LocalArrayInfo, SpecConstantInfo, SpecConstantLeaf
from ..ir.size_arithmetic import OPERAND_COUNTS, SIZE_BITS, SizeNode, signed
from .binary import Instruction
from .image_checks import MAX_ELEMENT_BYTES
from .module_view import ModuleView
from .reflection import SpecConstant
from .tables import Decoration, Op, StorageClass, opcode_name

_FORMATS = {
    "bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


def symbol_of(spec_id: int) -> str:
    """Returns what bundles call the specialization constant with a SpecId."""
    return f"spirv.{spec_id}"


def constant_infos(
    constants: tuple[SpecConstant, ...], without: frozenset[int]
) -> tuple[SpecConstantInfo, ...]:
    """Returns the constants that a launch leaves at their default, each once.

    Args:
        constants: of the module, by SpecId.
        without: SpecIds that launches set: of the local size and of lengths that are parameters.
    """
    found: dict[int, SpecConstantInfo] = {}
    offset = 0
    for constant in constants:
        if constant.spec_id in without or constant.spec_id in found:
            continue
        size = 1 if constant.type == "bool" else constant.size_bytes
        found[constant.spec_id] = SpecConstantInfo(
            symbol=symbol_of(constant.spec_id),
            name=constant.name or f"SpecId {constant.spec_id}",
            type=constant.type,
            offset_bytes=offset,
            size_bytes=size,
            default=default_bytes(constant),
            leaves=(
                SpecConstantLeaf(
                    spec_id=constant.spec_id, dtype=constant.type, offset_bytes=0, size_bytes=size
                ),
            ),
        )
        offset += size
    return tuple(found.values())


def default_bytes(constant: SpecConstant) -> bytes:
    """Returns the host bytes of a constant's default."""
    if constant.type == "bf16":
        return struct.pack("<f", constant.default)[2:]
    return struct.pack("<" + _FORMATS[constant.type], constant.default)


@dataclass(slots=True)
class SizeTable:
    """Integer constants of a module as `SizeNode`s, and the sizes of types without a layout."""

    view: ModuleView
    nodes: list[SizeNode] = field(default_factory=list[SizeNode])
    _by_id: dict[int, int] = field(default_factory=dict[int, int])
    _known: dict[SizeNode, int] = field(default_factory=dict[SizeNode, int])
    _bytes: dict[int, int | None] = field(default_factory=dict[int, "int | None"])

    def __post_init__(self) -> None:
        # In the order of the module, in which operands come first: nothing recurses.
        for item in self.view.globals:
            self._read_constant(item)
            self._read_type(item)

    def _read_constant(self, item: Instruction) -> None:
        number, kind = item.result_id, self.view.definitions.get(item.result_type or 0)
        if number is None or kind is None or kind.opcode not in (Op.TypeInt, Op.TypeBool):
            return
        node, bits = self._node_of(item), kind.operands[0] if kind.opcode == Op.TypeInt else 32
        if node is not None and bits in SIZE_BITS:
            self._by_id[number] = self.node(*node, bits)

    def _node_of(self, item: Instruction) -> tuple[str, tuple[int, ...]] | None:
        spec_id = self.view.decoration(item.result_id or 0, Decoration.SpecId)
        if item.opcode in (Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse) and spec_id:
            return "spec_constant", (spec_id[0],)
        if item.opcode in (Op.Constant, Op.SpecConstant) and item.operands:
            value = sum(word << 32 * n for n, word in enumerate(item.operands[:2]))
            return "constant", (signed(value, 64),)
        if item.opcode in (Op.ConstantTrue, Op.SpecConstantTrue):
            return "constant", (1,)
        if item.opcode in (Op.ConstantFalse, Op.SpecConstantFalse, Op.ConstantNull):
            return "constant", (0,)
        return self._operation(item) if item.opcode == Op.SpecConstantOp else None

    def _operation(self, item: Instruction) -> tuple[str, tuple[int, ...]] | None:
        code, *operands = item.operands
        if code == Op.CompositeExtract and len(operands) == 2:
            composite = self.view.definitions.get(operands[0])
            if composite is None or operands[1] >= len(composite.operands):
                return None
            part = self._by_id.get(composite.operands[operands[1]])
            return None if part is None else (self.nodes[part].opcode, self.nodes[part].operands)
        name = opcode_name(code).removeprefix("Op")
        parts = [self._by_id.get(number) for number in operands]
        if OPERAND_COUNTS.get(name) != len(parts) or None in parts:
            return None
        return name, tuple(part for part in parts if part is not None)

    def node(self, opcode: str, operands: tuple[int, ...], bits: int = 32) -> int:
        """Returns the position of a node, adding it where it is new."""
        node = SizeNode(opcode=opcode, operands=operands, bits=bits)
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def _read_type(self, item: Instruction) -> None:
        """Notes the bytes of one value, without gaps; None where a length is no plain constant."""
        code, words, number = item.opcode, item.operands, item.result_id
        if code == Op.TypeForwardPointer:
            self._bytes[words[0]] = 8
        if number is None:
            return
        if code == Op.TypeBool:
            self._bytes[number] = 4
        elif code in (Op.TypeInt, Op.TypeFloat):
            self._bytes[number] = words[0] // 8
        elif code == Op.TypePointer:
            self._bytes[number] = 8
        elif code in (Op.TypeVector, Op.TypeMatrix):
            self._bytes[number] = self._product(words[0], words[1])
        elif code == Op.TypeArray:
            length = self._by_id.get(words[1])
            node = None if length is None else self.nodes[length]
            is_plain = node is not None and node.opcode == "constant"
            self._bytes[number] = (
                self._product(words[0], node.operands[0] % (1 << 64)) if node and is_plain else None
            )
        elif code == Op.TypeStruct:
            parts = [self._bytes.get(part) for part in words]
            self._bytes[number] = (
                None if None in parts else min(sum(part or 0 for part in parts), MAX_ELEMENT_BYTES)
            )

    def _product(self, part: int, count: int) -> int | None:
        size = self._bytes.get(part)
        return None if size is None else min(size * count, MAX_ELEMENT_BYTES)

    def array(self, kind: int, *, is_shared: bool, name: str) -> LocalArrayInfo:
        """Returns how much memory a variable takes.

        Args:
            kind: the type of its value.
            is_shared: whether it is of a work-group.
            name: for messages.

        Raises:
            FeatureNotSupportedError: its size cannot be told before a driver has it.
        """
        lengths: list[int] = []
        item = self.view.definitions.get(kind)
        while item is not None and item.opcode == Op.TypeArray and self._bytes.get(kind) is None:
            node = self._by_id.get(item.operands[1])
            if node is None:
                raise self._unknown(name)
            lengths.append(node)
            kind = item.operands[0]
            item = self.view.definitions.get(kind)
        size = self._bytes.get(kind)
        if size is None:
            raise self._unknown(name)
        return LocalArrayInfo(
            is_shared=is_shared,
            element_bytes=max(size, 1),
            lengths=tuple(lengths) or (self.node("constant", (1,)),),
        )

    def _unknown(self, name: str) -> FeatureNotSupportedError:
        return FeatureNotSupportedError(
            f"the size of variable {name!r} follows from constants in a way that lapilli does not compute; expected "
            "lengths made of integers with the usual operations"
        )


_SHARED = (StorageClass.Workgroup,)
_OWN = (StorageClass.Private, StorageClass.Function)


def arrays_of(table: SizeTable) -> tuple[LocalArrayInfo, ...]:
    """Returns the memory that a module with one entry point takes, apart from its buffers."""
    view = table.view
    variables = [item for item in view.globals if item.opcode == Op.Variable]
    variables += [
        i for function in view.functions for i in function.instructions() if i.opcode == Op.Variable
    ]
    found: list[LocalArrayInfo] = []
    for item in variables:
        if item.operands[0] not in (*_SHARED, *_OWN):
            continue
        pointer = view.definitions[item.result_type or 0]
        is_shared = item.operands[0] in _SHARED
        name = view.names.get(item.result_id or 0, "")
        found.append(table.array(pointer.operands[1], is_shared=is_shared, name=name))
    return tuple(found)
