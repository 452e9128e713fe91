"""Loads and stores of a coarsened kernel: neighbouring elements move as one vector, and none is loaded twice."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.attribute_values import memref_element_type
from ...ir.dialects import spirv
from ...ir.dialects.kernel_wide import LoadWideOp, StoreWideOp
from ..optimise.rows import WIDTH, Row, arrays_of_whole_rows, extract_index, fixed
from .accesses import Line, fixed_loads_of_run, in_line, loads_of_run, whole_vectors
from .cost import WIDE_COST, Cost
from .lane_values import LaneValues
from .lanes import LaneKey, Y
from .new_body import NewBody

Elements = dict[int, SSAValue]
"""What is at hand of a row of an array, by constant."""


class WideMemory:
    """Writes the accesses of a kernel that may be joined.

    Args:
        values: what the kernel's values are in each lane.
        body: written to.
        cost: of what is written.
        source: the kernel's body.
        unasked: arrays of which the body may load elements out of range.
    """

    def __init__(
        self,
        values: LaneValues,
        body: NewBody,
        cost: Cost,
        source: Block,
        *,
        unasked: Collection[SSAValue] = (),
    ) -> None:
        self._values = values
        self._body = body
        self._cost = cost
        self._whole_rows = arrays_of_whole_rows(source)
        self._unasked = unasked
        self._at_hand: dict[tuple[Line | Row, LaneKey], Elements] = {}
        self.aligned_rows: set[SSAValue] = set()
        """Arrays whose last extent must be a multiple of `WIDTH`: those of several dimensions, where rows begin at a
        vector then, and those of which a vector that is loaded might else lie in range in part only.  A device may
        take all of such a vector for out of range (robustBufferAccess)."""

    def forget(self) -> None:
        """What was loaded may have changed."""
        self._at_hand = {}

    @contextmanager
    def region(self) -> Generator[None]:
        """What is loaded inside is not there behind, nor the other way round."""
        around = self._at_hand
        self._at_hand = {}
        try:
            yield
        finally:
            self._at_hand = around

    def load(self, op: memref.LoadOp) -> bool:
        """Writes a load where it can be joined with others; returns whether it has."""
        found = self._in_line(op)
        if found is None:
            return self._load_fixed(op)
        line, offset = found
        values = self._values
        starts = whole_vectors(loads_of_run(op, line, values.axes), values.lanes)
        for row in values.keys(line.leading):
            elements = self._at_hand.setdefault((line, row), {})
            for x in values.lanes.xs:
                element = offset + x
                if element not in elements:
                    elements |= self._load_element(op, line, row, element, starts)
                values.note(op.results[0], {(row[0], x): elements[element]})
        return True

    def store(self, op: memref.StoreOp) -> bool:
        """Writes a store where it can be joined with those of other lanes; returns whether it has."""
        found = self._in_line(op)
        if found is None or found[1] % WIDTH:
            return False
        line, offset = found
        values, value = self._values, op.operands[0]
        type_ = VectorType(memref_element_type(line.array.type) or value.type, [WIDTH])
        row_axes = values.axes.of_all((*line.leading, value)) & Y
        for row in values.lanes.keys(row_axes):
            parts = [values.of(value, (row[0], x)) for x in values.lanes.xs]
            vector = self._body.add(
                spirv.CompositeConstructOp.create(operands=parts, result_types=(type_,), location=op.location)
            ).results[0]
            place = self._place(line, row, offset, op)
            self._body.add(StoreWideOp.create(operands=(vector, *place), location=op.location))
            self._note_wide(line, is_load=False)
        return True

    def _in_line(self, op: Operation) -> tuple[Line, int] | None:
        """Returns where an access goes that the lanes make side by side."""
        return in_line(op, self._values.axes) if len(self._values.lanes.xs) == WIDTH else None

    def _load_fixed(self, op: memref.LoadOp) -> bool:
        """Loads with a constant last index as a vector of what is there; returns whether that pays."""
        place = fixed(op)
        if place is None or place[0].array not in self._whole_rows:
            return False
        row, number = place
        start = number - number % WIDTH
        needed = [n for n in fixed_loads_of_run(op, row) if start <= n < start + WIDTH]
        values = self._values
        keys = values.keys(row.leading)
        if len(needed) < 2 and not all(number in self._at_hand.get((row, key), ()) for key in keys):
            return False
        for key in keys:
            elements = self._at_hand.setdefault((row, key), {})
            if number not in elements:
                indices = (*values.of_each(row.leading, key), self._body.constant(start))
                elements |= self._load_vector(op, (values.of(row.array, key), *indices), start, needed)
                self._note_wide(row)
            values.note(op.results[0], {key: elements[number]})
        return True

    def _load_element(
        self, op: memref.LoadOp, line: Line, row: LaneKey, element: int, starts: set[int]
    ) -> Elements:
        """Loads an element, with those beside it where all of them are needed (`starts`)."""
        start = element - element % WIDTH
        if start in starts:
            place = self._place(line, row, start, op)
            found = self._load_vector(op, place, start, range(start, start + WIDTH))
            self._note_wide(line)
            return found
        copy = memref.LoadOp.create(
            operands=self._place(line, row, element, op),
            result_types=(op.results[0].type,),
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        self._cost.add(1)
        return {element: self._body.add(copy).results[0]}

    def _load_vector(
        self, op: memref.LoadOp, place: Sequence[SSAValue], start: int, needed: Iterable[int]
    ) -> Elements:
        """Loads a vector in the place of `op`; returns its elements from `start` on that are needed."""
        type_ = VectorType(op.results[0].type, [WIDTH])
        vector = self._body.add(
            LoadWideOp.create(operands=place, result_types=(type_,), location=op.location)
        ).results[0]
        return {
            number: self._body.add(
                spirv.CompositeExtractOp.create(
                    operands=(vector,),
                    result_types=(op.results[0].type,),
                    properties={"indices": extract_index(number - start)},
                    location=op.location,
                )
            ).results[0]
            for number in needed
        }

    def _place(self, line: Line, row: LaneKey, element: int, like: Operation) -> tuple[SSAValue, ...]:
        """Returns array and indices of an element of a line, counted from the invocation's first work-item."""
        values, first = self._values, self._body.first_item(gpu.DimensionEnum.X)
        leading = values.of_each(line.leading, row)
        return values.of(line.array, row), *leading, self._body.plus(first, element, like)

    def _note_wide(self, line: Line | Row, *, is_load: bool = True) -> None:
        self._cost.add(WIDE_COST)
        if line.leading or (is_load and line.array in self._unasked):
            self.aligned_rows.add(line.array)
