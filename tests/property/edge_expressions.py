"""Random expressions over the edges of types, NaN, infinities and zeros of both signs among them, against NumPy.

Drivers know a lot about numbers: what is no NaN, what is not negative, what is 0 whatever n is.  Where they are wrong,
a sum that is NaN or an infinity shows it, so every expression is computed of hundreds of pairs of edges.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

ITEMS = 240
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 3.25, -2.5, 3e4, -3e4, np.inf, -np.inf, np.nan, 100.75, 2.0]
LITERALS = {
    "0.0": 0.0,
    "-0.0": -0.0,
    "1.0": 1.0,
    "0.5": 0.5,
    "-2.0": -2.0,
    'float("inf")': np.inf,
    "3.0": 3.0,
}
SPECS = {"ZERO": 0.0, "LESS": -1.5}
"""Specialization constants of f32 and their defaults."""
FORMS = ("plain", "helper", "branch", "loop", "coarsened")
ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
CHOICES = {"min": np.fmin, "max": np.fmax}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass
class Expression:
    """Its text, and its value for every work-item."""

    text: str
    values: np.ndarray
    has_any_zero: bool = False
    """Whether a zero may have either sign, as `min` and `max` leave it."""


def integer_edges(kind):
    """Returns the numbers of an integer type that are most worth trying."""
    bits = int(kind[1:])
    if kind[0] == "u":
        return [
            0,
            1,
            2,
            3,
            7,
            31,
            100,
            (1 << bits) - 1,
            (1 << bits) - 2,
            1 << (bits - 1),
            (1 << (bits - 1)) - 1,
        ]
    return [0, 1, -1, 2, -2, 3, 7, -7, 31, 100, (1 << (bits - 1)) - 1, -(1 << (bits - 1))]


def wrapped(kind, values):
    """Returns integers of any size as those of a type."""
    bits = int(kind[1:])
    low = [int(v) & ((1 << bits) - 1) for v in values]
    return np.array([v - (1 << bits) if kind[0] == "i" and v >> (bits - 1) else v for v in low], object)


class Edges:
    """Writes expressions of the variables a, b (floats) and p, q (integers); the same seed gives the same."""

    def __init__(self, seed, float_kind, integer_kind):
        self.random = pick = random.Random(seed)
        self.float, self.integer, self.dtype = float_kind, integer_kind, FLOATS[float_kind]
        self.inputs = {n: np.array([pick.choice(EDGES) for _ in range(ITEMS)], self.dtype) for n in "ab"}
        edges = integer_edges(integer_kind)
        self.inputs |= {n: np.array([pick.choice(edges) for _ in range(ITEMS)], object) for n in "pq"}

    def a_float(self, depth):
        pick = self.random
        choice = pick.randrange(20) if depth else pick.randrange(3)
        if choice < 2:
            name = pick.choice("ab")
            return Expression(name, self.inputs[name])
        if choice == 2:
            known = LITERALS | (SPECS if self.float == "f32" else {})
            text = pick.choice(list(known))
            return Expression(f"lp.{self.float}({text})", np.full(ITEMS, known[text], self.dtype))
        if choice > 16:
            return self.converted_float(choice, depth)
        x = self.a_float(depth - 1)
        if choice < 11:
            return self.of_two(choice, x, self.a_float(depth - 1))
        if choice == 11:
            return Expression(f"abs({x.text})", np.abs(x.values))
        if choice == 12:
            return Expression(f"(-{x.text})", -x.values, x.has_any_zero)
        if choice == 13:
            name = pick.choice(list(ROUNDING))
            return Expression(f"lp.math.{name}({x.text})", ROUNDING[name](x.values), x.has_any_zero)
        y, test = self.a_float(depth - 1), self.truth(depth - 1)
        return Expression(
            f"({x.text} if {test.text} else {y.text})",
            np.where(test.values, x.values, y.values),
            x.has_any_zero or y.has_any_zero,
        )

    def of_two(self, choice, x, y):
        is_open = x.has_any_zero or y.has_any_zero
        if choice < 8:
            symbol = self.random.choice("+-*")
            results = {"+": np.add, "-": np.subtract, "*": np.multiply}[symbol](x.values, y.values)
            return Expression(f"({x.text} {symbol} {y.text})", results.astype(self.dtype), is_open)
        if choice == 8 and not y.has_any_zero and self.float != "f16":
            return Expression(f"({x.text} / {y.text})", x.values / y.values, is_open)
        name = self.random.choice(list(CHOICES))
        return Expression(f"{name}({x.text}, {y.text})", CHOICES[name](x.values, y.values), True)

    def converted_float(self, choice, depth):
        if choice == 17 or (self.float == "f16" and self.integer[1:] in ("32", "64")):
            test = self.truth(depth - 1)
            return Expression(f"lp.{self.float}({test.text})", test.values.astype(self.dtype))
        x = self.an_integer(depth - 1)
        values = x.values.astype(np.uint64 if self.integer[0] == "u" else np.int64).astype(self.dtype)
        return Expression(f"lp.{self.float}({x.text})", values)

    def an_integer(self, depth):
        pick, kind, bits = self.random, self.integer, int(self.integer[1:])
        choice = pick.randrange(12) if depth else pick.randrange(3)
        if choice < 2:
            name = pick.choice("pq")
            return Expression(name, self.inputs[name])
        if choice == 2:
            number = pick.choice(integer_edges(kind))
            return Expression(f"lp.{kind}({number})", np.full(ITEMS, number, object))
        x, y = self.an_integer(depth - 1), self.an_integer(depth - 1)
        if choice == 11:
            test = self.truth(depth - 1)
            return Expression(
                f"({x.text} if {test.text} else {y.text})", np.where(test.values, x.values, y.values)
            )
        symbol = pick.choice(["+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"])
        function = {
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
            "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "//": lambda a, b: a // b if b else 0,
            "%": lambda a, b: a % b if b else 0, "<<": lambda a, b: a << (b % bits),
            ">>": lambda a, b: a >> (b % bits),
        }[symbol]  # fmt: skip
        results = [function(a, b) for a, b in zip(x.values, y.values, strict=True)]
        return Expression(f"({x.text} {symbol} {y.text})", wrapped(kind, results))

    def truth(self, depth):
        pick = self.random
        choice = pick.randrange(7) if depth else pick.randrange(4)
        if choice < 4:
            make = self.a_float if choice < 2 else self.an_integer
            x, y, symbol = make(max(depth - 1, 0)), make(max(depth - 1, 0)), pick.choice(COMPARISONS)
            results = eval(f"x {symbol} y", {"x": x.values, "y": y.values})
            return Expression(f"({x.text} {symbol} {y.text})", results.astype(bool))
        x, y = self.truth(depth - 1), self.truth(depth - 1)
        if choice == 4:
            return Expression(f"(not {x.text})", ~x.values)
        name = pick.choice(["and", "or"])
        return Expression(
            f"({x.text} {name} {y.text})", x.values & y.values if name == "and" else x.values | y.values
        )


class EdgeProgram:
    """Ten expressions in one kernel, in one of `FORMS`."""

    def __init__(self, seed, *, wide=False):
        pick = random.Random(seed)
        self.seed, self.wide = seed, wide
        kinds = [f"{sign}{bits}" for sign in "iu" for bits in ((8, 16, 32, 64) if wide else (32,))]
        edges = Edges(seed, pick.choice(["f32", "f64", "f16"]) if wide else "f32", pick.choice(kinds))
        makes = [(edges.a_float, edges.float)] * 3 + [(edges.an_integer, edges.integer)]
        chosen = [pick.choice(makes) for _ in range(10)]
        with np.errstate(all="ignore"):
            self.results = [(make(pick.choice([2, 3, 3, 4])), kind) for make, kind in chosen]
        self.edges, self.form = edges, pick.choice(FORMS)
        self.text = self._text(pick.choice([0, 1, 2]), pick.choice([True, False]))

    def _text(self, level, contract):
        helpers, body = [], []
        for k, (found, _) in enumerate(self.results):
            helpers.append(f"def h{k}(a, b, p, q):\n    return {found.text}\n")
            body.append(f"o{k}[i] = " + (f"h{k}(a, b, p, q)" if self.form == "helper" else found.text))
        if self.form in ("branch", "coarsened"):
            body = ["for n in range(2):", "    if n == 1:", *("        " + line for line in body)]
        elif self.form == "loop":
            body = ["n = 0", "while n < 2:", "    n += 1", *("    " + line for line in body)]
            body += ["    c = a", "    a = b", "    b = c", "    a, b = b, a"]
        outs = "".join(f", o{k}: lp.Out[lp.{kind}]" for k, (_, kind) in enumerate(self.results))
        floats, integers = self.edges.float, self.edges.integer
        kinds = zip("xyuv", [floats] * 2 + [integers] * 2, strict=True)
        inputs = ", ".join(f"{n}: lp.In[lp.{kind}]" for n, kind in kinds)
        lines = ["import lapilli as lp"]
        lines += [f"{name} = lp.SpecializationId(lp.f32, {value})" for name, value in SPECS.items()]
        lines += helpers if self.form == "helper" else []
        lines += [
            f"@lp.kernel(contract={contract}, opt_level={level})",
            f"def k({inputs}{outs}):",
            "    i = lp.global_id(0)",
            "    a, b, p, q = x[i], y[i], u[i], v[i]",
        ]
        return "\n".join([*lines, *("    " + line for line in body)]) + "\n"

    def check(self, devices):
        """Raises AssertionError where a device, or the interpreter (None), differs from NumPy."""
        for device in devices:
            is_gpu = device is not None and device.info.device_type.value != "cpu"
            # Quotients of GPUs may be off by 2.5 ULP, which a difference makes much of, as it does of contraction.
            text = self.text.replace("contract=True", "contract=False") if is_gpu else self.text
            kernel = lp.kernel_from_source(text, name="k")
            for (wanted, _), found in zip(self.results, self._run(kernel, device), strict=True):
                is_right = self._same(found, wanted)
                if (
                    is_gpu
                    and wanted.values.dtype != object
                    and ("/" in wanted.text or self.edges.float == "f16")
                ):
                    is_right |= np.isfinite(found) & np.isfinite(wanted.values)
                if not is_right.all():
                    k = int(np.argmin(is_right))
                    inputs = {name: values[k] for name, values in self.edges.inputs.items()}
                    raise AssertionError(
                        f"seed {self.seed}, wide {self.wide}, {self.form}, {device or 'interpreter'}: {wanted.text} is "
                        f"{found[k]}, expected {wanted.values[k]}, of {inputs}\n{self.text}"
                    )

    def _run(self, kernel, device):
        dtypes = {name: np.dtype({"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:])
                  for name in (self.edges.float, self.edges.integer)}  # fmt: skip
        inputs = [
            values.astype(dtypes[self.edges.float if name in "ab" else self.edges.integer])
            for name, values in self.edges.inputs.items()
        ]
        outs = [np.zeros(ITEMS, dtypes[kind]) for _, kind in self.results]
        if device is None:
            interpret(kernel, ITEMS, (*inputs, *outs))
            return outs
        times = 20 if self.form == "coarsened" else 1
        there = [lp.asarray(np.tile(a, times), device=device) for a in (*inputs, *outs)]
        kernel[ITEMS * times](*there)
        return [a.numpy()[-ITEMS:] for a in there[len(inputs) :]]

    def _same(self, found, wanted):
        values = wanted.values
        if values.dtype == object:
            return np.array([int(a) == int(b) for a, b in zip(found, values, strict=True)])
        limits = np.finfo(values.dtype)
        are_close = (found == values) | (np.isnan(found) & np.isnan(values))
        if (
            "/" in wanted.text or self.edges.float == "f16"
        ):  # divided to 2.5 ULP, and f16 converted either way
            are_close |= np.isclose(found, values, rtol=4 * float(limits.eps), atol=0)
        if not wanted.has_any_zero:
            are_close &= (found != 0) | (values != 0) | (np.signbit(found) == np.signbit(values))
        return are_close | ((abs(values) < limits.tiny) & (abs(found) < limits.tiny) & (values != 0))
