"""Launching and compiling kernels: the composition root of ``k[n](…)``, where front end, passes, emission and
runtime meet.

xdsl is imported when a kernel has to be compiled; a launch of a compiled kernel never touches it.  The order
of a launch is the contract's: arguments, requirements, build, range; what fails leaves nothing behind.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import FunctionType
from typing import TYPE_CHECKING, cast

from ..ir.config import config
from ..ir.errors import BuildError, InvalidError, KernelArgumentError, KernelNotSupportedError, NdRangeError
from ..ir.kernel_info import (
    BufferParameter,
    KernelInfo,
    LocalParameter,
    Parameter,
    ScalarParameter,
    StreamParameter,
)
from ..ir.target_env import BindingModel, TargetEnv
from ..vk_runtime.array import Array
from ..vk_runtime.bundle_launch import padded
from ..vk_runtime.coarse_record import CoarseRecord, Form, prepare_coarse
from ..vk_runtime.compatibility import is_supported
from ..vk_runtime.device import Device, device
from ..vk_runtime.disk_cache import open_cache
from ..vk_runtime.errors import ArrayRangeError
from ..vk_runtime.event import Event
from ..vk_runtime.image_base import ImageBase
from ..vk_runtime.indirect_range import IndirectRange
from ..vk_runtime.launch import LaunchRecord, check_arguments, prepare, require_device
from ..vk_runtime.launch_plan import check_local_size
from ..vk_runtime.launchable import SINGLE_TASK
from ..vk_runtime.profile import Stages, span
from ..vk_runtime.queue import Queue
from ..vk_runtime.requirements import work_group_problem
from ..vk_runtime.trace import record
from .arguments import bind_arguments, taken_apart
from .aspect_warnings import warn_once
from .captures import Captures
from .checking import checks_of
from .collector_pause import collector_paused
from .compile_options import DEFAULT_OPTIONS, options_of
from .constant_arguments import NO_CONSTANTS, Constants
from .function_attributes import attributes_of
from .image_cache import CachedKernel, absolute_locations, cached_kernel, relative_locations
from .image_types import ImageType, image_parameter
from .parameter_types import ConstType, LocalArrayType, StreamType
from .ranges import LaunchRange, NdRange, launch_range
from .spec_constant import SpecializationId
from .struct_types import scalar_leaves
from .types import ArrayType, Type

if TYPE_CHECKING:
    from ..passes.pipeline import AnalysedImage, Analysis
    from ..spirv.device_image import DeviceImage
    from .kernel import KernelFunction, LaunchConfiguration

logger = logging.getLogger(__name__)

compile_lock = threading.RLock()
"""One compilation at a time: the compiler is pure Python, so a second one would only make both slower."""


RECORD_LIMIT = 1024
"""Prepared launches that a kernel keeps; a program with more shapes than that starts over."""


@dataclass(frozen=True, slots=True)
class Executable:
    """A kernel compiled for one target environment and one rank."""

    image: DeviceImage
    kernel: KernelInfo
    captures: Captures
    """What it read from around itself."""
    is_linked: bool = True
    """Whether nothing is left to do: a kernel bundle's compiled image may wait to be linked."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that was checked, apart from its arguments."""

    record: LaunchRecord | CoarseRecord
    captures: Captures

    def is_current(self) -> bool:
        """Whether every captured name still means what it meant at compilation."""
        return self.captures.are_current()

    def launch_again(self, args: tuple[object, ...]) -> Event | None:
        """Launches on the default queue; None where the kernel or its arguments need a closer look."""
        return self.record.launch_again(args) if self.captures.are_current() else None


# ---- launching ----


