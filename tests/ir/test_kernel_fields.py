"""kernel.load_field and kernel.store_field: parsing, printing, and what the verifier refuses."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from lapilli.ir.dialects.kernel import KERNEL
from lapilli.ir.dialects.spirv import SPIRV

MEMREF = "memref<?x!spirv.struct<S, (f32 [0], !spirv.array<3 x f32, stride=4> [4])>>"


def module(op: str) -> str:
    return f"""builtin.module {{
  func.func @f(%a : {MEMREF}, %i : index, %k : i32, %v : f32) {{
    {op}
    func.return
  }}
}}"""


def parse(text: str):
    context = Context()
    for dialect in (Builtin, Func, KERNEL, SPIRV):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


LOAD = '%x = "kernel.load_field"(%a, %i) <{path = array<i32: 0>}> : (' + MEMREF + ", index) -> f32"
STEP = (
    '%x = "kernel.load_field"(%a, %i, %k) <{path = array<i32: 1, -2147483648>}> : ('
    + MEMREF
    + ", index, i32) -> f32"
)
STORE = '"kernel.store_field"(%v, %a, %i) <{path = array<i32: 1, 2>}> : (f32, ' + MEMREF + ", index) -> ()"


@pytest.mark.parametrize("op", [LOAD, STEP, STORE])
def test_print_and_parse(op: str) -> None:
    first = parse(module(op))
    first.verify()
    assert str(parse(str(first))) == str(first)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (LOAD.replace("i32: 0>", "i32: 2>"), "leads to None"),
        (LOAD.replace("i32: 0>", "i32: 1>"), "expected the scalar"),
        (LOAD.replace("-> f32", "-> i32"), "expected the scalar i32"),
        (STEP.replace("1, -2147483648", "1"), "takes 1 indices and steps here, found 2"),
        (STEP.replace("1, -2147483648", "-2147483648"), "leads to None"),
        (STORE.replace("array<i32: 1, 2>", "array<i64: 1, 2>"), "a path array<i32"),
        (STORE.replace("1, 2", "1, 3"), "leads to None"),
    ],
)
def test_refuses(op: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(module(op)).verify()
