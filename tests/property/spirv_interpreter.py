"""An interpreter of SPIR-V assembly, as far as `spirv_control_flow` writes it: each invocation runs by itself.

It shares nothing with the compiler: its results are what devices are compared with.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_STEPS = 200_000


class TooLong(Exception):
    """An invocation executes more instructions than the interpreter has time for."""


class Instruction(NamedTuple):
    """A line of assembly."""

    result: str
    """Empty where there is none."""
    opcode: str
    operands: Sequence[str]
    """With the result type first, where there is one."""


@dataclass
class Function:
    """A function's parameters and blocks."""

    parameters: list[str] = field(default_factory=list)
    blocks: dict[str, list[Instruction]] = field(default_factory=dict)


class Pointer(NamedTuple):
    """A place in a variable, which is a list of one value."""

    variable: list[Any]
    path: tuple[int, ...] = (0,)

    def load(self) -> Any:
        """Returns what is there."""
        value = self.variable
        for index in self.path:
            value = value[index]
        return copied(value)

    def store(self, value: Any) -> None:
        """Replaces what is there."""
        place = self.variable
        for index in self.path[:-1]:
            place = place[index]
        place[self.path[-1]] = copied(value)


def copied(value: Any) -> Any:
    """Returns a composite that shares nothing with a given one."""
    return [copied(part) for part in value] if isinstance(value, list) else value


def signed(value: int, bits: int) -> int:
    """Returns the number that bits are in two's complement."""
    return value - (1 << bits) if value >> bits - 1 else value


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "IAdd": operator.add,
    "ISub": operator.sub,
    "IMul": operator.mul,
    "BitwiseXor": operator.xor,
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "ShiftLeftLogical": operator.lshift,
    "ShiftRightLogical": operator.rshift,
    "FAdd": operator.add,
    "FSub": operator.sub,
    "FMul": operator.mul,
}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "IEqual": operator.eq,
    "INotEqual": operator.ne,
    "ULessThan": operator.lt,
    "UGreaterThanEqual": operator.ge,
    "FOrdLessThan": operator.lt,
    "FOrdGreaterThanEqual": operator.ge,
    "FUnordEqual": operator.eq,
}
SIGNED = {"SGreaterThan": operator.gt, "SLessThanEqual": operator.le}


class Module:
    """A module that has been read.

    Args:
        text: its assembly, an instruction on each line.
    """

    def __init__(self, text: str) -> None:
        self.functions: dict[str, Function] = {}
        self.bits: dict[str, int] = {}
        """Of the integer types."""
        self.types: dict[str, str] = {}
        """The type of each result."""
        self.constants: dict[str, Any] = {}
        self.variables: dict[str, str] = {}
        """Private variables and the constants that they start with."""
        self._function = self._block = None
        for line in filter(None, map(str.split, text.splitlines())):
            result = line[0] if line[1:2] == ["="] else ""
            opcode, *operands = line[2:] if result else line
            self._read(Instruction(result, opcode, operands))

    def _read(self, line: Instruction) -> None:
        if line.result and line.operands:
            self.types[line.result] = line.operands[0]
        if line.opcode == "OpFunction":
            self._function = self.functions[line.result] = Function()
        elif line.opcode == "OpFunctionParameter":
            self._function.parameters.append(line.result)
        elif line.opcode == "OpLabel":
            self._block = self._function.blocks[line.result] = []
        elif line.opcode == "OpFunctionEnd":
            self._function = self._block = None
        elif self._function is not None:
            self._block.append(line)
        else:
            self._declare(line)

    def _declare(self, line: Instruction) -> None:
        result, operands = line.result, line.operands
        if line.opcode == "OpTypeInt":
            self.bits[result] = int(operands[0])
        elif line.opcode in ("OpConstant", "OpSpecConstant"):
            self.constants[result] = (int if operands[0] in self.bits else float)(operands[1])
        elif line.opcode == "OpConstantComposite":
            self.constants[result] = [self.constants[part] for part in operands[1:]]
        elif line.opcode == "OpSpecConstantOp":
            values = [self.constants[operand] for operand in operands[2:]]
            self.constants[result] = self.wrapped(ARITHMETIC[operands[1]](*values), operands[0])
        elif line.opcode == "OpVariable" and operands[1] == "Private":
            self.variables[result] = operands[2]

    def wrapped(self, value: Any, type_: str) -> Any:
        """Returns a number without the bits that its type does not have."""
        if isinstance(value, list):
            return [self.wrapped(part, "%u") for part in value]
        return value & (1 << self.bits[type_]) - 1 if type_ in self.bits else value


