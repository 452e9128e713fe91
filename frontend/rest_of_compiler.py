"""Preparing what the next kernel may need while the driver compiles the one before, on a CPU of its own.

A kernel without loops imports no pass that changes loops.  So the first kernel with one would pay for them, unless they
are there: software drivers compile at the first dispatch, on their own thread, for longer than these imports take, and
most programs do nothing but wait meanwhile.  So do methods of dataclasses that the kernel before has called and that
are not compiled yet (`ir.late_methods`), and classes of operations that it has read (`ir.deferred_operations`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Final

from ..ir.deferred_operations import deferred_imports, define_frequent
from ..ir.late_methods import compile_frequent
from ..ir.lazy_logging import logger_of

logger = logger_of(__name__)

REST: Final = (
    "frontend.loop_exits",
    "frontend.carried",
    "frontend.unrolled_loops",
    "frontend.loops",
    "passes.optimise.hoist_checks",
    "passes.optimise.hoist_invariants",
    "passes.optimise.reduce_strength",
    "passes.optimise.rows",
    "passes.optimise.join_loads",
    "passes.copies",
    "passes.loop_bounds",
    "passes.speculate_rounds",
    "passes.unroll",
    "passes.pair_rounds",
    "passes.unroll_barriers",
    "passes.carry_results",
    "passes.loop_counters",
    "passes.round_agreements",
    "passes.limit_loops",
    "passes.convert_to_spirv.exact_conversions",
    "passes.convert_to_spirv.negated_truths",
    "ir.dialects.spirv.cast",
    "passes.convert_to_spirv.cast_handlers",
    "passes.convert_to_spirv.report_handlers",
    "ir.site_text",
    "vk_runtime.print_order",
    "vk_runtime.report_values",
    "vk_runtime.printer",
    "vk_runtime.reports",
    "ir.dialects.spirv.bit",
    "ir.dialects.spirv.atomic",
    "ir.dialects.spirv.glsl_arithmetic",
    "ir.dialects.spirv.group",
    "ir.dialects.spirv.group_ballot",
    "frontend.helper_arguments",
    "frontend.group_library",
    "frontend.helper_results",
    "frontend.lost_stores",
    "frontend.helpers",
    "frontend.math_library_calls",
    "xdsl.dialects.math",
    "frontend.math_functions",
    "passes.convert_to_spirv.float_expression",
    "passes.convert_to_spirv.double_rounding",
    "passes.convert_to_spirv.expansions",
    "passes.convert_to_spirv.absolute_values",
    "ir.dialects.spirv.glsl_elementary",
    "passes.convert_to_spirv.math_handlers",
    "passes.convert_to_spirv.counted_rounds",
    "passes.convert_to_spirv.unknown_ends",
    "passes.optimise.lift_breaks",
    "passes.convert_to_spirv.integer_extrema",
    "passes.convert_to_spirv.extrema_handlers",
    "passes.convert_to_spirv.call_handlers",
    "passes.convert_to_spirv.local_array",
    "passes.convert_to_spirv.image_handlers",
    "passes.optimise.exchanges",
    "passes.optimise.narrow_barriers",
    "ir.divergence",
    "frontend.atomic_places",
    "frontend.atomics",
    "passes.convert_to_spirv.atomic_place",
    "passes.convert_to_spirv.narrow_atomics",
    "passes.convert_to_spirv.atomic_handlers",
)
"""What kernels with loops, ``lp.math``, helpers, barriers and atomics need beyond a first one, the most frequent
first, each behind what it imports itself: whoever waits for the device is kept by one module at most."""


SELDOM_CALLS: Final = 1
"""A method that was called so often is worth compiling where nothing is left to be imported."""

_pending: Final = [*reversed(REST)]
"""What is left, the next one last."""


def use_the_wait(
    is_busy: Callable[[], bool], take: Callable[[], bool], give_back: Callable[[], object]
) -> None:
    """Compiles methods and imports modules one by one for as long as a device is busy; none where there is one CPU.

    A later call goes on where this one ends.

    Args:
        is_busy: asked before each.
        take: called before each, takes the lock of compilations if it is free, as two threads that import parts of the
            compiler at once may need each other's; returns whether it was, and nothing more is imported if not.
        give_back: releases the lock if this thread has taken it.

    Raises:
        Error: what `is_busy` raises, as any wait does.
    """
    if cpu_count() < 2:
        return
    try:
        with deferred_imports():
            while is_busy() and take() and _prepare_next():
                give_back()
    finally:
        give_back()


def _prepare_next() -> bool:
    """Does the next thing; whether there was one and it went well.  Whoever needs it is told otherwise, as the launch
    is done."""
    try:
        if compile_frequent():
            return True
        if _pending:
            name = _pending.pop()
            import_module(name if name.startswith("xdsl.") else f"..{name}", __package__)
            return True
        return compile_frequent(SELDOM_CALLS) or define_frequent()
    except Exception as error:  # for example: too little stack is left
        logger.debug("preparing the next kernel ends early: %r", error)
    return False


def cpu_count() -> int:
    """Returns how many CPUs this thread may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
