"""Names, literals, attributes and tuples: where the values of a kernel come from."""

from __future__ import annotations

import ast
import builtins
import enum
import types as python_types
from dataclasses import is_dataclass
from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from ..ir.stream import Manipulator, Stream
from .builtins import BUILTINS, BuiltinFunction
from .captured_data import captured_array, captured_struct
from .composites import typed_composite
from .conversions import convert
from .dispatch import expression
from .externals import ExternalFunction
from .folding import MAXIMUM_LITERAL_BITS
from .function_builder import FunctionBuilder, UnknownTypeError, VariableType
from .intrinsics import Intrinsic, Namespace
from .kernel import KernelFunction
from .named_objects import named_object
from .parts import array_part, composite_attribute, load_part
from .scope import MISSING
from .spec_constant import SpecializationId, placeholder_id
from .specialization import read_specialization
from .streams import KernelStream
from .struct_types import StructType
from .struct_values import struct_of_value
from .subscripts import array_attribute
from .suggestions import attribute_hint, builtin_hint, closest, function_hint, public_name_hint
from .types import ArrayType, ScalarType, Type, bool_, scalar_of, type_of_dtype
from .values import (
    Array,
    Composite,
    FixedArray,
    NamedTuple,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    constant,
    describe,
)
from .vector_types import VecType
from .work_item_members import id_member, member
from .work_item_values import WorkItem

_MAXIMUM_CAPTURED = 4096
"""Items of captured tuples, nested ones counted."""


@expression(ast.Constant)
def compile_constant(fb: FunctionBuilder, node: ast.Constant) -> Value:
    """Compiles a literal."""
    value = node.value
    if isinstance(value, int):
        return _integer(fb, value, "this literal", node)
    if isinstance(value, float):
        return constant(value)
    if value is None or isinstance(value, str):
        return Static(value, repr(value))
    raise fb.error(
        node,
        f"kernels have no {type(value).__name__} literals",
        "LP2030",
        hint="numbers are integers or floats; use two floats for a complex number"
        if isinstance(value, complex)
        else "kernels have numbers, True, False, None, texts for options, and tuples",
    )


@expression(ast.Tuple)
def compile_tuple(fb: FunctionBuilder, node: ast.Tuple) -> Value:
    """Compiles ``(a, b)``."""
    for item in node.elts:
        if isinstance(item, ast.Starred):
            raise fb.error(item, "kernels have no starred items", "LP2030", hint="write the items out")
    return Tuple(tuple(fb.evaluate(item) for item in node.elts))


@expression(ast.Name)
def compile_name(fb: FunctionBuilder, node: ast.Name) -> Value:
    """Compiles the read of a variable, or of a name from around the kernel."""
    name = node.id
    constant = fb.spec_parameters.get(name)
    if constant is not None:
        return read_specialization(fb, constant)
    if fb.is_local(name):
        return _variable_of_type(fb, name) if fb.is_dry else _variable(fb, name, node)
    static = fb.statics.get(name)
    if static is not None:
        return static
    found = fb.source.resolve(name)
    if found is MISSING:
        raise fb.error(node, f"unknown name '{name}'", "LP2031", hint=_unknown_hint(fb, name))
    fb.module.captures.read_name(fb.source, name, found)
    value = captured(fb, found, name, node)
    if isinstance(value, Static):
        fb.statics[name] = value
    return value


def _unknown_hint(fb: FunctionBuilder, name: str) -> str:
    if name in ("np", "numpy"):
        return "NumPy does not run on devices; use lp.math and the builtins"
    meant = closest(name, [n for n in fb.local_names if not n.startswith("$")] + list(BUILTINS))
    known = public_name_hint(name)
    if meant or known:
        return known or f"did you mean '{meant}'?"
    return "check the spelling, or define it before the kernel is compiled"


