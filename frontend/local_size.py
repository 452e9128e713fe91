"""``@lp.kernel(local_size=…)``: work-group sizes of numbers, specialization constants and expressions of these.

The local size is specialised at every launch anyway, so one that names constants is computed on the host from
their values, checked, and handed on like any other.  Expressions are integer arithmetic and never executed as Python.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ..ir.errors import InvalidError, NdRangeError
from .ranges import MAX_DIMENSIONS, normalise_local_size
from .signature import Signature
from .spec_constant import SpecializationId
from .types import ScalarType

SizePart = int | str | SpecializationId
"""What one dimension may be given as."""

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: int.__floordiv__,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """One dimension of a local size."""

    text: str
    tree: ast.expr
    names: Mapping[str, SpecializationId | int]

    def value(self, values: Mapping[str, bytes]) -> int:
        """Returns the size; `values` are host bytes by symbol, of constants that are not at their default.

        Raises:
            InvalidError: a division by zero, names the constants.
        """
        known = self.constants(values)
        try:
            return _evaluate(self.tree, known)
        except ZeroDivisionError:
            raise InvalidError(f"local_size {self.text!r} divides by zero; {_shown(known)}") from None

    def constants(self, values: Mapping[str, bytes]) -> dict[str, int]:
        """Returns the value of every constant that takes part, by name."""
        found: dict[str, int] = {}
        for name, constant in self.names.items():
            if isinstance(constant, SpecializationId):
                data = values.get(constant.symbol, constant.default_bytes)
                found[name] = int(constant.from_bytes(data))
            else:
                found[name] = constant
        return found


@dataclass(frozen=True, slots=True)
class LocalSize:
    """A local size, slowest dimension first."""

    parts: tuple[SizeExpression, ...]

    @classmethod
    def of(
        cls,
        parts: tuple[SizePart, ...] | None,
        signature: Signature,
        function: types.FunctionType,
        local_names: Mapping[str, object],
    ) -> LocalSize | None:
        """Binds the names in a local size to `Spec` parameters, or to what the scopes around the kernel hold.

        Raises:
            InvalidError: a name that is no integer constant, or no expression.
        """
        if parts is None:
            return None
        scope = {**function.__globals__, **local_names, **signature.specialization_ids}
        return cls(tuple(_bound(part, scope, signature) for part in parts))

    @classmethod
    def of_names(cls, parts: Sequence[tuple[str, Mapping[str, SpecializationId | int]]]) -> LocalSize:
        """Makes a local size of expressions whose names are known; for bundle files.

        Raises:
            InvalidError: no expression, or a name that is not given or stands for no integer.
        """
        return cls(tuple(SizeExpression(text, _named(text, names), dict(names)) for text, names in parts))

    @property
    def is_fixed(self) -> bool:
        """Whether no specialization constant takes part."""
        return not any(part.names for part in self.parts)

    @property
    def spec_constants(self) -> tuple[SpecializationId, ...]:
        """The specialization ids that take part."""
        found = [value for part in self.parts for value in part.names.values()]
        return tuple(value for value in found if isinstance(value, SpecializationId))

    def sizes(self, values: Mapping[str, bytes], kernel_name: str) -> tuple[int, ...]:
        """Returns the sizes for specialization values given as host bytes by symbol.

        Raises:
            InvalidError: a size below 1; names the expression, its value, and the constants.
        """
        found = tuple(part.value(values) for part in self.parts)
        for size, part in zip(found, self.parts, strict=True):
            if size < 1:
                raise InvalidError(
                    f"kernel '{kernel_name}': the local size {part.text} is {size}, expected at least 1; "
                    f"{_shown(part.constants(values))}"
                )
        return found

    def explain(self, values: Mapping[str, bytes]) -> str:
        """Returns how the sizes came about: ``local_size=("TILE", "2 * TILE") with TILE = 64``."""
        known: dict[str, int] = {}
        for part in self.parts:
            known |= part.constants(values)
        return f"local_size is ({', '.join(part.text for part in self.parts)}) with {_shown(known)}"


def checked_parts(value: object) -> tuple[SizePart, ...]:
    """Returns the parts of what a user gave as local size.

    Raises:
        NdRangeError: numbers that cannot be a size, or not 1 to 3 dimensions.
        InvalidError: a text that is no integer expression.
    """
    given = tuple(cast("Sequence[object]", value)) if isinstance(value, tuple | list) else (value,)
    if not any(isinstance(part, str | SpecializationId) for part in given):
        return normalise_local_size(cast(object, value), what="local_size")
    if len(given) > MAX_DIMENSIONS:
        raise NdRangeError(
            f"local_size {given!r}: expected 1 to {MAX_DIMENSIONS} dimensions, found {len(given)}"
        )
    parts: list[SizePart] = []
    for part in given:
        if isinstance(part, str):
            _parsed(part)
            parts.append(part)
        elif isinstance(part, SpecializationId):
            parts.append(part)
        else:
            parts += normalise_local_size(part, what="local_size")
    return tuple(parts)


def _bound(part: SizePart, scope: Mapping[str, object], signature: Signature) -> SizeExpression:
    if isinstance(part, int):
        return SizeExpression(str(part), ast.Constant(part), {})
    if isinstance(part, SpecializationId):
        _require_integer(part, part.name)
        return SizeExpression(part.name, ast.Name(part.name), {part.name: part})
    tree = _parsed(part)
    names: dict[str, SpecializationId | int] = {}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called:
            names[node.id] = _constant(node.id, part, scope, signature)
    return SizeExpression(part, tree, names)


def _named(text: str, names: Mapping[str, SpecializationId | int]) -> ast.expr:
    """Returns the tree of an expression; InvalidError where it uses other names."""
    for constant in names.values():
        if isinstance(constant, SpecializationId):
            _require_integer(constant, text)
    tree = ast.Name(text) if text in names else _parsed(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
    if not used <= set(names):
        raise InvalidError(f"local_size {text!r} names {', '.join(sorted(used - set(names)))}", code="LP1004")
    return tree


def _constant(
    name: str, text: str, scope: Mapping[str, object], signature: Signature
) -> SpecializationId | int:
    found = scope.get(name)
    if isinstance(found, SpecializationId):
        _require_integer(found, text)
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    known = ", ".join(signature.specialization_ids) or "none"
    raise InvalidError(
        f"@lp.kernel(local_size=…): {text!r} names '{name}', which is no lp.Spec parameter, specialization id or "
        f"integer known here; the kernel's lp.Spec parameters are: {known}",
        code="LP1004",
    )


def _require_integer(constant: SpecializationId, text: str) -> None:
    if not (isinstance(constant.type, ScalarType) and constant.type.is_integer):
        raise InvalidError(
            f"@lp.kernel(local_size=…): {text!r} has type {constant.type!r}; expected an integer type",
            code="LP1004",
        )


def _parsed(text: str) -> ast.expr:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not _is_size(tree, _MAX_DEPTH):
        raise InvalidError(
            f"@lp.kernel(local_size=…): expected integers, specialization constants, and expressions of these with "
            f"+ - * // % min max; found {text!r}",
            code="LP1004",
        )
    return tree


def _is_size(node: ast.expr, depth: int) -> bool:
    if not depth:
        return False
    match node:
        case ast.Constant(value=value):
            return type(value) is int and abs(value) < 1 << 63
        case ast.Name():
            return True
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in _OPERATORS and _is_size(left, depth - 1) and _is_size(right, depth - 1)
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as args, keywords=[]):
            return name in _FUNCTIONS and all(_is_size(arg, depth - 1) for arg in args)
        case _:
            return False


def _evaluate(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_evaluate(arg, values) for arg in args))
        case _:
            raise AssertionError("the expression was checked when it was parsed")


def _shown(constants: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in constants.items()) or "no constants"


__all__: Sequence[str] = ["LocalSize", "SizeExpression", "SizePart", "checked_parts"]
