"""How deep the branches of a module are nested, functions that it calls included.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from .binary import Module
from .call_order import callees_first
from .tables import Op


@dataclass(slots=True)
class _Function:
    """What one function adds."""

    depth: int = 0
    """Of its own branches."""
    calls: dict[int, int] = field(default_factory=dict[int, int])
    """How deep in it each function is called, at most."""


def selection_depth(module: Module) -> int:
    """Returns how many selections of a module are inside each other at most, as if every call were inlined."""
    functions = _functions(module)
    depths: dict[int, int] = {}
    for name in callees_first({name: function.calls for name, function in functions.items()}):
        function = functions[name]
        called = (depth + depths.get(callee, 0) for callee, depth in function.calls.items())
        depths[name] = max(function.depth, *called, 0)
    return max(depths.values(), default=0)


def _functions(module: Module) -> dict[int, _Function]:
    found: dict[int, _Function] = {}
    function, merges = _Function(), list[int]()
    for item in module.instructions:
        match item.opcode:
            case Op.Function if item.result_id is not None:
                function, merges = found.setdefault(item.result_id, _Function()), []
            case Op.SelectionMerge if item.operands:
                merges.append(item.operands[0])
                function.depth = max(function.depth, len(merges))
            case Op.Label if item.result_id in merges:
                # Blocks of a construct stand before its merge block, and inner constructs before the outer's.
                del merges[merges.index(item.result_id) :]
            case Op.FunctionCall if item.operands:
                callee = item.operands[0]
                function.calls[callee] = max(function.calls.get(callee, 0), len(merges))
            case _:
                pass
    return found
