"""The options of a process: ``lp.config.x``, and the environment variable ``LAPILLI_X`` of the same name.

    lp.config.device = "lavapipe"          # this process; beats LAPILLI_DEVICE
    with lp.config.override(cache=False):  # for the length of a block
        ...
    del lp.config.device                   # what the environment says again

Each option is read when it is used: those about drivers (`validate`, `visible_devices`, `disable_aspects`) when
Vulkan is first used, those of a launch (`debug`, `interpret`) when it is prepared, the others at every use.  A launch
like an earlier one goes on as that one was prepared until an option is set here; it does not look into the environment
again.  Standard library only: every layer may read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

from .errors import InvalidError, closest

PREFIX = "LAPILLI_"
_T = TypeVar("_T")
_UNSET = object()


class Setting:
    """What a program has set an option to: for good, or for the length of a block."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Option(Generic[_T]):
    """One option: a descriptor that answers what was set, else the environment variable, else the default.

    Args:
        read: turns the variable's text, or what a program sets, into the value; TypeError, ValueError or LookupError
            where it cannot.
        default: without a variable, or with an empty one.
        expected: what the option takes, for messages.
        doc: one line.
    """

    name: str
    variable: str
    """The environment variable."""

    def __init__(self, read: Callable[[object], _T], default: _T, expected: str, doc: str) -> None:
        self._read = read
        self._default = default
        self._expected = expected
        self.__doc__ = doc

    def __set_name__(self, owner: type[Config], name: str) -> None:
        self.name = name
        self.variable = PREFIX + name.upper()
        encoded = getattr(os.environ, "encodekey", None)
        self._key: object = encoded(self.variable) if encoded is not None else self.variable

    @overload
    def __get__(self, instance: None, owner: type[Config]) -> Option[_T]: ...
    @overload
    def __get__(self, instance: Config, owner: type[Config]) -> _T: ...
    def __get__(self, instance: Config | None, owner: type[Config]) -> Option[_T] | _T:
        if instance is None:
            return self
        found = instance.set_to(self.name)
        if found is not _UNSET:
            return cast(_T, found)
        # What os.environ keeps the variables in says in 20 ns that there is none, os.environ itself in 700.
        kept = getattr(os.environ, "_data", None)
        if kept is not None and self._key not in kept:
            return self._default
        text = os.environ.get(self.variable, "").strip()
        return self.checked(text, self.variable) if text else self._default

    def __set__(self, instance: Config, value: object) -> None:
        self._replace(instance, self.checked(value, f"lp.config.{self.name}"))

    def __delete__(self, instance: Config) -> None:
        self._replace(instance, _UNSET)

    def _replace(self, instance: Config, value: object) -> None:
        if settings := instance.values.setdefault(self.name, []):
            settings[-1].value = value
        else:
            settings.append(Setting(value))
        instance.tell()

    def checked(self, value: object, spelled: str) -> _T:
        """Returns the value that `value` means; InvalidError names the option as `spelled`."""
        try:
            return self._read(value)
        except (TypeError, ValueError, LookupError):
            raise InvalidError(f"{spelled} takes {self._expected}; found {value!r}") from None


_POSITIONS = {
    "1": True,
    "on": True,
    "yes": True,
    "true": True,
    "0": False,
    "off": False,
    "no": False,
    "false": False,
}


def _flag(value: object) -> bool:
    """Reads a switch; a word that is none of its positions is refused, because either would be a guess."""
    if isinstance(value, str):
        return _POSITIONS[value.strip().lower()]
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise TypeError


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise TypeError


