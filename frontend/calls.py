"""Calls: of conversions, intrinsics, builtins and plain Python functions."""

from __future__ import annotations

import ast
import types as python_types
from collections.abc import Sequence

from xdsl.dialects import arith

from .builtins import BuiltinFunction
from .composite_arrays import is_array
from .conversions import condition, convert
from .dispatch import INTRINSICS, expression
from .externals import ExternalFunction
from .function_builder import FunctionBuilder
from .handlers import placeholder_read, read_through_handler
from .images import call_image_member
from .intrinsics import MATH_FUNCTIONS, Intrinsic
from .ir_types import BOOL, F32, F64, I32, constant_attribute, ir_type
from .printing import compile_print
from .spec_parameters import GET_SPECIALIZATION_CONSTANT
from .specialization import read_specialization
from .struct_types import StructType, value_type_of
from .structs import construct_fixed_array, construct_struct
from .types import FixedArrayType, ScalarType, scalar_of
from .values import (
    BoundMethod,
    Composite,
    FixedArray,
    Image,
    Scalar,
    Static,
    Value,
    constant,
    describe,
    number_hint,
)
from .vector_memory import call_vector_member
from .vector_types import CompositeArrayType, VecType
from .vectors import by_component, construct, works_by_component
from .work_item_members import as_index_value, call_member
from .work_item_values import Member

_INTEGER_RESULTS = ("floor", "ceil", "trunc")
"""Functions of Python's own math module that return an int; those of lp.math give a float."""


KEYWORDS: dict[str, tuple[str, ...]] = {
    "builtins.enumerate": ("start",),
    "builtins.sum": ("start",),
    "builtins.zip": ("strict",),
    "group_barrier": ("scope",),
    "mem_fence": ("scope", "order"),
    "atomic": ("order", "scope"),
    "group": ("op", "lane"),
    "math.isclose": ("rel_tol", "abs_tol"),
    "math.prod": ("start",),
    "sub_group": ("op", "lane"),
}
"""Keyword arguments that intrinsics, or all of a namespace, read themselves."""

_SPECIAL_METHODS = {"builtins.abs": "__abs__", "builtins.len": "__len__", "builtins.round": "__round__"}
"""Methods of structs that builtins call."""

_OF_SEVERAL_RESULTS = ("math.add_carry", "math.frexp", "math.modf")
"""Functions whose results are tuples: of vectors a tuple of vectors, of fixed arrays none."""

_KEYWORD_HINTS = {
    "key": "write the choice out: a if abs(a) > abs(b) else b",
    "default": "name it among the arguments: a tuple in kernels has items",
    "ndigits": "scale the number: round(x * 100.0) / 100.0 for two digits",
    "dtype": "convert the result: lp.f32(…)",
    "where": "write a conditional expression: f(x) if c else y",
}
"""What to write instead of a keyword argument of Python or NumPy."""

_POSITIONAL_ONLY = ("atomic", "builtins", "group", "math", "sub_group")
"""Namespaces whose other parameters have no names, as those of Python's math."""


@expression(ast.Call)
def compile_call(fb: FunctionBuilder, node: ast.Call) -> Value:
    """Compiles a call.

    Raises:
        CompileError: kernels cannot call the thing, or not with these arguments.
    """
    constant = placeholder_read(fb, node)
    if constant is not None:
        return read_specialization(fb, constant)
    of_vector = call_vector_member(fb, node)
    if of_vector is not None:
        return of_vector
    callee = fb.evaluate(node.func)
    obj = callee.obj if isinstance(callee, Static) else None
    if isinstance(obj, python_types.FunctionType):
        _refuse_host_function(fb, obj, node)
        from .helpers import call_helper  # many kernels have none

        return call_helper(fb, obj, node)
    name = _intrinsic_name(obj)
    if name is not None:
        return _call_intrinsic(fb, node, obj, name)
    if isinstance(obj, BoundMethod):
        from .methods import call_method

        return call_method(fb, obj, node)
    if isinstance(obj, ExternalFunction):
        from .external_functions import call_external

        return call_external(fb, obj, node)
    if isinstance(obj, Member) and isinstance(obj.owner, Image):
        return call_image_member(fb, obj, node)
    if isinstance(obj, Member):
        return call_member(fb, obj, node)
    composite = value_type_of(obj)
    if isinstance(composite, StructType):
        return construct_struct(fb, composite, node)
    if isinstance(composite, FixedArrayType | CompositeArrayType):
        return construct_fixed_array(fb, composite, positional(fb, node), node)
    if isinstance(composite, VecType):
        return construct(fb, composite, positional(fb, node), node)
    target = obj if isinstance(obj, ScalarType) else scalar_of(obj)
    if target is not None:
        return _conversion(fb, node, obj, target)
    raise fb.error(
        node.func,
        f"{describe(callee)} cannot be called in kernels",
        "LP2033",
        hint=_not_callable(fb, node, callee),
    )


