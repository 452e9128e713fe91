"""Instructions with other ids: what linking and specialising write.  Standard library only."""

from __future__ import annotations

from collections.abc import Callable

from .binary import Instruction
from .operands import ID_KINDS, decode_operands, id_counts
from .tables import Op

_DEBUG_TEXT = frozenset((Op.String, Op.SourceExtension, Op.SourceContinued, Op.ModuleProcessed))
"""Text alone, long at times: nothing to decode."""


def remapped(item: Instruction, new_id: Callable[[int], int], switch_literal_words: int = 1) -> Instruction:
    """Returns an instruction whose result, result type and id operands went through `new_id`.

    Args:
        item: any instruction; its ordinal is kept.
        new_id: the new id of an old one.
        switch_literal_words: words that a literal of OpSwitch has.

    Raises:
        SpirvError: the operands do not fit the grammar.
    """
    return item._replace(
        result_type=None if item.result_type is None else new_id(item.result_type),
        result_id=None if item.result_id is None else new_id(item.result_id),
        operands=_operands(item, new_id, switch_literal_words),
    )


def _operands(item: Instruction, new_id: Callable[[int], int], switch_literal_words: int) -> tuple[int, ...]:
    if item.opcode in _DEBUG_TEXT:
        return item.operands
    if id_counts(item.opcode) is not None:
        return tuple(map(new_id, item.operands))
    words = list(item.operands)
    for operand in decode_operands(item, switch_literal_words=switch_literal_words):
        if operand.kind in ID_KINDS:
            words[operand.position] = new_id(operand.value)
    return tuple(words)
