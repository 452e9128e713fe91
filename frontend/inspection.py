"""What a kernel looks like at each stage of the pipeline; the composition root of `KernelFunction.inspect`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError, RuntimeFailure
from ..ir.target_env import TargetEnv
from ..vk_runtime.device_list import device
from .compile import analyse_kernels, compile_kernels, compile_lock, environment_of

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from .kernel import KernelFunction


def default_environment() -> TargetEnv:
    """Returns the environment of the default device, or of a plain Vulkan 1.3 device where there is none."""
    try:
        return device().target_env
    except RuntimeFailure:
        return TargetEnv()


def inspect(
    kernel: KernelFunction, stage: str, *, rank: int | None = None, env: TargetEnv | None = None
) -> str | bytes:
    """Returns a kernel at one stage of the pipeline.

    Args:
        kernel: the kernel.
        stage: ``python``, ``ir``, ``split``, ``spirv-dialect``, ``spirv`` (disassembly), ``binary`` (bytes) or
            ``metadata`` (JSON).
        rank: dimensions of the launch range; None: as many as the kernel uses.
        env: the environment to compile for; None: the default device's.

    Raises:
        InvalidError: there is no such stage.
        BuildError: the kernel cannot be compiled.
    """
    if stage == "python":
        return kernel.source.text
    show = _STAGES.get(stage)
    if show is None:
        raise InvalidError(
            f"kernel '{kernel.name}': expected a stage of python, {', '.join(_STAGES)}; found {stage!r}"
        )
    with compile_lock:
        return show(kernel, rank, env or environment_of(kernel, default_environment()))


def _text(op: Operation, *, generic: bool = False) -> str:
    """Returns an operation as MLIR text."""
    from io import StringIO

    from xdsl.printer import Printer

    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(op)
    return out.getvalue() + "\n"


def _show_ir(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> str:
    from .builder import build_module

    module = build_module(
        [kernel],
        rank=rank,
        optional_aspects=env.optional_aspects,
        checks=env.checks,
        runs_all_branches=env.runs_all_branches,
    )
    return str(module) + "\n"  # an f-string gives xDSL's debugging form


def _show_split(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> str:
    return "".join(str(image.module) + "\n" for image in analyse_kernels([kernel], env, rank=rank).images)


def _show_spirv_dialect(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> str:
    from ..passes.pipeline import lower_image

    images = analyse_kernels([kernel], env, rank=rank).images
    return "".join(_text(lower_image(image, env).spirv, generic=True) for image in images)


def _show_disassembly(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> str:
    from ..spirv.tools import spirv_tools

    return spirv_tools().disassemble(_show_binary(kernel, rank, env))


def _show_binary(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> bytes:
    (image,) = compile_kernels([kernel], env, rank=rank)
    return image.spirv


def _show_metadata(kernel: KernelFunction, rank: int | None, env: TargetEnv) -> str:
    import json

    (image,) = compile_kernels([kernel], env, rank=rank)
    content = {
        "digest": image.digest.hex(),
        "kernels": [asdict(k) for k in image.kernels],
        "requirements": asdict(image.requirements),
        "spec_constants": [asdict(c) for c in image.spec_constants],
        "target_env": {**asdict(image.target_env), "spirv_version": image.target_env.spirv_version},
    }
    return json.dumps(content, indent=2, default=_plain) + "\n"


def _plain(value: object) -> object:
    """Returns what json can write of bytes and enumerants."""
    return value.hex() if isinstance(value, bytes) else getattr(value, "value", str(value))


_STAGES = {
    "ir": _show_ir,
    "split": _show_split,
    "spirv-dialect": _show_spirv_dialect,
    "spirv": _show_disassembly,
    "binary": _show_binary,
    "metadata": _show_metadata,
}
