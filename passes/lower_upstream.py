"""Replaces operations of upstream's dialects that the compiler does not have by those that it has.

    %c = index.add %a, %b                              %c = arith.addi %a, %b : index
    %a = memref.subview %x[%i] [4] [1] : …             %v = memref.load %x[%i + %j]
    %v = memref.load %a[%j] : …
    %r = gpu.subgroup_reduce add %x : (f32) -> f32     %r = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %x

Programs written for MLIR have them; the front end never makes one.  What cannot be lowered is refused by name, with
its place in the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..ir.call_graph import functions
from .lift_cf_to_scf import lift_cf_to_scf
from .upstream.affine import AFFINE
from .upstream.all_reduce import ALL_REDUCE
from .upstream.allocations import erase_globals, settle_arrays
from .upstream.arithmetic import ARITHMETIC
from .upstream.arrays import resolve_views
from .upstream.calls import inline_calls_of_parts
from .upstream.control_flow import CONTROL_FLOW
from .upstream.dynamic_memory import settle_dynamic_memory
from .upstream.functions import FUNCTIONS
from .upstream.groups import GROUPS
from .upstream.place import Lowering, replace
from .upstream.reports import REPORTS, no_check
from .upstream.updates import UPDATES
from .upstream.vectors import take_vectors_apart

_SCALARS: dict[str, Lowering] = {**ALL_REDUCE, **ARITHMETIC, **FUNCTIONS, **GROUPS, **REPORTS, **UPDATES}


def lower_upstream(module: ModuleOp, *, with_asserts: bool = True) -> None:
    """Replaces upstream's operations; those that assert go where `with_asserts` is not set.  Raises `PassError`."""
    lift_cf_to_scf(module)
    inline_calls_of_parts(module)
    _lower(module, {**AFFINE, **CONTROL_FLOW})
    take_vectors_apart(module)
    _lower(module, _SCALARS if with_asserts else {**_SCALARS, "cf.assert": no_check})
    for function in list(functions(module)):
        settle_dynamic_memory(function)
        settle_arrays(function)
        resolve_views(function)
    erase_globals(module)


def _lower(module: ModuleOp, lowerings: Mapping[str, Lowering]) -> None:
    for op in list(module.walk(region_first=True)):  # a region is lowered before it is copied
        lowering = lowerings.get(op.name)
        if lowering is not None:
            replace(op, lowering)


class LowerUpstreamPass(ModulePass):
    """Replaces upstream's operations (see the head of this file)."""

    name = "lower-upstream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_upstream(op)
