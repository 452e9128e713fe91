"""What becomes of `gpu.printf` and `cf.assert`: what the host prints, and what it raises KernelTrap for.

gpu.printf "x is %d\\n" %x : i32     "kernel.print"(%x) {text = "x is {0}", dtypes = ["i32"]}
cf.assert %b, "no"                  "kernel.check"(%failed) {kind = "assert", text = "no"}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, f32, i1, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects.kernel_reports import CheckOp, PrintOp
from ...ir.narrowing import is_integer_type
from .place import Lowering, UpstreamPlace

_CONVERSION = re.compile(r"%(?:%|([-+ 0]*)(\d*)(\.\d+)?(?:hh|h|ll|l|z)?([diufeEgGxXoc]))")
_UNSIGNED = "uxXo"
_OF_FLOATS = "feEgG"


def print_line(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Prints on the host; a line break at the end is there anyway."""
    values = list(place.op.operands)
    text: str = place.op.properties["format"].data
    dtypes: list[str] = []
    shown: list[SSAValue] = []

    def conversion(found: re.Match[str]) -> str:
        if found[4] is None:
            return "%"
        if len(shown) == len(values):
            raise place.refused(f"its text names more values than the {len(values)} that it has")
        value, dtype = _shown(place, values[len(shown)], found[4] in _UNSIGNED)
        if found[4] not in _OF_FLOATS and dtype.startswith("f"):
            raise place.refused(f"its text shows a float as '{found[0]}'; write %f, %e or %g")
        if found[4] not in _OF_FLOATS and found[3]:
            raise place.refused(f"integers have no precision in '{found[0]}'; write %0 and a width")
        shown.append(value)
        dtypes.append(dtype)
        return f"{{{len(shown) - 1}{_specification(found)}}}"

    template = _CONVERSION.sub(conversion, text.replace("{", "{{").replace("}", "}}").removesuffix("\n"))
    if len(shown) != len(values):
        raise place.refused(
            f"its text shows {len(shown)} of its {len(values)} values; write one of %d %u %x %f %e %g for each"
        )
    place.make(PrintOp, shown, **PrintOp.properties_of(template, dtypes))
    return ()


def _specification(found: re.Match[str]) -> str:
    """Returns what Python writes for a conversion of C's."""
    flags, width, precision, letter = found.groups(default="")
    letter = {"i": "d", "u": "d"}.get(letter, letter)
    if letter == "f" and not precision:
        precision = ".6"
    sign = "".join(mark for mark in "+ " if mark in flags)[:1]
    zero = "0" if "0" in flags and "-" not in flags else ""
    side = "<" if "-" in flags else ">" if width and not zero else ""
    return f":{side}{sign}{zero}{width}{precision}{letter}" if letter not in "d" or flags or width else ""


def _shown(place: UpstreamPlace, value: SSAValue, is_unsigned: bool) -> tuple[SSAValue, str]:
    type_: Any = value.type
    if isinstance(type_, IndexType):
        return place.emit(arith.IndexCastOp, [value], i32), "u32" if is_unsigned else "i32"
    if is_integer_type(type_) and type_.width.data in (8, 16, 32, 64):
        return value, f"{'u' if is_unsigned else 'i'}{type_.width.data}"
    if type_ == i1:
        return place.emit(arith.ExtUIOp, [value], i32), "i32"
    if isinstance(type_, Float32Type | Float64Type):
        return value, f"f{type_.bitwidth}"
    if isinstance(getattr(type_, "bitwidth", None), int):
        return place.emit(arith.ExtFOp, [value], f32), "f32"
    raise place.refused(f"values of type {type_} are not printed; print a number of it")


def check(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Reports the work-item where the condition does not hold; it goes on, as with `assert` in a kernel."""
    op = place.op
    failed = place.emit(arith.XOrIOp, [op.operands[0], place.constant(1, i1)], i1)
    text: Attribute = op.properties.get("msg") or op.attributes["msg"]
    shown = str(getattr(text, "data", text)).replace("{", "{{").replace("}", "}}")
    place.make(CheckOp, [failed], **CheckOp.properties_of("assert", shown, ()))
    return ()


def no_check(_place: UpstreamPlace) -> Sequence[SSAValue]:
    """Drops a check where none are asked for."""
    return ()


REPORTS: dict[str, Lowering] = {"cf.assert": check, "gpu.printf": print_line}
"""How each is lowered."""
