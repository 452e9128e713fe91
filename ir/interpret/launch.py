"""The reference interpreter: runs a kernel of a kernel-level module with NumPy, and checks what devices do not.

It is slow, and right: what an operation does is written down here once, without a compiler or a driver
between.  A launch ends with `KernelTrap` at the first

* index out of range of an array, a fixed array or a vector,
* read of shared or private memory that nothing was written to,
* data race: accesses of one location, at least one a write and not both atomic, that no barrier orders,
* barrier that only some work-items of a work-group reach,
* loop without end, as far as a limit on iterations tells,
* arithmetic that SPIR-V leaves undefined, which the front end never emits,
* failed check of the kernel's own: ``assert``, and those of debug mode.

The work-items of a work-group run in lockstep, several work-groups at once where the memory for it is small.
Atomic operations happen in the order of the work-items' numbers, so every run gives the same result.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..call_graph import Function, function_name, functions
from ..dialects.kernel import is_kernel
from ..errors import InvalidError
from . import (
    atomic_ops,
    barrier_ops,
    composite_ops,
    control_flow_ops,
    conversion_ops,
    float_ops,
    image_ops,
    integer_ops,
    math_ops,
    memory_ops,
    report_ops,
    spec_constant_ops,
    sub_group_ops,
    work_item_ops,
)
from .arguments import Argument, Bound, bind, host_of
from .dispatch import HANDLERS, Handler
from .frame import Batch
from .races import Timeline

OPERATIONS = (
    atomic_ops,
    barrier_ops,
    composite_ops,
    control_flow_ops,
    conversion_ops,
    float_ops,
    image_ops,
    integer_ops,
    math_ops,
    memory_ops,
    report_ops,
    spec_constant_ops,
    sub_group_ops,
    work_item_ops,
)
"""The modules whose import fills `dispatch`."""

BATCH_SIZE = 4096
"""Work-items that run at once, at most, unless one work-group has more."""
DEFAULT_SUB_GROUP_SIZE = 32
DEFAULT_STEP_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a launch is interpreted."""

    sub_group_size: int = DEFAULT_SUB_GROUP_SIZE
    """Work-items of a sub-group."""
    step_limit: int = DEFAULT_STEP_LIMIT
    """Iterations that all loops together may take, in the work-groups that run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """The work-items of a launch."""

    range_: tuple[int, ...]
    """What the user asked for, slowest dimension first."""
    local: tuple[int, ...]
    """Work-items of a work-group, slowest dimension first."""

    @property
    def group_counts(self) -> tuple[int, ...]:
        """Work-groups, slowest dimension first; the last ones may reach beyond the range."""
        return tuple(-(-n // size) for n, size in zip(self.range_, self.local, strict=True))

    def global_id(self, item: int) -> tuple[int, ...]:
        """Returns the global id of the work-item with a number; they are numbered group by group."""
        group, own = divmod(item, self.group_size)
        groups, owns = np.unravel_index(group, self.group_counts), np.unravel_index(own, self.local)
        parts = zip(groups, self.local, owns, strict=True)
        return tuple(int(g) * size + int(n) for g, size, n in parts)

    @property
    def group_size(self) -> int:
        """Work-items of a work-group."""
        return math.prod(self.local)


@dataclass(frozen=True, slots=True)
class Code:
    """A block, looked up once."""

    steps: tuple[tuple[Operation, Handler, tuple[SSAValue, ...], tuple[SSAValue, ...]], ...]
    """Operation, handler, operands and results."""
    yielded: tuple[SSAValue, ...]
    """Operands of the terminator."""


@dataclass(eq=False)
class Launch:
    """A kernel on its way; see `interpret_module`."""

    kernel: Function
    name: str
    shape: LaunchShape
    options: Options
    spec_values: Mapping[str, bytes]
    timeline: Timeline
    callees: dict[str, Function]
    """All functions of the module by name."""
    bound: list[Bound]
    """The arguments."""
    lines: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    """What work-items printed: their numbers, the stream parameter or nothing, and the text."""
    sites: list[Operation] = field(default_factory=list[Operation])
    """The operations that accessed memory, by number."""
    _site_numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _code: dict[Block, Code] = field(default_factory=dict[Block, Code])

    def code(self, block: Block) -> Code:
        """Returns what a block consists of.

        Raises:
            InvalidError: there is an operation that is no part of kernel-level IR.
        """
        found = self._code.get(block)
        if found is None:
            *body, terminator = block.ops
            steps = [(op, _handler(op), tuple(op.operands), tuple(op.results)) for op in body]
            found = self._code[block] = Code(tuple(steps), tuple(terminator.operands))
        return found

    def site(self, op: Operation) -> int:
        """Returns the number of an operation that accesses memory."""
        found = self._site_numbers.get(op)
        if found is None:
            found = self._site_numbers[op] = len(self.sites)
            self.sites.append(op)
        return found


def _handler(op: Operation) -> Handler:
    found = HANDLERS.get(op.name)
    if found is None:
        raise InvalidError(f"the interpreter has no operation '{op.name}'")
    return found


def interpret_module(
    module: ModuleOp,
    name: str,
    shape: LaunchShape,
    arguments: Sequence[Argument],
    *,
    spec_values: Mapping[str, bytes] | None = None,
    options: Options | None = None,
    write: Callable[[str, str], object] | None = None,
) -> frozenset[int]:
    """Runs a kernel over a range.

    Args:
        module: a verified kernel-level module, not yet optimised: optimising removes what is checked.
        name: of the kernel.
        shape: the range and the local size.
        arguments: one for each argument of the kernel's function; arrays and images are changed in place.
        spec_values: host bytes of specialization constants by symbol; absent ones have their default.
        options: of the interpreter.
        write: gets what the kernel printed, in the order of the work-items, each time with the name of the stream
            parameter that it goes to, empty for sys.stdout; None: all goes to sys.stdout.

    Returns:
        The positions of the arrays and images that were stored to.

    Raises:
        KernelTrap: a check found something wrong; the arrays that the kernel writes are as far as it came.
        InvalidError: there is no such kernel, or an operation that is no part of kernel-level IR.
    """
    options = options or Options()
    callees = {function_name(function): function for function in functions(module)}
    kernel = callees.get(name)
    if kernel is None or not is_kernel(kernel):
        raise InvalidError(f"the module has no kernel '{name}'")
    if 0 in shape.range_:
        return frozenset()
    timeline = Timeline(shape.group_size, min(options.sub_group_size, shape.group_size))
    bound, memories = bind(kernel, arguments)
    launch = Launch(kernel, name, shape, options, spec_values or {}, timeline, callees, bound)
    try:
        _run(launch)
    finally:
        changed = memories.write_back()
        if launch.lines:
            ordered = sorted(launch.lines, key=lambda line: line[0])
            for _, stream, text in ordered:
                sys.stdout.write(text) if write is None else write(stream, text)
    return frozenset(i for i, argument in enumerate(arguments) if host_of(argument) in changed)


def _run(launch: Launch) -> None:
    shape = launch.shape
    groups, per_batch = math.prod(shape.group_counts), max(1, BATCH_SIZE // shape.group_size)
    with np.errstate(all="ignore"):
        for first in range(0, groups, per_batch):
            numbers = np.arange(first, min(first + per_batch, groups))
            batch = Batch(launch, numbers)
            launch.timeline.enter(first * shape.group_size, batch.size, groups * shape.group_size)
            batch.run()
