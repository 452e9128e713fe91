"""The members of ``lp.Item``, ``lp.NdItem``, ``lp.Group``, sub-groups and ids, as SYCL 2020 section 4.9.1 has them.

A member that takes a dimension gives one index; without one it gives them all, an `lp.Id`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from ..ir.errors import closest
from .arithmetic import binary
from .barriers import choice
from .comparisons import compare_scalars
from .dispatch import INTRINSICS
from .function_builder import FunctionBuilder
from .ir_types import INDEX_TYPE
from .values import Composite, Scalar, Static, Value, constant, describe
from .work_item_values import IdType, Member, WorkItem, id_type, work_item
from .work_items import work_item_value

_Plain = Callable[[FunctionBuilder, ast.AST, WorkItem], Value]

_BY_DIMENSION: Final[dict[str, dict[str, str]]] = {
    "item": {"get_id": "global_id", "get_range": "global_range"},
    "nd_item": {
        "get_global_id": "global_id",
        "get_local_id": "local_id",
        "get_group_range": "group_range",
        "get_global_range": "global_range",
        "get_local_range": "local_range",
    },
    "group": {
        "get_group_id": "group_id",
        "get_id": "group_id",
        "get_local_id": "local_id",
        "get_local_range": "local_range",
        "get_max_local_range": "local_range",
        "get_group_range": "group_range",
    },
    "nd_range": {
        "get_global_range": "global_range",
        "get_local_range": "local_range",
        "get_group_range": "group_range",
    },
}
"""Members that take a dimension or none, by kind: which work-item function they are."""


def _intrinsic(name: str) -> _Plain:
    def compute(fb: FunctionBuilder, node: ast.AST, _: WorkItem) -> Value:
        fb.callee = name
        call = node if isinstance(node, ast.Call) else ast.copy_location(_call(node), node)
        return INTRINSICS[name](fb, call, [])

    return compute


def _call(node: ast.AST) -> ast.Call:
    assert isinstance(node, ast.expr)
    return ast.Call(func=node, args=[], keywords=[])


def _total(function: str) -> _Plain:
    """Returns the product of a work-item function over all dimensions."""

    def compute(fb: FunctionBuilder, node: ast.AST, owner: WorkItem) -> Value:
        total: Value = work_item_value(fb, function, 0)
        for dimension in range(1, owner.rank):
            total = binary(fb, "Mult", total, work_item_value(fb, function, dimension), node)
        return total

    return compute


def _object(kind: str) -> _Plain:
    def compute(fb: FunctionBuilder, node: ast.AST, owner: WorkItem) -> Value:
        rank = 1 if kind == "sub_group" else owner.rank
        made = work_item(kind, rank)  # pyright: ignore[reportArgumentType] - one of the kinds below
        return Static(made, str(made))

    return compute


def _is_first(number: _Plain) -> _Plain:
    def compute(fb: FunctionBuilder, node: ast.AST, owner: WorkItem) -> Value:
        value = number(fb, node, owner)
        assert isinstance(value, Scalar)
        return compare_scalars(fb, "Eq", value, constant(0), node)

    return compute


_SPACES: Final = {name: name for name in ("local_space", "global_space", "global_and_local")}
_FENCES = ("barrier", "mem_fence")
_LANE, _SIZE = _intrinsic("sub_group.id"), _intrinsic("sub_group.size")
_INDEX, _COUNT = _intrinsic("sub_group.index"), _intrinsic("sub_group.count")
_PRESENT = _intrinsic("sub_group.present")

_PLAIN: Final[dict[str, dict[str, _Plain]]] = {
    "item": {"get_linear_id": _intrinsic("global_linear_id")},
    "nd_item": {
        "get_global_linear_id": _intrinsic("global_linear_id"),
        "get_local_linear_id": _intrinsic("local_linear_id"),
        "get_group_linear_id": _intrinsic("group_linear_id"),
        "get_sub_group": _object("sub_group"),
        "get_nd_range": _object("nd_range"),
        "barrier": _intrinsic("barrier"),
        "mem_fence": _intrinsic("mem_fence"),
    },
    "group": {
        "get_group_linear_id": _intrinsic("group_linear_id"),
        "get_linear_id": _intrinsic("group_linear_id"),
        "get_local_linear_id": _intrinsic("local_linear_id"),
        "get_group_linear_range": _total("group_range"),
        "get_local_linear_range": _total("local_range"),
        "leader": _is_first(_intrinsic("local_linear_id")),
        "barrier": _intrinsic("barrier"),
        "mem_fence": _intrinsic("mem_fence"),
    },
    "sub_group": {
        "get_local_id": _LANE,
        "get_local_linear_id": _LANE,
        "get_local_range": _PRESENT,
        "get_local_linear_range": _PRESENT,
        "get_max_local_range": _SIZE,
        "get_group_id": _INDEX,
        "get_group_linear_id": _INDEX,
        "get_group_range": _COUNT,
        "get_group_linear_range": _COUNT,
        "leader": _is_first(_LANE),
        "barrier": _intrinsic("sub_group.barrier"),
    },
    "nd_range": {},
}
"""Members without arguments, by kind."""


def id_value(fb: FunctionBuilder, function: str, rank: int) -> Value:
    """Returns all dimensions of a work-item function: an id, which in one dimension is its index."""
    items = tuple(work_item_value(fb, function, dimension) for dimension in range(rank))
    return items[0] if rank == 1 else Composite(items, id_type(rank, fb.module.index_type))


def _names(owner: object) -> list[str]:
    if not isinstance(owner, WorkItem):
        return ["get", "size"]
    names = [*_BY_DIMENSION.get(owner.kind, ()), *_PLAIN[owner.kind]]
    return sorted([*names, "get_group"] if owner.kind == "nd_item" else names)


def _spelled(owner: object) -> str:
    return str(owner) if isinstance(owner, WorkItem) else describe(owner)  # pyright: ignore[reportArgumentType]


def member(fb: FunctionBuilder, owner: WorkItem, node: ast.Attribute) -> Value:
    """Compiles ``it.get_id`` before its call, and ``it.id``, the same without a call.

    Raises:
        CompileError: there is no such member.
    """
    names = _names(owner)
    if node.attr in names:
        return Static(Member(owner, node.attr), f"{_spelled(owner)}.{node.attr}")
    if f"get_{node.attr}" in names:
        return _member_value(fb, Member(owner, f"get_{node.attr}"), node, None)
    raise _no_member(fb, owner, node)


def id_member(fb: FunctionBuilder, owner: Value, node: ast.Attribute) -> Value | None:
    """Returns ``get`` or ``size`` of an id or range, None where `owner` is neither or the name another."""
    if node.attr in ("get", "size") and is_id(fb, owner):
        return Static(Member(owner, node.attr), f"{describe(owner)}.{node.attr}")
    return None


def is_id(fb: FunctionBuilder, value: Value) -> bool:
    """Whether a value is an id or range, of one dimension too."""
    if isinstance(value, Composite):
        return isinstance(value.type, IdType)
    return isinstance(value, Scalar) and value.type in (INDEX_TYPE, fb.module.index_type)


def _no_member(fb: FunctionBuilder, owner: object, node: ast.Attribute) -> Exception:
    names = _names(owner)
    meant = closest(node.attr, names)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(names)}"
    return fb.error(node, f"{_spelled(owner)} has no member '{node.attr}'", "LP2046", hint=hint)


def call_member(fb: FunctionBuilder, called: Member, node: ast.Call) -> Value:
    """Compiles ``it.get_id(0)``.

    Raises:
        CompileError: arguments that the member does not take.
    """
    if node.keywords:
        raise fb.error(
            node.keywords[0],
            f"{called.name} takes no keyword arguments",
            "LP2045",
            hint="give it by position",
        )
    for part in node.args:
        if isinstance(part, ast.Starred):
            raise fb.error(part, "kernels have no '*' arguments", "LP2030", hint="write the arguments out")
    if called.name in _FENCES:
        return _fence(fb, called, node)
    if len(node.args) > 1:
        raise fb.error(
            node, f"{called.name} takes at most one argument, a dimension; found {len(node.args)}", "LP2045"
        )
    dimension = None
    if node.args:
        dimension = _dimension(fb, called, node.args[0])
    fb.node = node
    return _member_value(fb, called, node, dimension)


def _fence(fb: FunctionBuilder, called: Member, node: ast.Call) -> Value:
    """Compiles ``it.barrier()`` and ``it.mem_fence()``; the memory that SYCL 1.2.1 lets users name is always all."""
    if len(node.args) > 1:
        raise fb.error(
            node, f"{called.name} takes at most a fence space, found {len(node.args)} arguments", "LP2045"
        )
    for part in node.args:
        choice(fb, part, fb.evaluate(part), "a fence space", _SPACES)
    owner = called.owner
    assert isinstance(owner, WorkItem)
    fb.node = node
    return _PLAIN[owner.kind][called.name](fb, node, owner)


def _dimension(fb: FunctionBuilder, called: Member, node: ast.expr) -> int:
    value = fb.evaluate(node)
    owner = called.owner
    rank = (
        owner.rank if isinstance(owner, WorkItem) else len(owner.items) if isinstance(owner, Composite) else 1
    )
    if not isinstance(value, Scalar) or type(value.const) is not int:
        raise fb.error(
            node,
            f"the dimension of {called.name} must be a literal integer, found {describe(value)}",
            "LP2047",
            hint=f"write 0 to {rank - 1}, or index the id with a value known at run time: {called.name}()[d]",
        )
    if not 0 <= value.const < rank:
        raise fb.error(
            node,
            f"{_spelled(owner)} has dimension{'s 0 to ' + str(rank - 1) if rank > 1 else ' 0'}, found {value.const}",
            "LP2047",
            hint="the brackets in its annotation say how many it has, up to 3",
        )
    return value.const


def _member_value(fb: FunctionBuilder, called: Member, node: ast.AST, dimension: int | None) -> Value:
    owner, name = called.owner, called.name
    if not isinstance(owner, WorkItem):
        return _of_id(fb, owner, name, node, dimension)  # pyright: ignore[reportArgumentType] - a value else
    function = _BY_DIMENSION.get(owner.kind, {}).get(name)
    if name == "get_group" and owner.kind == "nd_item":
        if dimension is None:
            return _object("group")(fb, node, owner)
        function = "group_id"
    if function is not None:
        return (
            id_value(fb, function, owner.rank)
            if dimension is None
            else work_item_value(fb, function, dimension)
        )
    if dimension is not None:
        raise fb.error(node, f"{_spelled(owner)}.{name} takes no arguments, found 1", "LP2045")
    return _PLAIN[owner.kind][name](fb, node, owner)


def _of_id(fb: FunctionBuilder, owner: Value, name: str, node: ast.AST, dimension: int | None) -> Value:
    items = owner.items if isinstance(owner, Composite) else (owner,)
    if name == "get":
        if dimension is None:
            raise fb.error(node, "get takes a dimension, found no argument", "LP2045", hint="write get(0)")
        return items[dimension]
    if dimension is not None:
        raise fb.error(node, "size takes no arguments, found 1", "LP2045")
    total = items[0]
    for item in items[1:]:
        total = binary(fb, "Mult", total, item, node)
    return total


def as_index_value(fb: FunctionBuilder, value: Value) -> Value:
    """Returns what an item or id is where a number or an array's index stands, any other value itself."""
    if isinstance(value, Static) and isinstance(value.obj, WorkItem) and value.obj.kind == "item":
        return id_value(fb, "global_id", value.obj.rank)
    return value
