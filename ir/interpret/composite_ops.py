"""Composites: taking them apart and putting them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from ..attribute_values import integers
from .dispatch import handles
from .frame import Frame
from .values import construct, extract, insert


@handles("spirv.CompositeConstruct")
def composite_construct(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Puts a composite together."""
    return (construct(op.results[0].type, operands),)


@handles("spirv.CompositeExtract")
def composite_extract(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Takes a part out of a composite."""
    return (extract(operands[0], integers(op.properties["indices"]) or ()),)


@handles("spirv.CompositeInsert")
def composite_insert(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Replaces a part of a composite."""
    return (insert(operands[1], operands[0], integers(op.properties["indices"]) or ()),)
