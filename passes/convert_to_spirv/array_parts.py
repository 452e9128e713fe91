"""What an element of an array that is a value may be: what the array was made of, wherever that was.

    %a = "spirv.CompositeConstruct"(%x, %zero)     →     %e may be %zero; behind a branch what both arms give, in a loop
    %e = "spirv.CompositeExtract"(%a) [1]                what it begins with and what a round gives, in a function what
                                                         its callers give

Drivers that fold such arrays see the element for what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...ir.call_graph import Function
from ...ir.dialects import spirv
from .known_numbers import yielded
from .value_samples import ValueSamples, arriving, carried

_MOST = 200
"""Arrays that are looked at for one element."""

Path: TypeAlias = tuple[int, ...]
"""Indices into an array, the outermost first."""


@dataclass(slots=True)
class Parts:
    """What an element may be.

    Attributes:
        values: numbers or vectors.
        is_complete: whether it is nothing else.
        is_carried: whether it may come from an earlier round of a loop.
    """

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    is_complete: bool = True
    is_carried: bool = False


def parts_of(value: SSAValue, samples: ValueSamples | None) -> Parts | None:
    """Returns what a value may be that is taken out of an array; None where it is none.

    Args:
        value: any value.
        samples: which knows calls; None: what lies in other functions is not looked for.
    """
    owner = value.owner
    if type(owner) is not spirv.CompositeExtractOp or not _is_array(owner.composite):
        return None
    found = Parts()
    pending = [(owner.composite, _path(owner))]
    seen = set(pending)
    while pending:
        array, path = pending.pop()
        if not path or not _is_array(array):
            found.values.append(array)
            continue
        others = _made_of(array, path, samples, found)
        if not others:
            found.is_complete = False
        if len(seen) > _MOST:
            return Parts(is_complete=False)
        pending += [other for other in others if other not in seen]
        seen.update(others)
    return found


def _is_array(value: SSAValue) -> bool:
    return isinstance(value.type, spirv.ArrayType | spirv.StructType)


def _path(op: Operation) -> Path:
    indices = cast("ArrayAttr[IntegerAttr]", op.properties["indices"])
    return tuple(index.value.data for index in indices)


def _made_of(
    array: SSAValue, path: Path, samples: ValueSamples | None, found: Parts
) -> Sequence[tuple[SSAValue, Path]]:
    """Returns where the element at `path` of an array comes from, with indices there; nothing if that is unknown."""
    owner = array.owner
    if isinstance(owner, Block):
        number = owner.args.index(array)
        parent = owner.parent_op()
        if isinstance(parent, Function):
            calls = [] if samples is None else samples.calls_of(parent)
            return [(call.operands[number], path) for call in calls]
        found.is_carried = True
        return [(other, path) for other in arriving(owner, number)]
    if isinstance(owner, scf.ForOp | scf.WhileOp):
        found.is_carried = True
        return [(other, path) for other in carried(owner, list(owner.results).index(array))]  # pyright: ignore[reportArgumentType]
    follow = _FOLLOWED.get(type(owner))
    return () if follow is None else follow(owner, array, path, samples)


def _of_construct(
    op: Operation, _array: SSAValue, path: Path, _samples: ValueSamples | None
) -> list[tuple[SSAValue, Path]]:
    return [(op.operands[path[0]], path[1:])] if path[0] < len(op.operands) else []


def _of_insert(
    op: Operation, _array: SSAValue, path: Path, _samples: ValueSamples | None
) -> list[tuple[SSAValue, Path]]:
    inserted, rest = _path(op), op.operands[1]
    if path[: len(inserted)] == inserted:
        return [(op.operands[0], path[len(inserted) :])]
    return [(rest, path)]


def _of_extract(
    op: Operation, _array: SSAValue, path: Path, _samples: ValueSamples | None
) -> list[tuple[SSAValue, Path]]:
    return [(op.operands[0], (*_path(op), *path))]


def _of_branch(
    op: Operation, array: SSAValue, path: Path, _samples: ValueSamples | None
) -> list[tuple[SSAValue, Path]]:
    assert isinstance(op, scf.IfOp)
    return [(arm, path) for arm in yielded(op, array)]


def _of_call(
    op: Operation, array: SSAValue, path: Path, samples: ValueSamples | None
) -> list[tuple[SSAValue, Path]]:
    result = None if samples is None else samples.result_of(cast("func.CallOp", op), array)
    return [] if result is None else [(result, path)]


_Follow: TypeAlias = Callable[[Operation, SSAValue, Path, ValueSamples | None], list[tuple[SSAValue, Path]]]
_FOLLOWED: dict[type[Operation], _Follow] = {
    spirv.CompositeConstructOp: _of_construct,
    spirv.CompositeInsertOp: _of_insert,
    spirv.CompositeExtractOp: _of_extract,
    scf.IfOp: _of_branch,
    func.CallOp: _of_call,
}
