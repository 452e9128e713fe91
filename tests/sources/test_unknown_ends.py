"""What becomes of loops that may have no end where their rounds are counted."""

from __future__ import annotations

import pytest

from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.count_rounds import counted
from lapilli.spirv.dead_blocks import dead_blocks_emptied
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.module_view import ModuleView
from lapilli.spirv.tables import Op, opcode_name
from lapilli.spirv.tools import spirv_tools

from .endless_modules import HEADER, LOOPS

COUNTS = """%header = OpLabel
%i = OpPhi %int %zero %entry %next %continue
%limit = OpLoad %int %flag
%test = {test}
OpLoopMerge %merge %continue None
OpBranchConditional %test %continue %merge
%continue = OpLabel
%next = {next}
OpBranch %header
%merge = OpLabel
%t = OpIAdd %int %i %one
OpStore %result %t
OpReturn
"""

IN_A_ROUND = """%header = OpLabel
%i = OpPhi %int %zero %entry %next %continue
%test = OpSLessThan %bool %i %two
OpLoopMerge %merge %continue None
OpBranchConditional %test %body %merge
%body = OpLabel
%f = OpLoad %int %flag
%c = OpSGreaterThan %bool %f %i
OpSelectionMerge %join None
OpBranchConditional %c %inner %right
%inner = OpLabel
OpLoopMerge %behind %again None
OpBranch %inside
%inside = OpLabel
OpSelectionMerge %on None
OpSwitch %f %on 7 %out
%out = OpLabel
OpBranch %behind
%on = OpLabel
OpBranch %again
%again = OpLabel
OpStore %result %one
OpBranch %inner
%behind = OpLabel
OpUnreachable
%right = OpLabel
%v = OpIAdd %int %f %one
OpBranch %join
%join = OpLabel
OpBranch %continue
%continue = OpLabel
{last}
OpBranch %header
%merge = OpLabel
%t = OpIAdd %int %i %one
OpStore %result %t
OpReturn
"""
IN_FRONT_OF_A_LOOP = """%header = OpLabel
OpLoopMerge %merge %continue None
OpBranch %body
%body = OpLabel
%f = OpLoad %int %flag
OpSelectionMerge %on None
OpSwitch %f %on 1 %out
%out = OpLabel
%t = OpIMul %int %f %f
OpBranch %merge
%on = OpLabel
OpBranch %continue
%continue = OpLabel
OpBranch %header
%merge = OpLabel
%k = OpPhi %int %t %out %next %again
OpLoopMerge %end %again None
OpBranch %again
%again = OpLabel
%next = OpIAdd %int %k %t
%test = OpSLessThan %bool %k %f
OpBranchConditional %test %merge %end
%end = OpLabel
OpReturn
"""


def binary(loop: str) -> bytes:
    return spirv_tools().assemble(f"{HEADER}{loop}OpFunctionEnd\n", "spv1.3")


def unknown_tests(loop: str) -> int:
    """Returns how many tests ask for the number that no driver knows."""
    view = counted_module(loop)
    ends = {i.result_id for i in view.of_opcode(Op.Constant) if i.operands == (1 << 31,)}
    items = [item for function in view.functions for item in function.instructions()]
    return sum(item.opcode == Op.ULessThan and item.operands[1] in ends for item in items)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_loops_without_an_end_get_one(loop: str) -> None:
    """Also where drivers do not lose what loops compute, so that values are used behind them as they were."""
    assert unknown_tests(loop) == 1


@pytest.mark.parametrize(
    ("test", "following", "is_asked"),
    [
        ("OpSLessThan %bool %i %limit", "OpIAdd %int %i %two", False),
        ("OpSGreaterThan %bool %limit %i", "OpIAdd %int %i %two", False),
        ("OpSGreaterThan %bool %i %limit", "OpISub %int %i %one", False),
        ("OpULessThan %bool %limit %i", "OpISub %int %i %one", False),
        ("OpULessThanEqual %bool %i %limit", "OpIAdd %int %i %one", True),  # the limit may be the last number
        ("OpSLessThan %bool %i %limit", "OpISub %int %i %one", True),
        ("OpSLessThan %bool %i %limit", "OpIMul %int %i %two", True),
        ("OpSLessThan %bool %i %limit", "OpIAdd %int %i %limit", True),
        ("OpINotEqual %bool %i %limit", "OpIAdd %int %i %one", True),
        ("OpULessThan %bool %i %next", "OpIAdd %int %i %one", True),
    ],
)
def test_loops_that_count_up_or_down_to_an_end_stay(test: str, following: str, is_asked: bool) -> None:
    loop = COUNTS.format(test=test, next=following)
    if "%next" in test:
        loop = loop.replace(
            "%test = OpULessThan %bool %i %next",
            "%more = OpIAdd %int %i %one\n%test = OpULessThan %bool %i %more",
        )
    assert unknown_tests(loop) == is_asked


def counted_module(loop: str) -> ModuleView:
    """Returns the module of a loop as it counts its rounds, and finds it valid."""
    (image,) = foreign_kernels(binary(loop)).images
    found = counted(image, 65_535)
    assert found is not None
    assert spirv_tools().validate(found.spirv, "vulkan1.3") is None
    return ModuleView(parse(found.spirv))


@pytest.mark.parametrize(
    ("last", "returns"),
    [
        ("%next = OpIAdd %int %i %one", 1),
        ("%next = OpIAdd %int %v %one", 2),
        ("%p = OpPhi %int %v %join\n%next = OpIAdd %int %p %one", 2),
    ],
    ids=["of its header", "of what is passed by", "of a choice"],
)
def test_rounds_go_on_behind_an_inner_loop_where_they_need_nothing_of_it(last: str, returns: int) -> None:
    """Else the inner loop, which nothing came behind, is followed by a return."""
    function = counted_module(IN_A_ROUND.format(last=last)).functions[0]
    assert sum(item.opcode == Op.Return for item in function.instructions()) == returns


def test_what_is_behind_a_loop_may_begin_another() -> None:
    counted_module(IN_FRONT_OF_A_LOOP)


def test_code_that_is_reached_stays() -> None:
    module = parse(binary(COUNTS.format(test="OpSLessThan %bool %i %limit", next="OpIAdd %int %i %one")))
    assert dead_blocks_emptied(module) is module


def test_code_that_nothing_reaches_goes() -> None:
    module = dead_blocks_emptied(parse(binary(LOOPS["code that nothing reaches"])))
    assert spirv_tools().validate(serialise(module), "vulkan1.1") is None
    (function,) = ModuleView(module).functions
    assert [[opcode_name(item.opcode) for item in block.body] for block in function.blocks][-3:] == [
        ["OpUnreachable"],
        ["OpBranch"],
        ["OpUnreachable"],
    ]
    assert not any(item.opcode == Op.Name for item in module.instructions)


def test_continue_targets_that_nothing_reaches_lead_to_their_header() -> None:
    loop = COUNTS.format(test="OpSLessThan %bool %i %limit", next="OpIAdd %int %i %one")
    loop = loop.replace("%test %continue %merge", "%test %body %merge").replace(
        "%continue = OpLabel\n%next", "%body = OpLabel\nOpReturn\n%continue = OpLabel\n%next"
    )
    module = dead_blocks_emptied(parse(binary(loop)))
    assert spirv_tools().validate(serialise(module), "vulkan1.1") is None
    (function,) = ModuleView(module).functions
    phi = next(item for item in function.instructions() if item.opcode == Op.Phi)
    assert module.instructions and len(phi.operands) == 4
    assert not any(item.opcode == Op.IAdd for item in function.blocks[3].body)