def _variable_of_type(fb: FunctionBuilder, name: str) -> Value:
    """Returns a value of a variable's type, while types are inferred."""
    fb.read_types.add(name)
    kind = fb.variable_types.get(name)
    known = fb.known.get(name)
    if known is not None and isinstance(kind, ScalarType):
        return _known_value(fb, known, kind)
    if kind is not None:
        return typed_value(kind)
    bound = fb.env.get(name)
    if bound is None or isinstance(bound, Unset):
        raise UnknownTypeError
    return bound


def _known_value(fb: FunctionBuilder, known: Scalar, kind: ScalarType) -> Scalar:
    """Returns the constant that a variable holds, in the type that the variable has so far."""
    if kind.bits:
        return convert(fb, known, kind)
    assert known.const is not None
    return constant(float(known.const)) if kind.is_float else constant(known.const)


def typed_value(kind: VariableType) -> Value:
    """Returns some value of a variable's type."""
    if isinstance(kind, ScalarType):
        return Scalar(kind)
    if isinstance(kind, VecType | StructType):
        return typed_composite(kind)
    return Tuple(tuple(typed_value(item) for item in kind)) if isinstance(kind, tuple) else kind


def _variable(fb: FunctionBuilder, name: str, node: ast.Name) -> Value:
    bound = fb.env.get(name)
    if bound is not None and not isinstance(bound, Unset):
        return bound
    if bound is None or bound.where is None:
        raise fb.error(
            node, f"variable '{name}' is read before it is assigned", "LP2038", hint=f"assign '{name}' first"
        )
    path = f" {bound.path}" if bound.path else ""
    note = fb.source.diagnostic(bound.where, f"'{name}' is not assigned here{path}", severity="note")
    raise fb.error(
        node,
        f"variable '{name}' may be unset: the {_kind(bound.where)} of line {getattr(bound.where, 'lineno', 0)} "
        f"does not assign it{path}",
        "LP2038",
        hint=f"give '{name}' a value before that line",
        notes=[note],
    )


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return "if"
    return "loop" if isinstance(node, ast.For | ast.While) else "expression"


def _integer(fb: FunctionBuilder, value: int, what: str, node: ast.AST) -> Value:
    if value.bit_length() > MAXIMUM_LITERAL_BITS:
        raise fb.too_large(node, what)
    return constant(value)


def captured(fb: FunctionBuilder, obj: object, name: str, node: ast.AST) -> Value:
    """Returns what an object from around the kernel is inside of it.

    Raises:
        CompileError: an object without a counterpart on a device.
    """
    match obj:
        case bool():
            return constant(obj)
        case int():  # also members of IntEnum
            return _integer(fb, int(obj), f"the captured integer '{name}'", node)
        case float():
            return constant(float(obj))
        case np.generic():
            return _numpy_scalar(fb, cast("np.generic[Any]", obj), name, node)
        case SpecializationId():
            return read_specialization(fb, obj)
        case np.ndarray() if obj.ndim:
            return captured_array(fb, cast("np.ndarray[Any, Any]", obj), name, node)
        case np.ndarray():
            return captured(fb, obj[()], name, node)
        case tuple():
            return _captured_tuple(fb, cast("tuple[object, ...]", obj), name, node)
        case Type() | Manipulator() | Intrinsic() | Namespace() | python_types.ModuleType() | str() | None:
            return Static(obj, name)
        case KernelFunction():
            raise fb.error(
                node,
                f"kernel '{obj.name}' cannot be called from a kernel",
                "LP2032",
                hint="move the common part into a plain function and call that from both",
            )
        case python_types.FunctionType() | ExternalFunction():
            return Static(obj, name)
        case _:
            placed = placeholder_id(obj)
            return _captured_other(fb, obj, name, node) if placed is None else read_specialization(fb, placed)


