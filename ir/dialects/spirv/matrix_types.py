"""Types of matrices in the spirv dialect: those of one work-item, and those that several hold together."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import CooperativeMatrixUseAttr, ScopeAttr, parse_enumerant
from .enums import CooperativeMatrixUse, Scope
from .scalars import is_float, is_integer, is_spirv_type


@irdl_attr_definition
class MatrixType(ParametrizedAttribute, TypeAttribute):
    """Two to four columns, each a vector of floats: `!spirv.matrix<3 x vector<4xf32>>`."""

    name = "spirv.matrix"

    column_type: VectorType[Attribute]
    count: IntAttr

    @classmethod
    def get(cls, column_type: VectorType[Attribute], count: int) -> MatrixType:
        """Returns the type of `count` columns."""
        return cls(column_type, IntAttr(count))

    @property
    def element_type(self) -> Attribute:
        """The type of one number."""
        return self.column_type.element_type

    def verify(self) -> None:
        if self.count.data not in (2, 3, 4):
            raise VerifyException(f"a matrix has 2, 3 or 4 columns, found {self.count.data}")
        if not is_spirv_type(self.column_type) or not is_float(self.column_type.element_type):
            raise VerifyException(f"a column of a matrix is a vector of floats, found {self.column_type}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            count = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            return parser.parse_type(), IntAttr(count)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count.data} x ")
            printer.print_attribute(self.column_type)


@irdl_attr_definition
class CooperativeMatrixType(ParametrizedAttribute, TypeAttribute):
    """A matrix that the work-items of `scope` hold together: `!spirv.coopmatrix<16x8xf16, Subgroup, MatrixA>`."""

    name = "spirv.coopmatrix"

    rows: IntAttr
    columns: IntAttr
    element_type: Attribute
    scope: ScopeAttr
    use: CooperativeMatrixUseAttr

    @classmethod
    def get(
        cls, rows: int, columns: int, element_type: Attribute, scope: Scope, use: CooperativeMatrixUse
    ) -> CooperativeMatrixType:
        """Returns the type of `rows` × `columns` elements."""
        return cls(
            IntAttr(rows), IntAttr(columns), element_type, ScopeAttr(scope), CooperativeMatrixUseAttr(use)
        )

    def verify(self) -> None:
        if self.rows.data < 1 or self.columns.data < 1:
            raise VerifyException("a cooperative matrix has at least one row and one column")
        if not (is_integer(self.element_type) or is_float(self.element_type)):
            raise VerifyException(f"a cooperative matrix holds numbers, found {self.element_type}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            rows = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            columns = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            element_type = parser.parse_type()
            parser.parse_punctuation(",")
            scope = ScopeAttr(parse_enumerant(parser, Scope))
            parser.parse_punctuation(",")
            use = CooperativeMatrixUseAttr(parse_enumerant(parser, CooperativeMatrixUse))
            return IntAttr(rows), IntAttr(columns), element_type, scope, use

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.columns.data}x")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.scope.data.name}, {self.use.data.name}")


TYPES: list[type[Attribute]] = [MatrixType, CooperativeMatrixType]
