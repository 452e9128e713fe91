"""The seam between the compiler and the runtime: one SPIR-V module and all that a launch must know of it.

Standard library only, immutable and serialisable (see `to_bytes`), so that a process that finds an image
in a cache or a file never imports the compiler.  What comes from disk is untrusted: `from_bytes` checks
every field and raises `InvalidError`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.aspects import Aspect
from ..ir.kernel_info import KernelInfo, Requirements, SpecConstantInfo
from ..ir.target_env import TargetEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceImage:
    """The unit of compiling and linking: one SPIR-V module."""

    spirv: bytes
    """Little-endian words, validated."""
    kernels: tuple[KernelInfo, ...]
    spec_constants: tuple[SpecConstantInfo, ...]
    """Only those the image refers to, in SpecId order."""
    requirements: Requirements
    target_env: TargetEnv
    digest: bytes = field(default=b"")
    """SHA-256 over everything else; identifies the image in caches."""

    def kernel(self, name: str) -> KernelInfo:
        """Returns the kernel called `name`; KeyError where the image has none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise KeyError(name)

    def lacking(self, device_aspects: frozenset[Aspect]) -> tuple[int, ...]:
        """Returns the required aspects that `device_aspects` does not hold, ascending."""
        return tuple(a for a in self.requirements.aspects if a not in device_aspects)
