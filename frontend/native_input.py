"""Input bundles of native modules: SPIR-V that, as SYCL sees it, is not compiled yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.kernel_info import Requirements, SpecConstantInfo
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage as SpirvImage
from ..vk_runtime.bundle_image import DeviceImage, of_input
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.spec_values import SpecConstant
from .bundle_toolchain import toolchain


class NativeInput:
    """A module before it is compiled; a `vk_runtime.toolchain.InputImage`.  Compiling it changes nothing."""

    def __init__(self, image: DeviceImage) -> None:
        self._image = image

    @property
    def digest(self) -> bytes:
        """Identifies the code."""
        return self._image.binary.digest

    @property
    def kernel_ids(self) -> Mapping[str, KernelId]:
        """The kernels, by name."""
        found = ((name, self._image.id_of(name)) for name in self._image.kernels)
        return {name: id_ for name, id_ in found if id_ is not None}

    @property
    def only_on(self) -> Device | None:
        """The one device that it is for; None: the requirements decide."""
        return None

    @property
    def requirements(self) -> Requirements:
        """What a device must have."""
        return self._image.requirements

    @property
    def own_requirements(self) -> Mapping[str, Requirements]:
        """What kernels need beside `requirements`: native modules have no fixed targets."""
        return {}

    @property
    def env(self) -> TargetEnv:
        """The environment that the code is for."""
        return self._image.binary.target_env

    @property
    def spec_symbols(self) -> Mapping[str, SpecConstant]:
        """The specialization ids of lapilli that it reads: none."""
        return self._image.spec_symbols

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """The layout of its specialization constants."""
        return self._image.binary.spec_constants

    def text(self) -> str:
        """Returns the code as SPIR-V assembly."""
        return self._image.disassemble()

    def translate(self, env: TargetEnv, devices: Sequence[Device], log: Sequence[object] = ()) -> SpirvImage:
        """Returns the code as it is."""
        return self._image.binary


def input_bundle(compiled: KernelBundle) -> KernelBundle:
    """Returns the input bundle of what an object bundle of a native module holds."""
    images = [of_input(NativeInput(image), toolchain, is_from_source=True) for image in compiled]
    return make_bundle(compiled.context, compiled.devices, BundleState.INPUT, images)
