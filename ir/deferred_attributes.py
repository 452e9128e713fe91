"""The constraints of attributes, made when an attribute is verified.

xDSL makes them with the class; the unions of types among them take long.  `deferred_operations` puts these stand-ins
into classes.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Generator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

from .config import config

if TYPE_CHECKING:
    from xdsl.irdl import ParamAttrDef

importing_thread: list[int | None] = [None]
"""The one within `deferred_operations`."""
_making_own: list[int] = []
"""The threads within `own_attributes`."""


@contextlib.contextmanager
def own_attributes() -> Generator[None]:
    """Takes the attributes that this thread makes within for what their classes define, as nobody else wrote them.

    Only the kinds of their parameters are not looked at; what a class itself verifies is.
    """
    thread = threading.get_ident()
    _making_own.append(thread)
    try:
        yield
    finally:
        _making_own.remove(thread)


class DeferredParameters:
    """The definition of an attribute, made when its parameters are asked for.

    Args:
        kind: the class of attributes.
        read: `ParamAttrDef.from_pyrdl`.
    """

    def __init__(self, kind: Any, read: Callable[[Any], ParamAttrDef]) -> None:
        self.name: str = kind.name
        self.kind = kind
        self._read = read

    @cached_property
    def definition(self) -> ParamAttrDef:
        """What xDSL makes of the class: the unions of types among its constraints are what takes long."""
        return self._read(self.kind)

    @cached_property
    def parameters(self) -> list[tuple[str, Any]]:
        """As `ParamAttrDef` has them; making an attribute takes their names and converters only."""
        return [(name, DeferredParameter(self, name)) for name in _parameter_names(self.kind)]

    def verify(self, attr: Any) -> None:
        """Raises VerifyException where an attribute does not satisfy the definition.

        Constants that modules make while they are imported, and what is made within `own_attributes`, are as xDSL and
        this compiler spell them; the tests, which set ``config.verify``, check them.
        """
        thread = threading.get_ident()
        if (importing_thread[0] == thread or thread in _making_own) and not config.verify:
            return
        if self.parameters:
            self.definition.verify(attr)


class DeferredParameter:
    """The definition of one parameter, as `ParamDef` has it, made when its constraint is asked for.

    Args:
        owner: the attribute's.
        name: of the parameter.
    """

    def __init__(self, owner: DeferredParameters, name: str) -> None:
        self._owner = owner
        self._name = name

    def __repr__(self) -> str:
        return repr(self._real)

    @property
    def _real(self) -> Any:
        return dict(self._owner.definition.parameters)[self._name]

    @property
    def constr(self) -> Any:
        """What values satisfy."""
        return self._real.constr

    @cached_property
    def converter(self) -> Any:
        """What makes an attribute of what a constructor gets, None: nothing."""
        return getattr(inspect.getattr_static(self._owner.kind, self._name, None), "converter", None)


def _parameter_names(kind: Any) -> tuple[str, ...]:
    """Returns what a class and its parents annotate, class variables and what xDSL does not look at left out."""
    found: dict[str, object] = {
        name: meaning
        for parent in reversed(kind.__mro__)
        for name, meaning in inspect.get_annotations(parent).items()
        if name not in ("name", "parameters")
    }
    return tuple(
        name
        for name, meaning in found.items()
        if not (
            get_origin(meaning) is ClassVar or (isinstance(meaning, str) and meaning.startswith("ClassVar["))
        )
    )


def union(parts: tuple[Any, ...]) -> Any:
    """Returns what `AnyOf.get` returns for unions of classes of attributes, which compares each with each of the 20
    float types; None for others."""
    from xdsl.irdl import AnyOf, BaseAttr

    found: dict[Any, Any] = {}
    for part in parts:
        for each in part.attr_constrs if type(part) is AnyOf else (part,):
            if type(each) is not BaseAttr:
                return None
            found.setdefault(each.attr, each)
    return AnyOf(tuple(found.values())) if len(found) > 1 else None
