"""Runs a file of random kernels on a device and on the host, and compares."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from .host_language import Language, type_defaults
from .programs import COLUMNS, COMMON, FLUSHED, HEADER, ROWS, SPECS, TABLES, WIDE, WORK_ITEMS, Generator
from .typed_python import TYPES, HostArray
from .value_kinds import copied

SHAPES = {1: (8,), 2: (2, 4), 3: (2, 2, 2)}
SLOTS = 40
INTEGERS = [0, 1, -1, 2, 7, -5, 2**31 - 1, -(2**31), 2**32 - 1, 1000, -129, 2**62 + 3]
FLOATS = [0.0, -0.0, 1.0, -1.5, 3.25, 1e4, np.inf, -np.inf, np.nan, 100.75, -0.5]
OTHER_SPECS = (7, 0, -0.25, False, [1, 2, -3, 2**31 - 1], [[1, 2, 3], [-4, 5, 0.5]])

_serial = itertools.count()


class Mismatch(AssertionError):
    """A device and the host gave different numbers."""


class Program:
    """Some random kernels in one file."""

    def __init__(self, seed, folder, *, wide, kernels=4, opt_level=None):
        types_ = COMMON + WIDE if wide else COMMON
        generator = Generator(seed, types_)
        texts = [
            generator.kernel(f"k{n}", (seed + n) % 3 if opt_level is None else opt_level)
            for n in range(kernels)
        ]
        self.seed, self.ranks = seed, [rank for _, rank in texts]
        self.types = types_
        self.load(HEADER + "".join(text for text, _ in texts), f"random_program_{seed}", folder)

    def load(self, text, name, folder):
        """Writes the file and imports it; Python compiles it for itself, too."""
        self.text = "from __future__ import annotations\n" + text
        name += f"_{next(_serial)}"
        self.path = folder / f"{name}.py"
        self.path.write_text(self.text)
        spec = importlib.util.spec_from_file_location(name, self.path)
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.code = compile(self.text.replace("import lapilli as lp", ""), str(self.path), "exec")

    def check(self, device, number, *, with_specs, aliased):
        """Runs kernel `number` on the device, in the interpreter where `device` is None, and on the host.

        Raises:
            Mismatch: they differ.
        """
        host, inputs = self.on_host(number, with_specs, aliased)
        if device is None:
            found = self.in_interpreter(number, inputs, with_specs, aliased)
        else:
            found = self.on_device(device, number, inputs, with_specs, aliased)
        where_it_ran = "the interpreter" if device is None else device.selector
        for name, expected in host.items():
            actual = found[name]
            same = _same(actual, expected)
            if not same.all():
                where = tuple(int(i) for i in np.argwhere(~same)[0])
                raise Mismatch(
                    f"{self.path} kernel k{number} on {where_it_ran}, specs {with_specs}, aliased {aliased}: "
                    f"{name}{list(where)} is {actual[where]!r}, expected {expected[where]!r}"
                )

    def inputs(self, number):
        """Returns the arrays that kernel `number` starts from."""
        random = np.random.default_rng(self.seed * 64 + number)
        arrays = {}
        for name in self.types:
            dtype = TYPES[name].numpy
            if dtype.kind == "f":
                arrays[f"x{name}"] = random.choice(FLOATS, WORK_ITEMS).astype(dtype)
            else:
                values = random.choice(np.array(INTEGERS, np.int64), WORK_ITEMS)
                values = np.where(
                    random.random(WORK_ITEMS) < 0.5, random.integers(-20, 20, WORK_ITEMS), values
                )
                arrays[f"x{name}"] = values.astype(dtype)
        for name in ("w", "v"):
            arrays[name] = random.integers(-9, 99, (WORK_ITEMS, ROWS, COLUMNS)).astype(np.int32)
        arrays["out"] = np.zeros((WORK_ITEMS, SLOTS), np.int32)
        arrays["outf"] = np.zeros((WORK_ITEMS, SLOTS), np.float32)
        return arrays

    def on_host(self, number, with_specs, aliased):
        """Returns the arrays that the kernel writes, by the language's semantics, and what it started from."""
        language = self.language(with_specs)
        names = {**language.builtins(), "lp": language, "__name__": "host", "copied__": copied}
        with np.errstate(all="ignore"):
            exec(self.code, names)
            type_defaults(names)
            arrays = self.inputs(number)
            given = {name: array.copy() for name, array in arrays.items()}
            if aliased:
                arrays["v"] = arrays["w"]
            kinds = {**{f"x{t}": TYPES[t] for t in self.types}, "w": TYPES["i32"], "v": TYPES["i32"],
                     "out": TYPES["i32"], "outf": TYPES["f32"]}  # fmt: skip
            wrapped = {name: HostArray(array, kinds[name]) for name, array in arrays.items()}
            for ids in itertools.product(*map(range, SHAPES[self.ranks[number]])):
                language.ids = ids
                names[f"k{number}"](**wrapped)
        return {name: arrays[name] for name in ("w", "v", "out", "outf")}, given

    def language(self, with_specs):
        """Returns what the file sees as ``lp`` on the host."""
        return Language(OTHER_SPECS if with_specs else ())

    def on_device(self, device, number, inputs, with_specs, aliased):
        arrays = {name: lp.asarray(array, device=device) for name, array in inputs.items()}
        if aliased:
            arrays["v"] = arrays["w"]
        kernel = getattr(self.module, f"k{number}")
        launch = kernel[SHAPES[self.ranks[number]]]
        if with_specs:
            launch = launch.spec(self.spec_values())
        launch(**arrays)
        return {name: arrays[name].numpy() for name in ("w", "v", "out", "outf")}

    def in_interpreter(self, number, inputs, with_specs, aliased):
        arrays = {name: array.copy() for name, array in inputs.items()}
        if aliased:
            arrays["v"] = arrays["w"]
        kernel = getattr(self.module, f"k{number}")
        spec = self.spec_values() if with_specs else None
        interpret(kernel, SHAPES[self.ranks[number]], kwargs=arrays, spec=spec)
        return {name: arrays[name] for name in ("w", "v", "out", "outf")}

    def spec_values(self):
        """Returns other values than the defaults for all specialization constants of the file."""
        ids = [getattr(self.module, name) for name, *_ in (*SPECS, *TABLES)]
        return dict(zip(ids, OTHER_SPECS, strict=True))


def _same(actual, expected):
    """Compares floats by value to one ULP: Vulkan leaves open which way a conversion from an integer rounds."""
    if actual.dtype.kind != "f":
        return actual == expected
    with np.errstate(all="ignore"):
        return np.isclose(actual, expected, rtol=2**-22, atol=FLUSHED, equal_nan=True)
