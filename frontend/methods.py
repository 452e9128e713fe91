"""Methods of structs: ``ray.at(t)`` is a call of the plain function ``Ray.at``, and ``a + b`` one of ``__add__``.

A struct is a value: the function gets a copy, as every helper does.  A method that stores into it would change nothing
that the caller sees, so it is refused.
"""

from __future__ import annotations

import ast
import types as python_types
from typing import cast

from .analysis import FunctionFacts
from .arithmetic import logical_not
from .conversions import condition
from .function_builder import FunctionBuilder
from .helper_arguments import bound_arguments, parameter_names
from .helpers import call_helper
from .source import FunctionSource
from .struct_types import StructType
from .struct_values import is_own
from .values import BoundMethod, Composite, Value

_OPERATORS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
    "MatMult": "matmul",
}
"""Names of the methods of operators, by class of the syntax tree."""

_COMPARISONS = {
    "Lt": ("__lt__", "__gt__"),
    "LtE": ("__le__", "__ge__"),
    "Gt": ("__gt__", "__lt__"),
    "GtE": ("__ge__", "__le__"),
    "Eq": ("__eq__", "__eq__"),
    "NotEq": ("__ne__", "__ne__"),
}
"""The methods of comparisons: the left operand's, and the right one's where that has none."""


def call_method(fb: FunctionBuilder, method: BoundMethod, node: ast.Call) -> Value:
    """Compiles ``p.method(…)``.

    Raises:
        CompileError: arguments that do not match, or a method that stores into its struct.
    """
    function = cast(python_types.FunctionType, method.function)  # checkers see a function of the dataclass
    source = _source(fb, method.receiver, function, method.name, node)
    values = bound_arguments(fb, function, source, node, receiver=method.receiver)
    return call_helper(fb, function, node, values)


def call_operator(
    fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST
) -> Value | None:
    """Compiles an operator by the method that a struct's class has for it: `left`'s, else the reflected one of `right`.

    Args:
        operator: class name of the ast operator: ``Add``.

    Returns:
        What the method returns; None where neither operand is a struct with such a method.
    """
    name = _OPERATORS.get(operator, "")
    for receiver, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        if isinstance(receiver, Composite) and isinstance(receiver.type, StructType):
            function = receiver.type.method(method)
            if function is not None:
                return _call_with(fb, receiver, function, method, [other], node)
    return None


def call_comparison(
    fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST
) -> Value | None:
    """Compiles ``p < q`` by the method that a struct's class has written for it, as `call_operator` does.

    ``!=`` is the opposite of ``==`` where only that is written.

    Args:
        operator: class name of the ast operator: ``Lt``.
    """
    methods = _COMPARISONS.get(operator, ())
    for receiver, other, method in zip((left, right), (right, left), methods, strict=False):
        function = _own_method(receiver, method)
        if function is not None:
            assert isinstance(receiver, Composite)
            return _call_with(fb, receiver, function, method, [other], node)
    if operator != "NotEq":
        return None
    equal = call_comparison(fb, "Eq", left, right, node)
    return None if equal is None else logical_not(fb, condition(fb, equal, node))


_UNARY = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}
"""The methods of operators of one operand."""


def call_unary(fb: FunctionBuilder, operator: str, value: Value, node: ast.AST) -> Value | None:
    """Compiles ``-p``, ``+p`` and ``~p`` by methods; None where `value` is no struct with that method."""
    return call_special(fb, _UNARY[operator], value, node)


def call_special(fb: FunctionBuilder, method: str, value: Value, node: ast.AST) -> Value | None:
    """Compiles what calls a method without arguments, as ``abs(p)`` does; None where `value` is no struct with it."""
    function = _own_method(value, method)
    if function is None:
        return None
    assert isinstance(value, Composite)
    return _call_with(fb, value, function, method, [], node)


def _own_method(value: Value, name: str) -> python_types.FunctionType | None:
    """Returns the method that a struct's class has written, which `struct` has not given it."""
    if not isinstance(value, Composite) or not isinstance(value.type, StructType):
        return None
    function = value.type.method(name)
    return function if is_own(function) else None


def _call_with(
    fb: FunctionBuilder,
    receiver: Composite,
    function: python_types.FunctionType,
    name: str,
    others: list[Value],
    node: ast.AST,
) -> Value:
    call = cast(ast.Call, node)  # an operator stands where calls do: only its place in the text counts
    parameters = parameter_names(_source(fb, receiver, function, name, call))
    if len(parameters) != 1 + len(others):
        raise fb.error(
            node,
            f"'{function.__qualname__}' takes {len(parameters)} parameters, its operator gives {1 + len(others)}",
            "LP2045",
        )
    return call_helper(fb, function, call, dict(zip(parameters, (receiver, *others), strict=True)))


def _source(
    fb: FunctionBuilder, receiver: Composite, function: python_types.FunctionType, name: str, node: ast.Call
) -> FunctionSource:
    """Returns the text of a method, and remembers where it was found."""
    assert isinstance(receiver.type, StructType)
    owner = receiver.type.python_class
    if fb.source.resolve(owner.__name__) is owner:  # another process finds the class by this name
        fb.module.captures.read_name(fb.source, owner.__name__, owner)
    fb.module.captures.read_attribute(owner, name, function)
    source = fb.module.source_of(function, fb, node)
    own = parameter_names(source)
    if own and FunctionFacts.of(source.tree).assignments[own[0]]:
        raise fb.error(
            node,
            f"the method '{function.__qualname__}' stores into '{own[0]}', a copy of the struct that it is called of",
            "LP2053",
            hint=f"make another in the method and return it: p = {own[0]}, p.x = …, return p; then q = q.{name}(…)",
        )
    return source
