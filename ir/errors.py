"""The public exception tree, shared by every folder.

It lives beside the other standard-library-only seams so that the runtime can raise these without
importing xdsl.  Folders add private subclasses, which their own errors.py draws; users catch what is drawn here.

Error                          .errc .code .location .diagnostics
├── BuildError                 Errc.BUILD, .log
│   ├── CompileError           a kernel cannot be compiled
│   └── LinkError              unresolved or clashing symbols
├── InvalidError               Errc.INVALID, also ValueError
│   └── UnknownKernelError     also KeyError
├── KernelArgumentError        Errc.KERNEL_ARGUMENT, also TypeError
├── NdRangeError               Errc.ND_RANGE, also ValueError
├── KernelNotSupportedError    Errc.KERNEL_NOT_SUPPORTED
│   └── KernelNotFoundError
├── MemoryAllocationError      Errc.MEMORY_ALLOCATION, also MemoryError
├── KernelTrap                 Errc.KERNEL
├── DeviceLostError            Errc.RUNTIME
├── BackendMismatchError       Errc.BACKEND_MISMATCH
├── FeatureNotSupportedError   Errc.FEATURE_NOT_SUPPORTED
└── RuntimeFailure             Errc.RUNTIME: no driver, or a Vulkan call that failed

Private ones of this folder, both BuildErrors: IRError, of IR that does not verify (`verify`), and IRSyntaxError, of
text that is no IR (`parse`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
ErrorT = TypeVar("ErrorT", bound="Error")

_LEAST_LIKENESS = 0.65
"""difflib's own 0.6 takes min for missing."""


def closest(name: str, names: Iterable[str]) -> str:
    """Returns the one of `names` that is spelt almost like `name`, "" where there is none; case does not matter."""
    import difflib  # 2 ms, which only mistakes need

    by_spelling = {known.lower(): known for known in sorted(names)}
    near = difflib.get_close_matches(name.lower(), by_spelling, 1, _LEAST_LIKENESS)
    return by_spelling[near[0]] if near else ""


class MembersByName(enum.EnumMeta):
    """Metaclass of the public enumerations: what is asked for and missing is an error that says what there is."""

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing

        def __getattr__(cls, name: str) -> object:
            member = cls.__dict__.get("_member_map_", {}).get(name)  # Python 3.11 asks here for every member
            if member is not None:
                return member
            hint = "" if name.startswith("_") else cls._hint(name)
            raise AttributeError(f"lp.{cls.__name__} has no member {name!r}{hint}", name=name)

        def __getitem__(cls, name: str) -> object:
            try:
                return super().__getitem__(name)
            except KeyError:
                raise KeyError(f"lp.{cls.__name__} has no member {name!r}{cls._hint(name)}") from None

    def _hint(cls, name: object) -> str:
        """Returns which member may be meant, with a semicolon before; "" where there is none like it."""
        meant = closest(str(name), cls.__members__)
        return f"; did you mean lp.{cls.__name__}.{meant}?" if meant else ""


class Errc(enum.Enum, metaclass=MembersByName):
    """SYCL 2020 error codes (``sycl::errc``, section 4.13.2)."""

    SUCCESS = 0
    RUNTIME = 1
    KERNEL = 2
    ACCESSOR = 3
    ND_RANGE = 4
    EVENT = 5
    KERNEL_ARGUMENT = 6
    BUILD = 7
    INVALID = 8
    MEMORY_ALLOCATION = 9
    PLATFORM = 10
    PROFILING = 11
    FEATURE_NOT_SUPPORTED = 12
    KERNEL_NOT_SUPPORTED = 13
    BACKEND_MISMATCH = 14


