"""Layouts of foreign types: the scalars of a value by offset, and the element types that a buffer may have.

Offsets, strides and the order of matrices are the binary's own (SPIR-V 1.6 §2.16.2); std140, std430 and scalar
layouts need no rules here.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.errors import FeatureNotSupportedError
from ..ir.kernel_info import ValueLeaf
from .binary import Instruction
from .errors import SpirvError
from .module_view import ModuleView
from .tables import Decoration, Op, SourceLanguage, enumerant_value
from .type_info import constant_value, type_table

SLANG = enumerant_value("SourceLanguage", "Slang")
MAX_LEAVES = 1024
"""Scalars of one value; push constants have a few hundred bytes."""


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """How a matrix lies in memory: a decoration of the struct member around it."""

    stride_bytes: int = 0
    is_row_major: bool = False


@dataclass(frozen=True, slots=True)
class ValueLayout:
    """A type with its scalars."""

    spelling: str
    shape: tuple[int, ...] | None
    """Shape of a NumPy array of the scalars; None for structs and what holds them."""
    leaves: tuple[ValueLeaf, ...]
    size_bytes: int


_ROWS_AS_COLUMNS = (SourceLanguage.HLSL, SLANG)


def has_rows_as_columns(view: ModuleView) -> bool:
    """Whether a module is of a language whose ``mul(m, v)`` its compilers write as SPIR-V's ``v * m``: HLSL and Slang.

    They make each row of a matrix a column in SPIR-V, so that ``m[0]`` is a row; OpSource says so.
    """
    return any(
        item.operands[:1] and item.operands[0] in _ROWS_AS_COLUMNS for item in view.of_opcode(Op.Source)
    )


class ForeignTypes:
    """The types of one module."""

    def __init__(self, view: ModuleView, *, has_rows_as_columns: bool = False) -> None:
        """Reads the types of a module.

        Args:
            view: the module.
            has_rows_as_columns: whether its compiler makes the rows of a matrix the columns of SPIR-V's; see
                `has_rows_as_columns`.
        """
        self.view = view
        self._is_transposed = has_rows_as_columns
        self.table = type_table(view)

    def definition(self, number: int) -> Instruction:
        """Returns a type's instruction; SpirvError where there is none."""
        item = self.view.definitions.get(number)
        if item is None:
            raise SpirvError(f"{number} is no type")
        return item

    def scalar_bytes(self, spelling: str) -> int:
        """Returns the size of a scalar by its spelling: ``f32``."""
        return int("".join(filter(str.isdigit, spelling)) or 32) // 8

    def layout(self, number: int, matrix: MatrixLayout, what: str) -> ValueLayout:
        """Returns the scalars of a value.

        Args:
            number: the type.
            matrix: of the member that holds it.
            what: the value, for messages.

        Raises:
            FeatureNotSupportedError: it holds a pointer or another type without scalars, or too many of them.
            SpirvError: the layout is not explicit.
        """
        leaves: list[ValueLeaf] = []
        for leaf in self._leaves(number, matrix, 0, "", what):
            if len(leaves) >= MAX_LEAVES:
                raise FeatureNotSupportedError(
                    f"{what}: a value of more than {MAX_LEAVES} scalars cannot be an argument; put it into a buffer"
                )
            leaves.append(leaf)
        size = max((leaf.offset_bytes + self.scalar_bytes(leaf.dtype) for leaf in leaves), default=0)
        return ValueLayout(self.spelling(number), self.shape(number), tuple(leaves), size)

    def _leaves(
        self, number: int, matrix: MatrixLayout, offset: int, path: str, what: str
    ) -> Iterator[ValueLeaf]:
        item = self.definition(number)
        if item.opcode in (Op.TypeInt, Op.TypeFloat):
            yield ValueLeaf(path=path, dtype=self._scalar(number, what), offset_bytes=offset)
        elif item.opcode == Op.TypeVector:
            part, count = item.operands
            size = self.scalar_bytes(self._scalar(part, what))
            for index in range(count):
                yield from self._leaves(part, matrix, offset + index * size, f"{path}[{index}]", what)
        elif item.opcode == Op.TypeMatrix:
            yield from self._matrix(item, matrix, offset, path, what)
        elif item.opcode == Op.TypeArray:
            part, length = item.operands[0], constant_value(self.view, item.operands[1]) or 0
            stride = self.view.decoration(number, Decoration.ArrayStride)
            if stride is None or not stride[0]:
                raise SpirvError(f"{what}: an array without ArrayStride")
            for index in range(length):
                yield from self._leaves(part, matrix, offset + index * stride[0], f"{path}[{index}]", what)
        elif item.opcode == Op.TypeStruct:
            for index, part in enumerate(item.operands):
                name = self.view.member_names.get((number, index)) or f"member{index}"
                start = self.member_offset(number, index)
                of_member = self.member_matrix(number, index)
                yield from self._leaves(part, of_member, offset + start, f"{path}.{name}", what)
        else:
            kind = "pointers" if item.opcode == Op.TypePointer else f"values of {item.name}"
            raise FeatureNotSupportedError(
                f"{what}{path}: {kind} cannot be arguments of a foreign kernel; pass arrays through storage buffers"
            )

    def _matrix(
        self, item: Instruction, matrix: MatrixLayout, offset: int, path: str, what: str
    ) -> Iterator[ValueLeaf]:
        column, columns = item.operands
        part, rows = self.definition(column).operands
        dtype = self._scalar(part, what)
        size = self.scalar_bytes(dtype)
        if not matrix.stride_bytes:
            raise SpirvError(f"{what}: a matrix without MatrixStride")
        by_row, by_column = (
            (matrix.stride_bytes, size) if matrix.is_row_major else (size, matrix.stride_bytes)
        )
        if self._is_transposed:
            rows, columns, by_row, by_column = columns, rows, by_column, by_row
        for row in range(rows):
            for number in range(columns):
                place = offset + row * by_row + number * by_column
                yield ValueLeaf(path=f"{path}[{row}, {number}]", dtype=dtype, offset_bytes=place)

    def _scalar(self, number: int, what: str) -> str:
        info = self.table.get(number)
        if info is None or info.name in ("int", "bool"):
            raise FeatureNotSupportedError(f"{what}: a scalar of a type that lapilli does not have")
        return info.name

    def member_offset(self, struct: int, index: int) -> int:
        """Returns a member's offset; SpirvError where it has none."""
        words = self.view.member_decoration(struct, index, Decoration.Offset)
        if not words:
            raise SpirvError(f"member {index} of struct {struct} has no Offset")
        return words[0]

    def member_matrix(self, struct: int, index: int) -> MatrixLayout:
        """Returns how the matrices of a member lie."""
        stride = self.view.member_decoration(struct, index, Decoration.MatrixStride)
        is_row_major = self.view.member_decoration(struct, index, Decoration.RowMajor) is not None
        return MatrixLayout(stride[0] if stride else 0, is_row_major)

    def shape(self, number: int) -> tuple[int, ...] | None:
        """Returns the shape of a NumPy array of a type's scalars, None for what holds structs."""
        item = self.definition(number)
        if item.opcode == Op.TypeVector:
            return (item.operands[1],)
        if item.opcode == Op.TypeMatrix:
            shape = (self.definition(item.operands[0]).operands[1], item.operands[1])
            return shape[::-1] if self._is_transposed else shape
        if item.opcode == Op.TypeArray:
            part = self.shape(item.operands[0])
            length = constant_value(self.view, item.operands[1]) or 0
            return None if part is None else (length, *part)
        return None if item.opcode == Op.TypeStruct else ()

    def spelling(self, number: int) -> str:
        """Returns how messages call a type."""
        item = self.definition(number)
        if item.opcode == Op.TypeMatrix:
            rows, columns = self.shape(number) or (0, 0)
            part = self.definition(item.operands[0]).operands[0]
            return f"matrix of {self.spelling(part)}, {rows} × {columns}"
        if item.opcode == Op.TypeArray:
            length = constant_value(self.view, item.operands[1])
            return f"{self.spelling(item.operands[0])}[{length}]"
        if item.opcode == Op.TypeStruct:
            return f"struct {self.view.names.get(number, '')}".strip()
        info = self.table.get(number)
        return info.name if info is not None else item.name

    def element_types(self, number: int, stride_bytes: int) -> tuple[str, ...]:
        """Returns the element types of arrays that a run-time array of some type takes; () for any.

        A scalar type is taken whatever the elements are made of; a vector type where it has the array's stride.
        Integers of either sign are taken: many compilers have only one.

        Args:
            number: the element's type.
            stride_bytes: from element to element.
        """
        item = self.definition(number)
        count = 1
        if item.opcode == Op.TypeVector:
            number, count = item.operands
            item = self.definition(number)
        info = self.table.get(number)
        if item.opcode not in (Op.TypeInt, Op.TypeFloat) or info is None or info.name == "int":
            return ()
        names = [info.name]
        if info.name[0] in "iu":
            names.append(("u" if info.name[0] == "i" else "i") + info.name[1:])
        size = self.scalar_bytes(info.name)
        # A scalar block takes vectors too: they lie without gaps.
        counts = (2, 3, 4) if count == 1 else [n for n in (count, 4) if n * size == stride_bytes]
        vectors = [f"Vec[{name}, {n}]" for n in dict.fromkeys(counts) for name in names]
        return (*names, *vectors)
