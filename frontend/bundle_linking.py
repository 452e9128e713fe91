"""Linking the images of kernel bundles: each image with kernels, and all that it imports.

Functions that Python modules export have images without kernels.  An image with kernels is linked with those that
define what it calls, directly or not, so that images of different requirements stay apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..ir.errors import LinkError
from ..spirv.device_image import DeviceImage
from ..spirv.link_images import link_images
from ..vk_runtime.toolchain import LinkedImage
from .compile import compile_lock
from .external_warnings import warn_of_externals
from .externals import ExternalFunction
from .linking import ObjectImage, check_declared, exported_needs, exporter, object_image, unresolved
from .spec_constant import find_id_of
from .unit_images import exported_by, imports_of


def link_kernels(images: Sequence[DeviceImage], *, is_whole_program: bool) -> list[LinkedImage]:
    """Returns the images that have kernels, linked.

    Args:
        images: compiled for one environment.
        is_whole_program: whether functions of imported Python modules may come in addition; else everything must
            be in `images`.

    Raises:
        LinkError: a symbol is exported twice or by nobody, or the definitions do not suit; names the symbol.
    """
    exporting = _exporting(images)
    with compile_lock:
        linked = [_linked(images, number, exporting, is_whole_program) for number in range(len(images))]
    return [item for image, item in zip(images, linked, strict=True) if image.kernels]


def _exporting(images: Sequence[DeviceImage]) -> dict[str, int]:
    """Returns which image exports each symbol."""
    found: dict[str, int] = {}
    for number, image in enumerate(images):
        for symbol in image.exports:
            if symbol in found:
                raise LinkError(
                    f"symbol '{symbol}' is exported twice, by two images of the kernel bundles; give one another name "
                    'with @lp.external("name")'
                )
            found[symbol] = number
    return found


def _linked(
    images: Sequence[DeviceImage], first: int, exporting: dict[str, int], is_whole_program: bool
) -> LinkedImage:
    """Returns an image linked with what it imports; raises for unresolved imports of images without kernels too."""
    parts, added = [first], dict[str, DeviceImage]()
    pending = [(symbol, images[first], imports_of(images[first])) for symbol in images[first].imports]
    while pending:
        symbol, user, called = pending.pop(0)
        number = exporting.get(symbol)
        if number is not None:
            exported = exported_by(images[number]).get(symbol)
            if exported is not None:
                check_declared(symbol, called, exported)
            if number in parts:
                continue
            parts.append(number)
            provider = images[number]
            called = imports_of(provider)
        else:
            if symbol in added:
                continue
            found = _of_program(symbol, user, called, exporting, is_whole_program)
            provider = added[symbol] = found.image
            called = found.captures.imports
        pending += [(name, provider, called) for name in provider.imports]
    together = [*(images[number] for number in parts), *added.values()]
    image = images[first]
    if image.is_object and image.kernels:
        warn_of_externals(image.requirements, exported_needs(together))
        image = link_images(together)
    symbols = [constant.symbol for provider in added.values() for constant in provider.spec_constants]
    constants = {symbol: found for symbol in symbols if (found := find_id_of(symbol)) is not None}
    return LinkedImage(image, tuple(parts), constants)


def _of_program(
    symbol: str,
    user: DeviceImage,
    called: Mapping[str, ExternalFunction],
    exporting: Collection[str],
    is_whole_program: bool,
) -> ObjectImage:
    """Returns the image of a function that is in no bundle: the object that was called, else the one of that name."""
    if is_whole_program:
        return object_image(exporter(symbol, user, called, exporting), user.target_env)
    missing = [name for name in user.imports if name not in exporting]
    what = "it" if len(missing) == 1 else "them"
    raise LinkError(
        f"{unresolved(missing, user)}: none of the kernel bundles exports {what}; link a bundle of the "
        "Python module or the source that does, or use lp.build, which looks in all modules that the program imports "
        "for its own kernels"
    )
