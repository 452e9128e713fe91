"""The words that count rounds, and the entry points that begin and judge the count; see `count_rounds`.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.kernel_info import KernelInfo, ReportWord
from ..ir.target_env import MOST_COUNTED_LANES
from .binary import Instruction
from .module_editor import Body, BuiltInInput, ModuleEditor
from .module_view import ModuleView, interface_of
from .tables import (
    BuiltIn,
    Capability,
    Decoration,
    ExecutionMode,
    GroupOperation,
    MemoryModel,
    Op,
    Scope,
    StorageClass,
)


@dataclass(frozen=True, slots=True)
class Counter:
    """The variables of a count."""

    rounds: int
    """Shared: one word for each sub-group, at the place of its first work-item."""
    place: int
    """Of each work-item: where its sub-group's word is."""
    where: int
    """Of each work-item: the number of the first loop that ended at the cap, 0 for none."""
    index: int
    """Of each work-item: a number of 31 bits, of which no driver knows more, for `unknown_ends`."""
    length: int
    """Of `rounds`, a power of two."""

    @staticmethod
    def added(editor: ModuleEditor, length: int) -> Counter:
        """Returns the variables, added to a module."""
        array = editor.declared(Op.TypeArray, editor.u32, editor.number(length))
        return Counter(
            rounds=editor.variable(StorageClass.Workgroup, array),
            place=editor.variable(StorageClass.Private, editor.u32),
            where=editor.variable(StorageClass.Private, editor.u32, editor.number(0)),
            index=editor.variable(StorageClass.Private, editor.u32, editor.number(0)),
            length=length,
        )

    def add(self, editor: ModuleEditor, body: Body, count: int) -> None:
        """Adds a number to the word of the sub-group, once for all its work-items."""
        is_one = editor.emit(body, Op.GroupNonUniformElect, editor.number(Scope.Subgroup), type_=editor.bool_)
        mine = editor.emit(body, Op.Select, is_one, count, editor.number(0), type_=editor.u32)
        operands = (self._word(editor, body), *_relaxed(editor), mine)
        editor.emit(body, Op.AtomicIAdd, *operands, type_=editor.u32)

    def note(self, editor: ModuleEditor, body: Body, number: int, cap: int) -> None:
        """Notes a loop where the word has reached the cap and nothing is noted."""
        before = editor.emit(body, Op.Load, self.where, type_=editor.u32)
        is_first = editor.emit(body, Op.IEqual, before, editor.number(0), type_=editor.bool_)
        is_so = editor.emit(
            body, Op.LogicalAnd, is_first, self.reached(editor, body, cap), type_=editor.bool_
        )
        after = editor.emit(body, Op.Select, is_so, editor.number(number), before, type_=editor.u32)
        editor.emit(body, Op.Store, self.where, after)

    def reached(self, editor: ModuleEditor, body: Body, cap: int) -> int:
        """Returns whether the word has reached the cap."""
        operands = (self._word(editor, body), *_relaxed(editor))
        rounds = editor.emit(body, Op.AtomicLoad, *operands, type_=editor.u32)
        return editor.emit(body, Op.UGreaterThanEqual, rounds, editor.number(cap), type_=editor.bool_)

    def begin(self, editor: ModuleEditor, body: Body, index: int, start: int) -> None:
        """Finds the sub-group's word by the index of a work-item in its work-group, and sets it to `start`."""
        operands = (editor.number(Scope.Subgroup), GroupOperation.Reduce, index)
        first = editor.emit(body, Op.GroupNonUniformUMin, *operands, type_=editor.u32)
        place = editor.emit(body, Op.BitwiseAnd, first, editor.number(self.length - 1), type_=editor.u32)
        editor.emit(body, Op.Store, self.place, place)
        editor.emit(body, Op.AtomicStore, self._word(editor, body), *_relaxed(editor), editor.number(start))

    def set_index(self, editor: ModuleEditor, body: Body, ids: BuiltInInput) -> None:
        """Stores the number that no driver knows, also where the kernel branches for its own index."""
        loaded = editor.emit(body, Op.Load, ids.variable, type_=ids.type)
        parts = [editor.emit(body, Op.CompositeExtract, loaded, n, type_=ids.scalar) for n in (0, 1)]
        numbers = [_as_u32(editor, body, part, ids.scalar) for part in parts]
        either = editor.emit(body, Op.BitwiseOr, *numbers, type_=editor.u32)
        editor.emit(body, Op.Store, self.index, either)

    @property
    def variables(self) -> tuple[int, ...]:
        """What entry points name from SPIR-V 1.4 on."""
        return (self.rounds, self.place, self.where, self.index)

    def _word(self, editor: ModuleEditor, body: Body) -> int:
        place = editor.emit(body, Op.Load, self.place, type_=editor.u32)
        pointer = editor.pointer(StorageClass.Workgroup, editor.u32)
        return editor.emit(body, Op.AccessChain, self.rounds, place, type_=pointer)


def _relaxed(editor: ModuleEditor, scope: int = Scope.Workgroup) -> tuple[int, int]:
    return editor.number(scope), editor.number(0)


