"""Reads IR text and remembers where every operation stood.

xDSL fills an operation's location from `loc(…)` alone.  That stays so, since only the text knows whether it
was written by hand or came from Python; the positions returned beside the module serve error messages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    FusedLoc,
    IndexType,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    RankedStructure,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.parser import Parser, ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from .context import DIALECTS, make_context
from .errors import BuildError, Diagnostic, Location
from .text_lexer import TextLexer


class IRSyntaxError(BuildError):
    """IR text that cannot be read; `str()` shows ``file:line:column``, the line and a caret."""

    code = "LP2200"

    def __init__(self, message: str, location: Location, source_line: str | None) -> None:
        super().__init__(message, diagnostics=(Diagnostic(message, location, source_line=source_line),))

    def __str__(self) -> str:
        return self.log


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """A module and where each of its operations began in the text."""

    module: ModuleOp
    positions: dict[Operation, Location]


MOST_ELEMENTS = 1 << 20
"""Elements of a constant at most: a line of text can name any number, and each takes some 80 bytes here."""

_LOCATION_ALIAS = re.compile(r"^(#\w+)\s*=(?=\s*loc\()", re.MULTILINE)


class _Parser(Parser):
    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, "", name)
        self._parser_state = ParserState(TextLexer(Input(text, name)))
        self.starts: dict[Operation, int] = {}
        self._later_aliases = {found[1]: found.end() for found in _LOCATION_ALIAS.finditer(text)}
        """Of locations, which MLIR defines behind the module: where the definition of each begins."""
        self._read_ahead: set[str] = set()
        self.unknown_operation: int | None = None
        """Where an operation began that no dialect has: xDSL reports the token behind its name."""

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if name == _MODULE_END:
            return _module_end()
        found = _more_operations(name)
        if found is not None:
            return found
        found = super()._get_op_by_name(name)
        if found.name.startswith(("gpu.", "memref.", "scf.", "spirv.")) and not self._is_behind_string():
            return _with_custom_syntax(found)
        return _without_promises(found) if name in _WITH_PROMISES else found

    def _parse_location(self) -> LocationAttr:
        name = self._current_token.text
        start = self._later_aliases.pop(name, None) if name not in self.attribute_aliases else None
        if start is not None:
            here = self.pos
            self._resume_from(start)
            self.attribute_aliases[name] = self.parse_attribute()
            self._read_ahead.add(name)
            self._resume_from(here)
        if name != "fused":
            return super()._parse_location()
        self.parse_keyword(name)
        return self._parse_fused()

    def _parse_fused(self) -> LocationAttr:
        """Parses what xDSL reads without metadata alone: ``<"inlined">["a.py":1:2, "b.py":3:4]``."""
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<"):
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        locations = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(tuple(locations), metadata)

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> UnregisteredAttr | ParametrizedAttribute | Data[Any]:
        """Keeps an attribute of a dialect of somebody else's as its text: nothing here would read it."""
        is_strict = is_type or attr_name.partition(".")[0] in DIALECTS
        before = self.ctx.allow_unregistered
        self.ctx.allow_unregistered = before or not is_strict
        try:
            return super()._parse_dialect_type_or_attribute_body(
                attr_name, is_type, is_opaque, starting_opaque_pos
            )
        finally:
            self.ctx.allow_unregistered = before

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._read_ahead:
            self._read_ahead.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    def _parse_dense_literal_type(self) -> RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType]:
        start = self.pos
        found = super()._parse_dense_literal_type()
        count = prod(found.get_shape())
        if count > MOST_ELEMENTS:
            self.raise_error(
                f"a constant has at most {MOST_ELEMENTS} elements, found {count}; pass them as an array",
                start,
            )
        return found

    def parse_affine_map(self) -> AffineMap:
        from .upstream.affine import SemiAffineParser

        return SemiAffineParser(self._parser_state).parse_affine_map()

    def parse_affine_set(self) -> AffineSet:
        from .upstream.affine import SemiAffineParser

        return SemiAffineParser(self._parser_state).parse_affine_set()

    def parse_optional_str_literal(self) -> str | None:
        """Parses a text, also one of letters beyond ASCII, which is printed as its bytes in UTF-8."""
        found = super().parse_optional_str_literal()
        if found is not None or self._current_token.kind is not MLIRTokenKind.BYTES_LIT:
            return found
        try:
            text = StringLiteral.from_span(self._current_token.span).bytes_contents.decode()
        except UnicodeDecodeError:
            return None
        self._consume_token(MLIRTokenKind.BYTES_LIT)
        return text

    def _is_behind_string(self) -> bool:
        """Whether the name of an operation was a string, as in generic syntax."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.L_PAREN:
            return False
        text = token.span.input.content
        end = token.span.start
        while end and text[end - 1].isspace():
            end -= 1
        return text[end - 1 : end] == '"'

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            op = super().parse_operation()
        except ParseError as error:
            if error.msg.endswith("is not registered") and self.unknown_operation is None:
                self.unknown_operation = start
            raise
        self.starts[op] = start
        return op


_MODULE_END = "gpu.module_end"
_WITH_PROMISES = frozenset(
    f"gpu.{word}"
    for word in (
        *("func", "module", "thread_id", "block_id", "global_id", "block_dim", "grid_dim"),
        *("lane_id", "subgroup_id", "num_subgroups", "subgroup_size"),
    )
)
"""Operations that may have properties in generic syntax of which nothing here makes use."""
_PROMISES = frozenset(
    (
        "upper_bound",
        "known_block_size",
        "known_grid_size",
        "arg_attrs",
        "res_attrs",
        "targets",
        "offloadingHandler",
    )
)


_ARGUMENTS = "arg_attrs"


@cache
def _without_promises(op_class: type[Operation]) -> type[Operation]:
    """Returns what stands for an operation class while it is parsed in generic syntax."""

    class Plain(op_class):
        @classmethod
        def create(cls, *, properties: Mapping[str, Attribute] | None = None, **rest: Any) -> Operation:
            given = dict(properties or {})
            kept = {name: value for name, value in given.items() if name not in _PROMISES}
            if _ARGUMENTS in given:  # custom syntax makes it an attribute, too
                rest["attributes"] = {**rest.get("attributes", {}), _ARGUMENTS: given[_ARGUMENTS]}
            return op_class.create(properties=kept, **rest)

    return Plain


_EXTENDED = ("affine.", "arith.", "gpu.", "index.", "math.is", "memref.", "scf.forall", "vector.")


def _more_operations(name: str) -> type[Operation] | None:
    """Returns an operation of upstream's that xDSL lacks, or has for fewer types."""
    if not name.startswith(_EXTENDED):
        return None
    from .parse_arith import on_scalars_or_vectors
    from .upstream.operations import UPSTREAM_OPERATIONS

    return UPSTREAM_OPERATIONS.get(name) or on_scalars_or_vectors(name)


