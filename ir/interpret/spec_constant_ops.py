"""Specialization constants: the launch's value, else the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation

from ..attribute_values import integers
from ..dialects.spec_constant import HOST_LAYOUT, DeclareOp, GetOp
from ..errors import InvalidError
from ..type_structure import scalar_leaves
from .dispatch import handles
from .frame import Frame
from .scalars import constant, from_storage, storage_dtype
from .values import composed


@handles("spec_constant.get")
def get(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns the value, which is the same for all work-items."""
    assert isinstance(op, GetOp)
    declared = op.declaration()
    assert declared is not None, "a verified module declares what it reads"
    given = frame.batch.launch.spec_values.get(declared.sym_name.data)
    leaves = _defaults(declared) if given is None else _leaves(declared, given)
    return (composed(declared.const_type, leaves, frame.batch.size),)


def _defaults(declared: DeclareOp) -> Iterator[Any]:
    types = scalar_leaves(declared.const_type)
    return (constant(leaf, type_) for leaf, type_ in zip(declared.default.data, types, strict=True))


def _leaves(declared: DeclareOp, given: bytes) -> Iterator[Any]:
    """Yields the scalars of a host value, at the offsets of its layout, or one after the other.

    Raises:
        InvalidError: the value has another size than the constant.
    """
    types = scalar_leaves(declared.const_type)
    sizes = [storage_dtype(type_).itemsize for type_ in types]
    starts = integers(declared.attributes.get(HOST_LAYOUT))
    if starts is None:
        starts = tuple(sum(sizes[:i]) for i in range(len(sizes) + 1))
    if len(given) != starts[-1]:
        raise InvalidError(
            f"specialization constant '{declared.display_name}' has {starts[-1]} bytes, found {len(given)}"
        )
    for type_, start in zip(types, starts, strict=False):
        stored = np.frombuffer(given, storage_dtype(type_), 1, start)
        yield (from_storage(stored, type_) if isinstance(type_, BFloat16Type) else stored)[0]
