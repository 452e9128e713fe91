"""What upstream's attributes say of a kernel's work-groups.

kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [8, 1, 1]>}
                                                            kernel.local_size = array<i32: 8>
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32

from ...ir.dialects.kernel import LOCAL_SIZE, RANK, launch_rank
from ...ir.dialects.spirv.target_attributes import EntryPointABIAttr
from .place import UpstreamPlace

_ABI = "spirv.entry_point_abi"
_LARGEST = (1 << 31) - 1


def settle_local_size(function: Any) -> None:
    """Fixes the local size of a kernel that names it; raises `PassError`."""
    abi = function.attributes.pop(_ABI, None)
    if not isinstance(abi, EntryPointABIAttr) or not abi.workgroup_size:
        return
    sizes = abi.workgroup_size
    if len(sizes) > 3 or not 1 <= min(sizes) <= max(sizes) <= _LARGEST:
        raise UpstreamPlace(function).refused(
            f"workgroup_size is up to three sizes of 1 to {_LARGEST:,}, found {list(sizes)}"
        )
    long = [number + 1 for number, size in enumerate(sizes) if size > 1]
    rank = max(launch_rank(function), *long, 1)
    padded = [*sizes, 1, 1][:rank]
    function.attributes[RANK] = IntegerAttr(rank, i32)
    function.attributes[LOCAL_SIZE] = DenseArrayBase.from_list(i32, padded[::-1])
