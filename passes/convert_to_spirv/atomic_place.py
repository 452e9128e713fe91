"""Where an atomic operation works, and the compare-exchange loop that stands for instructions a device lacks."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.spirv.attributes import LoopControlAttr, MemorySemanticsAttr, ScopeAttr
from ...ir.dialects.spirv.enums import LoopControl, MemorySemantics, Scope
from .function_lowering import FunctionLowering
from .report_handlers import count_rounds

_SCOPES = {
    "work_item": Scope.Invocation,
    "sub_group": Scope.Subgroup,
    "work_group": Scope.Workgroup,
    "device": Scope.Device,
}
_MEMORY = MemorySemantics.WorkgroupMemory | MemorySemantics.UniformMemory
_ORDERS = {
    "relaxed": MemorySemantics.None_,
    "acquire": MemorySemantics.Acquire | _MEMORY,
    "release": MemorySemantics.Release | _MEMORY,
    "acq_rel": MemorySemantics.AcquireRelease | _MEMORY,
}
_LOOP = {"loop_control": LoopControlAttr(LoopControl.None_)}
_NO_BLOCK_ARGUMENTS = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 0])}


class AtomicPlace:
    """What an atomic works on as memory holds it, with the operation's values, scope and order."""

    def __init__(
        self, fn: FunctionLowering, op: AtomicOp, pointer: SSAValue, storage_type: Attribute
    ) -> None:
        """Describes what `pointer` points to, which holds `storage_type`."""
        first = op.first_index
        self.fn = fn
        self.pointer = pointer
        self.storage_type = storage_type
        self.values = [fn.value(value) for value in op.operands[: first - 1]]
        self.scope = ScopeAttr(_SCOPES[op.scope.data])
        # Vulkan has no order for a single work-item (VUID-StandaloneSpirv-None-04641), whose accesses have one anyway.
        self.order = _ORDERS["relaxed" if op.scope.data == "work_item" else op.order.data]

    def properties(self, order: MemorySemantics | None = None) -> dict[str, Attribute]:
        """Returns scope and semantics of an instruction."""
        chosen = self.order if order is None else order
        return {"memory_scope": self.scope, "semantics": MemorySemanticsAttr(chosen)}

    def load(self, order: MemorySemantics | None = None) -> SSAValue:
        """Adds an atomic load of what memory holds."""
        return self.fn.emit(spirv.AtomicLoadOp, (self.pointer,), self.storage_type, self.properties(order))

    def compare_exchange(self, expected: SSAValue, desired: SSAValue) -> SSAValue:
        """Adds a compare-exchange of what memory holds; a failure only reads, so it releases nothing."""
        failure = self.order
        if failure & (MemorySemantics.Release | MemorySemantics.AcquireRelease):
            acquires = bool(failure & MemorySemantics.AcquireRelease)
            failure = MemorySemantics.Acquire | _MEMORY if acquires else MemorySemantics.None_
        properties = {
            "memory_scope": self.scope,
            "equal_semantics": MemorySemanticsAttr(self.order),
            "unequal_semantics": MemorySemanticsAttr(failure),
        }
        operands = (self.pointer, desired, expected)
        return self.fn.emit(spirv.AtomicCompareExchangeOp, operands, self.storage_type, properties)


def compare_exchange_loop(
    fn: FunctionLowering, op: Operation, place: AtomicPlace, renew: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """Adds a loop that puts `renew(old)` in the place of `old`; returns the bits that were replaced.

    old = load(p);  do { found = compare_exchange(p, old → renew(old)) } while (found != old and old = found)
    """
    outer = fn.block
    bits = place.storage_type
    result = fn.variable(bits)
    first = place.load(MemorySemantics.None_)
    entry, header, next_ = Block(), Block(arg_types=[bits]), Block()
    merge = Block([spirv.MergeOp.create(location=fn.location)])
    fn.block = entry
    fn.add(spirv.BranchOp.create(operands=(first,), successors=(header,)))
    fn.block = header
    (old,) = header.args
    if fn.module.env.loop_iteration_cap is not None:  # limit-loops checks the count after the operation
        count_rounds(fn, op, 1)
    fn.loop_depth += 1
    found = place.compare_exchange(old, renew(old))
    fn.loop_depth -= 1
    fn.store(result, old)  # what was found, where it ends; drivers lose that (vk_runtime.quirks, lost-reads)
    is_done = fn.emit(spirv.IEqualOp, (found, old), fn.module.types.bool_like(bits))
    fn.add(
        spirv.BranchConditionalOp.create(
            operands=(is_done,), successors=(merge, next_), properties=_NO_BLOCK_ARGUMENTS
        )
    )
    fn.block = next_
    fn.add(spirv.BranchOp.create(operands=(found,), successors=(header,)))
    fn.block = outer
    fn.add(spirv.LoopOp.create(properties=_LOOP, regions=[Region([entry, header, next_, merge])]))
    return fn.load(result, bits)
