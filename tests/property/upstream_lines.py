"""Lines of random kernels written for MLIR: what each says, and what it does with the values of a work-item."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .upstream_nodes import Item, Node, Operation
from .upstream_types import (
    BITS,
    FLOATS,
    I32,
    Kind,
    float_operation,
    integer_operation,
    normal,
    signed,
    spelled,
    unsigned,
)

_INTEGERS = (0, 1, -1, 2, 3, 7, 8, 100)
_FLOATS = (0.0, 1.0, -1.0, 0.5, 3.0, 255.0, -129.0, 2048.0, 65504.0)
_LARGE = (65535.0, 16777216.0, 2147483648.0, -2147483648.0, 4294967040.0, 1e19, -1e19, 1e30)
"""Floats that f16 does not have."""


class Array(NamedTuple):
    """An array."""

    name: str
    shape: tuple[int, ...]
    """Of which an extent that indexes are masked for is a power of two."""
    kind: str
    """Its type."""
    element: Kind = I32

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}"

    def at(self, places: Sequence[str]) -> str:
        """Returns one of its elements as loads and stores have it."""
        return f"{self.name}[{', '.join(places)}] : {self.kind}"


class Scope:
    """Values that can be used somewhere, and the parts there.

    Args:
        names: the values from around.
        arrays: what can be read and written.
        depth: of loops and branches around.
        is_flat: whether no region is around, so that blocks may branch.
    """

    def __init__(
        self, names: Sequence[tuple[str, Kind]], arrays: Sequence[Array], depth: int = 0, *, is_flat: bool
    ) -> None:
        self.names, self.nodes, self.arrays = list(names), list[Node](), arrays
        self.results: list[tuple[str, Kind]] = []
        """Those of the values that loops, branches and calls have given here."""
        self.depth, self.is_flat = depth, is_flat

    def inner(self, more: Sequence[tuple[str, Kind]] = (), *, by: int = 1, is_flat: bool = False) -> Scope:
        """Returns that of a block inside."""
        return Scope([*self.names, *more], self.arrays, self.depth + by, is_flat=is_flat)


class Lines:
    """Adds lines to scopes; each method returns the name of what its line gives.

    Args:
        seed: the same gives the same.
        types: names of element types.
    """

    def __init__(self, seed: int, types: Sequence[str]) -> None:
        self.random = pick = random.Random(seed)
        self.integers = [name for name in types if name not in FLOATS]
        self.floats = [name for name in types if name in FLOATS]
        self.size = pick.choice((2, 3, 4))
        vectors = [Kind(name, self.size) for name in pick.sample(list(types), 3)]
        self.kinds = [*map(Kind, types), *map(Kind, types), *vectors]
        self._count = 0

    def name(self) -> str:
        """Returns a new name."""
        self._count += 1
        return f"%v{self._count}"

    def compute(
        self, scope: Scope, kind: Kind, text: str, function: Callable[..., Any], operands: Sequence[str] = ()
    ) -> str:
        """Adds a line that computes a value of others, and returns its name."""
        name = self._add(scope, text, function, operands)
        scope.names.append((name, kind))
        return name

    def _add(self, scope: Scope, text: str, function: Callable[..., Any], operands: Sequence[str]) -> str:
        name = self.name()

        def run(item: Item) -> None:
            item.values[name] = function(*item.given(operands))

        scope.nodes.append(Operation(f"{name} = {text}", run))
        return name

    def constant(self, scope: Scope, kind: Kind, value: Any) -> str:
        """Adds a constant that is for one use; of a vector all components are the same, unless they are given."""
        if not isinstance(value, tuple):
            value = FLOATS[kind.element](value) if kind.is_float else signed(value, kind.element)
            value = (value,) * kind.size if kind.size else value
        return self._add(scope, f"arith.constant {spelled(value, kind)}", lambda: value, ())

    def value(self, scope: Scope, kind: Kind) -> str:
        """Returns a value of a type: one that is there, or a constant."""
        pick = self.random
        there = [name for name, other in scope.names if other == kind]
        if there and pick.random() < 0.85:
            return pick.choice(there[-12:] if pick.random() < 0.7 else there)
        parts = tuple(self._number(kind.element) for _ in range(max(kind.size, 1)))
        name = self.constant(scope, kind, parts if kind.size else parts[0])
        scope.names.append((name, kind))
        return name

    def _number(self, element: str) -> Any:
        pick = self.random
        if element in FLOATS:
            return FLOATS[element](pick.choice(_FLOATS if element == "f16" else _FLOATS + _LARGE))
        least = -(1 << (BITS[element] - 1))
        anything = pick.randint(least, -least - 1), pick.randint(-9, 9)
        return signed(pick.choice((*_INTEGERS, least, least + 1, -least - 1, *anything)), element)

    def binary(self, scope: Scope, kind: Kind, name: str, left: str, right: str) -> str:
        """Adds an operation of `arith` on two integers."""
        function = kind.each(integer_operation(name, kind.element))
        return self.compute(scope, kind, f"arith.{name} {left}, {right} : {kind}", function, (left, right))

    def float_binary(self, scope: Scope, kind: Kind, name: str, left: str, right: str) -> str:
        """Adds an operation of `arith` on two floats."""
        function = kind.each(float_operation(name, kind.element))
        return self.compute(scope, kind, f"arith.{name} {left}, {right} : {kind}", function, (left, right))

    def masked(self, scope: Scope, kind: Kind, mask: int) -> str:
        """Returns a value of which only some low bits are left."""
        value = self.value(scope, kind)
        return self.binary(scope, kind, "andi", value, self.constant(scope, kind, mask))

    def cast(
        self, scope: Scope, kind: Kind, name: str, element: str, function: Callable[[Any], Any], value: str
    ) -> str:
        """Adds a conversion of `arith`."""
        to = kind.of(element)
        return self.compute(scope, to, f"arith.{name} {value} : {kind} to {to}", kind.each(function), [value])

    def cast_float(self, scope: Scope, kind: Kind, element: str, value: str) -> str:
        """Adds a conversion to floats of another size."""
        name = "extf" if int(kind.element[1:]) < int(element[1:]) else "truncf"
        return self.cast(scope, kind, name, element, lambda number: normal(FLOATS[element](number)), value)

    def resize(self, scope: Scope, kind: Kind, element: str, value: str, *, reads_unsigned: bool) -> str:
        """Adds a conversion to integers of another size, of numbers that are read as signed or not."""
        source, ending = kind.element, "ui" if reads_unsigned else "si"
        if "index" in (source, element):
            name = "index_castui" if reads_unsigned else "index_cast"
        else:
            name = "trunci" if BITS[element] < BITS[source] else f"ext{ending}"
        read = unsigned if reads_unsigned else signed
        function = lambda number: signed(read(number, source), element)  # noqa: E731
        return self.cast(scope, kind, name, element, function, value)

    def extract(self, scope: Scope, kind: Kind, value: str, at: int) -> str:
        """Adds a component of a vector."""
        one = Kind(kind.element)
        text = f"vector.extract {value}[{at}] : {one} from {kind}"
        return self.compute(scope, one, text, lambda parts: parts[at], [value])

    def load(self, scope: Scope, array: Array, places: list[str]) -> str:
        """Adds a load."""
        name = self.name()

        def run(item: Item) -> None:
            found = item.values[array.name][tuple(item.given(places))]
            item.values[name] = int(found) if array.element == I32 else found

        scope.nodes.append(Operation(f"{name} = memref.load {array.at(places)}", run))
        scope.names.append((name, array.element))
        return name

    def store(self, scope: Scope, array: Array, places: list[str], value: str) -> None:
        """Adds a store."""

        def run(item: Item) -> None:
            item.values[array.name][tuple(item.given(places))] = item.values[value]

        scope.nodes.append(Operation(f"memref.store {value}, {array.at(places)}", run))

    def load_vector(self, scope: Scope, array: Array, places: list[str], kind: Kind) -> str:
        """Adds a load of elements side by side."""
        name = self.name()

        def run(item: Item) -> None:
            *outer, first = item.given(places)
            row = item.values[array.name][tuple(outer)]
            item.values[name] = tuple(int(number) for number in row[first : first + kind.size])

        scope.nodes.append(Operation(f"{name} = vector.load {array.at(places)}, {kind}", run))
        scope.names.append((name, kind))
        return name

    def store_vector(self, scope: Scope, array: Array, places: list[str], value: str, kind: Kind) -> None:
        """Adds a store of elements side by side."""

        def run(item: Item) -> None:
            *outer, first = item.given(places)
            item.values[array.name][tuple(outer)][first : first + kind.size] = item.values[value]

        scope.nodes.append(Operation(f"vector.store {value}, {array.at(places)}, {kind}", run))
