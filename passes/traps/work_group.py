"""What `traps` sets up where a kernel begins: bits for the shared arrays, and words to compare values through."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, gpu, memref
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.call_graph import Function
from ...ir.dialects.kernel import launch_rank
from ...ir.dialects.kernel_reports import WithoutNotesOp
from .array_shape import ArrayShape
from .emitter import Emitter

_GUARANTEED_BYTES = 16384
"""Shared memory that every Vulkan device has (maxComputeSharedMemorySize); devices with more have a multiple of it."""
_OWN_BYTES = 16
"""Of it, what the words of `WorkGroup.first_item_says` may take."""
_DIMENSIONS = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)


@dataclass(frozen=True, slots=True)
class Bits:
    """One bit for each scalar of an array."""

    words: SSAValue
    """Array of integers of 32 bits."""
    last_word: SSAValue | None = None
    """Where indices end: there is one word only where the launch had no room for more; None: any index will do."""
    is_enabled: SSAValue | None = None
    """Whether the launch had room; None: always."""


def _fills_a_device(shared: list[ArrayShape | None]) -> bool:
    used = sum(shape.array_bytes or 0 for shape in shared if shape is not None)
    left = -used % _GUARANTEED_BYTES
    return used > _GUARANTEED_BYTES and left < 4 * len(shared) + _OWN_BYTES


class WorkGroup:
    """The beginning of one kernel: all that is emitted stands before its first operation."""

    def __init__(self, kernel: Function, shared: list[ArrayShape | None]) -> None:
        """Remembers a kernel and its shared arrays; None: one of unknown size."""
        first = kernel.body.blocks[0].first_op
        assert first is not None
        self._kernel = kernel
        self._emitter = Emitter(first)
        sizes = [None if shape is None else shape.total_bytes for shape in shared]
        known = [size for size in sizes if size is not None]
        # A kernel that fits on every device needs no way to do without the bits.
        self._always_fits = len(known) == len(sizes) and sum(known) + _OWN_BYTES <= _GUARANTEED_BYTES
        self.is_full = len(known) == len(sizes) and _fills_a_device(shared)
        """Whether the arrays leave no room beside them on some devices, not even for what remains without bits."""
        self._notes: SSAValue | None = None
        """1, or 0 where the launch has no room for bits."""
        self._first_item: SSAValue | None = None
        self._told: dict[Attribute, SSAValue] = {}
        self._needs_barrier = False

    def bits_of(self, shape: ArrayShape) -> Bits:
        """Returns bits for a shared array; zero where the kernel's own code begins."""
        emitter, words = self._emitter, shape.word_count
        name = f"notes of {shape.name}"
        if words is not None and self._always_fits:
            bits = Bits(emitter.new_array(i32, words, name, is_shared=True))
            self._clear(bits.words, emitter.number(words))
            return bits
        if self._notes is None:
            without = emitter.add(WithoutNotesOp()).results[0]
            self._notes = emitter.emit(arith.SubiOp, [emitter.number(1), without])
        notes = self._notes
        needed = emitter.emit(arith.MuliOp, [shape.emit_word_count(emitter), notes])
        count = emitter.emit(arith.MaxUIOp, [needed, emitter.number(1)])
        bits = Bits(
            emitter.new_array(i32, count, name, is_shared=True),
            emitter.emit(arith.SubiOp, [count, emitter.number(1)]),
            emitter.compare("ne", notes, emitter.number(0)),
        )
        self._clear(bits.words, count)
        return bits

    def finish(self) -> None:
        """Emits the barrier behind which all bits are zero."""
        if self._needs_barrier:
            self._emitter.add(gpu.BarrierOp.create())

    def first_item_says(self, value: SSAValue, at: Emitter) -> SSAValue:
        """Returns what the first work-item of the group has for `value`, an integer of 32 or 64 bits.

        Emits barriers, so every work-item must come there.
        """
        words = self._told.get(value.type)
        if words is None:
            words = self._emitter.new_array(value.type, 1, "notes of barriers", is_shared=True)
            self._told[value.type] = words
        zero = at.number(0, IndexType())
        at.add(gpu.BarrierOp.create())  # everybody has read the previous value
        at.only_if(self._is_first_item(), [memref.StoreOp.create(operands=[value, words, zero])])
        at.add(gpu.BarrierOp.create())
        return at.load(words, zero)

    def _clear(self, words: SSAValue, count: SSAValue) -> None:
        """Emits the stores of zeros: by one work-item, so that the rounds of the loop are known."""
        loop = self._emitter.loop_of_zeros(words, count)
        self._emitter.only_if(self._is_first_item(), [loop])
        self._needs_barrier = True

    def _is_first_item(self) -> SSAValue:
        if self._first_item is None:
            emitter = self._emitter
            total = emitter.number(0)
            for dimension in _DIMENSIONS[: launch_rank(self._kernel)]:
                op = gpu.ThreadIdOp(gpu.DimensionAttr(dimension))
                index = emitter.as_i32(emitter.add(op).results[0])
                total = emitter.emit(arith.OrIOp, [total, index])
            self._first_item = emitter.compare("eq", total, emitter.number(0))
        return self._first_item
