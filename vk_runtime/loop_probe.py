"""Finds out by a kernel after how many rounds a driver ends loops; see `quirks.LOOP_CAP`.

The kernel is in words, because the runtime has no compiler: `ASSEMBLY` is its text, and a test holds both together.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from ..ir.kernel_info import BufferParameter, KernelInfo, LaunchAbi, Requirements
from ..ir.lazy_logging import logger_of
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage
from .trace import unobserved

if TYPE_CHECKING:
    from .device import Device

logger = logger_of(__name__)

ROUNDS: Final = 200_000

ASSEMBLY: Final = """\
; A loop of 200,000 rounds that adds word 1 of the buffer; the sum goes to word 0.
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main"
               OpExecutionMode %main LocalSize 1 1 1
               OpDecorate %words ArrayStride 4
               OpMemberDecorate %block 0 Offset 0
               OpDecorate %block Block
               OpDecorate %buffer DescriptorSet 0
               OpDecorate %buffer Binding 0
       %void = OpTypeVoid
   %function = OpTypeFunction %void
       %bool = OpTypeBool
        %int = OpTypeInt 32 0
      %words = OpTypeRuntimeArray %int
      %block = OpTypeStruct %words
    %pointer = OpTypePointer StorageBuffer %block
    %element = OpTypePointer StorageBuffer %int
     %buffer = OpVariable %pointer StorageBuffer
       %zero = OpConstant %int 0
        %one = OpConstant %int 1
     %rounds = OpConstant %int 200000
       %main = OpFunction %void None %function
      %entry = OpLabel
     %result = OpAccessChain %element %buffer %zero %zero
     %addend = OpAccessChain %element %buffer %zero %one
               OpBranch %header
     %header = OpLabel
          %i = OpPhi %int %zero %entry %next %continue
        %sum = OpPhi %int %zero %entry %more %continue
       %test = OpULessThan %bool %i %rounds
               OpLoopMerge %merge %continue None
               OpBranchConditional %test %body %merge
       %body = OpLabel
      %value = OpLoad %int %addend
       %more = OpIAdd %int %sum %value
               OpBranch %continue
   %continue = OpLabel
       %next = OpIAdd %int %i %one
               OpBranch %header
      %merge = OpLabel
               OpStore %result %sum
               OpReturn
               OpFunctionEnd
"""

WORDS: Final = bytes.fromhex(
    "0302230700030100000007001b0000000000000011000200010000000e00030000000000010000000f00050005000000"
    "010000006d61696e00000000100006000100000011000000010000000100000001000000470004000200000006000000"
    "040000004800050003000000000000002300000000000000470003000300000002000000470004000400000022000000"
    "000000004700040004000000210000000000000013000200050000002100030006000000050000001400020007000000"
    "150004000800000020000000000000001d00030002000000080000001e00030003000000020000002000040009000000"
    "0c00000003000000200004000a0000000c000000080000003b00040009000000040000000c0000002b00040008000000"
    "0b000000000000002b000400080000000c000000010000002b000400080000000d000000400d03003600050005000000"
    "010000000000000006000000f80002000e000000410006000a0000000f000000040000000b0000000b00000041000600"
    "0a00000010000000040000000b0000000c000000f900020011000000f800020011000000f50007000800000012000000"
    "0b0000000e0000001300000014000000f500070008000000150000000b0000000e0000001600000014000000b0000500"
    "0700000017000000120000000d000000f6000400180000001400000000000000fa000400170000001900000018000000"
    "f8000200190000003d000400080000001a00000010000000800005000800000016000000150000001a000000f9000200"
    "14000000f800020014000000800005000800000013000000120000000c000000f900020011000000f800020018000000"
    "3e0003000f00000015000000fd00010038000100"
)


@cache
def _image() -> DeviceImage:
    kernel = KernelInfo(
        name="loop_probe",
        entry_point="main",
        parameters=(BufferParameter(name="out", dtype="u32", ndim=1, access="read_write"),),
        abi=LaunchAbi(rank=1, is_masked=False),
        required_work_group_size=(1,),
    )
    return DeviceImage(
        spirv=WORDS,
        kernels=(kernel,),
        spec_constants=(),
        requirements=Requirements(),
        target_env=TargetEnv(vulkan_version=(1, 1)),
    )


def probe_loop_cap(device: Device) -> int | None:
    """Returns after how many rounds the device ends loops, None where it runs `ROUNDS` of them.

    Takes a kernel launch, about 10 ms where the driver compiles it, of which no trace is told.
    """
    from .array_creation import asarray
    from .launch import launch

    image = _image()
    with unobserved():
        words = asarray([0, 1], dtype="u32", device=device)
        launch(device.default_queue, image, image.kernels[0], (1,), (1,), (words,), {})
        rounds = int(words.numpy()[0])
    logger.info("device '%s' runs %d of %d rounds of a loop", device.name, rounds, ROUNDS)
    return None if rounds == ROUNDS else rounds
