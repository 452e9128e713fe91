"""The numbers that lengths of arrays are computed by: what a driver makes of OpSpecConstantOp, on 32-bit numbers.

Standard library only.  Results that SPIR-V leaves undefined, such as a division by zero, are 0: the compiler
guards them, and an image from outside must not end the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_MASK = (1 << 32) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeNode:
    """One number of the expressions that array lengths are computed by; see `KernelInfo.size_nodes`."""

    opcode: str
    """``constant``, ``spec_constant``, or what OpSpecConstantOp wraps: ``IMul``, ``Select``."""
    operands: tuple[int, ...]
    """The value of a constant, the SpecId of a specialization constant, else positions of earlier nodes."""


def signed(value: int) -> int:
    """Returns 32 bits read as a signed number."""
    value &= _MASK
    return value - (1 << 32) if value >> 31 else value


def _signed_division(a: int, b: int) -> int:
    x, y = signed(a), signed(b)
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _signed_remainder(a: int, b: int) -> int:
    return signed(a) - signed(b) * _signed_division(a, b) if b else 0


_BINARY: dict[str, Callable[[int, int], int]] = {
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "UDiv": lambda a, b: a // b if b else 0,
    "SDiv": _signed_division,
    "UMod": lambda a, b: a % b if b else 0,
    "SRem": _signed_remainder,
    "SMod": lambda a, b: signed(a) % signed(b) if b else 0,
    "ShiftLeftLogical": lambda a, b: a << b if b < 32 else 0,
    "ShiftRightLogical": lambda a, b: a >> b if b < 32 else 0,
    "ShiftRightArithmetic": lambda a, b: signed(a) >> min(b, 31),
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "IEqual": lambda a, b: a == b,
    "INotEqual": lambda a, b: a != b,
    "SLessThan": lambda a, b: signed(a) < signed(b),
    "SLessThanEqual": lambda a, b: signed(a) <= signed(b),
    "SGreaterThan": lambda a, b: signed(a) > signed(b),
    "SGreaterThanEqual": lambda a, b: signed(a) >= signed(b),
    "ULessThan": lambda a, b: a < b,
    "ULessThanEqual": lambda a, b: a <= b,
    "UGreaterThan": lambda a, b: a > b,
    "UGreaterThanEqual": lambda a, b: a >= b,
    "LogicalAnd": lambda a, b: bool(a and b),
    "LogicalOr": lambda a, b: bool(a or b),
    "LogicalEqual": lambda a, b: bool(a) == bool(b),
    "LogicalNotEqual": lambda a, b: bool(a) != bool(b),
}
_UNARY: dict[str, Callable[[int], int]] = {
    "SNegate": lambda a: -a,
    "Not": lambda a: ~a,
    "LogicalNot": lambda a: not a,
}
OPERAND_COUNTS = {**dict.fromkeys(_BINARY, 2), **dict.fromkeys(_UNARY, 1), "Select": 3}
"""Operands of each opcode, beside ``constant`` and ``spec_constant``."""


def evaluate(nodes: Sequence[SizeNode], spec_values: Mapping[int, int]) -> list[int]:
    """Returns the value of each node as an unsigned number of 32 bits.

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
            result = _apply(node.opcode, [values[position] for position in node.operands])
        values.append(int(result) & _MASK)
    return values


def _apply(opcode: str, operands: list[int]) -> int:
    if opcode == "Select":
        test, if_true, if_false = operands
        return if_true if test else if_false
    if opcode in _UNARY:
        return _UNARY[opcode](operands[0])
    return _BINARY[opcode](*operands)
