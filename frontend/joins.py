"""What a branch leaves behind: results of `scf.if`, or selects, for the values and variables of its two sides."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_

from xdsl.dialects import arith, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..ir.attribute_values import integer
from ..ir.create import create, move_all, region_of
from ..ir.walk import block_operations
from .analysis import FLAGS
from .fixed_arrays import fixed_ssa
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .promotion import settled
from .values import (
    Array,
    Binding,
    Composite,
    FixedArray,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    constant,
    describe,
)

_MAXIMUM_SELECTED_OPS = 8
"""Ops on one side up to which computing both sides is cheaper than jumping."""


@dataclass(slots=True)
class Arm:
    """One side of a branch after it was compiled."""

    block: Block
    env: dict[str, Binding]
    value: Value | None = None
    is_dead_end: bool = False
    """The code after the branch does not run where this side was taken."""


class IncompatibleError(Exception):
    """The two sides leave things behind that no value can stand for; the message says which."""


def is_cheap(block: Block) -> bool:
    """Whether all of a block may run unasked: pure arithmetic, and little of it."""
    for position, op in enumerate(block_operations(block)):
        if (
            position >= _MAXIMUM_SELECTED_OPS
            or op.regions
            or op.name.partition(".")[0] not in ("arith", "math")
        ):
            return False
    return True


@dataclass(slots=True, eq=False)
class Slot(Scalar):
    """A scalar that will be result `index` of the branch."""

    index: int = 0


@dataclass(slots=True, eq=False)
class FixedSlot(FixedArray):
    """A fixed array that will be result `index` of the branch."""

    index: int = 0


class Join:
    """Collects what a branch must yield."""

    def __init__(self, fb: FunctionBuilder, test: Scalar, then: Arm, other: Arm, node: ast.AST) -> None:
        self.fb, self.test, self.then, self.other, self.node = fb, test, then, other, node
        self.pairs: list[tuple[SSAValue, SSAValue]] = []

    def binding(self, name: str) -> Binding | None:
        """Returns what variable `name` is after the branch."""
        clear = FALSE if name in FLAGS else None
        first, second = self.then.env.get(name, clear), self.other.env.get(name, clear)
        if first is second:
            return first
        for mine, theirs, arm in ((first, second, self.then), (second, first, self.other)):
            if isinstance(mine, Unset) or mine is None:
                if arm.is_dead_end and not isinstance(theirs, Unset) and theirs is not None:
                    return self._without(theirs, name, arm, mine)
                return self._unset(mine, theirs, name, arm)
        if first is None or second is None or isinstance(first, Unset) or isinstance(second, Unset):
            return Unset(self.node)
        try:
            return self.value(first, second, f"variable '{name}'")
        except IncompatibleError as error:
            if self.then.is_dead_end or self.other.is_dead_end:
                return second if self.then.is_dead_end else first
            raise self.fb.error(self.node, str(error), "LP2037", hint="use two variables") from None

    def _without(self, theirs: Value, name: str, arm: Arm, mine: Binding | None = None) -> Value:
        """Returns the value of the side that sets a variable; `arm`, the other, hands on what it has."""
        known = mine.value if isinstance(mine, Unset) else None
        try:
            filler = zero_like(theirs) if known is None else known
        except IncompatibleError:
            return theirs
        pair = (filler, theirs) if arm is self.then else (theirs, filler)
        return self.value(*pair, f"variable '{name}'")

    def _unset(self, mine: Binding | None, theirs: Binding | None, name: str, arm: Arm) -> Unset:
        value = None
        if isinstance(self.node, ast.expr) or name in self.fb.handed_on:
            value = self._elsewhere(mine, theirs, name, arm)
        if isinstance(mine, Unset) and mine.where is not None:
            return Unset(mine.where, mine.path, value)
        return Unset(self.node, _path(self.node, arm is self.then), value)

    def _elsewhere(self, mine: Binding | None, theirs: Binding | None, name: str, arm: Arm) -> Value | None:
        """Returns what a variable that an expression sets on some paths is on those."""
        here = mine.value if isinstance(mine, Unset) else mine
        there = theirs.value if isinstance(theirs, Unset) else theirs
        if here is None:
            return None if there is None else self._without(there, name, arm)
        if there is None:
            return self._without(here, name, self.other if arm is self.then else self.then)
        pair = (here, there) if arm is self.then else (there, here)
        try:
            return self.value(*pair, f"variable '{name}'")
        except IncompatibleError:
            return None

    def value(self, first: Value, second: Value, what: str) -> Value:
        """Returns what stands for `first` or `second`, whichever side was taken."""
        if first is second:
            return first
        if isinstance(first, Scalar) and isinstance(second, Scalar):
            return self._scalar(first, second)
        if isinstance(first, Tuple) and isinstance(second, Tuple) and first.matches(second):
            pairs = zip(first.items, second.items, strict=True)
            return first.with_items([self.value(a, b, what) for a, b in pairs])
        if same_object(first, second):
            return first
        if isinstance(first, FixedArray) and isinstance(second, FixedArray) and first.type == second.type:
            return self._fixed_array(first, second)
        if isinstance(first, Composite) or isinstance(second, Composite):
            raise IncompatibleError(
                f"{what} is {describe(first)} on one path and {describe(second)} on the other"
            )
        raise IncompatibleError(
            f"{what} is {describe(first)} on one path and {describe(second)} on the other; "
            "arrays and compile-time objects cannot depend on run-time conditions"
        )

    def _scalar(self, first: Scalar, second: Scalar) -> Scalar:
        if first.const is not None and first.const == second.const and first.type is second.type:
            return first if repr(first.const) == repr(second.const) else self._slot(first, second)
        return self._slot(first, second)

    def _slot(self, first: Scalar, second: Scalar) -> Scalar:
        first, second = own_type(first), own_type(second)
        pair = (required(self.fb, first), required(self.fb, second))
        if pair[0] is pair[1]:
            return first
        bounds = None
        if first.bounds is not None and second.bounds is not None:
            bounds = (min(first.bounds[0], second.bounds[0]), max(first.bounds[1], second.bounds[1]))
        self.pairs.append(pair)
        return Slot(first.type, bounds=bounds, index=len(self.pairs) - 1)

    def _fixed_array(self, first: FixedArray, second: FixedArray) -> FixedArray:
        pairs: list[SSAValue] = []
        for array, arm in ((first, self.then), (second, self.other)):
            with self.fb.into(arm.block):
                ssa = fixed_ssa(self.fb, array)
            assert ssa is not None
            pairs.append(ssa)
        self.pairs.append((pairs[0], pairs[1]))
        return FixedSlot(first.type, None, index=len(self.pairs) - 1)

    def emit(self) -> Sequence[SSAValue]:
        """Emits the branch, or selects where both sides are cheap; returns its results."""
        fb, then, other = self.fb, self.then.block, self.other.block
        if self.pairs and is_cheap(then) and is_cheap(other):
            return self._selects()
        if not (self.pairs or then.first_op or other.first_op):
            return ()
        types = [pair[0].type for pair in self.pairs]
        with fb.into(then):
            fb.append(create(scf.YieldOp, operands=[pair[0] for pair in self.pairs]))
        regions = [region_of(then)]
        if self.pairs or other.first_op is not None:
            with fb.into(other):
                fb.append(create(scf.YieldOp, operands=[pair[1] for pair in self.pairs]))
            regions.append(region_of(other))
        else:
            regions.append(region_of())
        op = create(scf.IfOp, operands=[required(fb, self.test)], result_types=types, regions=regions)
        fb.append(op)
        return op.results

    def _selects(self) -> Sequence[SSAValue]:
        fb = self.fb
        for block in (self.then.block, self.other.block):
            move_all(block, fb.block)
        test = required(fb, self.test)
        return [_select(fb, test, *pair) for pair in self.pairs]


def _select(fb: FunctionBuilder, test: SSAValue, first: SSAValue, second: SSAValue) -> SSAValue:
    if first.type == ir_type(BOOL):
        known = _constant_bool(first), _constant_bool(second)
        if known == (True, False):
            return test
        if known[0] is False:
            is_false = _emitted(fb, arith.XOrIOp, [test, required(fb, constant(True))], first.type)
            return is_false if known[1] else _emitted(fb, arith.AndIOp, [is_false, second], first.type)
        if known[1] is False:
            return _emitted(fb, arith.AndIOp, [test, first], first.type)
        if known[0] is True:
            return _emitted(fb, arith.OrIOp, [test, second], first.type)
    return _emitted(fb, arith.SelectOp, [test, first, second], first.type)


def _emitted(fb: FunctionBuilder, op: type[Operation], operands: list[SSAValue], ir: Attribute) -> SSAValue:
    result = fb.emit(op, operands, ir)
    assert result is not None
    return result


def _constant_bool(value: SSAValue) -> bool | None:
    owner = value.owner
    number = integer(owner.properties["value"]) if isinstance(owner, arith.ConstantOp) else None
    return None if number is None else number != 0


def required(fb: FunctionBuilder, value: Scalar) -> SSAValue:
    """Returns the IR value of a number, outside of type inference."""
    ssa = fb.ssa(value)
    assert ssa is not None, "a value without an op outside of type inference"
    return ssa


def filled(binding: Binding, results: Sequence[SSAValue]) -> Binding:
    """Returns what a variable is behind the branch, whose results are known now."""
    if not isinstance(binding, Unset):
        return filled_value(binding, results)
    if binding.value is None:
        return binding
    return Unset(binding.where, binding.path, filled_value(binding.value, results))


def filled_value(value: Value, results: Sequence[SSAValue]) -> Value:
    """Returns a value with the results of the branch in it."""
    if isinstance(value, Slot):
        return Scalar(value.type, results[value.index], bounds=value.bounds)
    if isinstance(value, FixedSlot):
        return FixedArray(value.type, results[value.index])
    if isinstance(value, Tuple):
        items = [filled_value(item, results) for item in value.items]
        # The memory of a variable stays the object that it was.
        return value if all(map(is_, items, value.items)) else value.with_items(items)
    return value


def own_type(value: Scalar) -> Scalar:
    """Returns a literal in the type that it has where it meets no other, any other value as it is."""
    return Scalar(settled(value.type), const=value.const) if value.is_weak else value


def zero_like(value: Value) -> Value:
    """Returns a value of the same type for paths on which nobody reads it.

    Raises:
        IncompatibleError: a compile-time object.
    """
    if isinstance(value, Scalar):
        const = False if value.type is BOOL else 0.0 if value.type.is_float else 0
        return Scalar(value.type, const=const)
    if isinstance(value, Tuple):
        return value.with_items(zero_like(item) for item in value.items)
    if isinstance(value, FixedArray) and not value.prefix:
        return FixedArray(value.type, None)
    raise IncompatibleError(describe(value))


def same_object(first: Value, second: Value) -> bool:
    """Whether two compile-time objects are one."""
    if isinstance(first, Static) and isinstance(second, Static):
        return first.obj is second.obj
    if isinstance(first, Array) and isinstance(second, Array):
        return first.ssa is second.ssa
    if isinstance(first, FixedArray) and isinstance(second, FixedArray):
        return first.ssa is second.ssa and first.ssa is not None and not first.prefix and not second.prefix
    if isinstance(first, Composite) and isinstance(second, Composite) and first.matches(second):  # in memory
        return all(a is b or same_object(a, b) for a, b in zip(first.items, second.items, strict=True))
    return False


def _path(node: ast.AST, is_then: bool) -> str:
    match node:
        case ast.If() | ast.IfExp():
            return "where the condition is " + ("true" if is_then else "false")
        case ast.BoolOp():
            return "where the operands before it decide"
        case ast.Compare():
            return "where a comparison before it fails"
        case _:
            return "on another path"


FALSE = constant(False)
"""The bool constant that flags start with."""
