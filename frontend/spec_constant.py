"""Specialization constants on the host: `SpecializationId`, its values as bytes, and its stable symbol.

A specialization id is declared once, read in kernels as a value of its type, and given a value when a kernel
is launched or a bundle is built (SYCL 2020 section 4.11.12, ``specialization_id``).  Ids are told apart by
identity; the symbol stands in IR and in files, where identity means nothing.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..ir.errors import KernelArgumentError
from ..ir.public_names import PublicNames
from .host_values import MISFIT_CODE
from .struct_types import StructType, dtype_of, scalar_leaves, size_of, value_type_of
from .struct_values import from_record, struct_of_value, to_record, zero_of
from .types import ScalarType, Type

if TYPE_CHECKING:
    from ..ir.lpk_records import ConstantRecord

_symbols: weakref.WeakValueDictionary[str, SpecializationId] = weakref.WeakValueDictionary()
"""Live ids by symbol: two ids must never share one, or setting the first would set the second."""

_ids: weakref.WeakSet[SpecializationId] = weakref.WeakSet()
"""The program's ids; those that nobody has asked for their symbol have claimed none."""

_ASSIGNMENT = (
    r"\s*(?:(?:try|else|finally)\s*:\s*)?(?!try\b|else\b|finally\b)(\w+)\s*(?::[^=]*)?=\s*"
    r"(?:\w+\.)*SpecializationId\("
)
"""A regular expression, compiled for the first id: a line that assigns a new id to a variable."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar of a constant's host value: one OpSpecConstant."""

    dtype: ScalarType
    offset_bytes: int
    size_bytes: int
    """Size in the host value; a bool is 1."""


