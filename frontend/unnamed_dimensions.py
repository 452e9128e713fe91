"""Finds kernels that leave dimensions of their range out: ``k[8, 128]`` of one that names dimension 0 alone.

Each of its work-items is run 128 times then. Whoever comes from CUDA or Numba means 8 blocks of 128 threads.
"""

from __future__ import annotations

from xdsl.ir import Operation

from .function_builder import FunctionBuilder

_TELLS_APART = ("gpu.lane_id", "gpu.subgroup_id", "gpu.barrier", "kernel.atomic", "spirv.")
"""Beginnings of ops by which work-items of one index can do different things, or count how many there are."""


def note_unnamed_dimensions(fb: FunctionBuilder, kernel: Operation) -> None:
    """Adds a warning for a kernel that is compiled for several dimensions and names the first alone.

    Args:
        fb: of the kernel, whose body is built.
        kernel: its function.
    """
    module = fb.module
    if (
        not module.is_rank_given
        or module.rank == 1
        or module.named_dimensions != {0}
        or module.uses_linear_ids
    ):
        return
    if any(op.name.startswith(_TELLS_APART) for part in (kernel, *module.functions) for op in part.walk()):
        return
    fb.warn(
        fb.source.tree,
        f"kernel '{module.kernel_name}' names dimension 0 alone and is launched over {module.rank}: the "
        "work-items along the last one all do the same. The range counts work-items: k[n] for n of them; what is "
        "k[blocks, threads] in Numba is k[lp.NdRange(blocks * threads, threads)]",
    )