def entry_function(
    editor: ModuleEditor,
    counter: Counter,
    kernel: KernelInfo,
    old: int,
    binding: int,
    cap: int,
    *,
    passed_by: int,
) -> tuple[int, tuple[int, ...]]:
    """Adds the function that counts and reports around an entry point's.

    Args:
        editor: of the module.
        counter: its count.
        kernel: what a launch knows of the entry point; the sites of loops come behind its own.
        old: the function.
        binding: of the report buffer.
        cap: rounds after which the driver ends every loop.
        passed_by: rounds of loops that no work-item may take.

    Returns:
        The new function, and the variables of its interface.
    """
    body = Body()
    interface = _interface(editor.view, old)
    index = editor.built_in(BuiltIn.LocalInvocationIndex, 1, interface)
    ids = editor.built_in(BuiltIn.GlobalInvocationId, 3, interface)
    row = _Row(editor, old, interface)
    report = editor.variable(StorageClass.StorageBuffer, editor.words())
    editor.decorate(report, Decoration.DescriptorSet, 0)
    editor.decorate(report, Decoration.Binding, binding)
    loaded = editor.emit(body, Op.Load, index.variable, type_=index.type)
    counter.begin(editor, body, _as_u32(editor, body, loaded, index.scalar), passed_by)
    counter.set_index(editor, body, ids)
    row.call(body)
    writer = _Report(editor, body, report)

    def write() -> None:
        where = editor.emit(body, Op.Load, counter.where, type_=editor.u32)
        site = editor.emit(body, Op.IAdd, where, editor.number(len(kernel.sites)), type_=editor.u32)
        writer.store(ReportWord.SITE, site)
        for place, number in enumerate(_work_item(editor, body, kernel, old, ids)):
            writer.store(ReportWord.GLOBAL_ID + 2 * place, number)

    def claim() -> None:
        editor.selection(body, writer.claim(), write)

    editor.selection(body, counter.reached(editor, body, cap), claim)
    new = editor.procedure(body)
    inputs = (index.variable, ids.variable, *row.inputs)
    lists_all = editor.module.version >= (1, 4)
    return new, (*inputs, *((*counter.variables, report) if lists_all else ()))


class _Row:
    """Calls a kernel on lanes that have a work-item alone, where rows of a work-group may not fill a sub-group.

    What is wrong otherwise, `passes.convert_to_spirv.idle_lanes` says, the twin for kernels in Python.
    """

    def __init__(self, editor: ModuleEditor, kernel: int, interface: tuple[int, ...]) -> None:
        self._editor = editor
        self._kernel = kernel
        self._size = _local_size(editor, kernel, 0)
        self.inputs: tuple[int, ...] = ()
        """Variables that the entry point must name."""
        if self._size is None or self._fills_sub_groups(self._size):
            return
        self._lane = editor.built_in(BuiltIn.SubgroupLocalInvocationId, 1, interface)
        self._lanes = editor.built_in(BuiltIn.SubgroupSize, 1, interface)
        self._ids = editor.built_in(BuiltIn.LocalInvocationId, 3, interface)
        self.inputs = (self._lane.variable, self._lanes.variable, self._ids.variable)

    def _fills_sub_groups(self, size: int) -> bool:
        constant = self._editor.definition(size)
        return constant.opcode == Op.Constant and constant.operands[0] % MOST_COUNTED_LANES == 0

    def call(self, body: Body) -> None:
        """Adds the call."""
        editor = self._editor

        def call() -> None:
            editor.emit(body, Op.FunctionCall, self._kernel, type_=editor.declared(Op.TypeVoid))

        if self.inputs and self._size is not None:
            editor.selection(body, self._has_work_item(body, self._size), call)
        else:
            call()

    def _number(self, body: Body, built_in: BuiltInInput) -> int:
        editor = self._editor
        loaded = editor.emit(body, Op.Load, built_in.variable, type_=built_in.type)
        return _as_u32(editor, body, loaded, built_in.scalar)

    def _has_work_item(self, body: Body, size: int) -> int:
        editor, ids = self._editor, self._ids
        lanes, lane = self._number(body, self._lanes), self._number(body, self._lane)
        rest = editor.emit(body, Op.UMod, size, lanes, type_=editor.u32)
        is_full = editor.emit(body, Op.IEqual, rest, editor.number(0), type_=editor.bool_)
        all_ids = editor.emit(body, Op.Load, ids.variable, type_=ids.type)
        along_x = editor.emit(body, Op.CompositeExtract, all_ids, 0, type_=ids.scalar)
        numbers = (lane, _as_u32(editor, body, along_x, ids.scalar))
        below = [editor.emit(body, Op.ULessThan, number, size, type_=editor.bool_) for number in numbers]
        is_there = editor.emit(body, Op.LogicalAnd, *below, type_=editor.bool_)
        return editor.emit(body, Op.LogicalOr, is_full, is_there, type_=editor.bool_)


def _interface(view: ModuleView, function: int) -> tuple[int, ...]:
    """Returns the variables that the entry point of a function names."""
    entry = next(item for item in view.of_opcode(Op.EntryPoint) if item.operands[1] == function)
    return interface_of(entry)