class SpecializationId(
    metaclass=PublicNames,
    internal="""
    current default_bytes describe from_bytes keep leaves living of_file of_parameter of_text size_bytes suggest_name
    symbol to_bytes
    """,
):
    """A specialization constant: ``COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3])``.

    Args:
        type: a scalar, vector or struct type, or a fixed array.
        default: what the value is where none is set, as `type` is made from it; zero where absent.
        members: of a struct, by name, as its constructor takes them.

    Raises:
        KernelArgumentError: `type` is no such type, or the default does not fit it.
    """

    def __init__(self, type: object, *default: object, **members: object) -> None:
        resolved = value_type_of(type)
        if resolved is None:
            raise KernelArgumentError(
                "lp.SpecializationId(type, *default): expected a scalar type such as lp.f32, a vector or struct "
                f"type, or lp.FixedArray[lp.f32, n], found {type!r}",
                code=MISFIT_CODE,
            )
        self._type: Type = resolved
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # the only way to the defining scope
        self._globals: Mapping[str, object] = frame.f_globals
        self._module: str = frame.f_globals.get("__name__", "__main__")
        self._scope: str = _scope_of(frame.f_code.co_qualname)
        self._file: str = frame.f_code.co_filename
        self._line: int = frame.f_lineno
        self._qualname: str | None = None
        self._symbol: str | None = None
        self._origin: object = None
        self._is_of_file = False
        self._default: bytes = self._default_of(default, members)
        _ids.add(self)

    @classmethod
    def of_parameter(
        cls, function: types.FunctionType, name: str, type: Type, default: tuple[object, ...]
    ) -> SpecializationId:
        """Makes the id that the parameter `name` of a kernel declares; `default` holds at most one value.

        Raises:
            KernelArgumentError: the default does not fit.
        """
        made = cls(type)
        made._module = function.__module__
        made._qualname = f"{function.__qualname__}.{name}"
        made._default = made._encode(default)
        return made

    @classmethod
    def of_text(
        cls, module: str, name: str, type: object, default: tuple[object, ...], members: Mapping[str, object]
    ) -> SpecializationId:
        """Makes the id that the text of a module declares, which is read and not executed.

        Raises:
            KernelArgumentError: as the constructor.
        """
        made = cls(type)
        made._module, made._qualname = module, name
        made._default = made._default_of(default, members)
        return made

    @classmethod
    def of_file(cls, type: Type, symbol: str, name: str, default: bytes) -> SpecializationId:
        """Makes the id that stands for a constant of a bundle file whose module is not loaded.

        It does not claim the symbol: the module may be loaded later.
        """
        made = cls(type)
        _ids.discard(made)
        made._symbol, made._qualname, made._default = symbol, name, default
        made._is_of_file = True
        return made

    @staticmethod
    def living(symbol: str) -> SpecializationId | None:
        """Returns the program's id of a symbol, None where it has none."""
        known = [found for found in list(_ids) if symbol.startswith(found._module)]
        return next((found for found in known if found.symbol == symbol), None)

    @property
    def current(self) -> SpecializationId:
        """The program's id that this one of a bundle file stands for, once its module is loaded; else this one.

        One of another type or default is another constant.
        """
        own = SpecializationId.living(self.symbol) if self._is_of_file else None
        return own if own is not None and own.describe() == self.describe() else self

    @property
    def type(self) -> Type:
        """The type of its value."""
        return self._type

    @property
    def default(self) -> Any:
        """The default: a Python scalar rounded to the type, a new NumPy array, or a struct instance."""
        return self.from_bytes(self._default)

    @property
    def default_bytes(self) -> bytes:
        """Host bytes of the default."""
        return self._default

    @property
    def name(self) -> str:
        """The short name, for messages: that of the variable or class attribute."""
        return self._settled_qualname().rpartition(".")[2]

    @property
    def symbol(self) -> str:
        """Stable name, ``package.module.Class.NAME``; fixed when first read, never shared by two live ids.

        The same program gives the same symbols, so that caches and files agree.  An id without a name of its
        own is called after its line; a second id of one name gets ``~2``.
        """
        if self._symbol is None:
            self._qualname = self._settled_qualname()
            self._symbol = _claim(f"{self._module}.{self._qualname}", self)
        return self._symbol

    @property
    def size_bytes(self) -> int:
        """Bytes of a host value."""
        return len(self._default)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The scalars of the value in C order."""
        return tuple(Leaf(kind, offset, kind.itemsize) for _, kind, offset in scalar_leaves(self.type))

    def describe(self) -> ConstantRecord:
        """Returns what a bundle file says of it."""
        from .lpk_descriptions import constant_record

        return constant_record(self)

    def to_bytes(self, value: object) -> bytes:
        """Returns the host bytes of `value`, C order.

        Raises:
            KernelArgumentError: `value` does not fit; the message names constant, expected and found.
        """
        return self._encode((value,))

    def from_bytes(self, data: bytes) -> Any:
        """Returns the value of host bytes: a Python scalar, or a new NumPy array.

        Raises:
            KernelArgumentError: `data` has not the size of the type.
        """
        expected = size_of(self.type)
        if len(data) != expected:
            raise KernelArgumentError(
                f"{self._what()} has type {self.type!r}: expected {expected} bytes, found {len(data)}",
                code=MISFIT_CODE,
            )
        return from_record(self.type, np.frombuffer(data, dtype_of(self.type))[0])

    def keep(self, origin: object) -> None:
        """Keeps what declares it alive as long as it lives itself."""
        self._origin = origin

    def suggest_name(self, name: str, *, scope: str = "") -> None:
        """Tells an id that has no name yet under which one a kernel found it.

        Args:
            name: the variable's name.
            scope: qualified name of the scope around the kernel, ``function.<locals>``.
        """
        if self._symbol is None and self._known_qualname() is None:
            self._qualname = f"{scope}.{name}" if scope else name

    def __set_name__(self, owner: type, name: str) -> None:
        if self._symbol is None and self._known_qualname() is None:
            self._module = owner.__module__
            self._qualname = f"{owner.__qualname__}.{name}"

    def _known_qualname(self) -> str | None:
        """Returns the qualified name in the module: as settled, or found among the module's variables."""
        if self._qualname is None:
            for name, value in list(self._globals.items()):
                if value is self:
                    self._qualname = name
                    break
        return self._qualname

    def _settled_qualname(self) -> str:
        """Returns the qualified name; without a better one, the variable's that the defining line assigns."""
        known = self._known_qualname()
        if known is not None:
            return known
        assigned = re.match(_ASSIGNMENT, linecache.getline(self._file, self._line))
        name = assigned[1] if assigned else f"<line {self._line}>"
        return f"{self._scope}.{name}" if self._scope else name

    def _what(self) -> str:
        return f"specialization constant '{self.name}'"

    def _default_of(self, default: tuple[object, ...], members: Mapping[str, object]) -> bytes:
        """Returns the host bytes of what the type's constructor would make of the arguments."""
        kind = self._type
        if isinstance(kind, StructType):
            if members or (default and not (len(default) == 1 and _is_whole(default[0], kind))):
                default = (kind.python_class(*default, **members),)
        elif members:
            names = ", ".join(members)
            raise KernelArgumentError(
                f"{self._what()} has type {kind!r}: expected the default by position, found keywords ({names})",
                code=MISFIT_CODE,
            )
        if len(default) > 1 and isinstance(kind, ScalarType):
            raise KernelArgumentError(
                f"{self._what()} has type {kind!r}: expected at most one default, found {len(default)}",
                code=MISFIT_CODE,
            )
        return self._encode(default)

    def _encode(self, values: tuple[object, ...]) -> bytes:
        if not values:
            return to_record(self.type, zero_of(self.type), self._what()).tobytes()
        value = values[0] if len(values) == 1 else values
        return to_record(self.type, value, self._what()).tobytes()

    def __repr__(self) -> str:
        return f"<lp.SpecializationId {self.name}: {self.type!r} = {self.default!r}>"

    def __copy__(self) -> NoReturn:
        raise self._not_copyable()

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise self._not_copyable()

    def __reduce__(self) -> NoReturn:
        raise self._not_copyable()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise self._not_copyable()

    def __bool__(self) -> NoReturn:
        raise KernelArgumentError(
            f"{self._what()} is no value on the host, so Python cannot ask whether it is true; read it in a kernel, or "
            "its default with .default",
            code=MISFIT_CODE,
        )

    def _not_copyable(self) -> KernelArgumentError:
        return KernelArgumentError(
            f"{self._what()} cannot be copied or pickled: it is told apart by identity; refer to it instead"
        )


