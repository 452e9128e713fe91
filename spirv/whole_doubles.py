"""Makes whole numbers of f64 by way of floor and ceil: `doubles_rounded`.

    %t = OpExtInst %double %std Trunc %x   →       %down = OpExtInst %double %std Floor %x
                                                   %up = OpExtInst %double %std Ceil %x
                                                   %less = OpFOrdLessThan %bool %x %zero
                                                   %t = OpSelect %double %less %up %down

Round, RoundEven and OpFRem alike: drivers with the fault (`vk_runtime.quirks`, rounded-doubles) give others.  What
`passes.convert_to_spirv.double_rounding` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

import struct

from .binary import Instruction, Module
from .component_types import component_type, of_components, splat
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import GLSL_STD_450, Op

_TRUNC = GLSL_STD_450["Trunc"][0]
_FLOOR = GLSL_STD_450["Floor"][0]
_CEIL = GLSL_STD_450["Ceil"][0]
_ABSOLUTE = GLSL_STD_450["FAbs"][0]
_ROUNDED = (GLSL_STD_450["Round"][0], GLSL_STD_450["RoundEven"][0])
"""Round may go either way at a half, so it goes to the even number."""


def doubles_rounded(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has none of these operations on f64."""
    rewrite = Rewrite(module)
    for _, item in rewrite.instructions(Op.ExtInst, Op.FRem):
        if _is_misrounded(rewrite.editor, item):
            numbers = _Doubles(rewrite.editor, rewrite.before(item), item.result_type or 0)
            rewrite.put(item, _rounded(numbers, item))
    return rewrite.finished()


def _is_misrounded(editor: ModuleEditor, item: Instruction) -> bool:
    if item.opcode == Op.ExtInst and (
        item.operands[1] not in (_TRUNC, *_ROUNDED) or item.operands[0] != editor.glsl()
    ):
        return False
    scalar, _ = component_type(editor, item.result_type or 0)
    return scalar.opcode == Op.TypeFloat and scalar.operands[0] == 64


def _rounded(numbers: _Doubles, item: Instruction) -> Instruction:
    """Appends the steps that take the place of an instruction; returns the last step, which gives its result."""
    if item.opcode == Op.FRem:
        dividend, divisor = item.operands
        quotient = numbers.compute(Op.FDiv, dividend, divisor)
        product = numbers.compute(Op.FMul, numbers.select(*numbers.truncated(quotient)), divisor)
        return item._replace(opcode=Op.FSub, operands=(dividend, product))
    x = item.operands[2]
    chosen = numbers.truncated(x) if item.operands[1] == _TRUNC else numbers.rounded(x)
    return item._replace(opcode=Op.Select, operands=chosen)


class _Doubles:
    """Computes with f64, or vectors of them, in front of an instruction."""

    def __init__(self, editor: ModuleEditor, body: Body, type_: int) -> None:
        self._editor, self._body, self._type = editor, body, type_
        _, count = component_type(editor, type_)
        self._truth = of_components(editor, editor.bool_, count)

    def truncated(self, x: int) -> tuple[int, int, int]:
        """Returns the operands of a selection that is x without its fraction, signs of zeros kept."""
        return self._less(x, self._number(0.0)), self._call(_CEIL, x), self._call(_FLOOR, x)

    def rounded(self, x: int) -> tuple[int, int, int]:
        """Returns the operands of a selection that is the whole number nearest to x, halves to the even one."""
        one, half = self._number(1.0), self._number(0.5)
        whole = self.select(*self.truncated(x))
        rest = self._call(_ABSOLUTE, self.compute(Op.FSub, x, whole))
        halved = self.compute(Op.FMul, whole, half)
        is_odd = self._truth_of(Op.FOrdNotEqual, self._call(_FLOOR, halved), halved)
        is_middle = self._truth_of(Op.FOrdEqual, rest, half)
        is_nearer = self._truth_of(Op.FOrdGreaterThan, rest, half)
        goes_on = self._truth_of(Op.LogicalOr, is_nearer, self._truth_of(Op.LogicalAnd, is_middle, is_odd))
        step = self.select(self._less(x, self._number(0.0)), self._number(-1.0), one)
        return goes_on, self.compute(Op.FAdd, whole, step), whole

    def compute(self, opcode: int, *operands: int) -> int:
        """Appends an operation that gives f64."""
        return self._editor.emit(self._body, opcode, *operands, type_=self._type)

    def select(self, condition: int, if_true: int, if_false: int) -> int:
        """Appends a selection."""
        return self.compute(Op.Select, condition, if_true, if_false)

    def _call(self, function: int, x: int) -> int:
        return self.compute(Op.ExtInst, self._editor.glsl(), function, x)

    def _less(self, x: int, y: int) -> int:
        return self._truth_of(Op.FOrdLessThan, x, y)

    def _truth_of(self, opcode: int, *operands: int) -> int:
        return self._editor.emit(self._body, opcode, *operands, type_=self._truth)

    def _number(self, value: float) -> int:
        return splat(self._editor, self._type, *struct.unpack("<2I", struct.pack("<d", value)))
