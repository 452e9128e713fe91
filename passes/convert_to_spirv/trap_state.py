"""What a work-item keeps of its first failed check until it ends: variables of its own, and functions that set them.

A check is one comparison and one call.  The functions choose values instead of branching, which drivers that compute
all work-items of a sub-group together turn into a few instructions without a loop; what writes to memory, a
compare-exchange and a store for each word, stands once at the kernel's end (`ReportBuffer.finish`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, Region, SSAValue

from ...ir.attributes import function_type
from ...ir.create import create
from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from .function_lowering import FunctionLowering
from .types import integer_attribute

if TYPE_CHECKING:
    from .module_lowering import ModuleLowering


class TrapState:
    """The variables and functions of one module; its kernels share them, because each work-item has its own."""

    def __init__(self, module: ModuleLowering) -> None:
        self._module = module
        self._symbols: list[str] = []
        """Of the variables: the number of the site plus 1, 0 as long as nothing has failed, then the words."""
        self._functions: dict[int, str] = {}
        """Of the functions, by how many words they keep."""

    def note(self, fn: FunctionLowering, failed: SSAValue, number: int, words: Sequence[SSAValue]) -> None:
        """Adds what keeps a site by its number, and words of 32 bits, where `failed` holds and nothing is kept yet."""
        symbol = self._module.symbol(self._function(fn, len(words)))
        operands = (failed, fn.index(number + 1), *words)
        fn.add(create(spirv.FunctionCallOp, operands, (), {"callee": symbol}))

    def load(self, fn: FunctionLowering, place: int) -> SSAValue:
        """Returns the number of the site plus 1 for place 0, from 1 on the words."""
        return fn.load(self._address(fn, place), i32)

    def symbols(self, count: int) -> list[str]:
        """Returns the variables of a kernel that keeps `count` words."""
        return self._symbols[: count + 1]

    def _function(self, origin: FunctionLowering, count: int) -> str:
        known = self._functions.get(count)
        if known is not None:
            return known
        module = self._module
        symbol = self._functions[count] = module.reserve(f"__note_trap_{count}")
        fn = FunctionLowering(module, symbol, origin.location)
        inputs = [i1, *[i32] * (count + 1)]
        failed, *new = (fn.body.insert_arg(type_, len(fn.body.args)) for type_ in inputs)
        is_free = fn.emit(spirv.IEqualOp, (self.load(fn, 0), fn.index(0)), i1)
        is_first = fn.emit(spirv.LogicalAndOp, (failed, is_free), i1)
        for place, value in enumerate(new):
            address = self._address(fn, place)
            fn.store(address, fn.emit(spirv.SelectOp, (is_first, value, fn.load(address, i32)), i32))
        fn.add(create(spirv.ReturnOp))
        made = spirv.FuncOp(symbol, function_type(inputs, ()), Region(fn.finish()))
        made.location = origin.location
        module.functions.append(made)
        return symbol

    def _address(self, fn: FunctionLowering, place: int) -> SSAValue:
        module = self._module
        pointer = module.types.pointer(i32, StorageClass.Private)
        while len(self._symbols) <= place:
            symbol = module.reserve(
                "__trap_site" if not self._symbols else f"__trap_word_{len(self._symbols)}"
            )
            zero = None if self._symbols else integer_attribute(0, 32)
            variable = spirv.GlobalVariableOp(symbol, pointer, initializer=zero)
            variable.location = fn.location
            module.add_global(variable)
            self._symbols.append(symbol)
        reference = {"variable": module.symbol(self._symbols[place])}
        op: Operation = create(spirv.AddressOfOp, (), (pointer,), reference, location=fn.location)
        fn.add(op)
        return op.results[0]