def launch(
    kernel: KernelFunction,
    configuration: LaunchConfiguration,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> Event:
    """Launches a kernel; what ``k[n](…)`` calls.

    A launch like an earlier one, whatever its arguments, goes to that one's `LaunchRecord`, which checks the
    arguments and records the dispatch; everything else is the same every time.

    Raises:
        KernelArgumentError: arguments or specialization values that do not suit.
        KernelNotSupportedError: the device lacks an aspect or a limit that the kernel needs.
        BuildError: the kernel cannot be compiled.
        NdRangeError: the range cannot be.
        RuntimeFailure: there is no usable device.
    """
    if config.interpret and type(configuration.range) is IndirectRange:
        from .indirect_launch import on_host

        configuration = on_host(configuration)
    signature, spec_values = kernel.signature, configuration.spec_values
    if kwargs and signature.specialization_ids:
        kwargs, spec_values = _split_keywords(kernel, kwargs, spec_values)
    values = bind_arguments(signature, args, kwargs, kernel.name)
    constants, shapes = NO_CONSTANTS, ()
    if signature.has_composites:
        taken = taken_apart(signature, values, kernel.name)
        values, constants, shapes = taken.values, taken.constants, taken.shapes
    queue = _queue_of(kernel, configuration, values)
    spec = _spec_bytes(kernel, spec_values) if spec_values else ()
    shape = _exact_range(configuration.range)
    key = (queue.device, shape, spec, config.interpret, constants.key, shapes)
    events = _events(kernel, configuration.wait_events) if configuration.wait_events else ()
    if type(configuration.range) is IndirectRange:
        from .indirect_launch import launch_indirect

        return launch_indirect(kernel, configuration.range, queue, values, spec, constants, shapes, events)
    prepared = kernel.records.get(key) if shape is not None else None
    if prepared is None or not prepared.is_current():
        prepared = _prepare(kernel, configuration.range, queue.device, values, spec, constants)
        if len(kernel.records) >= RECORD_LIMIT:
            kernel.records.clear()
        if shape is not None:
            kernel.records[key] = prepared
    if config.interpret:
        from .interpretation import interpret_launch

        assert isinstance(prepared.record, LaunchRecord), "interpreted launches are not coarsened"
        return interpret_launch(kernel, prepared.record, queue, values, spec, events, constants)
    if not spec and "interpret" not in config.values:
        _shorten(kernel, configuration, prepared)
    try:
        return prepared.record.launch(queue, values, events)
    except ArrayRangeError as error:
        if not queue.device.logical.has_buffer_addresses:
            raise
        by_address = _prepared_by_address(
            kernel, configuration.range, queue.device, values, spec, constants, key, error
        )
    return by_address.record.launch(queue, values, events)


def _prepared_by_address(
    kernel: KernelFunction,
    range_: object,
    device: Device,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    key: tuple[object, ...],
    error: ArrayRangeError,
) -> Prepared:
    """Returns the launch of the form of a kernel that takes addresses of arrays: they may have any size.

    Raises:
        ArrayRangeError: `error`, where the kernel has no such form: it takes images.
    """
    key = (*key, BindingModel.ADDRESS)
    found = kernel.records.get(key)
    if found is None or not found.is_current():
        env = replace(environment_of(kernel, device.target_env), binding_model=BindingModel.ADDRESS)
        try:
            found = _prepare(kernel, range_, device, values, spec, constants, env)
        except BuildError:
            raise error from None
        kernel.records[key] = found
    return cast(Prepared, found)


def _split_keywords(
    kernel: KernelFunction, kwargs: Mapping[str, object], spec_values: Mapping[object, object] | None
) -> tuple[Mapping[str, object], Mapping[object, object] | None]:
    """Takes the values of `Spec` parameters out of the keyword arguments of a launch; they win over ``.spec``."""
    ids = kernel.signature.specialization_ids
    given: dict[object, object] = {ids[name]: value for name, value in kwargs.items() if name in ids}
    if not given:
        return kwargs, spec_values
    rest = {name: value for name, value in kwargs.items() if name not in ids}
    return rest, {**(spec_values or {}), **given}


def _shorten(kernel: KernelFunction, configuration: LaunchConfiguration, prepared: Prepared) -> None:
    """Lets later launches like this one skip what depends only on kernel, range and device."""
    is_plain = not (configuration.queue or configuration.wait_events or configuration.spec_values)
    signature = kernel.signature
    has_each = signature.positional_count == len(signature.parameters) and not signature.has_composites
    if is_plain and has_each:
        record = prepared.record
        configuration.again = record.launch_again if prepared.captures.is_empty else prepared.launch_again


def _exact_range(range_: object) -> object:
    """Returns a range as a dictionary key, None where its parts are not plain ints (True and 1.0 equal 1)."""
    if type(range_) is int or range_ is SINGLE_TASK:
        return range_
    if type(range_) is tuple:
        parts = cast("tuple[object, ...]", range_)
        return parts if all(type(part) is int for part in parts) else None
    if type(range_) is NdRange:
        global_, local = _exact_range(range_.global_), _exact_range(range_.local)
        return None if global_ is None or local is None else (NdRange, global_, local)
    return None


def _prepare(
    kernel: KernelFunction,
    range_: object,
    device: Device,
    values: Sequence[object],
    spec: tuple[tuple[str, bytes], ...],
    constants: Constants,
    env: TargetEnv | None = None,
) -> Prepared:
    """Checks a launch in the order of the contract and makes what its repetitions use.

    Args:
        env: what to compile for; None: the device's environment, for some ranges with coarsening.
    """
    check_arguments(kernel.name, parameters_of(kernel), values, device)
    rank = kernel.signature.rank or _rank_of(range_)
    executable = executable_for(kernel, rank, device, env, constants=constants)
    limit = 1 << (kernel.options.index.bits - 1)
    checked = _single(executable.kernel) if range_ is SINGLE_TASK else launch_range(range_, limit=limit)
    given = launch_local_size(kernel, checked, executable.kernel, device, dict(spec))

    extents = padded(executable.kernel, checked.extents)

    def form_of(chosen: Executable) -> Form:
        # A constant may be set that no kernel of the image reads, or whose reads the optimiser removed.
        read = {constant.symbol for constant in chosen.image.spec_constants}
        spec_values = {symbol: value for symbol, value in spec if symbol in read}
        return Form(image=chosen.image, kernel=chosen.kernel, spec_values=spec_values)

    plain = form_of(executable)
    coarse = None if env else _coarse_executable(kernel, executable, checked, device, constants)
    if coarse is not None:
        found = prepare_coarse(device, form_of(coarse), plain, extents, values)
        if found is not None:
            return Prepared(found, coarse.captures)
    record = prepare(
        device,
        plain.image,
        plain.kernel,
        extents,
        None if given is None else padded(executable.kernel, given),
        values,
        plain.spec_values,
        is_nd_range=checked.local is not None,
    )
    return Prepared(record, executable.captures)


def _coarse_executable(
    kernel: KernelFunction, plain: Executable, range_: LaunchRange, device: Device, constants: Constants
) -> Executable | None:
    """Returns the coarsened form of a kernel where it pays on the device; it is the kernel itself where it has none."""
    if plain.kernel.abi.index_bits != 32 or kernel.signature.rank not in (None, len(range_.extents)):
        return None
    attributes = attributes_of(kernel)
    sizes = (
        range_.local,
        kernel.options.local_size,
        attributes.reqd_work_group_size,
        attributes.work_group_size_hint,
    )
    is_plain = config.interpret or any(size is not None for size in sizes)
    if is_plain or not device.coarsening.is_worthwhile(plain.kernel, range_.extents):
        return None
    env = environment_of(kernel, device.target_env)
    choice = device.coarsening
    env = replace(env, lanes_per_invocation=choice.lanes, splits_branches=choice.splits_branches)
    return executable_for(kernel, len(range_.extents), device, env, constants=constants)


def _queue_of(kernel: KernelFunction, configuration: LaunchConfiguration, values: Sequence[object]) -> Queue:
    """Returns the queue of ``.on``, else the default queue of the first array's device."""
    queue = configuration.queue
    if queue is None:
        for value in values:
            if isinstance(value, Array | ImageBase):
                return value.device.default_queue
        return device().default_queue
    if not isinstance(queue, Queue):
        raise InvalidError(
            f"kernel '{kernel.name}': .on(…) expects an lp.Queue, found {queue!r} of type "
            f"{type(queue).__name__}"
        )
    return queue


def _events(kernel: KernelFunction, events: tuple[object, ...]) -> tuple[Event, ...]:
    for event in events:
        if not isinstance(event, Event):
            raise InvalidError(
                f"kernel '{kernel.name}': .on(…, wait=…) expects lp.Event objects, found {event!r} of type "
                f"{type(event).__name__}"
            )
    return cast("tuple[Event, ...]", events)


def parameters_of(kernel: KernelFunction) -> tuple[Parameter, ...]:
    """Returns the parameters as the runtime checks arguments against them, before anything is compiled."""
    found = kernel.compiled.get("parameters")
    if found is None:
        found = kernel.compiled["parameters"] = tuple(
            parameter for p in kernel.signature.parameters for parameter in _parameters(p.name, p.type)
        )
    return cast("tuple[Parameter, ...]", found)


def _parameters(name: str, type_: Type) -> list[Parameter]:
    """Returns what one parameter is to the runtime: an array, or each scalar of a value."""
    if isinstance(type_, ImageType):
        return [image_parameter(name, type_)]
    if isinstance(type_, ArrayType):
        dtype = type_.element.spelling
        access = "read" if type_.access == "constant" else type_.access
        return [BufferParameter(name=name, dtype=dtype, ndim=type_.ndim, access=access)]
    if isinstance(type_, LocalArrayType):
        return [LocalParameter(name=name, dtype=type_.element.spelling, ndim=type_.ndim)]
    if isinstance(type_, StreamType):
        return [StreamParameter(name=name)]
    if isinstance(type_, ConstType):
        return []
    return [
        ScalarParameter(name=name + path, dtype=scalar.spelling, offset_bytes=None)
        for path, scalar, _ in scalar_leaves(type_)
    ]


def _spec_bytes(kernel: KernelFunction, values: Mapping[object, object]) -> tuple[tuple[str, bytes], ...]:
    """Returns the host bytes of specialization values by symbol, in the order of the symbols."""
    packed: dict[str, bytes] = {}
    for constant, value in values.items():
        if not isinstance(constant, SpecializationId):
            raise KernelArgumentError(
                f"kernel '{kernel.name}': .spec(…) expects lp.SpecializationId objects as keys, found {constant!r}",
                code="LP3011",
            )
        packed[constant.symbol] = constant.to_bytes(value)
    return tuple(sorted(packed.items()))


def _rank_of(range_: object) -> int:
    """Returns the number of dimensions of a range; a range that has none to speak of raises at once."""
    if range_ is SINGLE_TASK:
        return 1
    extents = range_.global_ if isinstance(range_, NdRange) else range_
    if isinstance(extents, Sequence) and not isinstance(extents, str | bytes | bytearray):
        rank = len(cast("Sequence[object]", extents))
        if 1 <= rank <= 3:
            return rank
        launch_range(range_)
    elif not hasattr(extents, "__index__"):
        launch_range(range_)
    return 1


def _single(info: KernelInfo) -> LaunchRange:
    """Returns the range of one work-item, in a group of its own unless the kernel requires another size."""
    return LaunchRange((1,), (1,) if info.required_work_group_size is None else None)


def launch_local_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device, spec: Mapping[str, bytes]
) -> tuple[int, ...] | None:
    """Returns the local size that range, decorator or hint give a launch, None where the runtime chooses.

    Raises: as `_local_size`.
    """
    given = _local_size(kernel, range_, info, device, spec)
    return given or _hinted_size(kernel, range_, info, device)


