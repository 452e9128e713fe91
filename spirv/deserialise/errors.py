"""What has no form in the dialect."""

from __future__ import annotations

from typing import NoReturn

from ..binary import Instruction
from ..errors import SpirvError


class DeserialisationError(SpirvError):
    """A module, maybe a valid one, with something that the dialect cannot say; names the instruction."""

    code = "LP1103"

    def __init__(self, message: str, instruction: Instruction | None = None) -> None:
        """Makes the error; the message names `instruction` and its place in the module."""
        place = "" if instruction is None else f"instruction {instruction.ordinal}, {instruction.name}: "
        super().__init__(f"cannot read this SPIR-V as the spirv dialect: {place}{message}")
        self.instruction = instruction
        """The instruction at fault, where one is."""


def unreadable(message: str, instruction: Instruction | None = None) -> NoReturn:
    """Raises DeserialisationError."""
    raise DeserialisationError(message, instruction)
