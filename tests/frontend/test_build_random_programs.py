"""Random functions of nested branches, loops and jumps: Python and the IR must give the same numbers."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.passes.optimise.pipeline import optimise

DATA = [-3, 5, 0, 2, 7, -1, 4, 1]
PROGRAMS = 40


class Generator:
    """Writes one function; every loop ends and every index is in range."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0

    def text(self):
        self.line(0, "def f(x, i):")
        self.line(1, "a, b, c = i, 1, 2")
        self.block(1, 0, False)
        self.block(1, 0, False)
        self.line(1, "return a + b * 3 + c * 7")
        self.line(0, "@lp.kernel")
        self.line(0, "def k(x: lp.In[lp.i32], y: lp.Out[lp.i32]):")
        self.line(1, "i = lp.global_id(0)")
        self.line(1, "y[i] = f(x, i)")
        return "\n".join(self.lines) + "\n"

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def number(self, depth=0):
        pick, part = self.random, lambda: self.number(depth + 1)
        kind = pick.randrange(8 if depth < 2 else 4)
        match kind:
            case 0:
                return str(pick.randrange(-3, 6))
            case 1 | 2:
                return pick.choice("abc")
            case 3:
                return f"x[({pick.choice('abc')}) % 8]"
            case 4:
                return f"({part()} {pick.choice('+-')} {part()})"
            case 5:
                return f"({part()} {pick.choice(['%', '//'])} {pick.choice([2, 3, 5, -3])})"
            case 6:
                return f"({part()} if {self.test(depth + 1)} else {part()})"
            case _:
                return f"min({part()}, {part()})"

    def test(self, depth=0):
        kind = self.random.randrange(6)
        if kind < 3 or depth > 2:
            return f"{self.number(2)} {self.random.choice(['<', '>', '==', '!=', '<='])} {self.number(2)}"
        if kind == 5:
            return f"not {self.test(depth + 1)}"
        return f"({self.test(depth + 1)} {'and' if kind == 3 else 'or'} {self.test(depth + 1)})"

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.randrange(12)
            if kind < 4 or depth > 3:
                self.line(indent, f"{self.random.choice('abc')} = ({self.number()}) % 1000")
            elif kind < 7:
                self.line(indent, f"if {self.test()}:")
                self.block(indent + 1, depth + 1, in_loop)
                self.maybe_else(indent, depth, in_loop, 0.5)
            elif kind < 10:
                self.loop(indent, depth, in_loop, kind)
            elif kind == 10 and in_loop:
                self.line(indent, self.random.choice(["break", "continue"]))
                return
            elif kind == 11 and self.random.random() < 0.5:
                self.line(indent, f"return {self.number()}")
                return
            else:
                self.line(indent, f"a, b = b, (a + {self.number()}) % 100")

    def loop(self, indent, depth, in_loop, kind):
        self.loops += 1
        name = f"v{self.loops}"
        if kind == 7:
            stop = self.random.choice(["4", "a % 5", "b % 4 + 1"])
            self.line(
                indent,
                f"for {name} in range({self.random.randrange(-2, 3)}, {stop}, {self.random.choice([1, 1, 2, 3])}):",
            )
            self.line(indent + 1, f"c = c + {name}")
        elif kind == 8:
            self.line(indent, f"{name} = 0")
            self.line(indent, f"while {name} < 4 and {self.test()}:")
            self.line(indent + 1, f"{name} += 1")
        else:
            self.line(indent, f"for {name} in (1, 4, 2):")
            self.line(indent + 1, f"a = a + {name}")
        self.block(indent + 1, depth + 1, True)
        self.maybe_else(indent, depth, in_loop, 0.3)

    def maybe_else(self, indent, depth, in_loop, probability):
        if self.random.random() < probability:
            self.line(indent, "else:")
            self.block(indent + 1, depth + 1, in_loop)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program_gives_what_python_gives(seed, run_kernel):
    text = Generator(seed).text()
    file = f"<random program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"lp": lp}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    module = build_module([names["k"]])
    module.verify()
    result = np.zeros(len(DATA), np.int32)
    run_kernel(module, "k", [np.array(DATA, np.int32), result], (len(DATA),))

    assert [int(lp.i32(names["f"](DATA, i))) for i in range(len(DATA))] == result.tolist(), text

    for level in (1, 2):  # what the optimiser leaves computes the same
        optimised = module.clone()
        optimise(optimised, level)
        optimised.verify()
        again = np.zeros(len(DATA), np.int32)
        run_kernel(optimised, "k", [np.array(DATA, np.int32), again], (len(DATA),))
        assert again.tolist() == result.tolist(), text
