"""The `spec_constant` dialect: SYCL specialization constants before they have SpecIds.

A constant is a symbol of the module, of any type made of scalars; the default has one leaf attribute per
scalar in C order.  Lowering makes one `spirv.SpecConstant` with a SpecId per leaf, so a value given at run
time needs no new module.  Constants that no kernel of an image reads never reach that image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import elements, integers
from ..type_structure import scalar_leaves


def _leaf_type(leaf: Attribute) -> Attribute | None:
    if isinstance(leaf, FloatAttr):
        return cast("FloatAttr[AnyFloat]", leaf).type
    return cast("IntegerAttr[IntegerType]", leaf).type if isinstance(leaf, IntegerAttr) else None


HOST_LAYOUT = "spec_constant.host_layout"
"""array<i32>: offset in bytes of each scalar in the host value, then its size; without it they lie tightly."""
HOST_DTYPES = "spec_constant.host_dtypes"
"""Array of strings: the scalar type of each scalar as lapilli spells it, where they differ."""


MAX_HOST_BYTES = 1 << 20
"""Largest host value of a constant that has a layout."""


@irdl_op_definition
class DeclareOp(IRDLOperation):
    """Declares a specialization constant.

    spec_constant.declare @pkg.mod.SCALE : f32 = [1.0 : f32] {short_name = "SCALE", lapilli_type = "f32"}
    """

    name = "spec_constant.declare"

    sym_name = prop_def(SymbolNameConstraint())
    const_type = prop_def(TypeAttribute)
    default = prop_def(ArrayAttr)
    short_name = opt_prop_def(StringAttr)
    lapilli_type = opt_prop_def(StringAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        const_type: Attribute,
        default: Sequence[Attribute],
        *,
        short_name: str | None = None,
        lapilli_type: str | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "const_type": const_type,
                "default": ArrayAttr(default),
                "short_name": None if short_name is None else StringAttr(short_name),
                "lapilli_type": None if lapilli_type is None else StringAttr(lapilli_type),
            }
        )

    @property
    def display_name(self) -> str:
        """Name for messages: the short one, else the last part of the symbol."""
        if self.short_name is not None:
            return self.short_name.data
        return self.sym_name.data.rpartition(".")[2]

    def verify_(self) -> None:
        self._verify_scalars()
        self._verify_host_value()

    def _verify_host_value(self) -> None:
        """Checks what the discardable attributes say of the value on the host."""
        count = len(self.default.data)
        layout = self.attributes.get(HOST_LAYOUT)
        if layout is not None:
            offsets = integers(layout, i32)
            sizes = [_host_bytes(leaf) for leaf in self.default.data]
            ends = [0, *(a + b for a, b in zip(offsets or (), sizes, strict=False))]
            if (
                offsets is None
                or len(offsets) != count + 1
                or any(offset < end for offset, end in zip(offsets, ends, strict=True))
                or offsets[-1] > MAX_HOST_BYTES
            ):
                raise VerifyException(
                    f"@{self.sym_name.data}: '{HOST_LAYOUT}' must be array<i32> of {count} ascending offsets "
                    f"that do not overlap, and the size; found {layout}"
                )
        dtypes = self.attributes.get(HOST_DTYPES)
        if dtypes is not None:
            names = elements(dtypes)
            if names is None or len(names) != count or not all(isinstance(n, StringAttr) for n in names):
                raise VerifyException(
                    f"@{self.sym_name.data}: '{HOST_DTYPES}' must be an array of {count} strings, found {dtypes}"
                )

    def _verify_scalars(self) -> None:
        try:
            expected = scalar_leaves(self.const_type)
        except TypeError as error:
            raise VerifyException(f"@{self.sym_name.data}: {error}") from error
        leaves = self.default.data
        if len(leaves) != len(expected):
            raise VerifyException(
                f"@{self.sym_name.data}: {self.const_type} has {len(expected)} scalars, "
                f"the default has {len(leaves)}"
            )
        for index, (leaf, scalar) in enumerate(zip(leaves, expected, strict=True)):
            if _leaf_type(leaf) != scalar:
                raise VerifyException(
                    f"@{self.sym_name.data}: leaf {index} of the default must be of type {scalar}, "
                    f"found {leaf}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> DeclareOp:
        sym_name = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        const_type = parser.parse_type()
        parser.parse_punctuation("=")
        default = parser.parse_attribute()
        if not isinstance(default, ArrayAttr):
            parser.raise_error("expected the default as a list of scalars: [1.0 : f32]")
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {
            "sym_name": sym_name,
            "const_type": const_type,
            "default": default,
        }
        for name in ("short_name", "lapilli_type"):
            if name in attributes:
                properties[name] = attributes.pop(name)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.const_type)
        printer.print_string(" = ")
        printer.print_attribute(self.default)
        trailing = {k: v for k, v in self.properties.items() if k in ("short_name", "lapilli_type")}
        printer.print_op_attributes(trailing | self.attributes)


@irdl_op_definition
class GetOp(IRDLOperation):
    """Reads a specialization constant; the same value in every work-item.

    %scale = spec_constant.get @pkg.mod.SCALE : f32
    """

    name = "spec_constant.get"

    constant = prop_def(FlatSymbolRefAttrConstr)
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, constant: str | SymbolRefAttr, result_type: Attribute):
        if isinstance(constant, str):
            constant = SymbolRefAttr(constant)
        super().__init__(properties={"constant": constant}, result_types=[result_type])

    def declaration(self) -> DeclareOp | None:
        """Returns the declaration in the nearest symbol table that has the name, or None."""
        return lookup(self, self.constant.string_value())

    def verify_(self) -> None:
        if _is_detached(self):
            return
        declared = self.declaration()
        symbol = self.constant.string_value()
        if declared is None:
            raise VerifyException(f"@{symbol} is not declared; expected a spec_constant.declare of that name")
        if declared.const_type != self.result.type:
            raise VerifyException(
                f"@{symbol} is declared as {declared.const_type}, but read as {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> GetOp:
        constant = SymbolRefAttr(parser.parse_symbol_name())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(constant, parser.parse_type())
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.constant.string_value())
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def _host_bytes(leaf: Attribute) -> int:
    """Returns the bytes of a scalar in the host value; a bool is 1."""
    width = getattr(_leaf_type(leaf), "bitwidth", 32)
    return max(1, int(width) // 8)


def lookup(user: Operation, symbol: str) -> DeclareOp | None:
    """Returns the declaration of `symbol` seen from `user`, None where there is none.

    Every enclosing symbol table is searched, innermost first: a `gpu.module` sees the constants of the module
    around it.
    """
    table = user.parent_op()
    while table is not None:
        if table.has_trait(SymbolTable, value_if_unregistered=False):
            for op in table.regions[0].ops:
                if isinstance(op, DeclareOp) and op.sym_name.data == symbol:
                    return op
        table = table.parent_op()
    return None


def _is_detached(op: Operation) -> bool:
    """Whether `op` stands in no symbol table yet, as while a kernel is being built."""
    parent = op.parent_op()
    while parent is not None:
        if parent.has_trait(SymbolTable, value_if_unregistered=False):
            return False
        parent = parent.parent_op()
    return True


SPEC_CONSTANT = Dialect("spec_constant", [DeclareOp, GetOp])
"""The dialect, for `Context.load_dialect`."""

__all__ = ["HOST_DTYPES", "HOST_LAYOUT", "SPEC_CONSTANT", "DeclareOp", "GetOp", "lookup"]
