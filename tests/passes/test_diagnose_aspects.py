"""Warnings of `propagate`: once per function and aspect, within one translation unit."""

from __future__ import annotations

import pytest

from lapilli.ir.errors import Diagnostic, Location
from lapilli.ir.parse import parse_module
from lapilli.passes.propagate_aspects import propagate


def warnings_of(text: str, **options: object) -> tuple[Diagnostic, ...]:
    return propagate(parse_module(text).module, warn=True, **options)  # type: ignore[arg-type]


def heads(text: str) -> list[str]:
    return [finding.message.splitlines()[0] for finding in warnings_of(text)]


DOUBLE = "%d = arith.extf %x : f32 to f64"


def test_the_finding_carries_the_place_of_the_use() -> None:
    text = f"""func.func @foo(%x: f32) attributes {{gpu.kernel, aspect.declared = []}} {{
      {DOUBLE} loc("hw.py":27:4)
      func.return
    }}"""
    (finding,) = warnings_of(text)
    assert finding.location == Location("hw.py", 27, 4)
    assert finding.severity == "warning"
    assert str(finding) == (
        "hw.py:27:4: warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\n"
        "use is from this call chain:\n"
        "  foo()"
    )


def test_one_warning_per_function_and_aspect() -> None:
    text = f"""
    func.func @k(%x: f32) attributes {{gpu.kernel, aspect.declared = []}} {{
      {DOUBLE}
      %e = arith.addf %d, %d : f64
      %h = arith.truncf %x : f32 to f16
      func.call @f(%x) : (f32) -> ()
      func.return
    }}
    func.func private @f(%x: f32) attributes {{aspect.declared = [5 : i32]}} {{ {DOUBLE}  func.return }}"""
    assert heads(text) == [
        "function 'k' uses aspect 'fp16' not listed in 'sycl::device_has'",
        "function 'k' uses aspect 'fp64' not listed in 'sycl::device_has'",
        "function 'f' uses aspect 'fp64' not listed in 'sycl::device_has'",
    ]


@pytest.mark.parametrize(
    "declared", ["", "aspect.declared = [6 : i32]", "aspect.declared = [6 : i32, 5 : i32]"]
)
def test_no_declaration_or_a_complete_one_is_silent(declared: str) -> None:
    attributes = f"{{gpu.kernel, {declared}}}" if declared else "{gpu.kernel}"
    assert warnings_of(f"func.func @k(%x: f32) attributes {attributes} {{ {DOUBLE}  func.return }}") == ()


def test_vendor_and_internal_aspects_never_warn() -> None:
    text = """func.func @k(%i: i64, %s: i16) attributes {gpu.kernel, aspect.declared = [],
        aspect.used = [-1 : i32]} { func.return }"""
    assert warnings_of(text) == ()


def test_other_units_count_only_by_what_they_declare() -> None:
    text = f"""
    func.func @k(%x: f32) attributes {{gpu.kernel, aspect.declared = [], aspect.unit = "a"}} {{
      func.call @f(%x) : (f32) -> ()
      func.call @g(%x) : (f32) -> ()
      func.return
    }}
    func.func private @f(%x: f32) attributes {{aspect.unit = "b"}} {{ {DOUBLE}  func.return }}
    func.func private @g(%x: f32) attributes {{aspect.declared = [5 : i32], aspect.unit = "b"}} {{
      func.return
    }}"""
    assert heads(text) == ["function 'k' uses aspect 'fp16' not listed in 'sycl::device_has'"]


def test_excluded_aspects_still_warn_and_the_second_run_is_silent() -> None:
    text = (
        f"func.func @k(%x: f32) attributes {{gpu.kernel, aspect.declared = []}} {{ {DOUBLE}  func.return }}"
    )
    assert len(warnings_of(text, exclude=[6])) == 1
    assert propagate(parse_module(text).module) == ()
