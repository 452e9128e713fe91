"""What a NumPy array is as an image: its format, its shape, and the messages where it is none.  Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.errors import InvalidError, closest
from ..ir.image_formats import CHANNELS, ImageFormat
from .host_data import require_unmasked

_SUFFIXES = {
    "uint8": "unorm",
    "uint16": "unorm",
    "uint32": "uint",
    "int8": "sint",
    "int16": "sint",
    "int32": "sint",
    "float16": "sfloat",
    "float32": "sfloat",
}
"""What images of each dtype are unless a format is given: unsigned 8 and 16 bits are how pictures come."""


def checked_format(what: str, value: object) -> ImageFormat | None:
    """Returns a format that a user gave by itself or by name, or None where he gave none.

    Raises:
        InvalidError: there is no such format.
    """
    if value is None or isinstance(value, ImageFormat):
        return value
    if isinstance(value, str) and value in ImageFormat.__members__:
        return ImageFormat[value]
    meant = closest(str(value), ImageFormat.__members__)
    hint = f"did you mean {meant}?" if meant else "see lp.ImageFormat, r8g8b8a8_unorm for one"
    raise InvalidError(
        f"{what}: expected an lp.ImageFormat or its name as format, found {value!r:.80}; {hint}"
    )


def host_image(what: str, source: object) -> np.ndarray[Any, Any]:
    """Returns pixels as a NumPy array, in the machine's byte order.

    Raises:
        InvalidError: no array, or of a dtype that no format has.
    """
    require_unmasked(source, what)
    try:
        host = np.asarray(source)
    except ValueError as error:
        raise InvalidError(f"{what}: this is no array: {error}") from error
    if isinstance(source, list | tuple) and host.dtype == np.float64:
        host = host.astype(np.float32)  # Python's floats, as everywhere
    if host.dtype.newbyteorder("=").name not in _SUFFIXES:
        hint = "convert it with astype(np.float32)" if host.dtype.kind in "fiub" else "give numbers"
        raise InvalidError(
            f"{what}: no image format has channels of {host.dtype}; there are {', '.join(_SUFFIXES)}; {hint}"
        )
    return host.astype(host.dtype.newbyteorder("="), copy=False)


def image_shape(
    what: str, host: np.ndarray[Any, Any], wanted: ImageFormat | None, ndim: int | None
) -> tuple[ImageFormat, tuple[int, ...]]:
    """Returns format and extents of the image that an array is.

    Args:
        what: who asks, for messages.
        host: the pixels.
        wanted: the format, where it is given.
        ndim: the number of dimensions, where it is given.

    Raises:
        InvalidError: they do not go together.
    """
    if ndim is not None and (isinstance(ndim, bool) or ndim not in (1, 2, 3)):
        raise InvalidError(f"{what}(ndim=…): an image has 1 to 3 dimensions; found {ndim!r}")
    channels = _channels(what, host, wanted, ndim)
    has_axis = host.ndim > 0 and (ndim == host.ndim - 1 or (ndim is None and channels > 1))
    shape = host.shape[:-1] if has_axis else host.shape
    if not 1 <= len(shape) <= 3 or (ndim is not None and len(shape) != ndim):
        raise InvalidError(
            f"{what}: an array of shape {host.shape} is no image of {ndim or '1 to 3'} dimensions and {channels} "
            f"channel{'s' * (channels != 1)}"
        )
    name = host.dtype.name
    if wanted is None:
        bits = str(8 * host.dtype.itemsize)
        wanted = ImageFormat["".join(c + bits for c in "rgba"[:channels]) + f"_{_SUFFIXES[name]}"]
    if wanted.dtype != name:
        raise InvalidError(
            f"{what}: format {wanted.name} has channels of {wanted.dtype}, the array has {name}; convert it with "
            "astype, or give another format"
        )
    return wanted, shape


def _channels(what: str, host: np.ndarray[Any, Any], wanted: ImageFormat | None, ndim: int | None) -> int:
    """Returns how many channels an array has."""
    last = host.shape[-1] if host.ndim else 0
    if wanted is not None:
        if wanted.channels > 1 and last != wanted.channels:
            raise InvalidError(
                f"{what}: format {wanted.name} has {wanted.channels} channels, which are the last extent of the array; "
                f"found shape {host.shape}{_rgb_hint(last)}"
            )
        return wanted.channels
    if ndim is not None and host.ndim == ndim:
        return 1
    if ndim is None and (host.ndim < 2 or last not in CHANNELS[1:]):
        if last == 3 and host.ndim == 3 and host.dtype == np.uint8:
            raise InvalidError(
                f"{what}: no format has three channels; found shape {host.shape}{_rgb_hint(last)}"
            )
        return 1
    if last not in CHANNELS:
        raise InvalidError(
            f"{what}: a pixel has 1, 2 or 4 channels; found shape {host.shape}{_rgb_hint(last)}"
        )
    return last


def _rgb_hint(channels: int) -> str:
    if channels != 3:
        return ""
    return "; add alpha: np.dstack([a, np.full(a.shape[:2], 255, a.dtype)]), of a PIL image .convert('RGBA')"
