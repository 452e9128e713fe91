"""``lapilli opt``: runs passes over IR text or SPIR-V, or compiles it to SPIR-V.

    lapilli opt kernel.mlir -p 'propagate-aspects{exclude=6 warn=true},split-modules{mode=per_kernel}'
    lapilli opt kernel.mlir -t spirv -o kernel.spv
    lapilli opt kernel.spv -t mlir
    lapilli opt kernel.spvasm -p cse,dce -t spirv -o kernel.spv
    lapilli opt kernel.spv --set-spec-constants '0:5 1:2.5' --freeze-spec-constants -o kernel.spv

No pass runs that is not named, but the module is verified before, between and after them.  Mistakes in the
input are reported as ``file:line:column: error: …`` with status 1.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..ir.errors import BuildError, Error, InvalidError
from .output import fail, write_output

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from ..ir.dialects import spirv
    from ..ir.errors import Location
    from ..ir.parse import ParsedModule

_ASSEMBLY = re.compile(r"(\s|;.*$)*Op[A-Z]\w+\b", re.MULTILINE)
"""How SPIR-V's assembly begins, and no IR."""
_SPIRV_MAGIC = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptOptions:
    """What to do with the module."""

    passes: str = ""
    """Passes to run, in MLIR's textual form; none by default."""
    target: str = "mlir"
    """``mlir`` for text, ``spirv`` to compile what the passes left to a binary."""
    print_op_generic: bool = False
    print_ir_after_all: bool = False
    set_spec_constants: str | None = None
    """New default values of specialization constants, ``ID:VALUE ID:VALUE``; of SPIR-V only."""
    freeze_spec_constants: bool = False
    """Whether specialization constants become plain ones, after their defaults were set; of SPIR-V only."""


@click.command("opt")
@click.argument("file", default="-", metavar="[FILE | -]")
@click.option(
    "-p", "--passes", default="", help="Passes to run: NAME{option=value …},NAME,…; -p help lists them."
)
@click.option("-t", "--target", type=click.Choice(["mlir", "spirv"]), default="mlir", help="What to write.")
@click.option("--print-op-generic", is_flag=True, help="Write every operation in MLIR's generic form.")
@click.option("--print-ir-after-all", is_flag=True, help="Write the IR to stderr after each pass.")
@click.option(
    "--set-spec-constants",
    metavar="IDS",
    help="New defaults of a SPIR-V module's constants: 'ID:VALUE ID:VALUE'.",
)
@click.option("--freeze-spec-constants", is_flag=True, help="Make a SPIR-V module's constants plain ones.")
@click.option("-o", "--output", metavar="OUT", help="File to write; standard output by default.")
def command(
    file: str,
    passes: str,
    target: str,
    print_op_generic: bool,
    print_ir_after_all: bool,
    set_spec_constants: str | None,
    freeze_spec_constants: bool,
    output: str | None,
) -> None:
    """Runs passes over IR text or SPIR-V, or compiles to SPIR-V; sets or freezes constants of SPIR-V."""
    options = OptOptions(
        passes=passes,
        target=target,
        print_op_generic=print_op_generic,
        print_ir_after_all=print_ir_after_all,
        set_spec_constants=set_spec_constants,
        freeze_spec_constants=freeze_spec_constants,
    )
    try:
        if passes == "help":
            _list_passes()
            return
        name = "<stdin>" if file == "-" else file
        data = _read(file)
        if data.startswith(_SPIRV_MAGIC):
            result = transform_binary(data, name, options)
        elif Path(file).suffix == ".spv":
            raise InvalidError(
                f"{file} is no SPIR-V module: it does not begin with the magic number 0x07230203"
            )
        elif Path(file).suffix == ".py":
            raise InvalidError(f"{file} is Python; its IR: lapilli dump {file}:KERNEL | lapilli opt -")
        elif _ASSEMBLY.match(text := _decoded(data, file)):
            result = transform_binary(_assembled(text, name), name, options)
        else:
            result = transform(text, name, options)
        write_output(result, output)
    except Error as error:
        fail(error)