def _words(value: object) -> tuple[str, ...]:
    """Reads a list: comma-separated text, or strings."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list | tuple):
        words = cast("list[object] | tuple[object, ...]", value)
        if all(isinstance(word, str) for word in words):
            return cast("tuple[str, ...]", tuple(words))
    raise TypeError


def _optional_words(value: object) -> tuple[str, ...] | None:
    return None if value is None else _words(value)


def _log_words(value: object) -> tuple[str, ...]:
    words = tuple(word.lower() for word in _words(value))
    if not {*words} <= {*LOG_TOPICS, *LOG_LEVELS}:
        raise ValueError
    return words


def _path(value: object) -> Path | None:
    if value is None or isinstance(value, Path):
        return value
    if isinstance(value, str):
        return Path(value).expanduser()
    raise TypeError


def _bytes(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if type(value) is int and value >= 0:
        return value
    raise TypeError


def _seconds(value: object) -> float:
    if isinstance(value, str):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    raise TypeError


LOG_TOPICS = ("launch", "cache", "memory", "compile")
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")

_SWITCH = "a switch (1 or 0, on or off, yes or no, true or false)"
_NAMES = "names separated by commas"
_FOLDER = "the path of a folder"


class Config:
    """The options of this process; there is one, ``lp.config``."""

    def __init__(self) -> None:
        self.__dict__["values"] = dict[str, list[Setting]]()
        self.__dict__["watchers"] = list[Callable[[], None]]()
        self.__dict__["generation"] = object()

    values: dict[str, list[Setting]]
    """What the program has set, that of the block that was entered last behind the others."""
    watchers: list[Callable[[], None]]
    """Are called after the program has set, or unset, an option."""
    generation: object
    """Another object after every such change: what was found out with options is found out again."""

    device = Option(_text, None, "a selector of a device", "The default device, as `lp.device` takes it.")
    visible_devices = Option(
        _optional_words, None, _NAMES, "Selectors of the devices that lp.devices() lists, in that order."
    )
    disable_aspects = Option(_words, (), _NAMES, "Aspects that every device is used without: ``fp64,fp16``.")
    device_config = Option(
        _words, (), _NAMES, "Files whose targets are merged over the device configuration."
    )
    validate = Option(_flag, False, _SWITCH, "Whether Khronos' validation layer is turned on.")
    debug = Option(_flag, False, _SWITCH, "Whether kernels are compiled with run-time checks.")
    interpret = Option(_flag, False, _SWITCH, "Whether launches run in the reference interpreter.")
    log = Option(
        _log_words,
        (),
        f"topics ({', '.join(LOG_TOPICS)}) and a level ({', '.join(LOG_LEVELS)})",
        "What is logged to standard error: topics, or everything from a level on.",
    )
    dump = Option(_words, (), "KERNEL:STAGE,…", "Stages of kernels to write when they are compiled.")
    dump_dir = Option(_path, None, _FOLDER, "Where `dump` writes files; without it, to standard error.")
    profile = Option(
        _path, None, "the path of a file", "Where the trace of the process is written at its end."
    )
    cache = Option(_flag, True, _SWITCH, "Whether compiled kernels are kept on disk.")
    cache_dir = Option(_path, None, _FOLDER, "Where they are kept; without it, the user's cache folder.")
    cache_size = Option(_bytes, 256 << 20, "a number of bytes", "Bytes that the cache on disk may take.")
    native_images = Option(_flag, True, _SWITCH, "Whether native code of bundle files is given to drivers.")
    print_size = Option(
        _bytes, 1 << 20, "a number of bytes", "Bytes that prints of a kernel may take until somebody waits."
    )
    flush_after = Option(
        _seconds,
        0.001,
        "a number of seconds; 0: never",
        "How long launches may be pending before they are submitted though nobody waits.",
    )
    hang_timeout = Option(
        _seconds,
        0.0,
        "a number of seconds; 0: never",
        "After how many seconds without progress a device is taken for hung.",
    )
    verify = Option(
        _flag, False, _SWITCH, "Whether the compiler checks its own IR and SPIR-V by its own rules as well."
    )
    reproducer = Option(_path, None, _FOLDER, "Where an internal error of the compiler leaves its input.")

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(self._known(name), value)

    def set_to(self, name: str) -> object:
        """Returns what the program has set an option to last, a marker of this module where it has not."""
        for setting in reversed(self.values.get(name, ())):  # not by [-1]: another thread may end its block
            return setting.value
        return _UNSET

    def is_set(self, name: str) -> bool:
        """Whether the program has set an option."""
        return self.set_to(name) is not _UNSET

    def _known(self, name: str) -> str:
        if name not in OPTIONS:
            raise InvalidError(f"lp.config has no option {name!r}; there are {', '.join(OPTIONS)}")
        return name

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing

        def __getattr__(self, name: str) -> object:
            meant = "" if name.startswith("_") else closest(name, OPTIONS)
            hint = f"; did you mean lp.config.{meant}?" if meant else ""
            raise AttributeError(f"lp.config has no option {name!r}{hint}", name=name)

    def __dir__(self) -> list[str]:
        return [*OPTIONS, "override"]

    def __reduce__(self) -> str:
        """Pickled by name: each process has its own, and a copy is itself."""
        return "config"

    def __repr__(self) -> str:
        return "\n".join(["lp.config:", *(f"  {name:16} {getattr(self, name)!r}" for name in OPTIONS)])

    @contextmanager
    def override(self, **options: object) -> Generator[Config]:
        """Sets options for the length of a ``with`` block; others that are set inside it stay as they are then.

        Raises:
            InvalidError: there is no such option, or it does not take that value; nothing is changed then.
        """
        mine: dict[str, Setting] = {}
        for name, value in options.items():
            option = vars(Config)[self._known(name)]
            mine[name] = Setting(option.checked(value, f"lp.config.{name}"))
        try:
            for name, setting in mine.items():
                self.values.setdefault(name, []).append(setting)
            self.tell()
            yield self
        finally:
            # Its own alone, wherever they are: blocks of other threads may have begun since, and end later.
            for name, setting in mine.items():
                if setting in (settings := self.values.get(name, [])):
                    settings.remove(setting)
            self.tell()

    def tell(self) -> None:
        """Notes a change and calls the watchers."""
        self.__dict__["generation"] = object()
        for watcher in tuple(self.watchers):
            watcher()


OPTIONS = tuple(name for name, value in vars(Config).items() if isinstance(value, Option))
"""The names of the options."""

config = Config()
"""The options of this process."""

OTHER_VARIABLES = ("SWIFTSHADER", "SPIRV_TOOLS")
"""Further environment variables, without `PREFIX`: where libraries are."""


def misspelt_variables(names: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the environment variables that nothing reads, each with the one of lapilli that it is near to.

    What is near to none is left alone: it may be a program's own.
    """
    known = {*(name.upper() for name in OPTIONS), *OTHER_VARIABLES}
    found: list[tuple[str, str]] = []
    for name in sorted(names):
        word = name.removeprefix(PREFIX)
        if word == name or word in known:
            continue
        near = closest(word, known)
        if near:
            found.append((name, f"{PREFIX}{near}"))
    return found


def check_variables() -> None:
    """Reads every variable that is set, so that those that are needed late, or never, are refused as early as others.

    Called when a program first uses Vulkan.  What names devices, aspects or stages of kernels is looked up at its use.

    Raises:
        InvalidError: one has a value that it does not take; the text names both, and what it takes.
    """
    for name in OPTIONS:
        if f"{PREFIX}{name.upper()}" in os.environ:
            getattr(config, name)


def warn_of_misspelt_variables() -> None:
    """Logs each of `misspelt_variables`; called when Vulkan is first used."""
    for name, near in misspelt_variables(os.environ):
        import logging

        logging.getLogger(__name__).warning("%s is set, which nothing reads; did you mean %s?", name, near)
