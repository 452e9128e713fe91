"""``lapilli build``: kernels to bundle files and file tables, ahead of time.

Inputs are compiled once, for no device in particular.  For each target the images that it can run are given to its
driver, one at a time, where this machine has such a device; the others keep what they require and lose their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ..ir.config import config
from ..ir.device_config import device_config
from ..ir.errors import Diagnostic, InvalidError
from ..ir.property_set import requirement_properties
from ..ir.target_env import OPTIMISATION_PASSES, TargetEnv
from ..spirv.count_rounds import for_driver
from ..spirv.empty_module import EMPTY_MODULE
from ..spirv.file_table import TableRow, write_table
from ..spirv.float_modes import preserving
from ..spirv.lpk import write_file
from ..vk_runtime.bundle_files import FileWriter
from ..vk_runtime.compatibility import is_environment_supported
from ..vk_runtime.native_code import NativeCode
from ..vk_runtime.native_compilation import compile_native
from .aspect_warnings import collected_findings
from .compile_options import checked_passes, overridden_options
from .lpk_images import BuiltImage, build_images
from .lpk_targets import BuildTarget, find_target

PORTABLE_ENV = TargetEnv(
    vulkan_version=(1, 2),
    clamps_atomics=True,
    rounds_conversions_twice=True,
    misrounds_doubles=True,
    folds_zeros=True,
    folds_wide_orders=True,
    skips_half_rounding=True,
    fails_on_carried_truths=True,
    widens_negations=True,
    misjudges_short_extrema=True,
    misjudges_low_bits=True,
    loses_negated_truths=True,
    misjudges_absolutes=True,
    saturates_minima=True,
    skips_exact_halves=True,
    loses_last_rounds=True,
    divides_rounds=True,
    loses_returns=True,
    narrows_conversions=True,
    fails_on_divided_ones=True,
)
"""What images are compiled for: the oldest Vulkan that the runtime uses, nothing that is optional, and drivers with
faults that cost other devices little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What to build."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    """``FILE``, at most once, and ``TARGET,FILE``."""
    targets: tuple[str, ...] = ()
    fixed_targets: tuple[str, ...] | None = None
    device_code_split: str | None = None
    device_configs: tuple[str, ...] = ()
    opt_level: int | None = None
    disabled_passes: tuple[str, ...] = ()
    """Optimisation passes that do not run; (): what the modules say."""
    debug: bool | None = None
    has_spirv: bool = True


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What was done."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    """What the user should know and is no error."""
    warnings: tuple[Diagnostic, ...] = ()
    """What the passes and the linker say of aspects."""


@dataclass(frozen=True, slots=True)
class _Output:
    """One ``-o``."""

    path: Path
    target: str | None

    @property
    def is_table(self) -> bool:
        return self.path.suffix == ".table"


def build(request: BuildRequest) -> BuildResult:
    """Compiles the inputs and writes the outputs.

    Raises:
        InvalidError: an input or output that cannot be, an unknown target in `targets` or `fixed_targets`.
        BuildError: a kernel cannot be compiled or linked, or a driver refuses one.
    """
    outputs = _outputs(request.outputs)
    _keep_inputs(request.inputs, outputs)
    with ExitStack() as stack:
        if request.device_configs:
            files = (*config.device_config, *request.device_configs)
            stack.enter_context(config.override(device_config=files))
            device_config()  # what is wrong with a file is said whether or not a target needs it
        fixed = request.fixed_targets
        if fixed is not None:
            fixed = tuple(device_config().target(name, "fixed target").name for name in fixed)
        targets = tuple(find_target(name) for name in dict.fromkeys(request.targets))
        options = {
            "fixed_targets": fixed,
            "device_code_split": request.device_code_split,
            "opt_level": request.opt_level,
            "disabled_passes": _passes(request.disabled_passes) or None,
            "debug": request.debug,
        }
        stack.enter_context(overridden_options(**{k: v for k, v in options.items() if v is not None}))
        warnings = stack.enter_context(collected_findings())
        images = build_images(request.inputs, PORTABLE_ENV)
        result = _Writer(images, targets, request.has_spirv, outputs[0].path.stem).write(outputs)
        return replace(result, warnings=tuple(warnings))


def _passes(names: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in OPTIMISATION_PASSES]
    if unknown:
        known = ", ".join(OPTIMISATION_PASSES)
        raise InvalidError(f"--disable-pass takes one of {known}; found {unknown[0]!r}")
    return checked_passes(names)


def _outputs(given: Sequence[str]) -> list[_Output]:
    found: list[_Output] = []
    for text in given:
        target, comma, path = text.partition(",")
        output = _Output(Path(path), target) if comma else _Output(Path(text), None)
        if not output.path.name or target == "":
            raise InvalidError(f"-o takes FILE or TARGET,FILE; found {text!r}")
        if output.path == Path("-"):
            raise InvalidError("-o takes FILE or TARGET,FILE; a bundle is not written to standard output (-)")
        found.append(output)
    if sum(output.target is None for output in found) > 1:
        raise InvalidError("expected one -o FILE; further ones name a target, -o TARGET,FILE")
    paths = [output.path.absolute() for output in found]
    if not paths or len(set(paths)) != len(paths):
        raise InvalidError("expected an -o FILE, and another file for each -o")
    return sorted(found, key=lambda output: output.target is not None)


def _keep_inputs(inputs: Sequence[str], outputs: Sequence[_Output]) -> None:
    """Refuses to write over an input."""
    sources = {Path(name).resolve(): name for name in inputs}
    for output in outputs:
        if (name := sources.get(output.path.resolve())) is not None:
            raise InvalidError(f"-o {output.path} would overwrite the input {name}; name another file")


class _Writer:
    """Writes outputs; makes native code when it is first needed, once for each image and target."""

    def __init__(
        self, images: Sequence[BuiltImage], targets: tuple[BuildTarget, ...], has_spirv: bool, stem: str
    ) -> None:
        self._images, self._targets, self._has_spirv, self._stem = images, targets, has_spirv, stem
        self._native: dict[tuple[int, str], NativeCode | None] = {}
        self._files: list[Path] = []
        self._notes: list[str] = []

    def write(self, outputs: Sequence[_Output]) -> BuildResult:
        """Writes every output."""
        for output in outputs:
            if output.is_table:
                self._write_table(output)
            else:
                self._write_bundle(output)
        return BuildResult(tuple(self._files), tuple(dict.fromkeys(self._notes)))

    def _write_table(self, output: _Output) -> None:
        target = self._named(output)
        if output.target is None and not self._has_spirv:
            self._notes.append(f"{output.path} is not written: --no-spirv leaves SPIR-V out")
            return
        write_table(output.path, [self._row(image, target) for image in self._images], self._stem)
        self._files.append(output.path)

    def _row(self, image: BuiltImage, target: BuildTarget | None) -> TableRow:
        is_kept = target is None or target.can_run(image.image)
        return TableRow(
            code=image.image.spirv if is_kept else EMPTY_MODULE,
            properties=requirement_properties(image.requirements),
            symbols=tuple(kernel.entry_point for kernel in image.image.kernels),
        )

    def _write_bundle(self, output: _Output) -> None:
        target = self._named(output)
        targets = self._targets if output.target is None else (target,) if target is not None else ()
        if not self._has_spirv and not targets:
            raise InvalidError(
                f"{output.path} would have no code: --no-spirv leaves SPIR-V out, and no target is named; "
                "add --targets"
            )
        writer = FileWriter()
        for image in self._images:
            is_kept = self._has_spirv and (target is None or target.can_run(image.image))
            found = [code for item in targets if (code := self._native_code(image, item)) is not None]
            if is_kept or not found:  # else the native images say what it requires
                writer.add(image.image, image.ids, image.symbols, has_code=is_kept)
            for native in found:
                writer.add(image.image, image.ids, image.symbols, native=native)
        write_file(output.path, writer.to_bytes())
        self._files.append(output.path)

    def _named(self, output: _Output) -> BuildTarget | None:
        """Returns the target of an output; None for none, or one that nobody knows, which is noted."""
        if output.target is None:
            return None
        known = next((target for target in self._targets if target.name == output.target), None)
        try:
            return known or find_target(output.target)
        except InvalidError as error:
            self._notes.append(f"{output.path} is not filtered: {error.message}")
            return None

    def _native_code(self, image: BuiltImage, target: BuildTarget) -> NativeCode | None:
        """Returns the code of the target's driver; None for images that it cannot run, and where it is not here."""
        if not image.is_source_of_native or not target.can_run(image.image):
            return None
        key = (id(image), target.name)
        if key not in self._native:
            self._native[key] = self._compiled(image, target)
        return self._native[key]

    def _compiled(self, image: BuiltImage, target: BuildTarget) -> NativeCode | None:
        if target.device is None:
            self._notes.append(
                f"target {target.name}: there is no native code, which only its driver can make, and no such device is "
                "here; build on a machine that has one"
            )
            return None
        if not is_environment_supported(image.image.target_env, target.device):
            self._notes.append(f"target {target.name}: its device is too old for the images")
            return None
        env = target.device.target_env
        # Native code is made of the module as loading the file would change it for this device.
        code = for_driver(preserving(image.image, env), env.loop_iteration_cap)
        native = compile_native(code, image.ids, target.device, target.name)
        if native is None:
            self._notes.append(f"target {target.name}: its driver gives no native code away")
        return native
