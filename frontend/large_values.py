"""Warns of arguments and results that are so many numbers that drivers take long to compile them.

Each number is a load of its own.  lavapipe 22.3.6 compiled an argument of 256 in 14 s, and takes minutes for 1024.
"""

from __future__ import annotations

import ast

from .function_builder import FunctionBuilder
from .signature import ParameterSpec
from .types import FixedArrayType, Type
from .vector_types import CompositeArrayType


def note_large_parameter(fb: FunctionBuilder, parameter: ParameterSpec, count: int) -> None:
    """Adds a warning for a parameter of a kernel that is `count` numbers."""
    arguments = fb.source.tree.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    node = next((argument for argument in every if argument.arg == parameter.name), fb.source.tree)
    fb.warn(
        node,
        f"argument '{parameter.name}' of kernel '{fb.source.name}' is {count} numbers, which are loaded one by one: "
        f"drivers may take minutes to compile that; {_instead(parameter.type)}",
    )


def _instead(kind: Type) -> str:
    if isinstance(kind, FixedArrayType | CompositeArrayType):
        dimensions = f", {kind.ndim}" if kind.ndim > 1 else ""
        return f"pass an array, lp.In[{kind.element!r}{dimensions}]"
    return f"pass an array of one element, lp.In[{kind!r}]"


def note_large_result(fb: FunctionBuilder, kind: FixedArrayType, node: ast.AST) -> None:
    """Adds a warning for a fixed array that a helper returns."""
    fb.warn(
        node,
        f"'{fb.source.name}' returns {kind.size} numbers, which are copied one by one: drivers may take minutes to "
        "compile that; let it fill an array that the caller makes, lp.private.array, and gives it",
    )
