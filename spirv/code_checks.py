"""Whether the SPIR-V of an image that came from outside may be given to a driver.

Drivers take SPIR-V as valid and may crash on what is not.  So it passes SPIRV-Tools, where that is installed, our own
rules, the comparison with the metadata that a launch relies on, and a bound on the memory of its variables, which no
validator has.  Without SPIRV-Tools our own rules stand alone: they cover the structure of modules and what lapilli's
own output could break, and less of the rest.
"""

from __future__ import annotations

from typing import Final

from ..ir.lazy_logging import logger_of
from .binary import Module, parse
from .device_image import DeviceImage
from .errors import SpirvError, SpirvToolsMissingError
from .image_agreement import disagreements
from .module_view import ModuleView
from .reflect import reflect
from .tables import Op, StorageClass
from .tools import SCALAR_LAYOUT, spirv_tools
from .type_growth import oversized_type
from .type_info import constant_value
from .validation import validate

logger = logger_of(__name__)

MAX_VARIABLE_BYTES: Final = 1 << 26
"""Of one variable that is no buffer; drivers keep these on stacks and in registers."""
_INSIDE: Final = frozenset((StorageClass.Workgroup, StorageClass.Private, StorageClass.Function))


def code_problem(image: DeviceImage) -> str | None:
    """Returns the first thing that is wrong with the code of an image, None where nothing is."""
    is_object = image.is_object
    oversized = oversized_type(image.spirv)
    if oversized is not None:
        return oversized
    env = image.target_env.universal_name if is_object else image.target_env.spirv_tools_name
    try:
        is_scalar = SCALAR_LAYOUT in image.requirements.features
        finding = spirv_tools().validate(image.spirv, env, scalar_block_layout=is_scalar)
        if finding is not None:
            return f"SPIRV-Tools, {env}: {finding.message}"
    except SpirvToolsMissingError:
        logger.info("SPIRV-Tools is not installed: SPIR-V from files is checked by lapilli's own rules only")
    try:
        for finding in validate(image.spirv, environment="universal" if is_object else "vulkan"):
            return str(finding)
        module = parse(image.spirv)
        for problem in (
            *disagreements(reflect(module), image, image.target_env),
            *_large_variables(module, image),
        ):
            return problem
    except (SpirvError, RecursionError) as error:
        return str(error)
    return None


def _large_variables(module: Module, image: DeviceImage) -> list[str]:
    view = ModuleView(module)
    # Those of an image to be linked are described then, see `linked_arrays`.
    computes_lengths = image.is_object or any(kernel.local_arrays for kernel in image.kernels)
    sizes: dict[int, int] = {}
    found: list[str] = []
    for item in view.globals:  # types come before their users
        if item.result_id is None:
            continue
        operands = item.operands
        match item.opcode:
            case Op.TypeVector | Op.TypeMatrix:
                sizes[item.result_id] = sizes.get(operands[0], 8) * operands[1]
            case Op.TypeArray:
                length = constant_value(view, operands[1])
                if length is None and not computes_lengths:
                    found.append("an array whose length is computed, which no kernel of the header has")
                sizes[item.result_id] = sizes.get(operands[0], 8) * (length or 1)
            case Op.TypeStruct:
                sizes[item.result_id] = sum(sizes.get(member, 8) for member in operands)
            case Op.TypePointer if operands[0] in _INSIDE:
                size = sizes.get(operands[1], 8)
                if size > MAX_VARIABLE_BYTES:
                    found.append(f"a variable of {size} bytes; at most {MAX_VARIABLE_BYTES} are taken")
            case _:
                pass
    return found
