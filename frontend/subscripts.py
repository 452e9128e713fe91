"""Elements of arrays, fixed arrays and tuples: ``a[i, j]``, and the attributes of arrays.

Indices out of range are undefined for arrays (the device's robustness keeps them harmless) except that negative
numbers known now count from the end.  Indices into fixed arrays, which no robustness covers, are clamped unless they
are known to be in range.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith

from ..ir.errors import CompileError
from .arithmetic import operand_value
from .array_elements import Element, array_extent, element_at
from .array_elements import load_element as load_array_element
from .composite_arrays import has_memory, is_array, load_element, shape_of, without_rows
from .dispatch import expression
from .function_builder import FunctionBuilder
from .images import Pixel, image_extent, image_member, load_pixel, pixel_at
from .intrinsics import Intrinsic
from .ir_types import INDEX_TYPE, ir_type
from .types import ScalarType, TypeSpelling
from .values import (
    Array,
    Composite,
    FixedArray,
    Image,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    constant,
    describe,
    number_hint,
)
from .vector_types import VecType
from .work_item_values import IdType, Member, WorkItem


@expression(ast.Subscript)
def compile_subscript(fb: FunctionBuilder, node: ast.Subscript) -> Value:
    """Compiles the read of ``a[i]``."""
    from .parts import array_part, load_part

    part = array_part(fb, node)
    if part is not None:
        return load_part(fb, part, node)
    return read_now(fb, _item(fb, held_value(fb, node.value), node))


def _item(fb: FunctionBuilder, base: Value, node: ast.Subscript) -> Value:
    """Returns an element of a value; rows of fixed arrays are not read yet."""
    from .part_memory import ElementPart
    from .parts import composite_item, indexed_struct_hint, load_part

    if shape_of(base) is not None:
        return load_element(fb, base, index_values(fb, node), node)
    match base:
        case Composite() if base.is_vector:
            return composite_item(fb, base, node)
        case Static(obj=WorkItem() as owner):
            return _of_work_item(fb, owner, node)
        case Static(obj=type() as written) if issubclass(written, TypeSpelling):
            return _written_type(fb, written, node)
        case Composite():
            raise fb.error(
                node,
                f"{describe(base)} cannot be indexed in kernels",
                "LP2033",
                hint=indexed_struct_hint(node),
            )
        case Scalar(type=scalar) if scalar in (INDEX_TYPE, fb.module.index_type):
            # An id of one dimension is its only index.
            return (base,)[_literal_index(fb, node, (base,))]
        case Image():
            return load_pixel(fb, _pixel(fb, base, node), node)
        case Array():
            element = _element(fb, base, node)
            if isinstance(base.type.element, ScalarType):
                return load_array_element(fb, element, node)
            return load_part(fb, ElementPart(element, base.type.element), node)
        case Tuple(items=items):
            return items[_literal_index(fb, node, items)]
        case _:
            hint = _subscript_hint(base, node.value)
            raise fb.error(node, f"{describe(base)} cannot be indexed in kernels", "LP2033", hint=hint)


def read_now(fb: FunctionBuilder, part: Value) -> Value:
    """Returns a part that nothing more is taken of: a copy of what lies in a variable's memory, and an element with
    fixed arrays of its own."""
    is_value = not isinstance(part, Composite | FixedArray) or (
        isinstance(part, FixedArray) and part.cell is None
    )
    return part if is_value else without_rows(fb, part)


def held_value(fb: FunctionBuilder, node: ast.expr) -> Value:
    """Evaluates what a part is taken of, in which rows of fixed arrays are not read yet; of a variable that has memory
    the memory."""
    if fb.is_dry or not _is_of_parts(fb, node):
        return fb.evaluate(node)
    if isinstance(node, ast.Subscript):
        return _item(fb, held_value(fb, node.value), node)
    if isinstance(node, ast.Attribute):
        from .names import attribute_of  # which imports this file

        return attribute_of(fb, held_value(fb, node.value), node)
    assert isinstance(node, ast.Name)
    found = fb.env[node.id]
    assert not isinstance(found, Unset)
    return found


def _is_of_parts(fb: FunctionBuilder, node: ast.expr) -> bool:
    """Whether a part is one of a variable that has memory, or of several fixed arrays."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    held = fb.env.get(node.id) if isinstance(node, ast.Name) else None
    return held is not None and (is_array(held) or (bool(fb.cells) and has_memory(held)))


def _of_work_item(fb: FunctionBuilder, owner: WorkItem, node: ast.Subscript) -> Value:
    """Compiles ``it[d]`` of an item and ``g[d]`` of a group: one dimension of its id."""
    from .work_item_members import id_value
    from .work_items import work_item_value

    function = {"item": "global_id", "group": "group_id"}.get(owner.kind)
    if function is None:
        raise fb.error(
            node,
            f"{owner} cannot be indexed in kernels",
            "LP2033",
            hint="name what you want: .get_global_id(0)",
        )
    (index,) = [_index(fb, part, "a dimension") for part in _index_nodes(node)[:1]]
    if index.const is not None:
        if not 0 <= index.const < owner.rank:
            raise fb.error(
                node, f"{owner} has dimensions 0 to {owner.rank - 1}, found {index.const}", "LP2042"
            )
        return work_item_value(fb, function, int(index.const))
    value = id_value(fb, function, owner.rank)
    from .parts import composite_item

    return composite_item(fb, value, node) if isinstance(value, Composite) else value


