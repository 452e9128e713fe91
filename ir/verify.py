"""Verifies a module and says which operation is wrong and where it came from.

xDSL's own `verify` raises neither with a location nor with the operation, and does not look at dominance.
What is checked: what each operation's class and traits check, and that every operand is defined before its
use (in the same block before it, in a dominating block, or in an enclosing region).
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from .errors import BuildError, Diagnostic, Location
from .location import location_of


class IRError(BuildError):
    """An operation breaks a rule of its dialect."""

    code = "LP2150"

    def __init__(self, message: str, *, operation: Operation):
        location = _nearest_location(operation)
        super().__init__(
            f"{location}: {message}" if location else message,
            location=location,
            diagnostics=[Diagnostic(message, location)],
        )
        self.operation = operation
        """The operation that failed."""


def verify_module(op: Operation) -> None:
    """Verifies `op` and all operations in it; IRError names the first that fails and its source location.

    The innermost failing operation is reported: a module whose function is wrong is not itself the culprit.
    """
    try:
        op.verify()
    except (VerifyException, ValueError, LookupError) as error:
        raise _error_of_first_failure(op, error) from error
    _verify_dominance(op)


def _error_of_first_failure(root: Operation, error: Exception) -> IRError:
    culprit = root
    for op in _innermost_first(root):
        try:
            op.verify(verify_nested_ops=False)
        except (VerifyException, ValueError, LookupError) as failure:
            culprit, error = op, failure
            break
    while isinstance(error.__cause__, VerifyException):
        error = error.__cause__
    message = str(error).strip()
    return IRError(message if culprit.name in message else f"'{culprit.name}' {message}", operation=culprit)


def _innermost_first(op: Operation) -> list[Operation]:
    ops: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                ops += _innermost_first(child)
    ops.append(op)
    return ops


def _nearest_location(op: Operation | None) -> Location | None:
    while op is not None:
        location = location_of(op.location)
        if location is not None:
            return location
        op = op.parent_op()
    return None


def _verify_dominance(root: Operation) -> None:
    order: dict[Operation, int] = {}
    dominance: dict[Region, DominanceInfo] = {}
    for position, op in enumerate(root.walk()):
        order[op] = position
    for op in order:
        for value in op.operands:
            owner = value.owner
            # Most operands are defined earlier in the same block.
            if (
                isinstance(owner, Operation)
                and owner.parent is op.parent
                and order.get(owner, -1) < order[op]
            ):
                continue
            if not _is_visible(value, op, order, dominance):
                name = f"%{value.name_hint}" if value.name_hint else "an operand"
                raise IRError(f"'{op.name}' uses {name} where it is not defined", operation=op)


def _is_visible(
    value: SSAValue, op: Operation, order: dict[Operation, int], dominance: dict[Region, DominanceInfo]
) -> bool:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    if block is None or block.parent is None:
        return False
    ancestor = _ancestor_in_region(op, block.parent)
    if ancestor is None or ancestor.parent is None:
        return False
    if ancestor.parent is block:
        return value.owner is block or order[value.owner] < order[ancestor]  # type: ignore[index]
    info = dominance.get(block.parent)
    if info is None:
        info = dominance[block.parent] = DominanceInfo(block.parent)
    # As in MLIR, what no branch of its region leads to (only spirv.mlir.break, say) is dominated by everything.
    return info.strictly_dominates(block, ancestor.parent) or not info.dominates(
        block.parent.blocks[0], ancestor.parent
    )


def _ancestor_in_region(op: Operation, region: Region) -> Operation | None:
    current: Operation | None = op
    while current is not None and current.parent_region() is not region:
        current = current.parent_op()
    return current