def _assembled(text: str, name: str) -> bytes:
    from ..spirv.assembly import assembled
    from ..spirv.errors import SpirvTextError

    try:
        return assembled(text)
    except SpirvTextError as error:
        raise BuildError(f"{name}:{error}", code=error.code) from error


def _list_passes() -> None:
    from ..passes.registry import pass_descriptions

    descriptions = pass_descriptions()
    width = max(map(len, descriptions))
    for name, text in descriptions.items():
        click.echo(f"{name:{width}}  {text}")


def transform(text: str, name: str, options: OptOptions) -> str | bytes:
    """Does what the command does: returns IR text, or for target ``spirv`` the bytes of a SPIR-V module.

    Args:
        text: the IR.
        name: file name for messages.
        options: what to do.

    Raises:
        BuildError: bad IR; located in the source that the IR says it came from, else in `name`.
        InvalidError: an unknown pass or option, or a target that the module cannot be turned into.
    """
    from ..ir.parse import parse_module
    from ..passes.registry import parse_passes

    passes = parse_passes(options.passes) if options.passes else ()
    has_constants = options.set_spec_constants is not None or options.freeze_spec_constants
    if has_constants and options.target != "spirv":
        raise InvalidError(
            f"{name}: --set-spec-constants and --freeze-spec-constants are for SPIR-V; add -t spirv"
        )
    context = _context()
    parsed = parse_module(text, name, context, for_device=options.target == "spirv")
    try:
        result = _run(parsed.module, context, passes, options)
        return _with_constants(result, options) if isinstance(result, bytes) else result
    except BuildError as error:
        raise _located(error, parsed) from error


def transform_binary(data: bytes, name: str, options: OptOptions) -> str | bytes:
    """Reads a SPIR-V module: returns IR text, or a binary with its specialization constants set and frozen.

    Without options that change constants, target ``mlir`` gives the `spirv` dialect.

    Raises:
        InvalidError: bytes that are no module.
        SpirvValidationError: a module that breaks a rule of SPIR-V; those of Vulkan do not count.
        KernelArgumentError: a SpecId that no constant has, or a value that is not of its type.
    """
    data = _with_constants(_validated(data, name), options)
    has_constants = options.set_spec_constants is not None or options.freeze_spec_constants
    if not options.passes and (options.target == "spirv" or has_constants):
        return data
    from xdsl.dialects.builtin import ModuleOp

    from ..passes.registry import parse_passes
    from ..spirv.deserialise import deserialise

    passes = parse_passes(options.passes) if options.passes else ()
    try:
        module = ModuleOp([deserialise(data)])
    except InvalidError as error:
        raise InvalidError(f"{name}: {error}", code=error.code) from error
    return _run(module, _context(), passes, options)


def _validated(data: bytes, name: str) -> bytes:
    """Returns a module that SPIRV-Tools finds valid, by the rules of its version alone: it may be for another API."""
    from ..spirv.binary import parse
    from ..spirv.errors import SpirvValidationError
    from ..spirv.tools import spirv_tools

    try:
        version = parse(data).version
        finding = spirv_tools().validate(data, f"spv{version[0]}.{version[1]}", scalar_block_layout=True)
    except InvalidError as error:
        raise InvalidError(f"{name}: {error}", code=error.code) from error
    if finding is not None:
        number = finding.instruction_ordinal
        place = "" if number is None else f"instruction {number}: "
        raise SpirvValidationError(f"{name}: not valid: {place}{finding.message}", instruction_ordinal=number)
    return data


def _with_constants(data: bytes, options: OptOptions) -> bytes:
    from ..spirv.specialise import freeze_spec_constants, parse_spec_values, set_spec_constant_defaults

    if options.set_spec_constants is not None:
        data = set_spec_constant_defaults(data, parse_spec_values(options.set_spec_constants))
    return freeze_spec_constants(data) if options.freeze_spec_constants else data


def _context() -> Context:
    """Returns a context that also knows the upstream dialects of no use in kernels, such as `test`."""
    from xdsl.dialects import get_all_dialects

    from ..ir.context import make_context

    context = make_context()
    known = set(context.registered_dialect_names)
    for name, factory in get_all_dialects().items():
        if name not in known:
            context.register_dialect(name, factory)
    return context


