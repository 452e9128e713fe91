"""From kernel-level IR to the device images of a source build; shared by MLIR and PYTHON."""

from __future__ import annotations

from collections.abc import Callable, Collection
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

    from ..ir.parse import ParsedModule


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


def prepare(parsed: ParsedModule, env: TargetEnv) -> None:
    """Makes what programs for MLIR may have ready for the passes, and adds the checks of debug mode."""
    _locate(parsed)
    _lower_upstream(parsed.module, env)
    if any(op.name.startswith("math.") for op in parsed.module.walk()):
        from .upstream_math import use_math_library  # seldom needed

        use_math_library(parsed.module, env)
    from ..passes.upstream.local_sizes import mark_any_local_size

    mark_any_local_size(parsed.module)
    if env.checks == "debug":
        from ..passes.traps.accesses import trap_accesses

        trap_accesses(parsed.module)


def _locate(parsed: ParsedModule) -> None:
    """Gives the operations their places in the text, for the messages of kernels that check what they do."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc

    for op, place in parsed.positions.items():
        if isinstance(op.location, UnknownLoc):
            op.location = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))


def _lower_upstream(module: ModuleOp, env: TargetEnv) -> None:
    from ..ir.verify import verify_module
    from ..passes.lower_upstream import lower_upstream

    verify_module(module)  # what is lowered is as its operations say
    lower_upstream(module, with_asserts=env.checks != "none")


def no_spec_values(values: Collection[int | str], language: str) -> str | None:
    """Returns why values by SpecId cannot be given to a language, None where there are none."""
    if not values:
        return None
    return (
        f"lp.SpecValues: {language} has no SpecIds before it is compiled; SPIRV, SPIRV_ASM and GLSL take values by "
        "SpecId or by name, PYTHON by name"
    )
