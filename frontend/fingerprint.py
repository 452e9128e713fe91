"""Objects from around a kernel as texts that mean the same in every process.

Two objects of one text compile to the same code.  What has no such text (a function made by exec without
source, an object whose identity matters) has none, and a kernel that reads it is compiled in each process.
"""

from __future__ import annotations

import types
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ..ir.sha256 import sha256
from .function_attributes import FunctionAttributes, aspects_of_struct, attributes_of
from .intrinsics import Intrinsic, Namespace
from .parameter_types import ConstType
from .source_text import file_lines, function_text
from .spec_constant import SpecializationId
from .struct_types import Field, StructType, value_type_of
from .struct_values import defaults_of, leaf_values, struct_of_value
from .types import ArrayType, Type
from .vector_types import CompositeArrayType


def _nan(value: Any) -> str:
    """Returns the bits of a NaN."""
    return f"nan:{np.asarray(value).tobytes().hex()}"


def fingerprint(value: object) -> str | None:
    """Returns the text of an object, None where it has none."""
    kind = type(value)
    if value is None or (kind in (bool, int, float, str) and value == value):
        return f"{kind.__name__}:{value!r}"
    if isinstance(value, int):  # members of IntEnum: a kernel sees the number
        return f"int:{int(value)!r}"
    if isinstance(value, float | np.generic):
        number = cast("Any", value).item() if isinstance(value, np.generic) else float(value)
        text = repr(number) if number == number else _nan(cast("Any", value))
        return f"{kind.__module__}.{kind.__qualname__}:{text}"
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return f"array:{array.dtype.str}:{array.shape}:{sha256(array.tobytes()).hexdigest()}"
    struct = struct_of_value(value)
    if struct is not None:
        return f"instance:{type_text(struct)}:{leaf_values(struct, value, struct.name)!r}"
    if isinstance(value, tuple):
        text = _of_tuple(cast("tuple[object, ...]", value))
        names = getattr(kind, "_fields", None)
        return text if text is None or names is None else f"{text} of {names!r}"
    if isinstance(value, SpecializationId):
        return f"spec:{value.symbol}:{value.name}:{type_text(value.type)}:{value.default_bytes.hex()}"
    if isinstance(value, Type):
        return f"lapilli:{type_text(value)}"
    if isinstance(value, Intrinsic | Namespace):
        return f"lapilli:{value!r}"
    if isinstance(value, types.ModuleType):
        return f"module:{value.__name__}"
    if isinstance(value, types.FunctionType):
        return function_fingerprint(value)
    if isinstance(value, type) and isinstance(kind := value_type_of(value), StructType):
        return f"lapilli:{type_text(kind)}"
    if isinstance(value, type | types.BuiltinFunctionType):
        return f"builtin:{value.__module__}.{value.__qualname__}"
    return None


def type_text(kind: Type) -> str:
    """Returns a type's name and, of a struct, everything that its definition says."""
    if isinstance(kind, ArrayType):
        return (
            f"{kind!r} of {type_text(kind.element)}"
            if isinstance(kind.element, StructType | CompositeArrayType)
            else repr(kind)
        )
    if isinstance(kind, ConstType):
        return f"{kind!r} of {type_text(kind.element)}"
    if isinstance(kind, CompositeArrayType):
        return f"{kind!r} of {type_text(kind.element)}"
    if not isinstance(kind, StructType):
        return repr(kind)
    members = ", ".join(_member_text(kind, field) for field in kind.fields)
    aspects = sorted(aspects_of_struct(kind.python_class))
    return f"struct {kind.name}({members}; {kind.size_bytes}, {kind.alignment}, {aspects})"


def _member_text(kind: StructType, field: Field) -> str:
    text = f"{field.name}: {type_text(field.type)} @{field.offset_bytes}"
    default = defaults_of(kind).get(field.name)
    return text if default is None else f"{text} = {leaf_values(field.type, default, 'the default')!r}"


def _of_tuple(value: tuple[object, ...]) -> str | None:
    items = [fingerprint(item) for item in value]
    # Functions in tuples have no name to find them under again.
    if any(item is None or item.startswith("function:") for item in items):
        return None
    return f"tuple:{len(items)}:[{', '.join(map(str, items))}]"


def function_fingerprint(function: types.FunctionType) -> str | None:
    """Returns the text of a function: its name, its source and its defaults."""
    text = function_text(function, file_lines(function))
    defaults = _of_tuple((*(function.__defaults__ or ()), *_items(function.__kwdefaults__)))
    if text is None or defaults is None:
        return None
    attributes = _attributes_text(attributes_of(function))
    content = f"{function.__qualname__}\0{function.__code__.co_freevars}\0{defaults}\0{attributes}\0{text}"
    return f"function:{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()}"


@lru_cache(maxsize=256)
def _attributes_text(attributes: FunctionAttributes) -> str:
    """Returns the attributes as text: the decorators' own text may read names."""
    sets = [None if s is None else sorted(s) for s in (attributes.device_has, attributes.uses_aspects)]
    return repr((sets, replace(attributes, device_has=None, uses_aspects=frozenset())))


def _items(keywords: dict[str, Any] | None) -> tuple[object, ...]:
    return tuple(item for pair in sorted((keywords or {}).items()) for item in pair)