def _written_type(fb: FunctionBuilder, written: Any, node: ast.Subscript) -> Value:
    """Evaluates ``lp.Vec[lp.f32, 3]`` and ``lp.FixedArray[lp.f32, 4]`` written inside of a kernel."""
    parts: list[object] = []
    for part in _index_nodes(node):
        value = fb.evaluate(part)
        if isinstance(value, Scalar) and value.const is None:
            raise fb.error(
                part,
                f"the lengths of {ast.unparse(node.value)} are known when the kernel is compiled, found "
                f"a value ({describe(value)}) that is not",
                "LP2018",
                hint="write a literal, a captured number or an lp.Const; lp.private.array(n, lp.f32) takes "
                "specialization constants, too",
            )
        parts.append(value.const if isinstance(value, Scalar) else getattr(value, "obj", None))
    try:
        found = written[tuple(parts)]
    except CompileError as error:
        raise fb.error(node, error.message, error.code or "LP2018") from None
    return Static(found, ast.unparse(node))


def _subscript_hint(base: Value, written: ast.expr) -> str | None:
    if isinstance(base, Scalar) and isinstance(written, ast.Subscript):
        at_once = f"{ast.unparse(written.value)}[i, j]"
        return (
            f"it is one number; of an array of more dimensions, lp.Array[dtype, 2], an element is {at_once}"
        )
    if isinstance(base, RangeValue):
        return "give range a step of its own: range(start, stop, step)"
    if isinstance(base, Static) and isinstance(base.obj, str):
        return number_hint(base)
    if isinstance(base, Static) and isinstance(base.obj, Intrinsic | Member):
        return number_hint(base)
    if isinstance(base, Static):
        return "types are written in annotations; inside of kernels there are no generic ones"
    return None


def resolve_element(fb: FunctionBuilder, node: ast.Subscript) -> Element:
    """Evaluates the array and the indices of an assignment's target.

    Raises:
        CompileError: it is no element of an array.
    """
    base = fb.evaluate(node.value)
    if isinstance(base, Array) and not isinstance(base, Image):
        return _element(fb, base, node)
    what = (
        "a fixed array is a value: its elements"
        if shape_of(base) is not None
        else f"items of a {describe(base)}"
        if isinstance(base, Tuple)
        else f"parts of {describe(base)}"
    )
    hint = "store into an lp.Array parameter or an lp.private.array, or make a new value"
    raise fb.error(node, f"{what} cannot be assigned to", "LP2053", hint=hint)


def _pixel(fb: FunctionBuilder, image: Image, node: ast.Subscript) -> Pixel:
    nodes = _index_nodes(node)
    if len(nodes) != 1 or isinstance(nodes[0], ast.Slice | ast.Starred):
        return pixel_at(
            fb, image, [_index(fb, part, f"a coordinate of '{image.name}'") for part in nodes], node
        )
    return pixel_at(fb, image, [fb.evaluate(nodes[0])], node)


