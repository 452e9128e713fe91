"""Types of matrices in the spirv dialect: those of one work-item, and those that several hold together."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, SymbolRefAttr, VectorType
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
    """A matrix that the work-items of `scope` hold together: `!spirv.coopmatrix<16x8xf16, Subgroup, MatrixA>`.

    Each of its four numbers may be a specialization constant, which upstream lacks:
    `!spirv.coopmatrix<@rows x 8 x f16, @scope, MatrixA>`.
    """

    name = "spirv.coopmatrix"

    rows: IntAttr | SymbolRefAttr
    columns: IntAttr | SymbolRefAttr
    element_type: Attribute
    scope: ScopeAttr | SymbolRefAttr
    use: CooperativeMatrixUseAttr | SymbolRefAttr

    @classmethod
    def get(
        cls,
        rows: int | str,
        columns: int | str,
        element_type: Attribute,
        scope: Scope | str,
        use: CooperativeMatrixUse | str,
    ) -> CooperativeMatrixType:
        """Returns the type of `rows` × `columns` elements; a text names a specialization constant."""
        return cls(
            SymbolRefAttr(rows) if isinstance(rows, str) else IntAttr(rows),
            SymbolRefAttr(columns) if isinstance(columns, str) else IntAttr(columns),
            element_type,
            SymbolRefAttr(scope) if isinstance(scope, str) else ScopeAttr(scope),
            SymbolRefAttr(use) if isinstance(use, str) else CooperativeMatrixUseAttr(use),
        )

    def verify(self) -> None:
        if any(isinstance(count, IntAttr) and count.data < 1 for count in (self.rows, self.columns)):
            raise VerifyException("a cooperative matrix has at least one row and one column")
        if not (is_integer(self.element_type) or is_float(self.element_type)):
            raise VerifyException(f"a cooperative matrix holds numbers, found {self.element_type}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            rows = _parse_count(parser)
            columns = _parse_count(parser)
            element_type = parser.parse_type()
            parser.parse_punctuation(",")
            scope = _parse_symbol(parser) or ScopeAttr(parse_enumerant(parser, Scope))
            parser.parse_punctuation(",")
            use = _parse_symbol(parser) or CooperativeMatrixUseAttr(
                parse_enumerant(parser, CooperativeMatrixUse)
            )
            return rows, columns, element_type, scope, use

    def print_parameters(self, printer: Printer) -> None:
        counts = (self.rows, self.columns)
        by = "x" if all(isinstance(count, IntAttr) for count in counts) else " x "
        with printer.in_angle_brackets():
            for count in counts:
                if isinstance(count, IntAttr):
                    printer.print_string(str(count.data))
                else:
                    printer.print_symbol_name(count.root_reference.data)
                printer.print_string(by)
            printer.print_attribute(self.element_type)
            for part in (self.scope, self.use):
                printer.print_string(", ")
                if isinstance(part, SymbolRefAttr):
                    printer.print_symbol_name(part.root_reference.data)
                else:
                    printer.print_string(part.data.name)


def _parse_symbol(parser: AttrParser) -> SymbolRefAttr | None:
    name = parser.parse_optional_symbol_name()
    return None if name is None else SymbolRefAttr(name)


def _parse_count(parser: AttrParser) -> IntAttr | SymbolRefAttr:
    symbol = _parse_symbol(parser)
    if symbol is not None:
        parser.parse_characters("x")
        return symbol
    count = IntAttr(parser.parse_shape_dimension(allow_dynamic=False))
    parser.parse_shape_delimiter()
    return count


TYPES: list[type[Attribute]] = [MatrixType, CooperativeMatrixType]
