"""The source language SPIRV: a module as bytes."""

from __future__ import annotations

from ..spirv.foreign import foreign_kernels
from ..vk_runtime.source_language import CompiledSource, SourceRequest


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a SPIR-V module; see `spirv.foreign.foreign_kernels`."""
    assert isinstance(request.code, bytes), "create_bundle checked it"
    return compiled_spirv(request.code, request, "<SPIR-V>")


def compiled_spirv(binary: bytes, request: SourceRequest, label: str) -> CompiledSource:
    """Returns the kernels of a module that some compiler made of source.

    Args:
        binary: the module.
        request: has the values of specialization constants.
        label: what messages call the module.
    """
    found = foreign_kernels(binary, spec_values=request.spec_values, label=label, is_object=request.is_object)
    return CompiledSource(images=found.images, warnings=found.warnings, left_out=found.left_out)