@cache
def _module_end() -> type[Operation]:
    """Returns the terminator of `gpu.module` that newer MLIR, and xDSL, have no more."""
    from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
    from xdsl.traits import IsTerminator

    @irdl_op_definition
    class ModuleEndOp(IRDLOperation):
        name = _MODULE_END
        traits = traits_def(IsTerminator())

    return ModuleEndOp


@cache
def _with_custom_syntax(op_class: type[Operation]) -> type[Operation]:
    """Returns what stands for an operation class while it is parsed: it prints in generic syntax only."""
    from .parse_gpu import GPU_SYNTAX
    from .upstream.memref import MEMREF_SYNTAX
    from .upstream.scf import SCF_SYNTAX

    if op_class.name.startswith("spirv."):
        from .parse_spirv import spirv_syntax

        read = spirv_syntax().get(op_class.name)
    else:
        read = {**GPU_SYNTAX, **MEMREF_SYNTAX, **SCF_SYNTAX}.get(op_class.name)
    if read is None:
        return op_class

    class Syntax(op_class):
        @classmethod
        def parse(cls, parser: Parser) -> Operation:
            return read(parser)

    return Syntax


class _Lines:
    """Offsets to lines and columns."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def location(self, offset: int) -> Location:
        line = min(bisect_right(self.starts, offset), len(self.lines))
        return Location(self.name, line, offset - self.starts[line - 1] + 1)

    def error(self, message: str, offset: int) -> IRSyntaxError:
        location = self.location(offset)
        return IRSyntaxError(message, location, self.lines[location.line - 1])


def _explained(message: str) -> str:
    """Returns a message of xDSL with what to do about it, where that is known."""
    unknown = re.fullmatch(r"Operation (\S+) (?:is not registered|does not have a custom format\.)", message)
    if unknown is not None:
        from .upstream.refused import advice_for

        advice = advice_for(unknown[1])
        if advice is not None:
            return f"a kernel has no {unknown[1]}; {advice}"
    unknown = unknown or re.fullmatch(r"('[\w.]+') is not registered", message)
    if unknown is not None and unknown[1].strip("'").partition(".")[0] not in DIALECTS:
        return f"{message}; kernels are made of the dialects {', '.join(DIALECTS)}: lower it to these with mlir-opt"
    if unknown is not None and unknown[1].startswith("spirv."):
        return f"{message}; the spirv dialect here has what compute shaders may use, and nothing of OpenCL's kernels"
    # xDSL names the token that it expected by a spelling, and this one has none.
    if message.startswith(" in "):
        return "expected an operation, a block or }"
    if message.endswith("does not have a custom format."):
        return f"{message[:-1]} here; write it in generic syntax, as mlir-opt --mlir-print-op-generic does"
    return message


def _undefined_use(text: str, message: str, end: int) -> int:
    """Returns where the value is used that xDSL finds undefined at the end of its region; `end` of other errors."""
    named = re.match(r"values used but not defined: \[(%[\w$.#-]+)", message)
    if named is None:
        return end
    uses = [found.start() for found in re.finditer(rf"{re.escape(named[1])}(?![\w$.-])", text[:end])]
    return uses[-1] if uses else end


def _allocate_attributions(op: Operation, lines: _Lines, start: int) -> None:
    from xdsl.dialects.gpu import FuncOp

    from .parse_gpu import allocate_attributions

    assert isinstance(op, FuncOp)
    problem = allocate_attributions(op)
    if problem:
        raise lines.error(problem, start)


def parse_module(
    text: str, name: str = "<string>", context: Context | None = None, *, for_device: bool = False
) -> ParsedModule:
    """Parses IR text in custom or generic syntax.

    Args:
        text: one `builtin.module`, or operations that get one around them.
        name: file name for messages.
        context: the dialects to know; those of `make_context` by default.
        for_device: whether functions of the host are left out, of modules that MLIR has divided into both.

    Raises:
        IRSyntaxError: the text is no IR, or uses what no dialect knows.
    """
    lines = _Lines(text, name)
    if not text.strip():
        raise lines.error("the text is empty, expected a module", 0)
    if for_device and "gpu.container_module" in text:
        from .upstream.host_code import without_host_functions

        text = without_host_functions(text, TextLexer(Input(text, name)))
    try:
        parser = _Parser(context or make_context(), text, name)
    except ParseError as error:  # the first token
        raise lines.error(error.msg, error.span.start) from error
    try:
        module = parser.parse_module()
    except ParseError as error:
        start = error.span.start if parser.unknown_operation is None else parser.unknown_operation
        raise lines.error(_explained(error.msg), _undefined_use(text, error.msg, start)) from error
    except RecursionError as error:
        raise lines.error("nested too deeply", 0) from error
    except Exception as error:
        # xDSL's attributes refuse their parameters with exceptions of many kinds and without a span: the
        # parser stands behind what it just refused.
        raise lines.error(_explained(str(error) or type(error).__name__), parser.pos) from error
    # MLIR up to 19 writes it in generic syntax.
    for op in [op for op in parser.starts if op.name == _MODULE_END]:
        del parser.starts[op]
        op.detach()
        op.erase()
    for op, start in parser.starts.items():
        if op.name == "gpu.func":
            _allocate_attributions(op, lines, start)
    return ParsedModule(module, {op: lines.location(start) for op, start in parser.starts.items()})
