"""Copies of large fixed arrays from memory to memory, as loops.

A fixed array is a value, so its copy is a load and a store for each element.  Drivers take over a minute to compile
1024 of these; a loop they compile at once.  What is copied is found by looking back at how the value was made: by loads
of all its elements, in order, from one place, and behind which nothing was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from ..ir.create import create
from ..ir.dialects.kernel import LoadFieldOp
from ..ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp
from ..ir.narrowing import is_integer_attribute
from .fixed_arrays import fixed_ssa
from .function_builder import FunctionBuilder
from .ir_types import INDEX_TYPE
from .types import FixedArrayType
from .values import FixedArray

Load = Callable[[Sequence[SSAValue]], SSAValue]
"""Emits the load of an element at indices of 32 bits."""


def in_loops(fb: FunctionBuilder, shape: Sequence[int], body: Callable[[Sequence[SSAValue]], None]) -> None:
    """Emits a loop for each dimension, and in them what `body` emits for an element at indices of 32 bits."""
    zero, one = (_required(fb, number) for number in (0, 1))
    bounds = [_required(fb, length) for length in shape]

    def emit(indices: tuple[SSAValue, ...]) -> None:
        if len(indices) == len(shape):
            body(indices)
            return
        block = Block(arg_types=[i32])
        with fb.into(block):
            emit((*indices, block.args[0]))
            fb.append(create(scf.YieldOp))
        operands = [zero, bounds[len(indices)], one]
        fb.append(create(scf.ForOp, operands=operands, regions=[Region(block)]))

    emit(())


def _required(fb: FunctionBuilder, number: int) -> SSAValue:
    ssa = fb.constant(number, INDEX_TYPE)
    assert ssa is not None
    return ssa


def filled_in_loops(fb: FunctionBuilder, memory: SSAValue, value: FixedArray) -> bool:
    """Copies a large fixed array into the memory of a variable; False where it has to be done one by one."""
    load = element_source(fb, value)
    if load is None:
        return False

    def copy(indices: Sequence[SSAValue]) -> None:
        places = [fb.cast_to_index(index) for index in indices]
        fb.append(create(memref.StoreOp, operands=[load(indices), memory, *places]))

    in_loops(fb, value.type.shape, copy)
    return True


def element_source(fb: FunctionBuilder, value: FixedArray) -> Load | None:
    """Returns how the elements of a large fixed array can be had once more, one by one; None where they cannot."""
    if value.prefix or value.cell is not None:
        return None
    ssa = fixed_ssa(fb, value)
    leaves = None if ssa is None else _leaves(ssa, value.type.shape)
    if not leaves:
        return None
    if all(leaf is leaves[0] for leaf in leaves):
        return lambda _: leaves[0]
    loads = [leaf.owner for leaf in leaves if isinstance(leaf, OpResult)]
    if len(loads) != len(leaves) or not _is_unwritten_since(fb, loads[0]):
        return None
    return _of_fields(fb, loads, value.type) or _of_memory(fb, loads, value.type)


def _leaves(ssa: SSAValue, shape: Sequence[int]) -> list[SSAValue] | None:
    """Returns the elements that a value was made of, in C order."""
    parts = [ssa]
    for length in shape:
        owners = [part.owner for part in parts]
        if not all(isinstance(o, CompositeConstructOp) and len(o.operands) == length for o in owners):
            return None
        parts = [operand for o in owners if isinstance(o, Operation) for operand in o.operands]
    return parts


def _is_unwritten_since(fb: FunctionBuilder, first: Operation) -> bool:
    """Whether nothing behind an operation of the current block can have written memory."""
    if first.parent is not fb.block:
        return False
    op: Operation | None = first
    while op is not None:
        is_pure = op.name.startswith("arith.") or isinstance(
            op, LoadFieldOp | memref.LoadOp | CompositeConstructOp | CompositeExtractOp
        )
        if not is_pure:
            return False
        op = op.next_op
    return True


@dataclass(frozen=True, slots=True)
class _Field:
    """A load of a scalar in an array element."""

    operands: tuple[SSAValue, ...]
    path: tuple[int, ...]


def _field(op: Operation) -> _Field | None:
    path = op.properties.get("path")
    if not isinstance(op, LoadFieldOp) or not isinstance(path, DenseArrayBase):
        return None
    return _Field(tuple(op.operands), tuple(int(step) for step in path.get_values()))


def _of_fields(fb: FunctionBuilder, loads: Sequence[Operation], kind: FixedArrayType) -> Load | None:
    fields = [_field(op) for op in loads]
    first = fields[0]
    if first is None or any(step < 0 for step in first.path):
        return None
    outer = first.path[: len(first.path) - kind.ndim]
    expected = [_Field(first.operands, (*outer, *index)) for index in product(*map(range, kind.shape))]
    if fields != expected:
        return None
    properties = {"path": LoadFieldOp.path_attribute([*outer, *(None for _ in kind.shape)])}
    result = loads[0].results[0].type

    def load(indices: Sequence[SSAValue]) -> SSAValue:
        found = fb.emit(LoadFieldOp, [*first.operands, *indices], result, properties)
        assert found is not None
        return found

    return load


def _of_memory(fb: FunctionBuilder, loads: Sequence[Operation], kind: FixedArrayType) -> Load | None:
    """Of the memory of a variable, which `fixed_cells` loads element by element."""
    memory = loads[0].operands[0]
    for op, index in zip(loads, product(*map(range, kind.shape)), strict=True):
        if not isinstance(op, memref.LoadOp) or op.operands[0] is not memory:
            return None
        if tuple(map(_literal, op.operands[1:])) != index:
            return None
    result = loads[0].results[0].type

    def load(indices: Sequence[SSAValue]) -> SSAValue:
        found = fb.emit(memref.LoadOp, [memory, *(fb.cast_to_index(i) for i in indices)], result)
        assert found is not None
        return found

    return load


def _literal(index: SSAValue) -> int | None:
    owner = index.owner
    if not isinstance(owner, arith.ConstantOp) or not is_integer_attribute(owner.value):
        return None
    return owner.value.value.data
