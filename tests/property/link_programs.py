"""Random kernels that call random functions of other Python modules, linked in every way.

    constants ◄── first ◄── second ◄── kernels        (who imports whom; kernels import from first, too)

The two libraries export functions with loops, conditions, helpers and specialization constants; what the kernels of the
third module compute must be what plain Python makes of all texts put together, and what the interpreter does.
"""

from __future__ import annotations

import importlib
import itertools
import random
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import lapilli as lp
from lapilli.frontend.compile_options import overridden_options
from lapilli.vk_runtime.bundle_launch import launch_kernel
from lapilli.vk_runtime.kernel_bundle import KernelBundle

from .differential import SHAPES, Program
from .programs import COMMON, HEADER, WIDE, Generator, Helper, Scope
from .typed_python import BOOL

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
WAYS = ("launch", "build", "link", "link loaded", "link of SPIR-V", "build loaded")
EXPORTS = 3
"""Functions that each library exports."""
HEAVIEST = 150
"""Lines of a kernel with all that it calls: lavapipe takes minutes over some thousands."""

_serial = itertools.count()


_T = TypeVar("_T")


def _light(
    make: Callable[[], tuple[str, _T]], weights: dict[str, int], *, calls: bool = False
) -> tuple[str, _T]:
    """Returns some functions' text of at most `HEAVIEST` lines, those that they call counted at each call, as drivers
    inline them all; where it `calls`, of functions that call exported ones."""
    while True:
        text, made = make()
        functions = re.split(r"^(?=def )", text, flags=re.MULTILINE)[1:]
        for function in functions:
            name, *called = re.findall(r"\b(\w+)\(", function)
            weights[name] = function.count("\n") + sum(weights.get(callee, 0) for callee in called)
        if weights[name] <= HEAVIEST and (not calls or re.search(r"\b[ab]\d\(", text)):
            return text, made


class LinkGenerator(Generator):
    """Writes exported functions beside kernels."""

    def export(self, name: str, symbol: str | None, known: Sequence[Helper]) -> tuple[str, Helper]:
        """Returns an exported function's text, with that of a helper of its own, and how it is called."""
        self.lines = []
        helpers = list(known)
        if self.random.random() < 0.5:
            helpers.append(self.helper(name, helpers))
        parameters = tuple(self.any_type() for _ in range(self.random.randrange(1, 4)))
        made = Helper(name, parameters, (self.any_type(),))
        spelled = [f"p{k}: lp.{kind.name}" for k, kind in enumerate(parameters)]
        if parameters[-1] is not BOOL and self.random.random() < 0.4:
            made.default = self.literal(parameters[-1])
            spelled[-1] += f" = {made.default}"
        self.line(0, "@lp.external" if symbol is None else f"@lp.external({symbol!r})")
        self.line(0, f"def {name}({', '.join(spelled)}) -> lp.{made.result[0].name}:")
        scope = Scope({f"p{k}": kind for k, kind in enumerate(parameters)}, {}, (), helpers, made.result)
        self.declare(scope, 1)
        if self.random.random() < 0.6:
            self.memory(scope)
        for _ in range(self.random.randrange(1, 3)):
            self.block(scope, 1, 1, False)
        self.line(1, f"return {self.result(scope)}")
        return "\n".join(self.lines) + "\n", made

    def memory(self, scope: Scope) -> None:
        """Writes a loop that stores elements of an array of the function's own, and a variable that reads one."""
        kind, name, variable = self.random.choice(self.types), self.name("m"), self.name("a")
        made = self.random.choice(
            [f"lp.private.array(4, lp.{kind.name})", f"lp.FixedArray[lp.{kind.name}, 4]()"]
        )
        counter = self.name("v")
        self.line(1, f"{name} = {made}")
        self.line(1, f"for {counter} in range(4):")
        self.line(2, f"{name}[{counter}] = {self.converted(scope, kind, 1)}")
        self.line(1, f"{name}[{self.index(scope, 4)}] = {self.converted(scope, kind, 1)}")
        self.line(1, f"{variable} = {name}[{self.index(scope, 4)}]")
        scope.variables[variable] = kind


