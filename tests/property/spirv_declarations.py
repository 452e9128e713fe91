"""What random SPIR-V modules declare: types, constants and variables; `Declarations` adds what each one needs."""

from __future__ import annotations

import random

LANES = 16
LOCAL_SIZE = 8
INPUT = 64
"""Where in the buffer the numbers are that kernels read; results are before them, one per lane."""
BUFFER_WORDS = INPUT + LANES
EDGES = (0, 1, 2, 3, 5, 7, 1000, 2**31, 2**32 - 1)

BITS = {"%u": 32, "%u16": 16, "%u64": 64}
"""Integers that values may be, without a sign, as SPIR-V's operations on them have none."""
WIDTHS = {"%u16": "OpCapability Int16\n", "%u64": "OpCapability Int64\n"}

HEAD = """OpCapability Shader
{capabilities}OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %gid
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %spec SpecId 0
OpDecorate %words ArrayStride 4
OpDecorate %row ArrayStride 4
OpDecorate %rows ArrayStride 16
OpDecorate %lanes ArrayStride 64
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %table_block 0 Offset 0
OpDecorate %block Block
OpDecorate %table_block Block
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
OpDecorate %table DescriptorSet 0
OpDecorate %table Binding 1
%void = OpTypeVoid
%bool = OpTypeBool
%u = OpTypeInt 32 0
%f = OpTypeFloat 32
{integers}%v3 = OpTypeVector %u 3
%v4 = OpTypeVector %u 4
%n4 = OpConstant %u 4
%n16 = OpConstant %u 16
%array = OpTypeArray %u %n4
%struct = OpTypeStruct %u %v4 %array
%words = OpTypeRuntimeArray %u
%row = OpTypeArray %u %n4
%rows = OpTypeArray %row %n4
%lanes = OpTypeArray %rows %n16
%block = OpTypeStruct %words
%table_block = OpTypeStruct %lanes
%p_block = OpTypePointer StorageBuffer %block
%p_table = OpTypePointer StorageBuffer %table_block
%p_word = OpTypePointer StorageBuffer %u
%p_row = OpTypePointer StorageBuffer %row
%p_gid = OpTypePointer Input %v3
%p_u = OpTypePointer Function %u
%p_array = OpTypePointer Function %array
%p_struct = OpTypePointer Function %struct
%p_private = OpTypePointer Private %u
%p_private_array = OpTypePointer Private %array
%main_type = OpTypeFunction %void
%with_value = OpTypeFunction %u %u %u
%with_word = OpTypeFunction %u %u %p_u
%with_array = OpTypeFunction %u %u %p_array
%buffer = OpVariable %p_block StorageBuffer
%table = OpVariable %p_table StorageBuffer
%gid = OpVariable %p_gid Input
%c0 = OpConstant %u 0
%c9 = OpConstant %u 9
%spec = OpSpecConstant %u 5
%array_start = OpConstantComposite %array %c0 %c9 %c0 %c9
%vector_start = OpConstantComposite %v4 %c9 %c9 %c0 %c0
%struct_start = OpConstantComposite %struct %c9 %vector_start %array_start
%word_start = OpConstant %u 7
%private = OpVariable %p_private Private %c9
%private_array = OpVariable %p_private_array Private %array_start
"""
_SPEC_OPERATIONS = ("IAdd", "ISub", "IMul", "BitwiseXor", "BitwiseAnd", "BitwiseOr")


class Declarations:
    """The head of a module, and new ids.

    Args:
        pick: what chooses.
        integers: types of `BITS` that values have.
    """

    def __init__(self, pick: random.Random, integers: tuple[str, ...]) -> None:
        self.pick, self.integers = pick, integers
        self.types: dict[str, str] = {}
        """The type of each id that is a value."""
        self._lines: dict[str, str] = {}
        self._count = 0
        self._spec_constants = ["%spec"]

    def new(self, type_: str = "") -> str:
        """Returns an id that nothing has, of a value where it has a type."""
        self._count += 1
        result = f"%x{self._count}"
        if type_:
            self.types[result] = type_
        return result

    def constant(self, value: int, type_: str = "%u") -> str:
        """Returns the constant of a number, whose upper bits are dropped."""
        number = value if type_ == "%f" else value & (1 << BITS[type_]) - 1
        name = f"%c{number}" if type_ == "%u" else f"%c{number}_{type_[1:]}"
        if name not in ("%c0", "%c9"):
            self._lines.setdefault(name, f"{name} = OpConstant {type_} {number}\n")
        return name

    def edge(self, type_: str = "%u") -> str:
        """Returns a constant that is likely to matter: small, or at an end of the range."""
        if type_ == "%f":
            return self.constant(self.pick.choice((0, 1, 3, 1000)), type_)
        if type_ == "%u" and self.pick.random() < 0.1:
            return self._spec_constant()
        return self.constant(self.pick.choice(EDGES) << (32 if self._is_upper(type_) else 0), type_)

    def _is_upper(self, type_: str) -> bool:
        return type_ == "%u64" and self.pick.random() < 0.4

    def _spec_constant(self) -> str:
        """Returns the specialization constant, or one that is computed of those there are."""
        if len(self._spec_constants) < 6 and self.pick.random() < 0.6:
            name, operation = f"%spec{len(self._spec_constants)}", self.pick.choice(_SPEC_OPERATIONS)
            left, right = self.pick.choice(self._spec_constants), self.constant(self.pick.choice(EDGES))
            self._lines[name] = f"{name} = OpSpecConstantOp %u {operation} {left} {right}\n"
            self._spec_constants.append(name)
        return self.pick.choice(self._spec_constants)

    def text(self) -> str:
        """Returns everything before the functions."""
        wide = [type_ for type_ in self.integers if type_ in WIDTHS]
        return HEAD.format(
            capabilities="".join(WIDTHS[type_] for type_ in wide),
            integers="".join(f"{type_} = OpTypeInt {BITS[type_]} 0\n" for type_ in wide),
        ) + "".join(self._lines.values())
