"""Upstream's custom syntax of `gpu.module` and `gpu.func`, which every version of mlir-opt reads.

xDSL writes them in generic syntax: without the terminator that MLIR has there up to 19, and with a property `kernel`
where upstream has an attribute, so that mlir-opt refuses the one and overlooks the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

_SPELT_OUT = frozenset(("sym_name", "arg_attrs"))


def mlir_text(module: ModuleOp, *, is_generic: bool = False) -> str:
    """Returns a module as text with a line break at its end, in generic syntax throughout where `is_generic`."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=True) if is_generic else _Printer(stream)
    printer.print_op(module)
    return stream.getvalue() + "\n"


class _Printer(Printer):
    def print_op(self, op: Operation) -> None:
        if not isinstance(op, gpu.ModuleOp | gpu.FuncOp):
            super().print_op(op)
            return
        self.enter_scope()
        self.print_string(op.name + " ")
        self.print_symbol_name(op.sym_name.data)
        if isinstance(op, gpu.FuncOp):
            self._print_signature(op)
        self._print_attributes(op.attributes)
        self.print_string(" ")
        self.print_region(op.body, print_entry_block_args=False)
        self.exit_scope()

    def _print_signature(self, op: gpu.FuncOp) -> None:
        given = op.attributes.get("arg_attrs")
        rows = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
        with self.in_parens():
            for number, argument in enumerate(op.body.blocks[0].args):
                if number:
                    self.print_string(", ")
                self.print_block_argument(argument)
                row = rows[number] if number < len(rows) else None
                if isinstance(row, DictionaryAttr) and row.data:
                    self.print_string(" ")
                    self.print_attr_dict(row.data)
        if op.function_type.outputs.data:
            self.print_string(" -> ")
            with self.in_parens():
                self.print_list(op.function_type.outputs.data, self.print_attribute)
        if op.kernel is not None:
            self.print_string(" kernel")

    def _print_attributes(self, attributes: Mapping[str, Attribute]) -> None:
        shown = {name: value for name, value in attributes.items() if name not in _SPELT_OUT}
        if shown:
            self.print_string(" attributes ")
            self.print_attr_dict(shown)