class LinkProgram(Program):
    """Random kernels of one module, which call exported functions of two others.

    Args:
        seed: the same gives the same.
        folder: for the files, on `sys.path` by the time of the call.
        wide: whether to use every scalar type.
        kernels: of the third module.
    """

    def __init__(self, seed: int, folder: Path, *, wide: bool, kernels: int = 2) -> None:
        self.seed, self.folder = seed, folder
        self.types = COMMON + WIDE if wide else COMMON
        generator, pick = LinkGenerator(seed, self.types), random.Random(seed)
        self.way = self.way_of(seed)
        self._splits, self._is_emulated = pick.random() < 0.3, pick.random() < 0.3
        self._pick, self._count = pick, 0
        stem = f"linked_{seed}_{next(_serial)}"
        names = [f"{stem}_{part}" for part in ("constants", "first", "second", "kernels")]
        texts, known, weights = [HEADER], list[Helper](), dict[str, int]()
        for part in ("a", "b"):
            mine = list[str]()
            for number in range(EXPORTS):
                name, callees = f"{part}{number}", pick.sample(known, min(len(known), 1))
                symbol = pick.choice([f"{stem} {name}", f"{stem}.{name}:é"])
                text, made = _light(partial(generator.export, name, symbol, callees), weights)
                mine.append(text)
                known.append(made)
            own = f"@lp.kernel\ndef own_{part}(y: lp.Array[lp.i32]):\n    y[lp.global_id(0)] = {seed % 100}\n"
            texts.append("".join([*mine, own]))
        writers = [
            partial(generator.kernel, f"k{n}", (seed + n) % 3, pick.sample(known, 3)) for n in range(kernels)
        ]
        made = [_light(write, weights, calls=True) for write in writers]
        texts.append("".join(text for text, _ in made))
        self.ranks = [rank for _, rank in made]
        self._write(names, texts)

    @staticmethod
    def way_of(seed: int) -> str:
        """Returns in which of `WAYS` the program of a seed is linked."""
        return random.Random(seed).choice(WAYS)

    def __str__(self) -> str:
        return f"{self.way}, emulated {self._is_emulated}, split {self._splits}"

    def _write(self, names: Sequence[str], texts: Sequence[str]) -> None:
        """Writes the files and imports them."""
        constants = ", ".join(line.split()[0] for line in HEADER.splitlines() if " = " in line)
        heads = [""]
        for number in range(1, len(texts)):
            imports = [f"from {names[0]} import {constants}"]
            for name, part in list(zip(names[1:], "ab", strict=False))[: number - 1]:
                imports.append(f"from {name} import {', '.join(f'{part}{k}' for k in range(EXPORTS))}")
            heads.append("import lapilli as lp\n" + "\n".join(imports) + "\n")
        for name, head, text in zip(names, heads, texts, strict=True):
            path = self.folder / f"{name}.py"
            path.write_text("from __future__ import annotations\n" + head + text, encoding="utf-8")
        importlib.invalidate_caches()
        self.modules = [importlib.import_module(name) for name in names]
        self.module = self.modules[-1]
        self.path = self.folder / f"{names[-1]}.py"
        self.text = "from __future__ import annotations\n" + "".join(texts)
        self.code = compile(self.text.replace("import lapilli as lp", ""), str(self.path), "exec")

    def close(self) -> None:
        """Takes the modules out of the program."""
        for module in self.modules:
            sys.modules.pop(module.__name__, None)
            Path(module.__file__ or "").unlink()

    def check(self, device, number, *, with_specs, aliased):
        """As `Program.check`; libraries of SPIR-V have constants of their own, which nobody here holds."""
        with_specs = with_specs and self.way != "link of SPIR-V"
        super().check(device, number, with_specs=with_specs, aliased=aliased)

    def on_device(self, device, number, inputs, with_specs, aliased):
        """As `Program.on_device`."""
        options: dict[str, object] = {"spec_constants": "emulated"} if self._is_emulated else {}
        options |= {"device_code_split": "per_kernel"} if self._splits else {}
        with warnings.catch_warnings(), overridden_options(**options) if options else nullcontext():
            warnings.simplefilter("ignore", lp.AspectWarning)
            if self.way == "launch":
                return super().on_device(device, number, inputs, with_specs, aliased)
            bundle = self._bundle(device, self.spec_values() if with_specs else {})
        arrays = {name: lp.asarray(array, device=device) for name, array in inputs.items()}
        if aliased:
            arrays["v"] = arrays["w"]
        function = getattr(self.module, f"k{number}")
        parameters = function.function.__annotations__
        kernel = bundle.get_kernel(function)
        launch_kernel(
            device.default_queue, kernel, SHAPES[self.ranks[number]], tuple(arrays[p] for p in parameters)
        )
        return {name: arrays[name].numpy() for name in ("w", "v", "out", "outf")}

    def _bundle(self, device, values) -> KernelBundle:
        """Returns the kernels, with some values of constants, linked with all that they call."""
        context = device.default_context
        kernels = [getattr(self.module, f"k{n}") for n in range(len(self.ranks))]
        source = lp.get_kernel_bundle(context, state=INPUT, kernel_ids=kernels)
        if self.way == "build loaded":
            source = self._loaded(context, lp.build(source), INPUT)
        for constant, value in values.items():
            # What `lp.build` looks up in other modules may read constants that no kernel does.
            if self.way == "build" or source.has_specialization_constant(constant):
                source.set_specialization_constant(constant, value)
        if self.way.startswith("build"):
            return lp.build(source)
        parts = [source]
        for module, part in zip(self.modules[1:3], "ab", strict=True):
            own = getattr(module, f"own_{part}")
            library = lp.get_kernel_bundle(context, state=INPUT, kernel=own)
            for constant, value in values.items():
                if library.has_specialization_constant(constant):
                    library.set_specialization_constant(constant, value)
            parts.append(library)
        objects = [lp.compile(part) for part in parts]
        if self.way == "link loaded":
            objects = [self._loaded(context, item, OBJECT) for item in objects]
        if self.way == "link of SPIR-V":
            objects[1:] = [made for item in objects[1:] for made in self._foreign(context, item)]
        self._pick.shuffle(objects)
        return lp.link(objects if self._pick.random() < 0.7 else lp.join(objects))

    def _loaded(self, context, bundle: KernelBundle, state: lp.BundleState) -> KernelBundle:
        """Returns what comes of saving and loading a bundle."""
        self._count += 1
        path = self.folder / f"bundle-{self._count}.lpk"
        bundle.save(path)
        loaded = lp.load_kernel_bundle(context, path, state=state)
        path.unlink()
        return loaded

    def _foreign(self, context, bundle: KernelBundle) -> list[KernelBundle]:
        """Returns the functions that a bundle exports as libraries of another compiler would have them."""
        binaries = [image.spirv() for image in bundle if not image.kernels]
        language = lp.SourceLanguage.SPIRV
        return [lp.compile(lp.create_kernel_bundle_from_source(context, language, b)) for b in binaries]
