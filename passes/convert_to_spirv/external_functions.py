"""Functions that other modules call or define: their symbols, and what they may be.

    func.func @f(%x: f32) -> f32 attributes {aspect.external} { … }   =>   spirv.func @f … linkage <Export>
    func.func private @g(f32) -> f32 attributes {aspect.external}     =>   spirv.func @g … linkage <Import>

The linker's symbol is the function's name, or what `kernel.linkage_name` says.  Only values cross modules: with
logical addressing a pointer to a buffer cannot be passed to a function that is not inlined without the optional
VariablePointers, and what belongs to a launch (ids, barriers, arrays) belongs to an entry point.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, StringAttr

from ...ir.call_graph import Function, function_name, has_body
from ...ir.dialects import aspect, spirv
from ...ir.dialects.kernel import LINKAGE_NAME
from ..errors import PassError


def linkage_of(function: Function) -> spirv.LinkageAttributesAttr | None:
    """Returns how other modules know a function; None for one that is not external."""
    if not aspect.is_external(function):
        return None
    name = function.attributes.get(LINKAGE_NAME)
    kind = spirv.LinkageType.Export if has_body(function) else spirv.LinkageType.Import
    symbol = name.data if isinstance(name, StringAttr) else function_name(function)
    return spirv.LinkageAttributesAttr((symbol, kind))


def check_external(function: Function) -> None:
    """Raises PassError where a function cannot be called across modules."""
    name = function_name(function)
    for type_ in (*function.function_type.inputs, *function.function_type.outputs):
        if isinstance(type_, MemRefType | spirv.PointerType):
            raise PassError(
                f"external function @{name} has {type_} in its signature; Vulkan's SPIR-V cannot pass arrays between "
                "modules: pass the elements by value, or define the function in the module that calls it",
                function,
                function=name,
            )
