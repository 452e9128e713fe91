"""Running kernels in the reference interpreter (`ir.interpret`) instead of on a device.

Two ways lead here.  With ``lp.config.interpret`` (LAPILLI_INTERPRET=1) every launch is checked like any other and
then interpreted: its arrays and images are read from their device, and written back before the launch returns.
`interpret` runs one kernel on NumPy arrays and needs no Vulkan device at all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..ir.errors import InvalidError, KernelTrap, NdRangeError
from ..ir.interpret.launch import (
    DEFAULT_STEP_LIMIT,
    DEFAULT_SUB_GROUP_SIZE,
    LaunchShape,
    Options,
    interpret_module,
)
from ..ir.stream import Stream
from ..vk_runtime import trace
from ..vk_runtime.event import Event
from ..vk_runtime.print_order import Line
from ..vk_runtime.printer import show
from ..vk_runtime.quiet import quiet
from ..vk_runtime.reports import HostReport, Output
from .arguments import LaunchArguments, bind_arguments, taken_apart
from .captures import Captures
from .checking import checks_of
from .compile_options import options_of
from .constant_arguments import NO_CONSTANTS, Constants
from .function_attributes import attributes_of
from .interpreted_arguments import DeviceArguments, NumPyArguments
from .ranges import LaunchRange, check_multiple, launch_range, normalise_local_size

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..vk_runtime.launch_record import LaunchRecord
    from ..vk_runtime.queue import Queue
    from ..vk_runtime.scalars import Scalar
    from .kernel import KernelFunction
    from .spec_constant import SpecializationId

# Taken from where a launch reads its arrays to where it writes them back: what others stored between would be lost.
_one_at_a_time = threading.RLock()

_DEFAULT_LOCAL_SIZES = {1: (64,), 2: (4, 16), 3: (2, 4, 8)}


def interpret(
    kernel: KernelFunction | Any,  # what the stubs call the result of @lp.kernel
    range_: object,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    local: int | tuple[int, ...] | None = None,
    spec: Mapping[SpecializationId, object] | None = None,
    sub_group_size: int = DEFAULT_SUB_GROUP_SIZE,
    step_limit: int = DEFAULT_STEP_LIMIT,
    optional_aspects: Iterable[int] = (),
) -> None:
    """Runs a kernel in the reference interpreter, as ``kernel[range_](*args)`` would on a device.

    Args:
        kernel: made by ``@lp.kernel``.
        range_: what stands in the brackets of a launch.
        args: by position: numbers, and NumPy arrays of the parameters' dtypes, which are changed in place; for an
            image its pixels, channels last, with a sampler the tuple (pixels, `lp.ImageSampler`).
        kwargs: by name.
        local: work-group size, slowest dimension first; None: the range's, the kernel's own, or any.
        spec: values of specialization constants.
        sub_group_size: work-items of a sub-group, up to 128.
        step_limit: loop iterations, in the work-groups that run at once, after which a loop counts as endless.
        optional_aspects: what the code may rely on beside what it needs, see `TargetEnv.optional_aspects`.

    Raises:
        KernelTrap: the kernel does what no kernel may; see `ir.interpret.launch`.
        KernelArgumentError: arguments that do not suit the parameters.
        NdRangeError: a range or local size that cannot be.
        BuildError: the kernel cannot be compiled.
    """
    if not 1 <= sub_group_size <= 128 or sub_group_size & (sub_group_size - 1):
        raise InvalidError(
            f"interpret: sub_group_size is a power of two from 1 to 128; found {sub_group_size}"
        )
    values = bind_arguments(kernel.signature, tuple(args), kwargs or {}, kernel.name)
    given = LaunchArguments(values)
    if kernel.signature.has_composites:
        given = taken_apart(kernel.signature, values, kernel.name)
    arrays = NumPyArguments(kernel.name)
    bound = [
        arrays.argument(parameter, value)
        for parameter, value in zip(kernel.signature.runtime_parameters, given.values, strict=True)
    ]
    checked = _range(kernel, range_)
    module = _module(kernel, len(checked.extents), tuple(optional_aspects), given.constants)
    values_of = {constant.symbol: constant.to_bytes(value) for constant, value in (spec or {}).items()}
    shape = LaunchShape(range_=checked.extents, local=_local_size(kernel, module, checked, local, values_of))
    names = (parameter.name for parameter in kernel.signature.runtime_parameters)
    streams = {name: v for name, v in zip(names, given.values, strict=True) if isinstance(v, Stream)}
    try:
        interpret_module(
            module,
            kernel.name,
            shape,
            bound,
            spec_values=values_of,
            options=Options(sub_group_size=sub_group_size, step_limit=step_limit),
            write=lambda name, text: _write(streams.get(name), text),
        )
    finally:
        arrays.write_back()


def interpret_launch(
    kernel: KernelFunction,
    record: LaunchRecord,
    queue: Queue,
    values: Sequence[object],
    spec: Iterable[tuple[str, bytes]],
    events: Iterable[Event],
    constants: Constants = NO_CONSTANTS,
) -> Event:
    """Interprets a launch that was checked, and waits for what it depends on; returns an event that is done.

    A failed ``assert``, and what was printed, waits for the next wait or read, as with a device.

    Raises:
        KernelTrap: the kernel does what no kernel may.
        KernelArgumentError: arguments that do not suit the parameters.
    """
    device, plan = queue.device, record.plan
    scalars = list(record.scalars(values))
    module = _module(kernel, len(plan.range_), device.target_env.optional_aspects, constants)
    shape = LaunchShape(range_=plan.range_, local=plan.local)
    size = max(device.info.sub_group_sizes, default=DEFAULT_SUB_GROUP_SIZE)
    options = Options(sub_group_size=min(size, 128))
    with quiet():  # what earlier launches report waits for a wait of the user's
        for event in events:
            event.wait()
    with _one_at_a_time:
        return _launch(kernel, queue, values, scalars, (module, shape, dict(spec), options))


def _launch(
    kernel: KernelFunction,
    queue: Queue,
    values: Sequence[object],
    scalars: Sequence[Scalar],
    launch: tuple[ModuleOp, LaunchShape, Mapping[str, bytes], Options],
) -> Event:
    """Reads a launch's memory, interprets it, and writes back what it stored; returns an event that is done."""
    module, shape, spec, options = launch
    parameters = kernel.signature.runtime_parameters
    streams = {
        p.name: value for p, value in zip(parameters, values, strict=True) if isinstance(value, Stream)
    }
    hosts = DeviceArguments(iter(scalars))
    with quiet():
        bound = [hosts.argument(p, value) for p, value in zip(parameters, values, strict=True)]
    trace.record("launch", kernel=kernel.name, device=queue.device.selector)
    changed: frozenset[int] = frozenset(range(len(bound)))  # after a trap everything may be changed
    printed: Output = []

    def write(name: str, text: str) -> None:
        stream = streams.get(name)
        printed.append(Line(stream, text if stream is None else stream.cut(text)))

    failed: KernelTrap | None = None
    try:
        changed = interpret_module(
            module, kernel.name, shape, bound, spec_values=spec, options=options, write=write
        )
    except KernelTrap as trap:
        if trap.code != KernelTrap.code:
            raise
        failed = trap  # a check of the kernel's own is told as devices tell it
    finally:
        written = [bound[i] for i in changed]
        with quiet():
            uses = hosts.write_back(written)
        event = Event(queue, 0)
        if printed or failed is not None:
            event = HostReport(printed, failed).add_to(queue, uses)
    return event


