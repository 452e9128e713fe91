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

from ..ir.location import file_location
from .arithmetic import binary
from .captures import Captures
from .comparisons import compare_scalars
from .conversions import adapt
from .dispatch import intrinsic
from .helper_arguments import parameter_names
from .helpers import call_helper, compile_helper
from .ir_types import ir_type
from .source import FunctionSource
from .types import ScalarType
from .values import Scalar, Static, Tuple, Value, constant

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdsl.dialects.builtin import FileLineColLoc

    from ..ir.errors import Location
    from .function_builder import FunctionBuilder
    from .module_builder import ModuleBuilder

_MODULES = {
    "exponential": "exp exp2 expm1 sinh cosh tanh",
    "logarithm": "log log2 log10 log1p asinh acosh atanh",
    "trigonometric": "sin cos tan",
    "inverse_trigonometric": "asin acos atan atan2",
    "power": "pow cbrt",
    "closeness": "isclose",
    "combinations": "comb factorial perm",
    "distance": "hypot",
    "error_function": "erf erfc",
    "gamma_function": "gamma lgamma",
    "remainders": "remainder",
    "neighbours": "nextafter nextafter_bf16 nextafter_f16 ulp ulp_bf16 ulp_f16",
    "parts": "frexp ldexp modf",
    "integers": "gcd lcm isqrt mul_hi",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_OF_ANY_TYPE = (
    *("comb", "factorial", "gcd", "isclose", "isqrt", "lcm", "perm"),
    *("nextafter_bf16", "nextafter_f16", "ulp_bf16", "ulp_f16"),
)
"""Functions that are not written for one type each, or say which themselves: f32 computes what is narrower."""
_WITHOUT_BRANCHES = frozenset(("sin_f32", "cos_f32", "tan_f32"))
"""Functions that are there once more, as ``…_general``, for devices that run all branches."""


@lru_cache(maxsize=128)
def library_function(
    name: str, scalar: ScalarType, *, runs_all_branches: bool = False
) -> python_types.FunctionType:
    """Returns the function that computes ``lp.math.<name>`` in a type, on a device that runs all branches or not."""
    module = importlib.import_module(f".math_library.{_MODULE_OF[name]}", __package__)
    own_name = name if name in _OF_ANY_TYPE else f"{name}_{scalar.name}"
    is_general = runs_all_branches and own_name in _WITHOUT_BRANCHES
    found = getattr(module, f"{own_name}_general" if is_general else own_name)
    assert isinstance(found, python_types.FunctionType)
    return found


def call_library(fb: FunctionBuilder, name: str, operands: Sequence[Scalar], node: ast.AST) -> Value:
    """Compiles a call.

    Args:
        name: of the function, without ``math.``.
        operands: of the types that the function is written for; the first one's type chooses it.
    """
    function = library_function(name, operands[0].type, runs_all_branches=fb.module.runs_all_branches)
    values: dict[str, Value] = dict(zip(function.__code__.co_varnames, operands, strict=False))
    with _as_compiler(fb.module, fb.location()):
        return call_helper(fb, function, cast(ast.Call, node), values)


def compile_library(module: ModuleBuilder, name: str, scalar: ScalarType, place: Location | None) -> str:
    """Compiles a function for callers that are no Python, and returns its symbol.

    Args:
        module: gets the function, and those that it calls.
        name: of the function, without ``math.``.
        scalar: what it takes and gives.
        place: of who calls it; None where nobody knows.
    """
    function = library_function(name, scalar, runs_all_branches=module.runs_all_branches)
    source = FunctionSource.of(function)
    place = place or source.location(None)
    values: dict[str, Value] = dict.fromkeys(parameter_names(source), Scalar(scalar))
    with _as_compiler(module, file_location(place.file, place.line, place.column)):
        return compile_helper(module, source, values, has_fixed_result=True).symbol


@contextmanager
def _as_compiler(module: ModuleBuilder, place: FileLineColLoc) -> Generator[None]:
    captures, library_call = module.captures, module.library_call
    module.captures = Captures()
    module.library_call = library_call or place
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


@intrinsic("library.words_at")
def compile_words_at(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles the library's ``words_at(words, index, count, type)``: by each bit of the index all words move up or
    not, which is fewer selects than one for each word and place."""
    words, index, count, type_ = arguments
    assert isinstance(words, Tuple) and isinstance(index, Scalar) and isinstance(type_, Static)
    assert isinstance(count, Scalar) and isinstance(count.const, int)
    scalar = type_.obj
    assert isinstance(scalar, ScalarType)
    if fb.is_dry:
        return Tuple((Scalar(scalar),) * count.const)
    found = [adapt(fb, word, scalar, node) for word in words.items if isinstance(word, Scalar)]
    last = len(found) - count.const
    for bit in reversed(range(last.bit_length())):
        step = 1 << bit
        masked = binary(fb, "BitAnd", index, constant(step), node)
        assert isinstance(masked, Scalar)
        is_set = compare_scalars(fb, "NotEq", masked, constant(0), node)
        kept = count.const + step - 1
        found = [
            _selected(fb, is_set, found[i + step], word, scalar) if i + step < len(found) else word
            for i, word in enumerate(found[:kept])
        ]
    return Tuple(tuple(found))


def _selected(
    fb: FunctionBuilder, test: Scalar, then: Scalar, otherwise: Scalar, scalar: ScalarType
) -> Scalar:
    return Scalar(
        scalar,
        fb.emit(arith.SelectOp, [fb.ssa(test), fb.ssa(then), fb.ssa(otherwise)], ir_type(scalar)),
    )
