"""Which value each parameter of a helper gets from a call: positions, names, defaults, annotations."""

from __future__ import annotations

import ast
import inspect
import types as python_types
from dataclasses import replace
from typing import Any, Optional, cast

from ..ir.errors import CompileError
from .captured_objects import captured
from .captures import defaults_of
from .composite_arrays import without_rows
from .composites import convert_composite
from .conversions import store_convert
from .function_builder import FunctionBuilder
from .parameter_types import LocalArray as LocalArraySpelling
from .parameter_types import LocalArrayType
from .source import FunctionSource
from .struct_types import StructType, value_type_of
from .types import ARRAY_ACCESS, ArrayType, FixedArrayType, ScalarType, TypeSpelling, scalar_of
from .values import (
    Array,
    BoundMethod,
    Elements,
    Image,
    Iteration,
    LocalArray,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Value,
    describe,
)
from .vector_types import CompositeArrayType, VecType


def bound_arguments(
    fb: FunctionBuilder,
    function: python_types.FunctionType,
    source: FunctionSource,
    node: ast.Call,
    receiver: Value | None = None,
) -> dict[str, Value]:
    """Returns the value of each parameter of a call, defaults included.

    Args:
        receiver: the struct whose method is called: the first argument, which the call does not write out.

    Raises:
        CompileError: missing, extra or unknown arguments, or parameters that kernels do not have.
    """
    arguments = source.tree.args
    name = function.__name__
    if arguments.vararg or arguments.kwarg:
        extra = f"*{arguments.vararg.arg}" if arguments.vararg else f"**{getattr(arguments.kwarg, 'arg', '')}"
        raise fb.error(
            node,
            f"'{name}' has the parameter {extra}, which kernels cannot call",
            "LP2030",
            hint="give it a fixed list of parameters"
            if inspect.unwrap(function) is function
            else f"a decorator wraps it: give what it wraps a name outside, plain = {name}.__wrapped__, and call that",
        )
    given = _by_position(fb, name, source, node, receiver)
    _add_by_name(fb, name, source, node, given)
    return {
        p: given[p] if p in given else _default(fb, function, source, p, node)
        for p in parameter_names(source)
    }


def _by_position(
    fb: FunctionBuilder, name: str, source: FunctionSource, node: ast.Call, receiver: Value | None
) -> dict[str, Value]:
    arguments = source.tree.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    given: dict[str, Value] = {}
    if receiver is not None and positional:
        given[positional.pop(0)] = receiver
    for position, part in enumerate(node.args):
        if isinstance(part, ast.Starred):
            raise fb.error(part, "kernels have no '*' arguments", "LP2030", hint="write the arguments out")
        if position >= len(positional):
            raise fb.error(
                part,
                f"'{name}' takes {len(positional)} positional arguments, found {len(node.args)}",
                "LP2045",
                hint=_spelled(name, source),
            )
        given[positional[position]] = _argument(fb, part)
    return given


def _add_by_name(
    fb: FunctionBuilder, name: str, source: FunctionSource, node: ast.Call, given: dict[str, Value]
) -> None:
    """Adds the keyword arguments of a call to those that it gives by position."""
    arguments = source.tree.args
    known = [a.arg for a in (*arguments.args, *arguments.kwonlyargs)] if node.keywords else []
    for keyword in node.keywords:
        if keyword.arg is None:
            raise fb.error(
                keyword, "kernels have no '**' arguments", "LP2030", hint="write the arguments out"
            )
        if keyword.arg not in known:
            is_positional = keyword.arg in [a.arg for a in arguments.posonlyargs]
            found = (
                f"takes '{keyword.arg}' by position" if is_positional else f"has no parameter '{keyword.arg}'"
            )
            raise fb.error(keyword, f"'{name}' {found}", "LP2045", hint=_spelled(name, source))
        if keyword.arg in given:
            raise fb.error(
                keyword, f"'{name}' gets '{keyword.arg}' twice", "LP2045", hint=_spelled(name, source)
            )
        given[keyword.arg] = _argument(fb, keyword.value)


def _spelled(name: str, source: FunctionSource) -> str:
    return f"it is {name}({ast.unparse(source.tree.args)})"


def parameter_names(source: FunctionSource) -> list[str]:
    """Returns the names of a helper's parameters in order."""
    arguments = source.tree.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _argument(fb: FunctionBuilder, node: ast.expr) -> Value:
    value = without_rows(fb, fb.evaluate(node))
    _refuse_of_caller(fb, value, node)
    return value


def _refuse_of_caller(fb: FunctionBuilder, value: Value, node: ast.expr) -> None:
    """Raises CompileError where an argument, or an item of it, is made of values that only its caller has."""
    match value:
        case Tuple(items=items):
            for item in items:
                _refuse_of_caller(fb, item, node)
            return
        case RangeValue():
            hint = "pass its bounds, and write the range in the function"
        case Iteration() | Elements():
            hint = "pass the tuples or arrays, and write enumerate or zip in the function"
        case Static(obj=BoundMethod()):
            hint = "pass the struct, and call its method in the function"
        case _:
            return
    raise fb.error(node, f"{describe(value)} cannot be an argument", "LP2045", hint=hint)


def _default(
    fb: FunctionBuilder,
    function: python_types.FunctionType,
    source: FunctionSource,
    parameter: str,
    node: ast.Call,
) -> Value:
    defaults = defaults_of(function)
    if parameter not in defaults:
        raise fb.error(
            node,
            f"'{function.__name__}' gets no value for '{parameter}'",
            "LP2045",
            hint=_spelled(function.__name__, source),
        )
    return captured(fb, defaults[parameter], f"default of {parameter}", node)