@dataclass(frozen=True, slots=True)
class _Report:
    """Writes to a report buffer; see `kernel_info.ReportWord`."""

    editor: ModuleEditor
    body: Body
    variable: int

    def claim(self) -> int:
        """Returns whether this work-item is the first to report."""
        editor = self.editor
        uses_device_scope = _memory_model(editor.view) != MemoryModel.Vulkan or editor.has(
            Capability.VulkanMemoryModelDeviceScope
        )
        scope, none = _relaxed(editor, Scope.Device if uses_device_scope else Scope.QueueFamily)
        operands = (self._word(ReportWord.TRAPPED), scope, none, none, editor.number(1), editor.number(0))
        before = editor.emit(self.body, Op.AtomicCompareExchange, *operands, type_=editor.u32)
        return editor.emit(self.body, Op.IEqual, before, editor.number(0), type_=editor.bool_)

    def store(self, word: int, value: int) -> None:
        """Stores a word."""
        self.editor.emit(self.body, Op.Store, self._word(word), value)

    def _word(self, word: int) -> int:
        editor = self.editor
        operands = (self.variable, editor.number(0), editor.number(word))
        pointer = editor.pointer(StorageClass.StorageBuffer, editor.u32)
        return editor.emit(self.body, Op.AccessChain, *operands, type_=pointer)


def _memory_model(view: ModuleView) -> int:
    return next(item.operands[1] for item in view.of_opcode(Op.MemoryModel))


def _work_item(
    editor: ModuleEditor, body: Body, kernel: KernelInfo, old: int, ids: BuiltInInput
) -> list[int]:
    """Returns the id of the work-item, slowest dimension first, in 32 bits; of a range in pieces, that in the range."""
    loaded = editor.emit(body, Op.Load, ids.variable, type_=ids.type)
    found: list[int] = []
    for dimension in reversed(range(kernel.abi.rank)):
        own = editor.emit(body, Op.CompositeExtract, loaded, dimension, type_=ids.scalar)
        number = _as_u32(editor, body, own, ids.scalar)
        base = _base(editor, body, kernel, old, kernel.abi.rank - 1 - dimension)
        size = _local_size(editor, old, dimension)
        if base is not None and size is not None:
            skipped = editor.emit(body, Op.IMul, base, size, type_=editor.u32)
            number = editor.emit(body, Op.IAdd, number, skipped, type_=editor.u32)
        found.append(number)
    return found


def _base(editor: ModuleEditor, body: Body, kernel: KernelInfo, old: int, dimension: int) -> int | None:
    """Returns the first work-group of this dispatch, None where the kernel's arguments do not have it."""
    offsets = kernel.abi.base_offsets_bytes
    offset = offsets[dimension] if dimension < len(offsets) else None
    if offset is None or kernel.abi.index_bits != 32:
        return None
    view = editor.view
    for item in _argument_blocks(view, kernel, old):
        struct = view.definitions[view.definitions[item.result_type or 0].operands[1]]
        for member, type_ in enumerate(struct.operands):
            is_there = view.member_decoration(struct.result_id or 0, member, Decoration.Offset) == (offset,)
            if is_there and type_ == editor.u32:
                pointer = editor.pointer(item.operands[0], type_)
                operands = (item.result_id or 0, editor.number(member))
                chain = editor.emit(body, Op.AccessChain, *operands, type_=pointer)
                return editor.emit(body, Op.Load, chain, type_=type_)
    return None


def _argument_blocks(view: ModuleView, kernel: KernelInfo, old: int) -> list[Instruction]:
    """Returns the variables with the arguments that the entry point's function names."""
    binding = kernel.abi.argument_block_binding
    classes = (
        (StorageClass.PushConstant,)
        if binding is None
        else (StorageClass.StorageBuffer, StorageClass.Uniform)
    )
    named = {
        word
        for function in view.functions
        if function.result_id == old
        for item in function.instructions()
        for word in item.operands
    }
    return [
        item
        for item in view.of_opcode(Op.Variable)
        if item.result_id in named
        and item.operands[0] in classes
        and (binding is None or view.decoration(item.result_id or 0, Decoration.Binding) == (binding,))
    ]


def _local_size(editor: ModuleEditor, function: int, dimension: int) -> int | None:
    """Returns the size of a work-group along Vulkan's dimension, a constant of 32 bits of either sign."""
    view = editor.view
    for target in view.decorations:
        if view.decoration(target, Decoration.BuiltIn) == (BuiltIn.WorkgroupSize,):
            return view.definitions[target].operands[dimension]
    for item in view.of_opcode(Op.ExecutionModeId):
        if item.operands[:2] == (function, ExecutionMode.LocalSizeId):
            return item.operands[2 + dimension]
    for item in view.of_opcode(Op.ExecutionMode):
        if item.operands[:2] == (function, ExecutionMode.LocalSize):
            return editor.number(item.operands[2 + dimension])
    return None


def _as_u32(editor: ModuleEditor, body: Body, value: int, type_: int) -> int:
    return value if type_ == editor.u32 else editor.emit(body, Op.Bitcast, value, type_=editor.u32)
