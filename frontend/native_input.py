"""Input bundles of native modules: SPIR-V that, as SYCL sees it, is not compiled yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from ..ir.kernel_info import Requirements, SpecConstantInfo
from ..ir.sha256 import sha256
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage as SpirvImage
from ..spirv.foreign_sizes import constant_infos, default_bytes, symbol_of
from ..spirv.reflect import reflect
from ..spirv.specialise import host_bytes
from ..vk_runtime.bundle_image import DeviceImage, of_input
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.native_constants import NativeConstant
from ..vk_runtime.source_options import SpecValues
from ..vk_runtime.spec_values import SpecConstant
from .bundle_toolchain import toolchain
from .bundles import compile


class _Module:
    """A module as it was given, from which it is compiled again with other values of its constants."""

    def __init__(self, source: KernelBundle, code: bytes) -> None:
        found = reflect(code)
        digest = sha256(code).digest()[:8]
        by_id = {constant.spec_id: constant for constant in reversed(found.spec_constants)}
        self.constants = [
            NativeConstant(
                digest,
                spec_id,
                tuple(dict.fromkeys(c.name for c in found.spec_constants if c.spec_id == spec_id and c.name)),
                constant.type,
                default_bytes(constant),
                partial(host_bytes, constant.type, spec_id),
            )
            for spec_id, constant in sorted(by_id.items())
        ]
        self.infos = constant_infos(found.spec_constants, frozenset())
        """Of all constants; those of an image are in its code, unless it is to be linked."""
        self._source = source
        self.compiled = lru_cache(maxsize=1)(self._compiled)  # each of its images asks for the same one

    def _compiled(
        self, values: tuple[tuple[int, bool | int | float], ...], devices: tuple[Device, ...]
    ) -> KernelBundle:
        return compile(self._source, devices, props=[SpecValues(dict(values))])


class NativeInput:
    """A module before it is compiled; a `vk_runtime.toolchain.InputImage`."""

    def __init__(self, image: DeviceImage, module: _Module | None) -> None:
        """`image` is the module as it is with its defaults; without `module`, its constants are fixed."""
        self._image, self._module = image, module

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
        """The constants that can be set, by symbol."""
        return {constant.symbol: constant for constant in self._constants}

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """The layout of its specialization constants."""
        binary = self._image.binary
        # What is to be linked has its constants fixed when it is compiled.
        infos = self._module.infos if self._module is not None and binary.is_object else binary.spec_constants
        symbols = {symbol_of(constant.spec_id): constant.symbol for constant in self._constants}
        return tuple(replace(info, symbol=symbols.get(info.symbol, info.symbol)) for info in infos)

    @property
    def _constants(self) -> Sequence[NativeConstant]:
        return () if self._module is None else self._module.constants

    def text(self) -> str:
        """Returns the code as SPIR-V assembly."""
        return self._image.disassemble()

    def with_values(
        self, values: Mapping[SpecConstant, bytes], devices: tuple[Device, ...]
    ) -> NativeInput | None:
        """Returns the module with values of its constants, which are fixed then; None where no device can run it."""
        own = tuple((c.spec_id, c.from_bytes(values[c])) for c in self._constants if c in values)
        if self._module is None or not own:
            return NativeInput(self._image, None)
        made = self._module.compiled(own, devices)
        found = next((image for image in made if image.kernels == self._image.kernels), None)
        return None if found is None else NativeInput(found, None)

    def translate(self, env: TargetEnv, devices: Sequence[Device], log: Sequence[object] = ()) -> SpirvImage:
        """Returns the code as it is."""
        return self._image.binary


def input_bundle(source: KernelBundle, compiled: KernelBundle, code: bytes) -> KernelBundle:
    """Returns the input bundle of a native module.

    Args:
        source: of the module.
        compiled: what it is compiled to.
        code: the module.
    """
    module = _Module(source, code)
    images = [of_input(NativeInput(image, module), toolchain, is_from_source=True) for image in compiled]
    return make_bundle(compiled.context, compiled.devices, BundleState.INPUT, images)
