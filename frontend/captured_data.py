"""NumPy arrays and struct instances that a kernel captures: constants of its code.

Both may change in place, so what is watched is a copy (see `captures`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ..ir.errors import InvalidError
from .aspect_lowering import use_struct
from .composites import build_value, typed_value_of
from .function_builder import FunctionBuilder
from .struct_types import StructType
from .struct_values import leaf_values
from .types import FixedArrayType, ScalarType, Type
from .values import Scalar, Value

MAX_CAPTURED_BYTES: Final = 4096
"""Bytes of the largest NumPy array that becomes a constant."""


def captured_array(fb: FunctionBuilder, array: np.ndarray[Any, Any], name: str, node: ast.AST) -> Value:
    """Returns a NumPy array from around the kernel, as a fixed array of constants.

    Raises:
        CompileError: it is empty or too large, or its elements have no type in kernels.
    """
    from .type_lookup import type_of_dtype

    try:
        element = type_of_dtype(array.dtype.newbyteorder("="))
    except InvalidError:
        raise fb.error(
            node,
            f"kernels cannot use '{name}', a NumPy array of dtype {array.dtype}",
            "LP2032",
            hint="convert it to a dtype of numbers or bools: a.astype(np.float32)",
        ) from None
    if not 0 < array.nbytes <= MAX_CAPTURED_BYTES:
        found = "is empty" if not array.nbytes else f"has {array.nbytes} bytes"
        raise fb.error(
            node,
            f"the captured NumPy array '{name}' {found}; 1 to {MAX_CAPTURED_BYTES} bytes become constants of the code",
            "LP2032",
            hint="pass it as an lp.Array argument: lp.asarray(…)",
        )
    kind = FixedArrayType(element, array.shape or (1,))
    if array.dtype.kind == "f" and np.isnan(array).any():
        from .nan_payloads import exact_numbers  # which few programs need

        return _constant(fb, kind, array, exact_numbers(array))
    return _constant(fb, kind, array, array.reshape(-1).tolist())


def captured_struct(fb: FunctionBuilder, value: object, kind: StructType, name: str) -> Value:
    """Returns a struct instance from around the kernel."""
    return _constant(fb, kind, value, leaf_values(kind, value, f"'{name}'"))


def _constant(fb: FunctionBuilder, kind: Type, owner: object, values: Iterable[Any]) -> Value:
    """Returns a value of constants, made once in each function."""
    if fb.is_dry:
        return typed_value_of(kind)
    known = fb.captured.get(id(owner))
    if known is not None:
        return known[1]
    leaves = iter(values)

    def leaf(scalar: ScalarType) -> Scalar:
        number = next(leaves)
        bounds = (int(number), int(number)) if scalar.is_integer else None
        return Scalar(scalar, const=number, bounds=bounds)

    with fb.into(fb.prologue):
        use_struct(fb, kind)
        made = build_value(fb, kind, leaf)
    # With its owner, which may be made anew by each look-up: another object must not get its id.
    fb.captured[id(owner)] = owner, made
    return made
