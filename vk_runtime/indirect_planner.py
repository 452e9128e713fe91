"""Turns a range in device memory into an indirect dispatch, by a kernel of one work-item that runs before it.

The planner reads the extents, computes the work-group counts (VkDispatchIndirectCommand), and writes the extents to
where the kernel reads its range.  It checks what the host checks of other ranges: whatever the memory holds, no more
is dispatched than the device allows.  A range that cannot be dispatches nothing and is reported as a failed check.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..ir.kernel_info import BufferParameter, KernelInfo, LaunchAbi, Requirements, ScalarParameter, Site
from ..ir.target_env import TargetEnv
from ..spirv.device_image import DeviceImage
from .indirect_assembly import ARGUMENT_COUNT, WORDS
from .kernel_commands import KernelBinding
from .kernel_pipeline import kernel_pipeline
from .launch_plan import as_xyz, plan_launch
from .launch_record import LaunchRecord

if TYPE_CHECKING:
    from .device import Device
    from .indirect_range import CheckedIndirectRange
    from .launch_plan import LaunchPlan

COMMAND_BYTES = 16
"""A VkDispatchIndirectCommand, and a word that takes what the kernel has no range field for."""

_SPARE_WORD = 3
_ABSENT = 0xFFFF_FFFF


@cache
def _image() -> DeviceImage:
    kernel = KernelInfo(
        name="indirect range",
        entry_point="main",
        parameters=(
            BufferParameter(name="counts", dtype="u32", ndim=1, access="read", binding=0),
            BufferParameter(name="memory", dtype="u32", ndim=1, access="read_write", binding=1),
            *(
                ScalarParameter(name=f"argument {n}", dtype="u32", offset_bytes=4 * n)
                for n in range(ARGUMENT_COUNT)
            ),
        ),
        abi=LaunchAbi(rank=1, is_masked=False, argument_block_bytes=4 * ARGUMENT_COUNT, report_binding=2),
        required_work_group_size=(1,),
    )
    return DeviceImage(
        spirv=WORDS,
        kernels=(kernel,),
        spec_constants=(),
        requirements=Requirements(),
        target_env=TargetEnv(vulkan_version=(1, 1)),
    )


def planner_record(device: Device) -> LaunchRecord:
    """Returns the planner's launch record on a device, made once."""
    launches, image = device.logical.launches, _image()
    kernel = image.kernels[0]
    found = launches.records.get((id(image), id(kernel)))
    if found is None:
        plan = plan_launch(kernel, (1,), (1,), device.logical.physical.limits, device.name)
        pipeline = kernel_pipeline(device, image, kernel, plan, {})
        found = LaunchRecord(device, KernelBinding(image, kernel), plan, pipeline)
        launches.add((id(image), id(kernel)), found)
    return found


def planner_arguments(
    kernel: KernelInfo, plan: LaunchPlan, range_: CheckedIndirectRange, command_byte: int, block_byte: int
) -> list[int]:
    """Returns the planner's scalars.

    Args:
        kernel: is launched by what the planner writes.
        plan: its local size and the device's limits; the extents are of no account.
        range_: where the extents are in the array.
        command_byte: where in the memory the command goes.
        block_byte: where the kernel's argument block lies in the same memory.
    """
    rank, abi = kernel.abi.rank, kernel.abi
    spare = command_byte // 4 + _SPARE_WORD
    offsets = [*abi.range_offsets_bytes, *(None,) * rank][:rank]
    fields = [spare if field is None else (block_byte + field) // 4 for field in offsets]
    most = (1 << (abi.index_bits - 1)) - 1
    last = range_.offset + range_.dimensions - 1
    return [
        *(last - d if d < range_.dimensions else _ABSENT for d in range(3)),
        *plan.local_xyz,
        *as_xyz(plan.max_group_counts),
        *reversed(fields),
        *(spare,) * (3 - rank),
        command_byte // 4,
        min(most, _ABSENT),
        int(abi.is_masked),
    ]


def reported_kernel(kernel: KernelInfo, plan: LaunchPlan) -> KernelInfo:
    """Returns what a failed check of the planner is told as: one of the kernel's own."""
    rank = kernel.abi.rank
    shown = "{2}" if rank == 1 else f"({', '.join(f'{{{d}}}' for d in range(3 - rank, 3))})"
    local = plan.local[0] if rank == 1 else plan.local
    most = plan.max_group_counts[0] if rank == 1 else plan.max_group_counts
    bits = min(kernel.abi.index_bits - 1, 32)
    texts = (
        f"the indirect range {shown} has 2**{bits} work-items or more",
        f"the indirect range {shown} is no multiple of the local size {local}, and the work-items work together",
        f"the indirect range {shown} in work-groups of {local} has more than the {most} that the device dispatches "
        "(maxComputeWorkGroupCount); give IndirectRange a larger local_size",
    )
    sites = tuple(
        Site(kind="assert", text=text, dtypes=("u32",) * 3, location=kernel.location) for text in texts
    )
    return replace(_image().kernels[0], name=kernel.name, sites=sites)


def is_range_pushed(kernel: KernelInfo) -> bool:
    """Whether the kernel reads its range from push constants, which only the host writes."""
    abi = kernel.abi
    return abi.argument_block_binding is None and any(
        offset is not None for offset in abi.range_offsets_bytes
    )
