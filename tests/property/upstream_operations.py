"""Random lines of kernels written for MLIR: `arith`, `vector` and `memref` on every type, undefined nowhere."""

from __future__ import annotations

from functools import reduce

import numpy as np

from .upstream_lines import Array, Lines, Scope
from .upstream_nodes import Item, Operation
from .upstream_types import (
    ARITHMETIC,
    BITS,
    CHOICES,
    DIVISIONS,
    FLOAT_TESTS,
    FLOATS,
    I32,
    INDEX,
    INTEGER_TESTS,
    PLAIN,
    REDUCTIONS,
    SHIFTS,
    TRUTH,
    Kind,
    bounds,
    float_of,
    float_test,
    integer_operation,
    integer_test,
    signed,
    unsigned,
)

X = Array("%x", (16,), "memref<?xi32>")
"""What all work-items read."""
W = Array("%w", (16, 8), "memref<?x?xi32>")
"""Each work-item reads and writes a row."""
ROW = Array("%row", (8,), "memref<8xi32, strided<[1], offset: ?>>")
"""A view of that row."""
Y = Array("%y", (16, 10), "memref<?x?xi32>")
"""The results, a row of each work-item."""


class Operations(Lines):
    """Adds operations of any kind, with what they need."""

    def start(self, scope: Scope) -> None:
        """Adds values of every type that no compiler knows."""
        for kind in dict.fromkeys(self.kinds):
            parts = [self._unknown(scope, kind.element) for _ in range(max(kind.size, 1))]
            if kind.size:
                text = f"vector.from_elements {', '.join(parts)} : {kind}"
                self.compute(scope, kind, text, lambda *values: values, parts)

    def _unknown(self, scope: Scope, element: str) -> str:
        array = self.random.choice((X, W))
        value = self.load(scope, array, self._place(scope, array))
        if element == "i32":
            return value
        if element not in FLOATS:
            return self.resize(scope, I32, element, value, reads_unsigned=False)
        narrow = self.resize(scope, I32, "i8", value, reads_unsigned=False) if element == "f16" else value
        kind = Kind("i8") if element == "f16" else I32
        return self.cast(scope, kind, "sitofp", element, lambda number: float_of(number, element), narrow)

    def line(self, scope: Scope) -> None:
        """Adds an operation of any family, and what it needs."""
        pick = self.random
        kind = pick.choice(self.kinds)
        family = pick.randrange(20)
        if family < 3:
            self._convert(scope, kind)
        elif family < 5:
            self._select(scope, kind, pick.choice((TRUTH, kind.of("i1"))))
        elif family < 7 and scope.arrays:
            self._access(scope)
        elif family < 9 and kind.size:
            self._of_vector(scope, kind)
        elif family == 9:
            self._vector_of(scope, pick.choice([kind for kind in self.kinds if kind.size]))
        elif kind.is_float:
            self._of_floats(scope, kind)
        else:
            self._of_integers(scope, kind)

    def _select(self, scope: Scope, kind: Kind, test: Kind) -> None:
        operands = [self.value(scope, needed) for needed in (test, kind, kind)]
        types = f"{test}, {kind}" if test.size else str(kind)
        function = test.each(lambda chosen, a, b: a if chosen else b)
        self.compute(scope, kind, f"arith.select {', '.join(operands)} : {types}", function, operands)

    def _of_integers(self, scope: Scope, kind: Kind) -> None:
        pick = self.random
        family = pick.randrange(10)
        if family < 3:
            test = pick.choice(INTEGER_TESTS)
            operands = [self.value(scope, kind), self.value(scope, kind)]
            function = kind.each(integer_test(test, kind.element))
            text = f"arith.cmpi {test}, {', '.join(operands)} : {kind}"
            self.compute(scope, kind.of("i1"), text, function, operands)
        elif family == 3 and kind.element != "i1":
            self.binary(scope, kind, pick.choice(SHIFTS), self.value(scope, kind), self._amount(scope, kind))
        elif family < 6 and kind.element != "i1":
            name = pick.choice(DIVISIONS)
            divisor = self._divisor(scope, kind, is_unsigned=name.endswith("ui"))
            self.binary(scope, kind, name, self.value(scope, kind), divisor)
        elif family == 6 and kind.element not in ("i1", "index"):
            self._extended(scope, kind)
        else:
            self.binary(scope, kind, pick.choice(PLAIN), self.value(scope, kind), self.value(scope, kind))

    def _amount(self, scope: Scope, kind: Kind) -> str:
        bits = BITS[kind.element]
        if self.random.random() < 0.6:
            return self.constant(scope, kind, self.random.randrange(bits))
        return self.masked(scope, kind, bits - 1)

    def _divisor(self, scope: Scope, kind: Kind, *, is_unsigned: bool) -> str:
        pick = self.random
        if pick.random() < 0.6:
            more = (-1, -7, 1 << (BITS[kind.element] - 1)) if is_unsigned else (4, 5, 7, 16)
            return self.constant(scope, kind, pick.choice((1, 2, 3, 8, 100, *more)))
        low, one = self.masked(scope, kind, 7), self.constant(scope, kind, 1)
        return self.binary(scope, kind, "addi", low, one)

    def _extended(self, scope: Scope, kind: Kind) -> None:
        """Adds an operation of two results."""
        name = self.random.choice(("addui_extended", "mulsi_extended", "mului_extended"))
        operands = [self.value(scope, kind), self.value(scope, kind)]
        low, high, element = self.name(), self.name(), kind.element
        high_kind = kind.of("i1") if name == "addui_extended" else kind

        def parts(a: int, b: int) -> tuple[int, int]:
            if name != "mulsi_extended":
                a, b = unsigned(a, element), unsigned(b, element)
            whole = a + b if name == "addui_extended" else a * b
            return signed(whole, element), signed(whole >> BITS[element], high_kind.element)

        def run(item: Item) -> None:
            found = kind.each(parts)(*item.given(operands))
            item.take((low, high), zip(*found, strict=True) if kind.size else found)

        types = f"{kind}, {high_kind}" if name == "addui_extended" else str(kind)
        scope.nodes.append(Operation(f"{low}, {high} = arith.{name} {', '.join(operands)} : {types}", run))
        scope.names += [(low, kind), (high, high_kind)]

    def _of_floats(self, scope: Scope, kind: Kind) -> None:
        pick = self.random
        operands = [self.value(scope, kind), self.value(scope, kind)]
        if pick.random() < 0.4:
            test = pick.choice(FLOAT_TESTS)
            text = f"arith.cmpf {test}, {', '.join(operands)} : {kind}"
            self.compute(scope, kind.of("i1"), text, kind.each(float_test(test)), operands)
            return
        # Of f16 no arithmetic, which drivers round in their own ways.
        names = [*CHOICES] if kind.element == "f16" else [*CHOICES, *ARITHMETIC]
        self.float_binary(scope, kind, pick.choice(names), *operands)

    def _convert(self, scope: Scope, kind: Kind) -> None:
        """Adds a conversion of a value of some type to another one."""
        pick, element, value = self.random, kind.element, self.value(scope, kind)
        if kind.is_float:
            others = [name for name in self.floats if name not in (element, "f16")]
            if others and pick.random() < 0.4:
                self.cast_float(scope, kind, pick.choice(others), value)
            else:
                numbers = [name for name in self.integers if name not in ("i1", "index")]
                self._to_integer(scope, kind, pick.choice(numbers), value)
        elif pick.random() < 0.4 and element != "index":
            is_exact = BITS[element] <= 8  # in f16, too, to which drivers round in their own ways
            others = [name for name in self.floats if name != "f16" or is_exact]
            self._to_float(scope, kind, pick.choice(others), value)
        else:
            same = ("index", "i1") if element in ("index", "i1") else (element,)
            others = [name for name in self.integers if name not in same]
            self.resize(scope, kind, pick.choice(others), value, reads_unsigned=pick.random() < 0.5)

    def _to_float(self, scope: Scope, kind: Kind, element: str, value: str) -> None:
        source = kind.element
        if self.random.random() < 0.5:
            function = lambda number: float_of(unsigned(number, source), element)  # noqa: E731
            self.cast(scope, kind, "uitofp", element, function, value)
        else:
            self.cast(scope, kind, "sitofp", element, lambda number: float_of(number, element), value)

    def _to_integer(self, scope: Scope, kind: Kind, element: str, value: str) -> None:
        """Adds a conversion of floats that the integer type has numbers for; NaN becomes the least."""
        is_unsigned = self.random.random() < 0.5
        least, greatest = bounds(kind.element, element, is_unsigned=is_unsigned)
        value = self.float_binary(scope, kind, "maxnumf", value, self.constant(scope, kind, least))
        value = self.float_binary(scope, kind, "minnumf", value, self.constant(scope, kind, greatest))
        name = "fptoui" if is_unsigned else "fptosi"
        self.cast(scope, kind, name, element, lambda number: signed(int(number), element), value)

    def _of_vector(self, scope: Scope, kind: Kind) -> None:
        """Adds an operation of a vector's components."""
        pick, value = self.random, self.value(scope, kind)
        one, at = Kind(kind.element), pick.randrange(kind.size)
        family = pick.randrange(4)
        if family == 0 and not kind.is_float and kind.element != "index":
            name = pick.choice(list(REDUCTIONS))
            step = integer_operation(REDUCTIONS[name], kind.element)
            text = f"vector.reduction <{name}>, {value} : {kind} into {one}"
            self.compute(scope, one, text, lambda parts: reduce(step, parts), [value])
        elif family == 1:
            other = self.value(scope, one)
            text = f"vector.insert {other}, {value}[{at}] : {one} into {kind}"
            changed = lambda part, parts: (*parts[:at], part, *parts[at + 1 :])  # noqa: E731
            self.compute(scope, kind, text, changed, [other, value])
        elif family == 2:
            other = self.value(scope, kind)
            order = [pick.randrange(2 * kind.size) for _ in range(kind.size)]
            text = f"vector.shuffle {value}, {other} {order} : {kind}, {kind}"
            self.compute(scope, kind, text, lambda a, b: tuple((a + b)[k] for k in order), [value, other])
        else:
            self.extract(scope, kind, value, at)

    def _vector_of(self, scope: Scope, kind: Kind) -> None:
        """Adds a vector of scalars."""
        one = Kind(kind.element)
        if self.random.random() < 0.4:
            value = self.value(scope, one)
            text = f"vector.broadcast {value} : {one} to {kind}"
            self.compute(scope, kind, text, lambda part: (part,) * kind.size, [value])
            return
        values = [self.value(scope, one) for _ in range(kind.size)]
        text = f"vector.from_elements {', '.join(values)} : {kind}"
        self.compute(scope, kind, text, lambda *parts: parts, values)

    def _access(self, scope: Scope) -> None:
        """Adds a load or a store."""
        array, is_load = self.random.choice(scope.arrays), self.random.random() < 0.5
        if array.element == I32 and self.random.random() < 0.2:
            kind, places = Kind("i32", self.size), self._place(scope, array, is_vector=True)
            if array is X or is_load:
                self.load_vector(scope, array, places, kind)
            else:
                self.store_vector(scope, array, places, self.value(scope, kind), kind)
            return
        places = self._place(scope, array)
        if array is X or is_load:
            self.load(scope, array, places)
        else:
            self.store(scope, array, places, self.value(scope, array.element))

    def _place(self, scope: Scope, array: Array, *, is_vector: bool = False) -> list[str]:
        """Returns where an element is, or a vector of up to half a row: of `W` in the work-item's own row."""
        places = ["%i"] if array is W else []
        extents = list(array.shape[len(places) :])
        if is_vector:
            extents[-1] //= 2
        return places + [self.masked(scope, INDEX, extent - 1) for extent in extents]

    def make_arrays(self, scope: Scope) -> None:
        """Adds a work-item's own array with its elements, and a view of its row of `W`."""
        kind = self.random.choice(self.kinds)
        private = Array("%private", (2, 4), f"memref<2x4x{kind}>", kind)

        def allocate(item: Item) -> None:
            item.values[private.name] = np.zeros(private.shape, object)

        def view(item: Item) -> None:
            item.values[ROW.name] = item.values[W.name][item.values["%i"]]

        scope.nodes.append(Operation(f"{private.name} = memref.alloca() : {private.kind}", allocate))
        part = f"{W.name}[%i, 0] [1, 8] [1, 1] : {W.kind} to {ROW.kind}"
        scope.nodes.append(Operation(f"{ROW.name} = memref.subview {part}", view))
        for place in np.ndindex(private.shape):
            places = [self.constant(scope, INDEX, index) for index in place]
            self.store(scope, private, places, self.value(scope, kind))
        scope.arrays = (X, W, ROW, private)
