"""Reports barriers that only some work-items of a work-group reach; part of `traps`.

input:    scf.if %c {                       (%c comes from memory: it may differ)
            "gpu.barrier"()
          }
output:   %first = what the first work-item of the group has for %c
          "kernel.check"(%c != %first, %c, %first) <{kind = "barrier", …}>
          scf.if %first {
            "gpu.barrier"()
          }

Control flow is structured, so a barrier is reached by all if and only if all agree on the test of each branch and loop
around it.  They compare it with the first work-item's, at the branch, where all still are; those that have another
value report it.  Then all do as the first one does: the kernel goes on together, and nobody waits for ever.

Invariant: every branch and loop with a barrier of the work-group inside has a test that is equal for the group.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.divergence import is_work_group_barrier, varying_values
from ...ir.location import location_of
from ...ir.narrowing import is_integer_type
from .emitter import Emitter
from .work_group import WorkGroup

_RULE = "not every work-item of the work-group reaches this barrier"
_ADVICE = "move it out of the condition or loop"


def barriers_in_branches(kernel: Function) -> dict[Operation, Operation]:
    """Returns the branches and loops of a kernel with barriers of the work-group inside, outermost first, each with
    its first barrier."""
    found: dict[Operation, Operation] = {}
    for op in kernel.body.walk():
        if is_work_group_barrier(op):
            around: list[Operation] = []
            parent = op.parent_op()
            while parent is not None and parent is not kernel:
                around.append(parent)
                parent = parent.parent_op()
            for control in reversed(around):
                found.setdefault(control, op)
    return found


def trap_divergence(kernel: Function, group: WorkGroup) -> None:
    """Adds the checks to a kernel, in place."""
    controls = barriers_in_branches(kernel)
    varying = varying_values(kernel) if controls else set[SSAValue]()
    for control, barrier in controls.items():
        place, tests = control, [(0, "the condition")]
        if isinstance(control, scf.ForOp):
            tests = [(0, "the start of the loop"), (1, "the end of the loop"), (2, "the step of the loop")]
        elif isinstance(control, scf.WhileOp):
            place, tests = control.before_region.block.last_op, [(0, "going on with the loop")]
        assert place is not None
        for number, what in tests:
            if place.operands[number] in varying:
                _agree(group, place, number, what, control, barrier)


def _agree(
    group: WorkGroup, place: Operation, number: int, what: str, control: Operation, barrier: Operation
) -> None:
    """Makes operand `number` of `place` that of the first work-item, and reports who has another."""
    emitter, own = Emitter(place), place.operands[number]
    word, dtype = _as_word(emitter, own)
    first = group.first_item_says(word, emitter)
    differs = emitter.compare("ne", word, first)
    shown = [word, first]
    if own.type == i1:
        shown = [own, emitter.compare("ne", first, emitter.number(0))]
    line = location_of(control.location)
    where = f" in line {line.line}" if line is not None and control.location != barrier.location else ""
    text = f"{_RULE}: {what}{where} is {{0}} here and {{1}} for the group's first work-item; {_ADVICE}"
    emitter.check(differs, "barrier", text, [dtype] * 2, shown, at=barrier)
    place.operands[number] = _like(emitter, shown[1], own)


def _as_word(emitter: Emitter, value: SSAValue) -> tuple[SSAValue, str]:
    """Returns a test or an end of a range as an integer of 32 or 64 bits, and what it is shown as."""
    if isinstance(value.type, IndexType):
        return emitter.as_i32(value), "i32"
    assert is_integer_type(value.type)
    bits = value.type.width.data
    if bits >= 32:
        return value, f"i{bits}"
    return emitter.emit(arith.ExtUIOp, [value]), "bool" if bits == 1 else "i32"


def _like(emitter: Emitter, word: SSAValue, value: SSAValue) -> SSAValue:
    """Returns what was made of a value in the value's own type."""
    if word.type == value.type:
        return word
    if isinstance(value.type, IndexType):
        return emitter.as_index(word)
    return emitter.emit(arith.TruncIOp, [word], value.type)
