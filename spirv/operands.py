"""Splits the operand words of an instruction by the grammar: which word is an id, an enumerant, a literal.

Follows the operand patterns of `tables`, with the parameters that enumerants bring.  Standard library only.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from .binary import Instruction, decode_string
from .errors import SpirvError
from .tables import Op, Operand, enumerant, instruction, is_bit_enum, is_enum, opcode_name

ID_KINDS: Final = frozenset(("IdRef", "IdScope", "IdMemorySemantics"))

_PAIRS: Final = {
    "PairLiteralIntegerIdRef": ("SwitchLiteral", "IdRef"),
    "PairIdRefLiteralInteger": ("IdRef", "LiteralInteger"),
    "PairIdRefIdRef": ("IdRef", "IdRef"),
}
# Results stand in the instruction's own fields.
_RESULTS: Final = frozenset(("IdResultType", "IdResult"))


class DecodedOperand(NamedTuple):
    """One operand."""

    kind: str
    """Kind of the grammar: ``IdRef``, ``LiteralInteger``, ``StorageClass`` …"""
    position: int
    """Where its first word is in the instruction's operands."""
    words: tuple[int, ...]

    @property
    def value(self) -> int:
        """The first word."""
        return self.words[0]


def decode_operands(item: Instruction, *, switch_literal_words: int = 1) -> tuple[DecodedOperand, ...]:
    """Returns the operands behind the result type and id.

    Args:
        item: any instruction.
        switch_literal_words: words that a literal of OpSwitch has, by the width of its selector.

    Raises:
        SpirvError: the opcode or an enumerant is unknown, operands are missing or left over, a string is
            malformed.
    """
    return tuple(_Decoder(item, switch_literal_words).decode())


def id_operands(item: Instruction, *, switch_literal_words: int = 1) -> tuple[int, ...]:
    """Returns the ids that an instruction refers to, without its result type; raises as `decode_operands`."""
    decoded = decode_operands(item, switch_literal_words=switch_literal_words)
    return tuple(operand.value for operand in decoded if operand.kind in ID_KINDS)


class _Decoder:
    """Appends to a list: as generators the same takes twice the time."""

    def __init__(self, item: Instruction, switch_literal_words: int) -> None:
        self.item = item
        self.words = item.operands
        self.position = 0
        self.switch_literal_words = switch_literal_words
        self.found: list[DecodedOperand] = []

    def decode(self) -> list[DecodedOperand]:
        self._by_pattern(self.item.opcode)
        if self.position < len(self.words):
            left = len(self.words) - self.position
            raise SpirvError(f"{self.item.name} has {left} words more than its operands need")
        return self.found

    def _by_pattern(self, code: int) -> None:
        info = instruction(code)
        if info is None:
            raise SpirvError(f"{opcode_name(code)} is unknown")
        for operand in info.operands:
            if operand.kind not in _RESULTS:
                self._quantified(operand)

    def _quantified(self, operand: Operand) -> None:
        if operand.quantifier == "*":
            while self.position < len(self.words):
                self._one(operand.kind)
        elif operand.quantifier == "" or self.position < len(self.words):
            self._one(operand.kind)

    def _one(self, kind: str) -> None:
        if kind in ID_KINDS or kind == "LiteralInteger":
            self._take(kind, 1)
        elif kind in _PAIRS:
            for part in _PAIRS[kind]:
                self._one(part)
        elif kind == "LiteralString":
            self._take(kind, decode_string(self.words, self.position)[1] - self.position)
        elif kind == "LiteralContextDependentNumber":
            self._take(kind, max(len(self.words) - self.position, 1))
        elif kind == "SwitchLiteral":
            self._take(kind, self.switch_literal_words)
        elif kind == "LiteralSpecConstantOpInteger":
            nested = self._take(kind, 1)
            if nested == Op.SpecConstantOp:
                raise SpirvError("OpSpecConstantOp cannot wrap itself")
            self._by_pattern(nested)
        elif is_enum(kind):
            self._enumerant(kind)
        else:
            self._take(kind, 1)

    def _enumerant(self, kind: str) -> None:
        for value in enumerant_values(kind, self._take(kind, 1)):
            row = enumerant(kind, value)
            if row is None:
                raise SpirvError(f"{self.item.name}: {kind} {value} is unknown")
            for parameter in row.parameters:
                self._quantified(parameter)

    def _take(self, kind: str, count: int) -> int:
        start, stop = self.position, self.position + count
        if stop > len(self.words):
            raise SpirvError(f"{self.item.name} ends before an operand of kind {kind}")
        self.position = stop
        self.found.append(DecodedOperand(kind, start, self.words[start:stop]))
        return self.words[start]


def enumerant_values(kind: str, word: int) -> tuple[int, ...]:
    """Returns the enumerants that a word stands for: itself, or the bits of a mask, lowest first."""
    if not is_bit_enum(kind):
        return (word,)
    return tuple(1 << n for n in range(word.bit_length()) if word >> n & 1)


@cache
def id_counts(code: int) -> tuple[int, int | None] | None:
    """Returns the least and the most operands of an opcode that takes nothing but ids; None for all others.

    A most of None: any number.  Most instructions are such, and need no decoding.
    """
    info = instruction(code)
    if info is None:
        return None
    kinds = [operand for operand in info.operands if operand.kind not in _RESULTS]
    if any(operand.kind not in ID_KINDS for operand in kinds):
        return None
    least = sum(not operand.quantifier for operand in kinds)
    return least, None if any(operand.quantifier == "*" for operand in kinds) else len(kinds)
