"""What the passes hand to emission: one `spirv.module` per device image, with its metadata."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.ir import Operation

from .kernel_info import KernelInfo, Requirements, SpecConstantInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitModule:
    """One device image before emission."""

    kernel_ir: BuiltinModuleOp
    """The image's kernel-level IR after splitting (what ``--stage split`` shows)."""
    spirv: Operation
    """Its `spirv.module`."""
    kernels: tuple[KernelInfo, ...]
    """In the order of the entry points."""
    spec_constants: tuple[SpecConstantInfo, ...]
    """In SpecId order."""
    requirements: Requirements
