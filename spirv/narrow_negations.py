"""Negations of 8 and 16 bits for drivers that take the widened -(-128) for 128: `negations_kept`.

    %n = OpSNegate %char %x                →       %n = OpISub %char %zero %x
    %m = OpIMul %char %x %spec             →       %y = OpIAdd %char %spec %zero
                                                   %m = OpIMul %char %x %y

%zero is computed, so that the driver (`vk_runtime.quirks`, widened-negations) does not know it.  It is also added to
what the driver may find out: specialization constants, and constants that were converted, stored or passed on.  What
`passes.convert_to_spirv.narrow_negations` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from .binary import Instruction, Module
from .component_types import component_type, is_constant, zeros
from .module_editor import ModuleEditor
from .origins import SPEC_CONSTANTS, Origins
from .rewrite import Rewrite
from .tables import Op

_NARROWS = (Op.UConvert, Op.SConvert)
_ARITHMETIC = (Op.SNegate, Op.ISub, Op.IMul, Op.IAdd)
_LITERALS = (Op.Constant, Op.ConstantComposite, Op.ConstantNull)
_OF_NEGATIONS = {Op.ISub: 0, Op.IMul: -1, Op.IAdd: 1}
"""By opcode the number of an operand that makes a negation of it: 0 - x, x * -1, ~x + 1."""


def negations_kept(module: Module) -> Module:
    """Returns a valid module whose negations of 8 and 16 bits are hidden; itself where it has none."""
    rewrite = Rewrite(module)
    negations = _Negations(rewrite.editor)
    for function, item in rewrite.instructions(*_ARITHMETIC, *_NARROWS):
        made = negations.narrow(item)
        change = None if made is None else negations.change(made)
        if made is not None and change is not None:
            _hide(rewrite, rewrite.unknown_zero(function), item, made, change)
    return rewrite.finished()


class _Change(NamedTuple):
    """What becomes of arithmetic that may be a negation."""

    opcode: int
    operands: tuple[int, ...]
    hidden: int | None
    """Position of the operand that is hidden; None: a zero is put in front of them."""


def _hide(rewrite: Rewrite, zero: int, item: Instruction, made: Instruction, change: _Change) -> None:
    """Changes arithmetic that an instruction is, or narrows."""
    editor, body, type_ = rewrite.editor, rewrite.before(item), made.result_type or 0
    opcode, operands, hidden = change
    own = zeros(editor, body, zero, type_)
    if hidden is None:
        operands = own, *operands
    else:
        summed = editor.emit(body, Op.IAdd, operands[hidden], own, type_=type_)
        operands = *operands[:hidden], summed, *operands[hidden + 1 :]
    if item is made:
        rewrite.put(item, item._replace(opcode=opcode, operands=operands))
    else:  # before it is narrowed: a module that only stores narrow numbers has no arithmetic on them
        wide = editor.emit(body, opcode, *operands, type_=type_)
        rewrite.put(item, item._replace(operands=(wide,)))


class _Negations:
    """Finds what negates integers of 8 and 16 bits."""

    def __init__(self, editor: ModuleEditor) -> None:
        self.editor = editor

    @cached_property
    def _origins(self) -> Origins:
        return Origins(self.editor.view, _NARROWS)

    def narrow(self, item: Instruction) -> Instruction | None:
        """Returns the arithmetic that gives the 8 or 16 bits of an instruction; None if it gives no such."""
        scalar, _ = component_type(self.editor, item.result_type or 0)
        if scalar.operands[0] > 16:
            return None
        if item.opcode in _ARITHMETIC:
            return item
        made = self.editor.view.definitions[item.operands[0]]
        before, _ = component_type(self.editor, made.result_type or 0)
        return made if made.opcode in _ARITHMETIC and before.operands[0] > scalar.operands[0] else None

    def change(self, made: Instruction) -> _Change | None:
        """Returns what becomes of arithmetic that may be a negation; None if it is none."""
        negated = self._negated(made)
        if negated is not None:
            return _Change(Op.ISub, (negated,), None)
        hidden = self._found_out(made)
        return None if hidden is None else _Change(made.opcode, made.operands, hidden)

    def _negated(self, item: Instruction) -> int | None:
        """Returns x of an instruction that gives -x, 0 - x, x * -1 or ~x + 1; else None."""
        if item.opcode == Op.SNegate:
            return item.operands[0]
        if item.opcode == Op.ISub:
            return item.operands[1] if is_constant(self.editor, item.operands[0], 0) else None
        complement = self._other(item, -1 if item.opcode == Op.IMul else 1)
        if complement is None or item.opcode == Op.IMul:
            return complement
        made = self.editor.view.definitions[complement]
        return made.operands[0] if made.opcode == Op.Not else None

    def _other(self, item: Instruction, number: int) -> int | None:
        """Returns the operand beside a constant with a number; None where there is no such constant."""
        lhs, rhs = item.operands
        if is_constant(self.editor, lhs, number):
            return rhs
        return lhs if is_constant(self.editor, rhs, number) else None

    def _found_out(self, item: Instruction) -> int | None:
        """Returns which operand, not a literal, the driver may find out to be what makes a negation."""
        view, number = self.editor.view, _OF_NEGATIONS[item.opcode]
        for place in (0,) if item.opcode == Op.ISub else (0, 1):
            value, other = item.operands[place], view.definitions[item.operands[1 - place]]
            is_literal = view.definitions[value].opcode in _LITERALS
            if is_literal or (item.opcode == Op.IAdd and other.opcode != Op.Not):
                continue
            if any(self._may_be(origin, number) for origin in self._origins.of((value,))):
                return place
        return None

    def _may_be(self, origin: int, number: int) -> bool:
        made = self.editor.view.definitions[origin]
        if made.opcode in SPEC_CONSTANTS or is_constant(self.editor, origin, number):
            return True
        is_difference = made.opcode in (Op.ISub, Op.BitwiseXor)
        return is_difference and len({*map(self._names, made.operands)}) == 1

    def _names(self, value: int) -> frozenset[int]:
        return frozenset(self._origins.of((value,)) - {value}) or frozenset((value,))
