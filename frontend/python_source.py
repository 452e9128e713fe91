"""The source language PYTHON: the text of a module of kernels, which is parsed and never executed.

What a module may hold is read off its syntax tree: kernels, helpers, structs, and constants of literals.  Functions
are made of their code without running the module; everything else at its top is an error with its line.
"""

from __future__ import annotations

import io
import linecache
import textwrap
import types
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..ir.errors import BuildError, CompileError, Diagnostic, Error, InvalidError, Location
from ..ir.sha256 import sha256
from ..vk_runtime.bundle_errors import for_each
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
from .source_spec_values import spec_bytes
from .spec_constant import SpecializationId, live_id
from .units import binder, specialised_local_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xdsl.dialects.builtin import ModuleOp

    from ..ir.kernel_info import KernelInfo
    from ..ir.target_env import TargetEnv
    from .externals import ExternalFunction


@dataclass(frozen=True, slots=True)
class _Definition:
    """A kernel of the text; a `builder.KernelDefinition`."""

    name: str
    options: KernelOptions
    signature: Signature
    source: FunctionSource
    local_size: LocalSize | None
    place: Location

    @property
    def default_sizes(self) -> tuple[int, ...] | None:
        """The local size, slowest dimension first, of the defaults of its constants; None: none that can be."""
        try:
            return None if self.local_size is None else self.local_size.sizes({}, self.name)
        except InvalidError:
            return None

    def check_sizes(self, values: Mapping[str, bytes]) -> None:
        """Checks the local size for host bytes by symbol.

        Raises:
            BuildError: it is below 1 as the text has it.
            InvalidError: it is below 1 with the values that were given for the text's.
        """
        if self.local_size is None:
            return
        if self.default_sizes is not None:
            self.local_size.sizes(values, self.name)
            return
        with _found_at(self.place):
            self.local_size.sizes(values, self.name)


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a module's text.

    Raises:
        BuildError: the text is no Python, holds what would have to be executed, or a kernel does not compile.
        InvalidError: ``lp.SpecValues`` has a number in place of a name, or makes a local size 0 or less.
        KernelArgumentError: it has a name that no constant has, or a value that does not fit.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    problem = no_spec_values([key for key in request.spec_values if isinstance(key, int)], "PYTHON")
    if problem is not None:
        raise InvalidError(problem)
    with compile_lock:
        load_compiler()
        # Texts stand inside of programs, and in files.
        code = textwrap.dedent(request.code.removeprefix("\ufeff"))
        with _readable(code) as (file, lines):
            text = _read(code, file, lines)
            definitions = text.definitions
            values = spec_bytes(text.constants, request.spec_values)
            by_symbol = {constant.symbol: data for constant, data in values.items()}
            for_each(definitions, lambda definition: definition.check_sizes(by_symbol))
            exported = tuple(text.module.externals.values())
            if not definitions and not (exported and request.is_object):
                raise CompileError(
                    f"{file}: error: the text has no kernel; decorate a function with @lp.kernel"
                )

            kernels, functions = _built(definitions, exported, environment_for(request))
        sizes = {definition.name: definition.default_sizes for definition in definitions}
        made = compiled_module(kernels, request, lambda kernel: _with_local_size(kernel, sizes))
        library = compiled_module(functions, request)
        images = made.images + library.images
        read = (constant.symbol for image in images for constant in image.spec_constants)
        symbols = {symbol: live_id(symbol) for symbol in read}
    return replace(
        made,
        images=images,
        spec_symbols=symbols,
        spec_bytes=values,
        warnings=tuple(dict.fromkeys(made.warnings + library.warnings)),
        binders={
            d.name: (binder(d.name, d.signature, is_from_source=True), _names(d.signature))
            for d in definitions
        },
        describers={d.name: _describer(d) for d in definitions},
        local_sizes={
            d.name: local for d in definitions if (local := specialised_local_size(d.local_size)) is not None
        },
    )


