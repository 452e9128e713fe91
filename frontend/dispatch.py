"""Which function compiles which kind of syntax-tree node.

The tables are filled by the decorators while the frontend's modules are imported: by `builder`, or where a kernel first
calls an intrinsic of a file that few kernels need.  A node type that is in neither table is refused by `unsupported`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..ir.deferred_operations import import_deferred

if TYPE_CHECKING:
    from .function_builder import FunctionBuilder
    from .values import Value

EXPRESSIONS: dict[type[ast.AST], Callable[[FunctionBuilder, Any], Value]] = {}
"""Expression node type to the function that compiles it."""
STATEMENTS: dict[type[ast.AST], Callable[[FunctionBuilder, Any], None]] = {}
"""Simple statement node type to the function that compiles it."""

_E = TypeVar("_E", bound="Callable[..., Any]")


def expression(node_type: type[ast.AST]) -> Callable[[_E], _E]:
    """Registers the function that compiles expressions of `node_type`."""

    def register(function: _E) -> _E:
        EXPRESSIONS[node_type] = function
        return function

    return register


def statement(node_type: type[ast.AST]) -> Callable[[_E], _E]:
    """Registers the function that compiles simple statements of `node_type`."""

    def register(function: _E) -> _E:
        STATEMENTS[node_type] = function
        return function

    return register


_FILES = {
    "atomics": "atomic",
    "group_functions": "group group_library",
    "bitcasts": "bitcast",
    "intrinsic_functions": "select shuffle",
    "iterators": "builtins.enumerate builtins.reversed builtins.zip",
    "local_arrays": "local private",
    "math_functions": "math",
    "math_integers": (
        "popcount clz ctz reverse_bits math.mul_hi math.add_carry math.gcd math.lcm math.isqrt math.comb "
        "math.factorial math.perm"
    ),
    "math_mixing": (
        "math.fma math.mix math.clamp math.smoothstep math.step math.sign math.fract math.degrees math.radians"
    ),
    "sequences": "math.prod builtins.all builtins.any builtins.sum",
    "sub_groups": "sub_group",
    "vectors": "math.dot math.length math.dist math.normalize math.cross",
}
"""Files that few kernels need, with the intrinsics and namespaces of theirs; a name goes before its namespace."""

_FILE_OF = {name: file for file, names in _FILES.items() for name in names.split()}

_Call: TypeAlias = "Callable[[FunctionBuilder, ast.Call, list[Value]], Value]"


class _Intrinsics(dict[str, "_Call"]):
    """Imports the file of an intrinsic that is not there yet."""

    def __missing__(self, name: str) -> _Call:
        file = _FILE_OF.get(name) or _FILE_OF[name.partition(".")[0]]
        import_deferred(f"{__package__}.{file}")
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found


INTRINSICS = _Intrinsics()
"""Name of an intrinsic (``math.sqrt``) or builtin (``builtins.min``) to the function that compiles calls of it."""


def intrinsic(*names: str) -> Callable[[_E], _E]:
    """Registers the function that compiles calls of the intrinsics `names`."""

    def register(function: _E) -> _E:
        for name in names:
            INTRINSICS[name] = function
        return function

    return register
