"""Fields of one array element that lie side by side are loaded as one vector.

kernel:   %x = "kernel.load_field"(%a, %i) <{path = 0, 0}>     binary:   %v = OpLoad %v4float (%a seen as array of
          %y = "kernel.load_field"(%a, %i) <{path = 0, 1}>                     v4float)[2 * %i]
          %r = "kernel.load_field"(%a, %i) <{path = 1}>                  %x, %y, %r = OpCompositeExtract %v 0, 1, 3
          (elements of 32 bytes: an f32x3 at 0, an f32 at 12, …)

The buffer is seen as an array of vectors, whatever its struct is made of, where elements are whole vectors long and the
fields lie in one.  Three words of four are worth it, and two of two.

Invariant: loads are brought forward only past what does not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.kernel_fields import LoadFieldOp, field_operands
from ...ir.dialects.spirv.types import element_type_at
from ...ir.walk import block_operations
from ..optimise.effects import writes_memory
from .array_parameter import ArrayParameter
from .function_lowering import FunctionLowering, arrays_of
from .types import part_offset_bytes, scalar_bytes

_WORD_BYTES = 4
_WINDOWS = ((4, 3), (2, 2))
"""Words of a vector, and how many of them must be needed: the wide one first."""

_Loads = list[tuple[Operation, int]]
"""Loads, each with the word of the element that it reads."""


@dataclass(frozen=True, slots=True)
class Window:
    """One vector that takes the place of several loads."""

    start: int
    """Its first word in the element."""
    width: int
    loads: _Loads
    """In their order: where the first one stands, the vector is loaded."""


def window_at(fn: FunctionLowering, op: Operation) -> Window | None:
    """Returns the vector that is loaded where a load of a field stands; None where that stays as it is."""
    block = op.parent
    assert block is not None
    known = fn.windows.get(block)
    if known is None:
        windows = (window for loads, stride in _runs(fn, block) for window in _windows(loads, stride))
        known = fn.windows[block] = {window.loads[0][0]: window for window in windows}
    return known.get(op)


def _runs(fn: FunctionLowering, block: Block) -> Iterator[tuple[_Loads, int]]:
    """Yields the loads of a block that read the same element with nothing written between them, and its length in
    words."""
    pending: dict[tuple[SSAValue, ...], tuple[_Loads, int]] = {}
    for op in block_operations(block):
        if type(op) is LoadFieldOp:
            found = _words(fn, op)
            if found is not None:
                word, stride = found
                pending.setdefault(tuple(op.operands), ([], stride))[0].append((op, word))
        elif writes_memory(op):
            yield from pending.values()
            pending = {}
    yield from pending.values()


def _words(fn: FunctionLowering, op: LoadFieldOp) -> tuple[int, int] | None:
    """Returns which word of the element a load reads, and the element's length in words; None where the first is not
    known, either is none, or the array has no vectors."""
    # None for an array that the kernel makes itself.
    array = arrays_of(fn, op).known_array(op.operands[0])
    if not isinstance(array, ArrayParameter) or not array.has_vector_views:
        return None
    stride = array.stride_bytes
    if stride % (2 * _WORD_BYTES) or scalar_bytes(fn.type(op.results[0].type)) != _WORD_BYTES:
        return None
    held, offset = array.element_type, 0
    for step in field_operands(op, 1)[1]:
        part = element_type_at(held, step) if isinstance(step, int) else None
        if part is None or not isinstance(step, int):
            return None
        offset += part_offset_bytes(held, step)
        held = part
    return None if offset % _WORD_BYTES else (offset // _WORD_BYTES, stride // _WORD_BYTES)


def _windows(loads: _Loads, stride: int) -> Iterable[Window]:
    """Yields the vectors that loads of one element are worth."""
    for width, least in _WINDOWS:
        if stride % width:
            continue
        parts: dict[int, _Loads] = {}
        for load, word in loads:
            parts.setdefault(word - word % width, []).append((load, word))
        joined = {start: part for start, part in parts.items() if len({word for _, word in part}) >= least}
        yield from (Window(start, width, part) for start, part in joined.items())
        loads = [(load, word) for load, word in loads if word - word % width not in joined]