def _is_whole(value: object, kind: StructType) -> bool:
    """Whether a single default stands for all members of a struct, not for the first: a record, tuple or instance."""
    if isinstance(value, np.ndarray):  # vectors and fixed arrays are, too
        return cast("np.ndarray[Any, np.dtype[Any]]", value).dtype.names is not None
    return isinstance(value, tuple | np.void) or (
        getattr(struct_of_value(value), "spelling", None) == kind.spelling
    )


def placeholder_id(value: object) -> SpecializationId | None:
    """Returns the id behind a command group's `SpecConstant`, None for anything else.

    The class is the runtime's, which this folder does not import, and is known by its marker.
    """
    if getattr(type(value), "__lapilli_placeholder__", False):
        found = getattr(value, "constant", None)
        return found if isinstance(found, SpecializationId) else None
    return None


def live_id(symbol: str) -> SpecializationId:
    """Returns the id of a symbol that a kernel has just read; KeyError where it is gone."""
    return _symbols[symbol]


def find_id_of(symbol: str) -> SpecializationId | None:
    """Returns the id of a symbol, None where it is gone."""
    return _symbols.get(symbol)


def _scope_of(code_qualname: str) -> str:
    """Returns the qualified name of the scope that a code object runs, "" for a module."""
    return "" if code_qualname == "<module>" else f"{code_qualname}.<locals>"


def _claim(symbol: str, owner: SpecializationId) -> str:
    """Returns `symbol`, with a number where another live id has it."""
    candidate, count = symbol, 1
    while _symbols.setdefault(candidate, owner) is not owner:
        count += 1
        candidate = f"{symbol}~{count}"
    return candidate
