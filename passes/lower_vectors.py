"""Lowers the `vector` dialect, which programs written for MLIR use; the front end never does.

    %w = vector.load %x[%i] : memref<?xf32>, vector<2xf32>     %a = memref.load %x[%i]   %b = memref.load %x[%i + 1]
    %s = vector.reduction <add>, %w : vector<2xf32> into f32   %s = arith.addf %a, %b

Vectors of two to four components stay SPIR-V's vectors: operations become those of `spirv`, `arith`, `math` and
`memref`; vectors of one component become scalars.  What has no such form stays, and the lowering refuses it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..ir.dialects.spirv.cast import BitcastOp
from ..ir.dialects.spirv.composite import (
    CompositeConstructOp,
    CompositeExtractOp,
    CompositeInsertOp,
    VectorExtractDynamicOp,
    VectorInsertDynamicOp,
)
from ..ir.dialects.spirv.types import is_dense, is_vector
from ..ir.parse_arith import VectorFormOp
from ..ir.upstream_vectors import integers_of

_FLOATS = (Float16Type, Float32Type, Float64Type)
_MOST_COMPONENTS = 4
_COMBINE: dict[str, tuple[type[Operation] | None, type[Operation] | None]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
    "minsi": (arith.MinSIOp, None),
    "minui": (arith.MinUIOp, None),
    "maxsi": (arith.MaxSIOp, None),
    "maxui": (arith.MaxUIOp, None),
    "and": (arith.AndIOp, None),
    "or": (arith.OrIOp, None),
    "xor": (arith.XOrIOp, None),
    "minnumf": (None, arith.MinnumfOp),
    "maxnumf": (None, arith.MaxnumfOp),
    "minimumf": (None, arith.MinimumfOp),
    "maximumf": (None, arith.MaximumfOp),
}
"""What combines two components of a reduction, of integers and of floats."""


def lower_vectors(module: ModuleOp) -> None:
    """Replaces the operations of the `vector` dialect that have a counterpart."""
    ops = list(module.walk())
    for op in ops:
        _scalarise(op)
    for op in ops:
        lowering = _by_component if isinstance(op, VectorFormOp) else _LOWERINGS.get(op.name)
        if lowering is not None:
            _Lowering(op).replace(lowering)


def _scalarise(op: Operation) -> None:
    """Turns vectors of one component into their component, in what an operation makes and in its function's type."""
    arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
    for value in (*op.results, *arguments):
        scalar = _alone(value.type)
        if scalar is not value.type:
            Rewriter.replace_value_with_new_type(value, scalar)
    type_ = op.properties.get("function_type")
    if isinstance(type_, FunctionType):
        inputs, outputs = (tuple(map(_alone, types.data)) for types in (type_.inputs, type_.outputs))
        op.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    if isinstance(op, arith.ConstantOp) and is_dense(op.value) and op.result.type != op.value.get_type():
        op.properties["value"] = next(iter(op.value.iter_attrs()))


def _alone(type_: Attribute) -> Attribute:
    """Returns the only component's type of a vector of one component or of no dimensions, any other type itself."""
    if is_vector(type_) and not type_.get_num_scalable_dims() and set(type_.get_shape()) <= {1}:
        return type_.element_type
    return type_


