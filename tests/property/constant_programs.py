"""Random expressions of numbers from memory and of numbers that only the driver finds to be constants: specialization
constants of every type, arguments of helpers, what loops and private arrays hold, what a sub-group agrees on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from .host_language import Language
from .programs import HEADER, Generator, Scope
from .typed_python import BOOL, TYPES, Number, convert

ITEMS = 16
EXPRESSIONS = 6
EDGES = (0, 1, -1, 2, 3, -7, 8, 31, 32, 63, 64, 127, 128, -128, 255, 32767, 65535, 2**31 - 1, -(2**31), 2**31,
         2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)  # fmt: skip
FLOATS = (
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.5,
    2.0,
    255.5,
    -129.0,
    65504.0,
    3e9,
    -3e9,
    1e19,
    float("inf"),
    float("-inf"),
)
WAYS = ("spec", "helper", "loop", "array", "fixed", "lane", "branch")


class ConstantProgram:
    """One kernel with some expressions.

    Args:
        seed: the same gives the same.
        types: names of scalar types.
    """

    def __init__(self, seed: int, types: Sequence[str]) -> None:
        self.seed, pick = seed, random.Random(seed)
        generator = Generator(seed, types)
        kinds = {name: pick.choice(generator.types) for name in ("v", "w", "c", "d")}
        self.kinds = kinds
        self.rows = {name: self._numbers(pick, kinds[name]) for name in ("v", "w")}
        self.constants = {name: self._number(pick, kinds[name]) for name in ("c", "d")}
        self.way = pick.choice(WAYS)
        scope = Scope(dict(kinds), {})
        self.results, lines = [], [HEADER.rstrip("\n")]
        for n in range(EXPRESSIONS):
            kind = pick.choice([*generator.types, BOOL])
            text = generator.expression(scope, kind, pick.choice((0, 1, 1)))
            self.results.append(kind)
            lines += [f"def e{n}(v, w, c, d):", f"    return lp.{kind.name}({text})"]
        self.helpers = "\n".join(lines) + "\n"
        self.text = self.helpers + self._kernel(pick.choice((0, 0, 1, 2)))

    def _number(self, pick: random.Random, kind):
        if kind.is_float:
            return (
                float(kind.numpy.type(pick.choice(FLOATS[:-2])))
                if kind.bits > 16
                else pick.choice(FLOATS[:8])
            )
        return convert(pick.choice(EDGES), kind).value

    def _numbers(self, pick: random.Random, kind) -> np.ndarray:
        with np.errstate(all="ignore"):
            if kind.is_float:
                return np.array([pick.choice(FLOATS) for _ in range(ITEMS)]).astype(kind.numpy)
            return np.array([convert(pick.choice(EDGES), kind).value for _ in range(ITEMS)], kind.numpy)

    def _kernel(self, level: int) -> str:
        lines, specs = [], []
        for name in ("c", "d"):
            kind, value = self.kinds[name].name, self.constants[name]
            own = f"lp.{kind}({value})"
            lines += {
                "spec": [f"{name} = {name.upper()}"],
                "helper": [f"{name} = {own}"],
                "loop": [f"{name} = lp.{kind}(0)", f"for _{name} in range(2):", f"    {name} = {own}"],
                "array": [
                    f"a{name} = lp.private.array(2, lp.{kind})",
                    f"a{name}[1] = {own}",
                    f"{name} = a{name}[1]",
                ],
                "fixed": [f"{name} = lp.FixedArray[lp.{kind}, 2]({own}, {own})[i & 1]"],
                "lane": [f"{name} = lp.sub_group.broadcast({own})"],
                "branch": [f"{name} = {own}", "if i > 99:", f"    {name} = {own}"],
            }[self.way]
            specs.append(f"{name.upper()} = lp.SpecializationId(lp.{kind}, {value})\n")
        arguments = ["i = lp.global_id(0)", "v, w = x[i], y[i]"]
        stores = []
        for n, kind in enumerate(self.results):
            stores.append(f"r{n} = e{n}(v, w, c, d)")
            if kind.is_float:
                stores.append(f"outf[i, {n}] = lp.f32(r{n})")
            else:
                stores.append(f"out[i, {2 * n}] = lp.i32(r{n})")
                if kind.bits == 64:
                    stores.append(f"out[i, {2 * n + 1}] = lp.i32(r{n} >> 32)")
        body = [*arguments, *lines, *stores]
        parameters = f"x: lp.In[lp.{self.kinds['v'].name}], y: lp.In[lp.{self.kinds['w'].name}]"
        return (
            "".join(specs if self.way == "spec" else [])
            + f"@lp.kernel(contract=False, local_size=16, opt_level={level})\n"
            + f"def k({parameters}, out: lp.Out[lp.i32, 2], outf: lp.Out[lp.f32, 2]):\n"
            + "".join(f"    {line}\n" for line in body)
        )

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns what Python makes of the expressions."""
        language = Language()
        names = {**language.builtins(), "lp": language, "__name__": "host"}
        out, outf = np.zeros((ITEMS, 2 * EXPRESSIONS), np.int32), np.zeros((ITEMS, EXPRESSIONS), np.float32)
        with np.errstate(all="ignore"):
            exec(compile(self.helpers.replace("import lapilli as lp", ""), "host", "exec"), names)
            given = {name: convert(value, self.kinds[name]) for name, value in self.constants.items()}
            for i in range(ITEMS):
                numbers = {
                    name: Number(row[i] if self.kinds[name].is_float else int(row[i]), self.kinds[name])
                    for name, row in self.rows.items()
                }
                for n, kind in enumerate(self.results):
                    found = names[f"e{n}"](**numbers, **given)
                    if kind.is_float:
                        outf[i, n] = found.value
                    else:
                        out[i, 2 * n] = convert(found, TYPES["i32"]).value
                        out[i, 2 * n + 1] = convert(found >> 32, TYPES["i32"]).value if kind.bits == 64 else 0
        return out, outf

    def check(self, devices: Sequence[lp.Device | None]) -> None:
        """Raises AssertionError where a device, or the interpreter (None), differs from Python."""
        kernel, wanted = lp.kernel_from_source(self.text, name="k"), self.expected()
        for device in devices:
            found = [np.zeros_like(a) for a in wanted]
            if device is None:
                interpret(kernel, ITEMS, (self.rows["v"], self.rows["w"], *found))
            else:
                arrays = [lp.asarray(a, device=device) for a in (self.rows["v"], self.rows["w"], *found)]
                kernel[ITEMS](*arrays)
                found = [array.numpy() for array in arrays[2:]]
            for name, a, b in zip(("out", "outf"), found, wanted, strict=True):
                is_same = (a == b) | ((a != a) & (b != b))
                if not is_same.all():
                    i, n = (int(k) for k in np.argwhere(~is_same)[0])
                    raise AssertionError(
                        f"seed {self.seed}, {device or 'interpreter'}: {name}[{i}, {n}] is {a[i, n]!r}, expected "
                        f"{b[i, n]!r} of {self.rows['v'][i]!r}, {self.rows['w'][i]!r}, {self.constants}\n{self.text}"
                    )
