"""Values of a kernel's numbers for inputs that are made up: one that differs is none that a driver can find out.

A driver that finds out a number is right about it for all inputs.  So `f(a, b)` with two different samples is not
known, whatever the driver makes of its operations.  What the driver may know, and nobody here does, has no sample:
specialization constants, rounds of loops, ids in groups that may have one work-item, memory that the function wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.call_graph import CallGraph, Function, SymbolTables, has_body
from ...ir.dialects.kernel import is_kernel
from ...ir.narrowing import is_float_attribute, is_integer_attribute
from ..optimise.constants import integer_width, wrap
from .sample_arithmetic import Number, computed
from .types import is_float

Chain = tuple[func.CallOp, ...]
"""The calls through which a function was reached, outermost first; () in a kernel."""

_INPUTS = 12
"""How many inputs are made up."""
_ROUNDS = 8
"""How many rounds of loops are looked at, at most: a number must differ in each."""
_MOST_CHAINS = 16
"""Of a function that is called in more ways, arguments have no samples."""
_DEPTH = 80
"""How many operations are followed."""

_NATURAL = ("memref.dim", "gpu.global_id", "kernel.global_range")
LOADS = ("memref.load", "kernel.load_field", "kernel.load_wide")
_OF_REGIONS = frozenset((scf.IfOp, scf.ForOp, scf.WhileOp))
_COMMUTATIVE = frozenset((arith.AddfOp, arith.MulfOp, arith.MinnumfOp, arith.MaxnumfOp))
_FOLLOWED = frozenset(
    (arith.SelectOp, arith.BitcastOp, arith.SIToFPOp, arith.UIToFPOp, arith.MinnumfOp, arith.MaxnumfOp)
)


class ValueSamples:
    """Samples of the values of one module.

    Args:
        is_hidden: whether a driver may know what an operation gives that computes nothing.
        is_known: whether it may know a float.
    """

    def __init__(self, is_hidden: Callable[[Operation], bool], is_known: Callable[[SSAValue], bool]) -> None:
        self._is_hidden, self._is_known_float = is_hidden, is_known
        self._samples: dict[tuple[SSAValue, Chain, int], Number | None] = {}
        self._inputs: dict[SSAValue, int] = {}
        self._structures: dict[tuple[SSAValue, Chain], int] = {}
        self._numbers: dict[object, int] = {}
        self._callers: dict[Function, list[func.CallOp]] | None = None
        self._symbols = SymbolTables()
        self._depth = 0
        self._in_loops: set[tuple[SSAValue, Chain]] = set()
        """What depends on what a loop carries."""
        self._meets_loop = False
        self._rounds = 2
        """After so many rounds, what a loop that was met begins with has passed through all that it carries."""

    def constants(self, value: SSAValue, chain: Chain) -> set[Number] | None:
        """Returns the numbers that a scalar is for all inputs, in one round of loops or another; None without
        samples."""
        constants: set[Number] = set()
        for turn in range(_ROUNDS):
            first = turn * _INPUTS
            one = self._sample(value, chain, first)
            if one is None:
                return None
            if all(self._sample(value, chain, first + number) == one for number in range(1, _INPUTS)):
                constants.add(one)
            if (value, chain) not in self._in_loops or turn + 1 >= self._rounds:
                break
        return constants

    def chains(self, value: SSAValue) -> list[Chain] | None:
        """Returns the ways to the function that a value lies in; None where they are too many."""
        function = _function_of(value)
        chains = [()] if function is None else self._chains(function)
        return chains if len(chains) <= _MOST_CHAINS else None

    def _chains(self, function: Function, depth: int = 0) -> list[Chain]:
        callers = [] if is_kernel(function) else self.calls_of(function)
        if not callers:
            return [()]
        if depth > _MOST_CHAINS:  # it calls itself, which is refused elsewhere
            return [()] * (_MOST_CHAINS + 1)
        found: list[Chain] = []
        for call in callers:
            caller = _function_of(call.operands[0] if call.operands else call.results[0])
            found += [
                (*chain, call) for chain in ([()] if caller is None else self._chains(caller, depth + 1))
            ]
            if len(found) > _MOST_CHAINS:
                break
        return found

    def calls_of(self, function: Function) -> list[func.CallOp]:
        """Returns the calls of a function."""
        if self._callers is None:
            root: Operation = function
            while (parent := root.parent_op()) is not None:
                root = parent
            graph = CallGraph.of(root)
            self._callers = {f: [call.op for _, call in calls] for f, calls in graph.callers().items()}
        return self._callers.get(function, [])

    def result_of(self, call: func.CallOp, value: SSAValue) -> SSAValue | None:
        """Returns what a function gives for a result of its call, if that is known."""
        callee = self.callee(call)
        if callee is None or len(callee.body.blocks) != 1 or (end := callee.body.block.last_op) is None:
            return None
        return end.operands[call.results.index(value)]

    def callee(self, call: func.CallOp) -> Function | None:
        """Returns the function that a call reaches, if it lies in the module."""
        callee = self._symbols.resolve(call, call.callee)
        return callee if isinstance(callee, Function) and has_body(callee) else None

    def _sample(self, value: SSAValue, chain: Chain, number: int) -> Number | None:
        key = value, chain, number
        if key in self._samples:
            self._meets_loop |= (value, chain) in self._in_loops
            return self._samples[key]
        if self._depth >= _DEPTH:
            return None
        self._depth += 1
        met_loop, self._meets_loop = self._meets_loop, False
        try:
            found = self._samples[key] = self._find(value, chain, number)
        finally:
            self._depth -= 1
        if self._meets_loop:
            self._in_loops.add((value, chain))
        self._meets_loop |= met_loop
        return found

    def _find(self, value: SSAValue, chain: Chain, number: int) -> Number | None:
        owner = value.owner
        if not _is_scalar(value):
            return None
        if isinstance(owner, Block):
            return self._argument(owner, value, chain, number)
        if type(owner) is arith.ConstantOp:  # isinstance() of an operation's class is a call in Python
            attribute = owner.properties["value"]
            if is_integer_attribute(attribute) or is_float_attribute(attribute):
                return attribute.value.data
            return None
        if type(owner) is scf.IfOp:
            return self._chosen(owner, value, chain, number)
        if type(owner) is func.CallOp:
            result = self.result_of(owner, value)
            return None if result is None else self._sample(result, (*chain, owner), number)
        if type(owner) is scf.ForOp or type(owner) is scf.WhileOp:
            values = carried(owner, owner.results.index(value))
            return self._in_round(value, values, chain, number)
        if owner.name == "spirv.CompositeExtract":
            return self._element(value, chain, number)
        if not owner.name.startswith("arith."):
            return None if self._is_hidden(owner) else self._made_up(value, chain, number)
        operands = (
            [self._sample(operand, chain, number) for operand in owner.operands]
            if _is_followed(value)
            else []
        )
        if type(owner) is arith.SelectOp:
            condition, *arms = operands
            return None if condition is None else arms[0 if condition else 1]
        numbers = [operand for operand in operands if operand is not None]
        if len(numbers) < len(owner.operands):
            is_unknown = is_float(value.type) and not self._is_known_float(value)
            return self._made_up(value, chain, number) if is_unknown else None
        found = computed(owner, value, numbers)
        return self._made_up(value, chain, number) if found is None else found

    def _element(self, value: SSAValue, chain: Chain, number: int) -> Number | None:
        """What is taken out of an array, where that is one number, or out of a vector."""
        from .array_parts import parts_of  # few kernels have such arrays

        parts = parts_of(value, None)
        if parts is None:
            return self._made_up(value, chain, number)
        is_one = parts.is_complete and not parts.is_carried and len(parts.values) == 1
        return self._sample(parts.values[0], chain, number) if is_one else None

    def _chosen(self, owner: scf.IfOp, value: SSAValue, chain: Chain, number: int) -> Number | None:
        condition = self._sample(owner.cond, chain, number)
        if condition is None:
            return None
        end = owner.regions[0 if condition else 1].block.last_op
        return None if end is None else self._sample(end.operands[owner.results.index(value)], chain, number)

    def _argument(self, block: Block, value: SSAValue, chain: Chain, number: int) -> Number | None:
        place = block.args.index(value)
        loop = block.parent_op()
        if isinstance(loop, Function):
            if chain:
                return self._sample(chain[-1].operands[place], chain[:-1], number)
            return self._made_up(value, chain, number)
        if isinstance(loop, scf.ForOp) and place == 0:
            start, step = self._sample(loop.lb, chain, number), self._sample(loop.step, chain, number)
            self._meets_loop = True
            if start is None or step is None or isinstance(loop.lb.owner, arith.ConstantOp):
                return None
            return wrap(int(start + number // _INPUTS * step), integer_width(value.type) or 32)
        return self._in_round(value, arriving(block, place), chain, number)

    def _in_round(self, value: SSAValue, values: list[SSAValue], chain: Chain, number: int) -> Number | None:
        """What a loop carries, which is one of these: what it begins with in the first round; floats begin hidden."""
        self._meets_loop = True
        if is_float(value.type):
            return self._made_up(value, chain, number)
        rounds = _rounds_of(value)
        if not values or rounds > _ROUNDS:
            return None
        self._rounds = max(self._rounds, rounds)
        is_first = number < _INPUTS or len(values) == 1
        return (
            self._sample(values[0], chain, number)
            if is_first
            else self._sample(values[1], chain, number - _INPUTS)
        )

    def _structure(self, value: SSAValue, chain: Chain) -> int:
        """Returns a number that values have in common that are computed alike: loads of one place are one number."""
        key = value, chain
        known = self._structures.get(key)
        if known is None:
            self._structures[key] = self._number(value)
            known = self._structures[key] = self._number(self._find_structure(value, chain))
        return known

    def _find_structure(self, value: SSAValue, chain: Chain) -> object:
        owner = value.owner
        if self._depth >= _DEPTH or type(owner) in _OF_REGIONS:
            return value
        if isinstance(owner, Block):
            if chain and isinstance(owner.parent_op(), Function):
                return self._structure(chain[-1].operands[owner.args.index(value)], chain[:-1])
            return value
        if type(owner) is memref.CollapseShapeOp:
            return self._structure(owner.operands[0], chain)
        if type(owner) is func.CallOp:
            result = self.result_of(owner, value)
            return value if result is None else self._structure(result, (*chain, owner))
        if integer_width(value.type) is not None and owner.name.startswith("arith."):
            return "integer", self._sample(value, chain, 0), self._sample(value, chain, 1)
        self._depth += 1
        try:
            operands = tuple(self._structure(operand, chain) for operand in owner.operands)
        finally:
            self._depth -= 1
        if not operands and not owner.properties:
            return owner.name if owner.name.startswith("gpu.") else value
        if type(owner) in _COMMUTATIVE:
            operands = tuple(sorted(operands))
        properties = tuple(map(str, owner.properties.values()))
        is_memory = owner.name == "memref.alloca" or owner.name == "memref.alloc"
        return value if is_memory else (owner.name, properties, owner.results.index(value), operands)

    def _number(self, structure: object) -> int:
        return self._numbers.setdefault(structure, len(self._numbers))

    def _made_up(self, value: SSAValue, chain: Chain, number: int) -> Number:
        """Returns a number for what is not computed of others here, alike for what is the same."""
        bits = _mixed(self._structure(value, chain) * _INPUTS + number % _INPUTS)
        if is_float(value.type):
            is_function = not isinstance(value.owner, Block) and value.owner.name.startswith("math.")
            if is_function:
                return 0.25 + bits % 512 / 1024
            is_wide, is_positive = number % 3 == 0, number % 3 == 1
            power = (bits >> 20) % (48 if is_wide else 8) - (24 if is_wide else 4)
            size = math.ldexp(1 + bits * 0x9E3779B1 % 0x800000 / 0x800000, power)
            return size if is_positive or bits >> 31 else -size
        if number % 2 or _is_natural(value):
            bits &= 0x7F
        return wrap(bits * 0x100000001, integer_width(value.type) or 32)


def _mixed(number: int) -> int:
    """Returns 32 bits that tell little of a number and the ones beside it: the end of MurmurHash3."""
    bits = (number + 1) * 0x9E3779B1 & 0xFFFFFFFF
    bits = (bits ^ bits >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    bits = (bits ^ bits >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return bits ^ bits >> 16


def _rounds_of(value: SSAValue) -> int:
    """Returns in how many rounds a constant may reach what a loop carries, from one integer to the next."""
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    rounds = 1
    while op is not None and not isinstance(op, Function):
        if isinstance(op, scf.ForOp | scf.WhileOp):
            rounds += sum(not is_float(result.type) for result in op.results)
        op = op.parent_op()
    return rounds


def _is_followed(value: SSAValue) -> bool:
    """Whether samples are computed: of integers, and of floats that are chosen or converted."""
    return not is_float(value.type) or type(value.owner) in _FOLLOWED


def _is_natural(value: SSAValue) -> bool:
    return not isinstance(value.owner, Block) and value.owner.name in _NATURAL


def carried(loop: scf.ForOp | scf.WhileOp, number: int) -> list[SSAValue]:
    """Returns what one of a loop's results may be: what it begins with, and what a round gives."""
    if isinstance(loop, scf.ForOp):
        return arriving(loop.body.block, number + 1)
    condition = loop.before_region.block.last_op
    return [] if condition is None else [condition.operands[number + 1]]


def arriving(block: Block, number: int) -> list[SSAValue]:
    """Returns what a loop hands to an argument of its body: what it begins with, and what a round gives or adds."""
    loop = block.parent_op()
    if isinstance(loop, scf.ForOp):
        if number == 0:
            return [loop.lb, loop.step]
        end = block.last_op
        return [] if end is None else [loop.iter_args[number - 1], end.operands[number - 1]]
    if not isinstance(loop, scf.WhileOp):
        return []
    if block is not loop.before_region.block:
        return carried(loop, number)
    end = loop.after_region.block.last_op
    return [] if end is None else [loop.arguments[number], end.operands[number]]


def _is_scalar(value: SSAValue) -> bool:
    return is_float(value.type) or integer_width(value.type) is not None


def _function_of(value: SSAValue) -> Function | None:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and not isinstance(op, Function):
        op = op.parent_op()
    return op
