"""Operations of sub-groups: the active work-items of each sub-group work together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation

from ..dialects.spirv.attributes import GroupOperationAttr
from ..dialects.spirv.enums import GroupOperation
from ..errors import InvalidError
from .dispatch import handles
from .float_ops import maximum_number, minimum_number
from .frame import Frame
from .integer_ops import maximum_unsigned, minimum_unsigned
from .scalars import Lanes

_Combination = tuple[Callable[[Lanes, Lanes], Lanes], Callable[[np.dtype[Any]], Any]]
"""How two values are combined, and what changes nothing."""


def _zero(dtype: np.dtype[Any]) -> Any:
    return dtype.type(0)


def _one(dtype: np.dtype[Any]) -> Any:
    return dtype.type(1)


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return dtype.type(True if dtype.kind == "b" else -1)


def _largest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


def _smallest(dtype: np.dtype[Any]) -> Any:
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


_PREFIX = "spirv.GroupNonUniform"
_COMBINED: dict[str, _Combination] = {
    "IAdd": (np.add, _zero),
    "FAdd": (np.add, _zero),
    "IMul": (np.multiply, _one),
    "FMul": (np.multiply, _one),
    "SMin": (np.minimum, _largest),
    "UMin": (minimum_unsigned, _all_ones),
    "FMin": (minimum_number, _largest),
    "SMax": (np.maximum, _smallest),
    "UMax": (maximum_unsigned, _zero),
    "FMax": (maximum_number, _smallest),
    "BitwiseAnd": (np.bitwise_and, _all_ones),
    "BitwiseOr": (np.bitwise_or, _zero),
    "BitwiseXor": (np.bitwise_xor, _zero),
    "LogicalAnd": (np.logical_and, _all_ones),
    "LogicalOr": (np.logical_or, _zero),
    "LogicalXor": (np.logical_xor, _zero),
}


def _table(frame: Frame, values: Lanes) -> tuple[Lanes, Lanes]:
    """Returns values and who is active, one row a sub-group; no work-item is an inactive one."""
    rows = frame.batch.sub_group_rows
    return values[rows], (rows >= 0) & frame.mask[rows]


def _flat(frame: Frame, table: Lanes) -> Lanes:
    """Undoes `_table`."""
    rows = frame.batch.sub_group_rows
    result = np.zeros((frame.batch.size, *table.shape[2:]), table.dtype)
    result[rows[rows >= 0]] = table[rows >= 0]
    return result


def _combine(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Reduces or scans, in the order of the work-items."""
    function, identity = _COMBINED[op.name.removeprefix(_PREFIX)]
    attribute = op.properties["group_operation"]
    assert isinstance(attribute, GroupOperationAttr)
    kind = attribute.data
    if kind not in (GroupOperation.Reduce, GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan):
        raise InvalidError(f"the interpreter has no '{op.name}' of {kind.name}")
    values, active = _table(frame, operands[0])
    table = np.zeros_like(values)
    total = np.full(len(values), identity(values.dtype), values.dtype)
    is_begun = np.zeros(len(values), np.bool_)
    for lane in range(values.shape[1]):
        before = total
        # The first value is taken as it is: 0.0 + -0.0 is not -0.0.
        joined = np.where(is_begun, function(total, values[:, lane]), values[:, lane])
        total = np.where(active[:, lane], joined, total).astype(values.dtype)
        is_begun |= active[:, lane]
        table[:, lane] = before if kind is GroupOperation.ExclusiveScan else total
    if kind is GroupOperation.Reduce:
        table[:] = total[:, None]
    return (_flat(frame, table),)


for _name in _COMBINED:
    handles(_PREFIX + _name)(_combine)


@handles(_PREFIX + "Any", _PREFIX + "All")
def vote(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Asks the active work-items."""
    values, active = _table(frame, operands[0])
    is_any = op.name.endswith("Any")
    answer: Lanes = np.any(values & active, axis=1) if is_any else np.all(values | ~active, axis=1)
    return (_flat(frame, np.repeat(answer[:, None], values.shape[1], axis=1)),)


@handles(_PREFIX + "Ballot")
def ballot(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Gathers a bit of each active work-item in four words, the first in the lowest bit."""
    values, active = _table(frame, operands[0])
    bits = np.zeros((len(values), 128), np.uint8)
    bits[:, : values.shape[1]] = values & active
    words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32).view(np.int32)
    return (_flat(frame, np.repeat(words[:, None, :], values.shape[1], axis=1)),)


_SOURCES: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "Broadcast": lambda own, given: given,
    "Shuffle": lambda own, given: given,
    "ShuffleXor": lambda own, given: own ^ given,
    "ShuffleUp": lambda own, given: own - given,
    "ShuffleDown": lambda own, given: own + given,
}
"""From which work-item of the sub-group a value comes, by one's own number and the operand."""


def _pass(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Passes values between work-items; what no active one gives is 0, where devices give anything."""
    values, active = _table(frame, operands[0])
    given, _ = _table(frame, operands[1].astype(np.int64))
    own = cast("Lanes", np.arange(values.shape[1])[None, :])
    source = _SOURCES[op.name.removeprefix(_PREFIX)](own, given)
    is_there = (source >= 0) & (source < values.shape[1])
    source = np.where(is_there, source, 0)
    is_there &= np.take_along_axis(active, source, axis=1)
    passed = np.take_along_axis(values, source, axis=1)
    return (_flat(frame, np.where(is_there, passed, np.zeros_like(passed))),)


for _name in _SOURCES:
    handles(_PREFIX + _name)(_pass)
