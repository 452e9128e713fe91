"""What becomes of upstream's operations on memory.

%o = memref.atomic_rmw maxs %v, %a[%i] : …    "kernel.atomic_rmw"(%v, %a, %i) {kind = "smax", order = "acq_rel", …}
%b = memref.cast %a : … ; memref.dealloc %a   (nothing: %a is used instead)
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import SSAValue

from ..ir.dialects.kernel_atomic import AtomicRMWOp
from .upstream_place import UpstreamPlace

_KINDS = {
    0: "add",  # addf
    1: "add",  # addi
    2: "exchange",  # assign
    4: "smax",
    5: "umax",
    7: "smin",
    8: "umin",
    11: "or",
    12: "and",
    13: "max",  # maxnumf
    14: "min",  # minnumf
    15: "xor",
}
"""By upstream's numbers; those left out are not in Vulkan: products, and extrema where NaN wins."""


def atomic_update(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    """Makes `memref.atomic_rmw` an atomic of the kernel dialect, ordered as on other targets of MLIR."""
    op = place.op
    kind = _KINDS.get(op.kind.value.data)
    if kind is None:
        return None
    words = {"kind": kind, "order": "acq_rel", "scope": "device"}
    properties = {name: StringAttr(word) for name, word in words.items()}
    return (place.emit(AtomicRMWOp, [op.value, op.memref, *op.indices], op.result.type, **properties),)


def same_memory(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    """Goes on with the memory that is given: of casts between sizes that are known and not, and of alignments."""
    source = place.op.operands[0]
    for result in place.op.results:
        if not _is_seen_alike(source.type, result.type):
            return None
    return (source,) * len(place.op.results)


def _is_seen_alike(source: Any, target: Any) -> bool:
    if not isinstance(source, MemRefType) or not isinstance(target, MemRefType):
        return False
    source, target = cast("Any", source), cast("Any", target)
    is_alike = (source.element_type, source.layout, source.memory_space) == (
        target.element_type,
        target.layout,
        target.memory_space,
    )
    return is_alike and len(source.get_shape()) == len(target.get_shape())


def without_effect(_place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Drops what there is nothing to do for: memory of a work-group goes with it."""
    return ()
