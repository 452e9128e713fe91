"""The source language MLIR: modules of lapilli's dialects and of upstream's gpu dialect, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.errors import BuildError, Diagnostic, InvalidError, Location
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .compile import compile_lock, load_compiler
from .source_images import compiled_module, environment_for, no_spec_values, prepare

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..ir.dialects import spirv
    from ..ir.parse import ParsedModule

LABEL = "<MLIR>"


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a module; of one without any, those of the `spirv.module`s in it, as of `SPIRV`.

    Raises:
        BuildError: the text is no module, it breaks a rule, or it has no kernel; with line and column.
        InvalidError: values of specialization constants were given, which modules that are compiled already have alone.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    with compile_lock:
        load_compiler()
        from ..ir.parse import parse_module

        parsed = parse_module(request.code, LABEL, for_device=True)
        lowered = _only_lowered(parsed.module)
        if lowered:
            return _compiled_already(lowered, parsed, request)
        problem = no_spec_values(request.spec_values, "MLIR")
        if problem is not None:
            raise InvalidError(problem)
        try:
            prepare(parsed, environment_for(request))
            made = compiled_module(parsed.module, request)
        except BuildError as error:
            raise _located(error, parsed) from error
        except InvalidError as error:  # what the text asks for is wrong, not a call of the user's
            raise BuildError(
                f"{LABEL}: error: {error.message}", diagnostics=[Diagnostic(error.message)]
            ) from error
    if not request.is_object and not any(image.kernels for image in made.images):
        raise BuildError(
            f"{LABEL}: error: the module has no kernel; mark a func.func with the attribute gpu.kernel, or write a "
            "gpu.func with the keyword kernel"
        )
    return made


def _only_lowered(module: ModuleOp) -> list[spirv.ModuleOp]:
    """Returns the `spirv.module`s of a module that has no function besides."""
    from ..ir.call_graph import functions
    from ..ir.dialects import spirv

    if any(True for _ in functions(module)):
        return []
    return [op for op in module.body.ops if isinstance(op, spirv.ModuleOp)]


def _compiled_already(
    modules: list[spirv.ModuleOp], parsed: ParsedModule, request: SourceRequest
) -> CompiledSource:
    """Returns the kernels of modules that are SPIR-V but for their form."""
    from ..ir.dialects import spirv
    from ..ir.verify import verify_module
    from ..ir.walk import instances
    from ..spirv.emit_written import emit_written
    from .spirv_source import compiled_spirv

    try:
        verify_module(parsed.module)
        binaries = [emit_written(module) for module in modules]
    except BuildError as error:
        raise _located(error, parsed) from error
    entries = [op for module in modules for op in instances(module, spirv.EntryPointOp)]
    if not entries and not request.is_object:
        raise BuildError(
            f"{LABEL}: error: the module has no kernel: its spirv.module has no spirv.EntryPoint, which "
            "mlir-opt --spirv-lower-abi-attrs adds"
        )
    made = [compiled_spirv(binary, request, LABEL) for binary in binaries]
    return CompiledSource(
        images=tuple(image for one in made for image in one.images),
        warnings=tuple(warning for one in made for warning in one.warnings),
        left_out={name: reason for one in made for name, reason in one.left_out.items()},
    )


def _located(error: BuildError, parsed: ParsedModule) -> BuildError:
    """Returns an error with the place of its operation, or of what is around it, in the text."""
    place: Location | None = error.location
    operation = getattr(error, "operation", None) or getattr(error, "op", None)
    while operation is not None and place is None:
        place = parsed.positions.get(operation)
        operation = operation.parent_op()
    place = place or parsed.positions.get(parsed.module)
    findings = [replace(found, location=found.location or place) for found in error.diagnostics]
    findings = findings or [Diagnostic(error.message, place)]
    return BuildError("\n".join(map(str, findings)), code=error.code, location=place, diagnostics=findings)
