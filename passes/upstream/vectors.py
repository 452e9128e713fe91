"""Takes vectors apart: every vector in a function becomes its components.

%v = arith.addf %a, %b : vector<8xf32>     eight arith.addf of f32
scf.yield %v : vector<8xf32>               scf.yield %v#0, …, %v#7 : f32, …, f32

Vectors stay whole where SPIR-V's own operations, arrays of vectors and the parameters of kernels have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...ir.call_graph import entry_points, function_name, functions
from ...ir.dialects.spirv.composite import CompositeConstructOp
from ...ir.narrowing import is_vector_type
from ...ir.parse_arith import VectorFormOp
from ..errors import PassError
from .place import attempt
from .vector_bits import BITS
from .vector_masks import MASKS
from .vector_memory import MEMORY, extracted
from .vector_place import MOST_COMPONENTS, VectorLowering, VectorPlace, count_of, element_of
from .vector_shapes import SHAPES
from .vector_sums import SUMS

_LOWERINGS: dict[str, VectorLowering] = {**BITS, **MASKS, **MEMORY, **SHAPES, **SUMS}
_WHOLE_DIALECTS = ("spirv.", "kernel.", "spec_constant.", "func.call")
_STRUCTURES = ("scf.", "func.return", "gpu.return", "cf.")
"""Operations that pass values on: they get more of them."""
_LARGEST_IN_SPIRV = 4


def take_vectors_apart(module: ModuleOp) -> None:
    """Replaces the vectors in every function."""
    kept = {id(entry) for entry in entry_points(module)}
    found = list(functions(module))
    divided = {function_name(f) for f in found if id(f) not in kept and _has_vectors(f)}
    for function in found:
        if any(is_vector_type(value.type) for op in function.walk() for value in _values_of(op)):
            _Components(divided).function(function)


def _has_vectors(function: Any) -> bool:
    type_: FunctionType = function.function_type
    return any(is_vector_type(part) for part in (*type_.inputs.data, *type_.outputs.data)) and bool(
        function.body.blocks
    )


def _values_of(op: Operation) -> list[SSAValue]:
    arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
    return [*op.operands, *op.results, *arguments]


class _Components:
    """One function."""

    def __init__(self, divided: set[str]) -> None:
        self._divided = divided
        self._is_divided = False
        self._of: dict[SSAValue, list[SSAValue]] = {}
        self._dead_operations: list[Operation] = []
        self._dead_arguments: list[BlockArgument] = []

    def function(self, function: Any) -> None:
        """Takes the function's vectors apart; one that only this module calls has scalars as parameters and results."""
        self._is_divided = function_name(function) in self._divided
        if self._is_divided:
            type_: FunctionType = function.function_type
            inputs, outputs = (
                self._flat_types(function, types.data) for types in (type_.inputs, type_.outputs)
            )
            function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        for block in function.body.blocks:
            self._block(function, block, is_entry=not self._is_divided)
        for op in self._dead_operations:
            for inner in op.walk():
                inner.operands = ()
        for op in reversed(self._dead_operations):
            op.detach()
            op.erase()
        for argument in self._dead_arguments:
            argument.block.erase_arg(argument)

    def _block(self, around: Operation, block: Block, *, is_entry: bool = False) -> None:
        operations = list(block.ops)
        for argument in list(block.args):
            if not is_vector_type(argument.type):
                continue
            self._check(around, argument.type)
            if is_entry:
                self._of[argument] = self._extracted(around, argument, block)
                continue
            place = argument.index
            made = [
                block.insert_arg(element_of(argument.type), place + n) for n in range(count_of(argument.type))
            ]
            self._of[argument] = list(made)
            self._dead_arguments.append(argument)
        for op in operations:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        values = _values_of(op)
        if not any(is_vector_type(value.type) for value in values) and op.name not in MASKS:
            self._regions(op)
            return
        for value in (*op.operands, *op.results):
            self._check(op, value.type)
        lowering = _LOWERINGS.get(op.name)
        place = VectorPlace(op, self._of)
        if isinstance(op, func.CallOp) and self._calls_divided(op):
            self._regions(self._rebuilt(op))
        elif op.name.startswith(_WHOLE_DIALECTS):
            self._keep(place)
        elif op.name.startswith(_STRUCTURES) and (self._is_divided or not op.name.endswith(".return")):
            self._regions(self._rebuilt(op))
        elif op.name.endswith(".return"):
            self._keep(place)
        elif lowering is not None:
            self._replace(op, attempt(place, lowering))
        elif op.name.startswith(("arith.", "math.", "ub.", "gpu.")):
            self._replace(op, attempt(place, _by_component))
        else:
            raise place.refused(
                "it has no counterpart for vectors; lower it to the vector dialect with mlir-opt"
            )

    def _regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._block(op, block)

    def _calls_divided(self, op: func.CallOp) -> bool:
        return op.callee.string_value() in self._divided

    def _check(self, op: Operation, type_: Attribute) -> None:
        """Raises PassError for vectors that are too long, or whose length only the device knows."""
        if not is_vector_type(type_):
            return
        if type_.get_num_scalable_dims():
            raise PassError(
                f"'{op.name}': the length of {type_} is known on the device only; give it a fixed one", op
            )
        if not 0 < count_of(type_) <= MOST_COMPONENTS:
            raise PassError(
                f"'{op.name}': vectors have at most {MOST_COMPONENTS} components here, found {type_}; take parts of it "
                "in an scf.for",
                op,
            )

    def _replace(self, op: Operation, results: Sequence[Sequence[SSAValue]]) -> None:
        """Goes on with components in the place of an operation's results; its regions go with it."""
        for result, parts in zip(op.results, results, strict=True):
            if is_vector_type(result.type):
                self._of[result] = list(parts)
                continue
            (part,) = parts
            part.name_hint = part.name_hint or result.name_hint
            result.replace_all_uses_with(part)
        self._dead_operations.append(op)

    def _flat_types(self, op: Operation, types: Sequence[Attribute]) -> list[Attribute]:
        for type_ in types:
            self._check(op, type_)
        return [element_of(type_) for type_ in types for _ in range(count_of(type_))]

    def _rebuilt(self, op: Operation) -> Operation:
        """Puts an operation of scalars in the place of one that passes vectors on."""
        operands = [
            part
            for value in op.operands
            for part in (self._of[value] if is_vector_type(value.type) else [value])
        ]
        made = type(op).create(
            operands=operands,
            result_types=self._flat_types(op, op.result_types),
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list(op.regions)],
            location=op.location,
        )
        VectorPlace(op, self._of).add(made)
        rest = iter(made.results)
        self._replace(op, [[next(rest) for _ in range(count_of(result.type))] for result in op.results])
        return made

    def _keep(self, place: VectorPlace) -> None:
        """Puts vectors together in front of an operation, and takes its results apart."""
        op: Operation = place.op
        for number, value in enumerate(op.operands):
            if is_vector_type(value.type):
                op.operands[number] = self._whole(place, value)
        for result in op.results:
            if is_vector_type(result.type):
                self._of[result] = self._extracted(op, result, None)

    def _whole(self, place: VectorPlace, value: SSAValue) -> SSAValue:
        self._expect_short(place.op, value.type)
        return place.emit(CompositeConstructOp, self._of[value], value.type)

    def _extracted(self, op: Operation, value: SSAValue, entry: Block | None) -> list[SSAValue]:
        """Returns the components of a vector, taken out behind its operation or at the start of a function."""
        self._expect_short(op, value.type)
        following = entry.first_op if entry is not None else op.next_op
        assert following is not None, "a block ends in a terminator"
        return extracted(VectorPlace(following, self._of), value)

    def _expect_short(self, op: Operation, type_: Attribute) -> None:
        assert isinstance(type_, VectorType)
        shape = type_.get_shape()
        if len(shape) != 1 or not 2 <= shape[0] <= _LARGEST_IN_SPIRV:
            raise PassError(
                f"'{op.name}' has vectors of 2 to 4 components on a device, found {type_}; give it parts of the vector",
                op,
            )


def _by_component(place: VectorPlace) -> list[list[SSAValue]]:
    """Does an operation for each component."""
    op = place.op
    kind = cast("type[Operation]", op.SCALAR if isinstance(op, VectorFormOp) else type(op))
    counts = {count_of(value.type) for value in (*op.operands, *op.results) if is_vector_type(value.type)}
    place.expect(len(counts) == 1, "its vectors have one shape")
    (count,) = counts
    rows = [place.parts(value) for value in op.operands]
    rows = [row if len(row) == count else row * count for row in rows]
    results: list[list[SSAValue]] = [[] for _ in op.results]
    for number in range(count):
        made = kind.create(
            operands=[row[number] for row in rows],
            result_types=[element_of(type_) for type_ in op.result_types],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        place.add(made)
        for parts, result in zip(results, made.results, strict=True):
            parts.append(result)
    # Whether there is a work-item to shuffle with is the same for all components.
    return [
        parts if is_vector_type(of.type) else parts[:1] for of, parts in zip(op.results, results, strict=True)
    ]
