"""Compiling kernels: the composition root where front end, passes and emission meet.

`executable_for` gives a launch its kernel: the one that it has, else one of the same text from the cache on disk, or
from this process's where there is none, else one that is compiled now.  xdsl is imported only for the last; a launch of
a compiled kernel never touches it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import FunctionType
from typing import TYPE_CHECKING

from ..ir.config import config
from ..ir.errors import BuildError, InvalidError
from ..ir.kernel_info import KernelInfo
from ..ir.lazy_logging import logger_of
from ..ir.target_env import TargetEnv
from ..vk_runtime.device import Device
from ..vk_runtime.disk_cache import open_cache
from ..vk_runtime.held_locks import HeldLocks
from ..vk_runtime.profile import Stages, span
from ..vk_runtime.requirements import require_device
from ..vk_runtime.trace import record
from .captures import Captures
from .checking import checks_of
from .compile_options import DEFAULT_OPTIONS, options_of
from .constant_arguments import NO_CONSTANTS, Constants
from .first_launch import in_the_wait, when_submitted
from .image_cache import CachedKernel, absolute_locations, cached_kernel, relative_locations

if TYPE_CHECKING:
    from ..passes.pipeline import AnalysedImage, Analysis
    from ..spirv.device_image import DeviceImage
    from .image_cache import Store
    from .kernel import KernelFunction

logger = logger_of(__name__)

compile_lock = threading.RLock()
"""One compilation at a time: the compiler is pure Python, so a second one would only make both slower."""
if hasattr(os, "register_at_fork"):  # else a child could find it held by a thread that it lacks
    _forking = HeldLocks()  # notes who took it: another thread may fork during this import

    def _before_fork() -> None:
        _forking.begin()
        _forking.take(compile_lock)

    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_forking.give_back,
        after_in_child=_forking.give_back,
    )


COMPILED_LIMIT = 1024
"""Compiled forms that a kernel keeps, one for each set of `lp.Const` values; one with more than that starts over."""


@dataclass(frozen=True, slots=True)
class Executable:
    """A kernel compiled for one target environment and one rank."""

    image: DeviceImage
    kernel: KernelInfo
    captures: Captures
    """What it read from around itself."""
    is_linked: bool = True
    """Whether nothing is left to do: a kernel bundle's compiled image may wait to be linked."""


def environment_of(kernel: KernelFunction, env: TargetEnv) -> TargetEnv:
    """Returns the environment that a kernel is compiled for: a device's, with the options of kernel and module."""
    options, own = options_of(kernel.function.__module__), kernel.options
    env, checks = options.environment(env, own.opt_level, own.debug), checks_of(options, own.debug)
    return env if env.checks == checks else replace(env, checks=checks)


def executable_for(
    kernel: KernelFunction,
    rank: int,
    device: Device,
    env: TargetEnv | None = None,
    *,
    constants: Constants = NO_CONSTANTS,
) -> Executable:
    """Returns the kernel compiled for a device, which it can run on.

    Args:
        kernel: the kernel.
        rank: dimensions of the launch range.
        device: where it is to run.
        env: what to compile for, None: the device's environment with the options of kernel and module.
        constants: values of its `lp.Const` parameters.

    Raises:
        KernelNotSupportedError: the device lacks an aspect that the kernel needs; nothing was lowered.
        BuildError: the kernel cannot be compiled.
    """
    env = env or environment_of(kernel, device.target_env)
    key = (rank, env, constants.key)
    found: Executable | None = kernel.compiled.get(key)
    if found is None or not found.captures.are_current():
        with compile_lock:
            found = kernel.compiled.get(key)
            if found is None or not found.captures.are_current():
                found = _build(kernel, rank, device, env, constants)
                if len(kernel.compiled) >= COMPILED_LIMIT:
                    kernel.compiled.clear()
                kernel.compiled[key] = found
    if not found.is_linked:
        from ..vk_runtime.compatibility import is_supported

        with compile_lock:
            found = kernel.compiled[key] = _link_object(kernel, found, device)
            if len(found.image.kernels) > 1 and not is_supported(found.image.requirements, device):
                # Other kernels of the bundle's image call functions that need more than this one does.
                found = kernel.compiled[key] = _build(kernel, rank, device, env, constants)
    require_device(device, found.kernel, found.image.requirements)
    return found


def _build(
    kernel: KernelFunction, rank: int, device: Device, env: TargetEnv, constants: Constants
) -> Executable:
    """Takes a kernel from the cache, or compiles it."""
    if config.dump:
        from .stage_dumps import dump_stages

        dump_stages(kernel, rank, env, device.selector)
    cached = cached_kernel(open_cache() or _store_of_process(), kernel, rank, env, constants.key)
    found = None if cached is None else _from_cache(cached, device, env)
    if found is not None:
        return found
    made = _compile(kernel, rank, device, env, constants)
    if cached is not None and not made.captures.has_findings:
        when_submitted(partial(cached.keep, made.captures, partial(_relative_bytes, made.image)))
    return made


