"""What an operation does besides computing its results."""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure

from ...ir.attribute_values import integer
from ...ir.call_graph import functions
from ...ir.dialects.kernel import OPT_LEVEL, GlobalRangeOp
from ...ir.dialects.kernel_reports import REPORT_NAMES
from ...ir.narrowing import is_array_attribute
from ...ir.walk import block_operations, operations, region_blocks
from .constants import constant_integer

WORK_ITEM_IDS = (
    gpu.GlobalIdOp,
    gpu.ThreadIdOp,
    gpu.BlockIdOp,
    gpu.BlockDimOp,
    gpu.GridDimOp,
    gpu.LaneIdOp,
    gpu.SubgroupIdOp,
    gpu.NumSubgroupsOp,
    gpu.SubgroupSizeOp,
)
NEEDS_KERNEL = frozenset(
    (
        GlobalRangeOp,
        gpu.GlobalIdOp,
        gpu.ThreadIdOp,
        gpu.BlockIdOp,
        gpu.BlockDimOp,
        gpu.GridDimOp,
        gpu.BarrierOp,
    )
)
"""What has a meaning only inside an entry point: its arguments and its place in the launch."""
_PURE_NAMES = frozenset(("kernel.global_range", "spec_constant.get", "arith.extsi", "arith.remui"))
"""Beside the classes that say so themselves, as these two of xDSL do not."""
_REMOVABLE_NAMES = frozenset(
    (
        "memref.load",
        "kernel.load_field",
        "kernel.load_wide",
        "memref.alloc",
        "memref.alloca",
        "kernel.image_read",
        "kernel.image_sample",
        "spirv.Load",
        "spirv.Variable",
        "spirv.AccessChain",
        "spirv.InBoundsAccessChain",
    )
)
_HARMLESS_NAMES = _REMOVABLE_NAMES | REPORT_NAMES | {"spirv.Store"}
"""Operations that do not write to an array (spirv.Store at kernel level writes to private variables)."""
_DIVISIONS = frozenset(
    (
        arith.DivSIOp,
        arith.DivUIOp,
        arith.RemSIOp,
        arith.RemUIOp,
        arith.FloorDivSIOp,
        arith.CeilDivSIOp,
        arith.CeilDivUIOp,
    )
)
_SPIRV_DIVISIONS = frozenset(("spirv.SDiv", "spirv.UDiv", "spirv.SRem", "spirv.SMod", "spirv.UMod"))
"""Foreign IR may hold them at kernel level, guarded like any other division."""
_SPIRV_IMPURE = frozenset(
    (
        "spirv.Load",
        "spirv.Store",
        "spirv.Variable",
        "spirv.FunctionCall",
        "spirv.ControlBarrier",
        "spirv.MemoryBarrier",
        "spirv.CopyMemory",
        "spirv.GL.Frexp",  # these two write a result through a pointer
        "spirv.GL.Modf",
    )
)
_SPIRV_IMPURE_PREFIXES = (
    "spirv.Image",
    "spirv.Atomic",
    "spirv.Group",
    "spirv.mlir.",
    "spirv.EXT.Atomic",
    "spirv.KHR.",
)


@cache
def is_pure_class(kind: type[Operation]) -> bool:
    """Whether operations of this class only compute their results from their operands."""
    if kind.has_trait(IsTerminator):
        return False
    name = kind.name
    if name.startswith("spirv."):
        return name not in _SPIRV_IMPURE and not name.startswith(_SPIRV_IMPURE_PREFIXES) and _has_result(kind)
    return (
        kind.has_trait(Pure)
        or kind.has_trait(NoMemoryEffect)
        or issubclass(kind, WORK_ITEM_IDS)
        or name in _PURE_NAMES
    )


def _has_result(kind: type[Operation]) -> bool:
    return not kind.name.startswith(("spirv.Return", "spirv.Branch", "spirv.Unreachable", "spirv.Kill"))


@cache
def is_removable_class(kind: type[Operation]) -> bool:
    """Whether such an operation may go when nothing uses its results."""
    return is_pure_class(kind) or kind.name in _REMOVABLE_NAMES


@cache
def is_write_class(kind: type[Operation]) -> bool:
    """Whether such an operation, regions aside, may change what a load from an array sees."""
    if issubclass(kind, scf.IfOp | scf.ForOp | scf.WhileOp):
        return False
    return not (is_pure_class(kind) or kind.name in _HARMLESS_NAMES or kind.has_trait(IsTerminator))


def writes_memory(op: Operation) -> bool:
    """Whether `op`, regions included, may change what a load from an array sees: stores, barriers, calls."""
    return any(map(is_write_class, set(map(type, operations(op)))))


_READ_ONLY = (StringAttr("read"), StringAttr("constant"))


def is_speculatable(op: Operation) -> bool:
    """Whether `op` may run where the program would not run it: pure, and no division perhaps by zero."""
    if not is_pure_class(type(op)):
        return False
    is_division = type(op) in _DIVISIONS or op.name in _SPIRV_DIVISIONS
    return not is_division or constant_integer(op.operands[1]) not in (None, 0, -1)


def array_of(value: SSAValue) -> SSAValue:
    """Returns the array of which a value is another shape."""
    owner = value.owner
    return array_of(owner.operands[0]) if type(owner) is memref.CollapseShapeOp else value


def read_only_arrays(function: Operation) -> frozenset[SSAValue]:
    """Returns the arrays that a kernel only reads and nothing else writes: loads of them are pure."""
    parameters = function.attributes.get("kernel.parameters")
    block = function.regions[0].first_block if function.regions else None
    if block is None or not is_array_attribute(parameters):
        return frozenset()
    return frozenset(
        argument
        for argument, parameter in zip(block.args, parameters.data, strict=False)
        if isinstance(parameter, DictionaryAttr)
        and parameter.data.get("access") in _READ_ONLY
        and "may_alias" not in parameter.data
    )


def functions_of(module: Operation) -> list[Operation]:
    """Returns the functions below `module`, in order, also those inside `gpu.module`."""
    return list(functions(module))


def optimised_functions(module: Operation) -> list[Operation]:
    """Returns those functions below `module` that are not to stay as they are: by an optimisation level of 0."""
    return [f for f in functions_of(module) if integer(f.attributes.get(OPT_LEVEL)) != 0]


def loops_of(function: Operation, kinds: Container[type[Operation]]) -> list[Operation]:
    """Returns the loops of a function in order, but inner ones before those around them."""
    found = [op for op in operations(function) if type(op) in kinds]
    if len(found) < 2:
        return found
    found = list[Operation]()
    for block in body_blocks(function):
        _add_loops(block, kinds, found)
    return found


def _add_loops(block: Block, kinds: Container[type[Operation]], found: list[Operation]) -> None:
    for op in block_operations(block):
        if op.regions:
            for region in op.regions:
                for inner in region_blocks(region):
                    _add_loops(inner, kinds, found)
            if type(op) in kinds:
                found.append(op)


def body_blocks(function: Operation) -> list[Block]:
    """Returns the blocks of a function's body; none for a declaration."""
    return region_blocks(function.regions[0]) if function.regions else []
