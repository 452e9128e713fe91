"""What becomes of atomic updates, and of what there is nothing to do for.

%o = memref.atomic_rmw maxs %v, %a[%i] : …         "kernel.atomic_rmw"(%v, %a, %i) {kind = "smax", …}
%o = memref.generic_atomic_rmw %a[%i] { … }        a loop around "kernel.atomic_compare_exchange"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Block, Region, SSAValue

from ...ir.dialects.kernel_atomic import AtomicCompareExchangeOp, AtomicLoadOp, AtomicRMWOp
from ...ir.upstream.index import CmpPredicate
from .combining import combined, is_whole
from .place import Lowering, UpstreamPlace

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
"""By upstream's numbers: what Vulkan has instructions for."""
_LOOPS = {3: "maximumf", 6: "minimumf", 9: "mul", 10: "mul"}
"""What it has none for: products, and extrema where NaN wins."""
_ORDER = {"order": StringAttr("acq_rel"), "scope": StringAttr("device")}
"""As on other targets of MLIR."""


def atomic_update(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Makes `memref.atomic_rmw` an atomic of the kernel dialect; the result is the old element."""
    op = place.op
    number = op.kind.value.data
    if number in _KINDS:
        operands = [op.value, op.memref, *op.indices]
        kind = StringAttr(_KINDS[number])
        return (place.emit(AtomicRMWOp, operands, op.result.type, kind=kind, **_ORDER),)
    word = _LOOPS.get(number)
    if word is None:
        raise place.refused(f"there is no update number {number}")
    return (
        _updated(place, [op.memref, *op.indices], lambda inner, old: combined(inner, word, old, op.value)),
    )


def generic_update(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Repeats the region until nobody else has changed the element; the result is the old one."""
    op = place.op
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1 or len(blocks[0].args) != 1:
        raise place.refused("its region is one block of one argument; run mlir-opt --lift-cf-to-scf before")
    *steps, last = blocks[0].ops

    def update(inner: UpstreamPlace, old: SSAValue) -> SSAValue:
        values: dict[SSAValue, SSAValue] = {blocks[0].args[0]: old}
        for step in steps:
            inner.add(step.clone(values))
        result: SSAValue = last.operands[0]
        return values.get(result, result)

    return (_updated(place, list(op.operands), update),)


def _updated(
    place: UpstreamPlace, element: Sequence[SSAValue], update: Callable[[UpstreamPlace, SSAValue], SSAValue]
) -> SSAValue:
    """Returns an element before it became what `update` makes of it."""
    array: Any = element[0].type
    type_ = array.element_type
    if not is_whole(type_) and not isinstance(getattr(type_, "bitwidth", None), int):
        raise place.refused(f"elements of type {type_} are not updated at once; update a number of them")
    first = place.emit(AtomicLoadOp, element, type_, order=StringAttr("relaxed"), scope=StringAttr("device"))
    test, body = Block(arg_types=[type_]), Block(arg_types=[type_])
    inner = place.inside(test)
    expected = test.args[0]
    found = inner.emit(
        AtomicCompareExchangeOp, [expected, update(inner, expected), *element], type_, **_ORDER
    )
    changed = inner.compare(CmpPredicate.Ne, _bits(inner, found), _bits(inner, expected))
    inner.make(scf.ConditionOp, [changed, found])
    place.inside(body).make(scf.YieldOp, [body.args[0]])
    return place.make(scf.WhileOp, [first], [type_], regions=[Region(test), Region(body)]).results[0]


def _bits(place: UpstreamPlace, value: SSAValue) -> SSAValue:
    """Returns a float as an integer: NaN, too, is the element that was expected."""
    type_: Any = value.type
    if is_whole(type_):
        return value
    return place.emit(arith.BitcastOp, [value], IntegerType(type_.bitwidth))


def _without_effect(_place: UpstreamPlace) -> Sequence[SSAValue]:
    """Drops what there is nothing to do for: memory goes with its work-group, and caches are the device's."""
    return ()


def _pointer(place: UpstreamPlace) -> Sequence[SSAValue]:
    raise place.refused("arrays have no addresses in kernels; pass the array and an offset")


def _moved(place: UpstreamPlace) -> Sequence[SSAValue]:
    raise place.refused("there are no copies beside the kernel; copy with memref.copy")


UPDATES: dict[str, Lowering] = {
    "memref.atomic_rmw": atomic_update,
    "memref.dealloc": _without_effect,
    "memref.dma_start": _moved,
    "memref.dma_wait": _moved,
    "memref.extract_aligned_pointer_as_index": _pointer,
    "memref.generic_atomic_rmw": generic_update,
    "memref.prefetch": _without_effect,
}
"""How each is lowered."""
