"""Statements of random SPIR-V functions that do not branch: arithmetic, memory, composites, calls."""

from __future__ import annotations

from .spirv_blocks import BlockWriter
from .spirv_declarations import BITS, INPUT, LANES, Declarations

INTEGER_OPERATIONS = ("OpIAdd", "OpISub", "OpIMul", "OpBitwiseXor", "OpBitwiseAnd", "OpBitwiseOr")
SHIFTS = ("OpShiftLeftLogical", "OpShiftRightLogical", "OpShiftRightArithmetic")
FLOAT_OPERATIONS = ("OpFAdd", "OpFSub", "OpFMul")
COMPARISONS = (
    "OpIEqual", "OpINotEqual", "OpULessThan", "OpSGreaterThan", "OpUGreaterThanEqual", "OpSLessThanEqual",
)  # fmt: skip
FLOAT_COMPARISONS = ("OpFOrdLessThan", "OpFOrdGreaterThanEqual", "OpFUnordEqual")
FLOAT_MASK = 4095
"""Values of f32 are whole numbers up to it: every order of operations and every fma gives the same."""
CALLED = {"value": "%with_value", "word": "%with_word", "array": "%with_array"}
"""The type of a function, by what its second parameter is."""


class StatementWriter(BlockWriter):
    """Writes what is in a block."""

    def __init__(self, module: Declarations, functions: dict[str, str]) -> None:
        super().__init__(module)
        self.functions = functions
        """Those that can be called, and the keys in `CALLED` of what they take."""
        self.lane = ""
        """The number of the lane, in the kernel."""
        self.own_words: list[str] = []
        self.own_arrays: list[str] = []
        self.struct = ""
        self._statements = (
            *[self._integer] * 6, self._select, *[self._word] * 2, *[self._array_element] * 2, self._member,
            self._vector, self._whole_struct, self._call, self._input, self._copy, self._float, self._shift,
            self._conversion, self._row,
        )  # fmt: skip

    def statement(self) -> None:
        """Writes a random one."""
        self.pick.choice(self._statements)()

    def condition(self) -> str:
        """Returns a truth, often one of a low bit, which lanes differ in."""
        kind = self.pick.random()
        if kind < 0.1:
            return self.result(
                self.pick.choice(FLOAT_COMPARISONS), "%bool", self.value("%f"), self.value("%f")
            )
        if kind < 0.5:
            type_ = self.pick.choice(self.module.integers)
            return self.result(self.pick.choice(COMPARISONS), "%bool", self.value(type_), self.value(type_))
        bit = self.masked(self.pick.choice((1, 2, 3, 4)))
        return self.result(
            self.pick.choice(COMPARISONS[:2]), "%bool", bit, self.constant(self.pick.choice((0, 1)))
        )

    def masked(self, mask: int) -> str:
        """Returns a value of at most a mask."""
        return self.result("OpBitwiseAnd", "%u", self.value(), self.constant(mask))

    def _keep(self, value: str) -> None:
        self.available.append(value)

    def _load_or_store(self, pointer: str) -> None:
        if self.pick.random() < 0.5:
            self.write(f"OpStore {pointer} {self.value()}")
        else:
            self._keep(self.result("OpLoad", "%u", pointer))

    def _integer(self) -> None:
        type_ = self.pick.choice(self.module.integers)
        self._keep(
            self.result(self.pick.choice(INTEGER_OPERATIONS), type_, self.value(type_), self.value(type_))
        )

    def _shift(self) -> None:
        type_ = self.pick.choice(self.module.integers)
        distance = self.result(
            "OpBitwiseAnd", type_, self.value(type_), self.constant(BITS[type_] - 1, type_)
        )
        self._keep(self.result(self.pick.choice(SHIFTS), type_, self.value(type_), distance))

    def _conversion(self) -> None:
        if len(self.module.integers) == 1:
            return self._integer()
        source, target = self.pick.sample(self.module.integers, 2)
        return self._keep(
            self.result(
                self.pick.choice(("OpUConvert", "OpUConvert", "OpSConvert")), target, self.value(source)
            )
        )

    def _float(self) -> None:
        """Computes with f32, and brings the result back into the range in which that is exact."""
        x = self.result(self.pick.choice(FLOAT_OPERATIONS), "%f", self.value("%f"), self.value("%f"))
        x = self.result(
            "OpSelect",
            "%f",
            self.result("OpFOrdLessThan", "%bool", x, self.constant(0, "%f")),
            self.constant(7, "%f"),
            x,
        )
        whole = self.result("OpConvertFToU", "%u", x)
        if self.pick.random() < 0.5:
            whole = self.result("OpIAdd", "%u", whole, self.value())
        low = self.result("OpBitwiseAnd", "%u", whole, self.constant(FLOAT_MASK))
        self.available += [low, self.result("OpConvertUToF", "%f", low)]

    def _select(self) -> None:
        type_, condition = self.any_type(), self.condition()
        self._keep(self.result("OpSelect", type_, condition, self.value(type_), self.value(type_)))

    def _copy(self) -> None:
        type_ = self.any_type()
        self._keep(self.result("OpCopyObject", type_, self.value(type_)))

    def _word(self) -> None:
        self._load_or_store(self.pick.choice([*self.own_words, "%private"]))

    def _array_element(self) -> None:
        array = self.pick.choice([*self.own_arrays, "%private_array"])
        self._load_or_store(self.result("OpAccessChain", element_type(array), array, self.masked(3)))

    def _member(self) -> None:
        member = self.pick.randrange(3)
        if member == 2:
            array = self.result("OpAccessChain", "%p_array", self.struct, self.constant(2))
            pointer = self.result("OpInBoundsAccessChain", "%p_u", array, self.masked(3))
        else:
            indices = (self.masked(3),) if member else ()
            pointer = self.result("OpAccessChain", "%p_u", self.struct, self.constant(member), *indices)
        self._load_or_store(pointer)

    def _vector(self) -> None:
        vector = self.result("OpCompositeConstruct", "%v4", *(self.value() for _ in range(4)))
        if self.pick.random() < 0.5:
            vector = self.result("OpVectorInsertDynamic", "%v4", vector, self.value(), self.masked(3))
        if self.pick.random() < 0.5:
            vector = self.result("OpIAdd", "%v4", vector, vector)
        if self.pick.random() < 0.5:
            self._keep(self.result("OpVectorExtractDynamic", "%u", vector, self.masked(3)))
        else:
            self._keep(self.result("OpCompositeExtract", "%u", vector, self.pick.randrange(4)))

    def _whole_struct(self) -> None:
        struct = self.result("OpLoad", "%struct", self.struct)
        place = self.pick.choice(("0", "1 2", "2 3", "2 0"))
        struct = self.result("OpCompositeInsert", "%struct", self.value(), struct, place)
        if self.pick.random() < 0.5:
            self.write(f"OpStore {self.struct} {struct}")
        else:
            place = self.pick.choice(("0", "1 1", "2 3", "2 1"))
            self._keep(self.result("OpCompositeExtract", "%u", struct, place))

    def _call(self) -> None:
        if not self.functions:
            return
        name, takes = self.pick.choice([*self.functions.items()])
        second = {"value": [self.value()], "word": self.own_words, "array": self.own_arrays}[takes]
        self._keep(self.result("OpFunctionCall", "%u", name, self.value(), self.pick.choice(second)))

    def _input(self) -> None:
        index = self.result("OpIAdd", "%u", self.masked(LANES - 1), self.constant(INPUT))
        pointer = self.result("OpAccessChain", "%p_word", "%buffer", "%c0", index)
        self._keep(self.result("OpLoad", "%u", pointer))

    def _row(self) -> None:
        """An element of the lane's own part of an array of arrays of arrays in memory."""
        if not self.lane:
            return
        if self.pick.random() < 0.5:
            row = self.result("OpAccessChain", "%p_row", "%table", "%c0", self.lane, self.masked(3))
            pointer = self.result("OpAccessChain", "%p_word", row, self.masked(3))
        else:
            indices = self.lane, self.masked(3), self.masked(3)
            pointer = self.result("OpAccessChain", "%p_word", "%table", "%c0", *indices)
        self._load_or_store(pointer)


def element_type(array: str) -> str:
    """Returns the type of a pointer to an element of an array."""
    return "%p_private" if array == "%private_array" else "%p_u"
