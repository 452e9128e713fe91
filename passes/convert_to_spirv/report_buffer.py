"""How a kernel writes to its report buffer: printed lines, and when it ends its first failed check.

The words are those of `kernel_info.ReportWord`; what a work-item keeps until its end, `trap_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, VectorType, i1, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.attributes import MemorySemanticsAttr, ScopeAttr, SelectionControlAttr
from ...ir.dialects.spirv.enums import MemorySemantics, Scope, SelectionControl, StorageClass
from ...ir.kernel_info import ReportWord, Site
from .function_lowering import FunctionLowering
from .types import integer_attribute

_RELAXED = {
    "memory_scope": ScopeAttr(Scope.Device),
    "semantics": MemorySemanticsAttr(MemorySemantics.None_),
}
_COMPARE_EXCHANGE = {
    "memory_scope": ScopeAttr(Scope.Device),
    "equal_semantics": MemorySemanticsAttr(MemorySemantics.None_),
    "unequal_semantics": MemorySemanticsAttr(MemorySemantics.None_),
}
_SELECTION = {"selection_control": SelectionControlAttr(SelectionControl.None_)}
_NO_BLOCK_ARGUMENTS = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 0])}
_SIGNED = ("i8", "i16")


def add_selection(fn: FunctionLowering, condition: SSAValue, build: Callable[[], None]) -> None:
    """Adds what `build` adds, to run where `condition` holds."""
    outer = fn.block
    header, body, merge = Block(), Block(), Block([spirv.MergeOp.create(location=fn.location)])
    fn.block = header
    fn.add(
        spirv.BranchConditionalOp.create(
            operands=(condition,), successors=(body, merge), properties=_NO_BLOCK_ARGUMENTS
        )
    )
    fn.block = body
    build()
    fn.add(spirv.BranchOp.create(successors=(merge,)))
    fn.block = outer
    fn.add(spirv.SelectionOp.create(properties=_SELECTION, regions=[Region([header, body, merge])]))


class ReportBuffer:
    """The report buffer of one kernel and the sites that use it; the buffer exists once there is a site."""

    def __init__(self, fn: FunctionLowering, global_id: Callable[[], Sequence[SSAValue]]) -> None:
        """Describes the buffer; `global_id` returns the work-item's id, slowest dimension first."""
        self._fn = fn
        self._global_id = global_id
        self._base: SSAValue | None = None
        self._variable: spirv.GlobalVariableOp | None = None
        self._sites: dict[Site, int] = {}
        self.checks = 0
        """How many checks were added so far that a work-item keeps."""
        self._kept_words: int | None = None
        """The most words that one of the checks keeps; None: there is none."""
        self.symbol: str | None = None
        """Its variable."""

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites so far, by number."""
        return tuple(self._sites)

    @property
    def trap_symbols(self) -> list[str]:
        """The variables of the work-item that checks use."""
        count = self._kept_words
        return [] if count is None else self._fn.module.trap_state.symbols(count)

    def bind(self, binding: int) -> int | None:
        """Gives the buffer its binding; returns it, None where there is no site."""
        if self._variable is None:
            return None
        self._variable.properties["binding"] = integer_attribute(binding, 32)
        return binding

    def check(self, failed: SSAValue, site: Site, values: Sequence[SSAValue]) -> None:
        """Adds a check: where `failed` holds, the work-item keeps the site and its values if it is its first."""
        words: list[SSAValue] = []
        for value, dtype in zip(values, site.dtypes, strict=True):
            words += self._words(value, dtype)
        self._kept_words = max(self._kept_words or 0, len(words))
        self.checks += 1
        self._fn.module.trap_state.note(self._fn, failed, self._add(site), words)

    def check_at_once(self, failed: SSAValue, site: Site) -> None:
        """Adds a check that writes where it stands: what a work-item keeps may get lost where the driver ends loops."""
        self._report(failed, self._fn.index(self._add(site)), lambda: ())

    def is_well(self) -> SSAValue:
        """Returns whether no check of the work-item has failed so far."""
        return self._fn.emit(
            spirv.IEqualOp, (self._fn.module.trap_state.load(self._fn, 0), self._fn.index(0)), i1
        )

    def finish(self) -> None:
        """Adds what ends the kernel: the first work-item with a failed check writes what it has kept."""
        if self._kept_words is None:
            return
        fn, state, count = self._fn, self._fn.module.trap_state, self._kept_words
        kept = state.load(fn, 0)
        failed = fn.emit(spirv.INotEqualOp, (kept, fn.index(0)), i1)
        number = fn.emit(spirv.ISubOp, (kept, fn.index(1)), i32)
        self._report(failed, number, lambda: [state.load(fn, place + 1) for place in range(count)])

    def _report(self, failed: SSAValue, number: SSAValue, words: Callable[[], Sequence[SSAValue]]) -> None:
        """Adds what writes a site and its values, where `failed` holds and no work-item has written one yet."""
        fn, ids = self._fn, self._global_id()

        def report() -> None:
            trapped = self._pointer(fn.index(ReportWord.TRAPPED))
            operands = (trapped, fn.index(1), fn.index(0))
            before = fn.emit(spirv.AtomicCompareExchangeOp, operands, i32, _COMPARE_EXCHANGE)
            is_first = fn.emit(spirv.IEqualOp, (before, fn.index(0)), i1)
            add_selection(fn, is_first, write)

        def write() -> None:
            self._store(ReportWord.SITE, number)
            for dimension, index in enumerate(ids):
                halves = self._words(index, "i64" if index.type == i64 else "i32")
                for offset, word in enumerate(halves):
                    self._store(ReportWord.GLOBAL_ID + 2 * dimension + offset, word)
            for place, word in enumerate(words()):
                self._store(ReportWord.VALUES + place, word)

        add_selection(fn, failed, report)

    def print(self, site: Site, values: Sequence[SSAValue]) -> None:
        """Adds a printed line."""
        fn, number = self._fn, self._add(site)
        words = [fn.index(number + 1)]
        for value, dtype in zip(values, site.dtypes, strict=True):
            words += self._words(value, dtype)
        printed = self._pointer(fn.index(ReportWord.PRINTED))
        start = fn.emit(spirv.AtomicIAddOp, (printed, fn.index(len(words))), i32, _RELAXED)
        stop = fn.emit(spirv.IAddOp, (start, fn.index(len(words))), i32)
        capacity = fn.load(self._pointer(fn.index(ReportWord.CAPACITY)), i32)
        # A sum that wrapped is smaller than where it began.
        fits = fn.emit(spirv.ULessThanEqualOp, (stop, capacity), i1)
        grows = fn.emit(spirv.ULessThanOp, (start, stop), i1)

        def write() -> None:
            for offset, word in enumerate(words):
                here = fn.emit(spirv.IAddOp, (start, fn.index(ReportWord.LINES + offset)), i32)
                fn.store(self._pointer(here), word)

        def lose() -> None:
            lost = self._pointer(fn.index(ReportWord.LOST))
            fn.emit(spirv.AtomicIAddOp, (lost, fn.index(1)), i32, _RELAXED)

        fits = fn.emit(spirv.LogicalAndOp, (fits, grows), i1)
        add_selection(fn, fits, write)
        add_selection(fn, fn.emit(spirv.LogicalNotOp, (fits,), i1), lose)

    def _add(self, site: Site) -> int:
        """Returns the number of a site; inlined copies of one share it."""
        return self._sites.setdefault(site, len(self._sites))

    def _words(self, value: SSAValue, dtype: str) -> list[SSAValue]:
        """Returns a value as words of 32 bits, the lower one first."""
        fn = self._fn
        if dtype == "bool":
            return [fn.emit(spirv.SelectOp, (value, fn.index(1), fn.index(0)), i32)]
        if dtype.endswith("64"):
            pair = fn.emit(spirv.BitcastOp, (value,), fn.type(VectorType(i32, [2])))
            return [
                fn.emit(
                    spirv.CompositeExtractOp,
                    (pair,),
                    i32,
                    {"indices": ArrayAttr([integer_attribute(part, 32)])},
                )
                for part in (0, 1)
            ]
        if dtype == "f16":
            from xdsl.dialects.builtin import Float32Type

            value, dtype = fn.emit(spirv.FConvertOp, (value,), fn.type(Float32Type())), "f32"
        if dtype == "f32":
            return [fn.emit(spirv.BitcastOp, (value,), i32)]
        if dtype.endswith("32"):
            return [value]
        kind = spirv.SConvertOp if dtype in _SIGNED else spirv.UConvertOp
        return [fn.emit(kind, (value,), i32)]

    def _store(self, word: int, value: SSAValue) -> None:
        self._fn.store(self._pointer(self._fn.index(word)), value)

    def _pointer(self, word: SSAValue) -> SSAValue:
        fn = self._fn
        pointer = fn.module.types.pointer(i32, StorageClass.StorageBuffer)
        return fn.emit(spirv.AccessChainOp, (self._base_pointer(), fn.index(0), word), pointer)

    def _base_pointer(self) -> SSAValue:
        if self._base is not None:
            return self._base
        fn, module = self._fn, self._fn.module
        pointer = module.types.pointer(module.types.buffer_block(i32), StorageClass.StorageBuffer)
        self.symbol = module.reserve(f"{fn.name}.report")
        self._variable = spirv.GlobalVariableOp(self.symbol, pointer, binding=0, descriptor_set=0)
        self._variable.location = fn.location
        module.add_global(self._variable)
        address: Operation = spirv.AddressOfOp.create(
            properties={"variable": module.symbol(self.symbol)}, result_types=(pointer,)
        )
        self._base = fn.first(address)
        return self._base