def _local_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device, spec: Mapping[str, bytes]
) -> tuple[int, ...] | None:
    """Returns the local size of a launch, None where the runtime chooses.

    Raises:
        NdRangeError: another number of dimensions than the range.
        InvalidError: a size computed from specialization constants that is below 1.
        KernelNotSupportedError: one that the device does not allow; names expression and constants.
    """
    if range_.local is not None or kernel.local_size is None:
        return range_.local
    local = kernel.local_size.sizes(spec, kernel.name)
    if len(local) != len(range_.extents):
        raise NdRangeError(
            f"kernel '{kernel.name}': range {range_.extents} has {len(range_.extents)} dimensions, its "
            f"local_size {local} has {len(local)}; expected as many"
        )
    if not kernel.local_size.is_fixed:
        try:
            check_local_size(info, padded(info, local), device.logical.physical.limits, device.name)
        except KernelNotSupportedError as error:
            explained = f"{error.message}; {kernel.local_size.explain(spec)}"
            raise KernelNotSupportedError(explained, code=error.code) from None
    return local


def _hinted_size(
    kernel: KernelFunction, range_: LaunchRange, info: KernelInfo, device: Device
) -> tuple[int, ...] | None:
    """Returns the local size of ``work_group_size_hint`` where nothing else says one and the device has room."""
    hint = attributes_of(kernel).work_group_size_hint
    if hint is None or info.required_work_group_size is not None or not info.abi.is_masked:
        return None
    return hint if len(hint) == len(range_.extents) and work_group_problem(device, hint) is None else None