def _not_callable(fb: FunctionBuilder, node: ast.Call, callee: Value) -> str:
    """Returns what to write instead of a call of something else than a function."""
    from .suggestions import builtin_hint, function_hint  # only for messages

    spelled = ast.unparse(node.func)
    if isinstance(callee, Static) and isinstance(callee.obj, type):
        if callee.obj.__module__ == "builtins":
            return builtin_hint(callee.obj.__name__)
        if callee.obj.__module__ == "numpy":
            return function_hint(callee.obj)
        if callee.obj.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return "it belongs to the host: make it outside of the kernel, and pass it or read it by its name"
        return "kernels make no objects but vectors, fixed arrays and structs: mark a class of numbers @lp.struct"
    elif isinstance(callee, Static) and getattr(callee.obj, "__module__", None) == "math":
        return function_hint(callee.obj)
    elif not isinstance(callee, Static):
        if isinstance(node.func, ast.Name) and node.func.id in (*fb.env, *fb.variable_types):
            return f"the variable '{spelled}' hides what else has that name: call it something else"
        if isinstance(node.func, ast.Attribute | ast.Name):
            return f"it is a value: write {spelled} without brackets"
    return "kernels call plain functions, types, lapilli's functions and builtins"


def _refuse_host_function(fb: FunctionBuilder, function: python_types.FunctionType, node: ast.Call) -> None:
    """Raises CompileError where a user's function calls one of lapilli's for the host, such as ``lp.zeros``."""
    package = __name__.partition(".")[0]
    called, caller = (str(f.__module__ or "") for f in (function, fb.source.function))
    if called.partition(".")[0] != package or caller.partition(".")[0] == package:
        return
    raise fb.error(
        node,
        f"{ast.unparse(node.func)} is a function of the host, which kernels cannot call",
        "LP2033",
        hint="call it before the launch and pass the result; kernels make lp.private.array and lp.local.array",
    )


def _intrinsic_name(obj: object) -> str | None:
    """Returns the key of `INTRINSICS` that an object is called by, None where there is none."""
    if isinstance(obj, Intrinsic):
        return obj.name
    if isinstance(obj, BuiltinFunction):
        return f"builtins.{obj.name}"
    name = getattr(obj, "__name__", "")
    if getattr(obj, "__module__", None) == "math" and name in MATH_FUNCTIONS:
        return f"math.{name}"
    return None


def _call_intrinsic(fb: FunctionBuilder, node: ast.Call, obj: object, name: str) -> Value:
    if name == "builtins.print":
        return compile_print(fb, node)
    if name == GET_SPECIALIZATION_CONSTANT:
        return read_through_handler(fb, node)
    namespace = name.partition(".")[0]
    keywords = KEYWORDS.get(name, KEYWORDS.get(namespace, ()))
    if node.keywords and namespace not in _POSITIONAL_ONLY:
        node = fb.calls_by_position.setdefault(id(node), _in_place(node, name, keywords))
    arguments = positional(fb, node, keywords=keywords)
    if name in _SPECIAL_METHODS and len(arguments) == 1 and isinstance(arguments[0], Composite):
        from .methods import call_special

        result = call_special(fb, _SPECIAL_METHODS[name], arguments[0], node)
        if result is not None:
            return result
    fb.callee = name
    if any(isinstance(a, FixedArray) or is_array(a) for a in arguments) and _works_by_element(
        name, len(arguments)
    ):
        from .fixed_operators import by_element  # few kernels call functions of fixed arrays

        return by_element(fb, arguments, node, lambda part: _of_numbers(fb, node, obj, name, [*part]))
    if any(isinstance(a, Composite) for a in arguments) and works_by_component(name, len(arguments)):
        called = ast.unparse(node.func)
        return by_component(fb, arguments, node, called, lambda part: _of_numbers(fb, node, obj, name, part))
    return _of_numbers(fb, node, obj, name, arguments)


