"""SPIR-V modules changed in what they say, not in their bytes: ids exchanged, functions twice, types that contain
themselves, huge counts, wrong capabilities.  The words stay instructions, so that the changes get past the parser.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from lapilli.spirv.tables import Op

HEADER_WORDS = 5
Instruction = list[int]
"""The words of one, its opcode and count first."""

HUGE = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 20, 65536, 4096)
FUNCTION, FUNCTION_END = int(Op.Function), int(Op.FunctionEnd)
TYPES = tuple(int(op) for op in (Op.TypeStruct, Op.TypeArray, Op.TypeRuntimeArray, Op.TypePointer, Op.TypeVector,
                                 Op.TypeFunction))  # fmt: skip
WITH_NUMBERS = tuple(int(op) for op in (Op.Constant, Op.SpecConstant, Op.Decorate, Op.MemberDecorate, Op.TypeInt,
                                        Op.TypeFloat, Op.TypeVector, Op.ExecutionMode, Op.LoopMerge, Op.Capability,
                                        Op.MemoryModel, Op.CompositeExtract, Op.Switch, Op.ExtInst))  # fmt: skip


def split(data: bytes) -> tuple[list[int], list[Instruction]]:
    """Returns header and instructions of a module that is whole."""
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    header, found, place = words[:HEADER_WORDS], [], HEADER_WORDS
    while place < len(words):
        count = max(words[place] >> 16, 1)
        found.append(words[place : place + count])
        place += count
    return header, found


def joined(header: list[int], instructions: list[Instruction]) -> bytes:
    """Returns a module, each instruction with the count of its words."""
    words = list(header)
    for item in instructions:
        if len(item) < 1 << 16:
            words += [len(item) << 16 | item[0] & 0xFFFF, *item[1:]]
    return struct.pack(f"<{len(words)}I", *[word & 0xFFFFFFFF for word in words])


def changed(data: bytes, pick: random.Random) -> bytes:
    """Returns a module with one to four changes."""
    header, instructions = split(data)
    for _ in range(pick.choice((1, 1, 2, 4))):
        if instructions:
            pick.choice(CHANGES)(header, instructions, pick)
    return joined(header, instructions)


def _opcode(item: Instruction) -> int:
    return item[0] & 0xFFFF


def _places(instructions: list[Instruction], codes: tuple[int, ...]) -> list[int]:
    return [n for n, item in enumerate(instructions) if _opcode(item) in codes]


def _exchange_ids(header: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """Two ids change places everywhere."""
    first, second = (pick.randrange(1, max(header[3], 2)) for _ in range(2))
    names = {first: second, second: first}
    for item in instructions:
        item[1:] = [names.get(word, word) for word in item[1:]]


def _other_operand(header: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """An operand becomes another id of the module."""
    item = pick.choice(instructions)
    if len(item) > 1:
        item[pick.randrange(1, len(item))] = pick.randrange(max(header[3], 2))


def _huge_number(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """A literal becomes very large, or 0."""
    places = _places(instructions, WITH_NUMBERS)
    if places:
        item = instructions[pick.choice(places)]
        item[pick.randrange(1, len(item))] = pick.choice(HUGE)


def _huge_bound(header: list[int], _: list[Instruction], pick: random.Random) -> None:
    header[pick.choice((1, 3, 3, 4))] = pick.choice(HUGE)


def _twice(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """An instruction is there twice, once elsewhere."""
    instructions.insert(pick.randrange(len(instructions)), list(pick.choice(instructions)))


def _function_twice(header: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """A function is there twice, with the same ids or its own."""
    starts = _places(instructions, (FUNCTION,))
    if not starts:
        return
    start = pick.choice(starts)
    end = next(
        (n for n in range(start, len(instructions)) if _opcode(instructions[n]) == FUNCTION_END), start
    )
    copy = [list(item) for item in instructions[start : end + 1]]
    if pick.random() < 0.5 and header[3] < 1 << 20:
        shift = header[3]
        header[3] *= 2
        for item in copy[:1]:
            item[2:3] = [word + shift for word in item[2:3]]
    instructions[end + 1 : end + 1] = copy


def _gone(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    del instructions[pick.randrange(len(instructions))]


def _moved(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    item = instructions.pop(pick.randrange(len(instructions)))
    instructions.insert(pick.randrange(len(instructions) + 1), item)


def _other_opcode(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """An instruction becomes another one that the module has, with its operands."""
    item, other = pick.choice(instructions), pick.choice(instructions)
    item[0] = _opcode(other)


def _cyclic_type(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """A type names itself, or one that stands behind it."""
    places = _places(instructions, TYPES)
    if places:
        item, other = instructions[pick.choice(places)], instructions[pick.choice(places)]
        if len(item) > 2:
            item[pick.randrange(2, len(item))] = other[1]


def _other_capability(_: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    places = _places(instructions, (int(Op.Capability),))
    if places:
        instructions[pick.choice(places)][1:] = [
            pick.choice((0, 1, 5, 6, 9, 11, 22, 38, 39, 61, 4447, 5345, 70000))
        ]


def _many_operands(header: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """A list of operands becomes long."""
    item = pick.choice(instructions)
    if len(item) > 1:
        item += [pick.choice((item[-1], pick.randrange(max(header[3], 1))))] * pick.choice((1, 7, 3000))


def _deep_types(header: list[int], instructions: list[Instruction], pick: random.Random) -> None:
    """A type is wrapped in many structs, each of which has it twice."""
    places = _places(instructions, TYPES)
    if not places or header[3] > 1 << 20:
        return
    place = pick.choice(places)
    kind, added = instructions[place][1], []
    for _ in range(pick.choice((3, 40, 300))):
        made = header[3]
        header[3] += 1
        added.append([int(Op.TypeStruct), made, kind, kind])
        kind = made
    instructions[place + 1 : place + 1] = added
    for item in instructions[place + 1 + len(added) :]:
        if _opcode(item) == int(Op.TypePointer) and len(item) > 3:
            item[3] = kind
            break


CHANGES: tuple[Callable[[list[int], list[Instruction], random.Random], None], ...] = (
    _exchange_ids,
    _other_operand,
    _other_operand,
    _other_operand,
    _huge_number,
    _huge_number,
    _huge_bound,
    _twice,
    _function_twice,
    _gone,
    _moved,
    _other_opcode,
    _cyclic_type,
    _other_capability,
    _many_operands,
    _deep_types,
)