def _run(
    module: ModuleOp, context: Context, passes: Sequence[ModulePass], options: OptOptions
) -> str | bytes:
    from ..ir.print_gpu import mlir_text

    def after_pass(name: str, state: ModuleOp) -> None:
        if options.print_ir_after_all:
            click.echo(f"// -----// IR Dump After {name} //----- //", err=True)
            click.echo(mlir_text(state, is_generic=options.print_op_generic), err=True)

    _verify(module)
    for step in passes:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step.apply(context, module)
        for warning in caught:
            click.echo(str(warning.message), err=True)
        _verify(module)
        after_pass(step.name, module)
    if options.target == "spirv":
        return _to_spirv(module, after_pass)
    return mlir_text(module, is_generic=options.print_op_generic)


def _verify(module: ModuleOp) -> None:
    from ..ir.verify import verify_module
    from ..ir.verify_attributes import verify_attributes

    verify_module(module)
    verify_attributes(module, of_passes=True)


def _to_spirv(module: ModuleOp, after_pass: Callable[[str, ModuleOp], None]) -> bytes:
    """Compiles a module of one image; one that already holds a `spirv.module` is only written as binary."""
    from ..ir.dialects import spirv
    from ..ir.errors import warning_text
    from ..ir.target_env import TargetEnv
    from ..passes.lower_upstream import lower_upstream
    from ..passes.pipeline import compile_module
    from ..spirv.build_image import build_image

    ready = [op for op in module.body.ops if isinstance(op, spirv.ModuleOp)]
    if len(ready) == 1:
        return _written(ready[0])
    lower_upstream(module)
    env = TargetEnv()
    result = compile_module(module, env, of_passes=True, after_pass=after_pass)
    for diagnostic in result.diagnostics:
        click.echo(warning_text(diagnostic), err=True)
    if len(result.splits) > 1:
        raise InvalidError(
            f"the module makes {len(result.splits)} device images, expected one; "
            "run split-modules and compile the modules that it makes one by one"
        )
    if not result.splits or not result.splits[0].kernels:
        raise InvalidError(
            "the module has no kernel, which a SPIR-V module for Vulkan needs; mark one with the attribute gpu.kernel"
        )
    return build_image(result.splits[0], env).spirv


def _written(module: spirv.ModuleOp) -> bytes:
    from ..spirv.emit_written import WrittenModuleError, emit_written

    data = emit_written(module)
    try:
        return _validated(data, "the SPIR-V of this module")
    except BuildError as error:
        raise WrittenModuleError(error.message, module) from error


def _located(error: BuildError, parsed: ParsedModule) -> BuildError:
    """Gives an error without a location that of its operation, or of what is around it, in the text."""
    if error.location is not None:
        return error
    operation: Operation | None = getattr(error, "operation", None) or getattr(error, "op", None)
    place: Location | None = None
    while operation is not None and place is None:
        place = parsed.positions.get(operation)
        operation = operation.parent_op()
    place = place or parsed.positions.get(parsed.module)
    findings = [replace(finding, location=finding.location or place) for finding in error.diagnostics]
    return BuildError(error.message, code=error.code, location=place, diagnostics=findings)


def _read(file: str) -> bytes:
    if file == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by who started us
        raise InvalidError("cannot read standard input: it is closed; name a file")
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InvalidError(f"cannot read {file}: {error.strerror}") from error


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_text(data, file, error) from error


def _not_text(data: bytes, file: str, error: UnicodeDecodeError) -> BuildError:
    from ..ir.errors import Diagnostic, Location

    before = data[: error.start].decode()
    place = Location(
        "<stdin>" if file == "-" else file, before.count("\n") + 1, len(before) - before.rfind("\n")
    )
    message = f"this is not UTF-8 text: {error.reason}; a SPIR-V module begins with the word 0x07230203"
    return BuildError(message, diagnostics=(Diagnostic(message, place),))
