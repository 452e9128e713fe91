"""Calls of the functions of `math_library`: compiled like helpers of the user's, but as parts of the compiler.

Their text is part of the compiler's version, so nothing in it is watched or looked up again; whatever they compile
to belongs to the line that calls them.
"""

from __future__ import annotations

import ast
import importlib
import types as python_types
from collections.abc import Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith

from .arithmetic import binary
from .captures import Captures
from .comparisons import compare_scalars
from .conversions import adapt
from .dispatch import intrinsic
from .helpers import call_helper
from .ir_types import ir_type
from .types import ScalarType
from .values import Scalar, Static, Tuple, Value, constant

if TYPE_CHECKING:
    from collections.abc import Generator

    from .function_builder import FunctionBuilder

_MODULES = {
    "exponential": "exp exp2 expm1 sinh cosh tanh",
    "logarithm": "log log2 log10 log1p asinh acosh atanh",
    "trigonometric": "sin cos tan",
    "inverse_trigonometric": "asin acos atan atan2",
    "power": "pow cbrt",
    "distance": "hypot",
    "error_function": "erf erfc",
    "gamma_function": "gamma lgamma",
    "remainders": "remainder",
    "parts": "frexp ldexp modf nextafter ulp",
    "integers": "gcd lcm isqrt mul_hi",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_OF_ANY_INTEGER = ("gcd", "lcm", "isqrt")
"""Functions that are not written for one type each."""


@lru_cache(maxsize=128)
def library_function(name: str, scalar: ScalarType) -> python_types.FunctionType:
    """Returns the function that computes ``lp.math.<name>`` in a type."""
    module = importlib.import_module(f".math_library.{_MODULE_OF[name]}", __package__)
    found = getattr(module, name if name in _OF_ANY_INTEGER else f"{name}_{scalar.name}")
    assert isinstance(found, python_types.FunctionType)
    return found


def call_library(fb: FunctionBuilder, name: str, operands: Sequence[Scalar], node: ast.AST) -> Value:
    """Compiles a call.

    Args:
        name: of the function, without ``math.``.
        operands: of the types that the function is written for; the first one's type chooses it.
    """
    function = library_function(name, operands[0].type)
    values: dict[str, Value] = dict(zip(function.__code__.co_varnames, operands, strict=False))
    with _as_compiler(fb):
        return call_helper(fb, function, cast(ast.Call, node), values)


@contextmanager
def _as_compiler(fb: FunctionBuilder) -> Generator[None]:
    module = fb.module
    captures, library_call = module.captures, module.library_call
    module.captures = Captures()
    module.library_call = library_call or fb.location()
    try:
        yield
    finally:
        module.captures, module.library_call = captures, library_call


@intrinsic("library.polynomial")
def compile_polynomial(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles the library's ``polynomial(x, coefficients)``."""
    x, terms = arguments
    assert isinstance(terms, Tuple)
    result, *others = reversed(terms.items)
    for term in others:
        result = binary(fb, "Add", binary(fb, "Mult", result, x, node), term, node)
    return result


@intrinsic("library.word_at")
def compile_word_at(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles the library's ``word_at(words, index, type)``: a select for each word."""
    words, index, type_ = arguments
    assert isinstance(words, Tuple) and isinstance(index, Scalar) and isinstance(type_, Static)
    scalar = type_.obj
    assert isinstance(scalar, ScalarType)
    if fb.is_dry:
        return Scalar(scalar)
    first, *others = (adapt(fb, word, scalar, node) for word in words.items if isinstance(word, Scalar))
    result = first
    for position, word in enumerate(others, 1):
        is_here = compare_scalars(fb, "Eq", index, constant(position), node)
        ssa = fb.emit(arith.SelectOp, [fb.ssa(is_here), fb.ssa(word), fb.ssa(result)], ir_type(scalar))
        result = Scalar(scalar, ssa)
    return result