def _store_of_process() -> Store:
    from .process_store import process_store

    return process_store


def _from_cache(cached: CachedKernel, device: Device, env: TargetEnv) -> Executable | None:
    """Returns what the cache has of a kernel; an entry that holds no image of this kernel is removed."""
    from ..spirv.device_image import DeviceImage

    hit = cached.find()
    if hit is None:
        return None
    try:
        stored = DeviceImage.from_bytes(hit.image)
        image = stored.relocated(absolute_locations(stored.kernels, hit.found.functions))
        kernel = image.kernel(cached.kernel.name)
        if stored.target_env != env or not _has_signature(kernel, cached.kernel):
            raise ValueError("an image of another kernel")
    except (InvalidError, ValueError, KeyError) as error:
        logger.info("removed the cache entry %s: %s", hit.name, error)
        cached.forget(hit)
        return None
    record("cache_hit", kernel=kernel.name, image=image, device=device.selector)
    return Executable(image, kernel, hit.found.captures)


def _has_signature(info: KernelInfo, kernel: KernelFunction) -> bool:
    """Whether an image's kernel takes the arguments that a launch checks."""
    found = [(type(p), p.name, p.dtype, getattr(p, "ndim", 0)) for p in info.parameters]
    return found == [
        (type(p), p.name, p.dtype, getattr(p, "ndim", 0)) for p in kernel.signature.runtime_parameters
    ]


def _relative_bytes(image: DeviceImage, functions: Sequence[FunctionType]) -> bytes | None:
    kernels = relative_locations(image.kernels, functions)
    return None if kernels is None else replace(image, kernels=kernels).to_bytes()


_FOR_TEXT = (
    "xdsl.parser",
    "xdsl.printer",
    "xdsl.pattern_rewriter",
    "xdsl.rewriter",
    "xdsl.utils.mlir_lexer",
    "xdsl.ir.affine",
    "xdsl.utils.dialect_stub",
)
"""Modules that dialects import to read and print IR, and to rewrite it with patterns, which compiling does not."""


@cache
def load_compiler() -> None:
    """Imports the compiler the fast way; whoever imports it before pays the full price and nothing else.

    Raises:
        BuildError: its packages are not installed, where somebody wanted kernels of bundle files alone.
    """
    from ..ir.late_modules import late_names, put_off_resources

    put_off_resources()
    try:
        import xdsl  # pyright: ignore[reportUnusedImport]  # noqa: F401
    except ModuleNotFoundError:
        raise BuildError(
            "the compiler needs the package 'xdsl', which is not installed here: pip install xdsl, or ship the "
            "kernel in a bundle file (docs/ahead-of-time.md)"
        ) from None
    from ..ir.deferred_definitions import deferred_definitions
    from ..ir.deferred_operations import deferred_operations

    with (
        span("compile", "import of the compiler"),
        deferred_definitions(),
        late_names(*_FOR_TEXT),
        deferred_operations(),
    ):
        from ..passes import pipeline
        from ..passes.convert_to_spirv import convert
        from ..passes.convert_to_spirv.handlers import import_usual_handlers
        from ..passes.optimise import pipeline as optimise
        from ..spirv import build_image, tools_library
        from . import builder

        import_usual_handlers()
    in_the_wait.append(_use_the_wait)
    loaded = (builder, pipeline, optimise, convert, build_image, tools_library)
    logger.debug("loaded %s", ", ".join(module.__name__ for module in loaded))


def _use_the_wait(is_busy: Callable[[], bool]) -> None:
    from .rest_of_compiler import use_the_wait

    held = HeldLocks()
    use_the_wait(is_busy, lambda: held.take(compile_lock, timeout_s=0), held.give_back)


def _compile(
    kernel: KernelFunction, rank: int, device: Device, env: TargetEnv, constants: Constants
) -> Executable:
    load_compiler()
    from ..ir.deferred_attributes import own_attributes
    from ..ir.deferred_definitions import deferred_definitions
    from .builder import refusing_depth
    from .collector_pause import collector_paused
    from .deep_stack import with_deep_stack
    from .reproducer import reporting_faults

    def ir() -> str:
        from .inspection import inspect

        return str(inspect(kernel, "ir", rank=rank, env=env))

    with (
        collector_paused(),
        deferred_definitions(),  # for compiler modules that this kernel is the first to import
        own_attributes(),
        refusing_depth([kernel]),
        reporting_faults(kernel.name, env, kernel.source.text, ir),
    ):
        return with_deep_stack(lambda: _compile_now(kernel, rank, device, env, constants))


