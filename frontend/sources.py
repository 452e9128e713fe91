"""Kernels from source at run time: the composition root of ``lp.create_kernel_bundle_from_source``.

Registers lapilli's own languages; what compiles them is imported when something is compiled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from ..ir.errors import user_facing
from ..vk_runtime.context import Context
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_bundle import KernelBundle
from ..vk_runtime.source_bundles import create_bundle
from ..vk_runtime.source_language import (
    CompiledSource,
    SourceLanguage,
    SourceRequest,
    front_end_of,
    register_language,
)

if TYPE_CHECKING:
    import enum

__all__ = ["SYCL_EXT_ONEAPI_KERNEL_COMPILER", "SourceLanguage", "create_kernel_bundle_from_source"]

SYCL_EXT_ONEAPI_KERNEL_COMPILER: Final = 1
"""The feature-test value of sycl_ext_oneapi_kernel_compiler."""


@user_facing
def create_kernel_bundle_from_source(
    ctx: Context, language: enum.Enum, source: str | bytes, *, props: Iterable[object] = ()
) -> KernelBundle:
    """Returns a bundle in state SOURCE, for all devices of the context; nothing is compiled.

    Args:
        ctx: the context.
        language: an `lp.SourceLanguage`, or another enum member that was registered.
        source: bytes for SPIRV, text for the others.
        props: none are taken.

    Raises:
        InvalidError: no device of the context can compile the language, or a property that is not taken.
        TypeError: text for a binary language or the reverse, or another argument of the wrong kind.
    """
    return create_bundle(ctx, language, source, props)


@dataclass(frozen=True, slots=True)
class _FrontEnd:
    """One of lapilli's languages."""

    module: str
    """Has ``compile_source(request)``."""
    is_binary: bool = False
    option_prefixes: tuple[str, ...] = ()
    is_installed: Callable[[], bool] = lambda: True

    def can_compile(self, device: Device) -> bool:
        """Returns whether the language's compiler is installed; it suits every device."""
        return self.is_installed()

    def compile(self, request: SourceRequest) -> CompiledSource:
        """Compiles source; see `LanguageFrontEnd.compile`."""
        module = importlib.import_module(f".{self.module}", __package__)
        return cast("CompiledSource", module.compile_source(request))


def _has_spirv_tools() -> bool:
    from ..spirv.errors import SpirvToolsMissingError
    from ..spirv.tools import spirv_tools

    try:
        spirv_tools()
    except SpirvToolsMissingError:
        return False
    return True


def _has_glslang() -> bool:
    from .glsl_source import compiler_path

    return compiler_path() is not None and _has_spirv_tools()


_OWN = {
    SourceLanguage.SPIRV: _FrontEnd("spirv_source", is_binary=True, is_installed=_has_spirv_tools),
    SourceLanguage.SPIRV_ASM: _FrontEnd(
        "spirv_text_source", option_prefixes=("--target-env=",), is_installed=_has_spirv_tools
    ),
    SourceLanguage.MLIR: _FrontEnd("mlir_source", is_installed=_has_spirv_tools),
    SourceLanguage.PYTHON: _FrontEnd("python_source", is_installed=_has_spirv_tools),
    SourceLanguage.GLSL: _FrontEnd("glsl_source", option_prefixes=("-D", "-I"), is_installed=_has_glslang),
}

for _language, _front_end in _OWN.items():
    if front_end_of(_language) is None:
        register_language(_language, _front_end)
