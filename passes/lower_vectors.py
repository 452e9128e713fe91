"""Lowers the `vector` dialect, which programs written for MLIR use; the front end never does.

    %w = vector.load %x[%i] : memref<?xf32>, vector<2xf32>     %a = memref.load %x[%i]   %b = memref.load %x[%i + 1]
    %s = vector.reduction <add>, %w : vector<2xf32> into f32   %s = arith.addf %a, %b

Vectors of two to four components stay SPIR-V's vectors: operations become those of `spirv`, `arith`, `math` and
`memref`.  What has no such form stays, and the lowering refuses it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ..ir.dialects.spirv.composite import (
    CompositeConstructOp,
    CompositeExtractOp,
    CompositeInsertOp,
    VectorExtractDynamicOp,
    VectorInsertDynamicOp,
)

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
    for op in list(module.walk()):
        lowering = _LOWERINGS.get(type(op))
        if lowering is not None:
            _Lowering(op).replace(lowering)


class _Lowering:
    """One operation; what is emitted goes before it."""

    def __init__(self, op: Operation) -> None:
        self.op: Any = op

    def replace(self, lowering: Callable[[_Lowering], SSAValue | None]) -> None:
        if not all(_is_short(value.type) for value in (*self.op.operands, *self.op.results)):
            return
        result = lowering(self)
        if self.op.results and result is None:
            return
        if result is not None:
            result.name_hint = result.name_hint or self.op.results[0].name_hint
            self.op.results[0].replace_all_uses_with(result)
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
        return self.emit(CompositeExtractOp, [value], _element(value.type), indices=_indices(position))

    def components(self, value: SSAValue) -> list[SSAValue]:
        """Returns all of them."""
        return [self.component(value, position) for position in range(_length(value.type))]

    def places(self, indices: list[SSAValue], count: int) -> list[list[SSAValue]]:
        """Returns the indices of `count` neighbouring elements: along the last dimension."""
        found: list[list[SSAValue]] = [indices]
        for offset in range(1, count):
            constant = self.emit(
                arith.ConstantOp, [], IndexType(), value=cast("Attribute", IntegerAttr(offset, IndexType()))
            )
            found.append([*indices[:-1], self.emit(arith.AddiOp, [indices[-1], constant], IndexType())])
        return found


def _broadcast(lowering: _Lowering) -> SSAValue | None:
    source, type_ = lowering.op.source, lowering.op.vector.type
    if _is_vector(source.type):
        return source if source.type == type_ else None
    return lowering.emit(CompositeConstructOp, [source] * _length(type_), type_)


def _fma(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    return lowering.emit(
        math.FmaOp, [op.lhs, op.rhs, op.acc], op.res.type, fastmath=arith.FastMathFlagsAttr("none")
    )


def _extract(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    if isinstance(op.result.type, VectorType):
        return None
    if op.dynamic_position:
        index = lowering.emit(arith.IndexCastOp, [op.dynamic_position[0]], i32)
        return lowering.emit(VectorExtractDynamicOp, [op.vector, index], op.result.type)
    (position,) = op.static_position.get_values()
    return lowering.component(op.vector, int(position))


def _insert(lowering: _Lowering) -> SSAValue | None:
    op = lowering.op
    if isinstance(op.source.type, VectorType):
        return None
    if op.dynamic_position:
        index = lowering.emit(arith.IndexCastOp, [op.dynamic_position[0]], i32)
        return lowering.emit(VectorInsertDynamicOp, [op.dest, op.source, index], op.dest.type)
    (position,) = op.static_position.get_values()
    operands = [op.source, op.dest]
    return lowering.emit(CompositeInsertOp, operands, op.dest.type, indices=_indices(int(position)))


def _load(lowering: _Lowering) -> SSAValue:
    op = lowering.op
    type_ = op.result.type
    if _is_vector_memref(op.base.type):
        return lowering.emit(memref.LoadOp, [op.base, *op.indices], type_)
    places = lowering.places(list(op.indices), _length(type_))
    parts = [lowering.emit(memref.LoadOp, [op.base, *place], _element(type_)) for place in places]
    return lowering.emit(CompositeConstructOp, parts, type_)


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
    if _length(op.source.type) != _length(op.result.type):
        return None
    return lowering.emit(arith.BitcastOp, [op.source], op.result.type)


_LOWERINGS: dict[type[Operation], Callable[[_Lowering], SSAValue | None]] = {
    vector.BroadcastOp: _broadcast,
    vector.FMAOp: _fma,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.ReductionOp: _reduction,
    vector.BitcastOp: _bitcast,
}


def _indices(position: int) -> Attribute:
    return ArrayAttr([IntegerAttr(position, i32)])


def _element(type_: Attribute) -> Attribute:
    assert isinstance(type_, VectorType)
    return cast("Any", type_).element_type


def _length(type_: Attribute) -> int:
    assert isinstance(type_, VectorType)
    return type_.get_shape()[0]


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