def _compile_now(
    kernel: KernelFunction, rank: int, device: Device, env: TargetEnv, constants: Constants
) -> Executable:
    from ..passes.pipeline import analyse, lower_image
    from ..spirv.build_image import build_image
    from .aspect_warnings import findings_of, warn_once
    from .builder import build_module

    captures, stages = Captures(), Stages(kernel.name, device.selector)
    module = build_module(
        [kernel],
        rank=rank,
        captures=captures,
        optional_aspects=env.optional_aspects,
        checks=env.checks,
        runs_all_branches=env.runs_all_branches,
        constants={kernel.name: constants},
    )
    stages.done("front end")
    unit = kernel.function.__module__
    targets = options_of(unit).fixed_targets
    analysis = analyse(module, env, mode="off", fixed_targets=targets, is_ours=True, inlines=True)
    warn_once(findings_of(analysis.diagnostics, captures, unit))
    (analysed,) = analysis.images
    require_device(device, _needs_of(kernel, analysed), analysed.requirements)
    stages.done("passes")
    lowered = lower_image(analysed, env)
    stages.done("lowering")
    image = build_image(lowered, env)
    stages.done("emission")
    record("compile", kernel=kernel.name, image=image, device=device.selector)
    if image.imports:
        image = _linked(kernel, image, captures, device)
    return Executable(image, image.kernel(kernel.name), captures)


def _link_object(kernel: KernelFunction, compiled: Executable, device: Device) -> Executable:
    """Returns what a kernel bundle compiled and nobody has linked yet, linked."""
    captures = replace(compiled.captures)  # a copy: linking must not change those of the bundle's image
    image = _linked(kernel, compiled.image, captures, device)
    return Executable(image, image.kernel(compiled.kernel.name), captures)


def _linked(kernel: KernelFunction, image: DeviceImage, captures: Captures, device: Device) -> DeviceImage:
    """Links a kernel with the exported functions of other modules that it calls; raises LinkError."""
    from .linking import link_externals

    linked = link_externals(image, captures)
    record("link", kernel=kernel.name, image=linked, device=device.selector)
    return linked


def _needs_of(kernel: KernelFunction, image: AnalysedImage) -> KernelInfo:
    """Returns as much of a KernelInfo as the check of aspects reads, before there is an ABI."""
    from ..ir.kernel_info import LaunchAbi

    uses = image.aspect_uses[kernel.name]
    return KernelInfo(
        name=kernel.name,
        entry_point=kernel.name,
        parameters=(),
        abi=LaunchAbi(rank=1),
        aspects=tuple(use.aspect for use in uses),
        aspect_uses=uses,
    )


def analyse_kernels(
    kernels: Sequence[KernelFunction],
    env: TargetEnv,
    *,
    rank: int | None = None,
    mode: str | None = None,
    captures: Captures | None = None,
) -> Analysis:
    """Builds the IR of kernels and runs the passes up to where each image's requirements are known.

    Args:
        kernels: of one translation unit; their names differ.
        env: the environment to compile for.
        rank: dimensions of the launch range; None: as many as each kernel uses.
        mode: device code split; None: that of the kernels' module.
        captures: gets what the kernels read from around themselves.
    """
    from ..passes.pipeline import analyse
    from .builder import build_module

    options = options_of(kernels[0].function.__module__) if kernels else DEFAULT_OPTIONS
    module = build_module(
        kernels,
        rank=rank,
        captures=captures,
        optional_aspects=env.optional_aspects,
        checks=env.checks,
        runs_all_branches=env.runs_all_branches,
    )
    split = options.device_code_split if mode is None else mode
    targets = options.fixed_targets
    return analyse(module, env, mode=split, fixed_targets=targets, is_ours=True, inlines=True)


def compile_kernels(
    kernels: Sequence[KernelFunction],
    env: TargetEnv | None = None,
    *,
    rank: int | None = None,
    mode: str | None = None,
) -> tuple[DeviceImage, ...]:
    """Compiles kernels to device images without a device; arguments as `analyse_kernels`.

    Raises:
        BuildError: a kernel cannot be compiled.
    """
    from ..ir.deferred_attributes import own_attributes
    from ..passes.pipeline import lower_image
    from ..spirv.build_image import build_image
    from .aspect_warnings import findings_of, warn_once
    from .builder import refusing_depth
    from .collector_pause import collector_paused
    from .deep_stack import with_deep_stack

    target = env or TargetEnv()

    def build() -> tuple[DeviceImage, ...]:
        captures = Captures()
        analysis = analyse_kernels(kernels, target, rank=rank, mode=mode, captures=captures)
        warn_once(findings_of(analysis.diagnostics, captures))
        return tuple(build_image(lower_image(image, target), target) for image in analysis.images)

    with compile_lock, collector_paused(), own_attributes(), refusing_depth(kernels):
        return with_deep_stack(build)
