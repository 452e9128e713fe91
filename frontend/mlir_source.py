"""The source language MLIR: modules of lapilli's dialects and of upstream's gpu dialect, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.errors import BuildError, Diagnostic, InvalidError, Location
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .compile import compile_lock, load_compiler
from .source_images import compiled_module, environment_for, no_spec_values, prepare

if TYPE_CHECKING:
    from ..ir.parse import ParsedModule

LABEL = "<MLIR>"


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a module.

    Raises:
        BuildError: the text is no module, it breaks a rule, or it has no kernel; with line and column.
        InvalidError: values of specialization constants were given.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    problem = no_spec_values(request.spec_values, "MLIR")
    if problem is not None:
        raise InvalidError(problem)
    with compile_lock:
        load_compiler()
        from ..ir.parse import parse_module

        parsed = parse_module(request.code, LABEL, for_device=True)
        is_lowered = any(op.name == "spirv.module" for op in parsed.module.body.ops)
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
        if is_lowered:
            raise BuildError(
                f"{LABEL}: error: the module has no kernel, but a spirv.module, which is compiled already: write it "
                "with lapilli opt -t spirv (lp.SourceLanguage.SPIRV), or give the gpu.module that it was made of"
            )
        raise BuildError(
            f"{LABEL}: error: the module has no kernel; mark a func.func with the attribute gpu.kernel, or write a "
            "gpu.func with the keyword kernel"
        )
    return made


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
