"""Importing dialects without defining their operations: each is defined when somebody asks what is in it.

xDSL turns every operation class into constraints and accessors when the class is made, and parses its assembly format;
a kernel uses a few dozen of the 470 classes that the compiler imports, and formats serve only the parser and the
printer of MLIR text.  Within `deferred_operations` a class gets stand-ins, which define it when it is asked for its
definition, parses, prints or verifies, or when fields of its objects are written, or read more than a few times
(`served_fields`); `ir.create` makes objects without.  Names and traits are there at once.  The constraints of
attributes, which their verification alone needs, wait as well (`deferred_attributes`).
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .deferred_attributes import DeferredParameters, importing_thread, union
from .deferred_definitions import deferred_definitions

if TYPE_CHECKING:
    from xdsl.ir import Attribute
    from xdsl.irdl import OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram

READS_BEFORE_DEFINING = 200
"""So often fields of a class are read without it, which takes as long as defining it."""

FREQUENT_READS = 2
"""A class that was read so often is worth defining where nothing else is to be done."""

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
    readers: dict[Any, Callable[[Any], Any] | None] = field(default_factory=dict[Any, Any])
    """What reads its fields meanwhile, see `served_fields`."""
    reads: int = 0
    """How often that happened."""


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


@contextlib.contextmanager
def deferred_operations() -> Generator[None]:
    """Defers the definitions of the operations that this thread's imports make within."""
    from xdsl.irdl import attributes, constraints, operations

    from .plain_inheritance import answer_by_inheritance

    answer_by_inheritance()
    if not _importing.acquire(blocking=False):  # as in `deferred_definitions`
        yield
        return
    module: Any = operations
    module._OpDefField.__get__, module._OpDefField.__set__ = _get_field, _set_field
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

    unions: Any = constraints.AnyOf
    unite = unions.get
    module.OpDef.from_pyrdl, module.get_accessors_from_op_def = staticmethod(read_later), accessors_later
    parameters.from_pyrdl = staticmethod(parameters_later)
    unions.get = staticmethod(lambda *parts: union(parts) or unite(*parts))
    importing_thread[0] = thread
    try:
        yield
    finally:
        importing_thread[0] = None
        module.OpDef.from_pyrdl, module.get_accessors_from_op_def = staticmethod(read), accessors
        parameters.from_pyrdl = staticmethod(read_parameters)
        unions.get = staticmethod(unite)
        _importing.release()


@contextlib.contextmanager
def deferred_imports() -> Generator[None]:
    """Defers all that importing a part of the compiler would define; wherever one is imported when it is used."""
    with deferred_definitions(), deferred_operations():
        yield


def import_deferred(name: str) -> Any:
    """Imports a module of the compiler within `deferred_imports`; one that is there is returned at once."""
    found: Any = sys.modules.get(name)
    if found is None or getattr(found.__spec__, "_initializing", False):  # as another thread imports it
        with deferred_imports():
            found = import_module(name)
    return found


def _stand_ins(kind: Any) -> dict[str, Any]:
    """Returns what an operation class has until it is defined."""
    found: dict[str, Any] = {
        "get_irdl_definition": classmethod(_definition),
        "verify_": _verify,
    }
    if kind.assembly_format is not None:
        found |= {"parse": classmethod(_parse), "print": _print}
    return {**found, "traits": _traits(kind)}


def _definition(cls: Any) -> OpDef:
    _define(cls)
    return cls.get_irdl_definition()


def _parse(cls: Any, parser: Any) -> Any:
    _define(cls)
    return cls.parse(parser)


def _print(self: Any, printer: Any) -> None:
    _define(type(self))
    self.print(printer)


def _verify(self: Any) -> None:
    _define(type(self))
    self.verify_()


