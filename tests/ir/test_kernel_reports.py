"""Checks, prints and counts of rounds in IR: parsing, printing, and what the verifier refuses."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from lapilli.ir.dialects.kernel import KERNEL
from lapilli.ir.site_templates import template_problem


def module(op: str) -> str:
    return f"""builtin.module {{
  func.func @f(%c : i1, %i : i32, %v : f32, %d : f64) {{
    {op}
    func.return
  }}
}}"""


def parse(text: str):
    context = Context()
    for dialect in (Builtin, Func, KERNEL):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


CHECK = (
    '"kernel.check"(%c, %i, %v) <{kind = "index", text = "{0} of {1}", dtypes = ["u32", "f32"]}> '
    ": (i1, i32, f32) -> ()"
)
PRINT = '"kernel.print"(%d) <{text = "d = {0:.3f}\\n", dtypes = ["f64"]}> : (f64) -> ()'
COUNT = '"kernel.count_rounds"() <{rounds = 3 : i32}> : () -> ()'
AGREE = '"kernel.agree_on_rounds"() : () -> ()'
LIMIT = '"kernel.check_rounds"() <{limit = 65535 : i32}> : () -> ()'


@pytest.mark.parametrize("op", [CHECK, PRINT, COUNT, AGREE, LIMIT])
def test_print_and_parse(op: str) -> None:
    first = parse(module(op))
    first.verify()
    assert str(parse(str(first))) == str(first)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (CHECK.replace('"index"', '"crash"'), "kind is one of"),
        (CHECK.replace('["u32", "f32"]', '["u32"]'), "found 1 for 2"),
        (CHECK.replace('["u32", "f32"]', '["u32", "f64"]'), "a value of type f32 is no 'f64'"),
        (CHECK.replace('["u32", "f32"]', '["u8", "f32"]'), "a value of type i32 is no 'u8'"),
        (CHECK.replace("{1}", "{2}"), "names '2'"),
        (CHECK.replace("{1}", "{}"), "names ''"),
        (PRINT.replace(":.3f", ":.3333f"), "which is not known"),
        (COUNT.replace("3 : i32", "0 : i32"), "1 or more"),
        (COUNT.replace("3 : i32", "3 : i64"), "an i32"),
        (LIMIT.replace("65535 : i32", "-1 : i32"), "1 or more"),
    ],
)
def test_refuses(op: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(module(op)).verify()


@pytest.mark.parametrize("text", ["", "{{}}", "{0}", "{0!r:>10}{1:+.3e}{1:_^8,d}", "{1:08x}"])
def test_templates(text: str) -> None:
    assert template_problem(text, 2) is None


@pytest.mark.parametrize(
    "text", ["{", "}", "{0[a]}", "{0.a}", "{a}", "{0!a}", "{0:{1}}", "{2}", "{0:1000000}"]
)
def test_refused_templates(text: str) -> None:
    assert template_problem(text, 2) is not None
