"""What clspv, the OpenCL C compiler for Vulkan, says about its kernels' arguments (NonSemantic.ClspvReflection).

OpenCL counts arguments; Vulkan has bindings and push constants.  These instructions say which is which.  Standard
library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..ir.errors import FeatureNotSupportedError
from .binary import Instruction, decode_string
from .errors import SpirvError
from .module_view import ModuleView
from .tables import Op
from .type_info import constant_value

Place = tuple[Literal["binding", "value", "local"], int, int]
"""Where an argument is bound: set and binding of a buffer, image or sampler, offset and size of a value, or the SpecId
of a length."""


@dataclass(frozen=True, slots=True)
class ClspvArgument:
    """One argument of a kernel."""

    ordinal: int
    """From 0, as in the kernel's source."""
    place: Place
    name: str
    """As in the source, or empty."""
    block: tuple[int, int] | None = None
    """Of a value: set and binding of the storage or uniform buffer that holds it; None: the push constants."""


@dataclass(slots=True)
class _Kernel:
    arguments: list[ClspvArgument] = field(default_factory=list[ClspvArgument])


# Opcodes of the instruction set, revision 5 (SPIR-V registry, NonSemantic.ClspvReflection).
_KERNEL, _ARGUMENT_INFO = 1, 2
_BINDINGS = (3, 4, 8, 9, 10)
"""Storage and uniform buffers, sampled and storage images, samplers."""
_POD_BUFFERS = (5, 6)
"""Plain arguments in a storage buffer, or in a uniform one (-pod-ubo)."""
_POD_PUSH_CONSTANT, _WORKGROUP = 7, 11
_ARGUMENTS = frozenset({*_BINDINGS, *_POD_BUFFERS, _POD_PUSH_CONSTANT, _WORKGROUP})
_HARMLESS = frozenset({_KERNEL, _ARGUMENT_INFO, *_ARGUMENTS} | {12, 13, 14, 15, 18, 20, 24, 25, 42})
"""Beside arguments: work-group sizes, sizes of shared variables and specialization constants, which the binary says
too, and offsets of the range, which are 0."""
_NAMES = {
    16: "the enqueued local size as a push constant",
    17: "the global size as a push constant",
    19: "the number of work-groups as a push constant",
    21: "constant data in a buffer; compile without -module-constants-in-storage-buffer",
    22: "constant data in a buffer; compile without -module-constants-in-storage-buffer",
    23: "a sampler that is a literal; make it an argument of the kernel",
    26: "pointers in push constants", 27: "pointers in uniform buffers",
    28: "program-scope variables", 29: "program-scope variables", 37: "program-scope variables",
    30: "the channel order of an image", 31: "the channel type of an image",
    32: "the channel order of an image", 33: "the channel type of an image",
    34: "texel buffers, of image1d_buffer_t", 35: "texel buffers, of image1d_buffer_t",
    36: "constant data by its address",
    38: "printf", 39: "printf", 40: "printf",
    41: "samplers with coordinates in pixels for 3-D images",
}  # fmt: skip


def kernel_arguments(view: ModuleView) -> Mapping[int, tuple[ClspvArgument, ...]]:
    """Returns the arguments of each kernel by the id of its function, by ordinal; empty without reflection.

    Raises:
        FeatureNotSupportedError: an argument of a kind that lapilli does not pass.
        SpirvError: the instructions are malformed.
    """
    kernels: dict[int, _Kernel] = {}
    functions: dict[int, int] = {}
    infos: dict[int, str] = {}
    for item in _instructions(view):
        _, code, *operands = item.operands
        if code not in _HARMLESS:
            what = _NAMES.get(code, f"instruction {code} of NonSemantic.ClspvReflection")
            raise FeatureNotSupportedError(
                f"the module comes from clspv and takes what lapilli does not pass: {what}"
            )
        if code == _KERNEL:
            functions[item.result_id or 0] = operands[0]
            kernels[operands[0]] = _Kernel()
        elif code == _ARGUMENT_INFO:
            infos[item.result_id or 0] = _string(view, operands[0])
        elif code in _ARGUMENTS:
            found = _argument(view, code, operands, infos)
            kernel = kernels.get(functions.get(operands[0], 0))
            if kernel is None:
                raise SpirvError("an argument of NonSemantic.ClspvReflection belongs to no kernel")
            kernel.arguments.append(found)
    return {
        number: tuple(sorted(kernel.arguments, key=lambda argument: argument.ordinal))
        for number, kernel in kernels.items()
    }


def _instructions(view: ModuleView) -> Iterator[Instruction]:
    sets = {
        item.result_id
        for item in view.of_opcode(Op.ExtInstImport)
        if decode_string(item.operands)[0].startswith("NonSemantic.ClspvReflection")
    }
    # They follow the functions.
    for item in view.module.instructions:
        if item.opcode == Op.ExtInst and item.operands[:1] and item.operands[0] in sets:
            if len(item.operands) < 3:
                raise SpirvError("an instruction of NonSemantic.ClspvReflection has no operands")
            yield item


def _argument(view: ModuleView, code: int, operands: list[int], infos: Mapping[int, str]) -> ClspvArgument:
    if len(operands) < 4:
        raise SpirvError("an argument of NonSemantic.ClspvReflection lacks operands")
    if code in _POD_BUFFERS:
        if len(operands) < 6:
            raise SpirvError("an argument of NonSemantic.ClspvReflection lacks operands")
        ordinal, set_, binding, offset, size = (_number(view, operand) for operand in operands[1:6])
        name = infos.get(operands[6], "") if len(operands) > 6 else ""
        return ClspvArgument(ordinal, ("value", offset, size), name, (set_, binding))
    ordinal, first, second = (_number(view, operand) for operand in operands[1:4])
    name = infos.get(operands[4], "") if len(operands) > 4 else ""
    if code in _BINDINGS:
        return ClspvArgument(ordinal, ("binding", first, second), name)
    if code == _POD_PUSH_CONSTANT:
        return ClspvArgument(ordinal, ("value", first, second), name)
    return ClspvArgument(ordinal, ("local", first, 0), name)


def _number(view: ModuleView, operand: int) -> int:
    value = constant_value(view, operand)
    if value is None:
        raise SpirvError(f"operand {operand} of NonSemantic.ClspvReflection is no integer constant")
    return value


def _string(view: ModuleView, operand: int) -> str:
    item = view.definitions.get(operand)
    return decode_string(item.operands)[0] if item is not None and item.opcode == Op.String else ""
