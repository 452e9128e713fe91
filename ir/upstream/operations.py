"""All operations of upstream's that are read by classes of our own, by name."""

from __future__ import annotations

from xdsl.ir import Operation

from .affine import AFFINE_OPERATIONS
from .arith import ARITHMETIC
from .gpu import GPU_OPERATIONS
from .index import INDEX_OPERATIONS
from .memref import MEMREF_OPERATIONS
from .scf import SCF_OPERATIONS
from .vector_memory import VECTOR_MEMORY_OPERATIONS
from .vector_sums import VECTOR_SUM_OPERATIONS
from .vectors import VECTOR_OPERATIONS

UPSTREAM_OPERATIONS: dict[str, type[Operation]] = {
    kind.name: kind
    for kind in (
        *(
            *AFFINE_OPERATIONS,
            *ARITHMETIC,
            *GPU_OPERATIONS,
            *INDEX_OPERATIONS,
            *MEMREF_OPERATIONS,
            *SCF_OPERATIONS,
        ),
        *(*VECTOR_MEMORY_OPERATIONS, *VECTOR_OPERATIONS, *VECTOR_SUM_OPERATIONS),
    )
}
"""Operations by name."""
