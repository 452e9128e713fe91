"""One device image of a translation unit: its IR, and the SPIR-V that is made of it once for each environment."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..ir.config import config
from ..ir.errors import BuildError, Diagnostic, warning_text
from ..ir.kernel_info import KernelInfo, Requirements, SpecConstantInfo
from ..ir.sha256 import sha256
from ..ir.target_env import TargetEnv
from ..vk_runtime.build_properties import TextStream
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.spec_values import SpecConstant
from ..vk_runtime.trace import record
from .aspect_warnings import findings_of, warn_once
from .captures import Captures
from .compile import Executable, compile_lock, environment_of
from .constant_arguments import MissingConstantError, default_constants
from .deep_stack import with_deep_stack
from .units import all_kernels

if TYPE_CHECKING:
    from ..passes.pipeline import AnalysedImage
    from ..spirv.device_image import DeviceImage
    from .kernel import KernelFunction


@dataclass(eq=False)
class UnitImage:
    """Some kernels of one unit that are compiled together; a `vk_runtime.toolchain.InputImage`."""

    kernel_ids: Mapping[str, KernelId]
    env: TargetEnv
    requirements: Requirements
    spec_symbols: Mapping[str, SpecConstant]
    captures: Captures
    functions: Mapping[str, weakref.ref[KernelFunction]]
    """The kernels by the image's names, as long as somebody uses them."""
    analysed: AnalysedImage | None
    """The IR; None where there is an error."""
    unit: str
    """The Python module."""
    error: BuildError | MissingConstantError | None = None
    """Why there is no IR: what compiling the image raises."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings about its kernels and the unit's other functions, which its first compilation tells."""
    only_on: Device | None = None
    """The device whose built-in kernels they are; None: any."""
    local_sizes: Mapping[str, tuple[int, ...] | None] = field(
        default_factory=dict[str, "tuple[int, ...] | None"]
    )
    """The options ``local_size`` by the image's names, for the defaults of the constants in them."""
    own_requirements: Mapping[str, Requirements] = field(default_factory=dict[str, Requirements])
    """What kernels need by themselves, where fixed targets stand for it in `requirements`."""
    _digest: bytes | None = None
    _constants: tuple[SpecConstantInfo, ...] | None = None
    _compiled: dict[TargetEnv, DeviceImage] = field(default_factory=dict[TargetEnv, "DeviceImage"])

    def text(self) -> str:
        """Returns the IR, or the source text of a kernel that has none."""
        if self.analysed is not None:
            module = self.analysed.module
            return with_deep_stack(lambda: str(module)) + "\n"
        return "".join(f"// {line}\n" for line in str(self.error).splitlines())

    @property
    def digest(self) -> bytes:
        """SHA-256 of the names, the environment and the IR."""
        if self._digest is None:
            self._digest = self._hash()
        return self._digest

    def _hash(self) -> bytes:
        parts = [*(f"{name}={id_.qualified_name}" for name, id_ in self.kernel_ids.items()), repr(self.env)]
        return sha256("\0".join([*parts, self.text()]).encode("utf-8", "surrogatepass")).digest()

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """The specialization constants with the SpecIds that they will have."""
        if self.analysed is None or not self.spec_symbols:
            return ()
        from ..passes.pipeline import lower_image

        with compile_lock:
            if self._constants is None:
                self._constants = lower_image(self.analysed, self.env).spec_constants
            return self._constants

    def compiled_images(self) -> list[DeviceImage]:
        """Returns what it was compiled to so far."""
        return list(self._compiled.values())

    def with_values(self, values: Mapping[SpecConstant, bytes], devices: tuple[Device, ...]) -> UnitImage:
        """Returns itself: values of its constants are told to drivers, or are hidden arguments."""
        return self

    def translate(self, env: TargetEnv, devices: Sequence[Device], log: Sequence[object] = ()) -> DeviceImage:
        """Compiles the image, once for each environment; see `InputImage.translate`."""
        env = replace(
            self.env,
            vulkan_version=env.vulkan_version,
            max_push_constant_bytes=env.max_push_constant_bytes,
            signed_zero_inf_nan_preserve_bits=env.signed_zero_inf_nan_preserve_bits,
            debug_info=env.debug_info or self.env.debug_info,
            emulates_spec_constants=env.emulates_spec_constants or self.env.emulates_spec_constants,
            freezes_spec_constants=env.freezes_spec_constants,
            binding_model=env.binding_model,
        )
        with compile_lock:
            warn_once(findings_of(self.diagnostics, self.captures, self.unit))
            image = self._compiled.get(env)
            if image is None:
                image = self._compiled[env] = self._lower(env, devices, log)
            self._offer(image, env, devices)
        for stream in log:
            _write(stream, f"compiled {_names(image)}: {len(image.spirv)} bytes of SPIR-V\n")
        return image

    def _lower(self, env: TargetEnv, devices: Sequence[Device], log: Sequence[object]) -> DeviceImage:
        if self.analysed is None:
            assert self.error is not None, "an image has IR or an error"
            for stream in log:
                _write(stream, f"{self.error.log if isinstance(self.error, BuildError) else self.error}\n")
            raise copy(self.error)  # its traceback would keep dropped kernels alive
        from ..passes.pipeline import lower_image
        from ..spirv.build_image import build_image
        from .reproducer import reporting_faults

        for stream in log:
            for diagnostic in self.diagnostics:
                _write(stream, f"{warning_text(diagnostic)}\n")
        analysed = self.analysed
        selector = devices[0].selector if len(devices) == 1 else ""
        self._dump(env, selector)
        with reporting_faults("-".join(self.kernel_ids), env, "", self.text):
            image = with_deep_stack(lambda: build_image(lower_image(analysed, env), env))
        image = replace(
            image, kernels=tuple(replace(k, default_local_size=self._local_size(k)) for k in image.kernels)
        )
        only = "".join(self.kernel_ids) if len(self.kernel_ids) == 1 else ""
        record("compile", kernel=only, image=image, device=selector)
        return image

    def _dump(self, env: TargetEnv, selector: str) -> None:
        """Writes the stages that the option `dump` asks for."""
        if config.dump:
            from .stage_dumps import dump_stages

            for reference in self.functions.values():
                kernel = reference()
                if kernel is not None:
                    dump_stages(kernel, None, env, selector)

    def _local_size(self, kernel: KernelInfo) -> tuple[int, ...] | None:
        """Returns the local size that the kernel's options ask for, where it has as many dimensions as the kernel."""
        local = self.local_sizes.get(kernel.name)
        return local if local is not None and len(local) == kernel.abi.rank else None

    def _offer(self, image: DeviceImage, env: TargetEnv, devices: Sequence[Device]) -> None:
        """Lets launches outside of bundles use the image, where they have not compiled the kernel themselves."""
        own = self.env
        if env != replace(
            env, debug_info=own.debug_info, emulates_spec_constants=own.emulates_spec_constants
        ):
            return
        if env.freezes_spec_constants or image.exports or env.binding_model is not own.binding_model:
            return
        for info in image.kernels:
            kernel = self.functions[info.name]()
            if kernel is None:
                continue
            constants = default_constants(kernel.signature).key
            ranks = range(1, info.abi.rank + 1) if info.has_any_rank else (info.abi.rank,)
            wanted = (environment_of(kernel, device.target_env) for device in devices)
            # Debug mode may have been switched since the image was analysed.
            suitable = [env for env in wanted if env.checks == own.checks]
            for key in ((rank, env, constants) for env in suitable for rank in ranks):
                known: Executable | None = kernel.compiled.get(key)
                if known is None or not known.captures.are_current():
                    kernel.compiled[key] = Executable(image, info, self.captures, is_linked=False)


def note_linked(image: DeviceImage) -> None:
    """Lets launches outside of bundles know that an image of a unit is executable as it is."""
    with compile_lock:
        for kernel in all_kernels():
            for key, known in list(kernel.compiled.items()):
                if isinstance(known, Executable) and known.image is image and not known.is_linked:
                    kernel.compiled[key] = replace(known, is_linked=True)


def _names(image: DeviceImage) -> str:
    return ", ".join((*(kernel.name for kernel in image.kernels), *image.exports))


def _write(stream: object, text: str) -> None:
    if isinstance(stream, TextStream):
        stream.write(text)
