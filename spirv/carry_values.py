"""Keeps what loops compute for work-items that have left them, for drivers that lose it: `values_carried`.

What `passes.carry_results` does for kernels in Python is done here for binaries of other compilers, in which a loop may
be left anywhere.  What such a driver (`vk_runtime.quirks`, lost-reads) would lose (`lost_values`) goes through memory
that the driver cannot turn into values again (`opaque_memory`):

    variable or parameter:    its type becomes that of such an array, in calls too
    value:                    is stored where it is computed, and loaded in each block behind the loop that uses it
    pointer:                  is made again from its indices in each such block
    vector in a loop's phi:   the phi becomes one for each component, of which it is made again in each such block
    phi behind a loop:        what it chooses from is stored in the blocks that it comes from, and loaded in its place
    result out of a loop:     is stored before the return; a function around it, which callers get, loads it

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .binary import Instruction, Module
from .code_changes import CodeChanges
from .errors import SpirvError
from .loop_blocks import successors
from .loop_rounds import rounds_of
from .lost_values import LostValues
from .memory_places import ACCESSES, CHAINS, MemoryPlaces
from .module_editor import Body, ModuleEditor
from .module_loops import MOST_LOOPS, ModuleLoops
from .module_view import BlockView, FunctionView, ModuleView
from .opaque_memory import OpaqueMemory
from .remap import remapped
from .tables import Op, StorageClass, opcode_name


def values_carried(module: Module) -> Module:
    """Returns a valid module changed for a driver that loses what loops compute; itself where it needs no change.

    Raises:
        SpirvError: a function has more loops than are looked at.
    """
    editor = ModuleEditor(module)
    view = editor.view
    loops = ModuleLoops(view)
    places = MemoryPlaces(view)
    lost: dict[int, LostValues] = {}
    for function in view.functions:
        if found := loops.of_function(function):
            if len(found) > MOST_LOOPS:
                raise SpirvError(
                    f"a function has {len(found):,} loops, and the driver loses what loops compute unless they are "
                    f"rewritten: expected at most {MOST_LOOPS:,}; split the function, or choose another device"
                )
            following = {block.label: successors(block, view) for block in function.blocks}
            lost[function.result_id] = LostValues(view, function, places, rounds_of(found, following))
    changed = places.changeable({place for values in lost.values() for place in values.places()})
    writer = _Writer(editor, places, changed)
    for function in view.functions:
        writer.function(function, lost.get(function.result_id))
    return editor.finished(writer.around) if writer.memory.is_used else module


class _Writer:
    """Finds out what takes the place of instructions."""

    def __init__(self, editor: ModuleEditor, places: MemoryPlaces, changed: set[int]) -> None:
        self._editor = editor
        self._places = places
        self._changed = changed
        """Variables and parameters that become arrays."""
        self._code = CodeChanges()
        self.memory = OpaqueMemory(editor)
        for private in sorted(changed & places.private):
            self._declare(editor.view.definitions[private])

    def function(self, function: FunctionView, lost: LostValues | None) -> None:
        """Looks at a function; `lost` is None for one without loops."""
        own = [item for item in self._places.of_function(function) if item.result_id in self._changed]
        for item in own:
            self._declare(item)
        if any(item.opcode == Op.FunctionParameter for item in own):
            self._retype(function)
        accesses = [
            item
            for item in function.instructions()
            if item.opcode in ACCESSES and item.operands[0] in self._changed
        ]
        is_losing = lost is not None and bool(lost.values or lost.phis or lost.chains or lost.vectors)
        loses_result = lost is not None and lost.result_type is not None
        if not (accesses or is_losing or loses_result):
            return
        zero = self.memory.index(self._code.at_begin(function.blocks[0]))
        if lost is not None and is_losing:
            _ValueWriter(self._editor, self._code, self.memory, self._changed, zero).write(function, lost)
        for item in accesses:
            self._access(item, zero)
        if lost is not None and lost.result_type is not None:
            self._return_through_memory(function, lost.result_type, zero)

    def _declare(self, place: Instruction) -> None:
        """Makes a variable or parameter one of an array."""
        editor = self._editor
        storage, element = editor.view.definitions[place.result_type or 0].operands
        array = self.memory.array(element)
        operands = place.operands
        if len(operands) > 1:
            is_spec = opcode_name(editor.view.definitions[operands[1]].opcode).startswith("OpSpec")
            opcode = Op.SpecConstantComposite if is_spec else Op.ConstantComposite
            operands = (storage, editor.declared(opcode, operands[1], type_=array))
        now = place._replace(result_type=editor.pointer(storage, array), operands=operands)
        if place.result_id in self._places.private:
            self._code.put(place)
            editor.define(now)  # its type is new, and stands behind the old place
        else:
            self._code.put(place, now)

    def _retype(self, function: FunctionView) -> None:
        """Gives a function the type that its parameters have now."""
        types = [self._code.now(item).result_type or 0 for item in function.parameters]
        definition = function.definition
        type_ = self._editor.declared(Op.TypeFunction, definition.result_type or 0, *types)
        self._code.put(definition, definition._replace(operands=(definition.operands[0], type_)))

    def _access(self, item: Instruction, zero: int) -> None:
        now = self._code.now(item)
        place, *rest = now.operands
        if item.opcode in CHAINS:
            rest = [zero, *rest]
        else:
            storage, type_ = _pointed(self._editor.view, place)
            place = self.memory.element(self._code.before(item), place, zero, type_, storage)
        self._code.put(item, now._replace(operands=(place, *rest)))

    def _return_through_memory(self, function: FunctionView, type_: int, zero: int) -> None:
        """Puts a function around another one that loads what it has stored."""
        editor, memory, code = self._editor, self.memory, self._code
        kept = memory.private_variable(type_)
        for block in function.blocks:
            end = block.body[-1]
            if end.opcode == Op.ReturnValue:
                body = code.at_end(block)
                place = memory.element(body, kept, zero, type_, StorageClass.Private)
                editor.emit(body, Op.Store, place, code.now(end).operands[0])
        definition, body = code.now(function.definition), Body()
        given = [
            editor.emit(body, Op.FunctionParameter, type_=code.now(item).result_type)
            for item in function.parameters
        ]
        editor.label(body, editor.new_id())
        inner = editor.new_id()
        editor.emit(body, Op.FunctionCall, inner, *given, type_=type_)
        place = memory.element(body, kept, memory.index(body), type_, StorageClass.Private)
        editor.emit(body, Op.ReturnValue, editor.emit(body, Op.Load, place, type_=type_))
        editor.emit(body, Op.FunctionEnd)
        code.put(function.definition, definition, *body, definition._replace(result_id=inner))

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction."""
        return self.memory.around(self._code, item)


