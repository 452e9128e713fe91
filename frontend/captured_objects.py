"""What objects from around a kernel are inside of it."""

from __future__ import annotations

import ast
import builtins
import enum
import numbers
import types as python_types
from dataclasses import is_dataclass
from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from ..ir.stream import Manipulator
from .builtins import BUILTINS
from .captured_data import captured_array, captured_struct
from .externals import ExternalFunction
from .folding import MAXIMUM_LITERAL_BITS
from .function_builder import FunctionBuilder
from .intrinsics import Intrinsic, Namespace
from .kernel import KernelFunction
from .spec_constant import SpecializationId, placeholder_id
from .specialization import read_specialization
from .struct_values import struct_of_value
from .types import ScalarType, Type, bool_, scalar_of, unaliased
from .values import NamedTuple, Static, Tuple, Value, constant

_MAXIMUM_CAPTURED = 4096
"""Items of captured tuples, nested ones counted."""


def whole_number(fb: FunctionBuilder, value: int, what: str, node: ast.AST) -> Value:
    """Returns the literal of an integer.

    Raises:
        CompileError: it is longer than literals are.
    """
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
            return whole_number(fb, int(obj), f"the captured integer '{name}'", node)
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
    meant = unaliased(obj)
    if meant is not obj:
        return captured(fb, meant, name, node)
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
        from .suggestions import builtin_hint, function_hint  # only for messages

        is_pythons = getattr(builtins, own_name, None) is obj
        raise fb.error(
            node,
            f"kernels have no builtin function '{name}'" if is_pythons else f"kernels cannot call '{name}'",
            "LP2032",
            hint=builtin_hint(name) if is_pythons else function_hint(obj),
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
    if getattr(obj, "__module__", None) != "numpy":
        return None
    from .type_lookup import type_of_dtype  # which few kernels need

    try:
        return type_of_dtype(obj)
    except InvalidError:
        return None


def _captured_hint(obj: object) -> str:
    if isinstance(obj, enum.Enum):
        return f"use the number that it stands for: {type(obj).__name__}.{obj.name}.value"
    if is_dataclass(obj) and not isinstance(obj, type):
        return "make it an @lp.struct, or capture the fields that the kernel needs as numbers"
    if isinstance(obj, complex):
        return "use two floats, or a vector of two: lp.f32x2"
    if isinstance(obj, numbers.Number):
        return "convert it outside of the kernel: float(x)"
    if isinstance(obj, range):
        return "write the range in the kernel, with numbers captured from outside"
    if isinstance(obj, bytes | bytearray):
        return "capture np.frombuffer(x, np.uint8), or pass that as an lp.Array argument"
    if isinstance(obj, list) and obj and set(map(type, cast("list[object]", obj))) <= {int, float, bool}:
        return (
            "capture a table that takes any index, np.array(x, np.int32) or np.float32 around the kernel; "
            "or a tuple for indices that are known when it is compiled; or pass an lp.Array"
        )
    if isinstance(obj, list | dict | set | frozenset):
        return "capture a tuple instead, or pass the data as an lp.Array argument"
    if callable(obj):
        from .suggestions import function_hint  # only for messages

        return function_hint(obj)
    if type(obj).__name__ == "Array":
        return (
            "arrays are arguments: declare a parameter x: lp.In[…] or lp.Array[…], and pass it at the launch"
        )
    return "pass what the kernel needs as an argument, or bind the numbers in it to names of their own outside: n = x.n"


def _numpy_scalar(fb: FunctionBuilder, obj: np.generic[Any], name: str, node: ast.AST) -> Value:
    value = obj.item()
    if value != value:
        from .nan_payloads import exact_number  # which few programs need

        value = exact_number(obj)
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
