"""Importing dialects without defining their operations: each is defined when the first one of it is made.

xDSL turns every operation class into constraints and accessors when the class is made, and parses its assembly format;
a kernel uses a few dozen of the 470 classes that the compiler imports, and formats serve only the parser and the
printer of MLIR text.  Within `deferred_operations` a class gets stand-ins, which define it when it is asked for its
definition, parses, or makes an object.  Names and traits are there at once.  The parameters of attributes, which their
verification alone needs, wait as well.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cached_property
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

from .deferred_definitions import deferred_definitions

if TYPE_CHECKING:
    from xdsl.irdl import OpDef, ParamAttrDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram

_importing = threading.Lock()
"""No `RLock`: a finaliser or signal handler that compiles a kernel may come within, where all is deferred already."""
_defining = threading.RLock()


@dataclass(eq=False, slots=True)
class _Deferred:
    """What stands for an `OpDef` between xDSL's two steps, which are kept for later."""

    kind: Any
    """The class of operations."""
    read: Callable[[Any], OpDef]
    """`OpDef.from_pyrdl`."""
    accessors: Callable[[OpDef, Any], dict[str, Any]]
    """`get_accessors_from_op_def`."""
    verify: Any = None
    """The class's own ``verify_``."""


_deferred: dict[Any, _Deferred] = {}
"""The classes that are not defined yet."""


class DeferredFormat:
    """A format that is parsed when it is used.

    Args:
        text: the format.
        op_def: the operation's definition.
    """

    def __init__(self, text: str, op_def: OpDef) -> None:
        self._text = text
        self._op_def = op_def

    @cached_property
    def program(self) -> FormatProgram:
        """The parsed format."""
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        return FormatProgram.from_str(self._text, self._op_def)


class DeferredParameters:
    """The definition of an attribute, made when its parameters are asked for.

    Args:
        kind: the class of attributes.
        read: `ParamAttrDef.from_pyrdl`.
    """

    def __init__(self, kind: Any, read: Callable[[Any], ParamAttrDef]) -> None:
        self.name: str = kind.name
        self._kind = kind
        self._read = read

    @cached_property
    def _definition(self) -> ParamAttrDef:
        return self._read(self._kind)

    @cached_property
    def parameters(self) -> list[tuple[str, Any]]:
        """As `ParamAttrDef` has them."""
        # xDSL makes one of each of 20 float types when it is imported, and none of them has any.
        return [] if _has_constants_alone(self._kind) else self._definition.parameters

    def verify(self, attr: Any) -> None:
        """Raises VerifyException where an attribute does not satisfy the definition."""
        if self.parameters:
            self._definition.verify(attr)


def _has_constants_alone(kind: Any) -> bool:
    """Whether a class and its parents annotate nothing but class variables and what xDSL does not look at."""
    return all(
        name in ("name", "parameters")
        or get_origin(meaning) is ClassVar
        or str(meaning).startswith("ClassVar[")
        for parent in kind.__mro__
        for name, meaning in get_annotations(parent).items()
    )


@contextlib.contextmanager
def deferred_operations() -> Generator[None]:
    """Defers the definitions of the operations that this thread's imports make within."""
    from xdsl.irdl import attributes, operations

    if not _importing.acquire(blocking=False):  # as in `deferred_definitions`
        yield
        return
    module: Any = operations
    parameters: Any = attributes.ParamAttrDef
    read_parameters = parameters.from_pyrdl
    read, accessors, thread = module.OpDef.from_pyrdl, module.get_accessors_from_op_def, threading.get_ident()

    def read_later(kind: Any) -> Any:
        return _Deferred(kind, read, accessors) if threading.get_ident() == thread else read(kind)

    def accessors_later(definition: Any, verify: Any) -> dict[str, Any]:
        if not isinstance(definition, _Deferred):
            return accessors(definition, verify)
        definition.verify = verify
        _deferred[definition.kind] = definition
        return _stand_ins(definition.kind)

    def parameters_later(kind: Any) -> Any:
        is_ours = threading.get_ident() == thread
        return DeferredParameters(kind, read_parameters) if is_ours else read_parameters(kind)

    module.OpDef.from_pyrdl, module.get_accessors_from_op_def = staticmethod(read_later), accessors_later
    parameters.from_pyrdl = staticmethod(parameters_later)
    try:
        yield
    finally:
        module.OpDef.from_pyrdl, module.get_accessors_from_op_def = staticmethod(read), accessors
        parameters.from_pyrdl = staticmethod(read_parameters)
        _importing.release()


@contextlib.contextmanager
def deferred_imports() -> Generator[None]:
    """Defers all that importing a part of the compiler would define; wherever one is imported when it is used."""
    with deferred_definitions(), deferred_operations():
        yield


def _stand_ins(kind: Any) -> dict[str, Any]:
    """Returns what an operation class has until it is defined."""
    found: dict[str, Any] = {
        "__new__": staticmethod(_new_of_undefined),
        "get_irdl_definition": classmethod(_definition),
    }
    if kind.assembly_format is not None:
        found["parse"] = classmethod(_parse)
    return {**found, "traits": _traits(kind)}


def _new_of_undefined(cls: Any, *_: object, **__: object) -> Any:
    _define(cls)
    return object.__new__(cls)


def _new(cls: Any, *_: object, **__: object) -> Any:
    # CPython never goes back to `object.__new__` itself, which takes arguments only where nothing ever overrode it.
    return object.__new__(cls)


def _definition(cls: Any) -> OpDef:
    _define(cls)
    return cls.get_irdl_definition()


def _parse(cls: Any, parser: Any) -> Any:
    _define(cls)
    return cls.parse(parser)


def _traits(kind: Any) -> Any:
    """Returns the traits that `OpDef.from_pyrdl` would find in a class and its parents."""
    from xdsl.ir import Operation, OpTraits

    found: list[Any] = [
        parent.__dict__["traits"]
        for parent in kind.__mro__
        if "traits" in parent.__dict__ and parent not in Operation.__mro__
    ]
    if len(found) == 1:
        return found[0]
    return OpTraits(lambda: tuple(trait for traits in found for trait in traits.gen_traits()))


def _define(cls: Any) -> None:
    """Defines a class of operations, after those of its parents that are not defined yet."""
    with _defining:
        for kind in reversed(cls.__mro__):
            if kind in _deferred:
                for name, value in _accessors(_deferred[kind]).items():
                    setattr(kind, name, value)
                kind.__new__ = staticmethod(_new)
                del _deferred[kind]


def _accessors(deferred: _Deferred) -> dict[str, Any]:
    """Returns what xDSL puts into a class, the format aside, which is parsed when it is used."""
    kind = deferred.kind
    text, is_own = kind.assembly_format, "assembly_format" in kind.__dict__
    kind.assembly_format = None
    try:
        definition = deferred.read(kind)
    finally:
        if is_own:
            kind.assembly_format = text
        else:
            del kind.assembly_format
    found = deferred.accessors(definition, deferred.verify)
    # The same object: a trait may have been added meanwhile.
    found["traits"] = definition.traits = kind.__dict__["traits"]
    if text is None:
        return found
    definition.assembly_format = text
    format = DeferredFormat(text, definition)

    def parse(cls: Any, parser: Any) -> Any:
        return format.program.parse(parser, cls)

    def print_(self: Any, printer: Any) -> None:
        format.program.print(printer, self)

    return {**found, "parse": classmethod(parse), "print": print_}
