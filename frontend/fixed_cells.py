"""Variables that are fixed arrays whose elements loops store: in memory of their own, as ``lp.private.array`` makes it.

Of vectors and structs each component or member has its own.  So has a fixed array that is a member of a struct; the
other members stay values.

A fixed array is a value, and storing an element gives the variable a new one.  Where the index is known at run time
only, that is a copy to memory and back in each round, and compilers that keep no values in memory apart, such as
SwiftShader's, do all of it.  Here the variable keeps its memory: elements are loaded and stored there, and whoever
names it as a whole gets a copy.  Where indices become known, `promote-arrays` makes values of the elements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from operator import is_
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ..ir.create import create
from .composite_arrays import has_memory, shape_of
from .fixed_arrays import scalars_of, store_element
from .function_builder import FunctionBuilder
from .ir_types import INDEX_TYPE
from .local_arrays import new_array
from .struct_types import StructType
from .types import LARGEST_UNROLLED, FixedArrayType
from .values import Composite, FixedArray, Scalar, Value
from .vector_types import CompositeArrayType

Path: TypeAlias = tuple[str, ...]
"""The name of a variable, and the members that lead to a fixed array in it."""


def in_memory(fb: FunctionBuilder, path: Path, value: Value, node: ast.AST) -> Value:
    """Returns what a variable, or a member of one, is bound to: a value, or the memory that it is stored into.

    Args:
        fb: of the function.
        path: names the variable, and the member.
        value: what it gets; what lies in memory already is the variable's own.
        node: blamed for errors.
    """
    if shape_of(value) is not None:
        return (
            value if has_memory(value) or not _keeps_memory(fb, path, value) else _kept(fb, path, value, node)
        )
    if not isinstance(value, Composite) or not isinstance(value.type, StructType):
        return value
    items = [
        in_memory(fb, (*path, field.name), item, node)
        for field, item in zip(value.type.fields, value.items, strict=True)
    ]
    return value if all(map(is_, items, value.items)) else value.with_items(items)


def _keeps_memory(fb: FunctionBuilder, path: Path, value: Value) -> bool:
    """Whether a fixed array is large, or a loop stores the elements of what it is given to, at indices that are no
    literals."""
    assert isinstance(value, FixedArray | Composite)
    kind = value.type
    assert isinstance(kind, FixedArrayType | CompositeArrayType)
    if kind.size > LARGEST_UNROLLED and len(path) == 1:
        return True
    if fb.cell_names is None:
        fb.cell_names = frozenset(_stored_in_loops(fb.source.tree.body, in_loop=False))
    return path in fb.cell_names


def _stored_in_loops(statements: Sequence[ast.stmt], *, in_loop: bool) -> Iterator[Path]:
    for statement in statements:
        if in_loop:
            yield from _stored(statement)
        is_loop = isinstance(statement, ast.While) or (
            isinstance(statement, ast.For) and _runs_on_the_device(statement.iter)
        )
        for body in ("body", "orelse"):
            yield from _stored_in_loops(getattr(statement, body, ()), in_loop=in_loop or is_loop)


def _runs_on_the_device(iterable: ast.expr) -> bool:
    """Whether a loop is one: over ``range``, not unrolled."""
    return (
        isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"
    )


def _stored(statement: ast.stmt) -> Iterator[Path]:
    """Yields the variables, and the members, into which a statement stores at an index that is no literal."""
    match statement:
        case ast.Assign(targets=targets):
            pending = list(targets)
        case ast.AugAssign(target=target):
            pending = [target]
        case _:
            return
    while pending:
        target = pending.pop()
        if isinstance(target, ast.Tuple | ast.List):
            pending += target.elts
        is_variable, members = False, list[str]()
        while isinstance(target, ast.Subscript | ast.Attribute):
            if isinstance(target, ast.Attribute):
                members.append(target.attr)
            else:
                members.clear()  # they are members of its elements
                parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
                is_variable |= not all(isinstance(part, ast.Constant | ast.UnaryOp) for part in parts)
            target = target.value
        if is_variable and isinstance(target, ast.Name):
            yield (target.id, *reversed(members))


def _kept(fb: FunctionBuilder, path: Path, value: Value, node: ast.AST) -> Value:
    """Stores a fixed array into the memory of a variable, which it makes at first; returns what the variable is bound
    to."""
    assert isinstance(value, FixedArray | Composite)
    kind = value.type
    assert isinstance(kind, FixedArrayType | CompositeArrayType)
    known = fb.cells.get((path, kind))
    if known is None:
        known = fb.cells[path, kind] = _made(fb, "_".join(path), kind)
    _fill(fb, known, value, node)
    return known


def _fill(fb: FunctionBuilder, known: Value, value: Value, node: ast.AST) -> None:
    memory, values = [*_fixed_arrays(known)], [*_fixed_arrays(value)]
    if any(part.type.size > LARGEST_UNROLLED for part in values):
        from .fixed_copies import copied_in_loops  # which few programs need

        def store(number: int, indices: Sequence[SSAValue], element: SSAValue) -> None:
            cell = memory[number].cell
            assert cell is not None
            places = [fb.cast_to_index(index) for index in indices]
            fb.append(create(memref.StoreOp, operands=[element, cell, *places]))

        if copied_in_loops(fb, values, store):
            return
    for part, held in zip(values, memory, strict=True):
        assert held.cell is not None
        for path, scalar in zip(_paths(part.type.shape), scalars_of(fb, part, node), strict=True):
            store_element(fb, held.cell, path, scalar)


def _fixed_arrays(value: Value) -> Iterator[FixedArray]:
    """Yields the fixed arrays of numbers that a fixed array is made of."""
    if isinstance(value, FixedArray):
        yield value
        return
    assert isinstance(value, Composite)
    for item in value.items:
        yield from _fixed_arrays(item)


def _made(
    fb: FunctionBuilder, name: str, kind: FixedArrayType | CompositeArrayType
) -> FixedArray | Composite:
    if isinstance(kind, CompositeArrayType):
        return Composite(tuple(_made(fb, name, member) for member in kind.members), kind)
    key = ast.Name(name)  # arrays are told apart by the node that makes them
    fb.cell_nodes.append(key)
    lengths = [(Scalar(INDEX_TYPE, const=length), str(length)) for length in kind.shape]
    with fb.into(fb.prologue):
        array = new_array(fb, key, lengths, kind.element, is_shared=False)
    assert array.ssa is not None
    array.ssa.name_hint = name if name.isascii() and name.isidentifier() else None
    return FixedArray(kind, None, cell=array.ssa)


def _paths(shape: Sequence[int]) -> Iterator[tuple[Scalar, ...]]:
    if not shape:
        yield ()
        return
    for position in range(shape[0]):
        for rest in _paths(shape[1:]):
            yield (Scalar(INDEX_TYPE, const=position), *rest)
