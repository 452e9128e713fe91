"""Texts that kernels show on the host: the arguments of ``print``, f-strings, the messages of ``assert``.

The device never formats anything.  What is known now becomes part of a template, the rest is a value that the device
hands over; the host puts both together (`kernel_info.Site.text`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import SSAValue

from ..ir.kernel_info import MAXIMUM_SITE_VALUES
from .composite_arrays import elements_along, shape_of
from .conversions import convert, settle
from .function_builder import FunctionBuilder
from .ir_types import F32, INDEX_TYPE
from .struct_types import StructType
from .types import bf16
from .values import Composite, Scalar, Static, Tuple, Value, describe

_CONVERSIONS = {-1: "", ord("r"): "!r", ord("s"): "!s"}


@dataclass(slots=True)
class Text:
    """A template with the values that it shows."""

    template: str = ""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    dtypes: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        """Adds literal text."""
        self.template += text.replace("{", "{{").replace("}", "}}")

    def add_value(self, fb: FunctionBuilder, value: Scalar, node: ast.AST, form: str = "") -> None:
        """Adds a number or bool; `form` is what stands behind it in the braces of an f-string."""
        if value.const is not None:
            self.add(("{0" + form + "}").format(_python_number(value, bool(form))))
            return
        if fb.is_dry:
            return
        value = convert(fb, value, F32) if value.type is bf16 else settle(fb, value, node)
        ssa = fb.ssa(value)
        assert ssa is not None
        self.template += "{" + str(len(self.values)) + form + "}"
        self.values.append(ssa)
        self.dtypes.append("i32" if value.type is INDEX_TYPE else value.type.spelling)

    def check(self, fb: FunctionBuilder, node: ast.AST) -> None:
        """Raises CompileError where there are too many values."""
        if len(self.values) > MAXIMUM_SITE_VALUES:
            raise fb.error(
                node,
                f"{len(self.values)} numbers are shown at once, at most {MAXIMUM_SITE_VALUES} can be",
                "LP2058",
                hint="use several prints",
            )


def _python_number(value: Scalar, is_formatted: bool) -> int | float:
    """Returns a number that is known now, such that Python shows it with the digits of its type."""
    number = value.const
    assert number is not None
    if value.type.name not in ("f16", "f32") or is_formatted or not np.isfinite(number):
        return number
    digits = np.format_float_scientific(value.type.dtype.type(number), unique=True, trim="0")
    return float(digits)


def add_expression(fb: FunctionBuilder, text: Text, node: ast.expr) -> None:
    """Evaluates an expression and adds it as ``str`` would show it.

    Raises:
        CompileError: kernels cannot show such a thing.
    """
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            _add_part(fb, text, part)
        return
    value = fb.evaluate(node)
    if isinstance(value, Static) and isinstance(value.obj, str):
        text.add(value.obj)
    else:
        _add(fb, text, value, node)


def _add_part(fb: FunctionBuilder, text: Text, part: ast.expr) -> None:
    if not isinstance(part, ast.FormattedValue):
        assert isinstance(part, ast.Constant)
        text.add(str(part.value))
        return
    spec = _literal_spec(fb, part)
    conversion = _CONVERSIONS.get(part.conversion)
    if conversion is None:
        raise fb.error(part.value, "kernels have no '!a' in f-strings", "LP2058", hint="use !r")
    value = fb.evaluate(part.value)
    form = conversion + (f":{spec}" if spec else "")
    if isinstance(value, Static) and isinstance(value.obj, str):
        text.add(("{0" + form + "}").format(value.obj))
        return
    if not spec:
        _add(fb, text, value, part.value)
        return
    if not isinstance(value, Scalar):
        raise fb.error(part.value, f"a format is for numbers, found {describe(value)}", "LP2058")
    try:  # as Python would, with a value of that type
        ("{0" + form + "}").format(0.0 if value.type.is_float else value.type.kind != "bool" and 0)
    except ValueError as error:
        hint = (
            "floats have formats such as .3f, .2e and g"
            if value.type.is_float
            else "integers have d, x, o and b"
        )
        raise fb.error(
            part.value, f"{describe(value)} has no format '{spec}': {error}", "LP2058", hint=hint
        ) from None
    text.add_value(fb, value, part.value, form)


def _literal_spec(fb: FunctionBuilder, part: ast.FormattedValue) -> str:
    if part.format_spec is None:
        return ""
    from ..ir.site_templates import template_problem

    assert isinstance(part.format_spec, ast.JoinedStr)
    pieces = part.format_spec.values
    spec = "".join(str(p.value) for p in pieces if isinstance(p, ast.Constant))
    is_literal = all(isinstance(p, ast.Constant) for p in pieces)
    if not is_literal or template_problem("{0:" + spec + "}", 1) is not None or "{" in spec:
        raise fb.error(
            part.value,
            "the format in an f-string of a kernel is a short literal",
            "LP2058",
            hint="such as :.3f",
        )
    return spec


def _add(fb: FunctionBuilder, text: Text, value: Value, node: ast.expr) -> None:
    """Adds a value as Python's ``repr`` shows it, strings aside, which stand for themselves at the top."""
    match value:
        case Scalar():
            text.add_value(fb, value, node)
        case _ if shape_of(value):
            _add_items(fb, text, elements_along(fb, value), node, "[", (), "]")
        case Composite(type=StructType() as kind):
            names = [f"{part.name}=" for part in kind.fields]
            _add_items(fb, text, value.items, node, f"{kind.name}(", names, ")")
        case Composite(type=kind):
            _add_items(fb, text, value.items, node, f"{kind!r}(", (), ")")
        case Tuple(items=items):
            _add_items(fb, text, items, node, "(", (), ",)" if len(items) == 1 else ")")
        case Static(obj=str() | None):
            text.add(repr(value.obj))
        case _:
            raise fb.error(
                node,
                f"kernels cannot print {describe(value)}",
                "LP2058",
                hint="print numbers, vectors, structs, tuples and strings; of an array single elements",
            )


def _add_items(
    fb: FunctionBuilder,
    text: Text,
    items: Sequence[Value],
    node: ast.expr,
    opening: str,
    names: Sequence[str],
    closing: str,
) -> None:
    text.add(opening)
    for position, item in enumerate(items):
        text.add((", " if position else "") + (names[position] if names else ""))
        _add(fb, text, item, node)
    text.add(closing)
