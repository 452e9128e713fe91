"""Where in an expression the literal stands that a message is about: the caret points at it."""

from __future__ import annotations

import ast

_OF_LITERALS = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator)


def literal_place(node: ast.AST, value: float) -> ast.AST:
    """Returns the operand of `node` that is the literal `value`; `node` where none is, or several are.

    An operand that is computed of literals, ``1 << 40``, is one; a name that stands for a number is not.
    """
    found = [part for part in _operands(node) if _is_of_literals(part)]
    written = [part for part in found if _written(part) == value]
    found = written or found
    return found[0] if len(found) == 1 else node


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.AugAssign(value=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(args=arguments, keywords=keywords):
            return [*arguments, *(keyword.value for keyword in keywords)]
        case _:
            return []


def _is_of_literals(node: ast.expr) -> bool:
    return all(isinstance(part, _OF_LITERALS) for part in ast.walk(node))


def _written(node: ast.expr) -> object:
    """Returns the number that a literal with or without a sign is."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _written(node.operand)
        return -number if isinstance(number, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None
