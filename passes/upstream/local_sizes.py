"""Finds the kernels of MLIR programs that may run in work-groups of any size.

Their text masks no range, as the front end for Python does it, and need not say which local size it is for.  Where the
work-items of a group do nothing together, a launch may choose one: any that divides the range runs the same work-items.
Whoever takes numbers of groups, or places in them, without asking how large a group is, counts on one size.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation

from ...ir.call_graph import CallGraph, Function, has_body
from ...ir.dialects.kernel import ANY_LOCAL_SIZE, MASKED, is_kernel, kernel_local_size
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.narrowing import is_memref_type
from ...ir.walk import operations

_TOGETHER = (
    "gpu.all_reduce",
    "gpu.barrier",
    "gpu.lane_id",
    "gpu.num_subgroups",
    "gpu.shuffle",
    "gpu.subgroup_",
    "spirv.ControlBarrier",
    "spirv.Group",
    "spirv.KHR.",
)
"""How the names of operations begin that several work-items take part in, or that tell who else is in a group."""

_PLACES = ("gpu.block_id", "gpu.grid_dim", "gpu.thread_id")
"""Operations whose results mean something else in groups of another size."""


def mark_any_local_size(module: Operation) -> None:
    """Sets `kernel.any_local_size` on the kernels that neither fix a local size nor count on one, and whose work-items
    do nothing together."""
    graph = CallGraph.of(module)
    for function in graph.functions:
        if (
            not is_kernel(function)
            or MASKED in function.attributes
            or kernel_local_size(function) is not None
        ):
            continue
        reached = list(graph.reachable([function]))
        if all(has_body(f) and not _works_together(f) for f in reached) and not _counts_on_a_size(reached):
            function.attributes[ANY_LOCAL_SIZE] = UnitAttr()


def _counts_on_a_size(functions: Iterable[Function]) -> bool:
    """Whether a kernel's functions ask for places along a dimension in which they never ask how large groups are."""
    sized, placed = set[Attribute | None](), set[Attribute | None]()
    for function in functions:
        for op in operations(function):
            if op.name in _PLACES:
                placed.add(op.properties.get("dimension"))
            elif op.name == "gpu.block_dim":
                sized.add(op.properties.get("dimension"))
    return not placed <= sized


def _works_together(function: Function) -> bool:
    shared = [*function.function_type.inputs]
    for op in operations(function):
        if op.name.startswith(_TOGETHER):
            return True
        shared += op.result_types
    for type_ in shared:
        space = type_.memory_space if is_memref_type(type_) else None
        if isinstance(space, StorageClassAttr) and space.data is StorageClass.Workgroup:
            return True
    return False
