"""Properties and options of kernels from source: ``lp.BuildOptions``, ``lp.SaveLog``, ``lp.SpecValues``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..ir.errors import InvalidError, KernelArgumentError
from .build_properties import Property
from .bundle_errors import ConstraintError, type_name
from .spec_values import plain_number

_SPLIT_MODES = ("auto", "per_kernel", "per_source", "off")
_SPLIT_PREFIX = "-fsycl-device-code-split="
_COMMON = f"-O0 -O1 -O2 -g -Werror {_SPLIT_PREFIX}MODE"


class BuildOptions(Property):
    """Options of the compiler of a source language.

    Args:
        opts: one option, several with spaces between, or a list of single options.

    Raises:
        TypeError: something else.
    """

    __slots__ = ("_words", "opts")

    def __init__(self, opts: str | Iterable[str]) -> None:
        values = cast("object", opts)
        if isinstance(values, bytes) or not isinstance(values, Iterable):
            raise ConstraintError(
                f"lp.BuildOptions takes a text or a list of texts, found {values!r} of type {type_name(values)}"
            )
        items = [values] if isinstance(values, str) else list(cast("Iterable[object]", values))
        for item in items:
            if not isinstance(item, str):
                raise ConstraintError(
                    f"lp.BuildOptions takes texts, found {item!r} of type {type_name(item)}"
                )
        self.opts: list[str] = cast("list[str]", items)
        """The options as they were given."""
        self._words = _split(values) if isinstance(values, str) else tuple(self.opts)

    @property
    def words(self) -> tuple[str, ...]:
        """The single options."""
        return self._words

    def __repr__(self) -> str:
        return f"lp.BuildOptions({self.opts!r})"


def _split(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise InvalidError(f"lp.BuildOptions({line!r}): {error}") from error


class SaveLog(Property):
    """Gets what a successful build from source has to say, such as warnings; what a failed one says is in its error."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = ""
        """The log; empty where there is nothing to say."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"lp.SaveLog({self.text!r})"


class SpecValues(Property):
    """Values of the specialization constants of a source, or of native modules in state INPUT.

    Args:
        values: in SPIR-V and GLSL a number or bool by SpecId, or by the constant's name in the module; in Python what
            the constant's type takes, by its name.

    Raises:
        TypeError: no such mapping.
        KernelArgumentError: a value that no constant takes.
    """

    __slots__ = ("values",)

    def __init__(self, values: Mapping[Any, object]) -> None:
        given = cast("object", values)
        if not isinstance(given, Mapping):
            raise ConstraintError(
                f"lp.SpecValues takes a mapping from SpecId or name to value, found {given!r} of type "
                f"{type_name(given)}"
            )
        self.values = dict(map(_spec_value, cast("Mapping[object, object]", given).items()))
        """The values."""

    def __repr__(self) -> str:
        return f"lp.SpecValues({self.values!r})"


def _spec_value(item: tuple[object, object]) -> tuple[int | str, object]:
    key, value = item
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise ConstraintError(
            f"lp.SpecValues: expected a SpecId or a name, found {key!r} of type {type_name(key)}"
        )
    plain = plain_number(value)
    is_number = isinstance(plain, bool | int | float)
    if not is_number and (isinstance(key, int) or isinstance(plain, str | bytes | None)):
        raise KernelArgumentError(
            f"lp.SpecValues: expected a number or a bool for constant {key!r}, found {value!r} of type "
            f"{type_name(value)}",
            code="LP3012",
        )
    return key, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options that were understood."""

    opt_level: Literal[0, 1, 2] = 1
    """0 folds nothing, 1 is the default, 2 spends more time; SPIR-V stays as it is."""
    debug: bool = False
    """Whether code says which line of the source it comes from."""
    warnings_are_errors: bool = False
    device_code_split: str = "auto"
    others: tuple[str, ...] = ()
    """Those of the language alone, as they were given; an option and its value are one text."""

    @staticmethod
    def parsed(what: str, words: Sequence[str], prefixes: Sequence[str]) -> SourceOptions:
        """Reads options; the last of several that exclude each other counts.

        Args:
            what: the function, for messages.
            words: single options.
            prefixes: how those of the language begin; see `LanguageFrontEnd.option_prefixes`.

        Raises:
            InvalidError: an option that the language does not have, or one without its value.
        """
        found = SourceOptions()
        level, debug, is_strict, split = found.opt_level, found.debug, False, found.device_code_split
        others: list[str] = []
        pending = iter(words)
        for word in pending:
            if word in ("-O0", "-O1", "-O2"):
                level = cast("Literal[0, 1, 2]", int(word[2]))
            elif word == "-g":
                debug = True
            elif word == "-Werror":
                is_strict = True
            elif word == _SPLIT_PREFIX.removesuffix("="):
                split = "auto"
            elif word.startswith(_SPLIT_PREFIX) and word.removeprefix(_SPLIT_PREFIX) in _SPLIT_MODES:
                split = word.removeprefix(_SPLIT_PREFIX)
            elif word in prefixes and not word.endswith("="):
                others.append(word + _value(what, word, next(pending, None)))
            elif any(word.startswith(prefix) and len(word) > len(prefix) for prefix in prefixes):
                others.append(word)
            else:
                raise _unknown(what, word, prefixes)
        return SourceOptions(
            opt_level=level,
            debug=debug,
            warnings_are_errors=is_strict,
            device_code_split=split,
            others=tuple(others),
        )

    def of_prefix(self, prefix: str) -> tuple[str, ...]:
        """Returns the values of the language's options that begin so."""
        return tuple(word.removeprefix(prefix) for word in self.others if word.startswith(prefix))


def _value(what: str, word: str, value: str | None) -> str:
    if value is None:
        raise InvalidError(f"{what}: build option {word!r} needs a value, found none")
    return value


def _unknown(what: str, word: str, prefixes: Sequence[str]) -> InvalidError:
    shown = " ".join([_COMMON, *(f"{prefix}…" for prefix in prefixes)])
    listing = f"one of {', '.join(_SPLIT_MODES)}" if re.match(re.escape(_SPLIT_PREFIX), word) else shown
    return InvalidError(f"{what}: unknown build option {word!r}; expected {listing}", code="LP1040")
