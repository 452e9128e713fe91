"""Functions that other translation units call: ``@lp.external`` exports one, ``@lp.extern("name")`` declares one.

    @lp.external                              @lp.extern("scale")
    def scale(x: lp.f32) -> lp.f32:           def scale(x: lp.f32) -> lp.f32: ...
        return 2.0 * x

A Python module is a translation unit.  The body of an exported function is compiled in its own unit, so the
signature is all that a caller knows: every parameter and the result are annotated, with types of values.
Nothing here imports the compiler.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NoReturn, TypeVar, overload

from ..ir.errors import CompileError, InvalidError, for_user
from .annotations import enclosing_names, resolve_function_signature
from .errors import compile_error, signature_error
from .function_attributes import attributes_of
from .parameter_types import ConstType, LocalArrayType, StreamType
from .signature import Signature
from .source import FunctionSource, definition_location, plain_function
from .types import ArrayType, Type

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


class ExternalFunction:
    """A function that is called across translation units; see the head of this file."""

    __wrapped__: types.FunctionType
    """The function as it was written."""
    __name__: str

    def __init__(
        self,
        function: types.FunctionType,
        symbol: str | None,
        *,
        is_defined: bool,
        local_names: Mapping[str, object] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.symbol: str = symbol or function.__name__
        """What the linker calls it."""
        self.is_defined = is_defined
        """Whether the body is here; else another unit, or a SPIR-V library, exports the symbol."""
        signature, result = resolve_function_signature(function, local_names)
        self.signature: Signature = signature
        self.result: Type | None = result
        """Type of the returned value; None: it returns nothing."""
        self.compiled: dict[Hashable, Any] = {}
        """What `frontend.linking` has made of it, by whatever that depends on."""
        self._source: FunctionSource | None = None
        self._local_names = local_names
        self._check_signature()
        if not is_defined:
            self._check_is_declaration()
        if attributes_of(function).reqd_work_group_size is not None:
            self._refuse_attribute("lp.reqd_work_group_size")

    def with_function(self, function: types.FunctionType) -> ExternalFunction:
        """Returns a copy of itself around another function object of the same code: what decorators above
        ``@lp.external`` make.  The copy is what the module exports from then on."""
        made = ExternalFunction(
            function, self.symbol, is_defined=self.is_defined, local_names=self._local_names
        )
        if made.is_defined:
            EXTERNALS.add(made)
        return made

    @property
    def declared_aspects(self) -> frozenset[int] | None:
        """Aspects that it may use, as its callers are told; None where nothing is declared."""
        return attributes_of(self.function).device_has

    @property
    def unit(self) -> str:
        """The translation unit: the Python module's name."""
        return self.function.__module__

    @property
    def source(self) -> FunctionSource:
        """The function's text; CompileError where it cannot be found."""
        if self._source is None:
            self._source = FunctionSource.of(self.function)
        return self._source

    @property
    def has_asserts(self) -> bool:
        """Whether its own text has an ``assert``."""
        return any(isinstance(node, ast.Assert) for node in ast.walk(self.source.tree))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs an exported function as Python, on the host."""
        if not self.is_defined:
            self._refuse_host_call()
        return self.function(*args, **kwargs)

    def _refuse_host_call(self) -> NoReturn:
        raise InvalidError(
            f"'{self.__name__}' is declared with lp.extern, so it has no body to run on the host; call it in a kernel",
            code="LP1003",
        )

    def __reduce__(self) -> str:
        """Pickled by name, as its function would be: for processes that import the same module.  A copy is itself."""
        return self.function.__qualname__

    def __repr__(self) -> str:
        kind = "external" if self.is_defined else "extern"
        return f"<lp.{kind} '{self.symbol}' {self.signature} -> {self.result}>"

    def _refuse_attribute(self, attribute: str) -> NoReturn:
        """Raises for an attribute that only kernels take."""
        raise self._error(
            None,
            f"{attribute} is not allowed on the external function '{self.__name__}'; expected a kernel",
            "LP2083",
            "put it on the kernels that call the function",
        )

    def _check_signature(self) -> None:
        for name, kind in self.signature.work_items.items():
            self._refuse_parameter(name, repr(kind))
        for name in self.signature.specialization_ids:
            self._refuse_parameter(name, "lp.Spec[…]")
        for parameter in self.signature.parameters:
            if isinstance(parameter.type, ConstType | LocalArrayType | StreamType):
                self._refuse_parameter(parameter.name, repr(parameter.type))
            if isinstance(parameter.type, ArrayType):
                raise self._error(
                    parameter.name,
                    f"external function '{self.__name__}' has the array parameter '{parameter.name}'; arrays cannot be "
                    "passed between translation units: Vulkan has no pointers to buffers there",
                    "LP2080",
                    "pass the elements by value, or make it a plain function, which is compiled with its caller",
                )
        if isinstance(self.result, ArrayType):
            raise self._error(
                "return", f"external function '{self.__name__}' returns an array", "LP2080", "return a value"
            )

    def _refuse_parameter(self, name: str, kind: str) -> NoReturn:
        raise self._error(
            name,
            f"external function '{self.__name__}' has the parameter '{name}' of type {kind}, which only a launched "
            "kernel has",
            "LP2082",
            "pass what the function needs of it by value",
        )

    def _check_is_declaration(self) -> None:
        body = self.source.tree.body
        rest = body[1:] if isinstance(body[0], ast.Expr) and _is_text(body[0].value) else body
        # A docstring alone will do, because formatters remove a "..." behind one.
        if rest and (len(rest) != 1 or not isinstance(rest[0], ast.Expr) or not _is_ellipsis(rest[0].value)):
            raise compile_error(
                self.source,
                rest[0],
                f"'{self.__name__}' is declared with lp.extern, so another unit defines it; expected the body '...'",
                code="LP2081",
                hint="write ... as its body, or export this definition with @lp.external",
            )

    def _error(self, name: str | None, message: str, code: str, hint: str | None) -> CompileError:
        try:
            source = self.source
        except CompileError:
            return signature_error(message, code=code, location=definition_location(self.function), hint=hint)
        arguments = source.tree.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        node = source.tree.returns if name == "return" else next((a for a in every if a.arg == name), None)
        return compile_error(source, node, message, code=code, hint=hint)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


class ExternalRegistry:
    """The exported functions that are alive, by unit and qualified name: one that is defined anew replaces the old."""

    def __init__(self) -> None:
        self._functions: weakref.WeakValueDictionary[tuple[str, str], ExternalFunction] = (
            weakref.WeakValueDictionary()
        )

    def add(self, function: ExternalFunction) -> None:
        """Registers an exported function."""
        self._functions[function.unit, function.function.__qualname__] = function

    def of_unit(self, unit: str) -> tuple[ExternalFunction, ...]:
        """Returns what a Python module exports, in the order of definition."""
        return tuple(function for (name, _), function in list(self._functions.items()) if name == unit)

    def units(self) -> tuple[str, ...]:
        """Returns the Python modules that export something."""
        return tuple(dict.fromkeys(unit for unit, _ in list(self._functions)))

    def exporting(self, symbol: str) -> tuple[ExternalFunction, ...]:
        """Returns the functions that are exported under a symbol."""
        return tuple(function for function in list(self._functions.values()) if function.symbol == symbol)


EXTERNALS = ExternalRegistry()
"""Every exported function of the process."""


@overload
def external(function: FunctionT, /) -> FunctionT: ...


@overload
def external(name: str | None = None, /) -> Callable[[FunctionT], FunctionT]: ...


def external(function: Any = None, /) -> Any:
    """Exports a function, so that kernels of other Python modules can call it: ``@lp.external``.

    A kernel that calls it from another module is linked with it; in its own module it is an ordinary function.

    Args:
        function: written with ``def``, every parameter and the result annotated with types of values; or the
            symbol to export it under, ``@lp.external("name")``, by default its own name.

    Raises:
        CompileError: the function cannot be called across modules, or requires a work-group size, as kernels do.
        InvalidError: the name is no symbol.
    """
    if function is None or isinstance(function, str):
        symbol = None if function is None else checked_symbol("external", function)
        return _decorator(symbol, is_defined=True)
    return _define(function, None, sys._getframe(1), is_defined=True)  # pyright: ignore[reportPrivateUsage]


def extern(name: str, /) -> Callable[[FunctionT], FunctionT]:
    """Declares a function that another module or a SPIR-V library exports: ``@lp.extern("name")``.

    Args:
        name: the symbol that it is exported under.

    Raises:
        CompileError: the function has a body other than ``...``, or a signature that cannot be called.
        InvalidError: the name is no symbol.
    """
    symbol = checked_symbol("extern", name)
    return _decorator(symbol, is_defined=False)


def _decorator(symbol: str | None, *, is_defined: bool) -> Any:
    def decorate(function: object) -> ExternalFunction:
        return _define(function, symbol, sys._getframe(1), is_defined=is_defined)  # pyright: ignore[reportPrivateUsage]

    return decorate


def checked_symbol(decorator: str, name: object) -> str:
    """Returns a symbol that was given to ``@lp.external`` or ``@lp.extern``; InvalidError where it is none."""
    if not isinstance(name, str) or not name or "\0" in name or not name.isprintable():
        raise InvalidError(
            f'@lp.{decorator}("name"): expected the symbol as a printable text with content, found {name!r}',
            code="LP1004",
        )
    return name


def _define(
    function: object, symbol: str | None, frame: types.FrameType, *, is_defined: bool
) -> ExternalFunction:
    try:
        plain = plain_function(function)
        made = ExternalFunction(
            plain, symbol, is_defined=is_defined, local_names=enclosing_names(plain, frame)
        )
    except CompileError as error:
        raise for_user(error)  # noqa: B904 - it is the same error
    if is_defined:
        EXTERNALS.add(made)
    return made
