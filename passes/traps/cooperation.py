"""The checks of debug mode that look at a kernel as a whole: the pass trap-cooperation.

input:    %s = memref.alloc()               output:   %s = memref.alloc()  %bits = memref.alloc()  (cleared)
          memref.store %v, %s[%i]                     "kernel.atomic_rmw" or, %bits[%i / 32]  memref.store %v, %s[%i]
          "gpu.barrier"()                             "gpu.barrier"()
          %x = memref.load %s[%j]                     kernel.check %unset "element [{0}] of shared array 's' is read …"
                                                      %x = memref.load %s[%j]

The front end checks indices, divisors and NaN where it meets them.  What takes the whole kernel is done in IR: reads of
memory that nothing was written to (`uninitialised`), and barriers that only some reach (`divergence`).

Invariant: a kernel that makes no array and reaches its barriers in straight lines is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.call_graph import Function, function_name, functions, has_body
from ...ir.dialects.kernel import is_kernel
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.lazy_logging import logger_of
from ...ir.location import location_of
from ...ir.narrowing import is_memref_type
from ...ir.walk import operations
from .array_shape import ArrayShape
from .divergence import trap_divergence
from .inline import inline_cooperative
from .uninitialised import Access, accesses, note, private_bits
from .work_group import WorkGroup

logger = logger_of(__name__)

_PRIVATE_BYTES = 1 << 15
"""Private arrays, with their bits, that are checked: half of what a work-item may have."""


def trap_cooperation(module: Operation) -> None:
    """Adds the checks to every kernel of a module, in place."""
    for function in functions(module):
        if is_kernel(function) and has_body(function) and len(function.body.blocks) == 1:
            _trap(function)


@dataclass(frozen=True)
class TrapCooperation(ModulePass):
    """Makes kernels report reads of unwritten shared memory, and barriers that only some work-items reach."""

    name = "trap-cooperation"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        trap_cooperation(op)


def _trap(kernel: Function) -> None:
    inline_cooperative(kernel)
    ops = operations(kernel.body)
    given = [argument for argument in kernel.body.blocks[0].args if _is_shared(argument.type)]
    shared: list[SSAValue] = [*given, *(op.results[0] for op in ops if isinstance(op, memref.AllocOp))]
    private: list[SSAValue] = [op.results[0] for op in ops if isinstance(op, memref.AllocaOp)]
    group = WorkGroup(kernel, [ArrayShape.of(array, "shared") for array in shared])
    if group.is_full:
        logger.warning(
            "%s: kernel '%s': reads of shared memory that nothing was written to, and barriers that only some "
            "work-items reach, are not found: its arrays leave no room beside them",
            location_of(kernel.location), function_name(kernel),
        )  # fmt: skip
    for shape, found in _checked([] if group.is_full else shared, "shared", ops):
        bits = group.bits_of(shape)
        for access in found:
            note(access, shape, bits, "shared")
    room = _PRIVATE_BYTES
    for shape, found in _checked(private, "private", ops):
        room -= shape.total_bytes or 0
        if room < 0:
            break
        bits = private_bits(shape)
        for access in found:
            note(access, shape, bits, "private")
    group.finish()
    if not group.is_full:
        trap_divergence(kernel, group)


def _is_shared(type_: Attribute) -> bool:
    space = type_.memory_space if is_memref_type(type_) else None
    return isinstance(space, StorageClassAttr) and space.data is StorageClass.Workgroup


def _checked(
    arrays: list[SSAValue], kind: str, ops: list[Operation]
) -> Iterator[tuple[ArrayShape, list[Access]]]:
    """Yields those of some arrays that are read, and all whose uses are understood, with their uses."""
    for array in arrays:
        shape, found = ArrayShape.of(array, kind), accesses(array, ops)
        if shape is not None and found is not None and any(access.reads for access in found):
            yield shape, found
