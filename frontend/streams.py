"""Text streams in kernels: ``out << "x is " << x << lp.Stream.endl`` (SYCL 2020 §4.16).

A chain is one statement: one `kernel.print`, so that it comes out whole.  Manipulators are read by the compiler and
become the formats of what follows them in the chain.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir.dialects.kernel_reports import PrintOp
from ..ir.errors import InvalidError
from ..ir.stream import VALUED_MANIPULATORS, Manipulator
from .function_builder import FunctionBuilder
from .texts import Text, add_expression
from .values import Composite, Scalar, Static, Value
from .vector_types import VecType
from .work_item_values import IdType

_FLOAT_FORMS = {"fixed": "f", "scientific": "e", "defaultfloat": "g"}
_BASES = {"dec": "d", "hex": "x", "oct": "o"}
_FLAGS = {
    "showbase": ("base", True),
    "noshowbase": ("base", False),
    "showpos": ("sign", True),
    "noshowpos": ("sign", False),
}


@dataclass(frozen=True, slots=True)
class KernelStream:
    """A stream parameter of the kernel, as the compiler sees it."""

    name: str


@dataclass(slots=True)
class _Format:
    """What the manipulators of a statement ask for."""

    base: str = "d"
    floats: str = "g"
    precision: int = 6
    width: int = 0
    """Of the next value only, as in C++."""
    flags: dict[str, bool] = field(default_factory=dict[str, bool])

    def apply(self, manipulator: Manipulator) -> str:
        """Takes a manipulator in; returns the text that it stands for."""
        name = manipulator.name
        if name == "endl":
            return "\n"
        if name in _BASES:
            self.base = _BASES[name]
        elif name in _FLOAT_FORMS:
            self.floats = _FLOAT_FORMS[name]
        elif name in _FLAGS:
            flag, value = _FLAGS[name]
            self.flags[flag] = value
        elif name == "setw":
            self.width = manipulator.value or 0
        elif name == "setprecision":
            self.precision = manipulator.value or 0
        return ""

    def spec(self, value: Scalar) -> str:
        """Returns the format of a number, as ``format`` of Python takes it."""
        width = f">{self.width}" if self.width else ""
        if value.type.is_float:
            sign = "+" if self.flags.get("sign") else ""
            return f"{self._aligned(width, sign)}.{self.precision}{self.floats}"
        if value.type.kind == "bool":
            return f"{width}d"
        if self.base != "d":
            return f"{self._aligned(width, '#' if self.flags.get('base') else '')}{self.base}"
        return f"{self._aligned(width, '+' if self.flags.get('sign') else '')}d"

    @staticmethod
    def _aligned(width: str, flag: str) -> str:
        return f">{flag}{width[1:]}" if width else flag


def write_statement(
    fb: FunctionBuilder, stream: KernelStream, result: Value, chain: Sequence[ast.BinOp]
) -> Value:
    """Compiles a chain of ``<<`` whose first operand is a stream; returns the stream.

    Raises:
        CompileError: another operator, or something that cannot be shown.
    """
    text, form = Text(), _Format()
    for part in chain:
        if not isinstance(part.op, ast.LShift):
            raise fb.error(
                part, "a stream takes values with <<", "LP2033", hint="put brackets around the value"
            )
        manipulator = _manipulator(fb, part.right)
        if isinstance(manipulator, Manipulator):
            text.add(form.apply(manipulator))
        else:
            _add(fb, text, form, part.right, manipulator)
            form.width = 0
    text.check(fb, chain[-1])
    if not fb.is_dry:
        fb.node, fb.module.uses_reports = chain[-1], True
        properties = PrintOp.properties_of(text.template, text.dtypes, stream.name)
        fb.append(PrintOp.create(operands=text.values, properties=properties))
    return result


def _manipulator(fb: FunctionBuilder, node: ast.expr) -> Manipulator | Value | None:
    """Returns the manipulator that an expression is; any other value; None for an f-string, which is no value."""
    if isinstance(node, ast.JoinedStr):
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
        called = fb.evaluate(node.func)
        if isinstance(called, Static) and isinstance(called.obj, Manipulator):
            return _with_number(fb, called.obj, node)
    value = fb.evaluate(node)
    if not isinstance(value, Static) or not isinstance(value.obj, Manipulator):
        return value
    if value.obj.name in VALUED_MANIPULATORS and value.obj.value is None:
        raise fb.error(node, f"{value.obj!r} takes a number", "LP2045", hint=f"write {value.obj!r}(8)")
    return value.obj


def _with_number(fb: FunctionBuilder, manipulator: Manipulator, node: ast.Call) -> Manipulator:
    value = fb.evaluate(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    number = value.const if isinstance(value, Scalar) else None
    if not isinstance(number, int):
        raise fb.error(
            node, f"{manipulator!r} takes one literal number", "LP2045", hint=f"{manipulator!r}(8)"
        )
    try:
        return manipulator(number)
    except InvalidError as error:
        raise fb.error(node, error.message, "LP2045") from None


def _add(fb: FunctionBuilder, text: Text, form: _Format, node: ast.expr, value: Value | None) -> None:
    match value:
        case Scalar():
            _add_number(fb, text, form, value, node)
        case Static(obj=str() as literal):
            text.add(f"{literal:>{form.width}}" if form.width else literal)
        case Composite(type=VecType() as kind):
            opening, closing = ("{", "}") if isinstance(kind, IdType) else ("", "")  # as SYCL shows them
            text.add(opening)
            for position, item in enumerate(value.items):
                text.add(", " if position else "")
                assert isinstance(item, Scalar)
                _add_number(fb, text, form, item, node)
            text.add(closing)
        case _:
            add_expression(fb, text, node)


def _add_number(fb: FunctionBuilder, text: Text, form: _Format, value: Scalar, node: ast.expr) -> None:
    is_bits = form.base != "d" and value.type.is_integer
    if is_bits and value.const is not None:  # as the bits of its type, like C++
        bits = value.type.bits or 32
        value = Scalar(value.type, const=int(value.const) & ((1 << bits) - 1))
    count = len(text.dtypes)
    text.add_value(fb, value, node, f":{form.spec(value)}")
    if is_bits and len(text.dtypes) > count:
        text.dtypes[-1] = f"u{text.dtypes[-1][1:]}"
