"""Objects from around a kernel as such, where an expression does nothing but name them."""

from __future__ import annotations

import ast
import types
from typing import cast

from .function_builder import FunctionBuilder
from .scope import MISSING


def named_object(fb: FunctionBuilder, node: ast.expr) -> object:
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
            owner = named_object(fb, base)
            if not isinstance(owner, type | types.ModuleType):
                return MISSING
            found = getattr(owner, name, MISSING)
            if found is not MISSING:
                fb.module.captures.read_attribute(owner, name, found)
            return found
        case ast.Subscript(value=base, slice=ast.Constant(value=int(index))):
            return _item(named_object(fb, base), index)
        case _:
            return MISSING


def _item(owner: object, index: int) -> object:
    if not isinstance(owner, tuple):
        return MISSING
    items = cast("tuple[object, ...]", owner)
    return items[index] if -len(items) <= index < len(items) else MISSING
