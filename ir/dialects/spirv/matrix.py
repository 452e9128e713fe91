"""Matrices of floats (SPIR-V 1.6 §3.52.13); upstream has MatrixTimesScalar, MatrixTimesMatrix and Transpose."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ...narrowing import is_vector_type
from .base import SpirvOp, check_kind, check_same, fail
from .matrix_types import CooperativeMatrixType, MatrixType
from .scalars import component_count, scalar_of

_Shape = tuple[int, int]


def shape(type_: Attribute) -> _Shape:
    """Returns rows and columns of a matrix; a vector is one column, a scalar is 1 × 1."""
    if isinstance(type_, MatrixType):
        return component_count(type_.column_type), type_.count.data
    return component_count(type_), 1


def number_of(type_: Attribute) -> Attribute:
    """Returns the type of the numbers in a matrix, vector or scalar."""
    return type_.element_type if isinstance(type_, MatrixType) else scalar_of(type_)


class MatrixOp(SpirvOp):
    """Multiplies matrices, vectors and scalars whose shapes fit."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        lhs, rhs, result = self.lhs.type, self.rhs.type, self.result.type
        check_kind(self, "its numbers", number_of(lhs), "float")
        if not number_of(lhs) == number_of(rhs) == number_of(result):
            fail(self, f"has numbers of one type, found {lhs}, {rhs} and {result}")
        kinds = tuple(["scalar", "vector", "matrix"][_rank(t)] for t in (lhs, rhs, result))
        if kinds != _KINDS[self.name]:
            fail(self, f"expects {' and '.join(_KINDS[self.name][:2])}, found {lhs} and {rhs} to {result}")
        expected = _PRODUCTS[self.name](shape(lhs), shape(rhs))
        if expected != shape(result):
            fail(self, f"of {lhs} and {rhs} does not give {result}")


def _rank(type_: Attribute) -> int:
    return 2 if isinstance(type_, MatrixType) else int(is_vector_type(type_))


def _product(lhs: _Shape, rhs: _Shape) -> _Shape | None:
    return (lhs[0], rhs[1]) if lhs[1] == rhs[0] else None


def _row_product(lhs: _Shape, rhs: _Shape) -> _Shape | None:
    return (rhs[1], 1) if lhs[0] == rhs[0] else None


_KINDS = {
    "spirv.MatrixTimesScalar": ("matrix", "scalar", "matrix"),
    "spirv.MatrixTimesVector": ("matrix", "vector", "vector"),
    "spirv.VectorTimesMatrix": ("vector", "matrix", "vector"),
    "spirv.MatrixTimesMatrix": ("matrix", "matrix", "matrix"),
    "spirv.OuterProduct": ("vector", "vector", "matrix"),
}
_PRODUCTS: dict[str, Callable[[_Shape, _Shape], _Shape | None]] = {
    "spirv.MatrixTimesScalar": lambda lhs, _: lhs,
    "spirv.MatrixTimesVector": _product,
    "spirv.VectorTimesMatrix": _row_product,
    "spirv.MatrixTimesMatrix": _product,
    "spirv.OuterProduct": lambda lhs, rhs: (lhs[0], rhs[0]),
}


@irdl_op_definition
class TransposeOp(SpirvOp):
    """Rows and columns exchanged."""

    name = "spirv.Transpose"

    matrix = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        matrix, result = self.matrix.type, self.result.type
        if not isinstance(matrix, MatrixType) or not isinstance(result, MatrixType):
            fail(self, f"expects matrices, found {matrix} and {result}")
        if shape(result) != shape(matrix)[::-1] or number_of(matrix) != number_of(result):
            fail(self, f"of {matrix} does not give {result}")


@irdl_op_definition
class MatrixTimesScalarOp(MatrixOp):
    """Every number times a scalar; of cooperative matrices, too."""

    name = "spirv.MatrixTimesScalar"

    def verify_(self) -> None:
        matrix = self.lhs.type
        if not isinstance(matrix, CooperativeMatrixType):
            super().verify_()
            return
        check_same(self, "the scalar", self.rhs.type, matrix.element_type)
        check_same(self, "its result", self.result.type, matrix)


@irdl_op_definition
class MatrixTimesVectorOp(MatrixOp):
    """Matrix times column vector."""

    name = "spirv.MatrixTimesVector"


@irdl_op_definition
class VectorTimesMatrixOp(MatrixOp):
    """Row vector times matrix."""

    name = "spirv.VectorTimesMatrix"


@irdl_op_definition
class MatrixTimesMatrixOp(MatrixOp):
    """Product of two matrices."""

    name = "spirv.MatrixTimesMatrix"


@irdl_op_definition
class OuterProductOp(MatrixOp):
    """Matrix of the products of two vectors."""

    name = "spirv.OuterProduct"


OPS: list[type[Operation]] = [
    TransposeOp,
    MatrixTimesScalarOp,
    MatrixTimesVectorOp,
    VectorTimesMatrixOp,
    MatrixTimesMatrixOp,
    OuterProductOp,
]