def _pointed(view: ModuleView, pointer: int) -> tuple[int, ...]:
    """Returns the storage class and the type that a pointer of the old module leads to."""
    type_ = view.type_of(pointer)
    assert type_ is not None, "the module is valid"
    return type_.operands


def _vector_of(view: ModuleView, value: Instruction) -> tuple[int, int]:
    """Returns the type and the number of a vector's components."""
    scalar, count = view.definitions[value.result_type or 0].operands
    return scalar, count


class _ValueWriter:
    """Puts values of a function into memory."""

    def __init__(
        self, editor: ModuleEditor, code: CodeChanges, memory: OpaqueMemory, changed: set[int], zero: int
    ) -> None:
        self._editor = editor
        self._code = code
        self._memory = memory
        self._changed = changed
        self._zero = zero

    def write(self, function: FunctionView, lost: LostValues) -> None:
        """Changes a function."""
        view, blocks = self._editor.view, {block.label: block for block in function.blocks}
        definitions = {number: view.definitions[number] for number in lost.block_of}
        variables = self._code.behind(function.blocks[0].ordinal)

        def variables_of(numbers: set[int]) -> dict[int, int]:
            types = {number: definitions[number].result_type or 0 for number in sorted(numbers)}
            return {number: self._memory.variable(variables, type_) for number, type_ in types.items()}

        # A phi's choices are stored before it is known that its block comes next: what it has been is another place.
        places, choices = variables_of(lost.values), variables_of(lost.phis)
        for number in sorted(lost.phis):
            phi = definitions[number]
            body = self._code.at_begin(blocks[lost.block_of[number]])
            pointer = self._element(body, choices[number], phi)
            body.append(Instruction(Op.Load, phi.result_type, number, (pointer,)))
        for number in sorted(lost.values):
            item = definitions[number]
            is_phi = item.opcode == Op.Phi
            block = blocks[lost.block_of[number]]
            body = self._code.at_begin(block) if is_phi else self._code.behind(item.ordinal)
            self._editor.emit(body, Op.Store, self._element(body, places[number], item), number)
        parts = {number: self._parts(definitions[number]) for number in sorted(lost.vectors)}
        for number, scalars in parts.items():
            made = Instruction(Op.CompositeConstruct, definitions[number].result_type, number, tuple(scalars))
            self._code.at_begin(blocks[lost.block_of[number]]).insert(0, made)
        renamed = {block.label: self._loaded(block, lost, places, parts) for block in function.blocks}
        for block in function.blocks:
            for item in block.body:
                if item.opcode != Op.Phi:
                    self._rename(item, renamed[block.label])
                elif item.result_id in lost.phis:
                    self._store_choices(item, choices[item.result_id or 0], blocks, renamed)
                elif item.result_id in lost.vectors:
                    self._divide_choices(item, parts[item.result_id or 0], blocks, renamed)
                else:
                    self._rename_choices(item, renamed)

    def _element(self, body: Body, place: int, item: Instruction) -> int:
        return self._memory.element(body, place, self._zero, item.result_type or 0)

    def _parts(self, phi: Instruction) -> list[int]:
        """Returns the ids of the phis of a vector's components."""
        return [self._editor.new_id() for _ in range(_vector_of(self._editor.view, phi)[1])]

    def _loaded(
        self,
        block: BlockView,
        lost: LostValues,
        places: Mapping[int, int],
        parts: Mapping[int, Sequence[int]],
    ) -> dict[int, int]:
        """Loads lost values at the beginning of a block that uses them; returns what they are called there."""
        body, found = self._code.at_begin(block), dict[int, int]()
        for number in (*sorted(lost.values), *lost.vectors, *lost.chains):
            if block.label not in lost.uses[number] or not lost.is_outside(number, block.label):
                continue
            item = self._editor.view.definitions[number]
            if number in lost.chains:
                place = item.operands[0]
                between = (self._zero,) if place in self._changed else ()
                operands = (found.get(place, place), *between, *(found.get(o, o) for o in item.operands[1:]))
                found[number] = self._editor.emit(body, item.opcode, *operands, type_=item.result_type)
            elif number in parts:
                operands = parts[number]
                found[number] = self._editor.emit(
                    body, Op.CompositeConstruct, *operands, type_=item.result_type
                )
            else:
                pointer = self._element(body, places[number], item)
                found[number] = self._editor.emit(body, Op.Load, pointer, type_=item.result_type)
        return found

    def _store_choices(
        self,
        phi: Instruction,
        place: int,
        blocks: Mapping[int, BlockView],
        renamed: Mapping[int, Mapping[int, int]],
    ) -> None:
        for value, origin in zip(phi.operands[::2], phi.operands[1::2], strict=True):
            body = self._code.at_end(blocks[origin])
            pointer = self._element(body, place, phi)
            self._editor.emit(body, Op.Store, pointer, renamed[origin].get(value, value))
        self._code.put(phi)

    def _divide_choices(
        self,
        phi: Instruction,
        parts: Sequence[int],
        blocks: Mapping[int, BlockView],
        renamed: Mapping[int, Mapping[int, int]],
    ) -> None:
        scalar, _ = _vector_of(self._editor.view, phi)
        words: list[list[int]] = [[] for _ in parts]
        for value, origin in zip(phi.operands[::2], phi.operands[1::2], strict=True):
            body, vector = self._code.at_end(blocks[origin]), renamed[origin].get(value, value)
            for number, row in enumerate(words):
                row += [self._editor.emit(body, Op.CompositeExtract, vector, number, type_=scalar), origin]
        divided = [
            Instruction(Op.Phi, scalar, part, tuple(row)) for part, row in zip(parts, words, strict=True)
        ]
        self._code.put(phi, *divided)

    def _rename_choices(self, phi: Instruction, renamed: Mapping[int, Mapping[int, int]]) -> None:
        pairs = zip(phi.operands[::2], phi.operands[1::2], strict=True)
        words = [word for value, origin in pairs for word in (renamed[origin].get(value, value), origin)]
        self._code.put(phi, phi._replace(operands=tuple(words)))

    def _rename(self, item: Instruction, names: Mapping[int, int]) -> None:
        if names:
            view = self._editor.view
            words = view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
            self._code.put(item, remapped(item, lambda number: names.get(number, number), words))
