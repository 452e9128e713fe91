"""Makes operations in front of one of upstream's that they replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...ir.upstream.index import CmpPredicate
from ..errors import PassError

_PREDICATES = list(CmpPredicate)
_INDEX = IndexType()
NO_FLAGS = arith.FastMathFlagsAttr("none")
"""What operations on floats have where nothing may be assumed."""

Place = TypeVar("Place", bound="UpstreamPlace")
Result = TypeVar("Result")
Number = SSAValue | int
"""An index: a value, or known."""


class UpstreamPlace:
    """An operation to be replaced; what is emitted goes before it, or at the end of a block."""

    def __init__(self, op: Operation, block: Block | None = None, *, anchor: Operation | None = None) -> None:
        """Makes the place for `op`: at the end of `block`, or in front of `anchor`, which `op` itself is by default."""
        self.op: Any = op
        self._block = block
        self._anchor = anchor or op

    def inside(self, block: Block) -> UpstreamPlace:
        """Returns the place at the end of a block, for the same operation."""
        return UpstreamPlace(self.op, block)

    def refused(self, reason: str) -> PassError:
        """Returns the error that the operation cannot be lowered; `reason` ends with what to write instead."""
        return PassError(f"'{self.op.name}' cannot be lowered to SPIR-V: {reason}", self.op)

    def add(self, made: Operation) -> Operation:
        """Puts an operation there."""
        if self._block is not None:
            self._block.add_op(made)
            return made
        block = self._anchor.parent_block()
        assert block is not None, "it is in a function"
        block.insert_op_before(made, self._anchor)
        return made

    def make(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue] = (),
        types: Sequence[Attribute] = (),
        /,
        **rest: Any,
    ) -> Operation:
        """Adds an operation of any number of results; `rest` is regions, and properties by name."""
        regions = rest.pop("regions", ())
        made = kind.create(
            operands=operands, result_types=types, properties=rest, regions=regions, location=self.op.location
        )
        return self.add(made)

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        /,
        **properties: Attribute,
    ) -> SSAValue:
        """Adds an operation of one result, and returns it."""
        return self.make(kind, operands, [type_], **properties).results[0]

    def constant(self, number: float, type_: Attribute) -> SSAValue:
        """Returns a number of an integer or float type."""
        is_whole = isinstance(type_, IntegerType | IndexType)
        kind: Any = type_
        value: Attribute = IntegerAttr(int(number), kind) if is_whole else FloatAttr(float(number), kind)
        return self.emit(arith.ConstantOp, [], kind, value=value)

    def compare(self, predicate: CmpPredicate, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Returns a comparison of integers."""
        number = IntegerAttr(_PREDICATES.index(predicate), i64)
        return self.emit(arith.CmpiOp, [lhs, rhs], i1, predicate=number)

    def compare_floats(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Returns a comparison of floats, by upstream's word."""
        number = IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(predicate), i64)
        return self.emit(arith.CmpfOp, [lhs, rhs], i1, predicate=number, fastmath=NO_FLAGS)

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        """Returns one of two values."""
        known = known_number(condition)
        if known is not None:
            return then if known else otherwise
        return self.emit(arith.SelectOp, [condition, then, otherwise], then.type)

    def both(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Returns whether all of some conditions hold."""
        unknown = [condition for condition in conditions if not known_number(condition)]
        if not unknown:
            return self.constant(1, i1)
        result = unknown[0]
        for condition in unknown[1:]:
            result = self.emit(arith.AndIOp, [result, condition], i1)
        return result

    def value(self, number: Number) -> SSAValue:
        """Returns an index as a value."""
        return self.constant(number, _INDEX) if isinstance(number, int) else number

    def plus(self, lhs: Number, rhs: Number) -> Number:
        """Returns a sum of indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if lhs == 0 or rhs == 0:
            return rhs if lhs == 0 else lhs
        return self.emit(arith.AddiOp, [self.value(lhs), self.value(rhs)], _INDEX)

    def times(self, lhs: Number, rhs: Number) -> Number:
        """Returns a product of indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        if lhs in (0, 1) or rhs in (0, 1):
            first, second = (lhs, rhs) if isinstance(lhs, int) else (rhs, lhs)
            return second if first == 1 else 0
        return self.emit(arith.MuliOp, [self.value(lhs), self.value(rhs)], _INDEX)

    def product(self, numbers: Sequence[Number]) -> Number:
        """Returns the product of some indices, 1 of none."""
        result: Number = 1
        for number in numbers:
            result = self.times(result, number)
        return result

    def load(self, array: SSAValue, indices: Sequence[Number]) -> SSAValue:
        """Returns an element."""
        element = cast("Any", array.type).element_type
        return self.emit(memref.LoadOp, [array, *map(self.value, indices)], element)

    def store(self, value: SSAValue, array: SSAValue, indices: Sequence[Number]) -> None:
        """Writes an element."""
        self.make(memref.StoreOp, [value, array, *map(self.value, indices)])

    def choose(
        self,
        condition: SSAValue,
        types: Sequence[Attribute],
        then: Callable[[UpstreamPlace], Sequence[SSAValue]],
        otherwise: Callable[[UpstreamPlace], Sequence[SSAValue]] | None = None,
    ) -> Sequence[SSAValue]:
        """Returns what one of two functions makes, each in a region of its own; of a known condition in none."""
        known = known_number(condition)
        if known is not None:
            chosen = then if known else otherwise
            return chosen(self) if chosen is not None else ()
        regions = [self._body(then), Region() if otherwise is None else self._body(otherwise)]
        return self.make(scf.IfOp, [condition], types, regions=regions).results

    def loop(
        self,
        bounds: tuple[Number, Number, Number],
        values: Sequence[SSAValue],
        body: Callable[[UpstreamPlace, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Returns what a loop from the first bound up to the second, by the third, makes of some values."""
        block = Block(arg_types=[_INDEX, *(value.type for value in values)])
        inner = self.inside(block)
        made = body(inner, block.args[0], block.args[1:])
        inner.make(scf.YieldOp, made)
        operands = [*map(self.value, bounds), *values]
        return self.make(
            scf.ForOp, operands, [value.type for value in values], regions=[Region(block)]
        ).results

    def _body(self, make: Callable[[UpstreamPlace], Sequence[SSAValue]]) -> Region:
        block = Block()
        inner = self.inside(block)
        inner.make(scf.YieldOp, make(inner))
        return Region(block)


Lowering = Callable[[UpstreamPlace], Sequence[SSAValue] | None]
"""Returns what takes the place of an operation's results, None where it has no counterpart."""


def known_number(value: Number) -> int | None:
    """Returns what a constant integer is, None of any other value."""
    if isinstance(value, int):
        return value
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return cast("Any", owner.value).value.data
    return None


_RULES_BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    VerifyException,
)
"""What lowerings come upon in operations that upstream's verifier would not pass."""


def attempt(place: Place, lowering: Callable[[Place], Result]) -> Result:
    """Returns what a lowering makes.

    Raises:
        PassError: it refuses the operation, or the operation breaks a rule of upstream's verifier, which is not here.
    """
    try:
        return lowering(place)
    except PassError:
        raise
    except _RULES_BROKEN as error:
        raise place.refused(
            f"it breaks a rule of upstream's ({error}); see what mlir-opt says of it"
        ) from error


def replace(op: Operation, lowering: Lowering) -> None:
    """Puts what a lowering makes in the place of an operation."""
    values = attempt(UpstreamPlace(op), lowering)
    if values is None:
        return
    for result, value in zip(op.results, values, strict=True):
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