def _write(stream: Stream | None, text: str) -> None:
    show([Line(stream, text if stream is None else stream.cut(text))])


def _range(kernel: KernelFunction, range_: object) -> LaunchRange:
    """Returns the range of `interpret`, with as many dimensions as the kernel's parameters say."""
    checked = launch_range(range_, limit=1 << (kernel.options.index.bits - 1))
    rank = kernel.signature.rank
    if rank not in (None, len(checked.extents)):
        raise NdRangeError(
            f"kernel '{kernel.name}' runs over {rank} dimensions; found a range of {len(checked.extents)}: "
            f"{checked.extents}"
        )
    return checked


def _module(
    kernel: KernelFunction, rank: int, optional_aspects: tuple[int, ...], constants: Constants
) -> ModuleOp:
    """Returns the kernel-level module: verified, not optimised, and with every index as it was written."""
    from ..ir.verify import verify_module
    from .builder import build_module
    from .compile import COMPILED_LIMIT

    checks = checks_of(options_of(kernel.function.__module__), kernel.options.debug)
    key = ("interpreted", rank, optional_aspects, checks, constants.key)
    found = cast("tuple[ModuleOp, Captures] | None", kernel.compiled.get(key))
    if found is None or not found[1].are_current():
        captures = Captures()
        module = build_module(
            [kernel],
            rank=rank,
            captures=captures,
            optional_aspects=optional_aspects,
            checks=checks,
            is_interpreted=True,
            constants={kernel.name: constants},
        )
        verify_module(module)
        found = module, captures
        if len(kernel.compiled) >= COMPILED_LIMIT:
            kernel.compiled.clear()
        kernel.compiled[key] = found
    return found[0]


def _local_size(
    kernel: KernelFunction,
    module: ModuleOp,
    range_: LaunchRange,
    local: int | tuple[int, ...] | None,
    spec: Mapping[str, bytes],
) -> tuple[int, ...]:
    """Returns the work-group size of `interpret`.

    Args:
        local: what the caller says; None: nothing.
        spec: values of specialization constants by symbol, which sizes may be computed from.
    """
    from ..ir.call_graph import function_name, functions
    from ..ir.dialects.kernel import MASKED

    (function,) = (f for f in functions(module) if function_name(f) == kernel.name)
    is_masked, rank = MASKED in function.attributes, len(range_.extents)
    required = attributes_of(kernel).reqd_work_group_size
    given = local if local is not None else range_.local or required
    if given is None and kernel.local_size is not None:
        given = kernel.local_size.sizes(spec, kernel.name)
    if given is None and not is_masked:
        raise InvalidError(
            f"the work-items of kernel '{kernel.name}' work together, so it needs a local size: "
            "interpret(…, local=…), @lp.kernel(local_size=…) or a range lp.NdRange(global_, local_)"
        )
    sizes = _DEFAULT_LOCAL_SIZES[rank] if given is None else normalise_local_size(given, what="local size")
    if len(sizes) != rank:
        raise NdRangeError(
            f"kernel '{kernel.name}': range {range_.extents} has {rank} dimensions, local size {sizes} has "
            f"{len(sizes)}; expected as many"
        )
    if required is not None and sizes != required:
        raise NdRangeError(f"kernel '{kernel.name}' requires the work-group size {required}, found {sizes}")
    if not is_masked:
        check_multiple(range_.extents, sizes)
    return sizes
