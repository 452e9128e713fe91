"""``lp.compile_options(…)``: how the kernels of one Python module, a translation unit, are compiled.

The counterpart of a compiler's command line.  Options are kept by module name; `options_of` reads them when a
kernel is compiled, so they must stand above the module's first kernel.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, cast

from ..ir.errors import InvalidError
from ..ir.target_env import OPTIMISATION_PASSES, TargetEnv

DeviceCodeSplit = Literal["auto", "per_kernel", "per_source", "off"]
SpecConstants = Literal["native", "emulated"]

DEVICE_CODE_SPLITS: tuple[DeviceCodeSplit, ...] = ("auto", "per_kernel", "per_source", "off")
SPEC_CONSTANTS: tuple[SpecConstants, ...] = ("native", "emulated")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """The options of one Python module."""

    fixed_targets: tuple[str, ...] = ()
    """Targets of the device configuration that its device code runs on, and on no others; (): on any device."""
    device_code_split: str = "auto"
    """How finely kernels are divided into device images: auto, per_kernel, per_source or off."""
    debug: bool = False
    """Debug mode: kernels check what `checking.checks_of` says; images and warnings say which line they come from."""
    opt_level: int = 1
    """0 folds nothing, 1 is the default, 2 spends more time."""
    disabled_passes: tuple[str, ...] = ()
    """Optimisation passes that do not run, ascending."""
    spec_constants: str = "native"
    """``native``: values reach the driver as SPIR-V specialization constants; ``emulated``: as hidden arguments."""

    def environment(
        self, env: TargetEnv, opt_level: int | None = None, debug: bool | None = None
    ) -> TargetEnv:
        """Returns the environment that a kernel of the module is compiled for.

        Args:
            env: of the device.
            opt_level: the kernel's own; None: the module's.
            debug: likewise.
        """
        level = self.opt_level if opt_level is None else opt_level
        debug_info = self.debug if debug is None else debug
        emulates = self.spec_constants == "emulated"
        if (level, self.disabled_passes, debug_info, emulates) == (
            env.optimisation_level,
            env.disabled_passes,
            env.debug_info,
            env.emulates_spec_constants,
        ):
            return env
        return replace(
            env,
            optimisation_level=level,
            disabled_passes=self.disabled_passes,
            debug_info=debug_info,
            emulates_spec_constants=emulates,
        )


DEFAULT_OPTIONS = CompileOptions()


@dataclass(slots=True)
class _Unit:
    """What is known of one module."""

    spec: object
    """Its ``__spec__``: another object after a reload, which begins anew."""
    options: CompileOptions = DEFAULT_OPTIONS
    has_kernels: bool = False


_lock = threading.RLock()
_units: dict[str, _Unit] = {}


def compile_options(
    *,
    fixed_targets: Sequence[str] | None = None,
    device_code_split: DeviceCodeSplit | None = None,
    debug: bool | None = None,
    opt_level: Literal[0, 1, 2] | None = None,
    disabled_passes: Sequence[str] | None = None,
    spec_constants: SpecConstants | None = None,
) -> None:
    """Sets options for the kernels of the calling Python module; call it above the first of them.

    A later call changes what it names and leaves the rest.

    Args:
        fixed_targets: names of the device configuration: all kernels of the module run on these devices only.  They
            are checked against what the devices have, and the images are divided exactly by `device_code_split`.
        device_code_split: how finely kernels are divided into device images: ``"per_kernel"``, ``"per_source"`` (by
            Python module), ``"off"``, or ``"auto"``, the default, the compiler's choice.
        debug: debug mode: kernels check indices, divisors and NaN, and images and warnings say which source line they
            come from.
        opt_level: 0 folds nothing, 1 is the default, 2 spends more time.
        disabled_passes: optimisation passes that do not run, to find out what one does or whether it is at fault:
            ``"canonicalize"``, ``"coarsen"``, ``"cse"``, ``"dce"``, ``"hoist-invariants"``,
            ``"inline"``, ``"join-loads"``, ``"lift-breaks"``, ``"linearise-indices"``,
            ``"narrow-barriers"``, ``"pair-rounds"``, ``"promote-arrays"``, ``"reduce-strength"``,
            ``"rotate-barriers"``, ``"speculate-rounds"``, ``"unroll-barriers"``, ``"unroll-short"``.
        spec_constants: how values of specialization constants reach a kernel: ``"native"``, the default, as
            constants of the driver, or ``"emulated"``, as hidden arguments.

    Raises:
        InvalidError: an option does not take that value, the device configuration has no such target, or the module
            has kernels already.
    """
    given = {
        "fixed_targets": None if fixed_targets is None else _targets(fixed_targets),
        "device_code_split": _one_of("device_code_split", device_code_split, DEVICE_CODE_SPLITS),
        "debug": _boolean("debug", debug),
        "opt_level": _level(opt_level),
        "disabled_passes": None if disabled_passes is None else checked_passes(disabled_passes),
        "spec_constants": _one_of("spec_constants", spec_constants, SPEC_CONSTANTS),
    }
    changed = {name: value for name, value in given.items() if value is not None}
    names = sys._getframe(1).f_globals  # pyright: ignore[reportPrivateUsage]
    module = str(names.get("__name__", "__main__"))
    with _lock:
        unit = _unit(module, names.get("__spec__"))
        if unit.has_kernels:
            raise InvalidError(
                f"lp.compile_options: module '{module}' has kernels already, and the options are for all of "
                "them; expected the call above the first kernel",
                code="LP1010",
            )
        unit.options = replace(unit.options, **cast("dict[str, object]", changed))  # pyright: ignore[reportArgumentType]


def options_of(module_name: str) -> CompileOptions:
    """Returns the options of a Python module; the defaults where it sets none."""
    unit = _units.get(module_name)
    own = DEFAULT_OPTIONS if unit is None else unit.options
    return replace(own, **_overrides) if _overrides else own  # pyright: ignore[reportArgumentType]


_overrides: dict[str, object] = {}
"""What the command line says instead of the modules."""


@contextmanager
def overridden_options(**options: object) -> Generator[None]:
    """Makes options count instead of those of every module, for the length of a ``with`` block."""
    before = dict(_overrides)
    _overrides.update(options)
    try:
        yield
    finally:
        _overrides.clear()
        _overrides.update(before)


def note_kernel(module_name: str) -> None:
    """Remembers that a module has a kernel, or another function of devices: its options are fixed from now on."""
    module = sys.modules.get(module_name)
    with _lock:
        _unit(module_name, getattr(module, "__spec__", None)).has_kernels = True


def _unit(name: str, spec: object) -> _Unit:
    unit = _units.get(name)
    if unit is None or unit.spec is not spec:
        unit = _units[name] = _Unit(spec)
    return unit


def _targets(value: object) -> tuple[str, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _bad("fixed_targets", "a list of target names", value)
    names = tuple(cast("Sequence[object]", value))
    for name in names:
        if not isinstance(name, str):
            raise _bad("fixed_targets", "names as strings", name)
    from ..ir.device_config import device_config  # most modules have no fixed targets

    config = device_config()
    return tuple(
        config.target(name, "fixed target").name for name in dict.fromkeys(cast("tuple[str, ...]", names))
    )


def checked_passes(value: object) -> tuple[str, ...]:
    """Returns names of optimisation passes in ascending order, each once; InvalidError for anything else."""
    expected = f"a list of {', '.join(map(repr, OPTIMISATION_PASSES))}"
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _bad("disabled_passes", expected, value)
    names = set[str]()
    for name in cast("Sequence[object]", value):
        if not isinstance(name, str) or name not in OPTIMISATION_PASSES:
            raise _bad("disabled_passes", expected, name)
        names.add(name)
    return tuple(sorted(names))


def _one_of(option: str, value: object, choices: Sequence[str]) -> str | None:
    if value is not None and value not in choices:
        raise _bad(option, "one of " + ", ".join(map(repr, choices)), value)
    return cast("str | None", value)


def _boolean(option: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise _bad(option, "True or False", value)
    return value


def _level(value: object) -> int | None:
    if isinstance(value, bool) or value not in (None, 0, 1, 2):
        raise _bad("opt_level", "0, 1 or 2", value)
    return cast("int | None", value)


def _bad(option: str, expected: str, found: object) -> InvalidError:
    return InvalidError(
        f"lp.compile_options({option}=…): expected {expected}, found {found!r}", code="LP1009"
    )
