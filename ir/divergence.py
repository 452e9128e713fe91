"""Finds barriers that some work-items of a group reach and others do not, as far as the IR shows it.

A value is *divergent* where it is computed from a work-item's id, or is different for each work-item by its nature
(the old value of an atomic, a shuffle), but for what a function of the whole work-group gives.  A barrier under a
condition, or in a loop, whose test is divergent is a fault.  What comes from memory counts as equal for all where its
index does: only what can be seen is reported, so a program without findings may still be wrong.  `varying_values`
takes the other side: what is not in its answer is equal for the whole work-group for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from .call_graph import Function, SymbolTables, functions, has_body
from .dialects.kernel import UNIFORM_RESULTS, is_kernel
from .dialects.spirv.attributes import ScopeAttr
from .dialects.spirv.enums import Scope

_BARRIERS = ("gpu.barrier", "spirv.ControlBarrier")
_IDS = (gpu.GlobalIdOp, gpu.ThreadIdOp, gpu.LaneIdOp, gpu.SubgroupIdOp)
_ATOMIC_PREFIXES = ("kernel.atomic_", "spirv.Atomic")
_DIVERGENT_PREFIXES = (*_ATOMIC_PREFIXES, "spirv.GroupNonUniform")
_UNIFORM_PREFIXES = ("arith.", "math.", "spec_constant.")
_UNIFORM_NAMES = frozenset(
    (
        "memref.dim",
        "kernel.global_range",
        "gpu.block_id",
        "gpu.block_dim",
        "gpu.grid_dim",
        "gpu.num_subgroups",
    )
)
"""Operations whose results are equal for a work-group where their operands are."""


@dataclass(frozen=True, slots=True)
class DivergentBarrier:
    """One finding."""

    barrier: Operation
    control: Operation
    """The `scf.if`, `scf.for` or `scf.while` whose test is divergent."""


def divergent_barriers(module: Operation) -> tuple[DivergentBarrier, ...]:
    """Returns the barriers of `module` that not every work-item of a group reaches."""
    found: dict[Operation, Operation] = {}
    symbols = SymbolTables()
    for function in functions(module):
        if is_kernel(function) and has_body(function):
            _Walk(symbols, found, set()).run(function, [False] * len(function.body.blocks[0].args), None)
    return tuple(DivergentBarrier(barrier, control) for barrier, control in found.items())


def varying_values(kernel: Function) -> set[SSAValue]:
    """Returns the values of a kernel's body that may differ among the work-items of a group: what is computed from
    an id, and all that comes from memory."""
    walk = _Walk(SymbolTables(), {}, set(), is_strict=True)
    walk.run(kernel, [False] * len(kernel.body.blocks[0].args), None)
    return walk.divergent


def is_work_group_barrier(op: Operation) -> bool:
    """Whether all of a work-group wait for each other; work-items may differ by sub-group otherwise."""
    scope = op.properties.get("execution_scope")
    return op.name in _BARRIERS and not (isinstance(scope, ScopeAttr) and scope.data is Scope.Subgroup)


def is_of_atomics(control: Operation) -> bool:
    """Whether the test of an `scf.if` or `scf.while`, or a bound of an `scf.for`, is computed from what an atomic
    gives, and from no work-item's id."""
    tests = control.operands
    if isinstance(control, scf.WhileOp) and control.before_region.block.last_op is not None:
        tests = control.before_region.block.last_op.operands[:1]
    pending, seen = [value.owner for value in tests], set[Operation]()
    while pending:
        op = pending.pop()
        if isinstance(op, Operation) and op not in seen:
            seen.add(op)
            pending += [value.owner for value in op.operands]
    return any(op.name.startswith(_ATOMIC_PREFIXES) for op in seen) and not any(
        isinstance(op, _IDS) for op in seen
    )


