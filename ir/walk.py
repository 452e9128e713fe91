"""All operations inside of one, as a list: many times faster than the nested generators of xDSL's `walk`."""

from __future__ import annotations

from xdsl.ir import Operation, Region


def operations(root: Operation | Region) -> list[Operation]:
    """Returns `root`, where it is an operation, and everything inside of it, each before what is inside of it.

    Changes made while the list is gone through are not seen.
    """
    found: list[Operation] = []
    if isinstance(root, Region):
        _visit(root, found)
        return found
    found.append(root)
    for region in root.regions:
        _visit(region, found)
    return found


def _visit(region: Region, found: list[Operation]) -> None:
    for block in region.blocks:
        op = block.first_op
        while op is not None:
            found.append(op)
            for inner in op.regions:
                _visit(inner, found)
            op = op.next_op
