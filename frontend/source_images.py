"""From kernel-level IR to the device images of a source build; shared by MLIR and PYTHON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.errors import warning_text
from ..ir.kernel_info import KernelInfo
from ..ir.target_env import TargetEnv
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .checking import checks_of
from .compile_options import CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def environment_for(request: SourceRequest) -> TargetEnv:
    """Returns the environment that the options ask for; what kernels check is a matter of the program's debug mode."""
    options = request.options
    return replace(
        request.env,
        optimisation_level=options.opt_level,
        debug_info=options.debug,
        checks=checks_of(CompileOptions()),
    )


def compiled_module(
    module: ModuleOp,
    request: SourceRequest,
    finish: Callable[[KernelInfo], KernelInfo] = lambda kernel: kernel,
) -> CompiledSource:
    """Returns the images of a module, divided as the options say.

    Args:
        module: kernel-level IR; changed.
        request: options and environment.
        finish: gets each kernel's description and returns what the image is to say.

    Raises:
        BuildError: the module is wrong, or a pass cannot transform it.
    """
    from ..passes.pipeline import analyse, lower_image
    from ..spirv.build_image import build_image

    env = environment_for(request)
    analysis = analyse(module, env, mode=request.options.device_code_split)
    images = [build_image(lower_image(image, env), env) for image in analysis.images]
    finished = (replace(image, kernels=tuple(map(finish, image.kernels))) for image in images)
    warnings = tuple(warning_text(item).removeprefix("warning: ") for item in analysis.diagnostics)
    return CompiledSource(images=tuple(finished), warnings=warnings)


def without_vectors(module: ModuleOp) -> None:
    """Lowers the operations of the `vector` dialect that programs for MLIR may have."""
    if any(op.name.startswith("vector.") for op in module.walk()):
        from ..passes.lower_vectors import lower_vectors

        lower_vectors(module)


def no_spec_values(values: Mapping[int | str, object], language: str) -> str | None:
    """Returns why values by SpecId cannot be given to a language, None where there are none."""
    if not values:
        return None
    return f"lp.SpecValues is for the languages of SPIR-V and GLSL; {language} has no SpecIds before it is compiled"
