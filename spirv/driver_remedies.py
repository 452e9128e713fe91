"""Modules of other compilers as drivers with faults need them: `module_for`, `image_for`.

The faults are in `vk_runtime.quirks`; which remedies a driver needs, its `TargetEnv` says.  Standard library only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.target_env import REMEDIES, TargetEnv
from .address_words import addresses_kept
from .binary import Module, parse, serialise
from .carried_phis import addresses_as_words, truths_as_words
from .carry_values import values_carried
from .clamp_atomics import atomics_clamped
from .counted_sub_groups import sub_groups_counted
from .device_image import DeviceImage
from .divided_rounds import rounds_hidden
from .exact_halves import integers_kept
from .loop_ends import ends_hidden
from .low_bits import low_bits_kept
from .narrow_integers import extrema_compared, ones_divided
from .narrow_negations import negations_kept
from .negated_truths import negations_hidden
from .own_headers import headers_owned
from .own_positions import positions_owned
from .rounded_halves import halves_rounded
from .split_composites import composites_split
from .split_copies import copies_split
from .whole_doubles import doubles_rounded
from .wide_conversions import conversions_kept
from .wide_orders import orders_hidden

_UNKNOWN_GENERATOR = 0xFFFF << 16


def labelled(module: Module) -> Module:
    """Returns a module of another compiler whose header says so: our own modules have no generator."""
    return module if module.generator else replace(module, generator=_UNKNOWN_GENERATOR)


def module_for(module: Module, env: TargetEnv) -> Module:
    """Returns a valid module as drivers need it.

    Raises:
        SpirvError: a driver loses what loops compute, and a function has more of them than are looked at.
    """
    if env.miscounts_sub_groups:
        module = sub_groups_counted(module)
    if env.clamps_atomics:
        module = atomics_clamped(module)
    if env.loses_returns:
        module = headers_owned(module)
    if env.loses_reads:
        module = values_carried(positions_owned(copies_split(module)))
    if env.fails_on_carried_addresses:
        module = addresses_kept(addresses_as_words(composites_split(copies_split(module))))
    if env.folds_wide_orders:
        module = orders_hidden(module)
    if env.misrounds_doubles:
        module = doubles_rounded(module)
    if env.loses_last_rounds:
        module = ends_hidden(module)
    if env.divides_rounds:
        module = rounds_hidden(module)
    if env.skips_exact_halves:
        module = integers_kept(module)
    if env.skips_half_rounding:
        module = halves_rounded(module)
    if env.widens_negations:
        module = negations_kept(module)
    if env.misjudges_short_extrema:
        module = extrema_compared(module)
    if env.misjudges_low_bits:
        module = low_bits_kept(module)
    if env.loses_negated_truths:
        module = negations_hidden(module)
    if env.narrows_conversions:
        module = conversions_kept(module)
    if env.fails_on_divided_ones:
        module = ones_divided(module)
    return truths_as_words(module) if env.fails_on_carried_truths else module


def image_for(image: DeviceImage, env: TargetEnv) -> DeviceImage:
    """Returns an image from a file, made of another compiler's module, as drivers need it.

    Raises:
        SpirvError: as `module_for`.
    """
    had = image.target_env
    lacks: dict[str, Any] = {name: getattr(env, name) and not getattr(had, name) for name in REMEDIES}
    missing = TargetEnv(**lacks)
    if missing == TargetEnv():
        return image
    return marked(replace(image, spirv=serialise(module_for(parse(image.spirv), missing))), env)


def marked(image: DeviceImage, env: TargetEnv) -> DeviceImage:
    """Returns an image that says which remedies it has."""
    had = image.target_env
    has: dict[str, Any] = {name: getattr(had, name) or getattr(env, name) for name in REMEDIES}
    return replace(image, target_env=replace(had, **has))