class Invocation:
    """One invocation of the kernel `main`.

    Args:
        module: that of the kernel.
        lane: its global id.
        memory: the storage buffers by their names; it stores into them.
    """

    def __init__(self, module: Module, lane: int, memory: dict[str, Pointer]) -> None:
        self.module, self.steps = module, 0
        self.variables = {**memory, "%gid": Pointer([[lane, 0, 0]])}
        for name, start in module.variables.items():
            self.variables[name] = Pointer([copied(module.constants[start])])

    def run(self) -> None:
        """Runs the kernel.

        Raises:
            TooLong: it takes more than `MOST_STEPS`.
        """
        self.call("%main", ())

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Returns what a function gives."""
        function = self.module.functions[name]
        frame = Frame(self, dict(zip(function.parameters, arguments, strict=True)))
        label = next(iter(function.blocks))
        while label is not None:
            label = frame.run_block(label, function.blocks[label])
        return frame.returned


class Frame:
    """A call that is being executed."""

    def __init__(self, invocation: Invocation, values: dict[str, Any]) -> None:
        self.invocation, self.module = invocation, invocation.module
        self.returned: Any = None
        self._values = values
        self._previous = ""

    def __getitem__(self, name: str) -> Any:
        for scope in (self._values, self.module.constants, self.invocation.variables):
            if name in scope:
                return scope[name]
        raise KeyError(f"{name} has no value")

    def bits_of(self, name: str) -> int:
        """Returns the width of an integer."""
        return self.module.bits[self.module.types[name]]

    def run_block(self, label: str, block: Sequence[Instruction]) -> str | None:
        """Executes a block and returns the label of the next."""
        self.invocation.steps += len(block)
        if self.invocation.steps > MOST_STEPS:
            raise TooLong
        phis = [line for line in block if line.opcode == "OpPhi"]
        # All phis take what was there before any of them.
        self._values.update([(line.result, self._incoming(line)) for line in phis])
        self._previous = label
        for line in block[len(phis) :]:
            if line.opcode in ENDS:
                return ENDS[line.opcode](self, line.operands)
            value = self._executed(line)
            if line.result:
                self._values[line.result] = self.module.wrapped(value, line.operands[0])
        raise AssertionError(f"block {label} has no end")

    def _incoming(self, phi: Instruction) -> Any:
        values = dict(zip(phi.operands[2::2], phi.operands[1::2], strict=True))
        return self[values[self._previous]]

    def _executed(self, line: Instruction) -> Any:
        name, operands = line.opcode.removeprefix("Op"), line.operands
        if name in ARITHMETIC:
            left, right = (self[operand] for operand in operands[1:])
            if isinstance(left, list):
                return [ARITHMETIC[name](a, b) for a, b in zip(left, right, strict=True)]
            return ARITHMETIC[name](left, right)
        if name in COMPARED:
            return COMPARED[name](self[operands[1]], self[operands[2]])
        if name in SIGNED:
            return SIGNED[name](*(signed(self[x], self.bits_of(x)) for x in operands[1:]))
        return OTHERS[name](self, operands)


Operands = Sequence[str]


def _variable(frame: Frame, operands: Operands) -> Pointer:
    return Pointer([copied(frame[operands[2]])])


def _chained(frame: Frame, operands: Operands) -> Pointer:
    base = frame[operands[1]]
    return base._replace(path=(*base.path, *(frame[index] for index in operands[2:])))


def _extracted(frame: Frame, operands: Operands) -> Any:
    return Pointer([frame[operands[1]]], (0, *map(int, operands[2:]))).load()


def _inserted(frame: Frame, operands: Operands) -> Any:
    whole = [copied(frame[operands[2]])]
    Pointer(whole, (0, *map(int, operands[3:]))).store(frame[operands[1]])
    return whole[0]


def _inserted_at(frame: Frame, operands: Operands) -> Any:
    vector = copied(frame[operands[1]])
    vector[frame[operands[3]]] = frame[operands[2]]
    return vector


def _shifted_with_sign(frame: Frame, operands: Operands) -> int:
    return signed(frame[operands[1]], frame.bits_of(operands[1])) >> frame[operands[2]]


def _called(frame: Frame, operands: Operands) -> Any:
    return frame.invocation.call(operands[1], [frame[operand] for operand in operands[2:]])


OTHERS: dict[str, Callable[[Frame, Operands], Any]] = {
    "SelectionMerge": lambda frame, operands: None,
    "LoopMerge": lambda frame, operands: None,
    "Variable": _variable,
    "Load": lambda frame, operands: frame[operands[1]].load(),
    "Store": lambda frame, operands: frame[operands[0]].store(frame[operands[1]]),
    "AccessChain": _chained,
    "InBoundsAccessChain": _chained,
    "CompositeConstruct": lambda frame, operands: [frame[part] for part in operands[1:]],
    "CompositeExtract": _extracted,
    "CompositeInsert": _inserted,
    "VectorExtractDynamic": lambda frame, operands: frame[operands[1]][frame[operands[2]]],
    "VectorInsertDynamic": _inserted_at,
    "CopyObject": lambda frame, operands: frame[operands[1]],
    "Select": lambda frame, operands: frame[operands[2 if frame[operands[1]] else 3]],
    "LogicalNot": lambda frame, operands: not frame[operands[1]],
    "ShiftRightArithmetic": _shifted_with_sign,
    "UConvert": lambda frame, operands: frame[operands[1]],
    "SConvert": lambda frame, operands: signed(frame[operands[1]], frame.bits_of(operands[1])),
    "ConvertUToF": lambda frame, operands: float(frame[operands[1]]),
    "ConvertFToU": lambda frame, operands: int(frame[operands[1]]),
    "FunctionCall": _called,
}


def _switched(frame: Frame, operands: Operands) -> str:
    targets = dict(zip(map(int, operands[2::2]), operands[3::2], strict=True))
    return targets.get(frame[operands[0]], operands[1])


def _returned(frame: Frame, operands: Operands) -> None:
    frame.returned = frame[operands[0]]


ENDS: dict[str, Callable[[Frame, Operands], str | None]] = {
    "OpBranch": lambda frame, operands: operands[0],
    "OpBranchConditional": lambda frame, operands: operands[1 if frame[operands[0]] else 2],
    "OpSwitch": _switched,
    "OpReturn": lambda frame, operands: None,
    "OpReturnValue": _returned,
}
"""What ends a block returns the label of the next, or None where the function ends."""
