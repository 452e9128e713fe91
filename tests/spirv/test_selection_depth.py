"""`spirv.selection_depth`: branches inside each other, through calls too."""

from __future__ import annotations

import pytest

from lapilli.spirv.binary import parse
from lapilli.spirv.selection_depth import selection_depth
from lapilli.spirv.tools import spirv_tools

HEAD = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%type = OpTypeFunction %void
%bool = OpTypeBool
%true = OpConstantTrue %bool
"""


def branch(name: str, inside: str) -> str:
    return f"""
OpSelectionMerge %{name}_end None
OpBranchConditional %true %{name}_then %{name}_end
%{name}_then = OpLabel
{inside}
OpBranch %{name}_end
%{name}_end = OpLabel
"""


def function(name: str, body: str) -> str:
    return (
        f"%{name} = OpFunction %void None %type\n%{name}_entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n"
    )


def call(name: str, number: int = 0) -> str:
    return f"%{name}_{number} = OpFunctionCall %void %{name}"


def chain(length: int) -> str:
    """Functions of which each calls the next in a branch."""
    last = function(f"f{length}", branch("last", ""))
    return last + "".join(function(f"f{n}", branch(f"b{n}", call(f"f{n + 1}"))) for n in range(length))


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (function("main", ""), 0),
        (function("main", branch("a", "")), 1),
        (function("main", branch("a", "") + branch("b", "")), 1),
        (function("main", branch("a", branch("b", "") + branch("c", branch("d", "")))), 3),
        (function("f", branch("a", branch("b", ""))) + function("main", branch("c", call("f"))), 3),
        (function("f", branch("a", "")) + function("main", call("f") + branch("c", call("f", 1))), 2),
        (chain(3000) + function("main", call("f0")), 3001),
    ],
)
def test_depth(functions: str, expected: int) -> None:
    text = HEAD + "".join(functions)
    binary = spirv_tools().assemble(text, "vulkan1.1")
    assert selection_depth(parse(binary)) == expected


def test_functions_that_call_each_other_come_to_an_end() -> None:
    functions = (
        function("f", branch("a", call("g")))
        + function("g", branch("b", call("f")))
        + function("main", call("f"))
    )
    assert selection_depth(parse(spirv_tools().assemble(HEAD + functions, "vulkan1.1"))) >= 2