def default_values(kind: Any) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Returns the properties and attributes that operations of a class have without being told.

    A class that is not defined yet stays so: making an operation takes no more of it.
    """
    properties, attributes = _fields(kind) if _has_fields_alone(kind) else _defined_fields(kind)
    return _defaults(properties), _defaults(attributes)


def _defaults(fields: list[_Field]) -> dict[str, Attribute]:
    from xdsl.irdl import OptionalDef

    return {
        name: default
        for name, item, default in fields
        if default is not None and not issubclass(item, OptionalDef)
    }


_Field = tuple[str, Any, Any]
"""Name, class of the definition and default of a property or attribute."""


def _defined_fields(kind: Any) -> tuple[list[_Field], list[_Field]]:
    tables: list[list[_Field]] = []
    definition = kind.get_irdl_definition()
    for table in (definition.properties, definition.attributes):
        fields: dict[str, Any] = table
        tables.append([(name, item.__class__, item.default_value) for name, item in fields.items()])
    return tables[0], tables[1]


def _has_fields_alone(kind: Any) -> bool:
    """Whether a class is not defined yet, and no parent is an operation with a definition of its own."""
    from xdsl.irdl import IRDLOperation

    return kind in _deferred and not any(
        "get_irdl_definition" in vars(parent)
        for parent in kind.__mro__[1:]
        if parent not in IRDLOperation.__mro__
    )


def _fields(kind: Any) -> tuple[list[_Field], list[_Field]]:
    """Returns what a class and its parents are to have as properties and as attributes, in the order of `OpDef`."""
    from xdsl.irdl import IRDLOperation, operations

    module: Any = operations
    kinds = (module._PropertyFieldDef, module._AttributeFieldDef)
    found: dict[str, Any] = {}
    for parent in reversed(kind.__mro__):
        if parent not in IRDLOperation.__mro__:  # which have hundreds of other names
            found |= {name: item for name, item in parent.__dict__.items() if type(item) in kinds}
    parents: list[dict[str, Any]] = [parent.__dict__ for parent in reversed(kind.__mro__)]
    if any(sum(name in names for names in parents) > 1 for name in found):
        found = {}
        for (
            names
        ) in parents:  # where a name stands first decides on its place, where it stands last on its meaning
            found |= names
    properties, attributes = (
        [
            (item.ir_name or name, item.cls, item.default_value)
            for name, item in found.items()
            if type(item) is field_kind
        ]
        for field_kind in kinds
    )
    return properties, attributes


def _get_field(self: Any, op: Any, _owner: Any = None) -> Any:
    """Reads a field of an operation whose class is not defined yet: defines it, if that happens often."""
    if op is None:
        return self
    kind: Any = op.__class__
    deferred = _deferred.get(kind)
    if deferred is not None and deferred.reads < READS_BEFORE_DEFINING:
        try:
            read = deferred.readers[self]
        except KeyError:
            from .served_fields import reader_of

            read = deferred.readers[self] = reader_of(self, kind) if _has_fields_alone(kind) else None
        if read is not None:
            deferred.reads += 1
            return read(op)
    return getattr(op, _name_in_definition(self, kind))


def _set_field(self: Any, op: Any, value: Any) -> None:
    setattr(op, _name_in_definition(self, type(op)), value)


def _name_in_definition(own: Any, kind: Any) -> str:
    fields: list[dict[str, Any]] = [parent.__dict__ for parent in kind.__mro__]
    name = next(name for table in fields for name, value in table.items() if value is own)
    _define(kind)
    if inspect.getattr_static(kind, name) is own:
        raise AttributeError(f"'{kind.__name__}.{name}' is not defined")
    return name


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
                del _deferred[kind]


def define_frequent() -> bool:
    """Defines a class of operations whose fields were read a few times; returns whether there was one.

    For whoever has time to spare: the next kernel reads them again, as often.
    """
    kind = next((kind for kind, found in tuple(_deferred.items()) if found.reads >= FREQUENT_READS), None)
    if kind is None:
        return False
    _define(kind)
    return True


def _accessors(deferred: _Deferred) -> dict[str, Any]:
    """Returns what xDSL puts into a class, the format aside, which is parsed when it is used."""
    kind = deferred.kind
    if deferred.verify is _verify:  # the stand-in of a parent, which is defined by now
        deferred.verify = next(p.__dict__["verify_"] for p in kind.__mro__[1:] if "verify_" in p.__dict__)
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