def _built(
    definitions: Sequence[_Definition], exported: Sequence[ExternalFunction], env: TargetEnv
) -> tuple[ModuleOp, ModuleOp]:
    """Returns the module of the kernels, and that of exported functions.

    They are apart, so that other kernels can be linked with the functions without getting these kernels too.
    """
    from .builder import build_module

    def built(kernels: Sequence[_Definition], externals: Sequence[ExternalFunction] = ()) -> ModuleOp:
        return build_module(
            kernels,
            optional_aspects=env.optional_aspects,
            checks=env.checks,
            runs_all_branches=env.runs_all_branches,
            any_rank=True,
            externals=externals,
        )

    try:
        kernels = built(definitions)
    except BuildError:  # of the first kernel that is wrong; the log has those of all
        for_each(definitions, lambda definition: built([definition]))
        raise
    return kernels, built([], exported)


def _describer(definition: _Definition) -> Describer:
    """Returns what describes a kernel for bundle files."""
    name, signature, local = definition.name, definition.signature, definition.local_size
    return lambda: described(name, f"PYTHON:{name}", signature, local)


@contextmanager
def _readable(text: str) -> Generator[tuple[str, list[str]]]:
    """Gives the text a file name under which `FunctionSource` finds its lines."""
    file = f"<lapilli source {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}>"
    # Not str.splitlines: to it a form feed or U+2028 ends a line, to Python's parser it does not.
    lines = io.StringIO(text, newline=None).readlines()
    linecache.cache[file] = (len(text), None, lines, file)
    try:
        yield file, lines
    finally:
        linecache.cache.pop(file, None)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Text:
    """A text that was read."""

    module: LiteralModule
    definitions: list[_Definition]

    @property
    def constants(self) -> list[tuple[str, SpecializationId]]:
        """Its specialization constants by the names under which they can be set: ``NAME``, ``kernel.NAME``."""
        found = list(self.module.spec_constants.items())
        for definition in self.definitions:
            for name, constant in definition.signature.specialization_ids.items():
                found += [(f"{definition.name}.{name}", constant), (name, constant)]
        return found


_texts: WeakValueDictionary[str, _Text] = WeakValueDictionary()
"""Texts whose constants somebody has: what else is built of one has the same constants and structs."""


def _read(text: str, file: str, lines: Sequence[str]) -> _Text:
    known = _texts.get(text)
    if known is None:
        module = read_module(text, file, lines)
        known = _texts[text] = _Text(module, _definitions(module, file))
        for _, constant in known.constants:
            constant.keep(known)
    return known


def _definitions(module: LiteralModule, file: str) -> list[_Definition]:
    found = for_each(list(module.kernels.items()), lambda item: _definition(module, *item))
    names = [definition.name for definition in found]
    for definition in found:
        if names.count(definition.name) > 1:
            raise CompileError(f"{file}: error: several kernels are called '{definition.name}'")
    return found


def _definition(module: LiteralModule, name: str, options: Mapping[str, object]) -> _Definition:
    function = module.functions[name]
    assert isinstance(function, types.FunctionType)
    signature = resolve_signature(function)
    source = FunctionSource.of(function)
    place = Location(function.__code__.co_filename, function.__code__.co_firstlineno, 1, name)
    with _found_at(place):
        checked = KernelOptions.checked(**options)
        local = LocalSize.of(checked.local_size, signature, function, {})
    return _Definition(checked.name or name, checked, signature, source, local, place)


@contextmanager
def _found_at(place: Location) -> Generator[None]:
    """Makes a finding at a kernel of what its options are refused with."""
    try:
        yield
    except (Error, TypeError) as error:
        finding = Diagnostic(str(error), place)
        raise BuildError(str(finding), diagnostics=[finding]) from error


def _with_local_size(kernel: KernelInfo, local_sizes: Mapping[str, tuple[int, ...] | None]) -> KernelInfo:
    sizes = local_sizes[kernel.name]
    return (
        kernel
        if sizes is None or len(sizes) != kernel.abi.rank
        else replace(kernel, default_local_size=sizes)
    )


def _names(signature: Signature) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in signature.parameters)