class _Walk:
    """The walk over one function, for one set of divergent arguments."""

    def __init__(
        self,
        symbols: SymbolTables,
        found: dict[Operation, Operation],
        callers: set[Function],
        *,
        is_strict: bool = False,
    ) -> None:
        """Starts a walk; a strict one takes what it does not know for divergent."""
        self._symbols = symbols
        self._found = found
        self._callers = callers
        self._is_strict = is_strict
        self.divergent: set[SSAValue] = set()
        self._reports = False

    def run(self, function: Function, arguments: Sequence[bool], control: Operation | None) -> list[bool]:
        """Returns which results are divergent; `control` is a divergent test around the call."""
        self._callers = self._callers | {function}
        block = function.body.blocks[0]
        self._mark(block.args, arguments)
        before = -1
        while before != len(self.divergent):  # values only ever become divergent
            before = len(self.divergent)
            self._block(block, control)
        self._reports = True
        self._block(block, control)
        terminator = block.last_op
        return [] if terminator is None else self._are(terminator.operands)

    def _are(self, values: Sequence[SSAValue]) -> list[bool]:
        return [value in self.divergent for value in values]

    def _mark(self, values: Sequence[SSAValue], divergent: Sequence[bool]) -> None:
        self.divergent.update(v for v, is_divergent in zip(values, divergent, strict=True) if is_divergent)

    def _block(self, block: Block, control: Operation | None) -> None:
        for op in block.ops:
            if isinstance(op, scf.IfOp):
                self._if(op, control)
            elif isinstance(op, scf.ForOp):
                self._for(op, control)
            elif isinstance(op, scf.WhileOp):
                self._while(op, control)
            elif isinstance(op, func.CallOp):
                self._call(op, control)
            else:
                self._operation(op, control)

    def _operation(self, op: Operation, control: Operation | None) -> None:
        if control is not None and self._reports and is_work_group_barrier(op):
            self._found.setdefault(op, control)
        is_divergent = any(self._are(op.operands)) or (
            not (op.name.startswith(_UNIFORM_PREFIXES) or op.name in _UNIFORM_NAMES)
            if self._is_strict
            else isinstance(op, _IDS) or op.name.startswith(_DIVERGENT_PREFIXES)
        )
        self._mark(op.results, [is_divergent] * len(op.results))
        inner = op if is_divergent and control is None else control
        for block in (block for region in op.regions for block in region.blocks):  # of scf.index_switch
            self._mark(block.args, [is_divergent] * len(block.args))
            self._block(block, inner)

    def _if(self, op: scf.IfOp, control: Operation | None) -> None:
        is_divergent = op.operands[0] in self.divergent
        inner = op if is_divergent and control is None else control
        for region in op.regions:
            for block in region.blocks:
                self._block(block, inner)
                if op.results and block.last_op is not None:
                    self._mark(op.results, [is_divergent or d for d in self._are(block.last_op.operands)])

    def _for(self, op: scf.ForOp, control: Operation | None) -> None:
        is_divergent = any(self._are(op.operands[:3]))
        inner = op if is_divergent and control is None else control
        block = op.body.block
        carried = block.args[1:]
        self._mark(block.args[:1], [is_divergent])
        self._mark(carried, self._are(op.operands[3:]))
        self._block(block, inner)
        if block.last_op is not None and carried:
            self._mark(carried, self._are(block.last_op.operands))
        self._mark(op.results, [is_divergent or d for d in self._are(carried)])

    def _while(self, op: scf.WhileOp, control: Operation | None) -> None:
        test, body = op.before_region.block, op.after_region.block
        self._mark(test.args, self._are(op.operands))
        condition, end = test.last_op, body.last_op
        assert condition is not None and end is not None
        is_divergent = condition.operands[0] in self.divergent
        inner = op if is_divergent and control is None else control
        self._block(test, inner)
        self._mark(body.args, self._are(condition.operands[1:]))
        self._block(body, inner)
        self._mark(test.args, self._are(end.operands))
        self._mark(op.results, [is_divergent or d for d in self._are(condition.operands[1:])])

    def _call(self, op: func.CallOp, control: Operation | None) -> None:
        reference = op.properties.get("callee")
        callee = self._symbols.resolve(op, reference) if isinstance(reference, SymbolRefAttr) else None
        arguments = self._are(op.operands)
        if not isinstance(callee, Function) or not has_body(callee) or callee in self._callers:
            self._mark(op.results, [self._is_strict or any(arguments)] * len(op.results))
            return
        found: dict[Operation, Operation] = {}
        walk = _Walk(self._symbols, found, self._callers, is_strict=self._is_strict)
        results = walk.run(callee, arguments, control)
        if UNIFORM_RESULTS not in callee.attributes:
            self._mark(op.results, results)
        if self._reports and found and control is not None:
            self._found.setdefault(op, control)
        elif self._reports:
            self._found.update(found)