def annotated(
    fb: FunctionBuilder,
    source: FunctionSource,
    values: dict[str, Value],
    node: ast.Call,
    *,
    is_as_written: bool = True,
) -> dict[str, Value]:
    """Converts arguments to the types of values that the helper's annotations name, and checks those of arrays.

    Args:
        is_as_written: whether `node` writes every argument itself; the object of a method it does not.

    Raises:
        CompileError: at an argument that its parameter does not take.
    """
    arguments = source.tree.args
    result = dict(values)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is None:
            continue
        wanted = annotation_type(fb, source, argument.annotation)
        value = values[argument.arg]
        if wanted is None or (isinstance(value, Static) and value.obj is None):  # beside None, or its default
            continue
        what = f"parameter '{argument.arg}' of '{source.name}'"
        place = _place(source, argument.arg, node) if is_as_written else node
        if isinstance(wanted, ArrayType | LocalArrayType):
            result[argument.arg] = _checked_array(fb, value, wanted, place, what)
        elif isinstance(wanted, VecType | StructType | FixedArrayType | CompositeArrayType):
            result[argument.arg] = convert_composite(fb, value, wanted, place, what)
        elif (
            isinstance(wanted, ScalarType)
            or not isinstance(value, Scalar)
            or _is_of_other_kind(value, wanted)
        ):
            result[argument.arg] = store_convert(fb, value, _number_type(wanted), place, what)
    return result


def _place(source: FunctionSource, parameter: str, node: ast.Call) -> ast.expr:
    """Returns the argument that a call writes for a parameter; the call where that has its default."""
    for keyword in node.keywords:
        if keyword.arg == parameter:
            return keyword.value
    positional = parameter_names(source)[: len(node.args)]
    return node.args[positional.index(parameter)] if parameter in positional else node


def _is_of_other_kind(value: Scalar, wanted: object) -> bool:
    """Whether a number is none of Python's own ``int`` or ``float``, which say nothing of its width."""
    return wanted is (int if value.type.is_float else float)


def _number_type(wanted: object) -> ScalarType:
    """Returns the type of numbers that an annotation names, Python's own included."""
    found = scalar_of(wanted)
    assert found is not None
    return found


def _checked_array(
    fb: FunctionBuilder, value: Value, wanted: ArrayType | LocalArrayType, node: ast.expr, what: str
) -> Value:
    """Returns an array as an annotation has it: ``lp.In`` in a helper is read-only there, ``lp.Out`` write-only.

    Raises:
        CompileError: it is no array, or one of other elements or dimensions.
    """
    if not _is_array_of(value, wanted):
        raise fb.error(
            node,
            f"{what} is {wanted!r}, found {describe(value)}",
            "LP2033",
            hint="pass such an array, or leave the annotation out: a helper is compiled for what each call gives it",
        )
    assert isinstance(value, Array)
    if (
        isinstance(wanted, LocalArrayType)
        or isinstance(value, LocalArray)
        or value.type.access != "read_write"
    ):
        return value
    return replace(value, type=replace(value.type, access=wanted.access))


def _is_array_of(value: Value, wanted: ArrayType | LocalArrayType) -> bool:
    if not isinstance(value, Array) or isinstance(value, Image):
        return False
    return (value.type.element, value.type.ndim) == (wanted.element, wanted.ndim)


def annotation_type(fb: FunctionBuilder, source: FunctionSource, annotation: ast.expr | None) -> object:
    """Returns the type that a helper's annotation names, or Python's own int, float, bool; else None.

    What a parameter may be beside None, ``lp.f32 | None``, counts like the type alone.
    """
    obj = _meaning(fb, source, annotation)
    if isinstance(obj, ScalarType | ArrayType | LocalArrayType):
        return obj
    composite = value_type_of(obj)
    if isinstance(composite, VecType | StructType | FixedArrayType | CompositeArrayType):
        return composite
    return obj if isinstance(obj, type) and scalar_of(obj) is not None else None


def _meaning(fb: FunctionBuilder, source: FunctionSource, annotation: ast.expr | None) -> object:
    """Returns what an annotation means; None where it is something that only type checkers read."""
    match annotation:
        case ast.Constant(value=str() as text):
            try:
                return _meaning(fb, source, ast.parse(text, mode="eval").body)
            except (SyntaxError, ValueError):
                return None
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            obj = source.resolve(name)
            fb.module.captures.read_name(source, name, obj)
            return obj
        case ast.Attribute(value=of, attr=name):
            owner = _meaning(fb, source, of)
            obj = getattr(owner, name, None)
            fb.module.captures.read_attribute(owner, name, obj)
            return obj
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=kind):
            return _meaning(fb, source, kind)
        case ast.BinOp(left=kind, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _meaning(fb, source, kind)
        case ast.Subscript(value=of, slice=written):
            return _with_brackets(fb, source, _meaning(fb, source, of), written)
        case _:
            return None


def _with_brackets(fb: FunctionBuilder, source: FunctionSource, of: object, written: ast.expr) -> object:
    """Returns what ``lp.Vec[lp.f32, 3]``, ``lp.Array[lp.f32, 2]`` and ``Optional[lp.f32]`` mean."""
    if of is Optional:
        return _meaning(fb, source, written)
    access = ARRAY_ACCESS.get(getattr(of, "__lapilli_annotation__", None) or "")
    if access is None and not (isinstance(of, type) and issubclass(of, TypeSpelling | LocalArraySpelling)):
        return None
    items = [
        _meaning(fb, source, item) for item in (written.elts if isinstance(written, ast.Tuple) else [written])
    ]
    if access is not None:
        element, ndim = value_type_of(items[0]), items[1] if len(items) > 1 else 1
        return ArrayType(element, ndim, access) if element is not None and isinstance(ndim, int) else None
    try:
        return cast("Any", of)[tuple(items)]
    except CompileError:
        return None  # of a length that has to be computed
