"""The compiler as the runtime's kernel bundles need it: `toolchain`."""

from __future__ import annotations

from collections.abc import Sequence

from ..spirv.device_image import DeviceImage as SpirvImage
from ..vk_runtime.device import Device
from ..vk_runtime.toolchain import LinkedImage, Toolchain
from .unit_image import note_linked


class _Toolchain:
    """The compiler's work on SPIR-V; a `vk_runtime.toolchain.Toolchain`."""

    def link(
        self, images: Sequence[SpirvImage], devices: Sequence[Device], *, is_whole_program: bool
    ) -> list[LinkedImage]:
        """Returns the images that have kernels without imports and exports; see `bundle_linking`."""
        if any(image.is_object for image in images):
            from .bundle_linking import link_kernels

            made = link_kernels(images, is_whole_program=is_whole_program)
        else:
            made = [LinkedImage(image, (position,)) for position, image in enumerate(images)]
        for item in made:
            note_linked(item.image)
        return made

    def disassemble(self, spirv: bytes) -> str:
        """Returns SPIR-V as text."""
        from ..spirv.tools import spirv_tools

        return spirv_tools().disassemble(spirv)


toolchain: Toolchain = _Toolchain()
"""The compiler."""
