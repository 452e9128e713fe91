"""What a sampler makes of an image: filters and addressing modes (Vulkan 1.3, 16.8 and 16.9), computed exactly.

Devices filter with the precision of textures, so their results differ from these by some 1/256 of the distance
between two neighbouring pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from .scalars import Lanes
from .texels import Texels

_FARTHEST = 2.0**40
"""Coordinates beyond are taken for this: they are of no pixel, and integers hold them."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a sampler does; names as of `lp.ImageSampler`."""

    addressing: str
    is_normalized: bool
    is_linear: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Tap:
    """One of the pixels along a dimension that a filter takes."""

    index: Lanes
    is_beyond: Lanes
    """Whether the border stands for it."""
    weight: Lanes


def sample(texels: Texels, sampling: Sampling, coordinates: Sequence[Lanes]) -> Lanes:
    """Returns the pixels at float coordinates, slowest dimension first, one row of four for each place."""
    axes = [
        _taps(places(place, extent, sampling), extent, sampling)
        for place, extent in zip(coordinates, texels.shape, strict=True)
    ]
    if not sampling.is_linear:
        return texels.whole(_channels(texels, [taps[0] for taps in axes]))
    total: Lanes = np.zeros((), np.float64)
    for taps in product(*axes):
        weight = np.prod([tap.weight for tap in taps], axis=0)
        # A neighbour of weight 0 is not looked at: it may be infinite.
        share = np.where(weight[:, None] != 0, _channels(texels, taps), 0)
        total = total + weight[:, None] * share
    return texels.whole(total)


def places(coordinate: Lanes, extent: int, sampling: Sampling) -> Lanes:
    """Returns coordinates in pixels: the middle of the first is 0.5; what is no number is 0."""
    found = np.where(np.isnan(coordinate), 0, coordinate.astype(np.float64))
    return np.clip(found * extent if sampling.is_normalized else found, -_FARTHEST, _FARTHEST)


def _taps(place: Lanes, extent: int, sampling: Sampling) -> list[_Tap]:
    """Returns the pixels along a dimension: one, or the two around the place."""
    if not sampling.is_linear:
        return [_tap(np.floor(place), np.ones(len(place)), extent, sampling.addressing)]
    before = np.floor(place - 0.5)
    share = place - 0.5 - before
    return [
        _tap(before, 1 - share, extent, sampling.addressing),
        _tap(before + 1, share, extent, sampling.addressing),
    ]


def _tap(index: Lanes, weight: Lanes, extent: int, addressing: str) -> _Tap:
    whole = index.astype(np.int64)
    if addressing == "repeat":
        return _Tap(whole % extent, np.zeros(len(whole), np.bool_), weight)
    if addressing == "mirrored_repeat":
        turn, inner = np.divmod(whole, extent)
        return _Tap(np.where(turn % 2, extent - 1 - inner, inner), np.zeros(len(whole), np.bool_), weight)
    is_beyond = (whole < 0) | (whole >= extent)
    if addressing != "clamp":
        is_beyond = np.zeros(len(whole), np.bool_)
    return _Tap(np.minimum(np.maximum(whole, 0), extent - 1), is_beyond, weight)


def _channels(texels: Texels, taps: Sequence[_Tap]) -> Lanes:
    """Returns the channels of the pixels at taps, one for each dimension; the border is transparent black."""
    found = texels.channels(texels.position([tap.index for tap in taps]))
    is_beyond = np.any([tap.is_beyond for tap in taps], axis=0)
    return np.where(is_beyond[:, None], np.zeros((), found.dtype), found)
