"""What the attributes of the `kernel` dialect may be, and where they may stand."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import integer, integers
from .kernel import (
    ALIGNED_ROWS,
    ANY_LOCAL_SIZE,
    ANY_RANK,
    LANES,
    LIBRARY,
    LINKAGE_NAME,
    LOCAL_SIZE,
    MASKED,
    NO_CONTRACTION,
    OPT_LEVEL,
    PARAMETERS,
    RANK,
    SETTLES,
    SOURCE_NAME,
    UNIFORM_RESULTS,
    WIDE,
    Function,
    is_kernel,
    kernel_parameters,
)

_NAMES = (LINKAGE_NAME, SOURCE_NAME)
_UNITS = (ANY_LOCAL_SIZE, ANY_RANK, LIBRARY, MASKED, NO_CONTRACTION, UNIFORM_RESULTS, WIDE)
_ON_ANY_FUNCTION = (*_NAMES, LIBRARY, NO_CONTRACTION, OPT_LEVEL, UNIFORM_RESULTS, WIDE)


def verify_attributes(op: Operation, *, of_passes: bool = False) -> None:
    """Checks the `kernel.*` attributes of one operation; raises `VerifyException`.

    * they stand on kernels only, but for those named below, and no other name begins with `kernel.`
    * `kernel.linkage_name` and `kernel.source_name` are strings with content, on functions
    * `kernel.parameters` has one well-formed dictionary per argument, of the argument's kind and rank
    * `kernel.rank` is an i32 of 1 to 3; `kernel.any_local_size`, `kernel.any_rank`, `kernel.masked` and what may
      stand on any function are units
    * `kernel.opt_level` is an i32 of 0 to 2; it, `kernel.library`, `kernel.no_contraction`, `kernel.uniform_results`
      and `kernel.wide` may stand on any function
    * `kernel.local_size` is array<i32> of 1 to 3 positive sizes
    * what passes alone write is there where `of_passes` says so: `kernel.lanes` and `kernel.aligned_rows` are
      array<i32>, `kernel.settles` is an i32 of at least 1 on `scf.while`
    """
    for name, value in op.attributes.items():
        if not name.startswith("kernel."):
            continue
        if of_passes and name in _OF_PASSES:
            _OF_PASSES[name](op, value)
            continue
        if not isinstance(op, Function) or not (is_kernel(op) or name in _ON_ANY_FUNCTION):
            where = "functions" if name in _NAMES else "kernels"
            raise VerifyException(f"'{name}' may stand on {where} only, found it on {op.name}")
        if name == PARAMETERS:
            kernel_parameters(op)
        elif name in _UNITS and isinstance(value, UnitAttr):
            continue
        elif name in _RULES:
            _RULES[name](name, value)
        else:
            raise VerifyException(f"'{name}' = {value} is no attribute of the kernel dialect")


def _check_name(name: str, value: Attribute) -> None:
    if not isinstance(value, StringAttr) or not value.data:
        raise VerifyException(f"'{name}' is a string with content on a function, found {value}")


def _check_rank(name: str, value: Attribute) -> None:
    if not 1 <= (integer(value, i32) or 0) <= 3:
        raise VerifyException(f"'{name}' must be an i32 of 1 to 3, found {value}")


def _check_level(name: str, value: Attribute) -> None:
    if integer(value, i32) not in (0, 1, 2):
        raise VerifyException(f"'{name}' must be an i32 of 0 to 2, found {value}")


def _check_local_size(name: str, value: Attribute) -> None:
    sizes = integers(value, i32)
    if sizes is None or not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise VerifyException(f"'{name}' must be array<i32> of 1 to 3 positive sizes, found {value}")


def _check_numbers(op: Operation, value: Attribute) -> None:
    if not is_kernel(op) or not integers(value, i32):
        raise VerifyException(f"expected array<i32> of some numbers, on a kernel; found {value} on {op.name}")


def _check_settles(op: Operation, value: Attribute) -> None:
    if not isinstance(op, scf.WhileOp) or (integer(value, i32) or 0) < 1:
        raise VerifyException(f"'{SETTLES}' is an i32 of at least 1 on scf.while, found {value} on {op.name}")


_OF_PASSES: dict[str, Callable[[Operation, Attribute], None]] = {
    LANES: _check_numbers,
    ALIGNED_ROWS: _check_numbers,
    SETTLES: _check_settles,
}
_RULES: dict[str, Callable[[str, Attribute], None]] = {
    **dict.fromkeys(_NAMES, _check_name),
    RANK: _check_rank,
    OPT_LEVEL: _check_level,
    LOCAL_SIZE: _check_local_size,
}