def _works_by_element(name: str, argument_count: int) -> bool:
    return works_by_component(name, argument_count) and name not in _OF_SEVERAL_RESULTS


def _in_place(node: ast.Call, name: str, keywords: Sequence[str]) -> ast.Call:
    """Returns ``lp.select(c, if_false=b, if_true=a)`` with the keyword arguments at their positions.

    Args:
        keywords: those that stay what they are.
    """
    from .intrinsic_texts import parameter_names  # few calls name arguments

    args, rest = list(node.args), list(node.keywords)
    for parameter in parameter_names(name)[len(args) :]:
        given = next((k for k in rest if k.arg == parameter and k.arg not in keywords), None)
        if given is None:
            break
        args.append(given.value)
        rest.remove(given)
    return ast.copy_location(ast.Call(node.func, args, rest), node)


def _of_numbers(fb: FunctionBuilder, node: ast.Call, obj: object, name: str, arguments: list[Value]) -> Value:
    fb.callee = name
    result = INTRINSICS[name](fb, node, arguments)
    is_pythons = not isinstance(obj, Intrinsic | BuiltinFunction)
    if is_pythons and name.removeprefix("math.") in _INTEGER_RESULTS and isinstance(result, Scalar):
        return convert(fb, result, I32)
    return result


def positional(fb: FunctionBuilder, node: ast.Call, *, keywords: Sequence[str] = ()) -> list[Value]:
    """Evaluates the arguments that a call gives by position.

    Args:
        keywords: names of keyword arguments that the callee reads itself.

    Raises:
        CompileError: a keyword or starred argument.
    """
    for part in node.args:
        if isinstance(part, ast.Starred):
            raise fb.error(part, "kernels have no '*' arguments", "LP2030", hint="write the arguments out")
    for keyword in node.keywords:
        if keyword.arg in keywords:
            continue
        if keyword.arg is None:
            raise fb.error(
                keyword, "kernels have no '**' arguments", "LP2030", hint="write the arguments out"
            )
        raise fb.error(
            keyword,
            f"{ast.unparse(node.func)} takes no keyword argument '{keyword.arg}' in kernels",
            "LP2045",
            hint=f"its keywords are {', '.join(keywords)}"
            if keywords
            else _KEYWORD_HINTS.get(keyword.arg, "give the arguments by position"),
        )
    return [fb.evaluate(part) for part in node.args]


def _conversion(fb: FunctionBuilder, node: ast.Call, obj: object, target: ScalarType) -> Value:
    """Compiles ``lp.f32(x)``, ``int(x)``, ``float(x)`` and ``bool(x)``; without an argument they give zero."""
    arguments = positional(fb, node)
    if len(arguments) > 1:
        raise fb.error(
            node,
            f"{ast.unparse(node.func)} takes one argument, found {len(arguments)}",
            "LP2045",
            hint="a vector of several numbers is lp.f32x2(a, b)" if obj is target else "convert one number",
        )
    if not arguments:
        return convert(fb, Scalar(I32, const=0), target)
    value = as_index_value(fb, arguments[0])
    if obj is float and isinstance(value, Static) and isinstance(value.obj, str):
        return _number_of_text(fb, node, value.obj)
    if target is BOOL:
        return condition(fb, value, node.args[0])
    if not isinstance(value, Scalar):
        raise fb.error(
            node.args[0],
            f"{ast.unparse(node.func)} converts a number, found {describe(value)}",
            "LP2033",
            hint=number_hint(value),
        )
    if obj is float and value.type is F64:
        target = F64
    if obj is float and not value.type.is_float:
        target = F32
    result = convert(fb, value, target)
    if result.type is F64 and result.const is not None:
        # Folding it here must not hide from the aspect warnings that the source uses doubles; the optimiser removes it.
        fb.emit(arith.ConstantOp, [], ir_type(F64), {"value": constant_attribute(result.const, F64)})
    return result


def _number_of_text(fb: FunctionBuilder, node: ast.Call, text: str) -> Value:
    """Compiles ``float("inf")``: a literal, as `math.inf` is."""
    try:
        return constant(float(text))
    except ValueError:
        raise fb.error(
            node, f"float finds no number in the text {text!r}", "LP2033", hint='write float("inf") or 1.5'
        ) from None
