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


def copied_in_loops(
    fb: FunctionBuilder,
    values: Sequence[FixedArray],
    store: Callable[[int, Sequence[SSAValue], SSAValue], None],
) -> bool:
    """Copies large fixed arrays, such as the members of one; False where it has to be done one by one.

    Args:
        values: what is copied.
        store: emits the store of an element: of which value, at which indices of 32 bits, the element.
    """
    loads = [element_source(fb, value) for value in values]
    found = [load for load in loads if load is not None]
    if len(found) < len(values):
        return False
    for shape in dict.fromkeys(value.type.shape for value in values):
        numbers = [number for number, value in enumerate(values) if value.type.shape == shape]

        def copy(indices: Sequence[SSAValue], numbers: Sequence[int] = numbers) -> None:
            # All are read before any is stored: members may change places.
            elements = [found[number](indices) for number in numbers]
            for number, element in zip(numbers, elements, strict=True):
                store(number, indices, element)

        in_loops(fb, shape, copy)
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
    if len(loads) != len(leaves) or not _are_unwritten_since(fb, loads):
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


def _are_unwritten_since(fb: FunctionBuilder, loads: Sequence[Operation]) -> bool:
    """Whether nothing behind any of these loads, which stand in any order, can have written memory."""
    pending, op = set(loads), fb.block.last_op
    while pending and op is not None:
        is_pure = op.name.startswith("arith.") or isinstance(
            op, LoadFieldOp | memref.LoadOp | CompositeConstructOp | CompositeExtractOp
        )
        if not is_pure:
            return False
        pending.discard(op)
        op = op.prev_op
    return not pending


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
    """Of parts of an array element; a member of structs has steps behind its indices, too."""
    fields = [_field(op) for op in loads]
    first, last = fields[0], fields[-1]
    if first is None or last is None or len(first.path) != len(last.path) or any(s < 0 for s in first.path):
        return None
    dimensions = [d for d, length in enumerate(kind.shape) if length > 1]
    places = [place for place, step in enumerate(first.path) if step != last.path[place]]
    if len(places) != len(dimensions):
        return None
    path: list[int | None] = list(first.path)
    expected: list[_Field] = []
    for index in product(*map(range, kind.shape)):
        for place, dimension in zip(places, dimensions, strict=True):
            path[place] = index[dimension]
        expected.append(_Field(first.operands, tuple(step or 0 for step in path)))
    if fields != expected:
        return None
    for place in places:
        path[place] = None
    properties, result = {"path": LoadFieldOp.path_attribute(path)}, loads[0].results[0].type

    def load(indices: Sequence[SSAValue]) -> SSAValue:
        operands = [*first.operands, *(indices[dimension] for dimension in dimensions)]
        found = fb.emit(LoadFieldOp, operands, result, properties)
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
