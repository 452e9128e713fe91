"""``print`` in kernels."""

from __future__ import annotations

import ast

from ..ir.dialects.kernel_reports import PrintOp
from .function_builder import FunctionBuilder
from .streams import KernelStream
from .texts import Text, add_expression
from .values import Static, Value, describe


def compile_print(fb: FunctionBuilder, node: ast.Call) -> Value:
    """Compiles ``print(…, sep=" ", end="\\n", file=stream)``; the host writes the line at the next synchronisation.

    ``flush=`` says nothing more: a line is written when it has arrived.

    Raises:
        CompileError: something that cannot be shown, or another keyword than these.
    """
    separator, end, stream = " ", "\n", ""
    for keyword in node.keywords:
        if keyword.arg == "sep":
            separator = _literal(fb, keyword, separator)
        elif keyword.arg == "end":
            end = _literal(fb, keyword, end)
        elif keyword.arg == "file":
            stream = _stream(fb, keyword)
        elif keyword.arg == "flush":
            fb.evaluate(keyword.value)
        else:
            raise fb.error(
                keyword,
                f"print takes sep, end and file in kernels, found '{keyword.arg or '**'}'",
                "LP2045",
                hint="lines go to sys.stdout of the host, or to a parameter that is an lp.Stream: file=out",
            )
    text = Text()
    for position, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            raise fb.error(
                argument, "kernels have no '*' arguments", "LP2030", hint="write the arguments out"
            )
        text.add(separator if position else "")
        add_expression(fb, text, argument)
    text.add(end)
    text.check(fb, node)
    if not fb.is_dry:
        fb.node, fb.module.uses_reports = node, True
        properties = PrintOp.properties_of(text.template, text.dtypes, stream)
        fb.append(PrintOp.create(operands=text.values, properties=properties))
    return Static(None, "None")


def _stream(fb: FunctionBuilder, keyword: ast.keyword) -> str:
    value = fb.evaluate(keyword.value)
    if isinstance(value, Static) and isinstance(value.obj, KernelStream):
        return value.obj.name
    raise fb.error(
        keyword.value,
        f"file of print is a parameter that is an lp.Stream, found {describe(value)}",
        "LP2033",
    )


def _literal(fb: FunctionBuilder, keyword: ast.keyword, default: str) -> str:
    value = fb.evaluate(keyword.value)
    if isinstance(value, Static) and (value.obj is None or isinstance(value.obj, str)):
        return default if value.obj is None else value.obj
    raise fb.error(
        keyword.value, f"{keyword.arg} of print is a literal string, found {describe(value)}", "LP2033"
    )
