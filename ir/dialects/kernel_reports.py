"""Operations through which a running kernel talks to the host: checks that stop it, print, counts of loop rounds.

A check and a print are *sites*: the text of a site, its place and the types of its values go to the kernel's
metadata (`kernel_info.Site`), and the device writes only the number of the site and the values.  The operations
on rounds are put in by the pass limit-loops, for drivers that end loops early; `kernel.without_notes` by
trap-cooperation.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import elements
from ..kernel_info import CHECK_KINDS, MAXIMUM_SITE_VALUES

DTYPE_WIDTHS: dict[str, int] = {
    "bool": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "f16": 16, "f32": 32, "f64": 64,
}  # fmt: skip
"""Bits of the scalar types that a site may report, as lapilli spells them."""
_FLOATS: dict[str, type[Attribute]] = {"f16": Float16Type, "f32": Float32Type, "f64": Float64Type}


def dtypes_of(op: Operation) -> tuple[str, ...]:
    """Returns the types of a site's values as lapilli spells them."""
    found = elements(op.properties["dtypes"]) or ()
    return tuple(dtype.data for dtype in found if isinstance(dtype, StringAttr))


def _has_dtype(type_: Attribute, dtype: str) -> bool:
    if dtype in _FLOATS:
        return isinstance(type_, _FLOATS[dtype])
    return isinstance(type_, IntegerType) and type_.bitwidth == DTYPE_WIDTHS.get(dtype)


def _verify_site(op: Operation, text: str, values: Sequence[SSAValue]) -> None:
    from ..site_templates import template_problem

    dtypes = dtypes_of(op)
    if len(dtypes) != len(values) or len(values) > MAXIMUM_SITE_VALUES:
        raise VerifyException(
            f"'{op.name}' expects one of dtypes for each of at most {MAXIMUM_SITE_VALUES} values, found "
            f"{len(dtypes)} for {len(values)}"
        )
    for value, dtype in zip(values, dtypes, strict=True):
        if not _has_dtype(value.type, dtype):
            raise VerifyException(f"'{op.name}': a value of type {value.type} is no '{dtype}'")
    problem = template_problem(text, len(values))
    if problem is not None:
        raise VerifyException(f"'{op.name}': {problem}")


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Reports the work-item to the host, which raises KernelTrap, where `failed` holds; the kernel goes on.

    "kernel.check"(%failed, %i, %n) <{kind = "index", text = "index {0} of {1}", dtypes = ["i32", "i32"]}>
        : (i1, i32, i32) -> ()
    """

    name = "kernel.check"

    failed = operand_def(i1)
    values = var_operand_def()
    kind = prop_def(StringAttr)
    text = prop_def(StringAttr)
    """A template, see `kernel_info.Site.text`."""
    dtypes = prop_def(ArrayAttr)

    @staticmethod
    def properties_of(kind: str, text: str, dtypes: Sequence[str]) -> dict[str, Attribute]:
        """Returns the properties of a check."""
        return {
            "kind": StringAttr(kind),
            "text": StringAttr(text),
            "dtypes": ArrayAttr([StringAttr(dtype) for dtype in dtypes]),
        }

    def verify_(self) -> None:
        if self.kind.data not in CHECK_KINDS:
            raise VerifyException(f"'{self.name}' kind is one of {CHECK_KINDS}, found {self.kind}")
        _verify_site(self, self.text.data, self.values)


@irdl_op_definition
class PrintOp(IRDLOperation):
    """Prints a line on the host at the next synchronisation, to sys.stdout or to a stream parameter.

    "kernel.print"(%x) <{text = "x is {0}", dtypes = ["f32"], stream = "out"}> : (f32) -> ()
    """

    name = "kernel.print"

    values = var_operand_def()
    text = prop_def(StringAttr)
    dtypes = prop_def(ArrayAttr)
    stream = opt_prop_def(StringAttr)
    """The name of the kernel's stream parameter that it goes to."""

    @staticmethod
    def properties_of(text: str, dtypes: Sequence[str], stream: str = "") -> dict[str, Attribute]:
        """Returns the properties of a print."""
        shown = ArrayAttr([StringAttr(dtype) for dtype in dtypes])
        found: dict[str, Attribute] = {"text": StringAttr(text), "dtypes": shown}
        return found | ({"stream": StringAttr(stream)} if stream else {})

    @property
    def stream_name(self) -> str:
        """The stream parameter, empty where it goes to sys.stdout."""
        return "" if self.stream is None else self.stream.data

    def verify_(self) -> None:
        _verify_site(self, self.text.data, self.values)


@irdl_op_definition
class CountRoundsOp(IRDLOperation):
    """Adds to the rounds that the loops of this work-item's sub-group have run.

    "kernel.count_rounds"() <{rounds = 1 : i32}> : () -> ()
    "kernel.count_rounds"(%more) <{rounds = 0 : i32}> : (i32) -> ()     (as an unsigned number)
    """

    name = "kernel.count_rounds"

    rounds = prop_def(IntegerAttr)
    more = opt_operand_def(i32)

    def __init__(self, rounds: int, more: SSAValue | None = None):
        super().__init__(operands=[more], properties={"rounds": IntegerAttr(rounds, i32)})

    def verify_(self) -> None:
        least = 1 if self.more is None else 0
        if self.rounds.type != i32 or self.rounds.value.data < least:
            raise VerifyException(
                f"'{self.name}' rounds must be an i32 of {least} or more, found {self.rounds}"
            )


@irdl_op_definition
class AgreeOnRoundsOp(IRDLOperation):
    """Gives every work-item the highest count of its sub-group, after work-items went different ways.

    "kernel.agree_on_rounds"() : () -> ()
    """

    name = "kernel.agree_on_rounds"


@irdl_op_definition
class CheckRoundsOp(IRDLOperation):
    """Reports a loop that may have been ended early, where this work-item has counted `limit` rounds or more.

    "kernel.check_rounds"() <{limit = 65535 : i32}> : () -> ()
    """

    name = "kernel.check_rounds"

    limit = prop_def(IntegerAttr)

    def __init__(self, limit: int):
        super().__init__(properties={"limit": IntegerAttr(limit, i32)})

    def verify_(self) -> None:
        if self.limit.type != i32 or self.limit.value.data < 1:
            raise VerifyException(f"'{self.name}' limit must be an i32 of 1 or more, found {self.limit}")


@irdl_op_definition
class WithoutNotesOp(IRDLOperation):
    """1 where a launch has no room for what debug mode notes of shared memory, else 0; the same for all work-items.

    %switch = "kernel.without_notes"() : () -> i32
    """

    name = "kernel.without_notes"

    result = result_def(i32)
    traits = traits_def(Pure())

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


ROUND_OPS = (CountRoundsOp, AgreeOnRoundsOp, CheckRoundsOp)
"""The operations on rounds."""
REPORT_NAMES = frozenset(op.name for op in (CheckOp, PrintOp, *ROUND_OPS))
"""The operations of this file by name: they need the kernel around them."""
OPS = (CheckOp, PrintOp, *ROUND_OPS, WithoutNotesOp)
"""The operations of this file."""
