"""The kernels of `programs.py` by way of kernel bundles: compiled and linked, built, saved and loaded between any two
states, joined, of the module's own kernels or of its text, with native and with emulated specialization constants.
"""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path

import lapilli as lp
from lapilli.frontend.compile_options import overridden_options
from lapilli.vk_runtime.bundle_launch import launch_kernel
from lapilli.vk_runtime.kernel_bundle import KernelBundle

from .differential import SHAPES, Program

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
WAYS = ("build", "compile and link", "link of two", "join", "text")


class BundleProgram(Program):
    """Random kernels of one file, launched from bundles.

    Args:
        seed: the same gives the same.
        folder: for the file and its bundles.
        wide: whether to use every scalar type.
        kernels: of the file.
    """

    def __init__(self, seed: int, folder: Path, *, wide: bool, kernels: int = 2) -> None:
        super().__init__(seed, folder, wide=wide, kernels=kernels)
        pick = random.Random(seed)
        self.folder, self.way = folder, pick.choice(WAYS)
        self._saved = {state: pick.random() < 0.5 for state in (INPUT, OBJECT, EXECUTABLE)}
        self._splits, self._is_emulated = pick.random() < 0.3, pick.random() < 0.3
        self._count = 0

    def __str__(self) -> str:
        saved = [state.name for state, is_saved in self._saved.items() if is_saved]
        return f"{self.way}, saved {saved}, emulated {self._is_emulated}, split {self._splits}"

    def on_device(self, device, number, inputs, with_specs, aliased):
        """As `Program.on_device`."""
        options: dict[str, object] = {"spec_constants": "emulated"} if self._is_emulated else {}
        options |= {"device_code_split": "per_kernel"} if self._splits else {}
        with overridden_options(**options) if options else nullcontext():
            bundle = self._bundle(device, self.spec_values() if with_specs else {})
        arrays = {name: lp.asarray(array, device=device) for name, array in inputs.items()}
        if aliased:
            arrays["v"] = arrays["w"]
        name = f"k{number}"
        known = next(i for i in bundle.kernel_ids if i.name.endswith(name))
        kernel = bundle.get_kernel(known if self.way == "text" else getattr(self.module, name))
        parameters = getattr(self.module, name).function.__annotations__
        launch_kernel(
            device.default_queue, kernel, SHAPES[self.ranks[number]], tuple(arrays[p] for p in parameters)
        )
        return {name: arrays[name].numpy() for name in ("w", "v", "out", "outf")}

    def _kernels(self):
        return [getattr(self.module, f"k{n}") for n in range(len(self.ranks))]

    def _bundle(self, device, values) -> KernelBundle:
        context = device.default_context
        if self.way == "text":
            source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, self.text)
            built = lp.compile(source)
            return self._kept(context, lp.link(self._kept(context, built)))
        kernels = self._kernels()
        halves = [kernels[:1], kernels[1:]] if self.way in ("link of two", "join") else [kernels]
        inputs = [lp.get_kernel_bundle(context, state=INPUT, kernel_ids=half) for half in halves]
        for bundle in inputs:
            self._set(bundle, values)
        inputs = [self._kept(context, bundle) for bundle in inputs]
        if self.way == "build":
            return self._kept(context, lp.build(inputs[0]))
        if self.way == "join":
            return self._kept(context, lp.join([self._kept(context, lp.build(bundle)) for bundle in inputs]))
        objects = [self._kept(context, lp.compile(bundle)) for bundle in inputs]
        return self._kept(context, lp.link(objects))

    def _set(self, bundle, values) -> None:
        for constant, value in values.items():
            if bundle.has_specialization_constant(constant):
                bundle.set_specialization_constant(constant, value)

    def _kept(self, context, bundle: KernelBundle) -> KernelBundle:
        """Returns a bundle, or what comes of saving and loading it."""
        if not self._saved[bundle.state]:
            return bundle
        self._count += 1
        state = bundle.state
        if state is INPUT:  # which cannot be saved: the one that is read from a file of what it was built to
            bundle = lp.build(bundle)
        path = self.folder / f"bundle-{self._count}.lpk"
        bundle.save(path)
        loaded = lp.load_kernel_bundle(context, path, state=state)
        path.unlink()
        return loaded