# ---- compiling ----


def environment_of(kernel: KernelFunction, env: TargetEnv) -> TargetEnv:
    """Returns the environment that a kernel is compiled for: a device's, with the options of kernel and module."""
    options = options_of(kernel.function.__module__)
    env, checks = options.environment(env, kernel.options.opt_level), checks_of(options)
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
                found = kernel.compiled[key] = _build(kernel, rank, device, env, constants)
    if not found.is_linked:
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
    """Takes a kernel from the cache on disk, or compiles it."""
    if config.dump:
        from .stage_dumps import dump_stages

        dump_stages(kernel, rank, env, device.selector)
    store = open_cache()
    cached = None if store is None else cached_kernel(store, kernel, rank, env, constants.key)
    found = None if cached is None else _from_cache(cached, device, env)
    if found is not None:
        return found
    made = _compile(kernel, rank, device, env, constants)
    if cached is not None:
        cached.keep(made.captures, partial(_relative_bytes, made.image))
    return made


def _from_cache(cached: CachedKernel, device: Device, env: TargetEnv) -> Executable | None:
    """Returns what the cache has of a kernel; an entry that holds no image of this kernel is removed."""
    from ..spirv.device_image import DeviceImage

    hit = cached.find()
    if hit is None:
        return None
    try:
        stored = DeviceImage.from_bytes(hit.image)
        image = replace(stored, kernels=absolute_locations(stored.kernels, hit.functions))
        kernel = image.kernel(cached.kernel.name)
        if stored.target_env != env or not _has_signature(kernel, cached.kernel):
            raise ValueError("an image of another kernel")
    except (InvalidError, ValueError, KeyError) as error:
        logger.info("removed the cache entry %s: %s", hit.name, error)
        cached.forget(hit)
        return None
    record("cache_hit", kernel=kernel.name, image=image.digest, device=device.selector)
    return Executable(image, kernel, hit.captures)


