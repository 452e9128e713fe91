"""Composites (SPIR-V 1.6 §3.52.12): literal indices select constituents."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from ...narrowing import is_vector_type
from .base import SpirvOp, check_length, check_same, check_scalar, fail
from .scalars import component_count, scalar_of
from .types import element_count, element_type_at


def _indices(values: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(value, i32) for value in values])


def _selected(op: Operation, composite: Attribute, indices: ArrayAttr[IntegerAttr]) -> Attribute:
    if not indices.data:
        fail(op, "has at least one index")
    type_ = composite
    for position, index in enumerate(indices):
        element = element_type_at(type_, index.value.data)
        if element is None:
            fail(op, f"index {position} ({index.value.data}) selects nothing in {type_}")
        type_ = element
    return type_


@irdl_op_definition
class CompositeConstructOp(SpirvOp):
    """A composite of its constituents; vectors may also be put together from shorter vectors."""

    name = "spirv.CompositeConstruct"

    constituents = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, constituents: Sequence[SSAValue | Operation], result_type: Attribute):
        super().__init__(operands=[constituents], result_types=[result_type])

    def verify_(self) -> None:
        result, values = self.result.type, self.constituents
        if is_vector_type(result):
            for position, value in enumerate(values):
                check_same(self, f"constituent {position}", scalar_of(value.type), result.element_type)
            found = sum(component_count(value.type) for value in values)
            if found != component_count(result):
                fail(self, f"of {result} needs {component_count(result)} components, found {found}")
            return
        count = element_count(result)
        if count is None:
            fail(self, f"expects its result to be a vector, array or struct, found {result}")
        if count != len(values):
            fail(self, f"of {result} needs {count} constituents, found {len(values)}")
        for position, value in enumerate(values):
            expected = element_type_at(result, position)
            assert expected is not None
            check_same(self, f"constituent {position}", value.type, expected)


@irdl_op_definition
class CompositeExtractOp(SpirvOp):
    """The constituent at literal `indices`."""

    name = "spirv.CompositeExtract"

    composite = operand_def()
    indices = prop_def(ArrayAttr[IntegerAttr])
    component = result_def()

    traits = traits_def(Pure())

    def __init__(self, composite: SSAValue | Operation, indices: Sequence[int]):
        value = SSAValue.get(composite)
        attribute = _indices(indices)
        super().__init__(
            operands=[value],
            properties={"indices": attribute},
            result_types=[_selected(self, value.type, attribute)],
        )

    def verify_(self) -> None:
        check_same(
            self, "its result", self.component.type, _selected(self, self.composite.type, self.indices)
        )


@irdl_op_definition
class CompositeInsertOp(SpirvOp):
    """`composite` with the constituent at literal `indices` replaced by `object`."""

    name = "spirv.CompositeInsert"

    object = operand_def()
    composite = operand_def()
    indices = prop_def(ArrayAttr[IntegerAttr])
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self, object_: SSAValue | Operation, composite: SSAValue | Operation, indices: Sequence[int]
    ):
        value = SSAValue.get(composite)
        super().__init__(
            operands=[object_, value], properties={"indices": _indices(indices)}, result_types=[value.type]
        )

    def verify_(self) -> None:
        check_same(self, "the object", self.object.type, _selected(self, self.composite.type, self.indices))
        check_same(self, "its result", self.result.type, self.composite.type)


@irdl_op_definition
class VectorExtractDynamicOp(SpirvOp):
    """The component of a vector at a run-time index; undefined out of range."""

    name = "spirv.VectorExtractDynamic"

    vector = operand_def()
    index = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, vector: SSAValue | Operation, index: SSAValue | Operation):
        value = SSAValue.get(vector)
        super().__init__(operands=[value, index], result_types=[scalar_of(value.type)])

    def verify_(self) -> None:
        _check_vector(self, self.vector.type)
        check_scalar(self, "its index", self.index.type, "integer")
        check_same(self, "its result", self.result.type, scalar_of(self.vector.type))


@irdl_op_definition
class VectorInsertDynamicOp(SpirvOp):
    """`vector` with the component at a run-time index replaced; undefined out of range."""

    name = "spirv.VectorInsertDynamic"

    vector = operand_def()
    component = operand_def()
    index = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self, vector: SSAValue | Operation, component: SSAValue | Operation, index: SSAValue | Operation
    ):
        value = SSAValue.get(vector)
        super().__init__(operands=[value, component, index], result_types=[value.type])

    def verify_(self) -> None:
        _check_vector(self, self.vector.type)
        check_same(self, "the component", self.component.type, scalar_of(self.vector.type))
        check_scalar(self, "its index", self.index.type, "integer")
        check_same(self, "its result", self.result.type, self.vector.type)


@irdl_op_definition
class VectorShuffleOp(SpirvOp):
    """The vector of those components of `vector1` and then `vector2` that `components` number."""

    name = "spirv.VectorShuffle"

    vector1 = operand_def()
    vector2 = operand_def()
    components = prop_def(ArrayAttr[IntegerAttr])
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self, vector1: SSAValue | Operation, vector2: SSAValue | Operation, components: Sequence[int]
    ):
        first = SSAValue.get(vector1)
        super().__init__(
            operands=[first, vector2],
            properties={"components": _indices(components)},
            result_types=[VectorType(scalar_of(first.type), [len(components)])],
        )

    def verify_(self) -> None:
        first, second, result = self.vector1.type, self.vector2.type, self.result.type
        for type_ in (first, second, result):
            _check_vector(self, type_)
        check_same(self, "the second vector's component", scalar_of(second), scalar_of(first))
        check_same(self, "the result's component", scalar_of(result), scalar_of(first))
        if component_count(result) != len(self.components):
            fail(
                self, f"to {result} needs {component_count(result)} components, found {len(self.components)}"
            )
        available = component_count(first) + component_count(second)
        for index in self.components:
            # 0xFFFFFFFF means "undefined component".
            if not (0 <= index.value.data < available or index.value.data in (-1, 0xFFFFFFFF)):
                fail(self, f"component {index.value.data} is none of the {available} components")


def _check_vector(op: Operation, type_: Attribute) -> None:
    if not is_vector_type(type_):
        fail(op, f"expects a vector, found {type_}")
    check_length(op, "it", type_)


OPS: list[type[Operation]] = [
    CompositeConstructOp,
    CompositeExtractOp,
    CompositeInsertOp,
    VectorExtractDynamicOp,
    VectorInsertDynamicOp,
    VectorShuffleOp,
]
