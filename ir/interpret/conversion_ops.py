"""Conversions between scalar types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ..attribute_values import vector_elements
from .dispatch import handles
from .frame import Frame
from .scalars import (
    Lanes,
    from_storage,
    is_bf16,
    rounded_to_bf16,
    storage_dtype,
    to_storage,
    unsigned,
    value_dtype,
)
from .traps import UNDEFINED


def _scalar(type_: Attribute) -> Attribute:
    vector = vector_elements(type_)
    return type_ if vector is None else vector[0]


def _result_dtype(op: Operation) -> np.dtype[Any]:
    return value_dtype(_scalar(op.results[0].type))


def _signed_number(values: Lanes) -> Lanes:
    """Returns integers; a bool as 0 or -1."""
    return -values.astype(np.int8) if values.dtype.kind == "b" else values


@handles("arith.extsi", "arith.index_cast")
def extend_signed(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Widens integers with their sign; `index_cast` also keeps the low bits."""
    return (_low_bits(_signed_number(operands[0]), _result_dtype(op)),)


@handles("arith.extui", "arith.index_castui")
def extend_unsigned(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Widens integers with zeros."""
    return (_low_bits(unsigned(operands[0]), _result_dtype(op)),)


@handles("arith.trunci")
def truncate(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Keeps the low bits."""
    return (_low_bits(operands[0], _result_dtype(op)),)


def _low_bits(values: Lanes, dtype: np.dtype[Any]) -> Lanes:
    return (values & 1).astype(np.bool_) if dtype.kind == "b" else values.astype(dtype)


@handles("arith.sitofp", "arith.uitofp")
def to_float(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Rounds integers to floats, to nearest even."""
    integers = _signed_number(operands[0]) if op.name == "arith.sitofp" else unsigned(operands[0])
    return (_rounded(op, integers.astype(_result_dtype(op))),)


@handles("arith.extf", "arith.truncf")
def float_to_float(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Changes the width of floats."""
    return (_rounded(op, operands[0].astype(_result_dtype(op))),)


def _rounded(op: Operation, values: Lanes) -> Lanes:
    return rounded_to_bf16(values) if is_bf16(_scalar(op.results[0].type)) else values


@handles("arith.fptosi", "arith.fptoui")
def to_integer(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Truncates floats, which must be in range."""
    values, dtype = operands[0], _result_dtype(op)
    if dtype.kind == "b":
        return (np.abs(values) >= 1,)
    is_signed = op.name == "arith.fptosi"
    bits = dtype.itemsize * 8
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if is_signed else (0.0, 2.0**bits)
    whole = np.trunc(values.astype(np.float64))
    is_bad = ~((whole >= low) & (whole < high))
    bad = np.flatnonzero(is_bad.reshape(len(is_bad), -1).any(axis=1) & frame.mask)
    if len(bad):
        lane = int(bad[0])
        kind = f"{'a signed' if is_signed else 'an unsigned'} integer of {bits} bits"
        frame.trap(op, UNDEFINED, lane, f"devices leave undefined what {values[lane]} is as {kind}")
    safe = np.where(is_bad, 0.0, whole)
    return (safe.astype(dtype) if is_signed else safe.astype(f"u{dtype.itemsize}").view(dtype),)


@handles("arith.bitcast", "spirv.Bitcast")
def bitcast(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Keeps the bits and reads them as another type."""
    source, target = _scalar(op.operands[0].type), _scalar(op.results[0].type)
    stored = np.ascontiguousarray(to_storage(operands[0], source))
    return (from_storage(stored.view(storage_dtype(target)), target),)
