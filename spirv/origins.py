"""What the values of a module were before: copied, put together, chosen, stored and loaded again, passed on by calls.

Drivers inline functions and hand on what was stored, so that they see through all of that.  Standard library only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from .binary import Instruction
from .memory_places import base_of
from .module_view import FunctionView, ModuleView
from .tables import Op

_HANDED_ON = {
    Op.CopyObject: slice(1),
    Op.CopyLogical: slice(1),
    Op.CompositeConstruct: slice(None),
    Op.CompositeExtract: slice(1),
    Op.CompositeInsert: slice(2),
    Op.VectorShuffle: slice(2),
    Op.VectorExtractDynamic: slice(1),
    Op.VectorInsertDynamic: slice(2),
    Op.Phi: slice(None, None, 2),
    Op.Select: slice(1, None),
}
"""By opcode the operands that the result, or a component of it, may be."""


SPEC_CONSTANTS = (Op.SpecConstant, Op.SpecConstantComposite, Op.SpecConstantOp)
"""Opcodes of numbers that drivers know and a module does not."""


class Origins:
    """What the values of a valid module, and their components, may have been."""

    def __init__(self, view: ModuleView, through: Collection[int] = ()) -> None:
        """Takes opcodes of other instructions that hand their first operand on."""
        self._view = view
        self._handed_on = dict.fromkeys(through, slice(1)) | _HANDED_ON
        self._stored = defaultdict[int, list[int]](list)
        """By variable, or parameter that points to one."""
        self._places = defaultdict[int, set[int]](set)
        """Variables and parameters that may be one place."""
        self._given = defaultdict[int, list[int]](list)
        """By parameter, or function, what calls give, or its returns."""
        functions = {function.result_id: function for function in view.functions}
        for item in view.of_opcode(Op.Variable):
            self._stored[item.result_id or 0] += item.operands[1:]
        for function in view.functions:
            for item in function.instructions():
                self._note(function, functions, item)

    def _note(self, function: FunctionView, functions: dict[int, FunctionView], item: Instruction) -> None:
        if item.opcode == Op.Store:
            self._stored[base_of(self._view, item.operands[0])].append(item.operands[1])
        elif item.opcode == Op.Variable:
            self._stored[item.result_id or 0] += item.operands[1:]
        elif item.opcode == Op.CopyMemory:
            self._join(*(base_of(self._view, pointer) for pointer in item.operands[:2]))
        elif item.opcode == Op.ReturnValue:
            self._given[function.result_id] += item.operands
        elif item.opcode == Op.FunctionCall:
            for parameter, value in zip(
                functions[item.operands[0]].parameters, item.operands[1:], strict=True
            ):
                self._give(parameter.result_id or 0, value)

    def _give(self, parameter: int, value: int) -> None:
        self._given[parameter].append(value)
        made = self._view.type_of(parameter)
        if made is not None and made.opcode == Op.TypePointer:
            self._join(parameter, base_of(self._view, value))

    def _join(self, place: int, other: int) -> None:
        self._places[place].add(other)
        self._places[other].add(place)

    def of(self, numbers: Iterable[int]) -> set[int]:
        """Returns some values and all that they may have been before."""
        found, bases, pending = set[int](), set[int](), [*numbers]
        while pending:
            number = pending.pop()
            if number in found:
                continue
            found.add(number)
            made = self._view.definitions[number]
            if made.opcode == Op.Load:  # what is stored in a place is gone through once, not for each load
                base = base_of(self._view, made.operands[0])
                if base in bases:
                    continue
                bases.add(base)
            pending += self._before(made)
        return found

    def _before(self, made: Instruction) -> Sequence[int]:
        if made.opcode == Op.Load:
            places = self._same_place(base_of(self._view, made.operands[0]))
            return [value for place in places for value in self._stored.get(place, ())]
        if made.opcode == Op.FunctionParameter:
            return self._given.get(made.result_id or 0, ())
        if made.opcode == Op.FunctionCall:
            return self._given.get(made.operands[0], ())
        handed_on = self._handed_on.get(made.opcode)
        return () if handed_on is None else made.operands[handed_on]

    def _same_place(self, place: int) -> set[int]:
        found, pending = set[int](), [place]
        while pending:
            place = pending.pop()
            if place not in found:
                found.add(place)
                pending += self._places.get(place, ())
        return found
