"""From the IR of one device image to a validated `DeviceImage`.

Emits the binary, which SPIRV-Tools then validates.  Our own rules, which say more of what is wrong but find no more,
run where SPIRV-Tools has found something, and always under `config.verify`, as in our tests; so does the comparison of
what the binary says (reflection) with what the passes recorded for the launch.  Any finding here is a fault of lapilli,
not of the user's program; it still names the Python line that the instruction came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.config import config
from ..ir.dialects.spirv import FuncOp
from ..ir.dialects.spirv.enums import LinkageType
from ..ir.errors import Diagnostic, Location
from ..ir.lazy_logging import logger_of
from ..ir.split_module import SplitModule
from ..ir.target_env import TargetEnv
from .device_image import DeviceImage
from .emit import Emitted, emit
from .errors import SpirvValidationError
from .tools import spirv_tools

logger = logger_of(__name__)


def build_image(split: SplitModule, env: TargetEnv) -> DeviceImage:
    """Emits, validates and describes one device image.

    Raises:
        SpirvValidationError: the binary is invalid or disagrees with its metadata; an internal error, with
            the source location of the instruction.
        EmissionError: the IR has no SPIR-V form.
        SpirvToolsMissingError: SPIRV-Tools is not installed.
    """
    imports, exports = _linkage(split)
    is_object = bool(imports or exports)
    # `count_rounds`, which sees only what was linked, says where loops are.
    has_lines = is_object and env.loop_iteration_cap is not None
    emitted = emit(split.spirv, replace(env, debug_info=True) if has_lines else env)
    check_binary(emitted, env, is_object=is_object)
    if config.verify:
        _check_agreement(emitted, split, env)
    logger.debug("image of %d kernels: %d bytes", len(split.kernels), len(emitted.binary))
    return DeviceImage(
        spirv=emitted.binary,
        kernels=split.kernels,
        spec_constants=split.spec_constants,
        requirements=split.requirements,
        target_env=env,
        imports=imports,
        exports=exports,
    )


def _linkage(split: SplitModule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the symbols that a module imports and exports, sorted."""
    imports: set[str] = set()
    exports: set[str] = set()
    for function in split.spirv.regions[0].ops:
        linkage = function.linkage_attributes if type(function) is FuncOp else None
        if linkage is not None:
            (imports if linkage.linkage_type is LinkageType.Import else exports).add(linkage.linkage_name)
    return tuple(sorted(imports)), tuple(sorted(exports))


def _check_agreement(emitted: Emitted, split: SplitModule, env: TargetEnv) -> None:
    """Raises SpirvValidationError where a launch would take the binary for something else than it is."""
    from .image_agreement import disagreements
    from .reflect import reflect  # only under LAPILLI_VERIFY, and both load several modules

    faults = disagreements(reflect(emitted.binary), split, env)
    if faults:
        names = ", ".join(kernel.name for kernel in split.kernels)
        raise _internal_error(f"the image of {names}", [Diagnostic(fault) for fault in faults])


def check_binary(emitted: Emitted, env: TargetEnv, *, is_object: bool = False) -> None:
    """Validates an emitted binary; SpirvValidationError lists the findings with their source locations.

    Args:
        emitted: the binary.
        env: what it was emitted for.
        is_object: whether it is to be linked: Vulkan's rules, which forbid linkage, are left for the result.
    """
    target_env = env.universal_name if is_object else env.spirv_tools_name
    finding = spirv_tools().validate(emitted.binary, target_env)
    findings: list[Diagnostic] = []
    if finding is not None or config.verify:
        from .validation import validate  # the package is large, and seldom needed

        found = validate(emitted.binary, environment="universal" if is_object else "vulkan")
        findings += [Diagnostic(str(item), location_at(emitted, item.ordinal)) for item in found]
    ordinal: int | None = None
    if finding is not None:
        ordinal = finding.instruction_ordinal
        message = f"SPIRV-Tools, {target_env}: {finding.message}"
        findings.append(Diagnostic(message, location_at(emitted, ordinal)))
    if findings:
        raise _internal_error("the emitted SPIR-V", findings, ordinal)


def location_at(emitted: Emitted, ordinal: int | None) -> Location | None:
    """Returns the source location of an instruction, or of the nearest one before it that has one."""
    if ordinal is None:
        return None
    last = min(ordinal, len(emitted.marks) - 1)
    before = (emitted.location(number) for number in range(last, -1, -1))
    return next((location for location in before if location is not None), None)


def _internal_error(
    what: str, findings: Sequence[Diagnostic], ordinal: int | None = None
) -> SpirvValidationError:
    lines = "\n".join(f"  {finding}" for finding in findings)
    message = f"internal error: {what} is invalid; please report this with the kernel's source:\n{lines}"
    return SpirvValidationError(message, instruction_ordinal=ordinal, diagnostics=findings)
