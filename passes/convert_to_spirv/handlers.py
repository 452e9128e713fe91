"""Finds how each operation is lowered, and imports the file that says it when the first such operation is met.

A kernel without atomics, images, prints and the like loads none of what lowers them.
"""

from __future__ import annotations

from importlib import import_module

from xdsl.ir import Operation

from ...ir.deferred_operations import import_deferred
from .function_lowering import Handler

_FILES = {
    "binary_handlers": "arith",
    "extrema_handlers": (
        "arith.minsi arith.maxsi arith.minui arith.maxui arith.minnumf arith.maxnumf arith.minimumf arith.maximumf"
    ),
    "compare_handlers": "arith.cmpi arith.cmpf arith.select",
    "cast_handlers": (
        "arith.extsi arith.extui arith.trunci arith.index_cast arith.sitofp arith.uitofp arith.fptosi arith.fptoui "
        "arith.extf arith.truncf arith.bitcast arith.negf"
    ),
    "math_handlers": "math",
    "bit_handlers": "math.absi math.ctpop math.ctlz math.cttz",
    "memory_handlers": "memref kernel.load_field kernel.store_field kernel.load_wide kernel.store_wide",
    "poison_handlers": "ub",
    "local_array": "memref.alloc memref.alloca",
    "atomic_handlers": (
        "kernel.atomic_rmw kernel.atomic_compare_exchange kernel.atomic_load kernel.atomic_store"
    ),
    "control_flow_handlers": "scf",
    "call_handlers": "func.call",
    "work_item_handlers": "gpu kernel.global_range",
    "spec_constant_table": "spec_constant",
    "spirv_handlers": "spirv",
    "report_handlers": (
        "kernel.check kernel.print kernel.count_rounds kernel.agree_on_rounds kernel.check_rounds "
        "kernel.without_notes"
    ),
    "image_handlers": (
        "kernel.image_read kernel.image_write kernel.image_sample kernel.image_size gpu.barrier "
        "spirv.ControlBarrier spirv.MemoryBarrier"
    ),
}
"""The dialects and operations that each file lowers; an operation that is named goes before its dialect."""

_FILE_OF = {name: file for file, names in _FILES.items() for name in names.split()}


class _Handlers(dict[type[Operation], Handler | None]):
    """Handlers by operation class; None where there is none."""

    def __missing__(self, kind: type[Operation]) -> Handler | None:
        self[kind] = found = _find(kind)
        return found


def _find(kind: type[Operation]) -> Handler | None:
    file = _FILE_OF.get(kind.name) or _FILE_OF.get(kind.name.partition(".")[0])
    if file is None:
        return None
    handlers: dict[type[Operation], Handler] = import_deferred(f"{__package__}.{file}").HANDLERS
    try:
        return handlers[kind]
    except KeyError:
        return None


def import_usual_handlers() -> None:
    """Imports the files that next to every kernel needs, so that its compilation need not."""
    for file in (
        "binary_handlers",
        "compare_handlers",
        "control_flow_handlers",
        "memory_handlers",
        "work_item_handlers",
    ):
        import_module(f".{file}", __package__)


HANDLERS = _Handlers()
"""How each operation class is lowered."""
