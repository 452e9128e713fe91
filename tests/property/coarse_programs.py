"""Random kernels with the accesses that coarsening joins: rows, stencils, branches, loops and calls.

A work-item writes elements of its own only, so what all of them compute together does not depend on their order.
"""

from __future__ import annotations

import random

MARGIN = 8
"""How far a read array goes on behind the range along the last dimension."""
COMMON = ("i32", "u32", "f32")
WIDE = ("i8", "u16", "i64", "f16", "f64")
HELPERS = """
def short(v, w):
    for k in range(3):
        if v > 5:
            v = v - w
    return v


def long(v, n):
"""
"""Helpers that are inlined, and the head of one that is not."""


class Generator:
    """Writes one kernel `k(x, w, y, z, limit)`; the same seed gives the same text.

    `x` is only read, at any neighbour; `w` at places that all work-items share; `y` and `z` at the work-item's own
    element.

    Args:
        seed: of the random choices.
        dtype: of the elements.
        rank: of the range, 1 or 2.
    """

    def __init__(self, seed: int, dtype: str, rank: int) -> None:
        self._random = random.Random(seed)
        self._dtype = dtype
        self._rank = rank
        self._lines: list[str] = []
        self._variables: list[str] = []

    def text(self) -> str:
        """Returns the source of the kernel."""
        of = f"lp.{self._dtype}" + (", 2" if self._rank == 2 else "")
        self._lines = [
            "import lapilli as lp",
            HELPERS.rstrip(),
            *(f"    v = v * 3 + (v if v > {k} else n) // 2" for k in range(9)),
            "    return v",
            "@lp.kernel",
            f"def k(x: lp.In[{of}], w: lp.Array[lp.{self._dtype}], y: lp.Array[{of}], z: lp.Array[{of}],",
            "      limit: lp.i32):",
            f"    j = lp.global_id({self._rank - 1})",
            "    i = lp.global_id(0)",
            f"    a = lp.{self._dtype}(3)",
            f"    b = x[{self._place(0)}]",
        ]
        self._variables = ["a", "b"]
        self._statements(1, 4)
        self._line(1, f"y[{self._own()}] = a")
        return "\n".join(self._lines) + "\n"

    def _line(self, indent: int, text: str) -> None:
        self._lines.append("    " * indent + text)

    def _place(self, offset: int) -> str:
        row = self._random.choice(("i", "i", "i + 1", "i // 4")) + ", " if self._rank == 2 else ""
        column = self._random.choice(("j", "j", "j", "j // 4", "j // 12 * 8", "(j + 2) // 4 * 2"))
        return f"{row}{column} + {offset}" if offset else f"{row}{column}"

    def _own(self) -> str:
        return "i, j" if self._rank == 2 else "j"

    def _value(self, depth: int = 0) -> str:
        choice = self._random.randrange(9)
        if choice == 8:
            return f"{self._random.choice(('short', 'long'))}({self._value(depth + 1)}, {self._value(depth + 1)})"
        if choice < 2 or depth > 2:
            return self._random.choice(self._variables)
        if choice < 4:
            return f"x[{self._place(self._random.randrange(MARGIN))}]"
        if choice == 4:
            return f"w[{self._random.choice(('0', '5', 'limit', 'i % 8'))}]"
        if choice == 5:
            return f"{self._random.choice('yz')}[{self._own()}]"
        if choice == 6:
            return f"lp.{self._dtype}({self._random.choice(('i', 'j', 'limit', '(j - 4) // 8', 'j // 2'))})"
        operator = self._random.choice("+-*")
        return f"({self._value(depth + 1)} {operator} {self._value(depth + 1)})"

    def _condition(self) -> str:
        return self._random.choice(
            (
                "j > 0",
                "j > 2 and j < lp.global_range(0) - 3",
                "i > 1 or j % 3 == 0",
                f"{self._value(2)} > a",
                "limit > 2",
                "j % 4 == 1",
                "j // 8 % 2 == 0",
                "0 < i < 5",
            )
        )

    def _statements(self, indent: int, count: int) -> None:
        for _ in range(count):
            self._statement(indent)

    def _statement(self, indent: int) -> None:
        choice = self._random.randrange(7 if indent < 3 else 3)
        if choice < 2:
            self._line(indent, f"{self._random.choice('ab')} = {self._value()}")
        elif choice == 2:
            self._line(indent, f"{self._random.choice('yz')}[{self._own()}] = {self._value()}")
        elif choice == 3:
            bound = self._random.choice(("3", "limit", "limit + 2", "5"))
            self._line(indent, f"for n{indent} in range({bound}):")
            self._line(indent + 1, f"a += w[n{indent}] * x[{self._place(0)} + n{indent} % {MARGIN}]")
            self._statements(indent + 1, 1)
        else:
            self._line(indent, f"if {self._condition()}:")
            self._statements(indent + 1, self._random.randrange(1, 3))
            if self._random.random() < 0.6:
                self._line(indent, "else:")
                self._statements(indent + 1, self._random.randrange(1, 3))
