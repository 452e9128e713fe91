"""Random kernels whose work-items exchange structs, vectors and scalars of every type through shared memory.

Lengths, work-group size and loop bounds are specialization constants.  Every part of every element holds a number from
0 to 63, which all types have, so NumPy does each step with plain integers, all work-items at once.
"""

from __future__ import annotations

import random

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from .programs import COMMON
from .typed_python import BOOL, Type
from .value_kinds import LETTERS, Struct, Vector, leaves, spelled
from .value_programs import ValueGenerator

GROUPS = 3
BF16 = Type("bf16", "float", 16)
ATOMICS = {"add": np.add, "min": np.minimum, "max": np.maximum, "or_": np.bitwise_or, "xor": np.bitwise_xor,
           "and_": np.bitwise_and, "sub": np.subtract}  # fmt: skip
GROUP_OPERATIONS = {"add": np.add, "min": np.minimum, "max": np.maximum}


class SharedProgram:
    """A kernel and its steps in NumPy.

    Args:
        seed: the same gives the same.
        types: names of scalar types.
        debug: whether to compile it in debug mode, which has nothing to find.
    """

    def __init__(self, seed: int, types=COMMON, *, debug: bool = False) -> None:
        self.seed, self.random = seed, random.Random(seed)
        pick, kinds = self.random, ValueGenerator(seed, types)
        kinds.kinds()
        if len(types) > len(COMMON):
            kinds.types.append(BF16)
        self.scalars = [*kinds.types, BOOL]
        self.kind = pick.choice([*kinds.composites, pick.choice(self.scalars)])
        self.leaves = dict(leaves(self.kind))
        self.tile, self.rounds = pick.choice((4, 8, 16)), pick.randrange(4)
        self.rows = pick.choice((0, 0, 1, 2))
        self.items = GROUPS * self.tile
        self.lines: list[str] = []
        self.helpers: list[str] = []
        self.count = 0
        self.steps: list = []
        for _ in range(pick.randrange(3, 8)):
            pick.choice((self.exchange, self.exchange, self.whole, self.ask, self.loop, self.tally, self.together,
                         self.turned))(1)  # fmt: skip
        structs = "".join(s.text() for s in kinds.structs)
        self.text = structs + self._kernel(pick.choice((0, 1, 2)), debug)

    def _kernel(self, level: int, debug: bool) -> str:
        shape = (
            f"({self.rows}, TILE)" if self.rows else self.random.choice(("TILE", "TILE * 2", "TILE + LESS"))
        )
        first = [
            "i = lp.local_id(0)",
            f"s = lp.local.array({shape}, {spelled(self.kind)})",
            "acc = x[lp.global_id(0)]",
            *(f"s[{self._at('i', row)}] = {self._zero()}" for row in range(max(self.rows, 1))),
            "lp.barrier()",
        ]
        last = [
            f"out[lp.global_id(0), {n}] = {self._read('i', leaf, row)}"
            for n, (row, leaf) in enumerate(
                (r, leaf) for r in range(max(self.rows, 1)) for leaf in self.leaves
            )
        ]
        body = [*first, *self.lines, *last, "x[lp.global_id(0)] = acc"]
        return "".join(
            [
                "".join(self.helpers),
                f'@lp.kernel(local_size="TILE", opt_level={level}, debug={debug})\n',
                "def k(x: lp.Array[lp.i32], out: lp.Out[lp.i32, 2], *, TILE: lp.Spec[lp.u32] = 2,\n",
                "      N: lp.Spec[lp.i32] = 1, LESS: lp.Spec[lp.u32] = 9):\n",
                *(f"    {line}\n" for line in body),
            ]
        )

    # Parts of the text.

    def _line(self, indent: int, text: str) -> None:
        self.lines.append("    " * (indent - 1) + text)

    def _at(self, place: str, row: int) -> str:
        return f"{row}, {place}" if self.rows else place

    def _zero(self) -> str:
        if isinstance(self.kind, Struct):
            return f"{self.kind.name}()"
        if isinstance(getattr(self.kind, "element", None), Struct):
            return f"{spelled(self.kind)}()"
        return f"{spelled(self.kind)}(0)" if self.kind is not BOOL else "lp.bool_(False)"

    def _read(self, place: str, leaf: str, row: int) -> str:
        return f"lp.i32(s[{self._at(place, row)}]{leaf})"

    def _of(self, kind: Type, value: str) -> str:
        return f"({value}) % 2 == 1" if kind is BOOL else f"lp.{kind.name}({value})"

    def _leaf(self):
        """Returns a leaf, its type, a row."""
        leaf = self.random.choice(list(self.leaves))
        return leaf, self.leaves[leaf], self.random.randrange(max(self.rows, 1))

    def _neighbour(self) -> tuple[str, int]:
        by = self.random.randrange(5)
        return f"(i + {by}) % lp.i32(TILE)", by

    # Steps: text, and what NumPy does to `acc` of shape (GROUPS, tile) and to the leaves by (row, leaf).

    def exchange(self, indent: int) -> None:
        """A part is written, the barrier waits, a neighbour's part is read."""
        (leaf, kind, row), (other, _, row2), (place, by) = self._leaf(), self._leaf(), self._neighbour()
        self._line(indent, f"s[{self._at('i', row)}]{leaf} = {self._of(kind, 'acc')}")
        self._line(indent, "lp.barrier()")
        self._line(indent, f"acc = (acc * 5 + {self._read(place, other, row2)} + 1) & 63")
        self._line(indent, "lp.barrier()")

        def step(acc, parts, _):
            parts[row, leaf] = acc % 2 if kind is BOOL else acc
            return (acc * 5 + np.roll(parts[row2, other], -by, 1) + 1) & 63

        self.steps.append(step)

    def whole(self, indent: int) -> None:
        """An element is copied from a neighbour, changed, and stored whole."""
        (leaf, kind, row), (place, by) = self._leaf(), self._neighbour()
        self.count += 1
        name = f"t{self.count}"
        self._line(indent, f"{name} = s[{self._at(place, row)}]")
        self._line(indent, "lp.barrier()")
        if leaf:
            self._line(indent, f"{name}{leaf} = {self._of(kind, 'acc')}")
        self._line(indent, f"s[{self._at('i', row)}] = {name}")
        self._line(indent, "lp.barrier()")

        def step(acc, parts, _):
            for path in self.leaves:
                parts[row, path] = np.roll(parts[row, path], -by, 1)
            if leaf:
                parts[row, leaf] = acc % 2 if kind is BOOL else acc
            return acc

        self.steps.append(step)

    def ask(self, indent: int) -> None:
        """A helper of several returns with a default gets the array."""
        (leaf, _, row), number = self._leaf(), self.random.randrange(1, 4)
        name = f"h{len(self.helpers)}"
        read = self._read("(i + by) % size", leaf, row)
        self.helpers.append(
            f"def {name}(s, i, size, acc, by=1):\n    if acc > 40:\n        return {read}\n"
            f"    for n in range(3):\n        if (acc + n) % 3 == by % 3:\n            return acc + n\n    return 5\n"
        )
        is_named = self.random.random() < 0.5
        self._line(indent, f"acc = {name}(s, i, lp.i32(TILE), acc{f', by={number}' if is_named else ''})")

        def step(acc, parts, _):
            by = number if is_named else 1
            found = acc + (by % 3 - acc) % 3
            return np.where(acc > 40, np.roll(parts[row, leaf], -by, 1), found) & 63

        self._line(indent, "acc &= 63")
        self._line(indent, "lp.barrier()")
        self.steps.append(step)

    def loop(self, indent: int) -> None:
        """Rounds whose number is a specialization constant."""
        if indent > 2:
            return
        bound, times = self.random.choice((("N", lambda: self.rounds), ("TILE // 4", lambda: self.tile // 4),
                                           ("N + 1", lambda: self.rounds + 1)))  # fmt: skip
        self.count += 1
        name = f"r{self.count}"
        is_down = self.random.random() < 0.3
        self._line(indent, f"for {name} in range({bound} - 1, -1, -1):" if is_down and "TILE" not in bound
                   else f"for {name} in range({bound}):")  # fmt: skip
        outer, self.steps = self.steps, []
        self._line(indent + 1, f"acc = (acc + lp.i32({name})) & 63")
        for _ in range(self.random.randrange(1, 3)):
            self.random.choice((self.exchange, self.whole, self.ask))(indent + 1)
        inner, self.steps = self.steps, outer

        def step(acc, parts, number):
            rounds = range(times())
            for r in reversed(rounds) if is_down and "TILE" not in bound else rounds:
                acc = (acc + r) & 63
                for each in inner:
                    acc = each(acc, parts, number)
            return acc

        self.steps.append(step)

    def tally(self, indent: int) -> None:
        """Atomic operations of a type on shared memory of its own; the order does not matter."""
        kind = self.random.choice([t for t in self.scalars if t is not BOOL])
        names = ["add", "min", "max"] + ([] if kind.is_float else ["or_", "xor", "and_"])
        name, places = self.random.choice(names), self.random.choice((1, 2, 3))
        if name == "add" and self.tile == 16:
            places = 3
        self.count += 1
        array = f"c{self.count}"
        if indent > 1:
            return
        for text in (f"{array} = lp.local.array({places}, lp.{kind.name})", f"if i < {places}:",
                     f"    {array}[i] = {self._of(kind, 'i + 3')}", "lp.barrier()",
                     f"lp.atomic.{name}({array}, i % {places}, lp.{kind.name}(acc & 7))", "lp.barrier()",
                     f"acc = (acc + lp.i32({array}[(i + 1) % {places}])) & 63"):  # fmt: skip
            self._line(indent, text)

        def step(acc, _parts, _number):
            found = np.empty((GROUPS, places), np.int64)
            for place in range(places):
                each = acc[:, place::places] & 7
                start = np.full((GROUPS, 1), place + 3)
                found[:, place] = ATOMICS[name].reduce(np.concatenate([start, each], 1), axis=1)
            return (acc + found[:, (np.arange(self.tile) + 1) % places]) & 63

        self.steps.append(step)

    def together(self, indent: int) -> None:
        """A function of the work-group, of any type."""
        kind = self.random.choice([t for t in self.scalars if t is not BOOL])
        name = self.random.choice(list(GROUP_OPERATIONS))
        call = self.random.choice(("reduce", "inclusive_scan", "exclusive_scan", "broadcast"))
        value = f"lp.{kind.name}(acc & 7)"
        if call == "exclusive_scan" and name != "add":  # the first is the neutral element
            call = "inclusive_scan"
        last = "2" if call == "broadcast" else f'"{name}"'
        self._line(indent, f"acc = (acc * 3 + lp.i32(lp.group.{call}({value}, {last}))) & 63")

        def step(acc, _parts, _number):
            low = acc & 7
            scanned = GROUP_OPERATIONS[name].accumulate(low, axis=1)
            found = {"reduce": scanned[:, -1:], "inclusive_scan": scanned, "exclusive_scan": scanned - low,
                     "broadcast": low[:, 2:3]}[call]  # fmt: skip
            return (acc * 3 + found) & 63

        self.steps.append(step)

    def turned(self, indent: int) -> None:
        """A swizzle is a target: components of the own vector change places."""
        found = [(path, kind) for path, kind in _vectors(self.kind) if kind.size > 1]
        if not found:
            return
        (path, kind), row = self.random.choice(found), self.random.randrange(max(self.rows, 1))
        size = self.random.randrange(2, kind.size + 1)
        left, right = ("".join(self.random.sample(LETTERS[: kind.size], size)) for _ in range(2))
        self.count += 1
        name, place = f"t{self.count}", f"s[{self._at('i', row)}]{path}"
        self._line(indent, f"{name} = {place}")
        self._line(indent, f"{name}.{left} = {name}.{right}")
        self._line(indent, f"{place} = {name}")
        self._line(indent, "lp.barrier()")

        def step(acc, parts, _):
            values = [parts[row, f"{path}.{letter}"].copy() for letter in right]
            for letter, value in zip(left, values, strict=True):
                parts[row, f"{path}.{letter}"] = value
            return acc

        self.steps.append(step)

    # Running.

    def check(self, devices) -> None:
        """Raises AssertionError where a device, or the interpreter (None), differs from NumPy."""
        start = np.random.default_rng(self.seed).integers(0, 64, self.items).astype(np.int32)
        rows = max(self.rows, 1)
        acc = start.reshape(GROUPS, self.tile).astype(np.int64)
        parts = {(row, leaf): np.zeros_like(acc) for row in range(rows) for leaf in self.leaves}
        for number, step in enumerate(self.steps):
            acc = step(acc, parts, number)
        wanted = np.stack([part.ravel() for part in parts.values()], 1)
        source = "import lapilli as lp\n" + self.text
        kernel = lp.kernel_from_source(source, name="k")
        spec = {"TILE": self.tile, "N": self.rounds, "LESS": self.seed % 5}
        for device in devices:
            x, out = start.copy(), np.zeros(wanted.shape, np.int32)
            if device is None:
                ids = kernel.specialization_ids
                interpret(
                    kernel, self.items, (x, out), spec={ids[name]: value for name, value in spec.items()}
                )
            else:
                there = lp.asarray(x, device=device), lp.asarray(out, device=device)
                kernel[self.items](*there, **spec)
                x, out = (array.numpy() for array in there)
            where = f"seed {self.seed}, {device or 'interpreter'}, {spec}\n{source}"
            np.testing.assert_array_equal(x, acc.ravel(), where)
            np.testing.assert_array_equal(out, wanted, where)


def _vectors(kind, path=""):
    """Yields the vectors in a kind: how each is reached, what it is."""
    if isinstance(kind, Vector):
        yield path, kind
    elif not isinstance(kind, Type):
        for part, inner in kind.parts().items():
            yield from _vectors(inner, path + part)
