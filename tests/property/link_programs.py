"""Random kernels that call random functions of other Python modules, linked in every way.

    constants ◄── first ◄── second ◄── kernels        (who imports whom; kernels import from first, too)

The two libraries export functions with loops, conditions, helpers and specialization constants, which take and give
numbers, vectors, fixed arrays and structs; what the kernels of the third module compute must be what plain Python makes
of all texts put together, and what the interpreter does.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

import lapilli as lp
from lapilli.frontend.compile_options import overridden_options
from lapilli.vk_runtime.bundle_launch import launch_kernel
from lapilli.vk_runtime.kernel_bundle import KernelBundle

from .differential import OTHER_SPECS, SHAPES, Program
from .loading_process import LoadingProcess
from .programs import COMMON, HEADER, WIDE, WORK_ITEMS, Helper, Scope
from .typed_python import BOOL, Type
from .value_kinds import Copying, ValueLanguage, spelled
from .value_programs import SLOTS, ValueGenerator

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
FILE, PROCESS = "lapilli build", "another process"
WAYS = ("launch", "build", "link", "link loaded", "link of SPIR-V", "build loaded", FILE, PROCESS)
EXPORTS = 3
"""Functions that each library exports."""
HEAVIEST = 30
"""Lines of 80 characters of a kernel with all that it calls: lavapipe takes minutes over some thousands."""

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
            weights[name] = len(function) // 80 + sum(weights.get(callee, 0) for callee in called)
        if weights[name] <= HEAVIEST and (not calls or re.search(r"\b[ab]\d\(", text)):
            return text, made


class LinkGenerator(ValueGenerator):
    """Writes exported functions beside kernels, and the structs of both."""

    def __init__(self, seed, types):
        super().__init__(seed, types)
        self.memory, self.given = {}, {}
        self.kinds()

    def any_kind(self):
        """Returns the type of a parameter or of a result."""
        return self.random.choice(self.composites) if self.random.random() < 0.4 else self.any_type()

    def export(self, name: str, symbol: str | None, known: Sequence[Helper]) -> tuple[str, Helper]:
        """Returns an exported function's text, with that of a helper of its own, and how it is called."""
        self.lines = []
        helpers = list(known)
        if self.random.random() < 0.5:
            helpers.append(self.helper(name, helpers))
        parameters = tuple(self.any_kind() for _ in range(self.random.randrange(1, 4)))
        made = Helper(name, parameters, (self.any_kind(),))
        texts = [f"p{k}: {spelled(kind)}" for k, kind in enumerate(parameters)]
        last = parameters[-1]
        if isinstance(last, Type) and last is not BOOL and self.random.random() < 0.4:
            made.default = self.literal(last)
            texts[-1] += f" = {made.default}"
        self.line(0, "@lp.external" if symbol is None else f"@lp.external({symbol!r})")
        self.line(0, f"def {name}({', '.join(texts)}) -> {spelled(made.result[0])}:")
        scope = Scope({f"p{k}": kind for k, kind in enumerate(parameters)}, {}, (), helpers, made.result)
        self.declare(scope, 1)
        if self.random.random() < 0.6:
            self.own_array(scope)
        for _ in range(self.random.randrange(1, 3)):
            self.block(scope, 1, 1, False)
        self.line(1, f"return {self.result(scope)}")
        return "\n".join(self.lines) + "\n", made

    def own_array(self, scope: Scope) -> None:
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
        self.structs = generator.structs
        self.way = self.way_of(seed)
        self._splits, self._is_emulated = pick.random() < 0.3, pick.random() < 0.3
        self._pick, self._count = pick, 0
        self._built: Path | None = None
        self._process: LoadingProcess | None = None
        stem = f"linked_{seed}_{next(_serial)}"
        names = [f"{stem}_{part}" for part in ("constants", "first", "second", "kernels")]
        shared = HEADER + "".join(struct.text() for struct in self.structs)
        texts, known, weights = [shared], list[Helper](), dict[str, int]()
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
        shared = [line.split()[0] for line in HEADER.splitlines() if " = " in line]
        constants = ", ".join([*shared, *(struct.name for struct in self.structs)])
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
        tree = Copying().visit(ast.parse(self.text.replace("import lapilli as lp", "")))
        self.code = compile(ast.fix_missing_locations(tree), str(self.path), "exec")

    def language(self, with_specs):
        """As `Program.language`."""
        return ValueLanguage(self.structs, OTHER_SPECS if with_specs else ())

    def inputs(self, number):
        """As `Program.inputs`, for the parts of values."""
        wide = {name: np.zeros((WORK_ITEMS, SLOTS), kind) for name, kind in (("out", "i4"), ("outf", "f4"))}
        return {**super().inputs(number), **wide}

    def close(self) -> None:
        """Takes the modules out of the program."""
        if self._process is not None:
            self._process.close()
        if self._built is not None:
            self._built.unlink(missing_ok=True)
        for module in self.modules:
            sys.modules.pop(module.__name__, None)
            Path(module.__file__ or "").unlink()

    def check(self, device, number, *, with_specs, aliased):
        """As `Program.check`; libraries of SPIR-V have constants of their own, which nobody here holds."""
        with_specs = with_specs and self.way != "link of SPIR-V"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lp.KernelWarning)  # of stores into a function's own copy
            super().check(device, number, with_specs=with_specs, aliased=aliased)

    def on_device(self, device, number, inputs, with_specs, aliased):
        """As `Program.on_device`."""
        options: dict[str, object] = {"spec_constants": "emulated"} if self._is_emulated else {}
        options |= {"device_code_split": "per_kernel"} if self._splits else {}
        with warnings.catch_warnings(), overridden_options(**options) if options else nullcontext():
            warnings.simplefilter("ignore", lp.AspectWarning)
            if self.way == "launch":
                return super().on_device(device, number, inputs, with_specs, aliased)
            values = self.spec_values() if with_specs else {}
            if self.way == PROCESS:
                return self._elsewhere(device, number, inputs, values, aliased)
            bundle = self._bundle(device, values)
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

    def _elsewhere(self, device, number, inputs, values, aliased):
        """Returns what a process computes that only has files of the kernels, linked or to be linked."""
        if self._pick.random() < 0.5:
            bundles, state = [lp.build(self._source(device, values, is_whole=True))], EXECUTABLE
        else:
            bundles, state = self._objects(device, values), OBJECT
        paths = [self._saved(bundle) for bundle in bundles]
        if self._process is None:
            self._process = LoadingProcess()
        shape, same = SHAPES[self.ranks[number]], {"v": "w"} if aliased else {}
        found = self._process.launch(paths, state, device, f"k{number}", shape, inputs, same)
        for path in paths:
            path.unlink()
        return {name: found[name] for name in ("w", "v", "out", "outf")}

    def _bundle(self, device, values) -> KernelBundle:
        """Returns the kernels, with some values of constants, linked with all that they call."""
        if self.way == FILE:
            return self._of_command(device, values)
        if self.way.startswith("build"):
            return lp.build(self._source(device, values, is_whole=self.way == "build"))
        objects = self._objects(device, values)
        context = device.default_context
        if self.way == "link loaded":
            objects = [self._loaded(context, item, OBJECT) for item in objects]
        if self.way == "link of SPIR-V":
            objects[1:] = [made for item in objects[1:] for made in self._foreign(context, item)]
        self._pick.shuffle(objects)
        return lp.link(objects if self._pick.random() < 0.7 else lp.join(objects))

    def _of_command(self, device, values) -> KernelBundle:
        """Returns what ``lapilli build`` makes of the module of kernels, or of all modules."""
        if self._built is None:
            inputs = [Path(module.__file__ or "").name for module in self.modules[1:]]
            inputs = inputs if self._pick.random() < 0.5 else inputs[-1:]
            self._built = self.folder / f"{self.module.__name__}.lpk"
            command = [sys.executable, "-m", "lapilli", "build", *inputs, "-o", self._built.name]
            command += ["--device-code-split", self._pick.choice(["auto", "per_kernel", "off"])]
            made = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stderr
        state = INPUT if values else EXECUTABLE
        bundle = lp.load_kernel_bundle(device.default_context, self._built, state=state)
        if state is EXECUTABLE:
            return bundle
        for constant, value in values.items():
            if bundle.has_specialization_constant(constant):
                bundle.set_specialization_constant(constant, value)
        return lp.build(bundle)

    def _source(self, device, values, *, is_whole: bool) -> KernelBundle:
        """Returns the kernels in state INPUT; `is_whole`: what they call is looked up in other modules."""
        context = device.default_context
        kernels = [getattr(self.module, f"k{n}") for n in range(len(self.ranks))]
        source = lp.get_kernel_bundle(context, state=INPUT, kernel_ids=kernels)
        if self.way == "build loaded":
            source = self._loaded(context, lp.build(source), INPUT)
        for constant, value in values.items():
            # What is looked up may read constants that no kernel does.
            if is_whole or source.has_specialization_constant(constant):
                source.set_specialization_constant(constant, value)
        return source

    def _objects(self, device, values) -> list[KernelBundle]:
        """Returns the kernels and the libraries, each compiled by itself."""
        context, source = device.default_context, self._source(device, values, is_whole=False)
        parts = [source]
        for module, part in zip(self.modules[1:3], "ab", strict=True):
            own = getattr(module, f"own_{part}")
            library = lp.get_kernel_bundle(context, state=INPUT, kernel=own)
            for constant, value in values.items():
                if library.has_specialization_constant(constant):
                    library.set_specialization_constant(constant, value)
            parts.append(library)
        return [lp.compile(part) for part in parts]

    def _loaded(self, context, bundle: KernelBundle, state: lp.BundleState) -> KernelBundle:
        """Returns what comes of saving and loading a bundle."""
        path = self._saved(bundle)
        loaded = lp.load_kernel_bundle(context, path, state=state)
        path.unlink()
        return loaded

    def _saved(self, bundle: KernelBundle) -> Path:
        """Returns the file of a bundle."""
        self._count += 1
        path = self.folder / f"bundle-{self._count}.lpk"
        bundle.save(path)
        return path

    def _foreign(self, context, bundle: KernelBundle) -> list[KernelBundle]:
        """Returns the functions that a bundle exports as libraries of another compiler would have them."""
        binaries = [image.spirv() for image in bundle if not image.kernels]
        language = lp.SourceLanguage.SPIRV
        return [lp.compile(lp.create_kernel_bundle_from_source(context, language, b)) for b in binaries]
