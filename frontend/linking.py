"""Links a compiled kernel with the exported functions of other Python modules that it calls.

Each exported function is compiled once for an environment, as an object image of its own, when a kernel first needs
it, so that a kernel needs of a module what it calls and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.errors import LinkError
from ..ir.kernel_info import Requirements
from ..ir.target_env import TargetEnv
from ..passes.pipeline import analyse, lower_image
from ..spirv.build_image import build_image
from ..spirv.device_image import DeviceImage
from ..spirv.link_images import link_images
from .aspect_warnings import findings_of, warn_once
from .builder import build_module
from .captures import Captures
from .compile_options import options_of
from .external_functions import differ
from .external_warnings import warn_of_externals
from .externals import EXTERNALS, ExternalFunction


@dataclass(frozen=True, slots=True)
class ObjectImage:
    """An exported function compiled for one environment."""

    image: DeviceImage
    captures: Captures


def link_externals(image: DeviceImage, captures: Captures) -> DeviceImage:
    """Returns an image linked with all that it imports, directly or not; itself where it imports nothing.

    Args:
        image: of a kernel.
        captures: what its compilation read; from now on also what that of the linked functions did.

    Raises:
        LinkError: nothing, or more than one module, exports a symbol; or the definitions do not suit.
        BuildError: an exported function cannot be compiled.
    """
    images = [image]
    chosen: dict[str, ExternalFunction] = {}
    pending = [(symbol, image, captures.imports) for symbol in image.imports]
    while pending:
        symbol, user, imports = pending.pop(0)
        function = exporter(symbol, user, imports)
        known = chosen.get(symbol)
        if known is function:
            continue
        if known is not None:
            raise LinkError(
                f"symbol '{symbol}' is exported twice: by {_described(known)} and by {_described(function)}; give one "
                'another name with @lp.external("name")'
            )
        chosen[symbol] = function
        compiled = object_image(function, image.target_env)
        captures.include(compiled.captures)
        images.append(compiled.image)
        pending += [(name, compiled.image, compiled.captures.imports) for name in compiled.image.imports]
    if not image.is_object:
        return image
    captures.has_findings |= warn_of_externals(image.requirements, exported_needs(images[1:]))
    return link_images(images)


def exported_needs(images: Iterable[DeviceImage]) -> list[tuple[str, Requirements]]:
    """Returns the functions that images without kernels export, each with what its image requires."""
    return [(symbol, image.requirements) for image in images if not image.kernels for symbol in image.exports]


def unresolved(symbols: Sequence[str], user: DeviceImage) -> str:
    """Returns how messages begin about symbols that an image imports and nobody exports."""
    names = ", ".join(f"'{symbol}'" for symbol in symbols)
    return f"unresolved symbol{'' if len(symbols) == 1 else 's'} {names}, called by {_callers(user)}"


def _callers(user: DeviceImage) -> str:
    """Returns what an image is made of: its kernels, and the functions that it exports."""
    return ", ".join(
        (*(f"kernel '{kernel.name}'" for kernel in user.kernels), *(f"'{e}'" for e in user.exports))
    )


def exporter(
    symbol: str,
    user: DeviceImage,
    imports: Mapping[str, ExternalFunction],
    others: Collection[str] = (),
) -> ExternalFunction:
    """Returns the function that is meant by a symbol: the object that was called, else the one of that name.

    Args:
        symbol: one that `user` imports.
        user: the image that calls it.
        imports: what it calls.
        others: symbols that are exported elsewhere, which the message about one that is not need not name.

    Raises:
        LinkError: no Python module exports the symbol, several do, or one with other types.
    """
    found = defining(symbol, imports)
    if len(found) == 1:
        check_declared(symbol, imports, found[0])
        return found[0]
    if not found:
        missing = [name for name in user.imports if name not in others and not defining(name, imports)]
        what = "it; export a function" if len(missing) == 1 else "them; export functions"
        decorators = ", ".join(f'@lp.external("{name}")' for name in missing)
        raise LinkError(
            f"{unresolved(missing, user)}: no imported Python module exports {what} with {decorators}, or link the "
            f"SPIR-V library that has {'it' if len(missing) == 1 else 'them'}"
        )
    raise LinkError(
        f"symbol '{symbol}', called by {_callers(user)}, is exported twice: by "
        + " and by ".join(map(_described, found))
    )


def check_declared(symbol: str, imports: Mapping[str, ExternalFunction], function: ExternalFunction) -> None:
    """Raises LinkError where ``@lp.extern`` says other types of a symbol than the function has that exports it.

    Modules do not tell i32 from u32, and messages about them could not spell these as the source does.
    """
    declared = imports.get(symbol)
    if declared is not None and declared is not function and differ(declared, function):
        raise LinkError(
            f"symbol '{symbol}' is declared as {_typed(declared)} by {_described(declared)} and exported as "
            f"{_typed(function)} by {_described(function)}; expected the same types"
        )


def _typed(function: ExternalFunction) -> str:
    return f"{function.signature} -> {function.result}"


def defining(symbol: str, imports: Mapping[str, ExternalFunction]) -> tuple[ExternalFunction, ...]:
    """Returns the functions that a symbol may mean where `imports` are called."""
    called = imports.get(symbol)
    if called is not None and called.is_defined:
        return (called,)
    found = EXTERNALS.exporting(symbol)
    if len(found) > 1:  # functions of a module that was taken out of `sys.modules` may live on
        found = tuple(function for function in found if function.unit in sys.modules) or found
    return found


def _described(function: ExternalFunction) -> str:
    return f"'{function.unit}.{function.function.__qualname__}'"


def object_image(function: ExternalFunction, env: TargetEnv) -> ObjectImage:
    """Returns an exported function compiled for an environment, with the options of its own Python module.

    Raises:
        BuildError: it cannot be compiled.
    """
    options = options_of(function.unit)
    # Constants of a kernel's image that is fixed at the defaults may have values in the functions that it calls.
    env = replace(options.environment(env), freezes_spec_constants=False)
    found: ObjectImage | None = function.compiled.get(env)
    if found is None or not found.captures.are_current():
        captures = Captures()
        module = build_module(
            [],
            externals=[function],
            captures=captures,
            optional_aspects=env.optional_aspects,
            checks=env.checks,
            runs_all_branches=env.runs_all_branches,
        )
        analysis = analyse(module, env, mode="off", fixed_targets=options.fixed_targets, is_ours=True)
        warn_once(findings_of(analysis.diagnostics, captures, function.unit))
        (analysed,) = analysis.images
        image = build_image(lower_image(analysed, env), env)
        found = function.compiled[env] = ObjectImage(image, captures)
    return found
