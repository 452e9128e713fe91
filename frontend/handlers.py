"""Specialization constants by reference in kernels: ``kh.get_specialization_constant(COEFF)``, ``placeholder.get()``.

Elsewhere an id stands for its value; here the id itself is looked for, so that a value is not taken for one.
"""

from __future__ import annotations

import ast
import types
from typing import cast

from .function_builder import FunctionBuilder
from .scope import MISSING
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
    found = _object(fb, node.args[0])
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
    return placeholder_id(_object(fb, func.value))


def _object(fb: FunctionBuilder, node: ast.expr) -> object:
    """Returns the object from around the kernel that an expression names, `MISSING` where it names none."""
    match node:
        case ast.Name(id=name) if name in fb.spec_parameters:
            return fb.spec_parameters[name]
        case ast.Name(id=name) if not fb.is_local(name):
            found = fb.source.resolve(name)
            if found is not MISSING:
                fb.module.captures.read_name(fb.source, name, found)
            return found
        case ast.Attribute(value=base, attr=name):
            owner = _object(fb, base)
            if not isinstance(owner, type | types.ModuleType):
                return MISSING
            found = getattr(owner, name, MISSING)
            if found is not MISSING:
                fb.module.captures.read_attribute(owner, name, found)
            return found
        case ast.Subscript(value=base, slice=ast.Constant(value=int(index))):
            return _item(_object(fb, base), index)
        case _:
            return MISSING


def _item(owner: object, index: int) -> object:
    if not isinstance(owner, tuple):
        return MISSING
    items = cast("tuple[object, ...]", owner)
    return items[index] if -len(items) <= index < len(items) else MISSING
