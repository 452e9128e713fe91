"""The source language PYTHON: the text of a module of kernels, which is parsed and never executed.

What a module may hold is read off its syntax tree: kernels, helpers, structs, and constants of literals.  Functions
are made of their code without running the module; everything else at its top is an error with its line.
"""

from __future__ import annotations

import hashlib
import io
import linecache
import types
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from ..ir.errors import BuildError, CompileError, Diagnostic, Error, InvalidError, Location
from ..vk_runtime.kernel_id import Describer
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .annotations import resolve_signature
from .compile import compile_lock, load_compiler
from .definition import KernelOptions
from .literal_module import LiteralModule, read_module
from .local_size import LocalSize
from .lpk_descriptions import described
from .signature import Signature
from .source import FunctionSource
from .source_images import compiled_module, environment_for, no_spec_values
from .units import binder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xdsl.dialects.builtin import ModuleOp

    from ..ir.kernel_info import KernelInfo
    from .externals import ExternalFunction

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class _Definition:
    """A kernel of the text; a `builder.KernelDefinition`."""

    name: str
    options: KernelOptions
    signature: Signature
    source: FunctionSource
    local_size: tuple[int, ...] | None
    """Of ``@lp.kernel(local_size=…)``, slowest dimension first."""


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a module's text.

    Raises:
        BuildError: the text is no Python, holds what would have to be executed, or a kernel does not compile.
        InvalidError: values of specialization constants were given.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    problem = no_spec_values(request.spec_values, "PYTHON")
    if problem is not None:
        raise InvalidError(problem)
    with compile_lock:
        load_compiler()
        from .builder import build_module

        env = environment_for(request)
        with _readable(request.code) as (file, lines):
            module = read_module(request.code, file, lines)
            definitions = _definitions(module, file)
            exported = tuple(module.externals.values())
            if not definitions and not (exported and request.is_object):
                raise CompileError(
                    f"{file}: error: the text has no kernel; decorate a function with @lp.kernel"
                )

            def built(kernels: Sequence[_Definition], externals: Sequence[ExternalFunction] = ()) -> ModuleOp:
                return build_module(
                    kernels,
                    optional_aspects=env.optional_aspects,
                    checks=env.checks,
                    any_rank=True,
                    externals=externals,
                )

            try:
                kernels = built(definitions)
            except BuildError:  # of the first kernel that is wrong; the log has those of all
                _each(definitions, lambda definition: built([definition]))
                raise
            # Apart from the kernels, so that others can be linked with them without getting these kernels too.
            functions = built([], exported)
        sizes = {definition.name: definition.local_size for definition in definitions}
        made = compiled_module(kernels, request, lambda kernel: _with_local_size(kernel, sizes))
        library = compiled_module(functions, request)
    return replace(
        made,
        images=made.images + library.images,
        warnings=tuple(dict.fromkeys(made.warnings + library.warnings)),
        binders={d.name: (binder(d.name, d.signature), _names(d.signature)) for d in definitions},
        describers={d.name: _describer(d.name, d.signature) for d in definitions},
    )


def _describer(name: str, signature: Signature) -> Describer:
    """Returns what describes a kernel for bundle files; its local size stands in the image."""
    return lambda: described(name, f"PYTHON:{name}", signature, None)


@contextmanager
def _readable(text: str) -> Generator[tuple[str, list[str]]]:
    """Gives the text a file name under which `FunctionSource` finds its lines."""
    file = f"<lapilli source {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}>"
    # Not str.splitlines: to it a form feed or U+2028 ends a line, to Python's parser it does not.
    lines = io.StringIO(text, newline=None).readlines()
    linecache.cache[file] = (len(text), None, lines, file)
    try:
        yield file, lines
    finally:
        linecache.cache.pop(file, None)


def _definitions(module: LiteralModule, file: str) -> list[_Definition]:
    found = _each(list(module.kernels.items()), lambda item: _definition(module, *item))
    names = [definition.name for definition in found]
    for definition in found:
        if names.count(definition.name) > 1:
            raise CompileError(f"{file}: error: several kernels are called '{definition.name}'")
    return found


def _each(items: Sequence[_T], make: Callable[[_T], _R]) -> list[_R]:
    """Returns what `make` gives for each item.

    Raises:
        BuildError: of the items for which it raised one; of several, with the text and the findings of all.
    """
    made: list[_R] = []
    errors: dict[str, BuildError] = {}  # by text: a helper's error comes with each kernel that calls it
    for item in items:
        try:
            made.append(make(item))
        except BuildError as error:
            errors.setdefault(str(error), error)
    if not errors:
        return made
    first, *others = errors.values()
    if not others:
        raise first
    findings = [finding for error in errors.values() for finding in error.diagnostics]
    raise type(first)("\n".join(errors), code=first.code, diagnostics=findings) from first


def _definition(module: LiteralModule, name: str, options: Mapping[str, object]) -> _Definition:
    function = module.functions[name]
    assert isinstance(function, types.FunctionType)
    signature = resolve_signature(function)
    source = FunctionSource.of(function)
    try:
        checked = KernelOptions.checked(**options)
        local = LocalSize.of(checked.local_size, signature, function, {})
        sizes = None if local is None else local.sizes({}, name)
    except (Error, TypeError) as error:
        location = Location(function.__code__.co_filename, function.__code__.co_firstlineno, 1, name)
        finding = Diagnostic(str(error), location)
        raise BuildError(str(finding), diagnostics=[finding]) from error
    return _Definition(checked.name or name, checked, signature, source, sizes)


def _with_local_size(kernel: KernelInfo, local_sizes: Mapping[str, tuple[int, ...] | None]) -> KernelInfo:
    sizes = local_sizes[kernel.name]
    return (
        kernel
        if sizes is None or len(sizes) != kernel.abi.rank
        else replace(kernel, default_local_size=sizes)
    )


def _names(signature: Signature) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in signature.parameters)