def image_pixel(fb: FunctionBuilder, node: ast.expr) -> Pixel | None:
    """Returns the pixel that the target of an assignment names, None where it names something else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    name = node.value.id
    found = fb.variable_types.get(name) if fb.is_dry else None
    fb.read_types.add(name)
    found = fb.env.get(name) if found is None else found
    return _pixel(fb, found, node) if fb.is_local(name) and isinstance(found, Image) else None


def _element(fb: FunctionBuilder, array: Array, node: ast.Subscript) -> Element:
    values = _index_list(fb, node, f"an index of '{array.name}'")
    wanted = ", ".join("ijk"[: array.type.ndim])
    return element_at(fb, array, values, node, f"write {array.name}[{wanted}]")


def _index_list(fb: FunctionBuilder, node: ast.Subscript, what: str) -> list[Scalar]:
    """Evaluates the indices of ``a[i, j]``, of ``a[pair]`` with a tuple or a vector of integers, and of ``a[id]``."""
    nodes = _index_nodes(node)
    if len(nodes) != 1 or isinstance(nodes[0], ast.Slice | ast.Starred):
        return [_index(fb, part, what) for part in nodes]
    value = operand_value(fb, fb.evaluate(nodes[0]))
    items = value.items if isinstance(value, Tuple) and is_index_tuple(value) else (value,)
    return [_checked_index(fb, item, nodes[0], what) for item in items]


def is_index_tuple(value: Tuple) -> bool:
    """Whether the items of a value are indices: of a tuple, an id, a vector of integers."""
    if not isinstance(value, Composite) or isinstance(value.type, IdType):
        return True
    return isinstance(value.type, VecType) and value.type.element.is_integer


def _index_nodes(node: ast.Subscript) -> Sequence[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _index(fb: FunctionBuilder, node: ast.expr, what: str) -> Scalar:
    if isinstance(node, ast.Slice):
        raise fb.error(node, "kernels have no slices", "LP2030", hint="index single elements in a loop")
    if isinstance(node, ast.Starred):
        raise fb.error(node, "kernels have no starred indices", "LP2030", hint="write the indices out")
    return _checked_index(fb, fb.evaluate(node), node, what)


def _checked_index(fb: FunctionBuilder, value: Value, node: ast.expr, what: str) -> Scalar:
    if not isinstance(value, Scalar) or not value.type.is_integer:
        raise fb.error(
            node, f"{what} must be an integer, found {describe(value)}", "LP2041", hint=_index_hint(value)
        )
    return value


def _index_hint(value: Value) -> str | None:
    if isinstance(value, Scalar):
        return "convert it: int(…)"
    if isinstance(value, Composite) and isinstance(value.type, VecType):
        return f"convert it: lp.i32x{value.type.size}(…) is an index for each dimension"
    if isinstance(value, Static) and isinstance(value.obj, Intrinsic):
        return f"call it: {value.name}(0)"
    if isinstance(value, Static) and isinstance(value.obj, WorkItem):
        return number_hint(value)
    if isinstance(value, Static):
        return "elements are named by position: a[i]; members of a struct by attribute: a[i].x"
    return number_hint(value)


def index_values(fb: FunctionBuilder, node: ast.Subscript, of: str = "a fixed array") -> list[Scalar]:
    """Evaluates the indices into a fixed array or vector; CompileError where one is no integer."""
    return _index_list(fb, node, f"an index of {of}")


def extent(fb: FunctionBuilder, array: Array, dimension: int) -> Scalar:
    """Returns ``a.shape[dimension]`` of an array or image."""
    if isinstance(array, Image):
        return image_extent(fb, array, dimension)
    return array_extent(fb, array, dimension)


def size(fb: FunctionBuilder, array: Array) -> Scalar:
    """Returns ``a.size``: the product of the extents."""
    total, kind = extent(fb, array, 0), fb.module.index_type
    for dimension in range(1, array.type.ndim):
        other = extent(fb, array, dimension)
        if not fb.is_dry:
            product = fb.emit(arith.MuliOp, [fb.ssa(total), fb.ssa(other)], ir_type(kind))
            total = Scalar(kind, product, bounds=(0, kind.maximum))
    return total


def array_attribute(fb: FunctionBuilder, array: Array, node: ast.Attribute) -> Value:
    """Compiles ``a.shape``, ``a.size``, ``a.ndim`` and ``a.dtype``."""
    match node.attr:
        case "shape":
            return Tuple(tuple(extent(fb, array, d) for d in range(array.type.ndim)))
        case "size":
            return size(fb, array)
        case "ndim":
            return constant(array.type.ndim)
        case "dtype":
            return Static(array.type.element, str(array.type.element))
        case _ if isinstance(array, Image):
            return image_member(fb, array, node)
        case _:
            from .elsewhere import array_member_hint  # only for messages

            raise fb.error(
                node,
                f"arrays have no attribute '{node.attr}' in kernels",
                "LP2046",
                hint=array_member_hint(node.attr),
            )


def _literal_index(fb: FunctionBuilder, node: ast.Subscript, items: Sequence[Value]) -> int:
    """Returns the index of a tuple item, which must be known now."""
    length = len(items)
    nodes = _index_nodes(node)
    if len(nodes) != 1:
        raise fb.error(node, "a tuple takes one index", "LP2041")
    index = _index(fb, nodes[0], "the index of a tuple")
    if index.const is None:
        raise fb.error(
            nodes[0],
            "the index of a tuple must be known when the kernel is compiled",
            "LP2051",
            hint=f"unroll the loop with lp.static_range; a table that takes any index is {_table(items)}",
        )
    position = int(index.const)
    if not -length <= position < length:
        raise fb.error(
            nodes[0],
            f"index {position} is out of range of a tuple of {length}",
            "LP2042",
            hint=f"indices go from {-length} to {length - 1}" if length else "the tuple is empty",
        )
    return position % length


def _table(items: Sequence[Value]) -> str:
    """Returns how to write the items of a tuple so that they take an index known at run time only."""
    known = [item.const for item in items if isinstance(item, Scalar) and item.const is not None]
    if len(known) < len(items) or not known:
        return f"an lp.FixedArray, such as lp.FixedArray[lp.i32, {len(items)}](a, b, …)"
    is_float = any(isinstance(number, float) for number in known)
    dtype = "np.float32" if is_float else "np.uint32" if max(known) >= 2**31 else "np.int32"
    return f"a NumPy array around the kernel, np.array(t, {dtype}), or an lp.FixedArray"