@dataclass(frozen=True, slots=True)
class Location:
    """A place in Python source."""

    file: str
    """Path as Python reports it (``co_filename``)."""
    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    function: str = ""
    """Qualified name of the function around it."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and what to do."""

    message: str
    location: Location | None = None
    severity: str = "error"
    """``error``, ``warning`` or ``note``."""
    source_line: str | None = None
    """The text of the source line, printed above the caret."""
    end_column: int | None = None
    """Column after the last character, from 1; the caret is widened up to it."""
    function: str = ""
    """Symbol of the function that it is about, in the module that was analysed; empty where none is."""
    hint: str | None = None
    """What to do, printed in a last line behind ``help:``; of several findings of one error the last has it."""

    def __str__(self) -> str:
        return self._text() if self.hint is None else f"{self._text()}\n    help: {self.hint}"

    def _text(self) -> str:
        head = f"{self.location}: {self.severity}: {self.message}" if self.location else self.message
        if self.location is None or self.source_line is None:
            return head
        line = self.source_line.rstrip("\n")
        start = min(max(self.location.column - 1, 0), len(line))
        stop = len(line) if self.end_column is None else min(self.end_column - 1, len(line))
        # Tabs keep their width in the padding, or the caret would drift.
        padding = "".join(c if c == "\t" else " " for c in line[:start])
        return f"{head}\n    {line}\n    {padding}{'^' * max(stop - start, 1)}"


class KernelWarning(UserWarning):
    """What the compiler finds in a kernel that runs, and that may not be meant."""

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic
        """The finding; None where the warning was made from text."""


class AspectWarning(KernelWarning):
    """A kernel or helper uses an optional feature that it does not declare, or that a target has not.

    The text is that of DPC++'s design for optional kernel features.
    """


def warning_text(diagnostic: Diagnostic) -> str:
    """Returns a finding as a compiler prints it: ``warning: …`` behind the location where there is one."""
    text = str(diagnostic)
    return text if diagnostic.location is not None else f"{diagnostic.severity}: {text}"


_LONGEST_MESSAGE = 4000
"""Characters of a message that shows what was given, which may be a file or a list of a million numbers."""


def _shortened(message: str) -> str:
    """Returns a message without the middle of what is too long; it ends as it did, with what to do."""
    if len(message) <= _LONGEST_MESSAGE:
        return message
    kept = _LONGEST_MESSAGE // 4
    return f"{message[:kept]} … ({len(message) - 2 * kept:,} characters left out) … {message[-kept:]}"


