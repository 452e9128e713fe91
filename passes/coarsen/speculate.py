"""Branches that neighbouring work-items disagree about become selections of values, where that is harmless.

    scf.if %inside {                                 %a = memref.load %x[%i]
      %a = memref.load %x[%i]                        %b = memref.load %x[%j]
      memref.store %a, %y[%i]            =>          %v = arith.select %inside, %a, %b
    } else {                                         memref.store %v, %y[%i]
      %b = memref.load %x[%j]
      memref.store %b, %y[%i] }

Both arms run then, for all work-items, so their accesses can be joined; the other way is one branch for work-items
that agree and one that goes through them one by one.

Invariants: what ran unasked computes or loads only.  Loads out of range are harmless (`robustBufferAccess`) and
nobody sees what they give.  Stores move only where both arms end with them, to the same elements in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.kernel_fields import LoadFieldOp
from ..optimise.effects import is_pure_class, is_speculatable
from ..optimise.fold_control_flow import replace, trip_count
from .axes import Axes

MAXIMUM_LOADS = 24
"""Loads of both arms, those in loops by their rounds; more are not worth running unasked."""
_MAXIMUM_DEPTH = 8
"""Of expressions that are compared."""


def speculate(body: Block, axes: Axes) -> set[SSAValue]:
    """Replaces branches of a kernel's body, innermost first; returns the arrays that are loaded unasked then.

    Args:
        body: changed in place.
        axes: says which conditions differ; of the body as it is.
    """
    unasked: set[SSAValue] = set()
    for op in tuple(body.ops):
        for region in op.regions:
            for block in region.blocks:
                unasked |= speculate(block, axes)
        if isinstance(op, scf.IfOp) and axes.of(op.operands[0]):
            unasked |= _replace_branch(op)
    return unasked


def _replace_branch(op: scf.IfOp) -> set[SSAValue]:
    """Replaces a branch where that is harmless; returns the arrays that it loaded."""
    arms = op.true_region.first_block, op.false_region.first_block
    if arms[0] is None:
        return set()
    blocks = [arm for arm in arms if arm is not None]
    parts = [_parts(block) for block in blocks]
    if any(part is None for part in parts) or sum(_loads(block) for block in blocks) > MAXIMUM_LOADS:
        return set()
    stores = [part for part in parts if part is not None]
    if len(stores) == 1:
        if not stores[0] and not op.results:  # it does nothing
            replace(op, ())
        return set()
    if not _are_same_places(*stores):
        return set()
    loaded = {inner.operands[0] for inner in op.walk() if isinstance(inner, memref.LoadOp | LoadFieldOp)}
    _inline(op, blocks, stores)
    return loaded


def _parts(block: Block) -> list[memref.StoreOp] | None:
    """Returns the stores with which an arm ends; None where it does something else than compute, load, then store."""
    stores: list[memref.StoreOp] = []
    for op in block.ops:
        if isinstance(op, memref.StoreOp):
            if isinstance(op.operands[0].type, VectorType):
                return None
            stores.append(op)
        elif op is not block.last_op and not (
            is_speculatable(op) or _is_harmless(op, has_stores=bool(stores))
        ):
            return None
    return stores


def _is_harmless(op: Operation, *, has_stores: bool) -> bool:
    """Whether an operation reads memory and nothing else, and not behind a store."""
    if has_stores:
        return False
    if isinstance(op, memref.LoadOp | LoadFieldOp):
        return True
    if not isinstance(op, scf.ForOp) or trip_count(op) is None:  # others may run for ever on what they load
        return False
    inner = op.body.block
    return all(
        o is inner.last_op or is_speculatable(o) or _is_harmless(o, has_stores=False) for o in inner.ops
    )


def _loads(block: Block) -> int:
    total = 0
    for op in block.ops:
        if isinstance(op, memref.LoadOp | LoadFieldOp):
            total += 1
        elif isinstance(op, scf.ForOp):
            total += _loads(op.body.block) * (trip_count(op) or 1)
    return total


def _are_same_places(first: Sequence[memref.StoreOp], second: Sequence[memref.StoreOp]) -> bool:
    return len(first) == len(second) and all(
        a.operands[1] is b.operands[1]
        and all(_is_same(x, y, _MAXIMUM_DEPTH) for x, y in zip(a.operands[2:], b.operands[2:], strict=True))
        for a, b in zip(first, second, strict=True)
    )


def _is_same(a: SSAValue, b: SSAValue, depth: int) -> bool:
    """Whether two values are one, or computed in the same way."""
    if a is b:
        return True
    one, other = a.owner, b.owner
    if isinstance(one, Block) or isinstance(other, Block) or type(one) is not type(other) or not depth:
        return False
    return (
        is_pure_class(type(one))
        and one.properties == other.properties
        and not one.regions
        and len(one.operands) == len(other.operands)
        and all(_is_same(x, y, depth - 1) for x, y in zip(one.operands, other.operands, strict=True))
    )


def _inline(op: scf.IfOp, blocks: Sequence[Block], stores: Sequence[Sequence[memref.StoreOp]]) -> None:
    target, condition = op.parent, op.operands[0]
    assert target is not None
    yielded: list[Sequence[SSAValue]] = []
    for block, ends in zip(blocks, stores, strict=True):
        last = block.last_op
        assert last is not None
        yielded.append(tuple(last.operands))
        for inner in tuple(block.ops):
            if inner is not last and inner not in ends:
                inner.detach()
                target.insert_op_before(inner, op)

    def select(a: SSAValue, b: SSAValue) -> SSAValue:
        if a is b:
            return a
        made = arith.SelectOp(condition, a, b)
        made.location = op.location
        target.insert_op_before(made, op)
        return made.results[0]

    for if_true, if_false in zip(*stores, strict=True):
        value = select(if_true.operands[0], if_false.operands[0])
        made = memref.StoreOp.create(
            operands=(value, *if_true.operands[1:]), properties=if_true.properties, location=if_true.location
        )
        target.insert_op_before(made, op)
    replace(op, [select(a, b) for a, b in zip(*yielded, strict=True)])
