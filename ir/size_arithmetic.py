"""The numbers that lengths of arrays are computed by: what a driver makes of OpSpecConstantOp.

Standard library only.  Results that SPIR-V leaves undefined, such as a division by zero, are 0: the compiler
guards them, and an image from outside must not end the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SIZE_BITS = (8, 16, 32, 64)
"""Bits that numbers may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeNode:
    """One number of the expressions that array lengths are computed by; see `KernelInfo.size_nodes`."""

    opcode: str
    """``constant``, ``spec_constant``, or what OpSpecConstantOp wraps: ``IMul``, ``Select``."""
    operands: tuple[int, ...]
    """The value of a constant, the SpecId of a specialization constant, else positions of earlier nodes."""
    bits: int = 32
    """One of `SIZE_BITS`; 32 of a bool as well."""


def signed(value: int, bits: int = 32) -> int:
    """Returns the low bits read as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "UDiv": lambda a, b: a // b if b else 0,
    "UMod": lambda a, b: a % b if b else 0,
    "ShiftLeftLogical": lambda a, b: a << b if b < 64 else 0,
    "ShiftRightLogical": lambda a, b: a >> b,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "IEqual": lambda a, b: a == b,
    "INotEqual": lambda a, b: a != b,
    "ULessThan": lambda a, b: a < b,
    "ULessThanEqual": lambda a, b: a <= b,
    "UGreaterThan": lambda a, b: a > b,
    "UGreaterThanEqual": lambda a, b: a >= b,
    "LogicalAnd": lambda a, b: bool(a and b),
    "LogicalOr": lambda a, b: bool(a or b),
    "LogicalEqual": lambda a, b: bool(a) == bool(b),
    "LogicalNotEqual": lambda a, b: bool(a) != bool(b),
}
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "SDiv": _truncated_quotient,
    "SRem": lambda a, b: a - b * _truncated_quotient(a, b) if b else 0,
    "SMod": lambda a, b: a % b if b else 0,
    "ShiftRightArithmetic": lambda a, b: a >> b if b >= 0 else a >> 64,
    "SLessThan": lambda a, b: a < b,
    "SLessThanEqual": lambda a, b: a <= b,
    "SGreaterThan": lambda a, b: a > b,
    "SGreaterThanEqual": lambda a, b: a >= b,
}
_UNARY: dict[str, Callable[[int], int]] = {
    "SNegate": lambda a: -a,
    "Not": lambda a: ~a,
    "LogicalNot": lambda a: not a,
    "UConvert": lambda a: a,
}
OPERAND_COUNTS = {
    **dict.fromkeys(_UNSIGNED, 2), **dict.fromkeys(_SIGNED, 2), **dict.fromkeys(_UNARY, 1), "SConvert": 1, "Select": 3,
}  # fmt: skip
"""Operands of each opcode, beside ``constant`` and ``spec_constant``."""


def evaluate(nodes: Sequence[SizeNode], spec_values: Mapping[int, int]) -> list[int]:
    """Returns the value of each node as an unsigned number of its bits.

    Args:
        nodes: operands before their users.
        spec_values: numbers by SpecId; an absent one is 0.
    """
    values: list[int] = []
    for node in nodes:
        if node.opcode == "constant":
            result = node.operands[0]
        elif node.opcode == "spec_constant":
            result = spec_values.get(node.operands[0], 0)
        else:
            operands = [(values[position], nodes[position].bits) for position in node.operands]
            result = _apply(node.opcode, operands)
        values.append(int(result) & (1 << node.bits) - 1)
    return values


def _apply(opcode: str, operands: list[tuple[int, int]]) -> int:
    numbers = [value for value, _ in operands]
    if opcode == "Select":
        test, if_true, if_false = numbers
        return if_true if test else if_false
    if opcode in _UNARY:
        return _UNARY[opcode](numbers[0])
    if opcode in _UNSIGNED:
        return _UNSIGNED[opcode](*numbers)
    numbers = [signed(value, bits) for value, bits in operands]
    return numbers[0] if opcode == "SConvert" else _SIGNED[opcode](*numbers)
