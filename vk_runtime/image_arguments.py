"""Whether an image suits a parameter, and what a launch uses of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.errors import KernelArgumentError
from ..ir.image_formats import PIXEL_KINDS, ImageFormat, pixel_parts
from ..ir.kernel_info import ImageParameter
from .array import Array
from .bundle_errors import OutOfContextError
from .image_sampler import ImageSampler
from .image_support import unwritable
from .images import Image, SampledImage, UnsampledImage

if TYPE_CHECKING:
    from .device import Device
    from .tracked import Tracked

_NEEDS_NORMALIZED = "Vulkan samples 3-D images with normalised coordinates only; give coordinate='normalized'"
ImageUses = tuple[tuple["Tracked", bool], ...]
"""What a launch uses of one argument: the image, its sampler; and whether it writes it."""


def image_uses(parameter: ImageParameter, arg: object, device: Device) -> ImageUses | None:
    """Returns what a launch uses of an argument, None where it does not suit the parameter."""
    if parameter.descriptor == "sampler":
        if not isinstance(arg, ImageSampler) or (parameter.needs_normalized and not arg.is_normalized):
            return None
        sampler = device.logical.images.sampler(arg, ImageFormat.r32_sfloat, 1)
        return ((sampler, False),)
    wanted = SampledImage if parameter.is_sampled else UnsampledImage
    if not isinstance(arg, wanted) or arg.device is not device or arg.is_released:
        return None
    if _mismatch(parameter, arg) is not None:
        return None
    memory = arg.buffer
    if parameter.descriptor == "storage" and not parameter.takes_any_access and not memory.support.writes:
        return None
    use = (memory, parameter.access != "read")
    return (use, (arg.sampler_object, False)) if isinstance(arg, SampledImage) else (use,)


def refuse_image(label: str, parameter: ImageParameter, arg: object, device: Device) -> None:
    """Raises what is wrong with an argument that `image_uses` finds unsuitable.

    Args:
        label: names kernel and argument.
        parameter: of the kernel.
        arg: what the launch gives.
        device: where it runs.

    Raises:
        KernelArgumentError: another kind, shape, format or device.
        FeatureNotSupportedError: the device does not write such images.
    """
    expected = f"expected {spelt(parameter)}"
    wanted = (
        ImageSampler
        if parameter.descriptor == "sampler"
        else SampledImage
        if parameter.is_sampled
        else UnsampledImage
    )
    if not isinstance(arg, wanted):
        raise KernelArgumentError(f"{label}: {expected}, found {_described(arg)}{_remedy(wanted, arg)}")
    if not isinstance(arg, Image):
        raise KernelArgumentError(f"{label}: {expected}, found {arg!r}: {_NEEDS_NORMALIZED}")
    if arg.is_released:
        raise KernelArgumentError(f"{label}: the image was released; make a new one")
    if arg.device is not device and arg.buffer.is_borrowed:
        raise OutOfContextError(
            f"{label}: the image is a native one of device '{arg.device.selector}' and can be used in its context "
            f"only, not on '{device.selector}'"
        )
    if arg.device is not device:
        raise KernelArgumentError(
            f"{label}: expected an image on device '{device.selector}', found one on '{arg.device.selector}'; copy it "
            f"with lp.{wanted.__name__}(img, device=…) or launch on its device's queue"
        )
    problem = _mismatch(parameter, arg)
    if problem is not None:
        raise KernelArgumentError(f"{label}: {expected}, found an lp.{arg.signature}: {problem}")
    if parameter.descriptor == "storage" and not parameter.takes_any_access and not arg.buffer.support.writes:
        raise unwritable(device, arg.buffer.support)


def spelt(parameter: ImageParameter) -> str:
    """Returns how a parameter's type is written."""
    if parameter.descriptor == "sampler":
        return "an lp.ImageSampler"
    scalar, count = pixel_parts(parameter.dtype)
    pixel = f"lp.{scalar}" + (f"x{count}" if count > 1 else "")
    rank = "" if parameter.ndim == 1 else f", {parameter.ndim}"
    return f"lp.{'SampledImage' if parameter.is_sampled else 'UnsampledImage'}[{pixel}{rank}]"


def _mismatch(parameter: ImageParameter, image: Image) -> str | None:
    """Returns why an image does not suit a parameter, None where it does."""
    found = image.format
    if image.ndim != parameter.ndim:
        return f"it has {image.ndim} dimension{'s' * (image.ndim != 1)}"
    scalar, count = pixel_parts(parameter.dtype)
    kind = PIXEL_KINDS.get(scalar)
    if found.kind != kind:
        return f"kernels see pixels of {found.name} as {found.kind}, and the parameter's are {kind}"
    if count not in (4, found.channels):
        return f"it has {found.channels} channels; a pixel of the parameter has as many, or 4"
    if parameter.needs_normalized and isinstance(image, SampledImage) and not image.sampler.is_normalized:
        return _NEEDS_NORMALIZED
    if parameter.format and parameter.format != found.name and not parameter.takes_any_access:
        wanted = parameter.format
        both = (
            "reads and writes it, so that its format must be"
            if parameter.access == "read_write"
            else "takes format"
        )
        return (
            f"the kernel {both} {wanted}; make it with format='{wanted}', or read one image and write another"
        )
    return None


def _described(arg: object) -> str:
    if isinstance(arg, Image):
        return f"an lp.{type(arg).__name__}"
    if isinstance(arg, Array):
        return f"an lp.{arg.signature}"
    text = repr(arg)
    return f"{type(arg).__name__} {text}" if len(text) <= 40 else type(arg).__name__


def _remedy(wanted: type, arg: object) -> str:
    if wanted is SampledImage and isinstance(arg, UnsampledImage):
        return "; lp.SampledImage(img, lp.ImageSampler(…)) shares its memory"
    if wanted is UnsampledImage and isinstance(arg, SampledImage):
        return "; lp.UnsampledImage(img) shares its memory"
    if isinstance(arg, Array):
        return f"; lp.{wanted.__name__}(a) makes an image of its elements"
    if hasattr(arg, "__array__"):
        return f"; copy it to the device first with lp.{wanted.__name__}(…)"
    return ""
