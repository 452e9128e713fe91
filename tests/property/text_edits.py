"""Ways to make a Python text smaller: statements cut, blocks put in the place of what they stand in, expressions
in the place of what they are operands of.

input:    if a > 0:        output, among others:    x = f(b) + 1        if a > 0:
              x = f(b) + 1                                                  x = b + 1
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Edit = Callable[[list[ast.AST]], None]
"""Changes a tree, given all of its nodes in the order of `ast.walk`."""

BLOCKS = ("body", "orelse")


def smaller_texts(text: str) -> Iterator[str]:
    """Yields texts with one thing removed, those that lose most first; not all of them mean anything."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    size = {node: sum(1 for _ in ast.walk(node)) for node in nodes}
    edits = [edit for number, node in enumerate(nodes) for edit in _edits(number, node, size)]
    for _, edit in sorted((found for found in edits if found[0] > 0), key=lambda found: -found[0]):
        changed = copy.deepcopy(tree)
        edit(list(ast.walk(changed)))
        try:
            yield ast.unparse(ast.fix_missing_locations(changed))
        except (ValueError, TypeError):
            continue  # no text has this tree


def _edits(number: int, node: ast.AST, size: dict[ast.AST, int]) -> Iterator[tuple[int, Edit]]:
    for block in BLOCKS:
        if isinstance(statements := getattr(node, block, None), list):
            yield from _cuts(number, block, statements, size)
            yield from _unwrapped(number, block, statements, size)
    yield from _operands(number, node, size)


def _cuts(number: int, block: str, statements: list, size) -> Iterator[tuple[int, Edit]]:
    """Runs of statements go: all, halves, quarters, each."""
    length = len(statements)
    while length:
        for first in range(0, len(statements), length):
            gone = sum(size[statement] for statement in statements[first : first + length])
            yield gone, _cut(number, block, first, length)
        length //= 2


def _cut(number: int, block: str, first: int, length: int) -> Edit:
    def edit(nodes: list[ast.AST]) -> None:
        statements = getattr(nodes[number], block)
        del statements[first : first + length]
        if not statements and block == "body" and number:
            statements.append(ast.Pass())

    return edit


def _unwrapped(number: int, block: str, statements: list, size) -> Iterator[tuple[int, Edit]]:
    for place, statement in enumerate(statements):
        for inner in BLOCKS:
            if isinstance(statement, ast.If | ast.For | ast.While) and getattr(statement, inner):
                kept = sum(size[each] for each in getattr(statement, inner))
                yield size[statement] - kept, _unwrap(number, block, place, inner)


def _unwrap(number: int, block: str, place: int, inner: str) -> Edit:
    def edit(nodes: list[ast.AST]) -> None:
        statements = getattr(nodes[number], block)
        statements[place : place + 1] = getattr(statements[place], inner)

    return edit


def _operands(number: int, node: ast.AST, size) -> Iterator[tuple[int, Edit]]:
    """An expression makes way for one of its own."""
    for field, value in ast.iter_fields(node):
        for place, outer in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(outer, ast.expr) or isinstance(outer, ast.Attribute | ast.Slice):
                continue
            for name, inner in _inner(outer):
                at = place if isinstance(value, list) else None
                yield size[outer] - size[inner], _replace(number, field, at, name)


def _inner(outer: ast.expr) -> Iterator[tuple[tuple[str, int | None], ast.expr]]:
    for name, value in ast.iter_fields(outer):
        if name == "func":
            continue
        for place, inner in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(inner, ast.expr):
                yield (name, place if isinstance(value, list) else None), inner


def _replace(number: int, field: str, place: int | None, inner: tuple[str, int | None]) -> Edit:
    def edit(nodes: list[ast.AST]) -> None:
        node = nodes[number]
        kept = _at(_at(node, field, place), *inner)
        if place is None:
            setattr(node, field, kept)
        else:
            getattr(node, field)[place] = kept

    return edit


def _at(node, field: str, place: int | None):
    value = getattr(node, field)
    return value if place is None else value[place]
