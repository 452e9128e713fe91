"""Leaves out what is for the host in modules as MLIR's ``gpu-kernel-outlining`` makes them.

    module attributes {gpu.container_module} {        module attributes {gpu.container_module} {
      func.func @main(%a: memref<?xf32>) {
        gpu.launch_func @m::@k …               =>
      }
      gpu.module @m { gpu.func @k … kernel … }          gpu.module @m { gpu.func @k … kernel … }
    }                                                 }

Functions of the host have operations of any dialect, which nothing here could parse, so they are taken out of the
text: they become blanks, and all else stays where it was.  Kernels cannot call them: symbols are looked up in the
`gpu.module`.  A `func.func` with the attribute `gpu.kernel` is a kernel and stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

_NEXT = frozenset(("func.func", "gpu.module", "gpu.binary", "memref.global", "}"))
"""What stands behind a function that is declared only."""
_CLOSED_BY = {"{": "}", "(": ")"}


def without_host_functions(text: str, lexer: MLIRLexer) -> str:
    """Returns a text in which the functions of the host are blank, each line where it was.

    Args:
        text: IR in custom or generic syntax with the attribute; what is no IR stays as it is.
        lexer: stands at the beginning of the text.
    """
    try:
        tokens = _tokens(lexer)
    except ParseError:
        return text  # which the parser will say
    depth = place = 0
    while place < len(tokens):
        word = tokens[place].text
        if depth == 1 and word in ("func.func", '"func.func"'):
            end = _end_of_custom(tokens, place) if word == "func.func" else _end_of_generic(tokens, place)
            if not any(token.text == "gpu.kernel" for token in tokens[place:end]):
                text = _blanked(text, tokens[place].span.start, tokens[end - 1].span.end)
            place = end
            continue
        depth += (word == "{") - (word == "}")
        place += 1
    return text


def _tokens(lexer: MLIRLexer) -> list[MLIRToken]:
    found: list[MLIRToken] = []
    while (token := lexer.lex()).kind is not MLIRTokenKind.EOF:
        found.append(token)
    return found


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _behind_group(tokens: Sequence[MLIRToken], place: int) -> int:
    """Returns the place behind what the bracket at a place encloses."""
    opening, closing = tokens[place].text, _CLOSED_BY[tokens[place].text]
    depth = 0
    for index in range(place, len(tokens)):
        depth += (tokens[index].text == opening) - (tokens[index].text == closing)
        if depth == 0:
            return index + 1
    return len(tokens)


def _behind_location(tokens: Sequence[MLIRToken], place: int) -> int:
    if [token.text for token in tokens[place : place + 2]] == ["loc", "("]:
        return _behind_group(tokens, place + 1)
    return place


def _end_of_custom(tokens: Sequence[MLIRToken], place: int) -> int:
    """Returns the place behind ``func.func @f(…) -> … attributes {…} {…}``, with a body or without."""
    index = place + 1
    while index < len(tokens) and tokens[index].text not in _NEXT:
        word = tokens[index].text
        is_body = word == "{" and tokens[index - 1].text != "attributes"
        index = _behind_group(tokens, index) if word in _CLOSED_BY else index + 1
        if is_body:
            break
    return _behind_location(tokens, index)


def _end_of_generic(tokens: Sequence[MLIRToken], place: int) -> int:
    """Returns the place behind ``"func.func"() <{…}> ({…}) {…} : () -> ()``."""
    index = place + 1
    while index < len(tokens) and tokens[index].text != ":":
        index = _behind_group(tokens, index) if tokens[index].text in _CLOSED_BY else index + 1
    while index < len(tokens) and tokens[index].text != "->":
        index += 1
    index = min(index + 1, len(tokens))
    if index < len(tokens) and tokens[index].text == "(":
        index = _behind_group(tokens, index)
    return _behind_location(tokens, index)
