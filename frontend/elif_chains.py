"""Long ``elif`` chains as shallow code: each ``elif`` nests what follows, and drivers compute deep nests wrongly.

    if a: A                      $chain0 = -1
    elif b: B                    if a: $chain0 = 0
    …                            elif b: $chain0 = 1   # `BLOCK` tests, each only where those before failed
    else: Z                      if $chain0 < 0:       # the next block
                                     …
                                 if $chain0 < 0: $chain0 = n
                                 if $chain0 < n // 2: …  # a tree of comparisons that ends in A, B, … Z

The order of the tests stays, and none runs behind one that held.  Chains of up to `LONGEST` arms stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, TypeVar

NodeT = TypeVar("NodeT", bound=ast.AST)

LONGEST: Final = 32
"""Arms of the longest chain that stays nested."""
BLOCK: Final = 16
"""Tests that are nested in each other."""


def flatten_chains(function: ast.FunctionDef) -> None:
    """Rewrites the long chains of a function in place; new nodes have the places of those that they come from."""
    number = 0
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if not isinstance(statements, list):
                continue
            rewritten: list[ast.stmt] = []
            for statement in statements:  # pyright: ignore[reportUnknownVariableType] - ast is not typed that far
                assert isinstance(statement, ast.AST)
                if not hasattr(statement, "body"):
                    rewritten.append(statement)  # pyright: ignore[reportArgumentType]
                    continue
                arms, otherwise = _arms(statement)
                if len(arms) > LONGEST:
                    rewritten += _flat(f"$chain{number}", arms, otherwise)
                    number += 1
                    pending += [part for arm in arms for part in arm.body]
                    pending += otherwise
                else:
                    rewritten.append(statement)  # pyright: ignore[reportArgumentType]
                    pending.append(statement)
            setattr(node, field, rewritten)


def _arms(statement: ast.AST) -> tuple[list[ast.If], list[ast.stmt]]:
    """Returns the arms of a chain, and what its ``else`` holds."""
    arms: list[ast.If] = []
    rest = [statement]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        arms.append(rest[0])
        rest = list[ast.AST](rest[0].orelse)
    return arms, [part for part in rest if isinstance(part, ast.stmt)] if arms else []


def _flat(name: str, arms: list[ast.If], otherwise: list[ast.stmt]) -> list[ast.stmt]:
    first = arms[0]
    result: list[ast.stmt] = [_assign(name, -1, first)]
    for start in range(0, len(arms), BLOCK):
        chain: list[ast.stmt] = []
        for position in reversed(range(start, min(start + BLOCK, len(arms)))):
            arm = arms[position]
            chain = [_located(ast.If(arm.test, [_assign(name, position, arm)], chain), arm)]
        result += chain if start == 0 else [_located(ast.If(_below(name, 0, first), chain, []), first)]
    last = len(arms)
    result.append(_located(ast.If(_below(name, 0, first), [_assign(name, last, first)], []), first))
    bodies = [*((arm, arm.body) for arm in arms), (first, otherwise or [_located(ast.Pass(), first)])]
    result += _tree(name, bodies, 0)
    return result


def _tree(name: str, bodies: list[tuple[ast.If, list[ast.stmt]]], first: int) -> list[ast.stmt]:
    """Returns the statements that run the body that the variable chose."""
    if len(bodies) == 1:
        return bodies[0][1]
    middle = len(bodies) // 2
    test = _below(name, first + middle, bodies[0][0])
    left, right = _tree(name, bodies[:middle], first), _tree(name, bodies[middle:], first + middle)
    return [_located(ast.If(test, left, right), bodies[0][0])]


def _assign(name: str, value: int, place: ast.AST) -> ast.stmt:
    return _located(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)


def _below(name: str, value: int, place: ast.AST) -> ast.expr:
    test = ast.Compare(ast.Name(name, ast.Load()), [ast.Lt()], [ast.Constant(value)])
    return _located(test, place)


def _located(node: NodeT, place: ast.AST) -> NodeT:
    for part in _fresh(node):
        ast.copy_location(part, place)
    return node


def _fresh(node: ast.AST) -> Iterator[ast.AST]:
    """Yields a new node and the parts of it that have no place yet."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not hasattr(child, "lineno"):
            yield from _fresh(child)
