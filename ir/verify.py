"""Verifies a module and says which operation is wrong and where it came from.

xDSL's own `verify` raises neither with a location nor with the operation, and does not look at dominance.
What is checked: what each operation's class and traits check, and that every operand is defined before its
use (in the same block before it, in a dominating block, or in an enclosing region).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from .errors import BuildError, Diagnostic, Location
from .location import location_of
from .walk import operations

_PLAIN_DIALECTS = ("arith", "math")
_PLAIN_OPERATIONS = ("memref.load", "memref.store", "kernel.load_field", "kernel.store_field")


class IRError(BuildError):
    """An operation breaks a rule of its dialect."""

    code = "LP2150"
    _stays_behind = ("operation",)

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
    ops = operations(op)
    try:
        _verify_each(ops)
    except Exception as error:  # xDSL's operations refuse with exceptions of many kinds
        raise _error_of_first_failure(op, error) from error
    _verify_dominance(ops)


def _verify_each(ops: Sequence[Operation]) -> None:
    """Verifies operations one by one; those whose rules read types and properties only, once for all alike."""
    known: set[tuple[object, ...]] = set()
    for op in ops:
        if op.regions:
            op.verify(verify_nested_ops=False)
            _verify_blocks(op)
            continue
        key = _shape(op)
        if key is None:
            op.verify(verify_nested_ops=False)
        elif key not in known:
            op.verify(verify_nested_ops=False)
            known.add(key)


def _shape(op: Operation) -> tuple[object, ...] | None:
    """Returns what the rules of an operation read, None where they read more: its place, or other operations.

    Types and properties count by identity, which hashing them would cost more than the rules do; the module keeps them.
    """
    if op.name.partition(".")[0] not in _PLAIN_DIALECTS and op.name not in _PLAIN_OPERATIONS:
        return None
    if op.parent is not None and op.parent.last_op is op:
        return None  # must it be a terminator?
    key: list[object] = [type(op), len(op.results)]
    key += [id(result.type) for result in op.results]
    for value in op.operands:
        if isinstance(value, ErasedSSAValue):
            return None
        key.append(id(value.type))
    for name, value in op.properties.items():
        key += (name, id(value))
    return tuple(key)


def _verify_blocks(op: Operation) -> None:
    """Checks what xDSL checks of regions and blocks."""
    for region in op.regions:
        for block in region.blocks:
            if block.parent is not region:
                raise ValueError("a block's parent is not the region that it lies in")
            if block.first_op is None and len(region.blocks) == 1 and not op.has_trait(NoTerminator):
                raise VerifyException(
                    f"Operation {op.name} contains empty block in single-block region that expects at least a "
                    "terminator"
                )


def _error_of_first_failure(root: Operation, error: Exception) -> IRError:
    culprit = root
    for op in _innermost_first(root):
        try:
            op.verify(verify_nested_ops=False)
        except Exception as failure:
            culprit, error = op, failure
            break
    while isinstance(error.__cause__, VerifyException):
        error = error.__cause__
    message = str(error).strip()
    if message.startswith("Redefinition of symbol") and (second := _second_of_a_symbol(culprit)) is not None:
        culprit, message = second, f"'{second.name}' {message[0].lower()}{message[1:]}; name each once"
    return IRError(message if culprit.name in message else f"'{culprit.name}' {message}", operation=culprit)


def _second_of_a_symbol(table: Operation) -> Operation | None:
    """Returns the operation in a symbol table that has the symbol of one before it."""
    seen: set[Attribute] = set()
    for op in table.regions[0].blocks[0].ops:
        symbol = op.get_attr_or_prop("sym_name")
        if symbol in seen:
            return op
        if symbol is not None:
            seen.add(symbol)
    return None


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


def _verify_dominance(ops: Sequence[Operation]) -> None:
    order = {op: position for position, op in enumerate(ops)}
    dominance: dict[Region, DominanceInfo] = {}
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
