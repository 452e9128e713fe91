"""What the annotations of a kernel mean: `resolve_signature`, and the spellings ``lp.In`` and ``lp.Out``.

Annotations may be objects, strings (quoted, or all of them under PEP 563) or lazily evaluated (Python 3.14).
They are read once, when the decorator runs, with the names that the defining scope has then.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from ..ir.errors import CompileError, KernelArgumentError
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from .image_types import IMAGE_MARKS, ImageType, image_type
from .parameter_types import Annotation, ConstType, LocalArrayType, StreamType, WorkItemType
from .signature import NO_DEFAULT, ParameterSpec, Signature
from .spec_constant import SpecializationId
from .struct_types import MOST_QUOTES, parameters_of, raw_annotations, value_type_of
from .struct_values import host_value
from .types import ARRAY_ACCESS, Access, ArrayType, Target, Type, scalar_of, unaliased


class In(Annotation):
    """Read-only array parameter: ``x: lp.In[lp.f32, 2]``; the launch takes an `Array`."""

    __lapilli_annotation__ = "in"
    example = "lp.In[lp.f32]"
    _use = "x: lp.In[lp.f32]; arrays are made by lp.asarray or lp.zeros"

    def __class_getitem__(cls, parameters: object) -> types.GenericAlias:
        return types.GenericAlias(cls, cast(Any, parameters))


class Out(Annotation):
    """Write-only array parameter: ``y: lp.Out[lp.f32, 2]``; the launch takes an `Array`."""

    __lapilli_annotation__ = "out"
    example = "lp.Out[lp.f32]"
    _use = "y: lp.Out[lp.f32]; arrays are made by lp.asarray or lp.zeros"

    def __class_getitem__(cls, parameters: object) -> types.GenericAlias:
        return types.GenericAlias(cls, cast(Any, parameters))


_NO_ARGUMENTS = ("spec", "kernel_handler")
"""Annotations of parameters that are not arguments."""


def resolve_signature(
    function: types.FunctionType, local_names: Mapping[str, object] | None = None
) -> Signature:
    """Reads the annotations of a kernel.

    Args:
        function: the kernel.
        local_names: variables of the scopes around it (see `enclosing_names`): string annotations may name
            local variables that the function does not capture.

    Raises:
        CompileError: an annotation is missing or no type of the kernel language, a parameter is variadic, or
            a default does not fit.
    """
    return _SignatureReader(function, local_names or {}).read()


def resolve_function_signature(
    function: types.FunctionType, local_names: Mapping[str, object] | None = None
) -> tuple[Signature, Type | None]:
    """Reads the annotations of a function that returns a value; as `resolve_signature`.

    Returns:
        Its parameters, and the type of its result, None where the annotation is ``None``.

    Raises:
        CompileError: also where the result has no annotation.
    """
    reader = _SignatureReader(function, local_names or {})
    return reader.parameters(), reader.result()


def enclosing_names(function: types.FunctionType, frame: types.FrameType | None) -> dict[str, object]:
    """Collects the local variables of the scopes that enclose `function`, the innermost winning.

    Args:
        function: a function whose definition is running.
        frame: the frame in which its decorator is called.
    """
    scopes: list[Mapping[str, object]] = []
    while frame is not None and frame.f_globals is function.__globals__:
        scope = frame.f_code.co_qualname
        if function.__qualname__.startswith((f"{scope}.<locals>.", f"{scope}.")):
            scopes.append(frame.f_locals)
        frame = frame.f_back
    names: dict[str, object] = {}
    for scope in reversed(scopes):
        names.update(scope)
    return names


@lru_cache(maxsize=256)
def _code_of(text: str) -> types.CodeType:
    """Returns the code of an annotation: kernels of a program spell few different ones."""
    return compile(text.lstrip(" \t"), "<string>", "eval")


class _SignatureReader:
    """Reads one signature; holds what every error message needs."""

    def __init__(self, function: types.FunctionType, local_names: Mapping[str, object]) -> None:
        self.function = function
        self.names = _Names(function, local_names)
        self.annotations = raw_annotations(function)
        self._evaluated: dict[str, object] = {}

    def parameters(self) -> Signature:
        parameters = parameters_of(self.function)
        marks = {p.name: getattr(self.evaluate(p.name), "__lapilli_annotation__", None) for p in parameters}
        specs = tuple(self.parameter(p) for p in parameters if marks[p.name] not in _NO_ARGUMENTS)
        work_items = {p.name: p.type for p in specs if isinstance(p.type, WorkItemType)}
        self.check_ranks(work_items)
        arguments = tuple(p for p in specs if p.name not in work_items)
        constants = {p.name: self.specialization_id(p) for p in parameters if marks[p.name] == "spec"}
        handlers = tuple(p.name for p in parameters if marks[p.name] == "kernel_handler")
        return Signature(arguments, constants, handlers, work_items)

    def result(self) -> Type | None:
        annotation = self.evaluate("return")
        if annotation is inspect.Parameter.empty:
            raise self.error(
                "return",
                f"'{self.function.__name__}' has no annotation of its result, which is all that callers know",
                "LP2010",
                "write -> lp.f32, or -> None where it returns nothing",
            )
        return None if annotation is None else self.type_of("return", annotation)

    def read(self) -> Signature:
        signature = self.parameters()
        if self.evaluate("return") not in (None, inspect.Parameter.empty):
            raise self.error(
                "return",
                f"kernel '{self.function.__name__}' has the return annotation "
                f"{self.annotations['return']!r}; expected None",
                "LP2016",
                "write results into an array parameter",
            )
        return signature

    def parameter(self, parameter: inspect.Parameter) -> ParameterSpec:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise self.error(
                name,
                f"a kernel takes no {stars}{name}: its parameters are fixed",
                "LP2013",
                "give every parameter a name and a type",
            )
        annotation = self.evaluate(name)
        if annotation is parameter.empty:
            raise self.error(
                name,
                f"parameter '{name}' has no annotation",
                "LP2010",
                "a kernel is no method: mark it @staticmethod above @lp.kernel, and drop the parameter"
                if name in ("self", "cls")
                else f"write {name}: lp.f32 for a scalar, {name}: lp.Array[lp.f32] for an array",
            )
        resolved = self.type_of(name, annotation)
        return ParameterSpec(
            name=name,
            type=resolved,
            default=self.default(name, resolved, parameter.default),
            keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            positional_only=parameter.kind is parameter.POSITIONAL_ONLY,
        )

    def check_ranks(self, work_items: Mapping[str, WorkItemType]) -> None:
        """Raises where two parameters say that the kernel runs over different numbers of dimensions."""
        first = next(iter(work_items), "")
        for name, kind in work_items.items():
            if kind.rank != work_items[first].rank:
                raise self.error(
                    name,
                    f"'{name}' is {kind!r}, and '{first}' is {work_items[first]!r}; a kernel runs over one number of "
                    "dimensions",
                    "LP2028",
                    f"give both {work_items[first].rank} or both {kind.rank} dimensions",
                )

    def specialization_id(self, parameter: inspect.Parameter) -> SpecializationId:
        """Returns the constant that ``*, name: lp.Spec[T] = default`` declares."""
        name, annotation = parameter.name, self.evaluate(parameter.name)
        types_given = cast("tuple[object, ...]", getattr(annotation, "__args__", ()))
        kind = value_type_of(types_given[0]) if len(types_given) == 1 else None
        if kind is None:
            from .annotation_errors import described

            raise self.error(
                name,
                f"the annotation of '{name}' is {described(annotation)}: expected lp.Spec[T] of one scalar, vector, "
                "struct or fixed array type",
                "LP2017",
                f"write {name}: lp.Spec[lp.u32]",
            )
        if parameter.kind is not parameter.KEYWORD_ONLY:
            raise self.error(
                name,
                f"the specialization constant '{name}' must be a keyword-only parameter",
                "LP2017",
                f"put a star before it: (…, *, {name}: lp.Spec[{kind!r}] = …)",
            )
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        try:
            return SpecializationId.of_parameter(self.function, name, kind, default)
        except KernelArgumentError as error:
            raise self.error(name, error.message, "LP2015", None) from error

    def evaluate(self, name: str) -> object:
        """Returns the annotation of `name` as an object, ``Parameter.empty`` where there is none."""
        if name in self._evaluated:
            return self._evaluated[name]
        annotation = self.annotations.get(name, inspect.Parameter.empty)
        if hasattr(annotation, "__forward_arg__"):  # 3.14: a name that has no value yet
            annotation = annotation.__forward_arg__
        for _ in range(MOST_QUOTES):
            if not isinstance(annotation, str):
                break
            annotation = self.evaluate_text(name, annotation)
        found = self._evaluated[name] = unaliased(annotation)
        return found

    def evaluate_text(self, name: str, text: str) -> object:
        try:
            return eval(_code_of(text), self.function.__globals__, self.names)
        except CompileError as error:
            raise self.error(name, error.message, error.code, None) from error
        except Exception as error:  # whatever the expression raises is the user's to read
            raise self.error(
                name,
                f"the annotation {text!r} of '{name}' cannot be evaluated: {type(error).__name__}: {error}",
                "LP2011",
                "every name in it must be defined before the kernel",
            ) from error

    def type_of(self, name: str, annotation: object) -> Type:
        scalar = scalar_of(annotation)
        if scalar is not None:
            return scalar
        mark = getattr(annotation, "__lapilli_annotation__", None)
        if isinstance(mark, str) and mark in IMAGE_MARKS:
            return self.image_type(name, annotation, mark, "read_write")
        if isinstance(mark, str) and mark in ARRAY_ACCESS:
            return self.array_type(name, annotation, mark)
        if mark == "stream":
            return StreamType()
        if isinstance(annotation, WorkItemType | ConstType | LocalArrayType):
            return annotation
        composite = value_type_of(annotation)
        if composite is not None:
            return composite
        from .annotation_errors import described, replacement

        raise self.error(
            name,
            f"the annotation of '{name}' is no lapilli type: found {described(annotation)}",
            "LP2012",
            replacement(name, annotation),
        )

    def array_type(self, name: str, annotation: object, mark: str) -> ArrayType:
        spelling = {"array": "lp.Array", "in": "lp.In", "out": "lp.Out"}[mark]
        parameters = cast("tuple[object, ...]", getattr(annotation, "__args__", ()))
        inner = getattr(parameters[0], "__lapilli_annotation__", None) if parameters else None
        if inner in IMAGE_MARKS and mark != "array" and len(parameters) == 1:
            return self.image_type(name, parameters[0], inner, ARRAY_ACCESS[mark])
        if not parameters:
            raise self.error(
                name,
                f"'{name}': {spelling} without an element type",
                "LP2014",
                f"write {spelling}[lp.f32] or {spelling}[lp.f32, 2]",
            )
        missing = getattr(parameters[0], "__forward_arg__", None)
        if isinstance(missing, str):  # 3.14, as in `evaluate`
            parameters = (self.evaluate_text(name, missing), *parameters[1:])
        element = value_type_of(parameters[0])
        if element is None:
            from .annotation_errors import described, replacement

            raise self.error(
                name,
                f"'{name}': the element type of {spelling}[…] is no scalar, vector, struct or fixed array type: "
                f"found {described(parameters[0])}",
                "LP2014",
                replacement(name, parameters[0]),
            )
        access = ARRAY_ACCESS[mark]
        if len(parameters) == 3 and isinstance(parameters[2], Target):
            access = self.target_access(name, access, parameters[2])
            parameters = parameters[:2]
        ndim = parameters[1] if len(parameters) > 1 else 1
        is_count = isinstance(ndim, int) and not isinstance(ndim, bool)
        if len(parameters) > 2 or not is_count or not 1 <= cast(int, ndim) <= MAX_ARRAY_DIMENSIONS:
            found = ", ".join(map(repr, parameters[1:]))
            raise self.error(
                name,
                f"'{name}': {spelling}[{element!r}, ndim] takes ndim from 1 to {MAX_ARRAY_DIMENSIONS}; "
                f"found {found}",
                "LP2014",
                f"write {spelling}[{element!r}, 2] for two dimensions; the shape is given at launch",
            )
        return ArrayType(element, cast(int, ndim), access)

    def target_access(self, name: str, access: Access, target: Target) -> Access:
        """Returns the access of an array with a target; warns of constant buffers, which SYCL 2020 deprecates."""
        if target is Target.DEVICE:
            return access
        if access != "read":
            raise self.error(
                name,
                f"'{name}': a constant buffer is only read",
                "LP2014",
                f"write {name}: lp.In[lp.f32, 1, lp.Target.CONSTANT_BUFFER]",
            )
        from .annotation_errors import warn_of_constant_buffer

        warn_of_constant_buffer(self.function, name)
        return "constant"

    def image_type(self, name: str, annotation: object, mark: str, access: Access) -> ImageType:
        """Returns the type of an image parameter; ``lp.In`` and ``lp.Out`` may stand around it."""
        spelling = "lp.SampledImage" if IMAGE_MARKS[mark] else "lp.UnsampledImage"
        parameters = cast("tuple[object, ...]", getattr(annotation, "__args__", ()))
        if IMAGE_MARKS[mark] and access == "write":
            raise self.error(
                name,
                f"'{name}': an image with a sampler is only read, and lp.Out says that it is written",
                "LP2014",
                f"write {name}: lp.Out[lp.UnsampledImage[…]]",
            )
        access = "read" if IMAGE_MARKS[mark] else access
        found = image_type(parameters, is_sampled=IMAGE_MARKS[mark], access=access)
        if isinstance(found, str):
            hint = f"write {name}: {spelling}[lp.f32x4, 2]"
            raise self.error(name, f"'{name}': {spelling}[pixel, ndim]: {found}", "LP2014", hint)
        return found

    def default(self, name: str, resolved: Type, default: object) -> object:
        if default is inspect.Parameter.empty:
            return NO_DEFAULT
        if isinstance(resolved, WorkItemType):
            raise self.error(
                name,
                f"'{name}' is {resolved!r}, which the runtime supplies; it has a default, {default!r}",
                "LP2015",
                "leave the default out",
            )
        if isinstance(resolved, StreamType):
            raise self.error(
                name,
                f"stream parameter '{name}' has a default, {default!r}; streams have none",
                "LP2015",
                "give a stream at each launch",
            )
        if isinstance(resolved, ConstType):
            resolved = resolved.element
        if isinstance(resolved, ArrayType | LocalArrayType):
            what = "image" if isinstance(resolved, ImageType) else "array"
            raise self.error(
                name,
                f"{what} parameter '{name}' has a default, {default!r}; {what}s have none",
                "LP2015",
                f"give the {what} at each launch",
            )
        try:
            return host_value(resolved, default, f"the default of '{name}'")
        except KernelArgumentError as error:
            hint = (
                None
                if default is not None
                else "leave the default out, or give a number: kernels know no None"
            )
            raise self.error(name, error.message, "LP2015", hint) from error

    def error(self, name: str, message: str, code: str, hint: str | None) -> CompileError:
        """Makes the error at parameter `name`, with a caret where the source text is at hand."""
        from .annotation_errors import annotation_error

        return annotation_error(self.function, name, message, code, hint)


class _Names(dict[str, object]):
    """The names that an annotation sees: the function's own captures, then the scopes around it."""

    def __init__(self, function: types.FunctionType, local_names: Mapping[str, object]) -> None:
        super().__init__(local_names)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self[name] = cell.cell_contents
            except ValueError:  # assigned later in the enclosing function
                continue
