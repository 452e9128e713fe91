"""Which work-item runs: ``lp.global_id(d)`` and its siblings.

Dimensions are SYCL's here, 0 the slowest; the gpu dialect's x is the fastest, so they are reversed once, here.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.dialects.kernel import GlobalRangeOp
from .builtins import expect_count
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import INDEX_TYPE, IR_INDEX, ir_type
from .types import MAX_DIMENSIONS
from .values import Scalar, Value, describe

_LARGEST_ID = (1 << 31) - 2
_LARGEST_RANGE = (1 << 31) - 1

_OPS: dict[str, tuple[type[Operation], int, int]] = {
    "global_id": (gpu.GlobalIdOp, 0, _LARGEST_ID),
    "local_id": (gpu.ThreadIdOp, 0, _LARGEST_ID),
    "group_id": (gpu.BlockIdOp, 0, _LARGEST_ID),
    "global_range": (GlobalRangeOp, 0, _LARGEST_RANGE),
    "local_range": (gpu.BlockDimOp, 1, _LARGEST_RANGE),
}
"""Op, smallest and largest value of each function."""

_LINEAR = {
    "global_linear_id": ("global_id", "global_range"),
    "local_linear_id": ("local_id", "local_range"),
    "group_linear_id": ("group_id", "group_range"),
}


class RankTooSmallError(Exception):
    """A kernel whose rank is inferred uses a dimension beyond what was assumed; the builder starts again.

    Args:
        rank: the rank that the use needs.
    """

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


BY_DIMENSION = ("global_id", "local_id", "group_id", "global_range", "local_range", "group_range")
"""Functions of one dimension each."""


@intrinsic(*BY_DIMENSION)
def compile_work_item_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.global_id(d)`` and the like; without an argument the dimension is 0."""
    name = _name(fb)
    expect_count(fb, node, arguments, f"lp.{name}", 0, 1)
    dimension = _dimension(fb, node, arguments[0], name) if arguments else 0
    return work_item_value(fb, name, dimension)


def _name(fb: FunctionBuilder) -> str:
    """Returns the function's own name, whatever it was imported as."""
    return fb.callee


def _dimension(fb: FunctionBuilder, node: ast.Call, value: Value, name: str) -> int:
    where = node.args[0] if node.args else node
    if not isinstance(value, Scalar) or not isinstance(value.const, int) or isinstance(value.const, bool):
        raise fb.error(
            where,
            f"the dimension of lp.{name} must be a literal integer, found {describe(value)}",
            "LP2047",
            hint=f"write lp.{name}(0), or choose between the dimensions: lp.{name}(0) if … else lp.{name}(1)",
        )
    dimension = value.const
    fb.module.named_dimensions.add(dimension)
    rank, is_given = fb.module.rank, fb.module.is_rank_given
    if not 0 <= dimension < MAX_DIMENSIONS:
        raise fb.error(
            where,
            f"lp.{name} has dimensions 0 to 2, found {dimension}",
            "LP2047",
            hint="0 is the slowest dimension, the last one is unit-stride",
        )
    if dimension >= rank:
        if not is_given:
            raise RankTooSmallError(dimension + 1)
        raise fb.error(
            where,
            f"lp.{name}({dimension}) in a launch range of {rank} dimension{'s' if rank > 1 else ''}; "
            f"dimensions are 0 to {rank - 1}",
            "LP2047",
            hint=f"launch the kernel over {dimension + 1} dimensions",
        )
    return dimension


@lru_cache(maxsize=16)
def _axis(dimension: int, rank: int) -> DimensionAttr:
    return DimensionAttr(DimensionEnum("xyz"[rank - 1 - dimension]))


@lru_cache(maxsize=16)
def _number(dimension: int) -> Attribute:
    return IntegerAttr(dimension, i32)


def work_item_index(fb: FunctionBuilder, name: str, dimension: int) -> SSAValue:
    """Returns the value of a work-item function as an index of the prologue."""
    fb.uses_work_items = True
    rank = fb.module.rank
    op = _OPS[name][0]
    attribute = _number(dimension) if op is GlobalRangeOp else _axis(dimension, rank)
    return fb.prologue_value((name, dimension), op, IR_INDEX, properties={"dimension": attribute})


def work_item_value(fb: FunctionBuilder, name: str, dimension: int) -> Scalar:
    """Returns the value of a work-item function."""
    fb.uses_work_items = True
    if name == "group_range":
        return _group_range(fb, dimension)
    _, low, high = _OPS[name]
    kind = fb.module.index_type
    if kind is not INDEX_TYPE and not name.startswith("local"):
        high += kind.maximum - _LARGEST_RANGE
    if fb.is_dry:
        return Scalar(kind, bounds=(low, high))
    ssa = fb.cast_from_index(work_item_index(fb, name, dimension), (name, dimension))
    return Scalar(kind, ssa, bounds=(low, high))


def _group_range(fb: FunctionBuilder, dimension: int) -> Scalar:
    """Emits ceil(global / local): the number of groups of the whole range, of which one dispatch may be a piece."""
    kind = fb.module.index_type
    bounds = (0, kind.maximum)
    if fb.is_dry:
        return Scalar(kind, bounds=bounds)
    ir = ir_type(kind)
    total = fb.ssa(work_item_value(fb, "global_range", dimension))
    local = fb.ssa(work_item_value(fb, "local_range", dimension))
    less = fb.emit(arith.SubiOp, [local, fb.constant(1, kind)], ir)
    padded = fb.emit(arith.AddiOp, [total, less], ir)  # below 2**32: an unsigned division
    return Scalar(kind, fb.emit(arith.DivUIOp, [padded, local], ir), bounds=bounds)


@intrinsic(*_LINEAR)
def compile_linear_id(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.global_linear_id()``: the id in C order over all dimensions of the range."""
    name = _name(fb)
    expect_count(fb, node, arguments, f"lp.{name}", 0, 0)
    fb.module.uses_linear_ids = True
    ids, ranges = _LINEAR[name]
    kind = fb.module.index_type
    bounds = (0, kind.maximum - 1)
    result = work_item_value(fb, ids, 0)
    for dimension in range(1, fb.module.rank):
        extent, index = work_item_value(fb, ranges, dimension), work_item_value(fb, ids, dimension)
        if not fb.is_dry:
            row = fb.emit(arith.MuliOp, [fb.ssa(result), fb.ssa(extent)], ir_type(kind))
            ssa = fb.emit(arith.AddiOp, [row, fb.ssa(index)], ir_type(kind))
            result = Scalar(kind, ssa, bounds=bounds)
    return result
