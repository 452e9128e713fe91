"""Puts the body of a function in the place of its calls that pass a part of an array: it has no address in Vulkan.

%a = memref.subview %x[%i] … ; %v = func.call @f(%a)     %a = memref.subview %x[%i] … ; %v = memref.load %a[…]

So it does where they pass an array whose type, unlike the parameter's, does not say yet in which memory it lies: what
`memref.alloca() : memref<8xf32>` makes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, NoneAttr
from xdsl.ir import Operation, SSAValue

from ...ir.call_graph import CallGraph, entry_points
from ...ir.dialects.kernel import Function
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.narrowing import is_memref_type
from .allocations import MADE_ARRAYS
from .arrays import views_of_arrays
from .place import UpstreamPlace

_MOST_CALLS = 10_000
"""That are replaced in one module."""


def inline_calls_of_parts(module: ModuleOp) -> None:
    """Replaces the calls; functions that nothing calls any more go.  Raises `PassError`."""
    graph = CallGraph.of(module)
    targets: dict[Operation, Any] = {call.op: call.callee for calls in graph.calls.values() for call in calls}
    inlined: set[Any] = set()

    @cache
    def calls_itself(function: Function) -> bool:
        return function in graph.reachable(call.callee for call in graph.calls[function])

    pending = [op for op in module.walk() if isinstance(op, func.CallOp) and _passes_part(op)]
    count = 0
    while pending:
        op = pending.pop()
        place = UpstreamPlace(op)
        callee = targets.get(op)
        if callee is None:
            continue  # the verifier reports it
        if calls_itself(callee):
            raise place.refused("a function that calls itself takes no parts of arrays; write it as a loop")
        count += 1
        if count > _MOST_CALLS:
            raise place.refused(
                "functions that take parts of arrays are called too often; call fewer of them"
            )
        inlined.add(callee)
        made = _inline(place, callee)
        for old, new in made:
            if old in targets:
                targets[new] = targets[old]
        pending += [new for _, new in made if isinstance(new, func.CallOp) and _passes_part(new)]
    kept = set(entry_points(module))
    for function in inlined - kept:
        if not any(op.parent is not None and target is function for op, target in targets.items()):
            function.detach()
            function.erase()


def _passes_part(op: Operation) -> bool:
    return any(is_memref_type(value.type) and _is_part(value) for value in op.operands)


def _is_part(value: SSAValue) -> bool:
    type_ = value.type
    assert is_memref_type(type_)
    maker = value.owner.name if isinstance(value.owner, Operation) else ""
    is_anywhere = maker in MADE_ARRAYS and not isinstance(type_.memory_space, StorageClassAttr)
    is_plain = type_.get_shape() and isinstance(type_.layout, NoneAttr)
    return maker in views_of_arrays() or is_anywhere or not is_plain


def _inline(place: UpstreamPlace, callee: Any) -> list[tuple[Operation, Operation]]:
    """Returns the operations of the function and their copies, those inside of others too."""
    blocks = list(callee.body.blocks)
    if not blocks:
        raise place.refused("the function has no body, expected one where it takes a part of an array")
    op = place.op
    values: dict[SSAValue, SSAValue] = dict(zip(blocks[0].args, op.operands, strict=True))
    copies: list[tuple[Operation, Operation]] = []
    *steps, last = blocks[0].ops
    for step in steps:
        copy = place.add(step.clone(values))
        copies += zip(step.walk(), copy.walk(), strict=True)
    for result, value in zip(op.results, last.operands, strict=True):
        result.replace_all_uses_with(values.get(value, value))
    op.detach()
    op.erase()
    return copies
