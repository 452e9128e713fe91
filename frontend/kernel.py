"""The decorator ``lp.kernel`` and what it makes: `KernelFunction`, and ``k[n]``, a `LaunchConfiguration`.

Signatures are checked at decoration; the body waits for the first launch.  Nothing here imports the compiler
or the runtime: both are reached through `frontend.launch` when a kernel is called.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, get_args, overload

from ..ir.config import config
from ..ir.deferred_definitions import deferred_definitions
from ..ir.errors import (
    BuildError,
    CompileError,
    Error,
    InvalidError,
    KernelArgumentError,
    for_user,
    no_events,
)
from ..ir.start_up import import_at_start_up
from . import units
from .annotations import enclosing_names, resolve_signature
from .compile_options import note_kernel
from .definition import KernelOptions
from .local_size import LocalSize
from .signature import Signature
from .source import FunctionSource, plain_function
from .spec_constant import SpecializationId

Stage = Literal["python", "ir", "split", "spirv-dialect", "spirv", "metadata"]
"""What `KernelFunction.inspect` shows, in the order of the pipeline."""


CONFIGURATION_LIMIT = 1024
"""Ranges whose `LaunchConfiguration` a kernel keeps; a program with more starts over."""

_PLAIN_RANGES = frozenset({(int,), (int, int), (int, int, int)})
"""Types of the parts of a range that may be looked up by equality."""

_LAUNCHES = frozenset(("launch", "run", "execute", "enqueue", "forall", "dispatch", "call"))
"""What others call launching."""

_NO_CONFIGURATION = (object(), None)
"""Before the first range."""


class KernelFunction:
    """A kernel: a Python function that runs on a device, once for every work-item of ``k[range](…)``."""

    __lapilli_launchable__ = True
    __wrapped__: types.FunctionType
    """The function as it was written."""

    def __init__(
        self,
        function: types.FunctionType,
        options: KernelOptions,
        local_names: Mapping[str, object] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        note_kernel(function.__module__)
        self.function = function
        self.options = options
        self.signature: Signature = resolve_signature(function, local_names)
        self.name: str = options.name or function.__name__
        self.local_size = LocalSize.of(options.local_size, self.signature, function, local_names or {})
        """The work-group size that the decorator asks for; None: the runtime chooses."""
        self._source: FunctionSource | None = None
        self.compiled: dict[Hashable, Any] = {}
        """What `frontend.compile` has made of this kernel, by whatever it depends on."""
        self.records: dict[Hashable, Any] = {}
        """Launches that `frontend.launch` has prepared."""
        self.known_id: Any = None
        """Its `lp.KernelId`, once somebody has asked for it."""
        self._configurations: dict[object, LaunchConfiguration] = {}
        self._last: tuple[object, Any] = _NO_CONFIGURATION
        units.register(self)
        import_at_start_up(_get_ready, _get_libraries)

    def __reduce__(self) -> str:
        """Pickled by name, as its function would be: for processes that import the same module.  A copy is itself."""
        return self.function.__qualname__

    @property
    def qualified_name(self) -> str:
        """The module-qualified name, which tells kernels of one name apart."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def kernel_id(self) -> Any:
        """Its identity, an `lp.KernelId`."""
        return self.known_id or units.id_of(self)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters that a launch gives arguments for, in order."""
        return tuple(p.name for p in self.signature.parameters)

    @property
    def specialization_ids(self) -> Mapping[str, SpecializationId]:
        """The constants that its ``lp.Spec[T]`` parameters declare, by name."""
        return types.MappingProxyType(self.signature.specialization_ids)

    @property
    def source(self) -> FunctionSource:
        """The kernel's text; CompileError where it cannot be found."""
        if self._source is None:
            self._source = FunctionSource.of(self.function)
        return self._source

    def with_function(self, function: types.FunctionType) -> KernelFunction:
        """Returns a kernel like this one around another object of the same code: what the decorators of attributes
        put on it makes it another kernel."""
        made: KernelFunction = _new(KernelFunction)
        made.__dict__.update(self.__dict__)
        made.function = made.__wrapped__ = function
        made.__dict__.update(function.__dict__)
        made._source, made.compiled, made.records, made._configurations = None, {}, {}, {}
        made._last = _NO_CONFIGURATION
        made.known_id = None
        units.register(made)
        return made

    @cached_property
    def launcher(self) -> Callable[..., Any]:
        """``frontend.launch.launch``, imported at the first launch and then at hand."""
        return _launching().launch

    def forget_launches(self) -> None:
        """Lets go of prepared launches, and of the pipelines that they hold; what comes again is prepared again."""
        self.records.clear()
        self._configurations.clear()
        self._last = _NO_CONFIGURATION

    def submit(self, request: Any) -> Any:
        """Launches the kernel as a command group asks for, a `LaunchRequest`; returns an `lp.Event`."""
        configuration = LaunchConfiguration(
            self, request.range, request.queue, request.wait_events, request.spec_values or None
        )
        return self.launcher(self, configuration, request.args, request.kwargs)

    def inspect(self, stage: Stage) -> str:
        """Returns the kernel as text at one stage of the pipeline, compiled for the default device.

        Raises:
            InvalidError: there is no such stage.
        """
        if stage not in get_args(Stage):
            raise InvalidError(
                f"kernel '{self.name}': expected a stage of {', '.join(get_args(Stage))}, found {stage!r}"
            )
        if stage == "python":
            return self.source.text
        from . import inspection

        return cast(str, inspection.inspect(self, stage))

    __iter__ = None  # otherwise iterating would ask for kernel[0], kernel[1], … without end

    def __getitem__(self, launch_range: object) -> LaunchConfiguration:
        last = self._last
        if launch_range is last[0]:
            return last[1]
        # True and 1.0 equal 1 but are no ranges: only what is made of plain ints is looked up.
        key, kind = launch_range, type(launch_range)
        if kind is not int and (
            kind is not tuple or tuple(map(type, cast(Any, launch_range))) not in _PLAIN_RANGES
        ):
            key = getattr(launch_range, "__lapilli_key__", None)
            if key is None:
                return LaunchConfiguration(self, launch_range)
        found = self._configurations.get(key)
        if found is None:
            if len(self._configurations) >= CONFIGURATION_LIMIT:
                self._configurations.clear()
            found = self._configurations[key] = LaunchConfiguration(self, launch_range)
        self._last = launch_range, found
        return found

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise InvalidError(
            f"kernel '{self.name}' is launched without a range; expected the number of work-items, "
            f"{self.name}[n](…) or {self.name}[(rows, columns)](…)",
            code="LP1002",
        )

    if not TYPE_CHECKING:  # to type checkers there are no others

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__.get("name", "kernel")
            hint = f"; the range comes first: {own}[n].{name}(…)" if name in ("on", "spec") else ""
            hint = hint or (f"; a kernel is launched with {own}[n](…)" if name in _LAUNCHES else "")
            raise AttributeError(f"kernel '{own}' has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<lp.kernel {self.name}{self.signature}>"

    def __str__(self) -> str:
        return f"kernel {self.name}{self.signature}\n{self.inspect('python')}"


_NO_EVENTS: tuple[object, ...] = ()
_NO_QUEUE = object()
_new: Any = object.__new__


@dataclass(slots=True, eq=False, repr=False)  # not frozen: those take three times as long to make
class LaunchConfiguration:
    """A kernel with its range, ``k[n]``: call it to launch.  Nothing is checked before the call."""

    kernel: KernelFunction
    range: object
    """As it stood in the brackets; `ranges.launch_range` checks it."""
    queue: object = None
    """The queue of `on`, None: the default queue of the arguments' device."""
    wait_events: tuple[object, ...] = ()
    """Events that the launch waits for."""
    spec_values: Mapping[object, object] | None = None
    """Specialization values of `spec`, unchecked."""
    short: tuple[object, Callable[[object, tuple[object, ...]], Any]] | None = None
    """Set by `frontend.launch` where launches through this very object may take the short way: the `config.generation`
    for which they may, and what takes the queue and the arguments and returns an `lp.Event`, or None where they need a
    closer look.  One object: threads that launch meanwhile see both or neither."""
    origin: LaunchConfiguration | None = None
    """What `on` was called on, where that says nothing but kernel, range and constants: it knows what may be taken
    again."""

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        """Pickled as it was made; an error of the queue, the events or the constants where it names such."""
        return LaunchConfiguration, (self.kernel, self.range, self.queue, self.wait_events, self.spec_values)

    def __copy__(self) -> LaunchConfiguration:
        return self

    def __deepcopy__(self, memo: object) -> LaunchConfiguration:
        return self

    def on(
        self, queue: object = _NO_QUEUE, wait: Iterable[object] = _NO_EVENTS, *others: object
    ) -> LaunchConfiguration:
        """Chooses the queue.

        Args:
            queue: an `lp.Queue`.
            wait: events that must have happened before the kernel starts.
            others: none; the kernel's arguments stand in brackets of their own.
        """
        if queue is _NO_QUEUE:
            raise InvalidError(
                f"kernel '{self.kernel.name}': .on(queue, wait=events) expects an lp.Queue first; to wait for events "
                f"on the default queue of the arguments' device write .on(None, wait=events)"
            )
        if wait is _NO_EVENTS:
            made: LaunchConfiguration = _new(LaunchConfiguration)
            made.kernel, made.range, made.queue = self.kernel, self.range, queue
            made.wait_events, made.spec_values = self.wait_events, self.spec_values
            made.short = self.short
            is_plain = self.queue is None and not self.wait_events
            made.origin = self if is_plain else self.origin
            return made
        if others:
            raise InvalidError(
                f"kernel '{self.kernel.name}': .on(queue, wait=events) takes the queue; the kernel's arguments follow "
                f"in brackets of their own: {self.kernel.name}[n].on(queue)(…)"
            )
        if not isinstance(wait, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise no_events(self.kernel.name, wait)
        events = (*self.wait_events, *wait)
        return LaunchConfiguration(self.kernel, self.range, queue, events, self.spec_values)

    def __repr__(self) -> str:
        given = (("on", self.queue), ("wait", self.wait_events), ("spec", self.spec_values))
        return f"<{self.kernel!r} over {self.range!r}{''.join([f', {n}={v!r}' for n, v in given if v])}; call it>"

    def __getitem__(self, more: object) -> NoReturn:
        name = self.kernel.name
        raise InvalidError(
            f"kernel '{name}' has its range already, {name}[{self.range!r}], found [{more!r}] behind it; a range of "
            f"two dimensions is {name}[rows, columns], one with a work-group size {name}[lp.NdRange(n, local)]"
        )

    def spec(self, values: Mapping[Any, object] | None = None, /, **named: object) -> LaunchConfiguration:
        """Sets specialization constants for this launch, ``k[n].spec({COEFF: value})(…)``; the last wins.

        Raises:
            KernelArgumentError: `values` is no mapping, or there are names.
        """
        if named:
            name, value = next(iter(named.items()))
            raise KernelArgumentError(
                f"kernel '{self.kernel.name}': .spec(…) expects a mapping {{id: value}}, found {name}={value!r}; the "
                f"value of an lp.Spec parameter goes into the call, {self.kernel.name}[…](…, {name}={value!r}), that "
                f"of an lp.SpecializationId by the object, .spec({{{name}: {value!r}}})",
                code="LP3011",
            )
        if not isinstance(values, Mapping):
            raise KernelArgumentError(
                f"kernel '{self.kernel.name}': .spec(…) expects a mapping {{id: value}}, found {values!r} of "
                f"type {type(values).__name__}",
                code="LP3011",
            )
        merged = {**(self.spec_values or {}), **values}
        return LaunchConfiguration(self.kernel, self.range, self.queue, self.wait_events, merged)

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Launches the kernel and returns an `lp.Event`.

        Raises:
            KernelArgumentError: arguments that do not suit the parameters, or specialization values.
            KernelNotSupportedError: the device lacks what the kernel needs.
            BuildError: the kernel cannot be compiled.
            NdRangeError: the range cannot be.
        """
        try:
            short = self.short
            if short is not None and not kwargs and short[0] is config.generation:
                event = short[1](self.queue, args)
                if event is not None:
                    return event
            return self.kernel.launcher(self.kernel, self, args, kwargs)
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error


@overload
def kernel(function: Callable[..., None], /) -> KernelFunction: ...


@overload
def kernel(
    *,
    name: str | None = None,
    local_size: int | str | SpecializationId | tuple[int | str | SpecializationId, ...] | None = None,
    index: object = None,
    contract: bool = True,
    math_accuracy: str | Mapping[str, str] | None = None,
    opt_level: int | None = None,
    debug: bool | None = None,
) -> Callable[[Callable[..., None]], KernelFunction]: ...


def kernel(
    function: Callable[..., None] | None = None, /, **options: Any
) -> KernelFunction | Callable[[Callable[..., None]], KernelFunction]:
    """Makes a kernel of a Python function: ``@lp.kernel`` or ``@lp.kernel(name=…, local_size=…, …)``.

    Args:
        function: written with ``def``, every parameter annotated.
        options: `name`, for the user, by default the function's; `local_size` in work-items, slowest dimension first
            (`Spec` parameters by name, ``("TILE", "2 * TILE")``), by default the runtime's choice; `index`, the type
            of ids and extents, lp.i32 or lp.i64; `contract=False` forbids fused multiply-add; `math_accuracy`,
            ``"high"`` or by function, ``{"sin": "low"}`` for the device's own (docs/math.md); `opt_level` 0 to 2;
            `debug` mode (docs/debugging.md).

    Raises:
        CompileError: the function is no plain function, or its signature is no kernel's.
        InvalidError: an option does not take that value.
        TypeError: there is no such option.
    """
    checked = KernelOptions.checked(**options)
    if function is not None:
        return _define(function, checked, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    def decorate(function: Callable[..., None]) -> KernelFunction:
        return _define(function, checked, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    return decorate


@functools.cache
def _launching() -> types.ModuleType:
    with deferred_definitions():
        from . import launch

    return launch


def _get_ready() -> None:
    """Does beforehand what the first launch would begin with."""
    _launching()
    if config.cache:
        from .compiler_version import compiler_version

        with suppress(OSError):  # the launch meets the same error and raises it
            compiler_version()
    elif not config.interpret:
        from .compile import load_compiler

        with suppress(BuildError, ImportError):
            load_compiler()


def _get_libraries() -> None:
    """Imports the extension modules among what `_get_ready` imports."""
    if config.cache or config.interpret:
        return
    # The only module that xDSL imports extension modules through.
    with suppress(ImportError):
        import typing_extensions

        del typing_extensions


def _define(function: object, options: KernelOptions, frame: types.FrameType) -> KernelFunction:
    try:
        plain = plain_function(function)
        return KernelFunction(plain, options, enclosing_names(plain, frame))
    except CompileError as error:
        raise for_user(error)  # noqa: B904 - it is the same error
