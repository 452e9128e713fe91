"""What programs for MLIR say of their target, for which devices speak here, and of their entry points."""

from __future__ import annotations

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind


class _TextAttr(Data[str]):
    """What is kept as text."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return _between_brackets(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class TargetEnvAttr(_TextAttr):
    """`#spirv.target_env<#spirv.vce<…>, #spirv.resource_limits<…>>`: devices say what they can."""

    name = "spirv.target_env"


@irdl_attr_definition
class InterfaceVarABIAttr(_TextAttr):
    """`#spirv.interface_var_abi<(0, 1), StorageBuffer>` of a parameter: a launch binds arrays by their order."""

    name = "spirv.interface_var_abi"


def _between_brackets(parser: AttrParser) -> str:
    """Returns the text between angle brackets, with those inside of it."""
    start = parser.pos
    parser.parse_characters("<")
    first, depth = parser.pos, 1
    while True:
        token = parser._consume_token()  # pyright: ignore[reportPrivateUsage]
        if token.kind is MLIRTokenKind.EOF:
            parser.raise_error("the bracket is not closed", start)
        depth += (token.kind is MLIRTokenKind.LESS) - (token.kind is MLIRTokenKind.GREATER)
        if not depth:
            return token.span.input.content[first : token.span.start].strip()


@irdl_attr_definition
class EntryPointABIAttr(Data[tuple[tuple[int, ...], tuple[tuple[str, int], ...]]]):
    """`#spirv.entry_point_abi<workgroup_size = [32, 1, 1], subgroup_size = 32>`."""

    name = "spirv.entry_point_abi"

    @property
    def workgroup_size(self) -> tuple[int, ...]:
        """Work-items along x, y and z; empty where it does not say."""
        return self.data[0]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
        sizes: tuple[int, ...] = ()
        others: list[tuple[str, int]] = []

        def setting() -> None:
            nonlocal sizes
            word = parser.parse_identifier()
            parser.parse_punctuation("=")
            if word == "workgroup_size":
                numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
                sizes = tuple(numbers)
            else:
                others.append((word, parser.parse_integer()))

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, setting)
        return sizes, tuple(others)

    def print_parameter(self, printer: Printer) -> None:
        sizes, others = self.data
        parts = [f"workgroup_size = [{', '.join(map(str, sizes))}]"] if sizes else []
        printer.print_string(f"<{', '.join([*parts, *(f'{word} = {number}' for word, number in others)])}>")


ATTRIBUTES: list[type[Attribute]] = [TargetEnvAttr, EntryPointABIAttr, InterfaceVarABIAttr]
"""The attributes of this file."""
