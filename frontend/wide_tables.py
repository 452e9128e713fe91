"""A warning where a table of NumPy's default types makes a kernel compute in 64 bits, which nothing else asked for.

NumPy makes float64 and int64 of Python's numbers.  Most devices are slow in both or have neither, and a table is
written in one place, read in another: ``W = np.array([4 / 9, 1 / 9])``, then ``W[k] * rho``.
"""

from __future__ import annotations

import ast
from typing import Any, cast

import numpy as np

from .function_builder import FunctionBuilder
from .types import ScalarType
from .values import Scalar


def note_wide_table(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> None:
    """Adds a warning where an element of a captured table of 64 bits meets a narrower number that the kernel computes.

    Args:
        left: what stands to the left of an operator or comparison.
        right: what stands to its right.
        node: the operator with both, as the source has it.
    """
    if fb.is_dry or fb.module.library_call is not None:
        return
    is_left = left.type.bits == 64
    other = right.type if is_left else left.type
    written = _operand(node, is_left=is_left)
    table = None if written is None else _table(fb, written)
    if table is None:
        return
    name, array = table
    message = (
        f"'{name}' is a NumPy array of {array.dtype}, which takes arithmetic of 64 bits here; "
        f"make it np.{_narrow(array, other)}, or convert the other operand where 64 bits are meant"
    )
    if all(found.message != message for _, found in fb.module.findings):
        fb.warn(node, message)


def _operand(node: ast.AST, *, is_left: bool) -> ast.expr | None:
    match node:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return left if is_left else right
        case ast.AugAssign(value=value):
            return None if is_left else value
        case _:
            return None


def _table(fb: FunctionBuilder, written: ast.expr) -> tuple[str, np.ndarray[Any, Any]] | None:
    """Returns the array of NumPy's default type that an expression is an element of, with its name."""
    if not isinstance(written, ast.Subscript):
        return None
    while isinstance(written, ast.Subscript):
        written = written.value
    if not isinstance(written, ast.Name) or fb.is_local(written.id):
        return None
    found = fb.source.resolve(written.id)
    if not isinstance(found, np.ndarray):
        return None
    array = cast("np.ndarray[Any, Any]", found)
    return (written.id, array) if array.dtype in (np.float64, np.int64) else None


def _narrow(array: np.ndarray[Any, Any], other: ScalarType) -> str:
    if array.dtype == np.float64:
        return "float32"
    return "uint32" if other.kind == "uint" else "int32"
