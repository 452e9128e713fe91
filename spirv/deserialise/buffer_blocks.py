"""BufferBlock, the older way to say storage buffer, becomes storage class StorageBuffer.

    OpDecorate %block BufferBlock                 OpDecorate %block Block
    %p = OpTypePointer Uniform %block             %q = OpTypePointer StorageBuffer %block

Compilers for Vulkan 1.0 write it, and Slang does.  The dialect has the newer form alone, as MLIR's has.  One pointer
type may serve uniform and storage buffers alike, so storage buffers get pointer types of their own.
"""

from __future__ import annotations

from dataclasses import replace

from ..binary import Instruction, Module
from ..tables import Decoration, Op, StorageClass
from .errors import unreadable

_DERIVED = frozenset((Op.AccessChain, Op.InBoundsAccessChain, Op.CopyObject))
"""Instructions whose result points into what their first operand points to."""
_ELSEWHERE = frozenset((Op.FunctionCall, Op.Select, Op.Phi, Op.PtrAccessChain, Op.InBoundsPtrAccessChain))
"""Where a pointer may go that would have to change with it: only with VariablePointers, or before inlining."""


def with_storage_buffers(module: Module) -> Module:
    """Returns a module that means the same without BufferBlock; the module itself where there is none.

    Raises:
        DeserialisationError: a pointer to such a block is a function's argument, or chosen at run time.
    """
    blocks = {
        item.operands[0]
        for item in module.instructions
        if item.opcode == Op.Decorate and item.operands[1:2] == (Decoration.BufferBlock,)
    }
    return _Rewriter(module, blocks).rewritten() if blocks else module


class _Rewriter:
    def __init__(self, module: Module, blocks: set[int]) -> None:
        self._module = module
        self._blocks = blocks
        """Structs with BufferBlock, and arrays of them."""
        self._bound = module.bound
        self._pointers: dict[int, int] = {}
        """The new type of each old pointer type."""
        self._moved: set[int] = set()
        """Values that point to storage buffers now."""

    def rewritten(self) -> Module:
        for item in self._module.instructions:
            is_array = item.opcode in (Op.TypeArray, Op.TypeRuntimeArray) and item.result_id is not None
            if is_array and not self._blocks.isdisjoint(item.operands[:1]):
                self._blocks.add(item.result_id or 0)
        self._find_types()
        items: list[Instruction] = []
        for item in self._module.instructions:
            items.append(self._instruction(item))
            made = self._pointers.get(item.result_id or 0)
            if item.opcode == Op.TypePointer and made is not None:
                operands = (int(StorageClass.StorageBuffer), *item.operands[1:])
                items.append(Instruction(Op.TypePointer, None, made, operands))
        renumbered = tuple(item._replace(ordinal=ordinal) for ordinal, item in enumerate(items))
        return replace(self._module, bound=self._bound, instructions=renumbered)

    def _find_types(self) -> None:
        """Finds the values that move, and gives their types numbers."""
        kinds = {
            item.result_id: item.operands
            for item in self._module.instructions
            if item.opcode == Op.TypePointer and len(item.operands) == 2
        }
        for item in self._module.instructions:
            storage, pointee = kinds.get(item.result_type, (None, None))
            if storage != StorageClass.Uniform or item.result_id is None:
                continue
            is_block = item.opcode == Op.Variable and pointee in self._blocks
            if is_block or (
                item.opcode in _DERIVED and item.operands[:1] and item.operands[0] in self._moved
            ):
                self._moved.add(item.result_id)
                if item.result_type not in self._pointers:
                    self._pointers[item.result_type or 0] = self._bound
                    self._bound += 1

    def _instruction(self, item: Instruction) -> Instruction:
        if item.opcode == Op.Decorate and item.operands[1:2] == (Decoration.BufferBlock,):
            return item._replace(operands=(item.operands[0], int(Decoration.Block)))
        if item.opcode in _ELSEWHERE and not self._moved.isdisjoint(item.operands):
            unreadable(
                "a pointer to a BufferBlock is passed on: inline functions first, or use StorageBuffer", item
            )
        if item.result_id not in self._moved or item.result_type not in self._pointers:
            return item  # the second: of another instruction that claims the same id
        moved = item._replace(result_type=self._pointers[item.result_type or 0])
        if item.opcode == Op.Variable:
            moved = moved._replace(operands=(int(StorageClass.StorageBuffer), *item.operands[1:]))
        return moved
