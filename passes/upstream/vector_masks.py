"""`vector.mask`: an operation for the components that a mask names.

%s = vector.mask %m { vector.reduction <add>, %v : … }     %t = arith.addf %a, %v#1   %s = arith.select %m#1, %t, %a
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import SSAValue

from .vector_memory import transfer_read, transfer_write
from .vector_place import VectorLowering, VectorPlace
from .vector_sums import masked_multi_reduction, masked_reduction

_TRANSFERS = {"vector.transfer_read": transfer_read, "vector.transfer_write": transfer_write}
_REDUCTIONS = {"vector.reduction": masked_reduction, "vector.multi_reduction": masked_multi_reduction}


def mask(place: VectorPlace) -> Sequence[Sequence[SSAValue]]:
    """Lowers the operation inside with the mask; without one the values that are yielded are the results."""
    bits, *otherwise = place.op.operands
    inner = [op for op in place.op.regions[0].block.ops if op.name != "vector.yield"]
    if not inner:
        return [place.parts(value) for op in place.op.regions[0].block.ops for value in op.operands]
    place.expect(len(inner) == 1, "it holds one operation")
    (op,) = inner
    inside = place.for_inner(op)
    if op.name in _REDUCTIONS and not otherwise:
        made = _REDUCTIONS[op.name](inside, place.parts(bits))
    elif op.name in _TRANSFERS and not otherwise:
        op.operands = [*op.operands, bits]
        sizes = [*op.properties["operandSegmentSizes"].get_values()[:3], 1]  # pyright: ignore
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        made = _TRANSFERS[op.name](inside)
    else:
        raise place.refused(
            f"'{op.name}' takes no mask here; use vector.maskedload and vector.maskedstore, or arith.select "
            "with the mask"
        )
    return made if place.op.results else []


MASKS: dict[str, VectorLowering] = {"vector.mask": mask}
"""How it is lowered."""
