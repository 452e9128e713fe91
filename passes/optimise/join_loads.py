"""Loads of neighbours with constant columns become one load of a vector.

input:    scf.for %k = … {                     output:   scf.if %whole {     (rows of %a are multiples of 4)
            %x = memref.load %a[%k, 0]                   scf.for %k = … {
            %y = memref.load %a[%k, 1]                     %v = kernel.load_wide %a[%k, 0] : vector<4xf32>
            %z = memref.load %a[%k, 2]                     … }
            %w = memref.load %a[%k, 3]                 } else {
            … }                                          … the loop as it was … }

Extents are known at the launch only, and rows begin where a vector may if their length is a multiple of four.  So a
loop with such loads is there twice, and the kernel takes one; outside of loops there is less to gain than to compile.

Invariant: loads are brought forward only past what does not write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...ir.attribute_values import memref_rank
from ...ir.dialects import spirv
from ...ir.dialects.kernel import Function, is_kernel, kernel_parameters
from ...ir.dialects.kernel_wide import LoadWideOp
from ...ir.walk import operations
from ..insertion import Before
from .constants import constant_integer
from .effects import body_blocks, functions_of, writes_memory
from .forward_walk import ForwardWalk
from .rows import WIDTH, Row, arrays_of_whole_rows, extract_index, fixed

LEAST = 3
"""Of the elements of a vector that are needed."""
MAXIMUM_OPERATIONS = 400
"""Of a loop: it is there twice afterwards."""
_INDEX = IndexType()


@dataclass(frozen=True)
class JoinLoads(ModulePass):
    """Makes loads with constant columns in loops loads of vectors where rows are multiples of four."""

    name = "join-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            join_loads(function)


@dataclass(frozen=True, slots=True)
class _Run:
    """Loads of one aligned part of a row, with nothing between them that writes."""

    row: Row
    start: int
    loads: list[memref.LoadOp]


def join_loads(function: Operation) -> None:
    """Changes the outermost loops of one kernel."""
    blocks = body_blocks(function)
    if not isinstance(function, Function) or not is_kernel(function) or len(blocks) != 1:
        return
    arrays = arrays_of_whole_rows(blocks[0])
    if arrays:
        arrays &= _buffers(function, blocks[0])
    if not arrays:
        return
    ForwardWalk(fold=False, number=True).run(function)  # equal rows are one value then
    for loop in list(_outermost_loops(blocks[0])):
        inside = operations(loop)
        found = [run for op in inside for region in op.regions for run in _runs(region, arrays)]
        if found and len(inside) <= MAXIMUM_OPERATIONS:
            _choose(loop, found)


def _buffers(kernel: Function, entry: Block) -> frozenset[SSAValue]:
    """Returns the arrays that are storage buffers; uniform ones are read in vectors of their own anyway."""
    return frozenset(
        array
        for array, parameter in zip(entry.args, kernel_parameters(kernel), strict=False)
        if parameter.access != "constant" and not parameter.is_shared
    )


def _outermost_loops(block: Block) -> Iterator[Operation]:
    for op in block.ops:
        if isinstance(op, scf.ForOp | scf.WhileOp):
            yield op
        else:
            for region in op.regions:
                for inner in region.blocks:
                    yield from _outermost_loops(inner)


def _runs(region: Region, arrays: frozenset[SSAValue]) -> Iterator[_Run]:
    """Yields the runs of a region's own operations that are worth a vector."""
    for block in region.blocks:
        pending: dict[tuple[Row, int], _Run] = {}
        for op in block.ops:
            place = fixed(op) if isinstance(op, memref.LoadOp) else None
            if isinstance(op, memref.LoadOp) and place is not None and place[0].array in arrays:
                row, number = place
                start = number - number % WIDTH
                pending.setdefault((row, start), _Run(row, start, [])).loads.append(op)
            elif writes_memory(op):
                yield from _worthwhile(pending)
                pending = {}
        yield from _worthwhile(pending)


def _worthwhile(runs: dict[tuple[Row, int], _Run]) -> Iterator[_Run]:
    return (run for run in runs.values() if len({_column(op) for op in run.loads}) >= LEAST)


def _column(op: memref.LoadOp) -> int:
    number = constant_integer(op.operands[-1])
    assert number is not None
    return number


def _choose(loop: Operation, runs: list[_Run]) -> None:
    """Puts a branch with the loop twice in its place, and joins the loads of the first one."""
    before = Before(loop)
    condition: SSAValue | None = None
    for array in dict.fromkeys(run.row.array for run in runs):
        whole = _is_whole(before, array)
        condition = whole if condition is None else before.add(arith.AndIOp, condition, whole)
    assert condition is not None
    other = loop.clone()
    for original, new in zip(operations(loop), operations(other), strict=True):
        new.location = original.location
    joined, plain = Block(), Block([other])
    branch = scf.IfOp.create(
        operands=(condition,),
        result_types=[result.type for result in loop.results],
        regions=[Region(joined), Region(plain)],
        location=loop.location,
    )
    before.put(branch)
    for old, new in zip(loop.results, branch.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    joined.add_op(loop)
    for block, made in ((joined, loop), (plain, other)):
        block.add_op(scf.YieldOp.create(operands=tuple(made.results), location=loop.location))
    for run in runs:
        _join(run)


def _is_whole(before: Before, array: SSAValue) -> SSAValue:
    """Adds whether the rows of an array are multiples of `WIDTH`."""
    rank = memref_rank(array.type)
    assert rank is not None
    extent = before.add(memref.DimOp, array, before.constant(rank - 1, _INDEX), type_=_INDEX)
    rest = before.add(arith.AndIOp, extent, before.constant(WIDTH - 1, _INDEX))
    return before.compare("eq", rest, before.constant(0, _INDEX))


def _join(run: _Run) -> None:
    first = run.loads[0]
    element = first.results[0].type
    before = Before(first)
    indices = (*run.row.leading, before.constant(run.start, _INDEX))
    vector = before.add(LoadWideOp, run.row.array, *indices, type_=VectorType(element, [WIDTH]))
    for op in run.loads:
        part = spirv.CompositeExtractOp.create(
            operands=(vector,),
            result_types=(element,),
            properties={"indices": extract_index(_column(op) - run.start)},
        )
        value = Before(op).value(part)
        value.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