def _has_signature(info: KernelInfo, kernel: KernelFunction) -> bool:
    """Whether an image's kernel takes the arguments that a launch checks."""
    found = [(type(p), p.name, p.dtype, getattr(p, "ndim", 0)) for p in info.parameters]
    return found == [(type(p), p.name, p.dtype, getattr(p, "ndim", 0)) for p in parameters_of(kernel)]


def _relative_bytes(image: DeviceImage, functions: Sequence[FunctionType]) -> bytes | None:
    kernels = relative_locations(image.kernels, functions)
    return None if kernels is None else replace(image, kernels=kernels).to_bytes()


@cache
def load_compiler() -> None:
    """Imports the compiler the fast way; whoever imports it before pays the full price and nothing else."""
    from ..ir.deferred_definitions import deferred_definitions
    from ..ir.deferred_formats import deferred_formats

    with span("compile", "import of the compiler"), deferred_definitions(), deferred_formats():
        from ..passes import pipeline
        from ..passes.convert_to_spirv import convert
        from ..passes.optimise import pipeline as optimise
        from ..spirv import build_image, tools_library
        from . import builder
    loaded = (builder, pipeline, optimise, convert, build_image, tools_library)
    logger.debug("loaded %s", ", ".join(module.__name__ for module in loaded))


