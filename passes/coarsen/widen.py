"""Writes the body of a coarsened kernel: every operation once for each lane that it differs for.

    %i = gpu.global_id x                       %g = gpu.global_id x     %i = muli %g, 4
    %v = memref.load %x[%i]            =>      %w = kernel.load_wide %x[%i] : vector<4xf32>   …
    memref.store %f(%v), %y[%i]                kernel.store_wide %r, %y[%i]

Invariants: the operations of one work-item stay in their order; loads are brought forward only past what does not
write.  Control flow that is the same for all lanes is written once.  Under a condition that differs, one branch
serves the case that it holds for all of them, and the other goes through the lanes one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.attribute_values import memref_element_type
from ...ir.dialects import spirv
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.dialects.kernel_wide import LoadWideOp, StoreWideOp
from ..optimise.effects import is_write_class
from ..optimise.rows import WIDTH, Row, arrays_of_whole_rows, extract_index, fixed
from .accesses import (
    Line,
    fixed_loads_of_run,
    in_line,
    loads_of_run,
    whole_vectors,
)
from .axes import Axes, NotCoarsenableError, is_border_test
from .lanes import LaneKey, Lanes, X, Y, project

MAXIMUM_OPERATIONS = 1500
"""A longer body costs more to compile than it may save."""
LOOP_WEIGHT = 16.0
"""How much more often the body of a loop runs than what is around it."""
BORDER_WEIGHT = 0.05
"""How often the lanes disagree about a condition that compares ids with sizes."""
DATA_WEIGHT = 0.9
"""How often they disagree about one on data."""
WIDE_COST = 1.5
"""A wide access in scalar ones."""

_INDEX = IndexType()
_MEMORY_READS = (memref.LoadOp, LoadFieldOp)
_MEMORY_WRITES = (memref.StoreOp, StoreFieldOp)

Elements = dict[tuple[Line | Row, LaneKey], dict[int, SSAValue]]
"""Elements of lines and rows that are at hand, by constant."""


class Widening:
    """One kernel's body being written.

    Args:
        axes: of the values of the kernel.
        lanes: all of an invocation's.
        block: the new function's entry block, with the kernel's arguments.
        splits_branches: whether there may be branches that the lanes disagree about.
    """

    def __init__(
        self, axes: Axes, lanes: Lanes, source: Block, block: Block, *, splits_branches: bool = True
    ) -> None:
        self._axes = axes
        self._splits_branches = splits_branches
        self._lanes = lanes
        self._all_lanes = lanes
        self._values: dict[SSAValue, dict[LaneKey, SSAValue]] = {
            old: {(0, 0): new} for old, new in zip(source.args, block.args, strict=True)
        }
        self._block = block
        self._entry = block
        self._bases: dict[gpu.DimensionEnum, SSAValue] = {}
        """Index of an invocation's first work-item along each dimension."""
        self._constants: dict[int, SSAValue] = {}
        self._last_at_front: Operation | None = None
        self._elements: Elements = {}
        self._whole_rows = arrays_of_whole_rows(source)
        self._weight: float = 1.0
        self._count = 0
        self.cost = 0.0
        """Memory accesses of an invocation, weighted by how often each runs."""
        self.aligned_rows: set[SSAValue] = set()
        """Arrays of several dimensions whose last extent must be a multiple of `WIDTH`."""
        self._write_block(source)

    # ---- values ----

    def _value(self, value: SSAValue, key: LaneKey) -> SSAValue:
        return self._values[value][project(key, self._axes.of(value))]

    def _values_for(self, values: Sequence[SSAValue], key: LaneKey) -> list[SSAValue]:
        return [self._value(value, key) for value in values]

    def _expanded(self, values: Sequence[SSAValue], like: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns each value once for every key of the value in `like` that it becomes."""
        return [
            self._value(value, key)
            for value, target in zip(values, like, strict=True)
            for key in self._lanes.keys(self._axes.of(target))
        ]

    def _expanded_types(self, values: Sequence[SSAValue]) -> list[Attribute]:
        return [value.type for value in values for _ in self._lanes.keys(self._axes.of(value))]

    def _bind(self, values: Sequence[SSAValue], copies: Sequence[SSAValue]) -> None:
        """Makes `copies`, in the order of `_expanded`, the copies of `values`."""
        remaining = iter(copies)
        for value in values:
            table = self._values.setdefault(value, {})
            for key in self._lanes.keys(self._axes.of(value)):
                table[key] = next(remaining)

    # ---- writing ----

    def _add(self, op: Operation) -> Operation:
        self._count += 1
        if self._count > MAXIMUM_OPERATIONS:
            raise NotCoarsenableError("its body would become too long")
        self._block.add_op(op)
        return op

    def _constant(self, number: int) -> SSAValue:
        """Returns a constant of type index, at the start of the function."""
        known = self._constants.get(number)
        if known is None:
            op = arith.ConstantOp(IntegerAttr(number, _INDEX))
            known = self._constants[number] = self._at_front(op)
        return known

    def _at_front(self, op: Operation) -> SSAValue:
        """Puts an operation at the start of the function, after those put there before."""
        if self._last_at_front is not None:
            self._entry.insert_op_after(op, self._last_at_front)
        elif self._entry.first_op is not None:
            self._entry.insert_op_before(op, self._entry.first_op)
        else:
            self._entry.add_op(op)
        self._last_at_front = op
        return op.results[0]

    def _base(self, like: gpu.GlobalIdOp, size: int) -> SSAValue:
        """Returns the index of the invocation's first work-item along the dimension of `like`."""
        known = self._bases.get(like.dimension.data)
        if known is None:
            factor = self._constant(size)
            group = self._at_front(
                gpu.GlobalIdOp.create(
                    properties=like.properties, result_types=(like.results[0].type,), location=like.location
                )
            )
            known = self._bases[like.dimension.data] = self._at_front(
                arith.MuliOp.create(
                    operands=(group, factor), result_types=(group.type,), location=like.location
                )
            )
        return known

    def _binary(self, kind: type[Operation], a: SSAValue, b: SSAValue, like: Operation) -> SSAValue:
        return self._add(
            kind.create(operands=(a, b), result_types=(a.type,), location=like.location)
        ).results[0]

    def _clone(self, op: Operation, key: LaneKey) -> Operation:
        return self._add(
            type(op).create(
                operands=self._values_for(op.operands, key),
                result_types=[result.type for result in op.results],
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
        )

    def _region(self, write: Callable[[], Sequence[SSAValue] | None], block: Block | None = None) -> Region:
        """Returns a region that `write` fills; what it yields ends it."""
        around, elements = self._block, self._elements
        self._block, self._elements = block or Block(), {}
        inner = self._block
        yielded = write()
        if yielded is not None:
            self._block.add_op(scf.YieldOp.create(operands=tuple(yielded)))
        self._block, self._elements = around, elements
        return Region(inner)

    # ---- operations ----

    def _write_block(self, source: Block) -> None:
        for op in source.ops:
            if op is source.last_op and not op.results and op.name in ("scf.yield", "scf.condition"):
                return
            self._write(op)

    def _write(self, op: Operation) -> None:
        if isinstance(op, scf.IfOp):
            self._if(op)
        elif isinstance(op, scf.ForOp):
            self._for(op)
        elif isinstance(op, scf.WhileOp):
            self._while(op)
        elif isinstance(op, gpu.GlobalIdOp):
            self._global_id(op)
        elif isinstance(op, memref.LoadOp):
            self._load(op)
        elif isinstance(op, memref.StoreOp):
            self._store(op)
        else:
            self._other(op)
        if is_write_class(type(op)) or (op.regions and _has_write(op)):
            self._elements = {}

    def _other(self, op: Operation) -> None:
        is_access = isinstance(op, _MEMORY_READS + _MEMORY_WRITES)
        if self._axes.is_range_test(op) or isinstance(op, ROUND_OPS):  # the same for all lanes
            self._bind(op.results, self._clone(op, self._lanes.first).results)
            return
        axes = self._axes.of_all(op.results) | self._axes.of_all(op.operands)
        copies: dict[LaneKey, Operation] = {}
        for key in self._lanes.keys(axes):
            copies[key] = self._clone(op, key)
            self.cost += self._weight * is_access
        for index, result in enumerate(op.results):
            self._values[result] = {
                **self._values.get(result, {}),
                **{key: copy.results[index] for key, copy in copies.items()},
            }

    def _global_id(self, op: gpu.GlobalIdOp) -> None:
        axes = self._axes.of(op.results[0])
        if not axes:
            self._other(op)
            return
        size = len(self._all_lanes.xs if axes == X else self._all_lanes.ys)
        base = self._base(op, size)
        table = self._values.setdefault(op.results[0], {})
        for key in self._lanes.keys(axes):
            lane = key[1] if axes == X else key[0]
            table[key] = base if lane == 0 else self._binary(arith.AddiOp, base, self._constant(lane), op)

    # ---- memory ----

    def _is_wide_context(self) -> bool:
        return len(self._lanes.xs) == WIDTH

    def _load(self, op: memref.LoadOp) -> None:
        found = in_line(op, self._axes) if self._is_wide_context() else None
        if found is None:
            if not self._load_fixed(op):
                self._other(op)
            return
        line, offset = found
        row_axes = self._axes.of_all(line.leading)
        starts = whole_vectors(loads_of_run(op, line, self._axes), self._lanes)
        table = self._values.setdefault(op.results[0], {})
        for row in self._lanes.keys(row_axes):
            elements = self._elements.setdefault((line, row), {})
            for x in self._lanes.xs:
                if offset + x not in elements:
                    self._load_element(op, line, row, offset + x, starts, elements)
                table[row[0], x] = elements[offset + x]

    def _load_fixed(self, op: memref.LoadOp) -> bool:
        """Loads with a constant last index as a vector of what is there; returns whether that pays."""
        place = fixed(op)
        if place is None or place[0].array not in self._whole_rows:
            return False
        row, number = place
        start = number - number % WIDTH
        needed = [n for n in fixed_loads_of_run(op, row) if start <= n < start + WIDTH]
        keys = self._lanes.keys(self._axes.of_all(row.leading))
        if len(needed) < 2 and not all(number in self._elements.get((row, key), ()) for key in keys):
            return False
        table = self._values.setdefault(op.results[0], {})
        for key in keys:
            elements = self._elements.setdefault((row, key), {})
            if number not in elements:
                indices = (*self._values_for(row.leading, key), self._constant(start))
                elements.update(self._load_vector(op, self._value(row.array, key), indices, start, needed))
                self._note_wide(row)
            table[key] = elements[number]
        return True

    def _load_vector(
        self,
        op: memref.LoadOp,
        array: SSAValue,
        indices: Sequence[SSAValue],
        start: int,
        needed: Iterable[int],
    ) -> dict[int, SSAValue]:
        """Loads a vector in the place of `op`; returns its elements from `start` on that are needed."""
        type_ = VectorType(op.results[0].type, [WIDTH])
        vector = self._add(
            LoadWideOp.create(operands=(array, *indices), result_types=(type_,), location=op.location)
        ).results[0]
        return {
            number: self._add(
                spirv.CompositeExtractOp.create(
                    operands=(vector,),
                    result_types=(op.results[0].type,),
                    properties={"indices": extract_index(number - start)},
                    location=op.location,
                )
            ).results[0]
            for number in needed
        }

    def _load_element(
        self,
        op: memref.LoadOp,
        line: Line,
        row: LaneKey,
        element: int,
        starts: set[int],
        elements: dict[int, SSAValue],
    ) -> None:
        start = element - element % WIDTH
        if start not in starts:
            indices = (*self._values_for(line.leading, row), self._element_index(element, op))
            copy = memref.LoadOp.create(
                operands=(self._value(line.array, row), *indices),
                result_types=(op.results[0].type,),
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
            elements[element] = self._add(copy).results[0]
            self.cost += self._weight
            return
        indices = (*self._values_for(line.leading, row), self._element_index(start, op))
        found = self._load_vector(
            op, self._value(line.array, row), indices, start, range(start, start + WIDTH)
        )
        self._note_wide(line)
        elements.update(found)

    def _store(self, op: memref.StoreOp) -> None:
        found = in_line(op, self._axes) if self._is_wide_context() else None
        if found is None or found[1] % WIDTH:
            self._other(op)
            return
        line, offset = found
        value = op.operands[0]
        type_ = VectorType(memref_element_type(line.array.type) or value.type, [WIDTH])
        row_axes = (self._axes.of_all(line.leading) | self._axes.of(value)) & Y
        for row in self._lanes.keys(row_axes):
            parts = [self._value(value, (row[0], x)) for x in self._lanes.xs]
            vector = self._add(
                spirv.CompositeConstructOp.create(operands=parts, result_types=(type_,), location=op.location)
            ).results[0]
            indices = (*self._values_for(line.leading, row), self._element_index(offset, op))
            self._add(
                StoreWideOp.create(
                    operands=(vector, self._value(line.array, row), *indices), location=op.location
                )
            )
            self._note_wide(line)

    def _note_wide(self, line: Line | Row) -> None:
        self.cost += self._weight * WIDE_COST
        if line.leading:
            self.aligned_rows.add(line.array)

    def _element_index(self, element: int, like: Operation) -> SSAValue:
        base = self._bases[gpu.DimensionEnum.X]
        return base if element == 0 else self._binary(arith.AddiOp, base, self._constant(element), like)

    # ---- control flow ----

    def _body(self, region: Region, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Writes the block of a region and returns what it yields, for the copies of `results`."""
        block = region.first_block
        if block is None:
            return ()
        self._write_block(block)
        end = block.last_op
        return () if end is None else self._expanded(end.operands, results)

    def _if(self, op: scf.IfOp) -> None:
        axes = self._axes.of(op.operands[0])
        if len(self._lanes.keys(axes)) == 1:
            self._uniform_if(op)
            return
        if not self._splits_branches:
            raise NotCoarsenableError("a branch that work-items disagree about")
        keys = self._lanes.keys(axes)
        everywhere = self._value(op.operands[0], keys[0])
        for key in keys[1:]:
            everywhere = self._binary(arith.AndIOp, everywhere, self._value(op.operands[0], key), op)
        weight = self._weight
        share = BORDER_WEIGHT if is_border_test(op.operands[0]) else DATA_WEIGHT
        self._weight = weight * (1 - share)
        together = self._region(lambda: self._body(op.true_region, op.results))
        self._weight = weight * share
        one_by_one = self._region(lambda: self._lane_by_lane(op, axes))
        self._weight = weight
        made = scf.IfOp.create(
            operands=(everywhere,),
            result_types=self._expanded_types(op.results),
            regions=[together, one_by_one],
            location=op.location,
        )
        self._bind(op.results, self._add(made).results)

    def _uniform_if(self, op: scf.IfOp) -> None:
        key = self._lanes.first
        condition = self._value(op.operands[0], key)
        then = self._region(lambda: self._body(op.true_region, op.results))
        other = (
            self._region(lambda: self._body(op.false_region, op.results))
            if op.false_region.blocks
            else Region()
        )
        made = scf.IfOp.create(
            operands=(condition,),
            result_types=self._expanded_types(op.results),
            regions=[then, other],
            location=op.location,
        )
        self._bind(op.results, self._add(made).results)

    def _lane_by_lane(self, op: scf.IfOp, axes: int) -> Sequence[SSAValue]:
        lanes = self._lanes
        for key in lanes.keys(axes):
            self._lanes = lanes.only(key, axes)
            self._uniform_if(op)
        self._lanes = lanes
        return [
            self._value(result, key) for result in op.results for key in lanes.keys(self._axes.of(result))
        ]

    def _for(self, op: scf.ForOp) -> None:
        source = op.body.block
        key = self._lanes.first
        carried = source.args[1:]
        initial = self._expanded(op.operands[3:], carried)
        block = Block(arg_types=[source.args[0].type, *[value.type for value in initial]])
        self._bind(source.args[:1], block.args[:1])
        self._bind(carried, block.args[1:])
        weight = self._weight
        self._weight *= LOOP_WEIGHT
        region = self._region(lambda: self._body(op.body, carried), block)
        self._weight = weight
        made = scf.ForOp.create(
            operands=(*self._values_for(op.operands[:3], key), *initial),
            result_types=[value.type for value in initial],
            properties=op.properties,
            attributes=op.attributes,
            regions=[region],
            location=op.location,
        )
        self._add(made)
        self._bind(op.results, made.results)

    def _while(self, op: scf.WhileOp) -> None:
        test, body = op.before_region.block, op.after_region.block
        initial = self._expanded(op.operands, test.args)
        before = Block(arg_types=[value.type for value in initial])
        self._bind(test.args, before.args)
        weight = self._weight
        self._weight *= LOOP_WEIGHT
        first = self._region(lambda: self._condition(test, op), before)
        after = Block(arg_types=self._expanded_types(body.args))
        self._bind(body.args, after.args)
        second = self._region(lambda: self._body(op.after_region, test.args), after)
        self._weight = weight
        made = scf.WhileOp.create(
            operands=tuple(initial),
            result_types=self._expanded_types(op.results),
            regions=[first, second],
            location=op.location,
        )
        self._add(made)
        self._bind(op.results, made.results)

    def _condition(self, test: Block, op: scf.WhileOp) -> None:
        self._write_block(test)
        end = test.last_op
        assert end is not None
        goes_on = self._value(end.operands[0], self._lanes.first)
        passed = self._expanded(end.operands[1:], op.after_region.block.args)
        self._block.add_op(scf.ConditionOp.create(operands=(goes_on, *passed), location=end.location))


def _has_write(op: Operation) -> bool:
    return any(is_write_class(type(inner)) for inner in op.walk())
