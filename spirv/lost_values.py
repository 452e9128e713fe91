"""What drivers lose of a function's loops for work-items that have left them: `LostValues`.

A work-item that has left a loop waits while the driver runs it on for others, and what the loop computes is computed
again for it too, of what has changed meanwhile.  Kept are the scalars that phis of the loop's header hold, behind that
loop, unless the loop is left where it has computed what they are next, and what lies in memory that the driver cannot
turn into values.  Phis behind a loop do not keep what they choose of it: drivers fold them where they find one
choice only.  Standard library only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .binary import Instruction
from .loop_rounds import Round
from .memory_places import CHAINS, MemoryPlaces, ids_of
from .module_view import BlockView, FunctionView, ModuleView
from .tables import Decoration, Op, StorageClass

BEHIND = 0
"""Label of what follows a function."""
_SCALARS = frozenset((Op.TypeBool, Op.TypeInt, Op.TypeFloat))
_NUMBERS = (Op.TypeBool, Op.TypeInt, Op.TypeFloat, Op.TypeVector, Op.TypeMatrix)


class LostValues:
    """What must be kept of a function with loops."""

    def __init__(
        self, view: ModuleView, function: FunctionView, places: MemoryPlaces, rounds: Sequence[Round]
    ) -> None:
        self._view = view
        self._places = places
        self._rounds = rounds
        self.block_of: dict[int, int] = {}
        """Id → label of the block that defines it."""
        self.uses: defaultdict[int, set[int]] = defaultdict(set)
        """Id → labels of blocks that use it; phis use a value at the end of the block that it comes from."""
        self._computed: defaultdict[int, set[int]] = defaultdict(set)
        """Id → labels of blocks where something may be computed of it: all uses but stores that others see."""
        self._loads: defaultdict[int, set[int]] = defaultdict(set)
        """Variable or parameter → labels of blocks that read it."""
        self._stores: defaultdict[int, set[int]] = defaultdict(set)
        self._returns: list[tuple[int, int]] = []
        """Value and block of each return."""
        self._phis: list[Instruction] = []
        self._chains: list[Instruction] = []
        for item in places.of_function(function):
            if item.opcode == Op.FunctionParameter:
                self._loads[item.result_id or 0].add(BEHIND)
        for private in places.private:
            self._loads[private].add(BEHIND)
        for block in function.blocks:
            for item in block.body:
                self._note(block, item)
        self.chains = self._lost_chains()
        """Pointers into memory that are computed in loops and used behind them."""
        self.phis = self._lost_phis()
        """Phis behind loops that may be folded to what loops compute."""
        lost = {v for v in self.block_of if self._is_number(v) and self.is_lost(v, self.uses[v])}
        self.vectors = {v for v in lost if self._is_kept_in_parts(v)}
        """Phis of headers whose components, each in a phi of its own, are all that must be kept."""
        self.values = lost - self.vectors
        """Values that loops compute and that are used behind them."""
        self.result_type = self._lost_result()
        """The type of what the function returns where a loop computes that and is left by the return; else None."""

    def _note(self, block: BlockView, item: Instruction) -> None:
        label, ids = block.label, ids_of(self._view, item)
        if item.result_id is not None:
            self.block_of[item.result_id] = label
        if item.opcode != Op.Store or not self._is_shown(item):
            for number in ids:
                self._computed[number].add(label)
        if item.opcode == Op.Phi:
            self._phis.append(item)
            for number, origin in zip(ids[::2], ids[1::2], strict=True):
                self.uses[number].add(origin)
            return
        for number in ids:
            self.uses[number].add(label)
        if item.opcode == Op.Load:
            self._loads[self._root(item.operands[0])].add(label)
        elif item.opcode == Op.Store:
            self._stores[self._root(item.operands[0])].add(label)
        elif item.opcode == Op.ReturnValue:
            self._returns.append((item.operands[0], label))
        elif item.opcode == Op.FunctionCall:
            for place in (*self._places.arguments(item), *self._places.private):
                self._loads[place].add(label)
                self._stores[place].add(label)
        elif item.opcode in CHAINS:
            self._chains.append(item)

    def _is_shown(self, store: Instruction) -> bool:
        """Whether a store is one to memory that drivers do not turn into values."""
        kind = self._view.type_of(store.operands[0])
        own = (StorageClass.Function, StorageClass.Private)
        return kind is not None and kind.operands[0] not in own

    def _root(self, pointer: int) -> int:
        """Returns the variable or parameter that a pointer leads into."""
        while (made := self._view.definitions.get(pointer)) is not None and made.opcode in CHAINS:
            pointer = made.operands[0]
        return pointer

    def is_lost(self, value: int, uses: set[int]) -> bool:
        """Whether a value that is used in some blocks is lost in one of them."""
        home = self.block_of.get(value)
        return home is not None and any(
            home in round_.blocks and not uses <= round_.blocks and not self._is_carried(value, round_)
            for round_ in self._rounds
        )

    def _is_carried(self, value: int, round_: Round) -> bool:
        return self._has_opcode(value, _SCALARS) and self._stays(value, round_)

    def _stays(self, value: int, round_: Round) -> bool:
        """Whether a value is a phi of a loop's header that is behind the loop what it was when that was left."""
        return self._is_of_header(value, round_) and (
            self._computed[value] <= round_.blocks or not self._is_overtaken(value, round_)
        )

    def _is_overtaken(self, phi: int, round_: Round) -> bool:
        """Whether a loop may be left behind where it computes what a phi of its header is in the next round.

        What is computed of the phi behind the loop may be what the loop computes of it, in other words too: drivers
        then do it in the loop alone, where the phi has become the next by the time that others have left.
        """
        pairs = zip(*[iter(self._view.definitions[phi].operands)] * 2, strict=True)
        following = [value for value, origin in pairs if origin in round_.blocks]
        return any(
            self.block_of.get(value) in round_.last and self._view.definitions[value].opcode != Op.Phi
            for value in following
        )

    def _is_of_header(self, value: int, round_: Round) -> bool:
        is_phi = self._view.definitions[value].opcode == Op.Phi
        return is_phi and self.block_of[value] == round_.header and value not in self.phis

    def _has_opcode(self, value: int, opcodes: frozenset[int]) -> bool:
        type_ = self._view.type_of(value)
        return type_ is not None and type_.opcode in opcodes

    def _is_kept_in_parts(self, value: int) -> bool:
        return self._has_opcode(value, frozenset((Op.TypeVector,))) and all(
            self._stays(value, round_)
            for round_ in self._rounds
            if self.block_of[value] in round_.blocks and not self.uses[value] <= round_.blocks
        )

    def is_outside(self, value: int, label: int) -> bool:
        """Whether a block is outside of a loop that computes a value."""
        home = self.block_of[value]
        return any(home in round_.blocks and label not in round_.blocks for round_ in self._rounds)

    def _lost_chains(self) -> dict[int, Instruction]:
        """Finds pointers, whose indices are used where they are used."""
        self.phis: set[int] = set()
        found: dict[int, Instruction] = {}
        for item in reversed(self._chains):  # backwards: a chain stands behind those that it is made of
            number = item.result_id or 0
            if self.is_lost(number, self.uses[number]):
                found[number] = item
                for operand in item.operands:
                    self.uses[operand] |= self.uses[number]
        return dict(reversed(found.items()))

    def _lost_phis(self) -> set[int]:
        while more := [i for i in self._phis if i.result_id not in self.phis and self._is_foldable(i)]:
            self.phis.update(item.result_id or 0 for item in more)
        return self.phis

    def _is_foldable(self, phi: Instruction) -> bool:
        if not self._is_number(phi.result_id or 0):
            return False
        label = self.block_of[phi.result_id or 0]
        origins = zip(phi.operands[::2], phi.operands[1::2], strict=True)
        return any(
            label not in round_.blocks and origin in round_.blocks and self._is_made_in(value, origin, round_)
            for value, origin in origins
            for round_ in self._rounds
        )

    def _is_made_in(self, value: int, origin: int, round_: Round) -> bool:
        """Whether a loop computes a value, or loads it in a block, as one that another loop has computed."""
        if self.block_of.get(value) in round_.blocks:
            return not self._is_carried(value, round_)
        return self.is_lost(value, {origin})

    def places(self) -> set[int]:
        """Returns the variables and parameters that loops set and that are read behind them.

        One that is set after the last way out is carried to the next round.
        """
        return {
            place
            for place in self._stores
            if place in self._places
            and any(
                not self._stores[place].isdisjoint(round_.last) and not self._loads[place] <= round_.blocks
                for round_ in self._rounds
            )
        }

    def _lost_result(self) -> int | None:
        for value, block in self._returns:
            for round_ in self._rounds:
                is_inside = block in round_.blocks and self.block_of.get(value) in round_.blocks
                if is_inside and not self._is_carried(value, round_) and self._is_number(value):
                    return self._view.definitions[value].result_type
        return None

    def _is_number(self, value: int) -> bool:
        type_ = self._view.definitions[value].result_type
        return type_ is not None and is_number(self._view, type_)


def is_number(view: ModuleView, type_: int) -> bool:
    """Whether a type is one of numbers, truth values and addresses that private memory may hold, also in composites."""
    pending, seen = [type_], set[int]()
    while pending:
        number = pending.pop()
        item = view.definitions[number]
        if number in seen or item.opcode in _NUMBERS:
            continue
        seen.add(number)
        if item.opcode == Op.TypePointer and item.operands[0] == StorageClass.PhysicalStorageBuffer:
            continue
        if item.opcode == Op.TypeArray and not view.is_decorated(number, Decoration.ArrayStride):
            pending.append(item.operands[0])
        elif item.opcode == Op.TypeStruct and not any(n == number for n, _ in view.member_decorations):
            pending += item.operands
        else:
            return False
    return True