def _captured_other(fb: FunctionBuilder, obj: object, name: str, node: ast.AST) -> Value:
    if scalar_of(obj) is not None:
        return Static(obj, name)
    struct = struct_of_value(obj)
    if struct is not None:
        return captured_struct(fb, obj, struct, name)
    own_name = getattr(obj, "__name__", "")
    replaced = BUILTINS.get(own_name)
    if replaced is not None and getattr(builtins, own_name, None) is obj:
        return Static(replaced, name)
    if isinstance(obj, type):
        return Static(_numpy_type(obj) or obj, name)  # a class is a namespace of constants
    if getattr(obj, "__module__", None) == "math" and callable(obj):
        return Static(obj, name)
    if isinstance(obj, python_types.BuiltinFunctionType):
        raise fb.error(
            node,
            f"kernels have no builtin function '{name}'",
            "LP2032",
            hint=builtin_hint(name),
        )
    raise fb.error(
        node,
        f"kernels cannot use '{name}', a captured object of type {type(obj).__name__}",
        "LP2032",
        hint=_captured_hint(obj),
    )


def _numpy_type(obj: object) -> ScalarType | None:
    """Returns what ``np.float32`` is in a kernel, None for other classes."""
    if obj is np.bool_:
        return bool_
    try:
        return type_of_dtype(obj) if getattr(obj, "__module__", None) == "numpy" else None
    except InvalidError:
        return None


def _captured_hint(obj: object) -> str:
    if isinstance(obj, enum.Enum):
        return f"use the number that it stands for: {type(obj).__name__}.{obj.name}.value"
    if is_dataclass(obj) and not isinstance(obj, type):
        return "make it an @lp.struct, or capture the fields that the kernel needs as numbers"
    if isinstance(obj, list | dict | set):
        return "capture a tuple instead, or pass the data as an lp.Array argument"
    if callable(obj):
        return function_hint(obj)
    return "pass what the kernel needs as an argument"


def _numpy_scalar(fb: FunctionBuilder, obj: np.generic[Any], name: str, node: ast.AST) -> Value:
    value = obj.item()
    if isinstance(value, bool | int | float):
        return constant(value)
    raise fb.error(
        node,
        f"kernels cannot use '{name}', a NumPy scalar of dtype {obj.dtype}",
        "LP2032",
        hint="use a number",
    )


def _captured_tuple(fb: FunctionBuilder, obj: tuple[object, ...], name: str, node: ast.AST) -> Value:
    if len(obj) > _MAXIMUM_CAPTURED:
        raise fb.error(
            node,
            f"the captured tuple '{name}' has {len(obj)} items, at most {_MAXIMUM_CAPTURED} are taken",
            "LP2032",
            hint="pass the data as an lp.Array argument",
        )
    items = tuple(captured(fb, item, f"{name}[{i}]", node) for i, item in enumerate(obj))
    fields = getattr(type(obj), "_fields", None)
    return Tuple(items) if fields is None else NamedTuple(items, tuple(map(str, fields)))


@expression(ast.Attribute)
def compile_attribute(fb: FunctionBuilder, node: ast.Attribute) -> Value:
    """Compiles ``a.shape``, ``lp.math``, ``math.pi``."""
    static = fb.static_attributes.get(id(node))
    if static is not None:
        return static[1]
    place = array_part(fb, node)
    if place is not None:
        return load_part(fb, place, node)
    number = _enum_value(fb, node)
    if number is not None:
        return number
    base = fb.evaluate(node.value)
    if isinstance(base, NamedTuple) and node.attr in base.names:
        return base.items[base.names.index(node.attr)]
    if isinstance(base, Static) and isinstance(base.obj, WorkItem):
        return member(fb, base.obj, node)
    if isinstance(base, Static) and isinstance(base.obj, KernelStream):
        return _stream_member(fb, base, node)
    of_id = id_member(fb, base, node)
    if of_id is not None:
        return of_id
    if isinstance(base, Composite):
        return composite_attribute(fb, base, node)
    if isinstance(base, Array):
        return array_attribute(fb, base, node)
    if isinstance(base, FixedArray):
        return _fixed_attribute(fb, base, node)
    if isinstance(base, Static) and not isinstance(base.obj, str | BuiltinFunction | None):
        return _static_attribute(fb, base, node)
    raise fb.error(
        node,
        f"{describe(base)} has no attribute '{node.attr}' in kernels",
        "LP2046",
        hint=_member_hint(base, node.attr),
    )


