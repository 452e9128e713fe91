"""Random kernels of sub-groups: reductions, scans, votes, ballots, broadcasts and shuffles in branches and loops that
lanes take alone or together, in work-groups that fill their last sub-group or do not.

NumPy does each step for all work-items at once, under a mask of those that take part.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

GROUPS = 3
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
VARIABLES = ("a", "b", "c")
COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
           "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
TESTS = {"<": np.less, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}

Step = Callable[["Lanes", np.ndarray], None]
"""Does something to the variables of the work-items under a mask."""


class Lanes:
    """What the work-items of a launch hold.

    Args:
        x: their numbers to begin with, a row for each variable.
        local: work-items of a group.
        size: lanes of a sub-group.
    """

    def __init__(self, x: np.ndarray, local: int, size: int) -> None:
        self.values = {name: row.copy() for name, row in zip(VARIABLES, x, strict=True)}
        items = np.arange(x.shape[1])
        within = items % local
        self.lane = within % size
        first = items - self.lane
        self.count = np.minimum(size, local - (within - self.lane))
        self.parts = [items[first == start] for start in np.unique(first)]
        self.gone: list[np.ndarray] = []
        """Of each loop around: who has left it."""
        self.skipping: list[np.ndarray] = []
        """Of each loop around: who has left its round."""

    def running(self, mask: np.ndarray) -> np.ndarray:
        """Returns those of a mask that have not left the innermost loop or its round."""
        return mask & ~self.gone[-1] & ~self.skipping[-1] if self.gone else mask

    def by_part(self, mask: np.ndarray, values: np.ndarray, function) -> np.ndarray:
        """Gives the lanes of each sub-group that take part what a function makes of their values."""
        result = np.zeros(len(mask), np.asarray(function(values[:1])).dtype)
        for part in self.parts:
            active = part[mask[part]]
            if active.size:
                result[active] = function(values[active])
        return result


class LaneProgram:
    """A kernel and its steps.

    Args:
        seed: the same gives the same.
        types: names of integer types, one of which it is about.
    """

    def __init__(self, seed: int, types: Sequence[str] = ("i32", "u32")) -> None:
        self.seed, self.random = seed, random.Random(seed)
        pick = self.random
        self.kind = pick.choice(types)
        self.dtype = np.dtype({"i": "int", "u": "uint"}[self.kind[0]] + self.kind[1:])
        self.local = pick.choice((4, 8, 16, 12, 7, 24, 1))
        self.lines: list[str] = []
        self.counter = 0
        self.steps = self._block(1, 0, is_whole=True, in_loop=False, count=pick.randrange(3, 8))
        level = pick.choice((0, 1, 1, 2))
        self.text = "".join(
            [
                f"@lp.kernel(local_size={self.local}, opt_level={level})\n",
                f"def k(x: lp.In[lp.{self.kind}, 2], y: lp.Out[lp.{self.kind}, 2]):\n",
                "    i = lp.global_id(0)\n",
                "    lane, size = lp.sub_group.id(), lp.sub_group.size()\n",
                f"    count = min(size, {self.local} - lp.sub_group.index() * size)\n",
                "    a, b, c = x[0, i], x[1, i], x[2, i]\n",
                *(line + "\n" for line in self.lines),
                "    y[0, i], y[1, i], y[2, i] = a, b, c\n",
            ]
        )

    # Expressions: text, and a function of `Lanes`.

    def _value(self, depth: int = 0):
        pick = self.random
        choice = pick.randrange(6 if depth < 2 else 3)
        if choice < 2:
            name = pick.choice(VARIABLES)
            return name, lambda s: s.values[name]
        if choice == 2:
            number = pick.randrange(8)
            if pick.random() < 0.5:
                return f"lp.{self.kind}(lane)", lambda s: s.lane.astype(self.dtype)
            return f"lp.{self.kind}({number})", lambda s: np.full(len(s.lane), number, self.dtype)
        (left, f), (right, g) = self._value(depth + 1), self._value(depth + 1)
        symbol, function = pick.choice(
            (
                ("+", np.add),
                ("-", np.subtract),
                ("*", np.multiply),
                ("^", np.bitwise_xor),
                ("&", np.bitwise_and),
            )
        )
        return f"({left} {symbol} {right})", lambda s: function(f(s), g(s))

    def _test(self):
        pick = self.random
        (left, f), symbol = self._value(1), pick.choice(list(TESTS))
        number = pick.randrange(4)
        if pick.random() < 0.5:
            return f"({left} & 3) {symbol} {number}", lambda s: TESTS[symbol](
                f(s) & self.dtype.type(3), number
            )
        right, g = self._value(1)
        return f"{left} {symbol} {right}", lambda s: TESTS[symbol](f(s), g(s))

    def _call(self, is_whole: bool):
        """Returns a call that gives a number; nobody is asked for what lanes have that may not be here."""
        pick, (value, f) = self.random, self._value()
        form = pick.randrange(8 if is_whole else 5)
        if form < 2:
            op = pick.choice(list(COMBINE))
            ufunc = COMBINE[op]
            return (
                f'lp.sub_group.reduce({value}, "{op}")',
                lambda s, m: s.by_part(m, f(s), lambda v: ufunc.reduce(v, dtype=self.dtype)),
            )
        if form == 2:
            return self._scan(value, f)
        if form == 3:
            test, t = self._test()
            name, function = pick.choice((("any", np.any), ("all", np.all)))
            return (
                f"lp.{self.kind}(lp.sub_group.{name}({test}))",
                lambda s, m: s.by_part(m, t(s), function).astype(self.dtype),
            )
        if form == 4:
            test, t = self._test()
            return (
                f"lp.{self.kind}(lp.popcount(lp.sub_group.ballot({test}).x))",
                lambda s, m: s.by_part(m, t(s), np.count_nonzero).astype(self.dtype),
            )
        return self._passed(value, f)

    def _scan(self, value, f):
        op, is_inclusive = self.random.choice(list(COMBINE)), self.random.random() < 0.5
        ufunc, info = COMBINE[op], np.iinfo(self.dtype)
        none = {"mul": 1, "min": info.max, "max": info.min, "and": np.array(-1).astype(self.dtype)}.get(op, 0)

        def scan(v):
            found = ufunc.accumulate(v, dtype=self.dtype)
            return found if is_inclusive else np.concatenate([[self.dtype.type(none)], found[:-1]])

        name = "inclusive_scan" if is_inclusive else "exclusive_scan"
        return f'lp.sub_group.{name}({value}, "{op}")', lambda s, m: s.by_part(m, f(s), scan)

    def _passed(self, value, f):
        """Returns a shuffle or broadcast; where there is no lane to take from, the work-item's own value."""
        pick = self.random
        form, by = (
            pick.choice(("shuffle", "shuffle_xor", "shuffle_up", "shuffle_down", "broadcast")),
            pick.randrange(5),
        )
        places = {
            "shuffle": lambda s: (s.lane + by) % s.count,
            "shuffle_xor": lambda s: s.lane ^ by,
            "shuffle_up": lambda s: s.lane - by,
            "shuffle_down": lambda s: s.lane + by,
            "broadcast": lambda s: s.lane * 0,
        }

        def function(s, _):
            place, values = places[form](s), f(s)
            found = values[np.arange(len(values)) - s.lane + np.clip(place, 0, s.count - 1)]
            return np.where((place >= 0) & (place < s.count), found, values)

        if form == "broadcast":
            return f"lp.sub_group.broadcast({value})", function
        if form == "shuffle":
            return f"lp.sub_group.shuffle({value}, (lane + {by}) % count)", function
        place = {"shuffle_xor": f"lane ^ {by}", "shuffle_up": f"lane - {by}", "shuffle_down": f"lane + {by}"}[
            form
        ]
        call = f"lp.sub_group.{form}({value}, {by})"
        return f"lp.select(0 <= {place} < count, {call}, {value})", function

    # Statements: lines, and a step.

    def _line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def _block(
        self, indent: int, depth: int, *, is_whole: bool, in_loop: bool, count: int | None = None
    ) -> list[Step]:
        """Writes some statements.

        Args:
            is_whole: whether all lanes of a sub-group come here together.
            in_loop: whether lanes may leave a loop here.
        """
        steps: list[Step] = []
        for _ in range(count or self.random.randrange(1, 4)):
            choice = self.random.randrange(10)
            if choice < 2 or (choice > 5 and depth > 2):
                steps.append(self._assign(indent))
            elif choice < 6:
                steps.append(self._ask(indent, is_whole))
            elif choice < 8:
                steps.append(self._branch(indent, depth, is_whole, in_loop))
            elif choice == 8 or not in_loop:
                steps.append(self._loop(indent, depth, is_whole))
            else:
                steps.append(self._jump(indent))
                is_whole = False
        return steps

    def _assign(self, indent: int) -> Step:
        name, (text, f) = self.random.choice(VARIABLES), self._value()
        self._line(indent, f"{name} = {text}")

        def step(s, mask):
            s.values[name] = np.where(s.running(mask), f(s), s.values[name])

        return step

    def _ask(self, indent: int, is_whole: bool) -> Step:
        name, (text, f) = self.random.choice(VARIABLES), self._call(is_whole)
        self._line(indent, f"{name} = {text}")

        def step(s, mask):
            running = s.running(mask)
            s.values[name] = np.where(running, f(s, running), s.values[name])

        return step

    def _branch(self, indent: int, depth: int, is_whole: bool, in_loop: bool) -> Step:
        test, t = self._test()
        is_vote = self.random.random() < 0.4
        self._line(indent, f"if lp.sub_group.any({test}):" if is_vote else f"if {test}:")
        inner = is_whole and is_vote
        yes = self._block(indent + 1, depth + 1, is_whole=inner, in_loop=in_loop and not inner)
        no: list[Step] = []
        if self.random.random() < 0.5:
            self._line(indent, "else:")
            no = self._block(indent + 1, depth + 1, is_whole=inner, in_loop=in_loop and not inner)

        def step(s, mask):
            running = s.running(mask)
            taken = s.by_part(running, t(s), np.any) if is_vote else t(s)
            for steps, part in ((yes, running & taken), (no, running & ~taken)):
                for inner_step in steps:
                    inner_step(s, part)

        return step

    def _loop(self, indent: int, depth: int, is_whole: bool) -> Step:
        (text, f), name = self._value(1), f"r{self.counter}"
        self.counter += 1
        is_vote = self.random.random() < 0.4
        bound = f"lp.i32({text} & 3)"
        most = f'lp.sub_group.reduce({bound}, "max")'
        self._line(indent, f"for {name} in range({most if is_vote else bound}):")
        steps = self._block(
            indent + 1, depth + 1, is_whole=is_whole and is_vote, in_loop=not (is_whole and is_vote)
        )
        ends: list[Step] = []
        if self.random.random() < 0.3:
            self._line(indent, "else:")
            ends = self._block(indent + 1, depth + 1, is_whole=False, in_loop=False)

        def step(s, mask):
            running = s.running(mask)
            rounds = (f(s) & self.dtype.type(3)).astype(np.int32)
            if is_vote:
                rounds = s.by_part(running, rounds, np.max)
            s.gone.append(~running)
            for k in range(4):
                s.skipping.append(np.zeros_like(running))
                for inner_step in steps:
                    inner_step(s, running & (k < rounds))
                s.skipping.pop()
            left = s.gone.pop()
            for inner_step in ends:
                inner_step(s, running & ~left)

        return step

    def _jump(self, indent: int) -> Step:
        test, t = self._test()
        word = self.random.choice(("break", "continue"))
        self._line(indent, f"if {test}:")
        self._line(indent + 1, word)

        def step(s, mask):
            leaving = s.running(mask) & t(s)
            (s.gone if word == "break" else s.skipping)[-1] |= leaving

        return step

    # Runs.

    def expected(self, size: int) -> np.ndarray:
        """Returns what a device with sub-groups of `size` lanes writes."""
        state = Lanes(self.inputs(), self.local, size)
        with np.errstate(all="ignore"):
            for step in self.steps:
                step(state, np.ones(GROUPS * self.local, bool))
        return np.stack([state.values[name] for name in VARIABLES])

    def inputs(self) -> np.ndarray:
        """Returns the numbers to begin with."""
        shape = (len(VARIABLES), GROUPS * self.local)
        return np.random.default_rng(self.seed).integers(-9, 9, shape).astype(self.dtype)

    def check(self, devices: Sequence[lp.Device | None]) -> None:
        """Raises AssertionError where a device, or the interpreter (None), differs from NumPy.

        Devices that choose among several sizes of sub-groups are left out.
        """
        kernel = lp.kernel_from_source(self.text, name="k")
        x = self.inputs()
        for device in devices:
            if device is None:
                size, found = self.random.choice((1, 2, 4, 8, 32)), np.zeros_like(x)
                interpret(kernel, x.shape[1], (x, found), sub_group_size=size)
            elif len(device.info.sub_group_sizes) > 1:
                continue
            else:
                size, out = device.info.sub_group_sizes[0], lp.zeros(x.shape, x.dtype, device=device)
                kernel[x.shape[1]](lp.asarray(x, device=device), out)
                found = out.numpy()
            np.testing.assert_array_equal(
                found,
                self.expected(size),
                f"seed {self.seed}, {device or 'interpreter'}, {size} lanes\n{self.text}",
            )
