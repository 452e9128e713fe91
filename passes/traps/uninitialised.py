"""Reports reads of shared and private arrays that nothing was written to; part of `traps`.

input:    %v = memref.load %tile[%i]       (%tile is shared memory of 64 elements)
output:   %word = "kernel.atomic_load"(%written, %i / 32)
          "kernel.check"(%word lacks bit %i % 32, %i) <{kind = "uninitialised", …}>
          %v = memref.load %tile[%i]

An array gets an array of bits beside it, one for each scalar, zero when the kernel begins, or for a private array when
it is made.  A store sets its bit first; an atomic operation checks and sets.  Bits of a work-group are set and read
atomically, so neighbours that write at once lose none, and what orders a store before a load, a barrier or a fence,
orders its bit as well: nothing that is right is reported.

Invariant: an array with a use that is not understood is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, i1, i32
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_values import integers
from ...ir.dialects.kernel_atomic import AtomicLoadOp, AtomicOp, AtomicStoreOp
from ...ir.dialects.kernel_fields import RUN_TIME_STEP, LoadFieldOp, StoreFieldOp
from ...ir.narrowing import is_memref_type
from .array_shape import WORD_BITS, ArrayShape
from .emitter import Emitter
from .work_group import Bits

_COMPONENTS = "xyzw"
_FEW_WORDS = 4
"""Words of a private array's bits that are cleared one by one."""


@dataclass(frozen=True, slots=True)
class Access:
    """One use of an array's elements."""

    op: Operation
    indices: Sequence[SSAValue]
    component: SSAValue | int | None
    """Of a vector; None: the whole element."""
    reads: bool
    writes: bool


def accesses(array: SSAValue, ops: Sequence[Operation]) -> list[Access] | None:
    """Returns what `ops` do to an array; None where one does something else than reading and writing."""
    assert is_memref_type(array.type)
    rank = array.type.get_num_dims()
    found: list[Access] = []
    for op in ops:
        if array in op.operands and not isinstance(op, memref.DimOp):
            access = _access(op, rank)
            if access is None:
                return None
            found.append(access)
    return found


def _access(op: Operation, rank: int) -> Access | None:
    if isinstance(op, memref.LoadOp | LoadFieldOp):
        first, reads, writes = 1, True, False
    elif isinstance(op, memref.StoreOp | StoreFieldOp):
        first, reads, writes = 2, False, True
    elif isinstance(op, AtomicOp):
        first, reads = op.first_index, not isinstance(op, AtomicStoreOp)
        writes = not isinstance(op, AtomicLoadOp)
    else:
        return None
    steps = integers(op.properties["path"]) if "path" in op.properties else ()
    if steps is None or len(steps) > 1:
        return None  # numbers and vectors have no parts of parts
    component: SSAValue | int | None = None
    if steps:
        component = op.operands[first + rank] if steps[0] == RUN_TIME_STEP else steps[0]
    return Access(op, op.operands[first : first + rank], component, reads, writes)


def private_bits(shape: ArrayShape) -> Bits:
    """Makes the bits of a private array, zero, behind the array itself."""
    owner = shape.array.owner
    assert isinstance(owner, Operation) and owner.next_op is not None
    emitter, words = Emitter(owner.next_op), shape.word_count
    name = f"notes of {shape.name}"
    if words is not None and words <= _FEW_WORDS:
        bits = Bits(emitter.new_array(i32, words, name, is_shared=False))
        for word in range(words):
            emitter.store(emitter.number(0), bits.words, emitter.number(word, IndexType()))
        return bits
    count = shape.emit_word_count(emitter)
    bits = Bits(emitter.new_array(i32, count if words is None else words, name, is_shared=False))
    emitter.add(emitter.loop_of_zeros(bits.words, count))
    return bits


def note(access: Access, shape: ArrayShape, bits: Bits, kind: str) -> None:
    """Emits before an access what checks and sets its bits.

    Args:
        access: of the array.
        shape: of the array.
        bits: its bits.
        kind: ``shared`` or ``private``.
    """
    emitter, is_shared = Emitter(access.op), kind == "shared"
    bit = shape.emit_bit(emitter, access.indices)
    pattern = (1 << shape.components) - 1
    if access.component is not None and shape.components > 1:
        step = access.component
        bit = emitter.emit(
            arith.AddiOp, [bit, emitter.number(step) if isinstance(step, int) else emitter.as_i32(step)]
        )
        pattern = 1
    place = emitter.emit(arith.RemUIOp, [bit, emitter.number(WORD_BITS)])
    mask = emitter.emit(arith.ShLIOp, [emitter.number(pattern), place])
    word = emitter.emit(arith.DivUIOp, [bit, emitter.number(WORD_BITS)])
    if bits.last_word is not None:
        word = emitter.emit(arith.MinUIOp, [word, bits.last_word])
    index = emitter.as_index(word)
    if access.reads or not is_shared:
        found = emitter.atomic_load(bits.words, index) if is_shared else emitter.load(bits.words, index)
        if access.reads:
            _check(emitter, access, shape, bits, found, mask)
        if access.writes and not is_shared:
            emitter.store(emitter.emit(arith.OrIOp, [found, mask]), bits.words, index)
    if access.writes and is_shared:
        emitter.atomic_or(mask, bits.words, index)


def _check(
    emitter: Emitter, access: Access, shape: ArrayShape, bits: Bits, found: SSAValue, mask: SSAValue
) -> None:
    failed = emitter.compare("ne", emitter.emit(arith.AndIOp, [found, mask]), mask)
    if bits.is_enabled is not None:
        failed = emitter.emit(arith.AndIOp, [failed, bits.is_enabled], i1)
    indices = [emitter.as_i32(index) for index in access.indices]
    spelled = ", ".join(f"{{{number}}}" for number in range(len(indices)))
    part = f".{_COMPONENTS[access.component]}" if isinstance(access.component, int) else ""
    text = f"element [{spelled}]{part} of {shape.name} is read before anything was written to it"
    emitter.check(failed, "uninitialised", text, ["i32"] * len(indices), indices)
