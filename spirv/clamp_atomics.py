"""Keeps atomic operations inside of buffers, for drivers whose robustness does not cover them: `atomics_clamped`.

    %p = OpAccessChain %buffer %zero %k        →       %length = OpArrayLength %buffer 0
    %old = OpAtomicIAdd %p …                           %n = the smaller of %k and %length - 1, as unsigned numbers
                                                       %q = OpAccessChain %buffer %zero %n
                                                       %old = OpAtomicIAdd %q …

So a position out of range is that of the last element, as robustBufferAccess allows.  Such a driver
(`vk_runtime.quirks`, wild-atomics) would change other memory.  What `passes.convert_to_spirv.array_parameter` does for
kernels in Python.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence

from .binary import Instruction, Module
from .memory_places import CHAINS
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import Op, StorageClass

_CHANGING: tuple[int, ...] = tuple(
    number for name, number in vars(Op).items() if name.startswith("Atomic") and name != "AtomicLoad"
)
_BUFFERS = (StorageClass.StorageBuffer, StorageClass.Uniform)


def atomics_clamped(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such operations."""
    rewrite = Rewrite(module)
    for _, item in rewrite.instructions(*_CHANGING):
        _clamp(rewrite, item)
    return rewrite.finished()


def _clamp(rewrite: Rewrite, atomic: Instruction) -> None:
    """Keeps an operation inside of its buffer, if it is one on a buffer."""
    editor, view = rewrite.editor, rewrite.view
    root, indices = atomic.operands[0], tuple[int, ...]()
    while (made := view.definitions[root]).opcode in CHAINS:
        root, indices = made.operands[0], (*made.operands[1:], *indices)
    storage, type_ = view.definitions[editor.type_of(root)].operands
    if not indices or storage not in _BUFFERS:
        return
    if view.definitions[type_].opcode != Op.TypeStruct:
        return  # an array of buffers: kernels with those are refused
    body = rewrite.before(atomic)
    inside = _inside(editor, body, root, type_, indices)
    kept = editor.emit(body, Op.AccessChain, root, *inside, type_=editor.type_of(atomic.operands[0]))
    rewrite.put(atomic, atomic._replace(operands=(kept, *atomic.operands[1:])))


def _inside(editor: ModuleEditor, body: Body, root: int, type_: int, indices: Sequence[int]) -> list[int]:
    """Returns indices into a buffer, the last of the range for those that are out of it."""
    found: list[int] = []
    member = 0
    for index in indices:
        item = editor.view.definitions[type_]
        if item.opcode == Op.TypeStruct:
            member = editor.view.definitions[index].operands[0]
            found.append(index)
            type_ = item.operands[member]
            continue
        if item.opcode == Op.TypeRuntimeArray:
            length = editor.emit(body, Op.ArrayLength, root, member, type_=editor.u32)
        elif item.opcode == Op.TypeArray:
            length = _number(editor, body, item.operands[1])
        else:  # a vector or matrix
            length = editor.number(item.operands[1])
        found.append(_smaller(editor, body, index, length))
        type_ = item.operands[0]
    return found


def _number(editor: ModuleEditor, body: Body, constant: int) -> int:
    """Returns the length of an array as a number of 32 bits."""
    width, is_signed = editor.view.definitions[editor.type_of(constant)].operands
    if width != 32:
        return editor.emit(body, Op.UConvert, constant, type_=editor.u32)
    return constant if not is_signed else editor.emit(body, Op.Bitcast, constant, type_=editor.u32)


def _smaller(editor: ModuleEditor, body: Body, index: int, length: int) -> int:
    """Returns an index where it is below a length, else that of the last element, 0 where there is none."""
    type_ = editor.type_of(index)
    u32, bool_, zero = editor.u32, editor.bool_, editor.number(0)
    is_empty = editor.emit(body, Op.IEqual, length, zero, type_=bool_)
    before = editor.emit(body, Op.ISub, length, editor.number(1), type_=u32)
    last = editor.emit(body, Op.Select, is_empty, zero, before, type_=u32)
    width, is_signed = editor.view.definitions[type_].operands
    if width != 32:
        wide = editor.declared(Op.TypeInt, width, 0)
        length, last = (editor.emit(body, Op.UConvert, number, type_=wide) for number in (length, last))
    if is_signed:
        last = editor.emit(body, Op.Bitcast, last, type_=type_)
    is_inside = editor.emit(body, Op.ULessThan, index, length, type_=bool_)
    return editor.emit(body, Op.Select, is_inside, index, last, type_=type_)
