"""The type of image parameters: ``lp.UnsampledImage[lp.f32x4, 2]``, ``lp.SampledImage[lp.f32x4, 2]``.

The names themselves are the runtime's classes of images; this folder knows them by their annotation mark only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .struct_types import value_type_of
from .types import MAX_DIMENSIONS, Access, ArrayType, ScalarType, Type
from .vector_types import VecType

if TYPE_CHECKING:
    from ..ir.kernel_info import ImageParameter

IMAGE_MARKS: Final = {"unsampled_image": False, "sampled_image": True}
"""What ``__lapilli_annotation__`` says of the two classes, and whether there is a sampler."""
PIXEL_SCALARS: Final = ("f32", "f16", "i32", "u32")
"""Scalar types that pixels may be made of."""
_SIZES: Final = (1, 2, 4)


@dataclass(frozen=True, repr=False)
class ImageType(ArrayType):
    """An image parameter; like an array, a kernel has it by reference.

    Args:
        element: what a pixel is: f32, f16, i32 or u32, or two or four of them.
        ndim: 1 to 3.
        access: what the kernel may do with it.
        is_sampled: whether it comes with a sampler; then it is only read.
    """

    is_sampled: bool = False

    @property
    def spelling(self) -> str:
        """``UnsampledImage[f32x4, 2]``, ``In[UnsampledImage[f32x4, 2]]``, ``SampledImage[f32x4, 2]``."""
        return self._spelt("", str(self.element))

    def __repr__(self) -> str:
        return self._spelt("lp.", repr(self.element))

    def _spelt(self, prefix: str, element: str) -> str:
        name = "SampledImage" if self.is_sampled else "UnsampledImage"
        text = f"{prefix}{name}[{element}{f', {self.ndim}' if self.ndim != 1 else ''}]"
        if self.is_sampled or self.access == "read_write":
            return text
        return f"{prefix}{'In' if self.access == 'read' else 'Out'}[{text}]"

    @property
    def scalar(self) -> ScalarType:
        """The type of one channel."""
        return self.element.element if isinstance(self.element, VecType) else _scalar(self.element)

    @property
    def kind(self) -> str:
        """The kind of formats that go with it: ``float``, ``int`` or ``uint``."""
        return self.scalar.kind


def _scalar(kind: Type) -> ScalarType:
    assert isinstance(kind, ScalarType)
    return kind


def image_type(parameters: tuple[object, ...], *, is_sampled: bool, access: Access) -> ImageType | str:
    """Returns the type that ``[element, ndim]`` behind the name of an image means, or what is wrong with it.

    Args:
        parameters: what stands in the brackets.
        is_sampled: which of the two names it is.
        access: what ``lp.In`` or ``lp.Out`` around it says.
    """
    element = value_type_of(parameters[0]) if parameters else None
    scalar = element.element if isinstance(element, VecType) else element
    size = element.size if isinstance(element, VecType) else 1
    if not isinstance(scalar, ScalarType) or scalar.spelling not in PIXEL_SCALARS or size not in _SIZES:
        found = repr(parameters[0]) if parameters else "nothing"
        return (
            f"a pixel is {', '.join(f'lp.{name}' for name in PIXEL_SCALARS)}, or two or four of them such as "
            f"lp.f32x4; found {found}"
        )
    ndim = parameters[1] if len(parameters) > 1 else 1
    if len(parameters) > 2 or isinstance(ndim, bool) or ndim not in range(1, MAX_DIMENSIONS + 1):
        found = ", ".join(map(repr, parameters[1:]))
        return f"it has 1 to {MAX_DIMENSIONS} dimensions; found {found}"
    assert isinstance(ndim, int) and element is not None
    return ImageType(element, ndim, access, is_sampled)


def image_parameter(name: str, kind: ImageType) -> ImageParameter:
    """Returns what arguments are checked against before the kernel is compiled, and says what it does with them."""
    from ..ir.kernel_info import ImageParameter  # a program that only defines kernels does without

    return ImageParameter(
        name=name,
        dtype=kind.element.spelling,
        ndim=kind.ndim,
        descriptor="sampled" if kind.is_sampled else "storage" if kind.access == "write" else "fetched",
        access="write" if kind.access == "write" else "read",
        takes_any_access=kind.access == "read_write",
    )
