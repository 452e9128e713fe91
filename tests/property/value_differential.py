"""Runs a random kernel of values on devices, in the interpreter and in Python, and compares."""

from __future__ import annotations

import ast
import warnings

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from .programs import COLUMNS, COMMON, FLUSHED, ROWS, SPECS, TABLES, WORK_ITEMS
from .typed_python import TYPES, HostArray, Type
from .value_kinds import (
    Copying,
    Struct,
    ValueArray,
    ValueLanguage,
    Vector,
    copied,
    fill,
    flattened,
    from_numpy,
    scalars_of,
    spelled,
)
from .value_programs import SLOTS, ValueGenerator

OTHER_SPECS = (7, 6, -0.25, False, [1, 2, -3, 2**31 - 1], [[1, 2, 3], [-4, 5, 0.5]])


class ValueProgram:
    """The kernel of a seed, and what it gives in Python."""

    def __init__(self, seed, types=COMMON, *, debug=False, change=str):
        self.generator = ValueGenerator(seed, types)
        self.seed, self.types = seed, types
        self.text = self.generator.text(debug=debug)
        self.spec = OTHER_SPECS if seed % 2 else ()
        self.kernel = lp.kernel_from_source(change(self.text), name="k")
        self.scope = self.kernel.function.__globals__

    def dtype(self, kind):
        if isinstance(kind, Struct):
            return self.scope[kind.name].dtype
        if isinstance(kind, Vector):
            return np.dtype((kind.element.numpy, (kind.size,)))
        return np.dtype(
            (
                self.dtype(kind.element) if not isinstance(kind.element, Type) else kind.element.numpy,
                kind.shape,
            )
        )

    def inputs(self):
        random = np.random.default_rng(self.seed)
        pick = lambda t: random.integers(-20, 20) / 4 if t.is_float else random.integers(0, 99)  # noqa: E731
        arrays = {
            f"x{n}": np.array([pick(TYPES[n]) for _ in range(WORK_ITEMS)]).astype(TYPES[n].numpy)
            for n in self.types
        }
        for name in ("w", "v"):
            arrays[name] = random.integers(-9, 99, (WORK_ITEMS, ROWS, COLUMNS)).astype(np.int32)
        arrays["out"], arrays["outf"] = (
            np.zeros((WORK_ITEMS, SLOTS), np.int32),
            np.zeros((WORK_ITEMS, SLOTS), np.float32),
        )
        for name, kind in self.generator.memory.items():
            arrays[name] = np.zeros(WORK_ITEMS, self.dtype(kind))
            for element in arrays[name]:
                fill(kind, element, pick)
        for name, kind in self.generator.given.items():
            holder = np.zeros(1, self.dtype(kind))
            fill(kind, holder[0], pick)
            arrays[name] = holder[0]
        return arrays

    def on_host(self):
        arrays = self.inputs()
        text = self.text.replace("import lapilli as lp", "").replace("from __future__ import annotations", "")
        tree = Copying().visit(ast.parse("from __future__ import annotations\n" + text))
        code = compile(ast.fix_missing_locations(tree), "host", "exec")
        language = ValueLanguage(self.generator.structs, self.spec)
        names = {**language.builtins(), "lp": language, "__name__": "host", "copied__": copied}
        with np.errstate(all="ignore"):
            exec(code, names)
            kinds = {"w": TYPES["i32"], "v": TYPES["i32"], "out": TYPES["i32"], "outf": TYPES["f32"]}
            kinds |= {f"x{t}": TYPES[t] for t in self.types}
            given = {name: HostArray(arrays[name], kind) for name, kind in kinds.items()}
            memory = {n: ValueArray(arrays[n], k) for n, k in self.generator.memory.items()}
            for i in range(WORK_ITEMS):
                language.ids = (i,)
                values = {n: from_numpy(k, arrays[n]) for n, k in self.generator.given.items()}
                names["k"](**given, **memory, **values)
        result = {n: arrays[n] for n in ("w", "v", "out", "outf")}
        for name, array in memory.items():
            result[name] = [list(flattened(item)) for item in array.items]
        return result

    def check(self, devices):
        """Raises AssertionError where a device, or the interpreter (None), differs from Python."""
        expected = self.on_host()
        ids = [self.scope[name] for name, *_ in (*SPECS, *TABLES)]
        spec = dict(zip(ids, self.spec, strict=False))
        for device in devices:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lp.KernelWarning)  # of stores into a helper's own copy
                found = self._run(device, spec)
            for name, kind in self.generator.memory.items():
                found[name] = [list(scalars_of(kind, element)) for element in found[name]]
            for name, wanted in expected.items():
                where = f"seed {self.seed}, {device or 'interpreter'}, {name}"
                np.testing.assert_allclose(
                    np.array(found[name], np.float64), np.array(wanted, np.float64), rtol=2**-22,
                    atol=FLUSHED, err_msg=where,
                )  # fmt: skip

    def _run(self, device, spec):
        arrays = self.inputs()
        fixed = {name: arrays.pop(name) for name in self.generator.given}
        if device is None:
            interpret(self.kernel, WORK_ITEMS, kwargs={**arrays, **fixed}, spec=spec or None)
            return arrays
        there = {n: self._array(n, a, device) for n, a in arrays.items()}
        launch = self.kernel[WORK_ITEMS]
        (launch.spec(spec) if spec else launch)(**there, **fixed)
        return {n: a.numpy() for n, a in there.items()}

    def _array(self, name, array, device):
        kind = self.generator.memory.get(name)
        if kind is None:
            return lp.asarray(array, device=device)
        return lp.asarray(array, eval(spelled(kind), {**self.scope, "lp": lp}), device=device)
