"""What the work-items of a kernel exchange through buffers: accesses on two sides of a barrier, one of them a write.

    memref.store %v, %b[%i]        two work-items may mean the same element of %b: the barrier orders that, and the
    "gpu.barrier"()                second one sees what the first one stored, if the memory is coherent (`told`)
    memref.load %b[%j]

Two plain arrays may be the same memory, so what is stored to one may be read from the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.call_graph import Function, SymbolTables, has_body
from ...ir.dialects.kernel import LIBRARY
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_image import IMAGE_NAMES
from ...ir.dialects.kernel_reports import REPORT_NAMES
from ...ir.dialects.spirv.barrier import ControlBarrierOp
from ...ir.dialects.spirv.enums import MemorySemantics, StorageClass
from ...ir.dialects.spirv.types import PointerType
from ...ir.narrowing import is_array_attribute
from ...ir.walk import instances, operations
from .effects import array_of, is_pure_class

_READS = frozenset(("memref.load", "kernel.load_field", "kernel.load_wide"))
_WITHOUT_ACCESS = REPORT_NAMES | frozenset(
    ("gpu.barrier", "spirv.ControlBarrier", "memref.alloc", "memref.alloca", "memref.dim", "spirv.Variable")
)


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


class UnknownExchangeError(Exception):
    """Something touches memory in a way that is not followed."""


class Exchanges:
    """What one kernel's barriers order.

    Args:
        kernel: of one block.

    Raises:
        UnknownExchangeError: an image, a fence, an atomic that publishes, a function of elsewhere.
    """

    def __init__(self, kernel: Operation) -> None:
        block = kernel.regions[0].block
        self._has_waiting_helpers = _follow_calls(kernel)
        self._steps = list(_steps(block, block, ()))
        self._overlapping = _overlapping(kernel, block)
        self._before = _touched_before(self._steps)
        self._after = _touched_before(reversed(self._steps))
        self._in_loops = _touched_in_loops(self._steps)

    @property
    def barriers(self) -> list[Operation]:
        """Those that order buffers, helpers' own aside."""
        return [step.op for step in self._steps if step.array is None]

    def is_needed(self, barrier: Operation) -> bool:
        """Whether a barrier keeps two accesses in order of which one at least is a write."""
        return any(one or other for _, one, _, other in self._pairs(barrier))

    def told(self) -> frozenset[SSAValue] | None:
        """Returns the arrays that someone touches behind a barrier where another has stored in front of it; None where
        helpers have barriers, which are not followed, but those of lapilli's own functions of groups."""
        if self._has_waiting_helpers:
            return None
        pairs = (pair for barrier in self.barriers for pair in self._pairs(barrier))
        return frozenset(array for first, writes, second, _ in pairs if writes for array in (first, second))

    def _pairs(self, barrier: Operation) -> Iterator[tuple[SSAValue, bool, SSAValue, bool]]:
        """Yields arrays touched on the two sides of a barrier that may be the same memory, each with whether it may be
        written there."""
        step = next(step for step in self._steps if step.op is barrier)
        beside = self._in_loops.get(step.loops[0], {}) if step.loops else {}
        after = _joined(self._after[barrier], beside)
        for first, first_writes in _joined(self._before[barrier], beside).items():
            for second, second_writes in after.items():
                both_shown = first in self._overlapping and second in self._overlapping
                if first is second or both_shown:
                    yield first, first_writes, second, second_writes


def _follow_calls(kernel: Operation) -> bool:
    """Returns whether a function that a kernel calls, directly or not, has a barrier that orders buffers; not those of
    lapilli's own functions.  The arrays that functions touch are among the arguments of their calls.

    Raises:
        UnknownExchangeError: it does what `_expect_known` refuses, or nobody knows what it does.
    """
    symbols, seen, pending, waits = SymbolTables(), set[Operation](), [kernel], False
    while pending:
        for call in instances(pending.pop(), func.CallOp):
            assert isinstance(call, func.CallOp)
            callee = symbols.resolve(call, call.callee)
            if not isinstance(callee, Function) or not has_body(callee):
                raise UnknownExchangeError
            if callee not in seen:
                seen.add(callee)
                pending.append(callee)
                for op in operations(callee.body):
                    _expect_known(op)
                    waits |= _orders_buffers(op) and LIBRARY not in callee.attributes
    return waits


def _steps(block: Block, entry: Block, loops: tuple[Operation, ...]) -> Iterator[_Step]:
    for op in block.ops:
        if _orders_buffers(op):
            yield _Step(op, None, False, loops)
        else:
            yield from (_Step(op, array, writes, loops) for array, writes in _accesses(op, entry))
        inside = loops if isinstance(op, scf.IfOp | scf.IndexSwitchOp) else (*loops, op)
        for region in op.regions:
            for inner in region.blocks:
                yield from _steps(inner, entry, inside)


def _orders_buffers(op: Operation) -> bool:
    if isinstance(op, ControlBarrierOp):
        return bool(op.memory_semantics.data & MemorySemantics.UniformMemory)
    return isinstance(op, gpu.BarrierOp)


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
            raise UnknownExchangeError
        yield array, op.name not in _READS


def _expect_known(op: Operation) -> None:
    """Looks at an operation that touches memory.

    Raises:
        UnknownExchangeError: it is one on images, one of the spirv dialect, fences among them, or an atomic that
            publishes what was stored before it.
    """
    if is_pure_class(type(op)) or op.name in _WITHOUT_ACCESS:
        return
    if op.name in IMAGE_NAMES or (op.name.startswith("spirv.") and not _is_private(op)):
        raise UnknownExchangeError
    if isinstance(op, AtomicOp) and op.order.data != "relaxed":
        raise UnknownExchangeError


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


def _joined(one: _Touched, other: _Touched) -> _Touched:
    return one | {array: writes or one.get(array, False) for array, writes in other.items()}