class Error(Exception):
    """Base of every lapilli exception."""

    errc: Errc = Errc.RUNTIME
    """The SYCL error code."""
    code: str = "LP0000"
    """Stable code of this kind of mistake, ``LPnnnn``."""
    _is_shortened = False
    _stays_behind: tuple[str, ...] = ()
    """Attributes that copies and other processes do not get: operations of the compiler's IR."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        location: Location | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        if self._is_shortened:
            message = _shortened(message)
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
            # In tracebacks alone: the text stays what it is for logs, notebooks and those who match it.
            self.add_note(f"lapilli explain {code} says more")
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        if location is None:
            location = next((d.location for d in self.diagnostics if d.location is not None), None)
        self.location = location

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Python's own calls the class with `args`, which not every class takes.
        state = {name: value for name, value in self.__dict__.items() if name not in self._stays_behind}
        return Exception.__new__, (type(self), *self.args), state | dict.fromkeys(self._stays_behind)


class BuildError(Error):
    """Compiling or linking failed; ``log`` holds every finding."""

    errc = Errc.BUILD
    code = "LP2000"

    @property
    def log(self) -> str:
        """All diagnostics as text, or the message where there are none."""
        return "\n".join(map(str, self.diagnostics)) or self.message


class CompileError(BuildError):
    """A kernel cannot be compiled: its source breaks a rule of the kernel language."""

    code = "LP2001"


class LinkError(BuildError):
    """Symbols clash or stay unresolved."""

    code = "LP2900"


class InvalidError(Error, ValueError):
    """A call that the API does not allow with these values or in this state."""

    errc = Errc.INVALID
    code = "LP1000"
    _is_shortened = True


class UnknownKernelError(InvalidError, KeyError):
    """No kernel has that name."""

    code = "LP1001"

    def __str__(self) -> str:  # KeyError would print the repr
        return self.message


class KernelArgumentError(Error, TypeError):
    """A kernel argument or specialization value is missing, extra, or of the wrong kind."""

    errc = Errc.KERNEL_ARGUMENT
    code = "LP3000"
    _is_shortened = True


class NdRangeError(Error, ValueError):
    """A launch range or local size that cannot be."""

    errc = Errc.ND_RANGE
    code = "LP3100"
    _is_shortened = True


class KernelNotSupportedError(Error):
    """The device lacks an aspect or a limit that the kernel needs."""

    errc = Errc.KERNEL_NOT_SUPPORTED
    code = "LP3200"


class KernelNotFoundError(KernelNotSupportedError):
    """The bundle does not contain the kernel."""

    code = "LP3201"


class MemoryAllocationError(Error, MemoryError):
    """Larger than the device can hold."""

    errc = Errc.MEMORY_ALLOCATION
    code = "LP4000"


class KernelTrap(Error):
    """A kernel stopped: a failed assert, an index out of range in debug mode, a loop the driver cuts short.

    `location` is the place in the kernel.
    """

    errc = Errc.KERNEL
    code = "LP4100"

    def __init__(
        self,
        message: str,
        *,
        kernel: str = "",
        work_item: tuple[int, ...] = (),
        values: tuple[object, ...] = (),
        code: str | None = None,
        location: Location | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        super().__init__(message, code=code, location=location, diagnostics=diagnostics)
        self.kernel = kernel
        """Name of the kernel."""
        self.work_item = work_item
        """Global id of the first work-item that reported, slowest dimension first."""
        self.values = values
        """What the message shows: index and extent, operands."""


class DeviceLostError(Error):
    """The driver lost the device; the context cannot be used any more."""

    code = "LP4200"


class BackendMismatchError(Error):
    """An object of another backend."""

    errc = Errc.BACKEND_MISMATCH
    code = "LP4300"


class FeatureNotSupportedError(Error):
    """The device lacks a feature that a host call needs."""

    errc = Errc.FEATURE_NOT_SUPPORTED
    code = "LP4400"


class RuntimeFailure(Error):
    """No usable driver, or a Vulkan call that failed for a reason outside the program."""

    code = "LP4500"


_PACKAGE = __name__.partition(".")[0]
_SERVING = frozenset(("contextlib", "functools", "importlib", "numpy", "xdsl", _PACKAGE))
"""Packages whose frames stand between a call of lapilli and the error that it raises."""


def for_user(error: ErrorT) -> ErrorT:
    """Returns an error as users meet it: without the frames below the one that raises it again, all of them lapilli's.

    Frames of the user's own, of a command group or a handler, stay, with all others then; so do causes.
    ``LAPILLI_LOG=debug`` keeps every frame.
    """
    try:
        from .config import config
    except ImportError:  # a finaliser at the very end of the interpreter
        return error
    step = error.__traceback__
    while step is not None:
        name: object = step.tb_frame.f_globals.get("__name__")
        if not isinstance(name, str) or name.partition(".")[0].removeprefix("_frozen_") not in _SERVING:
            return error
        step = step.tb_next
    try:
        keeps_frames = "debug" in config.log
    except InvalidError:  # this may be the error that tells of it
        keeps_frames = False
    return error if keeps_frames else error.with_traceback(None)


def user_facing(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function's errors those of `for_user`.  What is called in every launch does it by itself."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Error as error:
            raise for_user(error)  # noqa: B904 - it is the same error

    return call


def no_events(kernel: str, wait: object) -> InvalidError:
    """Returns what says that ``kernel[n].on(…, wait=…)`` was given something else than events."""
    return InvalidError(
        f"kernel '{kernel}': .on(…, wait=…) expects a sequence of lp.Event objects, found {wait!r} "
        f"of type {type(wait).__name__}; write wait=[event] for one"
    )
