"""kernel.load_wide and kernel.store_wide: parsing, printing, and what the verifier refuses."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from lapilli.ir.dialects.kernel import KERNEL

LOAD = '%x = "kernel.load_wide"(%a, %i) : (memref<?xf32>, index) -> vector<4xf32>'
STORE = '"kernel.store_wide"(%v, %a, %i) : (vector<4xf32>, memref<?xf32>, index) -> ()'


def parse(op: str):
    context = Context()
    for dialect in (Builtin, Func, KERNEL):
        context.load_dialect(dialect)
    text = f"""builtin.module {{
  func.func @f(%a : memref<?xf32>, %i : index, %v : vector<4xf32>) {{
    {op}
    func.return
  }}
}}"""
    return Parser(context, text).parse_module()


@pytest.mark.parametrize("op", [LOAD, STORE])
def test_print_and_parse(op: str) -> None:
    first = parse(op)
    first.verify()
    body = str(first).splitlines()[2].strip()
    assert str(parse(body)) == str(first)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            LOAD.replace("(%a, %i)", "(%a, %i, %i)").replace(", index)", ", index, index)"),
            "an index for each",
        ),
        (LOAD.replace("vector<4xf32>", "vector<4xi32>"), "moves a vector of f32, found vector<4xi32>"),
        (STORE.replace("memref<?xf32>, index", "memref<?xf32>").replace(", %i)", ")"), "an index for each"),
    ],
)
def test_what_the_verifier_refuses(op: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse(op).verify()
