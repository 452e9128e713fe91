"""The Python that kernels do not have: what to call it, and what to write instead (API section 3)."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ir.errors import CompileError, Diagnostic
from .errors import compile_error
from .source import FunctionSource

_SHOWN_ITEMS = 4
"""Items of a list that its hint writes as a tuple."""
_TUPLE = "write a tuple, ({}); what changes is an lp.FixedArray[lp.f32, n]() or lp.private.array(n, lp.f32)"
_CONSTRUCTS: dict[str, tuple[str, str]] = {
    "Try": ("'try'", "nothing raises on a device; test the condition with if"),
    "TryStar": ("'try'", "nothing raises on a device; test the condition with if"),
    "Raise": ("'raise'", "nothing raises on a device; write an error code into an array"),
    "With": ("'with'", "write the statements one after the other"),
    "AsyncWith": ("'async with'", "write the statements one after the other"),
    "AsyncFor": ("'async for'", "use a plain for loop"),
    "Lambda": ("'lambda'", "define a function with def outside of the kernel and call it"),
    "Yield": ("'yield'", "write results into an array"),
    "YieldFrom": ("'yield from'", "write results into an array"),
    "Await": ("'await'", "launches are awaited on the host"),
    "Import": ("'import'", "import at the top of the module"),
    "ImportFrom": ("'import'", "import at the top of the module"),
    "ListComp": ("list comprehensions", "use a for loop"),
    "SetComp": ("set comprehensions", "use a for loop"),
    "DictComp": ("dict comprehensions", "use a for loop"),
    "GeneratorExp": ("generator expressions", "use a for loop"),
    "List": (
        "lists",
        "use a tuple for a few values, lp.FixedArray[lp.f32, n]() or lp.private.array(n, lp.f32) for more",
    ),
    "Dict": ("dicts", "use a tuple or separate variables"),
    "Set": ("sets", "use a tuple or separate variables"),
    "FunctionDef": ("nested functions", "define the function outside of the kernel; it may be called there"),
    "AsyncFunctionDef": ("nested functions", "define the function outside of the kernel"),
    "ClassDef": ("classes", "define the class outside of the kernel"),
    "Global": ("'global'", "devices cannot change variables of the host; write into an array"),
    "Nonlocal": ("'nonlocal'", "devices cannot change variables of the host; write into an array"),
    "Delete": ("'del'", "leave it out: variables of a kernel cost nothing"),
    "JoinedStr": ("f-strings here", "f-strings stand in print and in the message of assert"),
    "TemplateStr": ("t-strings", "format on the host"),
    "Starred": ("'*' arguments", "write the arguments out"),
    "Slice": ("slices", "index single elements in a loop"),
    "Match": ("'match'", "use if and elif"),
    "TypeAlias": ("'type' statements", "define the alias outside of the kernel"),
}


def unsupported_error(
    source: FunctionSource, node: ast.AST, *, notes: Sequence[Diagnostic] = ()
) -> CompileError:
    """Makes the error for a construct that kernels do not have."""
    kind = type(node).__name__
    if isinstance(node, ast.List | ast.Set) and 0 < len(node.elts) <= _SHOWN_ITEMS:
        items = ", ".join(map(ast.unparse, node.elts)) + ("," if len(node.elts) == 1 else "")
        return compile_error(
            source,
            node,
            f"kernels have no {kind.lower()}s",
            code="LP2030",
            hint=_TUPLE.format(items),
            notes=notes,
        )
    name, instead = _CONSTRUCTS.get(
        kind, (f"'{kind}'", "see the list of supported Python in the documentation")
    )
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        # Only its first line: the caret of a whole definition would be nowhere.
        column = node.col_offset
        node = ast.Pass(
            lineno=node.lineno, col_offset=column, end_lineno=node.lineno, end_col_offset=column + 3
        )
    return compile_error(source, node, f"kernels have no {name}", code="LP2030", hint=instead, notes=notes)
