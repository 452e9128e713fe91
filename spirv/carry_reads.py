"""Keeps what loops read for work-items that have left them, for drivers that lose it: `reads_carried`.

What `passes.carry_results` does for kernels in Python is done here for binaries of other compilers.  Such a driver
(`vk_runtime.quirks`, lost-reads) keeps for a work-item that waits behind a loop what the loop carries, and what lies in
memory.  So variables and values that depend on what a loop has read, and are used behind it, become arrays of one
element: its index is 0, but computed from an id, so that the driver cannot make a plain value of it again.

What the phis of a loop's header hold is carried, and stays behind that loop.  Behind a loop around it they count for
what they choose from, as other phis do: drivers write loops out and fold branches that they know.

Standard library only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .binary import Instruction, Module, decode_string
from .module_editor import Body, ModuleEditor
from .module_loops import Loop, ModuleLoops, successors
from .module_view import BlockView, FunctionView, ModuleView
from .operands import id_operands
from .remap import remapped
from .tables import BuiltIn, Op, StorageClass, opcode_name

_CHAINS = (Op.AccessChain, Op.InBoundsAccessChain)
_ACCESSES = (*_CHAINS, Op.Load, Op.Store)
_NUMBERS = (Op.TypeBool, Op.TypeInt, Op.TypeFloat, Op.TypeVector)
_AT_BEGIN = (Op.Phi, Op.Variable, Op.Line, Op.NoLine)
_READING = ("OpAtomic", "OpGroup", "OpImage", "OpFunctionCall")
_Following = Mapping[int, tuple[int, ...]]
_CONSTANT_CLASSES = (StorageClass.Input, StorageClass.PushConstant, StorageClass.UniformConstant)


def reads_carried(module: Module) -> Module:
    """Returns a valid module changed for a driver that loses what loops read; itself where it needs no change."""
    editor = ModuleEditor(module)
    loops = ModuleLoops(editor.view)
    entries = tuple(editor.view.of_opcode(Op.EntryPoint))
    interface = {word for entry in entries for word in entry.operands[decode_string(entry.operands, 2)[1] :]}
    writer = _Writer(editor, interface)
    for function in editor.view.functions:
        if loops.of_function(function):
            following = {block.label: successors(block, editor.view) for block in function.blocks}
            rounds = [
                _Round(loop.header, blocks, _before_an_end(loop.header, blocks, following))
                for loop in loops.of_function(function)
                for blocks in {loop.inside, _run_again(loop, following)}
            ]
            writer.function(function, _Reads(editor.view, function), rounds)
    return editor.finished(writer.around) if writer.input is not None else module


class _Round(NamedTuple):
    """Blocks that a driver may run again for other work-items."""

    header: int
    blocks: frozenset[int]
    last: frozenset[int]
    """Those from which a work-item may leave in the same round."""


def _leading_to(
    targets: Iterable[int], blocks: frozenset[int], following: _Following, end: int
) -> frozenset[int]:
    """Returns those of some blocks that lead to targets among them, the way not being through `end`."""
    leading = defaultdict[int, list[int]](list)
    for label in blocks:
        for target in following.get(label, ()):
            leading[target].append(label)
    found = set(targets)
    todo = [target for target in found if target != end]
    while todo:
        more = [label for label in leading[todo.pop()] if label not in found]
        found.update(more)
        todo += [label for label in more if label != end]
    return frozenset(found)


def _before_an_end(header: int, blocks: frozenset[int], following: _Following) -> frozenset[int]:
    """Returns from which blocks a work-item may leave without another test in the header."""
    ends = [label for label in blocks if not blocks.issuperset(following.get(label, ()))]
    return _leading_to(ends, blocks, following, header)


def _run_again(loop: Loop, following: _Following) -> frozenset[int]:
    """Returns the blocks of a loop that lead to its header.

    A block that ends in a break does not: SwiftShader runs those behind the loop, llvmpipe inside.
    """
    again = [label for label in loop.inside if loop.header in following.get(label, ())]
    return _leading_to(again, loop.inside, following, loop.header) | {loop.header}


def _is_outside(label: int, home: int, rounds: Sequence[_Round]) -> bool:
    """Whether a block is outside of a loop that another one is in."""
    return any(home in round_.blocks and label not in round_.blocks for round_ in rounds)


class _Reads:
    """What the instructions of a function depend on."""

    def __init__(self, view: ModuleView, function: FunctionView) -> None:
        self._view = view
        self.block_of: dict[int, int] = {}
        """Id → label of the block that defines it."""
        self.variables: dict[int, Instruction] = {}
        self.loads: defaultdict[int, set[int]] = defaultdict(set)
        """Variable → labels of blocks that read it."""
        self.stores: defaultdict[int, set[int]] = defaultdict(set)
        self.uses: defaultdict[int, set[int]] = defaultdict(set)
        """Id → labels of blocks that use it."""
        self.ids: dict[int, tuple[int, ...]] = {}
        """Ordinal of an instruction → the ids that it names."""
        self._values: set[int] = set()
        self._memory: set[int] = set()
        blocks = function.blocks
        self.variables = {i.result_id or 0: i for i in blocks[0].body if i.opcode == Op.Variable}
        for block in blocks:
            for item in block.body:
                self._note(block, item)
        items = list(function.instructions())
        while sum(map(self._spreads, items)):  # all of them in each pass
            pass
        self._crossing = [
            v for v in self._values if not self.uses[v] <= {self.block_of[v]} and self._is_number(v)
        ]

    def _note(self, block: BlockView, item: Instruction) -> None:
        words = self._view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
        ids = self.ids[item.ordinal] = id_operands(item, switch_literal_words=words)
        if item.result_id is not None:
            self.block_of[item.result_id] = block.label
        if item.opcode == Op.Phi:  # uses a value at the end of the block that it comes from
            for number, origin in zip(ids[::2], ids[1::2], strict=True):
                self.uses[number].add(origin)
        else:
            for number in ids:
                self.uses[number].add(block.label)
        if item.opcode in (Op.Load, Op.Store):
            places = self.loads if item.opcode == Op.Load else self.stores
            places[self.root(item.operands[0])].add(block.label)
        for number in ids:
            is_access = item.opcode in _ACCESSES and number == item.operands[0] and number not in ids[1:]
            if number in self.variables and not is_access:
                del self.variables[number]  # its address goes elsewhere

    def root(self, pointer: int) -> int:
        """Returns the variable or parameter that a pointer leads into."""
        while (made := self._view.definitions.get(pointer)) is not None and made.opcode in _CHAINS:
            pointer = made.operands[0]
        return pointer

    def _spreads(self, item: Instruction) -> bool:
        """Notes that an instruction depends on something read; returns whether that is news."""
        if item.opcode == Op.Store:
            target = self.root(item.operands[0])
            if item.operands[1] not in self._values or target in self._memory:
                return False
            self._memory.add(target)
            return True
        if item.result_id is None or item.result_id in self._values or not self._is_read(item):
            return False
        self._values.add(item.result_id)
        return True

    def _is_read(self, item: Instruction) -> bool:
        if item.opcode == Op.Variable:
            return False
        if item.opcode == Op.Load:
            pointer = self._view.type_of(item.operands[0])
            storage = pointer.operands[0] if pointer is not None else StorageClass.Function
            if storage == StorageClass.Function:
                return self.root(item.operands[0]) in self._memory
            return storage not in _CONSTANT_CLASSES
        named = self.ids[item.ordinal]
        return opcode_name(item.opcode).startswith(_READING) or not self._values.isdisjoint(named)

    def leaving(self, round_: _Round) -> tuple[set[int], set[int]]:
        """Returns the variables and values that depend on what may have been read and are used behind a loop.

        A variable that is set after the last way out is carried to the next round, and so are the phis of the header.
        """
        inside = round_.blocks
        variables = {
            v
            for v in self._memory & self.variables.keys()
            if not self.stores[v].isdisjoint(round_.last) and not self.loads[v] <= inside
        }
        values = {
            v
            for v in self._crossing
            if self.block_of[v] in inside and not self.uses[v] <= inside and not self._is_phi_of(round_, v)
        }
        return variables, values

    def _is_phi_of(self, round_: _Round, value: int) -> bool:
        is_phi = self._view.definitions[value].opcode == Op.Phi
        return is_phi and self.block_of[value] == round_.header

    def _is_number(self, value: int) -> bool:
        type_ = self._view.type_of(value)
        return type_ is not None and type_.opcode in _NUMBERS


def _begin(block: BlockView) -> Instruction:
    """Returns the first instruction of a block that others may stand in front of."""
    return next(item for item in block.body if item.opcode not in _AT_BEGIN)


class _Writer:
    """Finds out what takes the place of instructions."""

    def __init__(self, editor: ModuleEditor, interface: set[int]) -> None:
        self._editor = editor
        self._interface = interface
        self.input: int | None = None
        """The variable of the id that the index is computed from, None where nothing changes."""
        self._before: defaultdict[int, Body] = defaultdict(list)
        self._after: defaultdict[int, Body] = defaultdict(list)
        self._changed: dict[int, Instruction] = {}

    def function(self, function: FunctionView, reads: _Reads, rounds: Sequence[_Round]) -> None:
        """Looks at a function; `rounds` are the blocks of its loops, with and without those that end in a break."""
        variables, values = set[int](), set[int]()
        for round_ in rounds:
            more = reads.leaving(round_)
            variables |= more[0]
            values |= more[1]
        if not variables and not values:
            return
        first = function.blocks[0]
        moved = {value: self._move(first, value) for value in sorted(values)}
        zero = self._zero(first)
        blocks = {block.label: block for block in function.blocks}
        for value, place in moved.items():
            self._store(blocks[reads.block_of[value]], value, place, zero)
        loaded = {
            block.label: {
                v: self._load_at_begin(block, v, place, zero)
                for v, place in moved.items()
                if block.label in reads.uses[v] and _is_outside(block.label, reads.block_of[v], rounds)
            }
            for block in function.blocks
        }
        for block in function.blocks:
            for item in block.body:
                if item.opcode == Op.Phi:
                    self._rename_origins(item, loaded)
                else:
                    self._rename(item, loaded[block.label])
                    self._access(item, variables, zero)
        for variable in variables:
            self._declare(reads.variables[variable])

    def _zero(self, first: BlockView) -> int:
        """Adds an index that is 0, behind the variables of a function."""
        editor = self._editor
        found = editor.built_in(BuiltIn.LocalInvocationIndex, 1, self._interface)
        self.input = found.variable
        last = max((i.ordinal for i in first.body if i.opcode == Op.Variable), default=first.ordinal)
        index = editor.emit(self._after[last], Op.Load, found.variable, type_=found.type)
        return editor.emit(
            self._after[last], Op.ShiftRightLogical, index, editor.number(31), type_=found.type
        )

    def _type_of(self, value: int) -> int:
        return self._editor.view.definitions[value].result_type or 0

    def _array(self, element: int) -> int:
        """Returns the type of a pointer to an array of one element."""
        return self._editor.pointer(StorageClass.Function, self._editor.array(element, 1))

    def _move(self, first: BlockView, value: int) -> int:
        """Adds a variable for a value."""
        type_ = self._array(self._type_of(value))
        return self._editor.emit(self._after[first.ordinal], Op.Variable, StorageClass.Function, type_=type_)

    def _store(self, block: BlockView, value: int, place: int, zero: int) -> None:
        item = self._editor.view.definitions[value]
        body = self._before[_begin(block).ordinal] if item.opcode == Op.Phi else self._after[item.ordinal]
        self._editor.emit(body, Op.Store, self._element(body, place, zero, self._type_of(value)), value)

    def _element(self, body: Body, array: int, zero: int, type_: int) -> int:
        pointer = self._editor.pointer(StorageClass.Function, type_)
        return self._editor.emit(body, Op.AccessChain, array, zero, type_=pointer)

    def _load_at_begin(self, block: BlockView, value: int, place: int, zero: int) -> int:
        body, type_ = self._before[_begin(block).ordinal], self._type_of(value)
        return self._editor.emit(body, Op.Load, self._element(body, place, zero, type_), type_=type_)

    def _rename_origins(self, phi: Instruction, loaded: dict[int, dict[int, int]]) -> None:
        pairs = zip(phi.operands[::2], phi.operands[1::2], strict=True)
        words = [word for value, origin in pairs for word in (loaded[origin].get(value, value), origin)]
        self._changed[phi.ordinal] = phi._replace(operands=tuple(words))

    def _rename(self, item: Instruction, loaded: dict[int, int]) -> None:
        if loaded:
            view = self._editor.view
            words = view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
            self._changed[item.ordinal] = remapped(item, lambda number: loaded.get(number, number), words)

    def _access(self, item: Instruction, variables: set[int], zero: int) -> None:
        if item.opcode not in _ACCESSES or item.operands[0] not in variables:
            return
        now = self._changed.get(item.ordinal, item)
        variable, *rest = now.operands
        if item.opcode not in _CHAINS:
            pointer = self._editor.view.definitions[self._type_of(variable)]
            variable = self._element(self._before[item.ordinal], variable, zero, pointer.operands[1])
        else:
            rest = [zero, *rest]
        self._changed[item.ordinal] = now._replace(operands=(variable, *rest))

    def _declare(self, variable: Instruction) -> None:
        editor = self._editor
        storage, *initial = variable.operands
        element = editor.view.definitions[variable.result_type or 0].operands[1]
        array = editor.array(element, 1)
        if initial:
            initial = [editor.declared(Op.ConstantComposite, *initial, type_=array)]
        self._changed[variable.ordinal] = variable._replace(
            result_type=editor.pointer(StorageClass.Function, array), operands=(storage, *initial)
        )

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction."""
        if item.opcode == Op.EntryPoint and self.input is not None:
            end = decode_string(item.operands, 2)[1]
            named = dict.fromkeys((*item.operands[end:], self.input))
            item = item._replace(operands=(*item.operands[:end], *named))
        yield from self._before.get(item.ordinal, ())
        yield self._changed.get(item.ordinal, item)
        yield from self._after.get(item.ordinal, ())
