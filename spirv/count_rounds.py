"""Makes kernels count the rounds of their loops, for drivers that end loops early without a word: `counted`.

What `passes.limit_loops` does for kernels in Python is done here for binaries: of other compilers, of files, and of
kernels that are linked with functions of other modules.  Such a driver (`vk_runtime.quirks`) counts the rounds of all
loops of a sub-group in one number, and leaves every loop once that reaches its cap.  Here each sub-group has a word of
shared memory with the same number, whatever functions its loops are in and whichever ways its work-items went:

    header of a loop:                  one of the active work-items adds 1, and 1 for each loop inside
    or, of one with no loops inside:   each work-item counts in a variable; the highest is added behind the loop

Around other loops a variable would not do: where the driver ends a loop in the middle of a round, its variables are
behind it what they were at its last header, without what loops inside added since.

The driver runs loops for a round also where no work-item takes them: `passes.limit_loops` says more.  Of loops without
an end it would leave out the report: `unknown_ends`.

A new entry point sets the word to the number of loops but one, which may be passed by, calls the old one, and reports
the kernel where the word has reached the cap.  Outermost loops whose line is known note it when they end so, for the
report.  Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..ir.errors import Location
from ..ir.kernel_info import BufferParameter, ImageParameter, KernelInfo, LocalArrayInfo, Site
from ..ir.lazy_logging import logger_of
from ..ir.size_arithmetic import SizeNode
from .binary import Instruction, Module, decode_string, parse, serialise
from .count_epilogue import Counter, entry_function
from .dead_blocks import dead_blocks_emptied
from .device_image import DeviceImage
from .loop_blocks import Loop
from .module_editor import GROUP_CAPABILITIES, Body, ModuleEditor
from .module_loops import ModuleLoops
from .module_view import FunctionView, ModuleView
from .tables import Capability, GroupOperation, Op, Scope, StorageClass
from .unknown_ends import UnknownEnds

logger = logger_of(__name__)

MOST_INVOCATIONS = 1024
"""Of a work-group, on every driver that needs this."""


def counted(image: DeviceImage, cap: int) -> DeviceImage | None:
    """Returns an executable image whose kernels count their rounds; itself where they provably stay below the cap.

    Args:
        image: valid, and linked.  Kernels that check their loops already stay as they are.
        cap: rounds after which the driver ends every loop.

    Returns:
        None where shared memory has an explicit layout, which a word for each sub-group would not fit.
    """
    module = dead_blocks_emptied(parse(image.spirv))
    view = ModuleView(module)
    loops = ModuleLoops(view)
    entries = _entries(view)
    kernels = [kernel for kernel in image.kernels if not _checks_loops(kernel)]
    most = [loops.most_rounds(entries[kernel.entry_point]) for kernel in kernels]
    env = replace(image.target_env, loop_iteration_cap=cap)
    if all(rounds is not None and rounds < cap for rounds in most):
        return replace(image, target_env=env)
    if any(
        i.operands == (Capability.WorkgroupMemoryExplicitLayoutKHR,) for i in view.of_opcode(Op.Capability)
    ):
        return None
    done = {entries[kernel.entry_point] for kernel in image.kernels if _checks_loops(kernel)}
    sites, binary, found = _rewritten(module, loops, kernels, entries, done, cap)
    words = _words(kernels)
    described = (_described(k, found[k.name], sites, words) if k.name in found else k for k in image.kernels)
    return replace(image, spirv=binary, kernels=tuple(described), target_env=env)


def for_driver(image: DeviceImage, cap: int | None) -> DeviceImage:
    """Returns an image for a driver that ends loops at a cap, None for one that does not.

    Args:
        image: valid.  An executable image counts its rounds then; an object is marked, to count them when it is linked.
        cap: of the driver.

    Returns:
        The image itself, with a warning in the log, where rounds cannot be counted.
    """
    if cap is None:
        return image
    if image.is_object:
        return replace(image, target_env=replace(image.target_env, loop_iteration_cap=cap))
    found = counted(image, cap)
    if found is None:
        logger.warning(
            "the rounds of loops of %s cannot be counted, and the driver ends all loops of a sub-group after %d",
            ", ".join(kernel.name for kernel in image.kernels),
            cap,
        )
    return found or image


def counts_rounds(image: DeviceImage, kernel: KernelInfo) -> bool:
    """Whether a kernel of an image reports loops that are ended, or never has so many rounds."""
    return image.target_env.loop_iteration_cap is not None or _checks_loops(kernel)


def _checks_loops(kernel: KernelInfo) -> bool:
    return any(site.kind == "loop" for site in kernel.sites)


def _entries(view: ModuleView) -> dict[str, int]:
    """Returns the functions of entry points by name."""
    return {decode_string(i.operands, 2)[0]: i.operands[1] for i in view.of_opcode(Op.EntryPoint)}


def _report_binding(kernel: KernelInfo) -> int:
    if kernel.abi.report_binding is not None:
        return kernel.abi.report_binding
    used = [p.binding for p in kernel.parameters if isinstance(p, BufferParameter | ImageParameter)]
    used.append(kernel.abi.argument_block_binding or 0)
    return max(used) + 1


def _words(kernels: Iterable[KernelInfo]) -> int:
    """Returns how many words there are for sub-groups: the work-items of a work-group at most, a power of two."""
    sizes = (kernel.required_work_group_size for kernel in kernels)
    most = max(MOST_INVOCATIONS if size is None else math.prod(size) for size in sizes)
    return 1 << (min(most, MOST_INVOCATIONS) - 1).bit_length()


def _described(kernel: KernelInfo, binding: int, sites: tuple[Site, ...], words: int) -> KernelInfo:
    """Returns a kernel with the sites of its loops, the first for any, its report buffer and the shared memory."""
    return replace(
        kernel,
        sites=(*kernel.sites, replace(sites[0], location=kernel.location), *sites[1:]),
        abi=replace(kernel.abi, report_binding=binding),
        size_nodes=(*kernel.size_nodes, SizeNode(opcode="constant", operands=(words,))),
        local_arrays=(
            *kernel.local_arrays,
            LocalArrayInfo(
                is_shared=True,
                element_bytes=4,
                lengths=(len(kernel.size_nodes),),
                spelled=("the rounds of loops of each sub-group",),
            ),
        ),
    )


def _rewritten(
    module: Module,
    loops: ModuleLoops,
    kernels: list[KernelInfo],
    entries: Mapping[str, int],
    done: set[int],
    cap: int,
) -> tuple[tuple[Site, ...], bytes, dict[str, int]]:
    """Returns the sites of loops, the binary, and the binding of each kernel's report buffer."""
    editor = ModuleEditor(module)
    for capability in GROUP_CAPABILITIES:
        editor.require(capability)
    counter = Counter.added(editor, _words(kernels))
    writer = _LoopWriter(editor, loops, counter, cap)
    for function in editor.view.functions:
        if function.result_id not in done:
            writer.function(function)
    moved: dict[int, tuple[int, tuple[int, ...]]] = {}
    bindings: dict[str, int] = {}
    for kernel in kernels:
        old = entries[kernel.entry_point]
        bindings[kernel.name] = _report_binding(kernel)
        moved[old] = entry_function(
            editor,
            counter,
            kernel,
            old,
            bindings[kernel.name],
            cap,
            passed_by=max(loops.loops_of(old) - 1, 0),
        )

    def change(item: Instruction) -> Iterator[Instruction]:
        if item.opcode == Op.EntryPoint and item.operands[1] in moved:
            new, interface = moved[item.operands[1]]
            words = (item.operands[0], new, *item.operands[2:])
            end = decode_string(words, 2)[1]
            yield item._replace(operands=(*words[:end], *dict.fromkeys((*words[end:], *interface))))
        elif item.opcode in (Op.ExecutionMode, Op.ExecutionModeId) and item.operands[0] in moved:
            yield item._replace(operands=(moved[item.operands[0]][0], *item.operands[1:]))
        else:
            yield from writer.around(item)

    binary = serialise(editor.finished(change))
    return (_site(_Place("", None), cap), *(_site(place, cap) for place in writer.places)), binary, bindings


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a loop is."""

    function: str
    location: Location | None


def _site(place: _Place, cap: int) -> Site:
    which = "which this loop has reached" if place.location is not None else "which its loops have reached"
    if place.function and place.location is None:
        which = f"which the loops of its function '{place.function}' have reached"
    return Site(
        kind="loop",
        text=f"the driver ends the loops of a kernel after {cap:,} rounds of them all, {_escaped(which)}; do fewer "
        "rounds in a launch",
        location=place.location,
    )


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


class _LoopWriter:
    """Finds out what stands at the beginnings and behind the ends of loops."""

    def __init__(self, editor: ModuleEditor, loops: ModuleLoops, counter: Counter, cap: int) -> None:
        self._editor = editor
        self._loops = loops
        self._counter = counter
        self._cap = cap
        self.places: list[_Place] = []
        """Loops that note where they are, by the number that they note, from 1."""
        self._variables: dict[int, Body] = {}
        """What stands behind a function's first label."""
        self._starts: dict[int, Body] = {}
        """What stands behind the phis of a block."""
        self._ends = UnknownEnds(editor, loops, counter.index)
        self._label = 0
        self._is_waiting = False

    def function(self, function: FunctionView) -> None:
        """Looks at a function."""
        own = None
        for loop in self._loops.of_function(function):
            start = self._starts.setdefault(loop.header, [])
            if loop.is_alone:
                own = self._own_variable(function) if own is None else own
                self._add_to(start, own, self._editor.number(1))
                # In front: where the block begins another loop, the count of this one is behind it.
                end = self._starts.setdefault(loop.merge, [])
                end[:0] = self._behind(own)
            else:
                self._counter.add(
                    self._editor, start, self._editor.number(self._loops.loops_in(function, loop))
                )
            if loop.is_outermost:
                self._note(function, loop)
            self._ends.loop(function, loop)

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields an instruction with what stands in front of it or behind it."""
        if self._is_waiting and item.opcode not in (Op.Phi, Op.Line, Op.NoLine, Op.Variable):
            self._is_waiting = False
            yield from self._starts.get(self._label, ())
        yield from self._ends.around(item)
        if item.opcode == Op.Label and item.result_id is not None:
            self._label, self._is_waiting = item.result_id, True
            yield from self._variables.get(item.result_id, ())

    def _own_variable(self, function: FunctionView) -> int:
        editor = self._editor
        pointer = editor.pointer(StorageClass.Function, editor.u32)
        body = self._variables.setdefault(function.blocks[0].label, [])
        return editor.emit(body, Op.Variable, StorageClass.Function, editor.number(0), type_=pointer)

    def _add_to(self, body: Body, variable: int, number: int) -> None:
        editor = self._editor
        old = editor.emit(body, Op.Load, variable, type_=editor.u32)
        new = editor.emit(body, Op.IAdd, old, number, type_=editor.u32)
        editor.emit(body, Op.Store, variable, new)

    def _behind(self, variable: int) -> Body:
        """Adds the highest count of the work-items to the word, and begins anew."""
        editor, body = self._editor, Body()
        mine = editor.emit(body, Op.Load, variable, type_=editor.u32)
        operands = (editor.number(Scope.Subgroup), GroupOperation.Reduce, mine)
        highest = editor.emit(body, Op.GroupNonUniformUMax, *operands, type_=editor.u32)
        self._counter.add(editor, body, highest)
        editor.emit(body, Op.Store, variable, editor.number(0))
        return body

    def _note(self, function: FunctionView, loop: Loop) -> None:
        place = _Place(_name(self._editor.view, function), _line(self._editor.view, function, loop.header))
        if place.location is None and not place.function:
            return
        if place not in self.places:
            self.places.append(place)
        body = self._starts.setdefault(loop.merge, [])
        self._counter.note(self._editor, body, self.places.index(place) + 1, self._cap)


def _name(view: ModuleView, function: FunctionView) -> str:
    """Returns what the source calls a function; empty for entry points, which the report names anyway."""
    is_entry = any(item.operands[1] == function.result_id for item in view.of_opcode(Op.EntryPoint))
    return "" if is_entry else view.names.get(function.result_id, "").partition("(")[0]


def _line(view: ModuleView, function: FunctionView, header: int) -> Location | None:
    """Returns the line of a loop's header, or of what stands before it, where the module says lines."""
    found: Instruction | None = None
    for block in function.blocks:
        lines = [item for item in block.body if item.opcode == Op.Line]
        if block.label == header:
            found = lines[0] if lines else found
            break
        found = lines[-1] if lines else found
    if found is None:
        return None
    file, line, column = found.operands
    text = view.definitions.get(file)
    name = "" if text is None else decode_string(text.operands)[0]
    return Location(name, line, max(column, 1), _name(view, function)) if line else None