class _Lowering:
    """One operation; what is emitted goes before it."""

    def __init__(self, op: Operation) -> None:
        self.op: Any = op

    def replace(self, lowering: Callable[[_Lowering], Sequence[SSAValue] | SSAValue | None]) -> None:
        if not all(_is_short(value.type) for value in (*self.op.operands, *self.op.results)):
            return
        made = lowering(self)
        if self.op.results and made is None:
            return
        values = () if made is None else (made,) if isinstance(made, SSAValue) else made
        for result, value in zip(self.op.results, values, strict=True):
            value.name_hint = value.name_hint or result.name_hint
            result.replace_all_uses_with(value)
        self.op.detach()
        self.op.erase()

    def emit(
        self,
        kind: type[Operation],
        operands: list[SSAValue],
        type_: Attribute | None,
        **properties: Attribute,
    ) -> SSAValue:
        """Adds an operation; returns its result, or its first operand where it has none."""
        made = kind.create(
            operands=operands,
            result_types=[] if type_ is None else [type_],
            properties=properties,
            location=self.op.location,
        )
        block = self.op.parent_block()
        assert block is not None, "it is in a function"
        block.insert_op_before(made, self.op)
        return made.results[0] if made.results else operands[0]

    def component(self, value: SSAValue, position: int) -> SSAValue:
        """Returns one component of a vector."""
        if not _is_vector(value.type):
            return value
        return self.emit(CompositeExtractOp, [value], _element(value.type), indices=_indices(position))

    def components(self, value: SSAValue) -> list[SSAValue]:
        """Returns all of them."""
        return [self.component(value, position) for position in range(_length(value.type))]

    def vector(self, components: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        """Returns the vector of these components."""
        if not _is_vector(type_):
            (component,) = components
            return component
        return self.emit(CompositeConstructOp, list(components), type_)

    def index(self, value: SSAValue) -> SSAValue:
        """Returns a position as SPIR-V takes it."""
        return self.emit(arith.IndexCastOp, [value], i32) if isinstance(value.type, IndexType) else value

    def places(self, indices: list[SSAValue], count: int) -> list[list[SSAValue]]:
        """Returns the indices of `count` neighbouring elements: along the last dimension."""
        found: list[list[SSAValue]] = [indices]
        for offset in range(1, count):
            constant = self.emit(
                arith.ConstantOp, [], IndexType(), value=cast("Attribute", IntegerAttr(offset, IndexType()))
            )
            found.append([*indices[:-1], self.emit(arith.AddiOp, [indices[-1], constant], IndexType())])
        return found


def _by_component(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    type_ = op.result.type
    parts: list[SSAValue] = []
    for position in range(_length(type_)):
        operands = [lowering.component(value, position) for value in op.arguments]
        parts.append(lowering.emit(op.SCALAR, operands, _element(type_), **op.properties))
    return lowering.vector(parts, type_)


def _broadcast(lowering: _Lowering) -> SSAValue | None:
    source, type_ = lowering.op.source, lowering.op.vector.type
    if _is_vector(source.type):
        return source if source.type == type_ else None
    return lowering.vector([source] * _length(type_), type_)


def _splat(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    return lowering.vector([op.input] * _length(op.aggregate.type), op.aggregate.type)


def _fma(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    return lowering.emit(
        math.FmaOp, [op.lhs, op.rhs, op.acc], op.res.type, fastmath=arith.FastMathFlagsAttr("none")
    )


def _extract(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    if not _is_vector(op.vector.type):
        return op.vector
    if isinstance(op.result.type, VectorType):
        return None
    if op.dynamic_position:
        return _component_at(lowering, op.vector, op.dynamic_position[0])
    (position,) = op.static_position.get_values()
    return lowering.component(op.vector, int(position))


def _component_at(lowering: _Lowering, vector: SSAValue, position: SSAValue) -> SSAValue:
    index = lowering.index(position)
    return lowering.emit(VectorExtractDynamicOp, [vector, index], _element(vector.type))


def _extract_element(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    return _component_at(lowering, op.vector, op.position) if _is_vector(op.vector.type) else op.vector


def _insert(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    if not _is_vector(op.dest.type):
        return op.source
    if isinstance(op.source.type, VectorType):
        return None
    if op.dynamic_position:
        return _inserted_at(lowering, op.dynamic_position[0])
    (position,) = op.static_position.get_values()
    operands = [op.source, op.dest]
    return lowering.emit(CompositeInsertOp, operands, op.dest.type, indices=_indices(int(position)))


def _inserted_at(lowering: _Lowering, position: SSAValue) -> SSAValue:
    op = lowering.op
    operands = [op.dest, op.source, lowering.index(position)]
    return lowering.emit(VectorInsertDynamicOp, operands, op.dest.type)


def _insert_element(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    return _inserted_at(lowering, op.position) if _is_vector(op.dest.type) else op.source


def _shuffle(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    parts: list[SSAValue] = [*lowering.components(op.v1), *lowering.components(op.v2)]
    # A position of -1 may be anything.
    positions: tuple[int, ...] = op.positions
    return lowering.vector([parts[max(position, 0)] for position in positions], op.result.type)


def _slice(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    chosen = _sliced(op, op.vector.type, op.result.type)
    if chosen is None:
        return None
    parts = lowering.components(op.vector)
    return lowering.vector(parts[chosen], op.result.type)


def _insert_slice(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    chosen = _sliced(op, op.dest.type, op.source.type)
    if chosen is None:
        return None
    parts = lowering.components(op.dest)
    parts[chosen] = lowering.components(op.source)
    return lowering.vector(parts, op.result.type)


def _sliced(op: Any, whole: Attribute, part: Attribute) -> slice | None:
    """Returns which components of a vector an operation on a slice means, None where it has no such vectors."""
    offsets, strides = integers_of(op.offsets), integers_of(op.strides)
    sizes = integers_of(op.sizes) if "sizes" in op.properties else (_length(part),)
    if strides != (1,) or len(offsets) != 1 or sizes != (_length(part),):
        return None
    end = offsets[0] + _length(part)
    return slice(offsets[0], end) if offsets[0] >= 0 and end <= _length(whole) else None


def _interleave(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    pairs = zip(lowering.components(op.lhs), lowering.components(op.rhs), strict=True)
    return lowering.vector([part for pair in pairs for part in pair], op.result.type)


def _deinterleave(lowering: _Lowering) -> tuple[SSAValue, SSAValue]:
    op = lowering.op
    parts = lowering.components(op.source)
    return lowering.vector(parts[::2], op.res1.type), lowering.vector(parts[1::2], op.res2.type)


def _from_elements(lowering: _Lowering) -> SSAValue:
    return lowering.vector(lowering.op.elements, lowering.op.dest.type)


def _to_elements(lowering: _Lowering) -> list[SSAValue]:
    return lowering.components(lowering.op.source)


def _shape_cast(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    return op.source if op.source.type == op.result.type else None


def _load(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    type_ = op.result.type
    if _is_vector_memref(op.base.type):
        return lowering.emit(memref.LoadOp, [op.base, *op.indices], type_)
    places = lowering.places(list(op.indices), _length(type_))
    parts = [lowering.emit(memref.LoadOp, [op.base, *place], _element(type_)) for place in places]
    return lowering.vector(parts, type_)


def _store(lowering: _Lowering) -> None:
    op = lowering.op
    if _is_vector_memref(op.base.type):
        lowering.emit(memref.StoreOp, [op.vector, op.base, *op.indices], None)
        return
    places = lowering.places(list(op.indices), _length(op.vector.type))
    for value, place in zip(lowering.components(op.vector), places, strict=True):
        lowering.emit(memref.StoreOp, [value, op.base, *place], None)


def _reduction(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    type_ = op.dest.type
    is_float = isinstance(type_, _FLOATS)
    kind = _COMBINE[op.kind.data.value][is_float]
    if kind is None:
        return None
    parts = [*([] if op.acc is None else [op.acc]), *lowering.components(op.vector)]
    flags = {"fastmath": op.fastmath} if is_float else {}
    return reduce(lambda a, b: lowering.emit(kind, [a, b], type_, **flags), parts)


def _bitcast(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    kind = arith.BitcastOp if _length(op.source.type) == _length(op.result.type) else BitcastOp
    return lowering.emit(kind, [op.source], op.result.type)


_LOWERINGS: dict[str, Callable[[_Lowering], Sequence[SSAValue] | SSAValue | None]] = {
    "vector.broadcast": _broadcast,
    "vector.splat": _splat,
    "vector.fma": _fma,
    "vector.extract": _extract,
    "vector.extractelement": _extract_element,
    "vector.extract_strided_slice": _slice,
    "vector.insert": _insert,
    "vector.insertelement": _insert_element,
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.shape_cast": _shape_cast,
    "vector.load": _load,
    "vector.store": _store,
    "vector.reduction": _reduction,
    "vector.bitcast": _bitcast,
}


def _indices(position: int) -> Attribute:
    return ArrayAttr([IntegerAttr(position, i32)])


def _element(type_: Attribute) -> Attribute:
    return cast("Any", type_).element_type if isinstance(type_, VectorType) else type_


def _length(type_: Attribute) -> int:
    return type_.get_shape()[0] if isinstance(type_, VectorType) else 1


def _is_short(type_: Attribute) -> bool:
    """Whether a type is no vector, or one that SPIR-V has."""
    if not isinstance(type_, VectorType):
        return True
    shape = type_.get_shape()
    return len(shape) == 1 and 2 <= shape[0] <= _MOST_COMPONENTS and not type_.get_num_scalable_dims()


def _is_vector(type_: object) -> bool:
    return isinstance(type_, VectorType)


def _is_vector_memref(type_: Any) -> bool:
    return _is_vector(type_.element_type)


class LowerVectorsPass(ModulePass):
    """Lowers the `vector` dialect (see the head of this file)."""

    name = "lower-vectors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_vectors(op)