def _member_hint(base: Value, name: str) -> str | None:
    """Returns what to write instead of a member that only hosts have."""
    if isinstance(base, NamedTuple):
        return f"its items are {', '.join(base.names)}"
    if isinstance(base, Static) and isinstance(base.obj, str):
        return 'texts are written out: print(f"{x:.3f}"), or print("x =", x)'
    if name in ("astype", "to", "cast"):
        return "convert with the type's name: lp.i32(x)"
    return "it is a number as it stands" if name in ("value", "item", "real") else None


def _enum_value(fb: FunctionBuilder, node: ast.Attribute) -> Value | None:
    """Returns what ``Kind.FAST.value`` is, None for any other attribute."""
    found = named_object(fb, node.value) if node.attr == "value" else None
    return captured(fb, found.value, ast.unparse(node), node) if isinstance(found, enum.Enum) else None


def _stream_member(fb: FunctionBuilder, base: Static, node: ast.Attribute) -> Value:
    """Returns a manipulator by way of the stream: ``out.endl``."""
    found = getattr(Stream, node.attr, None)
    if isinstance(found, Manipulator):
        return Static(found, f"{base.name}.{node.attr}")
    names = [name for name in vars(Stream) if isinstance(getattr(Stream, name), Manipulator)]
    raise fb.error(
        node,
        f"a stream has no attribute '{node.attr}' in kernels",
        "LP2046",
        hint=f"write values with <<; its manipulators are {', '.join(names)}",
    )


def _static_attribute(fb: FunctionBuilder, base: Static, node: ast.Attribute) -> Value:
    obj, spelling = base.obj, f"{base.name}.{node.attr}"
    if isinstance(obj, python_types.FunctionType | ExternalFunction | ArrayType):
        raise fb.error(node, f"'{base.name}' has no attribute '{node.attr}' in kernels", "LP2046")
    try:
        found = getattr(obj, node.attr)
    except AttributeError:
        hint = attribute_hint(base.name, node.attr, dir(obj))
        raise fb.error(node, f"'{base.name}' has no attribute '{node.attr}'", "LP2046", hint=hint) from None
    fb.module.captures.read_attribute(obj, node.attr, found)
    if isinstance(obj, python_types.ModuleType | type) and isinstance(found, SpecializationId):
        found.suggest_name(node.attr)
    value = captured(fb, found, spelling, node)
    if isinstance(value, Static) and _is_from_around(fb, node.value):
        fb.static_attributes[id(node)] = node, value
    return value


def _is_from_around(fb: FunctionBuilder, node: ast.expr) -> bool:
    """Whether an expression is always the same function, module or type; a variable of an unrolled loop is not."""
    if isinstance(node, ast.Name):
        return node.id in fb.statics and not fb.is_local(node.id)
    return id(node) in fb.static_attributes


def _fixed_attribute(fb: FunctionBuilder, base: FixedArray, node: ast.Attribute) -> Value:
    shape = base.remaining_shape
    match node.attr:
        case "shape":
            return Tuple(tuple(constant(n) for n in shape))
        case "size":
            return constant(int(np.prod(shape)))
        case "ndim":
            return constant(len(shape))
        case "dtype":
            return Static(base.type.element, base.type.element.name)
        case _:
            raise fb.error(
                node,
                f"{base.type!r} has no attribute '{node.attr}' in kernels",
                "LP2046",
                hint="there are shape, size, ndim and dtype",
            )
