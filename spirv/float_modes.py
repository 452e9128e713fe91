"""Asks a driver to keep NaN, infinities and -0.0 in modules that were compiled for no device in particular.

The kernel language promises them (`passes.convert_to_spirv.kernel_entry`), and a driver keeps them for certain only
under execution modes that are optional.  So modules of bundle files have none, and get those of the device when they
are loaded.  Standard library only.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.target_env import TargetEnv
from .binary import Instruction, parse, serialise
from .device_image import DeviceImage
from .module_editor import ModuleEditor
from .module_view import ModuleView
from .tables import Capability, ExecutionMode, Op

_CORE_SINCE = (1, 4)
"""The SPIR-V version that has the modes without an extension."""


def preserving(image: DeviceImage, device: TargetEnv) -> DeviceImage:
    """Returns an image whose kernels keep NaN, infinities and -0.0 of the float widths that a device has modes for.

    Args:
        image: valid, of our compiler.  One that asks for widths already, or has no kernels, stays as it is.
        device: its environment.
    """
    module = parse(image.spirv)
    view = ModuleView(module)
    found = {item.operands[0] for item in view.of_opcode(Op.TypeFloat) if len(item.operands) == 1}
    if image.imports:
        found |= {16, 32, 64}  # what imported functions compute with is not known here
    kept = tuple(sorted(found.intersection(device.signed_zero_inf_nan_preserve_bits)))
    is_asked = bool(image.target_env.signed_zero_inf_nan_preserve_bits)
    if is_asked or not kept or not image.kernels or module.version < _CORE_SINCE:
        return image
    entries = [item for item in module.instructions if item.opcode == Op.EntryPoint]
    modes = [
        Instruction(
            Op.ExecutionMode, None, None, (entry.operands[1], ExecutionMode.SignedZeroInfNanPreserve, width)
        )
        for entry in entries
        for width in kept
    ]
    editor = ModuleEditor(module)
    editor.require(Capability.SignedZeroInfNanPreserve)
    last = entries[-1]
    changed = editor.finished(lambda item: iter([item, *modes] if item is last else [item]))
    env = replace(image.target_env, signed_zero_inf_nan_preserve_bits=kept)
    return replace(image, spirv=serialise(changed), target_env=env)
