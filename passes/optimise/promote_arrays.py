"""Private arrays whose indices are all known become values.

input:    %a = memref.alloca() : memref<2xf32>           output:   scf.for … iter_args(%s = %zero) {
          scf.for … {                                                %t = arith.addf %s, %x
            %s = memref.load %a[%c1]                                 scf.yield %t }
            memref.store %t, %a[%c1] }

Each element, and each component of a vector, is a value of its own, carried by loops and joined behind branches.  An
element that nothing was stored to is 0: its contents are undefined.

Invariant: only arrays that nothing but loads and stores with constant indices in range touch; others stay memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...ir.attribute_values import vector_elements
from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.narrowing import is_array_attribute, is_integer_type, is_memref_type
from ...ir.walk import has_any
from .constants import constant_integer
from .effects import body_blocks, functions_of

MAXIMUM_VALUES = 512
"""Elements of all promoted arrays of a function, vectors by their components."""
_STRUCTURED = (scf.IfOp, scf.ForOp, scf.WhileOp)

Slot: TypeAlias = tuple[SSAValue, int]
"""An array and the number of a scalar in it, in C order."""


def promote_arrays(function: Operation) -> bool:
    """Promotes the private arrays of one function; returns whether there were any."""
    blocks = body_blocks(function)
    if len(blocks) != 1 or not has_any(function, memref.AllocaOp):
        return False
    _unroll_loops_over_arrays(function)
    arrays: dict[SSAValue, _Layout] = {}
    room = MAXIMUM_VALUES
    for op in blocks[0].walk():
        layout = _layout(op, function) if isinstance(op, memref.AllocaOp) else None
        if layout is not None and layout.count <= room:
            arrays[op.results[0]] = layout
            room -= layout.count
    if not arrays:
        return False
    _Promotion(arrays, blocks[0]).run()
    for array in arrays:
        owner = array.owner
        assert isinstance(owner, Operation)
        owner.detach()
        owner.erase()
    return True


def _unroll_loops_over_arrays(function: Operation) -> None:
    """Unrolls short loops that reach private arrays by their counter, and folds what that makes known."""
    from ..unroll import unroll_short_loops
    from .forward_walk import ForwardWalk

    def is_wanted(loop: scf.ForOp) -> bool:
        return any(_has_unknown_index(op) for op in loop.walk())

    if unroll_short_loops(function, is_wanted):
        ForwardWalk(fold=True, number=False).run(function)


def _array_position(op: Operation) -> int | None:
    """Returns which operand of a load or store is the array, None for other operations."""
    if isinstance(op, memref.LoadOp):
        return 0
    return 1 if isinstance(op, memref.StoreOp) else None


def _has_unknown_index(op: Operation) -> bool:
    first = _array_position(op)
    if first is None or not isinstance(op.operands[first].owner, memref.AllocaOp):
        return False
    return any(constant_integer(index) is None for index in op.operands[first + 1 :])


@dataclass(frozen=True)
class PromoteArrays(ModulePass):
    """Turns private arrays whose indices are known into values."""

    name = "promote-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            promote_arrays(function)


class _Layout:
    """How an array lies: its shape, and the scalars of an element."""

    def __init__(self, shape: Sequence[int], scalar: Attribute, components: int | None) -> None:
        self._shape = tuple(shape)
        self.scalar = scalar
        self.components = components
        """Of a vector; None: elements are scalars."""
        self.width = components or 1
        self.count = prod(self._shape) * self.width

    def first(self, indices: Sequence[SSAValue]) -> int | None:
        """Returns the number of the first scalar of an element; None where an index is not known or not in range."""
        linear = 0
        for index, extent in zip(indices, self._shape, strict=True):
            number = constant_integer(index)
            if number is None or not 0 <= number < extent:
                return None
            linear = linear * extent + number
        return linear * self.width


def _layout(op: memref.AllocaOp, function: Operation) -> _Layout | None:
    type_ = op.results[0].type
    assert is_memref_type(type_)
    shape = type_.get_shape()
    element: Attribute = type_.element_type
    vector = vector_elements(element)
    scalar = element if vector is None else vector[0]
    if not _is_number(scalar) or any(extent < 1 for extent in shape):
        return None
    layout = _Layout(shape, scalar, None if vector is None else vector[1])
    array = op.results[0]
    for use in array.uses:
        user = use.operation
        position = _array_position(user)
        if position is None or use.index != position or not _is_reached(user, function):
            return None
        if layout.first(user.operands[position + 1 :]) is None:
            return None
    return layout


def _is_number(type_: Attribute) -> bool:
    is_float = isinstance(type_, AnyFloat) and not isinstance(type_, BFloat16Type)
    return is_float or is_integer_type(type_)


def _is_reached(op: Operation, function: Operation) -> bool:
    """Whether only structured control flow is between an operation and its function."""
    parent = op.parent_op()
    while parent is not function:
        if not isinstance(parent, _STRUCTURED):
            return False
        parent = parent.parent_op()
    return True


class _Promotion:
    """The walk that replaces loads by what was stored last."""

    def __init__(self, arrays: dict[SSAValue, _Layout], entry: Block) -> None:
        self._arrays = arrays
        self._entry = entry
        self._state: dict[Slot, SSAValue] = {}
        self._zeros: dict[Attribute, SSAValue] = {}

    def run(self) -> None:
        """Rewrites the function."""
        self._block(self._entry)

    def _block(self, block: Block) -> None:
        for op in tuple(block.ops):
            if isinstance(op, memref.LoadOp) and op.operands[0] in self._arrays:
                self._load(op)
            elif isinstance(op, memref.StoreOp) and op.operands[1] in self._arrays:
                self._store(op)
            elif isinstance(op, scf.IfOp):
                self._if(op)
            elif isinstance(op, scf.ForOp):
                self._for(op)
            elif isinstance(op, scf.WhileOp):
                self._while(op)

    # Accesses

    def _slots(self, array: SSAValue, indices: Sequence[SSAValue]) -> list[Slot]:
        layout = self._arrays[array]
        first = layout.first(indices)
        assert first is not None
        return [(array, first + i) for i in range(layout.width)]

    def _value(self, slot: Slot) -> SSAValue:
        known = self._state.get(slot)
        return self._zero(self._arrays[slot[0]].scalar) if known is None else known

    def _zero(self, type_: Attribute) -> SSAValue:
        known = self._zeros.get(type_)
        if known is None:
            attribute = (
                IntegerAttr(0, type_) if is_integer_type(type_) else FloatAttr(0.0, type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
            )
            op = create(arith.ConstantOp, result_types=(type_,), properties={"value": attribute})
            first = self._entry.first_op
            assert first is not None
            self._entry.insert_op_before(op, first)
            known = self._zeros[type_] = op.results[0]
        return known

    def _load(self, op: memref.LoadOp) -> None:
        values = [self._value(slot) for slot in self._slots(op.operands[0], op.operands[1:])]
        result = op.results[0]
        if self._arrays[op.operands[0]].components is None:
            result.replace_all_uses_with(values[0])
        else:
            for use in tuple(result.uses):
                number = _component(use.operation)
                if number is not None:
                    _replace(use.operation, values[number])
            if result.uses:
                whole = create(
                    spirv.CompositeConstructOp,
                    operands=values,
                    result_types=(result.type,),
                    location=op.location,
                )
                assert op.parent is not None
                op.parent.insert_op_before(whole, op)
                result.replace_all_uses_with(whole.results[0])
        op.detach()
        op.erase()

    def _store(self, op: memref.StoreOp) -> None:
        value, array, *indices = op.operands
        slots = self._slots(array, indices)
        parts = [value] if self._arrays[array].components is None else self._components(value, op)
        self._state.update(zip(slots, parts, strict=True))
        op.detach()
        op.erase()

    def _components(self, value: SSAValue, before: Operation) -> list[SSAValue]:
        owner, vector = value.owner, vector_elements(value.type)
        assert vector is not None
        scalar, count = vector
        if isinstance(owner, spirv.CompositeConstructOp) and len(owner.operands) == count:
            return list(owner.operands)
        parts: list[SSAValue] = []
        for number in range(count):
            part = create(
                spirv.CompositeExtractOp,
                operands=(value,),
                result_types=(scalar,),
                properties={"indices": ArrayAttr([IntegerAttr(number, i32)])},
                location=before.location,
            )
            assert before.parent is not None
            before.parent.insert_op_before(part, before)
            parts.append(part.results[0])
        return parts

    # Control flow

    def _written(self, op: Operation) -> list[Slot]:
        """Returns what is stored to inside of an operation, in the order of the code."""
        found: dict[Slot, None] = {}
        for inner in op.walk():
            if isinstance(inner, memref.StoreOp) and inner.operands[1] in self._arrays:
                found.update(dict.fromkeys(self._slots(inner.operands[1], inner.operands[2:])))
        return list(found)

    def _values(self, slots: Sequence[Slot]) -> list[SSAValue]:
        return [self._value(slot) for slot in slots]

    def _if(self, op: scf.IfOp) -> None:
        slots = self._written(op)
        before = dict(self._state)
        for region in op.regions:
            if not region.blocks and slots:
                region.add_block(Block([create(scf.YieldOp, location=op.location)]))
            self._state = dict(before)
            for block in region.blocks:
                self._block(block)
                _hand_on(block, self._values(slots))
        self._state = before
        if slots:
            self._rebuild(op, op.operands, slots)

    def _for(self, op: scf.ForOp) -> None:
        slots = self._written(op)
        initial, body = self._values(slots), op.body.block
        outer = dict(self._state)
        self._state.update(_arguments(body, slots, initial))
        self._block(body)
        _hand_on(body, self._values(slots))
        self._state = outer
        if slots:
            self._rebuild(op, (*op.operands, *initial), slots)

    def _while(self, op: scf.WhileOp) -> None:
        slots = self._written(op)
        initial = self._values(slots)
        test, body = op.before_region.block, op.after_region.block
        outer = dict(self._state)
        self._state.update(_arguments(test, slots, initial))
        self._block(test)
        passed = self._values(slots)
        _hand_on(test, passed)
        self._state.update(_arguments(body, slots, passed))
        self._block(body)
        _hand_on(body, self._values(slots))
        self._state = outer
        if slots:
            self._rebuild(op, (*op.operands, *initial), slots)

    def _rebuild(self, op: Operation, operands: Sequence[SSAValue], slots: Sequence[Slot]) -> None:
        """Puts the same operation with a further result for each slot in the place of `op`."""
        regions: list[Region] = [op.detach_region(region) for region in tuple(op.regions)]
        types = [result.type for result in op.results]
        new = type(op).create(
            operands=tuple(operands),
            result_types=[*types, *(self._arrays[array].scalar for array, _ in slots)],
            properties=op.properties,
            attributes=op.attributes,
            regions=regions,
            location=op.location,
        )
        assert op.parent is not None
        op.parent.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=False):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        self._state.update(zip(slots, new.results[len(types) :], strict=True))
        op.detach()
        op.erase()


def _arguments(block: Block, slots: Sequence[Slot], initial: Sequence[SSAValue]) -> dict[Slot, SSAValue]:
    """Gives a block an argument for each slot."""
    return {
        slot: block.insert_arg(value.type, len(block.args))
        for slot, value in zip(slots, initial, strict=True)
    }


def _hand_on(block: Block, values: Sequence[SSAValue]) -> None:
    """Lets a block's terminator pass further values."""
    last = block.last_op
    if values and last is not None and not isinstance(last, func.ReturnOp):
        last.operands = [*last.operands, *values]


def _component(op: Operation) -> int | None:
    """Returns which component of a vector an operation takes, None where it does something else."""
    if not isinstance(op, spirv.CompositeExtractOp):
        return None
    indices = op.properties["indices"]
    assert is_array_attribute(indices)
    number = indices.data[0]
    return number.value.data if isinstance(number, IntegerAttr) else None


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()