def _compile(
    kernel: KernelFunction, rank: int, device: Device, env: TargetEnv, constants: Constants
) -> Executable:
    load_compiler()
    from .builder import refusing_depth
    from .deep_stack import with_deep_stack
    from .inspection import inspect
    from .reproducer import reporting_faults

    def ir() -> str:
        return str(inspect(kernel, "ir", rank=rank, env=env))

    with (
        collector_paused(),
        refusing_depth([kernel]),
        reporting_faults(kernel.name, env, kernel.source.text, ir),
    ):
        return with_deep_stack(lambda: _compile_now(kernel, rank, device, env, constants))


def _compile_now(
    kernel: KernelFunction, rank: int, device: Device, env: TargetEnv, constants: Constants
) -> Executable:
    from ..passes.pipeline import analyse, lower_image
    from ..spirv.build_image import build_image
    from .builder import build_module

    captures, stages = Captures(), Stages(kernel.name, device.selector)
    module = build_module(
        [kernel],
        rank=rank,
        captures=captures,
        optional_aspects=env.optional_aspects,
        checks=env.checks,
        constants={kernel.name: constants},
    )
    stages.done("front end")
    unit = kernel.function.__module__
    analysis = analyse(module, env, mode="off", fixed_targets=options_of(unit).fixed_targets)
    warn_once(analysis.diagnostics, unit)
    (analysed,) = analysis.images
    require_device(device, _needs_of(kernel, analysed), analysed.requirements)
    stages.done("passes")
    lowered = lower_image(analysed, env)
    stages.done("lowering")
    image = build_image(lowered, env)
    stages.done("emission")
    record("compile", kernel=kernel.name, image=image.digest, device=device.selector)
    if image.imports:
        image = _linked(kernel, image, captures, device)
    return Executable(image, image.kernel(kernel.name), captures)


def _link_object(kernel: KernelFunction, compiled: Executable, device: Device) -> Executable:
    """Returns what a kernel bundle compiled and nobody has linked yet, linked."""
    captures = replace(compiled.captures)  # those of the bundle's image stay its own
    image = _linked(kernel, compiled.image, captures, device)
    return Executable(image, image.kernel(compiled.kernel.name), captures)


def _linked(kernel: KernelFunction, image: DeviceImage, captures: Captures, device: Device) -> DeviceImage:
    """Links a kernel with the exported functions of other modules that it calls; raises LinkError."""
    from .linking import link_externals

    linked = link_externals(image, captures)
    record("link", kernel=kernel.name, image=linked.digest, device=device.selector)
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
) -> Analysis:
    """Builds the IR of kernels and runs the passes up to where each image's requirements are known.

    Args:
        kernels: of one translation unit; their names differ.
        env: the environment to compile for.
        rank: dimensions of the launch range; None: as many as each kernel uses.
        mode: device code split; None: that of the kernels' module.
    """
    from ..passes.pipeline import analyse
    from .builder import build_module

    options = options_of(kernels[0].function.__module__) if kernels else DEFAULT_OPTIONS
    module = build_module(kernels, rank=rank, optional_aspects=env.optional_aspects, checks=env.checks)
    split = options.device_code_split if mode is None else mode
    return analyse(module, env, mode=split, fixed_targets=options.fixed_targets)


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
    from ..passes.pipeline import lower_image
    from ..spirv.build_image import build_image
    from .builder import refusing_depth
    from .deep_stack import with_deep_stack

    target = env or TargetEnv()

    def build() -> tuple[DeviceImage, ...]:
        analysis = analyse_kernels(kernels, target, rank=rank, mode=mode)
        if kernels:
            warn_once(analysis.diagnostics, kernels[0].function.__module__)
        return tuple(build_image(lower_image(image, target), target) for image in analysis.images)

    with compile_lock, collector_paused(), refusing_depth(kernels):
        return with_deep_stack(build)
