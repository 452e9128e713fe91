"""Other names for the kernels of a device image, so that images of several units fit into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .binary import Instruction, decode_string, encode_string, parse, serialise
from .device_image import DeviceImage
from .tables import Op


def with_kernel_names(image: DeviceImage, names: Mapping[str, str]) -> DeviceImage:
    """Returns an image whose kernels, and entry points, have new names.

    Args:
        image: of kernels whose entry points are called as they are.
        names: the new names by the old ones; kernels that are not among them keep theirs.
    """

    def renamed(item: Instruction) -> Instruction:
        if item.opcode != Op.EntryPoint:
            return item
        name, end = decode_string(item.operands, 2)  # behind the execution model and the function
        words = encode_string(names.get(name, name))
        return item._replace(operands=(*item.operands[:2], *words, *item.operands[end:]))

    module = parse(image.spirv)
    module = replace(module, instructions=tuple(map(renamed, module.instructions)))
    kernels = tuple(
        replace(kernel, name=names[kernel.name], entry_point=names[kernel.name])
        if kernel.name in names
        else kernel
        for kernel in image.kernels
    )
    return replace(image, spirv=serialise(module), kernels=kernels)
