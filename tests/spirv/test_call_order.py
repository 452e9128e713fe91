"""How many calls a kernel comes to where all are inlined, and what is refused for it before a driver never ends."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.spirv.binary import parse
from lapilli.spirv.call_order import callees_first, inlined_calls
from lapilli.spirv.tools import spirv_tools

HEAD = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %f0 "main"
OpExecutionMode %f0 LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
"""


def chain(length: int, calls: int) -> str:
    """Returns a kernel and functions, each of which calls the next one some times."""
    text = HEAD
    for number in range(length + 1):
        body = "".join(
            f"%r{number}_{call} = OpFunctionCall %void %f{number + 1}\n"
            for call in range(calls if number < length else 0)
        )
        text += (
            f"%f{number} = OpFunction %void None %function\n%b{number} = OpLabel\n{body}"
            "OpReturn\nOpFunctionEnd\n"
        )
    return text


@pytest.mark.parametrize(
    ("length", "calls", "expected"),
    [(0, 0, 0), (1, 3, 3), (4, 2, 30), (3000, 1, 3000), (40, 2, 2**41 - 2), (400, 2, 2**64)],
)
def test_calls_of_a_chain(length: int, calls: int, expected: int) -> None:
    assert inlined_calls(parse(spirv_tools().assemble(chain(length, calls)))) == expected


def test_callees_stand_first() -> None:
    order = callees_first({1: [2, 3], 2: [3], 3: [4], 5: []})
    assert sorted(order) == [1, 2, 3, 5]
    assert order.index(3) < order.index(2) < order.index(1)
    assert sorted(callees_first({1: [2], 2: [1]})) == [1, 2]


@pytest.mark.device
def test_a_kernel_that_no_driver_would_compile(device: lp.Device) -> None:
    context = lp.Context([device])
    for text, number in (
        (chain(30, 2), "2,147,483,646,"),
        (chain(100, 2), "18,446,744,073,709,551,616 or more,"),
    ):
        source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, text)
        with pytest.raises(lp.BuildError, match=rf"come to {number}.*expected at most 65,536"):
            lp.build(source)
