"""The expressions of constants that array lengths are computed by, once as SPIR-V and once as metadata.

A length is lowered like any number first; what it was computed by is then read back from the instructions, where a
zero that is hidden from drivers is a 0.
The module gets an OpSpecConstantOp for each, which the array's type names, and the `KernelInfo` a graph,
which the runtime evaluates before the driver sees the values: drivers end the process over a length of 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.scalars import is_bool
from ...ir.dialects.spirv.spec_expression import OPERAND_COUNTS
from ...ir.narrowing import is_integer_attribute, is_integer_type
from ...ir.size_arithmetic import SizeNode
from .types import integer_attribute

if TYPE_CHECKING:
    from .module_lowering import ModuleLowering

_PREFIX = "spirv."
_ORDERED = {
    "spirv.GL.SMin": "SLessThan",
    "spirv.GL.SMax": "SGreaterThan",
    "spirv.GL.UMin": "ULessThan",
    "spirv.GL.UMax": "UGreaterThan",
}
"""Functions of GLSL.std.450, which OpSpecConstantOp cannot wrap, as the comparison that chooses."""


@dataclass(frozen=True, slots=True)
class Size:
    """One integer or bool that is known before the kernel runs."""

    node: int
    """Its position in the graph."""
    attribute: Attribute
    """An `IntegerAttr`, or the symbol of a constant of the module."""

    @property
    def literal(self) -> int | None:
        """The value where no specialization constant takes part."""
        return self.attribute.value.data if is_integer_attribute(self.attribute) else None


class SizeExpressions:
    """The graph of one kernel."""

    def __init__(self, module: ModuleLowering) -> None:
        self._module = module
        self._nodes: list[tuple[str, tuple[int | str, ...], int]] = []
        self._known: dict[object, Size] = {}

    def nodes(self) -> tuple[SizeNode, ...]:
        """Returns the graph, after the module's SpecIds are given out."""
        ids = self._module.spec_constants.spec_ids
        return tuple(
            SizeNode(
                opcode=opcode,
                operands=tuple(ids[o] if isinstance(o, str) else o for o in operands),
                bits=bits,
            )
            for opcode, operands, bits in self._nodes
        )

    def of(self, value: SSAValue) -> Size:
        """Returns the expression that a lowered value is; TypeError where it is known at run time only."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._of(value)
        return known

    def literal(self, number: int) -> Size:
        """Returns an i32 constant."""
        return self._constant(integer_attribute(number, 32))

    def product(self, sizes: list[Size]) -> Size:
        """Returns the product of sizes."""
        total = sizes[0]
        for size in sizes[1:]:
            total = self.apply("IMul", [total, size], i32)
        return total

    def at_least_one(self, size: Size) -> Size:
        """Returns a size that SPIR-V allows as an array's length whatever values the constants have.

        The runtime refuses other values by name, but only for the kernels that have the array: their module is as well
        that of kernels without it.
        """
        one = self.literal(1)
        return self.apply("Select", [self.apply("SGreaterThan", [size, one], i1), size, one], i32)

    def apply(self, opcode: str, operands: list[Size], type_: Attribute) -> Size:
        """Returns the expression ``opcode operands``."""
        key = (opcode, type_, *(operand.node for operand in operands))
        known = self._known.get(key)
        if known is not None:
            return known
        literals = [operand.literal for operand in operands]
        if opcode == "IMul" and None not in literals:
            return self.literal((literals[0] or 0) * (literals[1] or 0))
        module = self._module
        symbol = module.reserve("__length")
        module.spec_constants.ops.append(
            spirv.SpecConstantExpressionOp(symbol, opcode, [o.attribute for o in operands], type_)
        )
        node = self._add(opcode, _bits(type_), *(operand.node for operand in operands))
        found = self._known[key] = Size(node, module.symbol(symbol))
        return found

    def _of(self, value: SSAValue) -> Size:
        op = value.owner
        if isinstance(op, spirv.ConstantOp) and is_integer_attribute(op.value):
            return self._constant(op.value)
        if isinstance(op, spirv.ReferenceOfOp):
            bits = _bits(value.type)
            symbol = op.spec_const.root_reference.data
            return Size(self._add("spec_constant", bits, symbol), self._module.symbol(symbol))
        if value in self._module.unknown_zeros:
            return self.literal(0)  # hidden for what drivers make of other uses of the same arithmetic
        if not isinstance(op, Operation):
            raise _not_constant(value)
        opcode, comparison = op.name.removeprefix(_PREFIX), _ORDERED.get(op.name)
        if isinstance(op, spirv.UConvertOp):
            return self._without_sign(op.operands[0], value.type)
        if opcode not in OPERAND_COUNTS and comparison is None:
            raise _not_constant(value)
        operands = [self.of(operand) for operand in op.operands]
        if comparison is None:
            return self.apply(opcode, operands, value.type)
        return self.apply("Select", [self.apply(comparison, operands, i1), *operands], value.type)

    def _without_sign(self, value: SSAValue, type_: Attribute) -> Size:
        """Returns UConvert, which OpSpecConstantOp wraps since SPIR-V 1.4, by SConvert, which it always has."""
        size = self.apply("SConvert", [self.of(value)], type_)
        bits, target = _bits(value.type), _bits(type_)
        if bits > target:
            return size
        mask = self._constant(integer_attribute((1 << bits) - 1, target))
        return self.apply("BitwiseAnd", [size, mask], type_)

    def _constant(self, attribute: IntegerAttr) -> Size:
        number = attribute.value.data
        key = (number, attribute.type)
        known = self._known.get(key)
        if known is None:
            bits = _bits(attribute.type)
            known = self._known[key] = Size(self._add("constant", bits, number), attribute)
        return known

    def _add(self, opcode: str, bits: int, *operands: int | str) -> int:
        self._nodes.append((opcode, operands, bits))
        return len(self._nodes) - 1


def _bits(type_: Attribute) -> int:
    """Returns the bits of a number, 32 of a bool; TypeError where it is neither."""
    if is_bool(type_):
        return 32
    if not is_integer_type(type_):
        raise TypeError(f"the length of an array is computed from integers and bools, found {type_}")
    return type_.width.data


def _not_constant(value: SSAValue) -> TypeError:
    owner = value.owner
    found = f"'{owner.name}'" if isinstance(owner, Operation) else "a value that a loop carries"
    return TypeError(
        "the length of an array is an integer expression of literals and specialization constants; "
        f"found {found}"
    )
