"""Whether a text is still the one that a function was made of: files are edited while programs run, and texts that were
never files are made again under the same name.

Python's own compiler decides: the text has to give the function's code.  It is asked only where there is a doubt, since
it takes as long as parsing.  Standard library only.
"""

from __future__ import annotations
import __future__

import ast
import dis
import os
import time
import types
from typing import Any, Final, cast

OWN_LABEL: Final = "<lapilli source "
"""How the names of texts begin that say themselves what is in them."""

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_AROUND = "_around"
_started = time.time()


def may_differ(file: str) -> bool:
    """Whether a text may have changed since the program started: a file that was written since, or no file at all."""
    if file.startswith(OWN_LABEL):
        return False
    try:
        return os.stat(file).st_mtime >= _started
    except (OSError, ValueError):
        return True


def is_made_of(function: types.FunctionType, tree: ast.FunctionDef, *, where_unknown: bool = True) -> bool:
    """Whether the text that was parsed into `tree` gives the code of `function`.

    Args:
        function: what is looked at.
        tree: its ``def``.
        where_unknown: the answer where that cannot be told: pytest rewrites ``assert``, whose text gives other code.
    """
    if where_unknown and any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return True
    code = function.__code__
    try:
        module = compile(
            _in_its_scope(code, tree),
            code.co_filename,
            "exec",
            flags=code.co_flags & __future__.annotations.compiler_flag,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return where_unknown  # the kernel compiler says what is wrong
    found = _innermost(module, code)
    return where_unknown if found is None else _content(found) == _content(code)


def _in_its_scope(code: types.CodeType, tree: ast.FunctionDef) -> ast.Module:
    """Returns a module with the function in a class where private names need one, and its closure's names around it."""
    inner: ast.stmt = ast.copy_location(_function(tree.name, tree.args, tree.body), tree)
    parent = _class_name(code)
    if parent is not None:
        inner = _class(parent, inner)
    if code.co_freevars:
        names = [ast.arg(arg=name) for name in code.co_freevars if name != "__class__"]
        arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
        inner = _function(_AROUND, arguments, [inner])
    return ast.fix_missing_locations(ast.Module(body=[ast.copy_location(inner, tree)], type_ignores=[]))


def _class_name(code: types.CodeType) -> str | None:
    """Returns the name of the class that a function stands in."""
    parent = code.co_qualname.rpartition(".")[0].rpartition(".")[2]
    return parent if parent.isidentifier() else None


def _function(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made: Any = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
    made.type_params = []  # which Python has had since 3.12
    return made


def _class(name: str, member: ast.stmt) -> ast.ClassDef:
    made: Any = ast.ClassDef(name=name, bases=[], keywords=[], body=[member], decorator_list=[])
    made.type_params = []
    return made


def _innermost(module: types.CodeType, code: types.CodeType) -> types.CodeType | None:
    """Returns the function's code in what `_in_its_scope` became; each scope may have the function's name."""
    found = module
    for name in (_AROUND if code.co_freevars else None, _class_name(code), code.co_name):
        inner = (c for c in found.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
        if name is not None and (found := next(inner, None)) is None:
            return None
    return found


_LEFT_OUT = frozenset(("PUSH_NULL", "PRECALL", "NOP", "CACHE", "EXTENDED_ARG"))


def _content(code: types.CodeType) -> list[object]:
    """Returns what code does: its instructions, without what depends on the module around it.

    CPython calls a method of a name that its module imports in another way than that of a name that it assigns.
    """
    found: list[object] = [code.co_varnames, code.co_freevars, code.co_cellvars]
    for instruction in dis.get_instructions(code):
        name: str = instruction.opname
        value: Any = instruction.argval
        if name in _LEFT_OUT:
            continue
        if instruction.opcode in _JUMPS:
            value = None  # the distance of a jump says nothing about the text
        elif isinstance(value, types.CodeType):
            value = _content(value)
        elif name == "LOAD_CONST":
            value = _constant(value)
        found.append(("LOAD_ATTR" if name == "LOAD_METHOD" else name, value))
    return found


def _constant(value: object) -> object:
    """Returns a constant in a form that compares types too, and the items of sets in no order."""
    if isinstance(value, frozenset):
        return "set", sorted(map(_constant, cast("frozenset[object]", value)), key=repr)
    if isinstance(value, tuple):
        return "tuple", list(map(_constant, cast("tuple[object, ...]", value)))
    return type(value), repr(value)
