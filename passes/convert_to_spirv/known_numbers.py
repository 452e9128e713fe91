"""Numbers and conditions that Mesa may find out when it compiles a kernel: n - n, x < x, u < 0, 7 & (n << 3).

It inlines all functions, knows the numbers of specialization constants, of the rounds of loops that it writes out and
of ids in groups of one work-item, and hands on what was stored to what is loaded.  A number that differs for two inputs
it cannot know, see `value_samples`.  A float with an operand that it does not know is not known: zeros are hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.dialects import spirv
from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.spec_constant import GetOp
from ...ir.walk import operands_of
from ..optimise.effects import array_of
from .types import is_float, scalar_of
from .value_samples import LOADS, Chain, Number, ValueSamples, arriving

if TYPE_CHECKING:
    from .array_parts import Parts

_STORES = ("memref.store", "kernel.store_field", "kernel.store_wide")
_STORES_READ = 16
"""How many stores to an array are looked at; of more, one is taken for a zero."""
_DEPTH = 80
"""How many operations are followed; what lies behind is taken for known."""

_FROM_INTEGERS = (arith.SIToFPOp, arith.UIToFPOp)
_COMPUTED = frozenset((arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp))
_ONE_TO_ONE = (arith.AddiOp, arith.SubiOp, arith.XOrIOp)
"""Operations that give as many numbers as one operand has, whatever the other is."""
_KEPT = (arith.ExtSIOp, arith.ExtUIOp, arith.IndexCastOp, arith.BitcastOp)


class KnownNumbers:
    """What a driver may know of the values of one module, found out once for each."""

    def __init__(self) -> None:
        self._samples = ValueSamples(self._is_hidden, self.is_known)
        self._known: dict[SSAValue, bool] = {}
        self._varying: dict[tuple[SSAValue, Chain], bool] = {}
        self._stored: dict[SSAValue, list[SSAValue] | None] = {}
        self._ahead: dict[SSAValue, set[Operation]] = {}
        self._depth = 0

    def is_known(self, value: SSAValue) -> bool:
        """Whether the driver may find out a number."""
        known = self._known.get(value)
        if known is not None or self._depth >= _DEPTH:
            return known is not False
        self._depth += 1
        self._known[value] = True  # where it depends on itself, through memory
        try:
            known = self._is_known(value)
        finally:
            self._depth -= 1
        self._known[value] = known
        return known

    def result_of(self, call: func.CallOp, value: SSAValue) -> SSAValue | None:
        """Returns what a function of this module gives for a result of its call."""
        return self._samples.result_of(call, value)

    def parts_of(self, value: SSAValue, *, in_calls: bool = True) -> Parts | None:
        """Returns what an element of an array that is a value may be; None for other values.

        Args:
            value: any value.
            in_calls: whether what callers and called functions give is looked for.
        """
        if type(value.owner) is not spirv.CompositeExtractOp:
            return None
        from .array_parts import parts_of  # few kernels have such arrays

        return parts_of(value, self._samples if in_calls else None)

    def _is_known(self, value: SSAValue) -> bool:
        if is_float(scalar_of(value.type)):
            return self._is_known_float(value)
        chains = self._samples.chains(value)
        return chains is None or not all(self._varies(value, chain) for chain in chains)

    def _is_known_float(self, value: SSAValue) -> bool:
        owner = value.owner
        kind = type(owner)  # isinstance() of an operation's class is a call in Python
        if kind is Block:
            return False  # loops and functions get floats that are hidden where they are known
        owner = cast("Operation", owner)
        if kind in _COMPUTED:
            return all(map(self.is_known, owner.operands))
        if kind is arith.ConstantOp or kind is GetOp or is_element(value):
            return True
        if owner.name in LOADS:
            return self.may_hold(owner.operands[0], self.is_known)
        if kind is arith.SelectOp:
            condition, *arms = owner.operands
            return self.any_is_chosen(condition, [self.is_known(arm) for arm in arms])
        if type(owner) is scf.IfOp:
            return self.any_is_chosen(owner.cond, [self.is_known(arm) for arm in yielded(owner, value)])
        if type(owner) is func.CallOp:
            result = self._samples.result_of(owner, value)
            return result is not None and self.is_known(result)
        if (parts := self.parts_of(value)) is not None:
            return not parts.is_complete or any(map(self.is_known, parts.values))
        is_followed = owner.name.startswith(("arith.", "math.", "spirv.Group", "vector."))
        return is_followed and all(map(self.is_known, owner.operands))

    def any_is_chosen(self, condition: SSAValue, are_meant: list[bool]) -> bool:
        """Whether the driver may find out that one of two arms is chosen, and that one is meant."""
        if all(are_meant) or not any(are_meant):
            return any(are_meant)
        chains = self._samples.chains(condition)
        if chains is None:
            return True
        chosen: set[Number] = set()
        for chain in chains:
            constants = self._samples.constants(condition, chain)
            if constants is None and not self._varies(condition, chain):
                return True
            chosen |= constants or set()
        return any(are_meant[0 if truth else -1] for truth in chosen)

    # Integers

    def _varies(self, value: SSAValue, chain: Chain) -> bool:
        """Whether the driver cannot find out an integer in a function that is reached by some calls."""
        key = value, chain
        known = self._varying.get(key)
        if known is None:
            self._varying[key] = False  # where it depends on itself
            constants = self._samples.constants(value, chain)
            known = self._varies_beside_known(value, chain) if constants is None else not constants
            self._varying[key] = known
        return known

    def _varies_beside_known(self, value: SSAValue, chain: Chain) -> bool:
        """The same of an integer that depends on what the driver may know."""
        owner = value.owner
        if self._depth >= _DEPTH:
            return False
        if isinstance(owner, Block):
            is_of_call = bool(chain) and isinstance(owner.parent_op(), Function)
            return is_of_call and self._varies(chain[-1].operands[owner.args.index(value)], chain[:-1])
        if isinstance(owner, _ONE_TO_ONE):
            a, b = operands_of(owner)
            return any(
                self._varies(one, chain) and self._is_made_of_known(other, set())
                for one, other in ((a, b), (b, a))
            )
        if isinstance(owner, arith.SelectOp):
            condition, *arms = owner.operands
            return self._varies_chosen(condition, arms, chain)
        if isinstance(owner, scf.IfOp):
            return self._varies_chosen(owner.cond, yielded(owner, value), chain)
        if isinstance(owner, scf.ForOp | scf.WhileOp):
            return False
        if isinstance(owner, func.CallOp):
            result = self._samples.result_of(owner, value)
            return result is not None and self._varies(result, (*chain, owner))
        if owner.name in LOADS:
            return not is_element(value) and not self.may_hold(owner.operands[0], self.is_known)
        if self._is_hidden(owner):
            return False
        if (parts := self.parts_of(value, in_calls=False)) is not None:
            return parts.is_complete and all(self._varies(part, chain) for part in parts.values)
        if not owner.name.startswith("arith."):
            return True  # vectors, which have no samples
        if len(owner.operands) != 1:
            return False
        (operand,) = owner.operands
        if is_float(operand.type):
            return not self.is_known(operand)
        return isinstance(owner, _KEPT) and self._varies(operand, chain)

    def _varies_chosen(self, condition: SSAValue, arms: list[SSAValue], chain: Chain) -> bool:
        vary = [self._varies(arm, chain) for arm in arms]
        return all(vary) or (any(vary) and self._varies(condition, chain))

    def _is_made_of_known(self, value: SSAValue, seen: set[SSAValue]) -> bool:
        """Whether all that an integer is made of may be known: it has nothing in common with what is not."""
        owner = value.owner
        if value in seen:
            return True
        seen.add(value)
        if len(seen) > _DEPTH:
            return False
        if isinstance(owner, Block):
            others = arriving(owner, owner.args.index(value))
            return bool(others) and all(self._is_made_of_known(other, seen) for other in others)
        if owner.name in LOADS:
            return False  # what was stored there may be what it is compared with
        if isinstance(owner, arith.ConstantOp) or self._is_hidden(owner):
            return not owner.name.startswith("gpu.")
        return owner.name.startswith("arith.") and all(
            self._is_made_of_known(operand, seen) for operand in owner.operands
        )

    # Memory

    def _is_hidden(self, op: Operation) -> bool:
        """Whether a driver may know what an operation gives, although it is computed from nothing."""
        if isinstance(op, GetOp) or op.name == "spirv.Load":
            return True
        if op.name in LOADS:
            return is_element(op.results[0]) or self._is_handed_on(op)
        if op.name.startswith("spirv.Group"):
            return all(map(self.is_known, op.operands))
        return op.name.startswith("gpu.") and op.name != "gpu.global_id"

    def _is_handed_on(self, load: Operation) -> bool:
        """Whether a driver may hand on to a load what was stored: what is loaded ahead of all stores is input."""
        array = array_of(load.operands[0])
        if not self.may_hold(array, lambda _: True):
            return False
        block = array.owner if isinstance(array.owner, Block) else array.owner.parent
        function = None if block is None else block.parent_op()
        if block is None or not isinstance(function, Function) or not is_kernel(function):
            return True
        if array not in self._ahead:
            self._ahead[array] = _ahead_of_stores(array, block)
        return block.find_ancestor_op_in_block(load) not in self._ahead[array]

    def may_hold(self, array: SSAValue, is_meant: Callable[[SSAValue], bool]) -> bool:
        """Whether the kernel may store such a value into an array, from where a driver hands it on to loads."""
        array = array_of(array)
        if array not in self._stored:
            self._stored[array] = None  # while its own loads are looked at
            self._stored[array] = self._find_stored(array)
        stored = self._stored[array]
        return stored is None or any(map(is_meant, stored))

    def _find_stored(self, array: SSAValue) -> list[SSAValue] | None:
        """Returns what is stored into an array, also by functions that take it; None where that is too much."""
        stored: list[SSAValue] = []
        seen, pending = {array}, [array]
        while pending:
            value = pending.pop()
            others = self._same_array(value)
            for use in value.uses:
                op = use.operation
                if op.name in _STORES and op.operands[0] is not value:
                    stored.append(op.operands[0])
                elif isinstance(op, memref.CollapseShapeOp):
                    others.append(op.results[0])
                elif isinstance(op, func.CallOp) and (callee := self._samples.callee(op)) is not None:
                    others.append(callee.body.block.args[use.index])
            pending += [other for other in others if other not in seen]
            seen.update(others)
            if len(stored) > _STORES_READ:
                return None
        return stored

    def _same_array(self, value: SSAValue) -> list[SSAValue]:
        """Returns what callers give for an array that a function takes, and what a view is one of."""
        owner = value.owner
        if isinstance(owner, memref.CollapseShapeOp):
            return [owner.src]
        if isinstance(owner, Block) and isinstance(function := owner.parent_op(), Function):
            number = owner.args.index(value)
            return [call.operands[number] for call in self._samples.calls_of(function)]
        return []


def _ahead_of_stores(array: SSAValue, block: Block) -> set[Operation]:
    """Returns the operations of a kernel's block ahead of the first in which an array is used but for loading."""
    writers: set[Operation | None] = set()
    pending = [array]
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, memref.CollapseShapeOp):
                pending.append(op.results[0])
            elif op.name not in LOADS and op.name != "memref.dim":
                writers.add(block.find_ancestor_op_in_block(op))
    return set(takewhile(lambda op: op not in writers, block.ops))


def is_element(value: SSAValue) -> bool:
    """Whether a value is read from a private array, among them specialization constants that are indexed."""
    owner = value.owner
    if type(owner) is memref.LoadOp:
        return type(array_of(owner.memref).owner) is memref.AllocaOp
    while type(owner) is spirv.LoadOp or type(owner) is spirv.AccessChainOp:
        owner = owner.operands[0].owner
    return type(owner) is spirv.VariableOp


def yielded(op: scf.IfOp, value: SSAValue) -> list[SSAValue]:
    """Returns what the arms of a branch give for one of its results."""
    number = op.results.index(value)
    ends = [region.block.last_op for region in op.regions if region.blocks]
    return [end.operands[number] for end in ends if end is not None]
