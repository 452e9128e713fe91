"""SPIR-V binaries: bytes to instructions and back.

`parse` reads any bytes without trusting them and `serialise` writes a module again, so that
``serialise(parse(data)) == data`` for every little-endian module.  `ModuleBuilder` lays new instructions out
in the order that SPIR-V 1.6 §2.4 asks for.  Nothing here knows what an instruction means: see `reflect` and
`validate`.  Standard library only.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from .errors import SpirvError
from .tables import MAGIC_NUMBER, MAX_ID_BOUND, opcode_name, result_layouts

HEADER_WORDS: Final = 5
MAX_INSTRUCTION_WORDS: Final = 0xFFFF
"""The word count of an instruction has 16 bits."""
MAX_MODULE_BYTES: Final = 256 << 20
"""Larger input is refused unread."""

_SWAPPED_MAGIC: Final = 0x03022307


class Instruction(NamedTuple):
    """One instruction; a tuple because a parse makes thousands.

    An opcode that the tables do not know has no result type and id: all its words are operands.
    """

    opcode: int
    result_type: int | None
    """Id of the result's type."""
    result_id: int | None
    operands: tuple[int, ...]
    """Words behind the result type and id."""
    ordinal: int = 0
    """Place in the module, from 0."""

    @property
    def name(self) -> str:
        """Spelling of the opcode: ``OpLoad``."""
        return opcode_name(self.opcode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A parsed module."""

    version: tuple[int, int]
    """SPIR-V version of the header: (1, 5)."""
    bound: int
    """Every id is below it."""
    instructions: tuple[Instruction, ...]
    generator: int = 0
    """The tool's number in the registry of generators, shifted left by 16, and its own version."""


def parse(data: bytes | bytearray | memoryview) -> Module:
    """Reads a module; one of the other byte order is swapped.

    Raises SpirvError, with the word offset, where the header is wrong, where an instruction has no words or
    runs past the end or lacks its result, and where a result id is 0 or not below the bound.
    """
    words = read_words(data)
    version, generator, bound = _parse_header(words)
    layouts = result_layouts()
    instructions: list[Instruction] = []
    position, end = HEADER_WORDS, len(words)
    while position < end:
        first = words[position]
        code, count = first & 0xFFFF, first >> 16
        has_type, has_id = layouts.get(code, (False, False))
        stop = position + count
        operand = position + 1 + has_type + has_id
        if stop > end or operand > stop:
            raise _bad_word_count(code, count, end - position, position)
        result_id = words[operand - 1] if has_id else None
        if result_id is not None and not 0 < result_id < bound:
            message = f"{opcode_name(code)} defines id {result_id}; ids are 1 to {bound - 1}"
            raise SpirvError(message, word_offset=operand - 1)
        result_type = words[position + 1] if has_type else None
        instructions.append(Instruction(code, result_type, result_id, words[operand:stop], len(instructions)))
        position = stop
    return Module(version=version, generator=generator, bound=bound, instructions=tuple(instructions))


def _bad_word_count(code: int, count: int, left: int, position: int) -> SpirvError:
    name = opcode_name(code)
    if count == 0:
        return SpirvError(f"{name} has a word count of 0", word_offset=position)
    if count > left:
        return SpirvError(f"{name} has {count} words, but only {left} are left", word_offset=position)
    return SpirvError(f"{name} of {count} words ends before its result id", word_offset=position)


def read_words(data: bytes | bytearray | memoryview) -> tuple[int, ...]:
    """Returns the words of a module in host order, header included; raises SpirvError where it is none."""
    size = len(data)
    if size > MAX_MODULE_BYTES:
        raise SpirvError(f"{size} bytes of SPIR-V; the most that is read is {MAX_MODULE_BYTES}")
    if size < HEADER_WORDS * 4 or size % 4:
        raise SpirvError(f"a SPIR-V module has whole words and at least {HEADER_WORDS}; found {size} bytes")
    words = struct.unpack(f"<{size // 4}I", data)
    if words[0] == _SWAPPED_MAGIC:
        words = struct.unpack(f">{size // 4}I", data)
    if words[0] != MAGIC_NUMBER:
        message = f"a SPIR-V module starts with the magic number {MAGIC_NUMBER:#010x}; found {words[0]:#010x}"
        raise SpirvError(message, word_offset=0)
    return words


def _parse_header(words: Sequence[int]) -> tuple[tuple[int, int], int, int]:
    _, version, generator, bound, schema = words[:HEADER_WORDS]
    major, minor = version >> 16, version >> 8 & 0xFF
    if version & 0xFF or major != 1:
        raise SpirvError(f"expected a SPIR-V version 1.x; found the word {version:#010x}", word_offset=1)
    if not 0 < bound <= MAX_ID_BOUND:
        raise SpirvError(f"the id bound must be 1 to {MAX_ID_BOUND}; found {bound}", word_offset=3)
    if schema:
        raise SpirvError(f"the schema word is reserved and 0; found {schema:#x}", word_offset=4)
    return (major, minor), generator, bound


def serialise(module: Module) -> bytes:
    """Returns the little-endian bytes of a module; SpirvError where an instruction has too many words."""
    major, minor = module.version
    words = [MAGIC_NUMBER, major << 16 | minor << 8, module.generator, module.bound, 0]
    for item in module.instructions:
        words.extend(encode_instruction(item.opcode, item.operands, item.result_type, item.result_id))
    return struct.pack(f"<{len(words)}I", *words)


def encode_instruction(
    opcode: int, operands: Iterable[int], result_type: int | None = None, result_id: int | None = None
) -> list[int]:
    """Returns the words of an instruction.

    Raises SpirvError where it is longer than 65,535 words; operands are words, 0 to 2**32 - 1.
    """
    if result_id is None:
        words = [0, *operands] if result_type is None else [0, result_type, *operands]
    elif result_type is None:
        words = [0, result_id, *operands]
    else:
        words = [0, result_type, result_id, *operands]
    count = len(words)
    if count > MAX_INSTRUCTION_WORDS:
        message = (
            f"{opcode_name(opcode)} of {count} words; an instruction has at most {MAX_INSTRUCTION_WORDS}"
        )
        raise SpirvError(message)
    words[0] = count << 16 | opcode
    return words


def encode_string(text: str) -> tuple[int, ...]:
    """Returns the words of a literal string: UTF-8, ended by a zero byte, padded with zeros.

    SPIR-V 1.6 §2.2.1.  Raises SpirvError where the text holds a zero character.
    """
    data = text.encode("utf-8")
    if 0 in data:
        raise SpirvError(f"a SPIR-V string cannot hold a zero character: {text!r}")
    data += bytes(4 - len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


def decode_string(words: Sequence[int], start: int = 0) -> tuple[str, int]:
    """Returns the literal string that starts at an index, and the index behind it.

    Raises SpirvError where it does not end or is not UTF-8.
    """
    for end in range(start, len(words)):
        word = words[end]
        # A zero byte in the word ends the string.
        if not (word & 0xFF and word & 0xFF00 and word & 0xFF0000 and word & 0xFF000000):
            data = struct.pack(f"<{end + 1 - start}I", *words[start : end + 1])
            try:
                return data[: data.index(0)].decode("utf-8"), end + 1
            except UnicodeDecodeError as error:
                raise SpirvError(f"a literal string is not UTF-8: {error}") from error
    raise SpirvError("a literal string does not end inside its instruction")


class Section(enum.IntEnum):
    """Sections of a module in the order of SPIR-V 1.6 §2.4, "Logical Layout of a Module"."""

    CAPABILITIES = 0
    EXTENSIONS = 1
    EXT_INST_IMPORTS = 2
    MEMORY_MODEL = 3
    ENTRY_POINTS = 4
    EXECUTION_MODES = 5
    DEBUG_STRINGS = 6
    """OpString, OpSource, OpSourceExtension, OpSourceContinued."""
    DEBUG_NAMES = 7
    """OpName, OpMemberName."""
    DEBUG_PROCESSED = 8
    """OpModuleProcessed."""
    ANNOTATIONS = 9
    GLOBALS = 10
    """Types, constants, global variables, OpUndef."""
    FUNCTION_DECLARATIONS = 11
    """Functions without a body (imports)."""
    FUNCTIONS = 12


class ModuleBuilder:
    """Collects instructions by section and hands out ids.

    An instruction may carry a mark (a source location, an op): `marks` tells which instruction ordinal has
    which, so that a finding of a validator finds its way back.
    """

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        self._next_id = 1
        sections = range(len(Section))
        self._words: list[list[int]] = [[] for _ in sections]
        self._marks: list[list[object]] = [[] for _ in sections]

    @property
    def bound(self) -> int:
        """The id bound so far."""
        return self._next_id

    def new_id(self) -> int:
        """Returns a fresh id."""
        result = self._next_id
        self._next_id += 1
        return result

    def section(self, section: Section) -> tuple[list[int], list[object]]:
        """Returns the words of a section and the marks of its instructions, to be appended to by who has many."""
        return self._words[section], self._marks[section]

    def add(
        self,
        section: Section,
        opcode: int,
        operands: Iterable[int] = (),
        *,
        result_type: int | None = None,
        result_id: int | None = None,
        mark: object = None,
    ) -> None:
        """Appends an instruction to a section; raises SpirvError where it is too long."""
        self._words[section].extend(encode_instruction(opcode, operands, result_type, result_id))
        self._marks[section].append(mark)

    def add_result(
        self,
        section: Section,
        opcode: int,
        operands: Iterable[int] = (),
        *,
        result_type: int | None = None,
        mark: object = None,
    ) -> int:
        """Appends an instruction with a fresh result id, and returns the id."""
        result_id = self.new_id()
        self.add(section, opcode, operands, result_type=result_type, result_id=result_id, mark=mark)
        return result_id

    def marks(self) -> tuple[object, ...]:
        """Returns the mark of every instruction, by ordinal."""
        return tuple(chain.from_iterable(self._marks))

    def build(self) -> bytes:
        """Returns the little-endian module."""
        major, minor = self.version
        words = [MAGIC_NUMBER, major << 16 | minor << 8, 0, self.bound, 0]
        for section in self._words:
            words.extend(section)
        try:
            return struct.pack(f"<{len(words)}I", *words)
        except struct.error as error:
            wrong = next(word for word in words if not 0 <= word <= 0xFFFFFFFF)
            raise SpirvError(
                f"the number {wrong} is no word of SPIR-V, which goes from 0 to 2^32 - 1"
            ) from error
