"""What kernel bundles need of the compiler, which the runtime never imports: objects with these methods are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ..ir.kernel_info import Requirements, SpecConstantInfo
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage as SpirvImage
from .device import Device
from .kernel_id import KernelId
from .spec_values import SpecConstant


class LinkedImage(NamedTuple):
    """An image that imports nothing."""

    image: SpirvImage
    parts: tuple[int, ...]
    """Positions of the images that it was made of; the first has its kernels."""
    spec_symbols: Mapping[str, SpecConstant] = MappingProxyType({})
    """Constants, by symbol, of what was linked in addition."""


class Toolchain(Protocol):
    """Work on SPIR-V."""

    def link(
        self, images: Sequence[SpirvImage], devices: Sequence[Device], *, is_whole_program: bool
    ) -> Sequence[LinkedImage]:
        """Returns images without imports and exports that hold the kernels of `images`.

        Args:
            images: compiled.
            devices: what they are for.
            is_whole_program: whether imports may also be resolved by what the application's other units export.

        Raises:
            BuildError: a symbol is unresolved or defined twice.
        """
        ...

    def disassemble(self, spirv: bytes) -> str:
        """Returns SPIR-V as text."""
        ...


class InputImage(Protocol):
    """One device image before it is compiled: the IR of some kernels."""

    @property
    def digest(self) -> bytes:
        """Identifies the IR."""
        ...

    @property
    def kernel_ids(self) -> Mapping[str, KernelId]:
        """The kernels, by the name that the image has for them."""
        ...

    @property
    def only_on(self) -> Device | None:
        """The device whose built-in kernels they are; None: any."""
        ...

    @property
    def requirements(self) -> Requirements:
        """What a device must have."""
        ...

    @property
    def own_requirements(self) -> Mapping[str, Requirements]:
        """What kernels need by themselves, where fixed targets stand for it in `requirements`."""
        ...

    @property
    def env(self) -> TargetEnv:
        """The environment that the IR was made for."""
        ...

    @property
    def spec_symbols(self) -> Mapping[str, SpecConstant]:
        """The specialization constants that the kernels read, by symbol."""
        ...

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """Their layout as the image will have it; BuildError where it cannot be compiled."""
        ...

    def text(self) -> str:
        """Returns the IR as text."""
        ...

    def with_values(
        self, values: Mapping[SpecConstant, bytes], devices: tuple[Device, ...]
    ) -> InputImage | None:
        """Returns what is to be compiled where some constants have values: those of native modules are fixed in it.

        Args:
            values: host bytes of constants that were set.
            devices: what it is compiled for.

        Returns:
            An image, this one where compiling fixes nothing; None where no device can run it with these values.

        Raises:
            BuildError: the module is wrong with these values.
        """
        ...

    def translate(self, env: TargetEnv, devices: Sequence[Device], log: Sequence[object] = ()) -> SpirvImage:
        """Compiles the image, once for each environment.

        Args:
            env: what every device of `devices` accepts; optional aspects beyond those of `env` are not used.
            devices: what it is compiled for.
            log: text streams that get what there is to say.

        Raises:
            BuildError: a kernel cannot be compiled.
        """
        ...
