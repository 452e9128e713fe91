"""What is said about annotations that are wrong or deprecated; nothing else loads this."""

from __future__ import annotations

import enum
import types
import warnings
from dataclasses import is_dataclass
from typing import Any, Union, cast, get_args, get_origin

import numpy as np

from ..ir.errors import CompileError, InvalidError
from .errors import compile_error, signature_error
from .source import FunctionSource, definition_location
from .type_lookup import type_of_dtype


def annotation_error(
    function: types.FunctionType, name: str, message: str, code: str, hint: str | None
) -> CompileError:
    """Makes the error at parameter `name` of a function, with a caret where the source text is at hand."""
    try:
        source = FunctionSource.of(function)
    except CompileError:
        return signature_error(message, code=code, location=definition_location(function), hint=hint)
    return compile_error(source, _parameter_node(source, name), message, code=code, hint=hint)


def _parameter_node(source: FunctionSource, name: str) -> Any:
    """Returns the syntax node of parameter `name` ("return": of the return annotation)."""
    arguments = source.tree.args
    if name == "return":
        return source.tree.returns
    every = (
        *arguments.posonlyargs,
        *arguments.args,
        arguments.vararg,
        *arguments.kwonlyargs,
        arguments.kwarg,
    )
    return next((a for a in every if a is not None and a.arg == name), None)


_ARRAY = "lapilli.vk_runtime.array.Array"


def _is_union(annotation: object) -> bool:
    return get_origin(annotation) is Union or isinstance(annotation, types.UnionType)


def described(annotation: object) -> str:
    """Returns how messages name what stands as an annotation."""
    if isinstance(annotation, type) and not get_args(annotation):
        return f"the class {annotation.__module__}.{annotation.__qualname__}"
    if _is_union(annotation):
        return " | ".join("None" if kind is type(None) else f"{kind!r}" for kind in get_args(annotation))
    if get_args(annotation):
        return repr(annotation).replace(_ARRAY, "lp.Array")
    return f"{annotation!r} of type {type(annotation).__name__}"


def replacement(name: str, annotation: object) -> str:
    """Returns what to write instead of a wrong annotation."""
    origin = getattr(annotation, "__origin__", annotation)
    example = getattr(annotation, "example", None)
    if isinstance(example, str):
        return f"write {name}: {example}"
    if _is_union(annotation):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        if len(kinds) < len(get_args(annotation)):
            return f"write {name}: {kinds[0]!r}: every launch gives it, or it has a default that is a number"
        return "a parameter of a kernel has one type; write a kernel for each, around a helper without annotations"
    if origin in (np.ndarray, list, tuple):
        return f"write {name}: lp.Array[lp.f32] and pass lp.asarray(…)"
    if isinstance(annotation, np.dtype) or (
        isinstance(annotation, type) and issubclass(annotation, np.generic)
    ):
        try:
            return f"write {type_of_dtype(cast(object, annotation))!r}"
        except InvalidError:  # a dtype without a counterpart: say what there is
            pass
    if isinstance(annotation, np.dtype) and annotation.fields:
        return "make a class of its fields: @lp.struct above it, and each as x: lp.f32"
    return _class_replacement(name, cast(object, annotation)) or (
        "use a scalar type such as lp.f32 or lp.u32, or lp.Array[…], lp.In[…], lp.Out[…] of one"
    )


def member_replacement(name: str, annotation: object) -> str:
    """Returns what to write instead of a wrong annotation of a struct's member."""
    origin = getattr(annotation, "__origin__", annotation)
    if origin in (list, tuple, np.ndarray):
        return f"write {name}: lp.FixedArray[lp.f32, n], whose length is known"
    if hasattr(origin, "__lapilli_annotation__") or getattr(origin, "__name__", "") == "Array":
        return "arrays and what the runtime gives are parameters of the kernel"
    return replacement(name, annotation)


def _class_replacement(name: str, annotation: object) -> str | None:
    """Returns what to write instead of a class of Python's own kinds."""
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, enum.Enum):
        return f"write {name}: lp.i32 and pass the member, or the .value of one that is no number"
    written = cast("type[object]", annotation)
    if is_dataclass(written) or hasattr(written, "_fields"):
        return (
            f"mark a class {written.__name__} of these fields @lp.struct, each with a lapilli type: x: lp.f32"
        )
    return None


def warn_of_constant_buffer(function: types.FunctionType, name: str) -> None:
    """Warns of a parameter that SYCL 2020 deprecates, at the place of the function."""
    code = function.__code__
    warnings.warn_explicit(
        f"parameter '{name}' of '{function.__name__}': lp.Target.CONSTANT_BUFFER is deprecated, as "
        "target::constant_buffer is in SYCL 2020; write lp.In[…] without it",
        DeprecationWarning,
        code.co_filename,
        code.co_firstlineno,
        module=function.__module__,
    )
