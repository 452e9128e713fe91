"""Random modules of SPIR-V: devices do what an interpreter of SPIR-V does."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

from .spirv_control_flow import module_text
from .spirv_declarations import LANES
from .spirv_interpreter import Invocation, Module, Pointer, TooLong
from .spirv_programs import SpirvProgram

FOUR_ROUNDS = """
%u = OpTypeInt 32 0
%c0 = OpConstant %u 0
%c1 = OpConstant %u 1
%c4 = OpConstant %u 4
%main = OpFunction %void None %main_type
%entry = OpLabel
OpBranch %header
%header = OpLabel
%left = OpPhi %u %c0 %entry %right %body
%right = OpPhi %u %c1 %entry %left %body
%count = OpPhi %u %c0 %entry %next %body
%goes_on = OpULessThan %bool %count LIMIT
OpLoopMerge %merge %body None
OpBranchConditional %goes_on %body %merge
%body = OpLabel
%next = OpIAdd %u %count %c1
OpBranch %header
%merge = OpLabel
%word = OpAccessChain %p_word %buffer %c0 %c0
OpStore %word %left
%other = OpAccessChain %p_word %buffer %c0 %c1
OpStore %other %count
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("seed", range(1920002, 1920010))
def test_devices_do_what_the_interpreter_does(seed):
    SpirvProgram(seed, wide=seed % 2 == 1).check(lp.devices())


def test_phis_of_a_block_take_what_was_there_before_any_of_them():
    memory = Pointer([[[7, 7]]])
    Invocation(Module(FOUR_ROUNDS.replace("LIMIT", "%c4")), 0, {"%buffer": memory}).run()
    assert memory.load() == [[0, 4]]
    Invocation(Module(FOUR_ROUNDS.replace("LIMIT", "%c1")), 0, {"%buffer": memory}).run()
    assert memory.load() == [[1, 1]]


def test_the_interpreter_ends_what_does_not():
    endless = FOUR_ROUNDS.replace("%count LIMIT", "%c0 %c4")
    with pytest.raises(TooLong):
        Invocation(Module(endless), 0, {"%buffer": Pointer([[[7, 7]]])}).run()


def test_programs_are_valid_end_differ_between_lanes_and_use_everything():
    opcodes, ended, differing = set(), 0, 0
    for seed in range(1920000, 1920020):
        program = SpirvProgram(seed, wide=seed % 2 == 1)
        program.binary()
        opcodes |= {word for word in program.text.split() if word.startswith("Op")}
        try:
            words, _ = program.expected()
        except TooLong:
            continue
        ended += 1
        differing += len(set(words[:LANES].tolist())) > 1
    assert ended >= 18
    assert differing >= 10
    assert opcodes >= {
        "OpSwitch",
        "OpUnreachable",
        "OpFunctionCall",
        "OpSpecConstantOp",
        "OpSConvert",
        "OpConvertFToU",
    }
    assert opcodes >= {
        "OpPhi",
        "OpLoopMerge",
        "OpReturnValue",
        "OpVectorInsertDynamic",
        "OpShiftRightArithmetic",
    }


def test_a_wrong_result_is_reported_with_its_place_and_the_module():
    program = SpirvProgram(1920002, wide=False)
    words, rows = program.expected()
    wrong = words + (np.arange(len(words)) == 3).astype(np.uint32)
    with pytest.raises(
        AssertionError, match=rf"buffer\[3\] is {wrong[3]}, expected {words[3]}; 1 numbers (?s:.)*OpPhi"
    ):
        program.compare("a device", (wrong, rows), (words, rows))


def test_a_seed_gives_one_module():
    assert module_text(5, ("%u",)) == module_text(5, ("%u",)) != module_text(6, ("%u",))
