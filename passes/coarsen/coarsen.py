"""The pass `coarsen`: kernels of which an invocation does several work-items, where that saves memory accesses.

    func.func @saxpy(…) attributes {gpu.kernel, …} {
      %i = gpu.global_id x … memref.load %x[%i] … memref.store %v, %y[%i] }
    =>
    func.func @saxpy(…) attributes {gpu.kernel, kernel.lanes = array<i32: 4>, …} {
      … kernel.load_wide %x[%i] : vector<4xf32> … kernel.store_wide %v, %y[%i] }

Invariant: on a range that is a multiple of `kernel.lanes`, with arrays whose last extents are multiples of 4 where
`kernel.aligned_rows` says so, both do the same.  Kernels that see work-groups (local ids, barriers, shared memory,
sub-groups), atomics, calls of functions that do more than compute, or loops that end differently for neighbouring
work-items stay as they are; so do those whose loops would run more rounds than their driver has (`rounds`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...ir.call_graph import function_name
from ...ir.dialects import aspect
from ...ir.dialects.kernel import (
    ALIGNED_ROWS,
    LANES,
    LOCAL_SIZE,
    MASKED,
    Function,
    is_kernel,
    kernel_rank,
)
from ..errors import PassError
from ..optimise.dce import eliminate_dead_code
from ..optimise.effects import functions_of
from ..optimise.forward_walk import ForwardWalk
from ..optimise.rows import WIDTH
from ..unroll import unroll_short_loops
from .axes import Axes, NotCoarsenableError
from .cost import cost_of
from .lanes import Lanes
from .merged_branches import MergedBranches
from .pure_calls import PureCalls, called_operations, pure_calls
from .rounds import may_run
from .speculate import speculate
from .widen import Widening

WORTHWHILE = 0.8
"""Largest share of the accesses that a variant may have left."""
ROWS_WORTHWHILE = 0.7
"""Largest share of the accesses of a variant of one row that one of several rows may have left."""
MAXIMUM_CARRIED = 32
"""Values that a loop of a variant may carry: more do not fit into registers."""
MOST_CALLED = 2000
"""Operations that the calls of a variant may come to: the driver has all of them in one function."""


def coarsened(
    kernel: Function, lanes: int, *, splits_branches: bool = True, loop_cap: int | None = None
) -> func.FuncOp | None:
    """Returns the form of a kernel that saves most; None where none pays.

    Args:
        kernel: optimised; it stays as it is.
        lanes: work-items of an invocation along the last dimension, and along the one before where that pays.
        splits_branches: whether they may disagree about branches.
        loop_cap: rounds after which the driver ends loops; see `rounds`.
    """
    rank = kernel_rank(kernel)
    blocks = list(kernel.body.blocks)
    has_local_size = LOCAL_SIZE in kernel.attributes or aspect.reqd_work_group_size(kernel) is not None
    is_plain = MASKED in kernel.attributes and not has_local_size and LANES not in kernel.attributes
    if not isinstance(kernel, func.FuncOp) or rank is None or len(blocks) != 1 or not is_plain:
        return None
    pure = pure_calls(kernel)
    source, kernel = kernel, _unrolled(kernel)
    body = kernel.body.block
    plain = cost_of(body)
    unasked = set[SSAValue]()
    if kernel is not source:
        with suppress(NotCoarsenableError):
            unasked = speculate(body, Axes(body, rank, Lanes.block(lanes, lanes), pure))

    def widened(block: Lanes) -> _Variant | None:
        made = _widened(kernel, rank, block, pure, splits_branches=splits_branches, unasked=unasked)
        if made is None or loop_cap is None or may_run(made.function, kernel, pure, loop_cap):
            return made
        return None

    row = widened(Lanes.block(1, lanes))
    if row is None:
        return None
    best = row
    if rank > 1 and _has_loop(kernel):
        square = widened(Lanes.block(lanes, lanes))
        if square is not None and square.cost_per_item < ROWS_WORTHWHILE * row.cost_per_item:
            best = square
    return best.function if best.cost_per_item <= WORTHWHILE * plain and plain else None


def _unrolled(kernel: func.FuncOp) -> func.FuncOp:
    """Returns a copy of a kernel with short loops unrolled, so that their accesses can be joined; the kernel itself
    where there is nothing to change in copies."""
    if not any(isinstance(op, scf.IfOp | scf.ForOp) for op in kernel.walk()):
        return kernel
    copy = kernel.clone()
    for original, new in zip(kernel.walk(), copy.walk(), strict=True):
        new.location = original.location
    unroll_short_loops(copy)
    ForwardWalk(fold=True, number=True).run(copy)
    eliminate_dead_code(copy)
    return copy


@dataclass(frozen=True, slots=True)
class _Variant:
    function: func.FuncOp
    cost_per_item: float


def _widened(
    kernel: func.FuncOp,
    rank: int,
    lanes: Lanes,
    pure: PureCalls,
    *,
    splits_branches: bool,
    unasked: Collection[SSAValue],
) -> _Variant | None:
    if called_operations(kernel, pure) * lanes.count > MOST_CALLED:
        return None
    source = kernel.body.block
    block = Block(arg_types=[argument.type for argument in source.args])
    try:
        axes = Axes(source, rank, lanes, pure)
        merged = MergedBranches(source, axes, pure)
        widening = Widening(
            axes,
            lanes,
            source,
            block,
            merged=merged,
            splits_branches=splits_branches,
            unasked={*unasked, *merged.unasked},
        )
    except NotCoarsenableError:
        return None
    if _carries_too_much(block):
        return None
    for old, new in zip(source.args, block.args, strict=True):
        new.name_hint = old.name_hint
    function = func.FuncOp(function_name(kernel), kernel.function_type, Region(block))
    function.location = kernel.location
    sizes = [1] * rank
    sizes[-1] = len(lanes.xs)
    if rank > 1:
        sizes[-2] = len(lanes.ys)
    function.attributes.update(kernel.attributes)
    function.attributes[LANES] = DenseArrayBase.from_list(i32, sizes)
    rows = [number for number, array in enumerate(source.args) if array in widening.aligned_rows]
    if rows:
        function.attributes[ALIGNED_ROWS] = DenseArrayBase.from_list(i32, rows)
    return _Variant(function, widening.cost / lanes.count)


def _loops(function: Operation) -> Iterator[Operation]:
    return (op for op in function.walk() if isinstance(op, scf.ForOp | scf.WhileOp))


def _has_loop(function: Function) -> bool:
    return any(True for _ in _loops(function))


def _carries_too_much(block: Block) -> bool:
    return any(len(loop.results) > MAXIMUM_CARRIED for op in block.ops for loop in _loops(op))


@dataclass(frozen=True)
class CoarsenPass(ModulePass):
    """Coarsens the kernels of a module (see the head of this file)."""

    name = "coarsen"

    lanes: int = 4
    """Work-items of an invocation along the last dimension; 4 is what wide accesses have."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.lanes != WIDTH:
            raise PassError(f"pass 'coarsen': lanes is {WIDTH}, what wide accesses have; found {self.lanes}")
        for function in functions_of(op):
            made = (
                coarsened(function, self.lanes)
                if isinstance(function, func.FuncOp) and is_kernel(function)
                else None
            )
            if made is not None and function.parent is not None:
                function.parent.insert_op_before(made, function)
                function.detach()
                function.erase()
