"""xDSL's lexer without what ends in endless searches, numbers without end, or text that it cannot print again."""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

_WIDE_INTEGER = re.compile(r"[su]?i0*[1-9]\d{7,}")


class TextLexer(MLIRLexer):
    """Divides IR text into tokens."""

    # xDSL 0.74 repeats a repetition here, which takes exponential time on a string that is not closed.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')

    def lex(self) -> MLIRToken:
        """Returns the next token; ParseError for a type that xDSL could not go on with."""
        try:
            token = super().lex()
        except ParseError as error:
            raise ParseError(error.span, _lexical(error)) from error
        # xDSL compares every value of an integer type with 2**width.
        if token.kind is MLIRTokenKind.BARE_IDENT and _WIDE_INTEGER.fullmatch(token.text):
            raise ParseError(token.span, "integer types this wide are not supported")
        # xDSL reads numbers of these types and cannot print them.
        if token.kind is MLIRTokenKind.BARE_IDENT and token.text in ("f80", "f128"):
            raise ParseError(token.span, f"{token.text} is not supported; floats are f16, bf16, f32 and f64")
        return token


def _lexical(error: ParseError) -> str:
    """Returns a message of xDSL's lexer, one of which is a template that is never filled in."""
    start = error.span.start
    return error.msg.replace("{first_char}", str(error.span.input.content[start : start + 1]))
