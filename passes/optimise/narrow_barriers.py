"""Work-group barriers that order shared memory only, where that is all that work-items exchange.

input:    %v = memref.load %a[%i]        (%a is an lp.In array, %tile shared memory)
          memref.store %v, %tile[%t]
          "gpu.barrier"()
          …
          memref.store %s, %out[%i]      (%out is an lp.Out array)

output:   the same with  "spirv.ControlBarrier"() <{… memory_semantics = AcquireRelease|WorkgroupMemory}>

`gpu.barrier` orders buffers too.  That costs time on GPUs (13 % of a tiled matrix product on an NVIDIA H200), and
matters only where one work-item may touch after the barrier what another wrote before it, or write what another read.

Invariant: between every two accesses of that kind there is a barrier of the same strength as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.call_graph import Function, SymbolTables, has_body
from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_image import IMAGE_NAMES
from ...ir.dialects.kernel_reports import REPORT_NAMES
from ...ir.dialects.spirv.barrier import ControlBarrierOp
from ...ir.dialects.spirv.enums import MemorySemantics, Scope, StorageClass
from ...ir.dialects.spirv.types import PointerType
from ...ir.narrowing import is_array_attribute
from ...ir.walk import has_any, instances, operations
from .effects import array_of, body_blocks, functions_of, is_pure_class

_SHARED_ONLY = MemorySemantics.AcquireRelease | MemorySemantics.WorkgroupMemory
_READS = frozenset(("memref.load", "kernel.load_field", "kernel.load_wide"))
_WITHOUT_ACCESS = REPORT_NAMES | frozenset(
    ("gpu.barrier", "spirv.ControlBarrier", "memref.alloc", "memref.alloca", "memref.dim", "spirv.Variable")
)


@dataclass(frozen=True)
class NarrowBarriers(ModulePass):
    """Makes barriers order shared memory only, where work-items exchange nothing through buffers."""

    name = "narrow-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            narrow_barriers(function)


@dataclass(frozen=True, slots=True)
class _Step:
    """A barrier, or an access to a buffer, with its place in the program."""

    op: Operation
    array: SSAValue | None
    """Parameter that is accessed; None: a barrier."""
    writes: bool
    loops: tuple[Operation, ...]
    """Around it, outermost first."""


_Touched = dict[SSAValue, bool]
"""The parameters that are accessed, each with whether they may be written."""


class _Unknown(Exception):
    """Something touches memory in a way that this pass does not follow."""


def narrow_barriers(function: Operation) -> None:
    """Narrows the barriers of one kernel; leaves other functions alone, whose callers are not known here."""
    blocks = body_blocks(function)
    if not is_kernel(function) or len(blocks) != 1 or not has_any(function, gpu.BarrierOp, ControlBarrierOp):
        return
    try:
        _follow_calls(function)
        steps = list(_steps(blocks[0], blocks[0], ()))
    except _Unknown:
        return
    shown = _overlapping(function, blocks[0])
    before, after, in_loops = (
        _touched_before(steps),
        _touched_before(reversed(steps)),
        _touched_in_loops(steps),
    )
    for step in steps:
        if step.array is None:
            beside = in_loops.get(step.loops[0], {}) if step.loops else {}
            if not _is_needed(_joined(before[step.op], beside), _joined(after[step.op], beside), shown):
                _replace(step.op)


def _follow_calls(kernel: Operation) -> None:
    """Raises `_Unknown` where a function that a kernel calls, directly or not, does what `_expect_known` refuses, or
    nobody knows what it does.  The arrays that it touches are among the arguments of its call."""
    symbols, seen, pending = SymbolTables(), set[Operation](), [kernel]
    while pending:
        for call in instances(pending.pop(), func.CallOp):
            callee = symbols.resolve(call, call.callee)
            if not isinstance(callee, Function) or not has_body(callee):
                raise _Unknown
            if callee not in seen:
                seen.add(callee)
                pending.append(callee)
                for op in operations(callee.body):
                    _expect_known(op)


def _steps(block: Block, entry: Block, loops: tuple[Operation, ...]) -> Iterator[_Step]:
    for op in block.ops:
        if _is_barrier(op):
            yield _Step(op, None, False, loops)
        else:
            yield from (_Step(op, array, writes, loops) for array, writes in _accesses(op, entry))
        inside = loops if isinstance(op, scf.IfOp | scf.IndexSwitchOp) else (*loops, op)
        for region in op.regions:
            for inner in region.blocks:
                yield from _steps(inner, entry, inside)


def _is_barrier(op: Operation) -> bool:
    """Whether it is a barrier of a work-group that orders buffers for the work-group, and may order less."""
    if isinstance(op, ControlBarrierOp):
        return (
            op.execution_scope.data is op.memory_scope.data is Scope.Workgroup
            and op.memory_semantics.data == _SHARED_ONLY | MemorySemantics.UniformMemory
        )
    return isinstance(op, gpu.BarrierOp)


def is_shared_only(barrier: ControlBarrierOp) -> bool:
    """Whether a barrier is one of a work-group that orders its shared memory and nothing else."""
    return (
        barrier.execution_scope.data is barrier.memory_scope.data is Scope.Workgroup
        and barrier.memory_semantics.data == _SHARED_ONLY
    )


def _accesses(op: Operation, entry: Block) -> Iterator[tuple[SSAValue, bool]]:
    """Yields the buffers that an operation, regions aside, touches, and whether it may write them."""
    _expect_known(op)
    if is_pure_class(type(op)) or op.name in _WITHOUT_ACCESS:
        return
    for operand in op.operands:
        array, type_ = array_of(operand), operand.type
        if not isinstance(type_, MemRefType) or not isinstance(type_.memory_space, NoneAttr):
            continue  # no array, or one that is shared or private
        if not (isinstance(array, BlockArgument) and array.block is entry):
            raise _Unknown
        yield array, op.name not in _READS


def _expect_known(op: Operation) -> None:
    """Raises `_Unknown` for operations on images and of the spirv dialect, fences among them, and for atomics that
    publish what was stored before them."""
    if is_pure_class(type(op)) or op.name in _WITHOUT_ACCESS:
        return
    if op.name in IMAGE_NAMES or (op.name.startswith("spirv.") and not _is_private(op)):
        raise _Unknown
    if isinstance(op, AtomicOp) and op.order.data != "relaxed":
        raise _Unknown


def _is_private(op: Operation) -> bool:
    """Whether an operation of the spirv dialect touches no memory but a work-item's own."""
    if op.name.startswith("spirv.GroupNonUniform"):
        return True
    pointer = op.operands[0].type if op.operands else None
    return (
        op.name in ("spirv.Load", "spirv.Store")
        and isinstance(pointer, PointerType)
        and pointer.storage_class.data is StorageClass.Function
    )


