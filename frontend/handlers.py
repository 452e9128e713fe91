"""Specialization constants by reference in kernels: ``kh.get_specialization_constant(COEFF)``, ``placeholder.get()``.

Elsewhere an id stands for its value; here the id itself is looked for, so that a value is not taken for one.
"""

from __future__ import annotations

import ast

from .function_builder import FunctionBuilder
from .named_objects import named_object
from .spec_constant import SpecializationId, placeholder_id
from .specialization import read_specialization
from .values import Value, describe


def read_through_handler(fb: FunctionBuilder, node: ast.Call) -> Value:
    """Compiles ``kh.get_specialization_constant(ID)``.

    Raises:
        CompileError: the argument names no specialization id.
    """
    if len(node.args) != 1 or node.keywords:
        raise fb.error(node, "get_specialization_constant takes one specialization id, by position", "LP2045")
    found = named_object(fb, node.args[0])
    constant = found if isinstance(found, SpecializationId) else placeholder_id(found)
    if constant is None:
        shown = describe(fb.evaluate(node.args[0]))
        raise fb.error(
            node.args[0],
            f"get_specialization_constant takes a specialization id by its name, found {shown}",
            "LP2057",
            hint="name an lp.SpecializationId of the module, class or function around the kernel",
        )
    return read_specialization(fb, constant)


def placeholder_read(fb: FunctionBuilder, node: ast.Call) -> SpecializationId | None:
    """Returns what ``placeholder.get()`` reads, None for any other call."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "get" or node.args or node.keywords:
        return None
    return placeholder_id(named_object(fb, func.value))
