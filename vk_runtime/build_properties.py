"""Properties of ``lp.compile``, ``lp.link`` and ``lp.build``: ``lp.properties.Debug()``, ``Log(stream)`` and
``EmulateSpecConstants()``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast, runtime_checkable

from ..ir.errors import InvalidError
from .bundle_errors import ConstraintError, type_name


@runtime_checkable
class TextStream(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> object:
        """Writes text."""
        ...


class Property:
    """Base of the properties."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Debug(Property):
    """Code with debug information: every instruction says which line of Python it comes from."""


@dataclass(frozen=True, slots=True)
class Log(Property):
    """What compiling and linking has to say is written to a text stream."""

    stream: TextStream

    def __post_init__(self) -> None:
        if not callable(getattr(self.stream, "write", None)):
            raise ConstraintError(
                f"lp.properties.Log takes a text stream such as io.StringIO, found {self.stream!r} of type "
                f"{type_name(self.stream)}"
            )

    @property
    def log_stream(self) -> TextStream:
        """The stream, under the Modules proposal's name."""
        return self.stream

    def get_log_stream(self) -> TextStream:
        """Returns the stream."""
        return self.stream


@dataclass(frozen=True, slots=True)
class EmulateSpecConstants(Property):
    """Values of specialization constants travel as hidden arguments: a new value needs no new pipeline.

    Constants that array lengths depend on stay native, since SPIR-V has no other way.
    """


class properties:
    """The properties of ``lp.compile``, ``lp.link`` and ``lp.build``."""

    Debug = Debug
    Log = Log
    EmulateSpecConstants = EmulateSpecConstants


PropertyT = TypeVar("PropertyT", bound=Property)


def checked_properties(what: str, values: object, *taken: type[Property]) -> tuple[Property, ...]:
    """Returns the properties that a function was given.

    Args:
        what: the function, for messages.
        values: its ``props`` argument.
        taken: the kinds that it takes.

    Raises:
        ConstraintError: something that is no property, such as a compiler flag.
        InvalidError: a property that the function does not take, or two of one kind.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConstraintError(
            f"{what}(…, props=…) takes a sequence of property objects such as lp.properties.Debug(), "
            f"found {values!r}"
        )
    items = tuple(cast("Iterable[object]", values))
    for item in items:
        if not isinstance(item, Property):
            raise ConstraintError(
                f"{what}(…, props=…) takes property objects such as lp.properties.Debug(), found {item!r} of type "
                f"{type_name(item)}"
            )
        if not isinstance(item, taken):
            names = ", ".join(kind.__name__ for kind in taken)
            raise InvalidError(
                f"{what} does not take the property {type_name(item)}; it takes {names or 'none'}"
            )
    kinds = [type(item) for item in items]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise InvalidError(f"{what}: the property {kind.__name__} is given twice; expected it once")
    return cast("tuple[Property, ...]", items)


def property_of(values: Sequence[Property], kind: type[PropertyT]) -> PropertyT | None:
    """Returns the property of a kind, None where there is none."""
    return next((item for item in values if isinstance(item, kind)), None)
