"""The values that a loop begins with, kept from the driver where it would compute wrongly or carry too much for knowing
them.

A driver that writes a loop out knows in the first round what its variables begin with: zeros are hidden for what
`known_zeros` says.  Numbers that the loop tests are hidden for speed, measured on lavapipe 22.3: mandelbrot takes 33 ms
where its floats begin with numbers that the driver cannot know, and 45 where it can; a hidden integer costs instead.
The likely cause, by reading and not by taking Mesa apart: NIR's opt_split_alu_of_phi carries the result of each
instruction of the test from round to round where variables begin with constants, and llvmpipe pays a selection under
its mask for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .function_lowering import FunctionLowering
from .known_zeros import hidden, hides
from .types import is_float, scalar_of


def starts_of(fn: FunctionLowering, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns the lowered values that a loop begins with."""
    starts = [fn.value(value) for value in values]
    if not hides(fn):
        return starts
    return [
        hidden(fn, start) if is_float(scalar_of(start.type)) and fn.is_constant(start) else start
        for start in starts
    ]
