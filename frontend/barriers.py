"""``lp.barrier``, ``lp.group_barrier`` and ``lp.mem_fence``, and the check that all work-items reach barriers.

Vulkan's memory model has no sequential consistency, so neither has this; and its widest scope is the device.
"""

from __future__ import annotations

import ast
from typing import Final, TypeVar

from xdsl.dialects import gpu
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from ..ir.create import create
from ..ir.dialects.spirv.barrier import ControlBarrierOp, MemoryBarrierOp
from ..ir.dialects.spirv.enums import MemorySemantics, Scope
from ..ir.errors import Diagnostic
from ..ir.location import location_of
from .builtins import expect_count
from .dispatch import intrinsic
from .errors import compile_error
from .function_builder import FunctionBuilder
from .intrinsics import Namespace
from .module_builder import ModuleBuilder
from .values import Static, Value, describe
from .work_item_values import WorkItem

SCOPES: Final = {
    "work_item": Scope.Invocation,
    "sub_group": Scope.Subgroup,
    "work_group": Scope.Workgroup,
    "device": Scope.Device,
}
"""SYCL's memory scopes that a Vulkan device has."""
ORDERS: Final = {
    "relaxed": MemorySemantics.None_,
    "acquire": MemorySemantics.Acquire,
    "release": MemorySemantics.Release,
    "acq_rel": MemorySemantics.AcquireRelease,
}
"""SYCL's memory orders that Vulkan has."""
_MEMORY = MemorySemantics.WorkgroupMemory | MemorySemantics.UniformMemory
_GROUPS = {"group": Scope.Workgroup, "sub_group": Scope.Subgroup}
_T = TypeVar("_T")


def semantics(order: MemorySemantics) -> MemorySemantics:
    """Returns an order over shared memory and buffers; relaxed orders nothing."""
    return order | _MEMORY if order else order


def choice(fb: FunctionBuilder, node: ast.AST, value: Value, what: str, choices: dict[str, _T]) -> _T:
    """Returns what one of a few words stands for.

    Raises:
        CompileError: another word, or no literal.
    """
    found = choices.get(value.obj) if isinstance(value, Static) and isinstance(value.obj, str) else None
    if found is None:
        spelled = ", ".join(f'"{name}"' for name in choices)
        from .suggestions import word_hint  # only for messages

        hint = word_hint(getattr(value, "obj", None), choices)
        raise fb.error(node, f"{what} is one of {spelled}; found {described(value)}", "LP2033", hint=hint)
    return found


def described(value: Value) -> str:
    """Returns a value as messages name it, strings by their text."""
    return repr(value.obj) if isinstance(value, Static) and isinstance(value.obj, str) else describe(value)


def keyword(
    fb: FunctionBuilder, node: ast.Call, name: str, what: str, choices: dict[str, _T], default: _T
) -> _T:
    """Returns what the word of a keyword argument stands for; `default` where it is not given."""
    for item in node.keywords:
        if item.arg == name:
            return choice(fb, item.value, fb.evaluate(item.value), what, choices)
    return default


@intrinsic("barrier")
def compile_barrier(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.barrier()``: every work-item of the group must reach it, so the tail is not masked."""
    expect_count(fb, node, arguments, "lp.barrier", 0, 0)
    add_barrier(fb, node, create(gpu.BarrierOp))
    return Static(None, "None")


@intrinsic("group_barrier")
def compile_group_barrier(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.group_barrier(lp.group | lp.sub_group, scope)``; the default scope is the group's."""
    expect_count(fb, node, arguments, "lp.group_barrier", 1, 2)
    obj = arguments[0].obj if isinstance(arguments[0], Static) else None
    name = obj.name if isinstance(obj, Namespace) else obj.kind if isinstance(obj, WorkItem) else ""
    group = _GROUPS.get(name)
    if group is None:
        raise fb.error(
            node.args[0], f"the group is lp.group or lp.sub_group, found {describe(arguments[0])}", "LP2033"
        )
    scope = keyword(fb, node, "scope", "a memory scope", SCOPES, group)
    if len(arguments) == 2:
        scope = choice(fb, node.args[1], arguments[1], "a memory scope", SCOPES)
    scope = Scope(min(scope, group))  # at least the group: narrower scopes have higher numbers
    add_barrier(fb, node, ControlBarrierOp(group, scope, semantics(MemorySemantics.AcquireRelease)))
    return Static(None, "None")


@intrinsic("mem_fence")
def compile_fence(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.mem_fence(scope="work_group", order="acq_rel")``: orders this work-item's own accesses."""
    expect_count(fb, node, arguments, "lp.mem_fence", 0, 2)
    scope = keyword(fb, node, "scope", "a memory scope", SCOPES, Scope.Workgroup)
    order = keyword(fb, node, "order", "a memory order", ORDERS, MemorySemantics.AcquireRelease)
    if arguments:
        scope = choice(fb, node.args[0], arguments[0], "a memory scope", SCOPES)
    if len(arguments) == 2:
        order = choice(fb, node.args[1], arguments[1], "a memory order", ORDERS)
    orders = order and scope is not Scope.Invocation  # a work-item's own accesses are in order anyway
    if orders and not fb.is_dry:
        fb.append(MemoryBarrierOp(scope, semantics(order)))
    return Static(None, "None")


def add_barrier(fb: FunctionBuilder, node: ast.AST, op: Operation) -> None:
    """Emits something that every work-item of the group must reach, and remembers where it stands."""
    fb.uses_barrier = True
    if fb.is_dry:
        return
    fb.node = node
    fb.append(op)
    fb.module.barriers[fb.location()] = fb.source, node


_MOVE_HINT = "move it out of the condition or loop, and keep only the other statements inside"
_AGREE_HINT = (
    "an atomic may tell each work-item something else: test what one tells all, lp.group.broadcast(v)"
)


def check_barriers(builder: ModuleBuilder, module: ModuleOp) -> None:
    """Raises where a barrier stands under a condition, or in a loop, that depends on the work-item.

    Raises:
        CompileError: at the barrier; a note points at the condition.
    """
    if not builder.barriers:
        return
    from ..ir.divergence import divergent_barriers, is_of_atomics

    for finding in divergent_barriers(module):
        location = finding.barrier.location
        assert isinstance(location, FileLineColLoc)
        source, node = builder.barriers[location]
        note = Diagnostic(
            "this depends on which work-item runs", location_of(finding.control.location), "note"
        )
        raise compile_error(
            source,
            node,
            "not every work-item of the work-group reaches this barrier or group function",
            code="LP2056",
            hint=_AGREE_HINT if is_of_atomics(finding.control) else _MOVE_HINT,
            notes=[note],
        )