def _overlapping(function: Operation, entry: Block) -> frozenset[SSAValue]:
    """Returns the parameters that may be the same memory as another one of them."""
    parameters = function.attributes.get("kernel.parameters")
    if not is_array_attribute(parameters):
        return frozenset(entry.args)
    return frozenset(
        argument
        for argument, parameter in zip(entry.args, parameters.data, strict=False)
        if "may_alias" in (fields := getattr(parameter, "data", {}))
        or getattr(fields.get("access"), "data", "") not in ("read", "write")
    )


def _touched_before(steps: Iterable[_Step]) -> dict[Operation, _Touched]:
    """Returns for each barrier what the steps before it touch."""
    touched: _Touched = {}
    found: dict[Operation, _Touched] = {}
    for step in steps:
        if step.array is None:
            found[step.op] = dict(touched)
        else:
            touched[step.array] = touched.get(step.array, False) or step.writes
    return found


def _touched_in_loops(steps: Iterable[_Step]) -> dict[Operation, _Touched]:
    """Returns for each outermost loop what is touched in it: by another round that is before and after a barrier."""
    found: dict[Operation, _Touched] = {}
    for step in steps:
        if step.array is not None and step.loops:
            touched = found.setdefault(step.loops[0], {})
            touched[step.array] = touched.get(step.array, False) or step.writes
    return found


def _is_needed(before: _Touched, after: _Touched, shown: frozenset[SSAValue]) -> bool:
    """Whether a barrier keeps two accesses in order of which one at least is a write."""
    return any(
        (first is second or (first in shown and second in shown)) and (first_writes or second_writes)
        for first, first_writes in before.items()
        for second, second_writes in after.items()
    )


def _joined(one: _Touched, other: _Touched) -> _Touched:
    return one | {array: writes or one.get(array, False) for array, writes in other.items()}


def _replace(barrier: Operation) -> None:
    narrow = ControlBarrierOp(Scope.Workgroup, Scope.Workgroup, _SHARED_ONLY)
    narrow.location = barrier.location
    block = barrier.parent
    assert block is not None
    block.insert_op_before(narrow, barrier)
    barrier.detach()
    barrier.erase()
