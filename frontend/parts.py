"""Parts of things: components of vectors, members of structs, elements of arrays, and whole paths of these.

A part of an array element (``a[i].position.x``) is loaded and stored by itself.  A part of a variable is a value
in its own right; assigning it gives the variable a new value with that part replaced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from ..ir.dialects.kernel import LoadFieldOp, StoreFieldOp
from ..ir.dialects.spirv.composite import CompositeConstructOp, CompositeExtractOp
from .conversions import CMPI, as_index, store_convert
from .fixed_arrays import construct_fixed, insert_fixed, load_fixed
from .function_builder import FunctionBuilder
from .ir_types import BOOL, integer_attribute, ir_type, storage_type
from .storage import element_type, is_loaded_whole
from .struct_types import StructType
from .subscripts import (
    Element,
    index_values,
    load_element,
    require_readable,
    require_writable,
    resolve_element,
    store_element,
)
from .types import FixedArrayType, ScalarType, Type
from .values import Array, Composite, FixedArray, Scalar, Tuple, Value, constant, describe
from .vector_types import VecType

COMPONENTS = "xyzw"
"""Names of a vector's components."""

Step = int | Scalar
"""One step into a composite: a member or component by number, or an index known at run time."""


@dataclass(slots=True, eq=False)
class ElementPart:
    """An array element, or a part of one."""

    element: Element
    type: Type
    path: tuple[Step, ...] = ()
    swizzle: tuple[int, ...] | None = None
    """Which components of the vector at `path` are meant, None: all."""


@dataclass(slots=True, eq=False)
class VariablePart:
    """A part of a variable."""

    name: str
    base: Value
    path: tuple[tuple[Step, ...], ...]
    """What each attribute and subscript adds, innermost first."""


Part = ElementPart | VariablePart


# ---- finding parts ----


def array_part(fb: FunctionBuilder, node: ast.expr) -> ElementPart | None:
    """Returns the part of an array element that an expression names, None where it names something else.

    Elements of scalar arrays are none: `subscripts` reads them.
    """
    root: ast.expr = node
    while isinstance(root, ast.Attribute) or (
        isinstance(root, ast.Subscript) and not isinstance(root.value, ast.Name)
    ):
        root = root.value
    if not isinstance(root, ast.Subscript):
        return None
    assert isinstance(root.value, ast.Name)
    if not fb.is_local(root.value.id):
        return None
    array = fb.env.get(root.value.id)
    if not isinstance(array, Array) or isinstance(array.type.element, ScalarType):
        return None
    return _part_below(fb, node)


def _part_below(fb: FunctionBuilder, node: ast.expr) -> ElementPart | None:
    assert isinstance(node, ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        element = resolve_element(fb, node)
        return ElementPart(element, element.array.type.element)
    outer = _part_below(fb, node.value)
    if outer is None:
        return None
    if outer.swizzle is not None:
        return _below_swizzle(fb, outer, outer.swizzle, node)
    if isinstance(node, ast.Attribute) and isinstance(outer.type, VecType) and len(node.attr) > 1:
        positions = _swizzle_positions(fb, outer.type, node)
        return ElementPart(outer.element, outer.type, outer.path, positions)
    steps, kind = _steps(fb, outer.type, node)
    return ElementPart(outer.element, kind, (*outer.path, *steps))


def _below_swizzle(
    fb: FunctionBuilder, outer: ElementPart, swizzle: tuple[int, ...], node: ast.Attribute | ast.Subscript
) -> ElementPart:
    """Returns what ``.x``, ``.yx`` and ``[0]`` are behind a swizzle."""
    assert isinstance(outer.type, VecType)
    kind = VecType(outer.type.element, len(swizzle))
    if isinstance(node, ast.Attribute) and len(node.attr) > 1:
        chosen = tuple(swizzle[p] for p in _swizzle_positions(fb, kind, node))
        return ElementPart(outer.element, outer.type, outer.path, chosen)
    (step,), scalar = _steps(fb, kind, node)
    if not isinstance(step, int):
        raise fb.error(
            node,
            "a swizzle of an array element takes literal indices",
            "LP2051",
            hint="put it into a variable first",
        )
    return ElementPart(outer.element, scalar, (*outer.path, swizzle[step]))


def _swizzle_positions(fb: FunctionBuilder, kind: VecType, node: ast.Attribute) -> tuple[int, ...]:
    positions = tuple(COMPONENTS.find(letter) for letter in node.attr)
    if not 2 <= len(positions) <= len(COMPONENTS) or any(not 0 <= p < kind.size for p in positions):
        raise fb.error(
            node,
            f"{kind!r} has no swizzle '{node.attr}'",
            "LP2046",
            hint=f"a swizzle is 2 to 4 of {', '.join(COMPONENTS[: kind.size])}",
        )
    return positions


def _steps(
    fb: FunctionBuilder, kind: Type, node: ast.Attribute | ast.Subscript
) -> tuple[tuple[Step, ...], Type]:
    """Returns the steps that an attribute or subscript takes into a value, and the type that it finds there."""
    if isinstance(node, ast.Attribute):
        if isinstance(kind, VecType):
            return (_component(fb, kind, node),), kind.element
        if isinstance(kind, StructType):
            return _member(fb, kind, node)
        raise fb.error(node, f"{kind!r} has no attribute '{node.attr}' in kernels", "LP2046")
    if isinstance(kind, VecType):
        return (_vector_index(fb, kind, node),), kind.element
    if isinstance(kind, FixedArrayType):
        indices = index_values(fb, node)
        if len(indices) > kind.ndim:
            raise fb.error(node, f"{kind!r} takes {kind.ndim} indices, found {len(indices)}", "LP2041")
        steps = [_bounded(fb, i, n, node) for i, n in zip(indices, kind.shape, strict=False)]
        rest = kind.shape[len(indices) :]
        return tuple(steps), FixedArrayType(kind.element, rest) if rest else kind.element
    raise fb.error(node, f"{kind!r} cannot be indexed in kernels", "LP2033")


def _component(fb: FunctionBuilder, kind: VecType, node: ast.Attribute) -> int:
    position = COMPONENTS.find(node.attr) if len(node.attr) == 1 else -1
    if not 0 <= position < kind.size:
        raise fb.error(
            node,
            f"{kind!r} has no component '{node.attr}'",
            "LP2046",
            hint=f"its components are {', '.join(COMPONENTS[: kind.size])}",
        )
    return position


def _member(fb: FunctionBuilder, kind: StructType, node: ast.Attribute) -> tuple[tuple[Step, ...], Type]:
    position = kind.index_of(node.attr)
    if position is None:
        raise fb.error(
            node,
            f"struct '{kind.name}' has no member '{node.attr}'",
            "LP2046",
            hint=f"it has {', '.join(f.name for f in kind.fields)}",
        )
    return (position,), kind.fields[position].type


def _vector_index(fb: FunctionBuilder, kind: VecType, node: ast.Subscript) -> Step:
    indices = index_values(fb, node)
    if len(indices) != 1:
        raise fb.error(node, f"{kind!r} takes one index, found {len(indices)}", "LP2041")
    return _bounded(fb, indices[0], kind.size, node)


def _bounded(fb: FunctionBuilder, index: Scalar, length: int, node: ast.AST) -> Step:
    """Returns an index that is in range: a literal is checked, others are clamped unless known to be."""
    if index.const is not None:
        position = int(index.const)
        if not -length <= position < length:
            raise fb.error(
                node,
                f"index {position} is out of range of length {length}",
                "LP2042",
                hint=f"indices go from 0 to {length - 1}",
            )
        return position % length
    if fb.is_dry:
        return index
    index = as_index(fb, index, node, "an index")
    if index.bounds is not None and index.bounds[0] >= 0 and index.bounds[1] < length:
        return index
    last = fb.constant(length - 1, index.type)
    return Scalar(index.type, fb.emit(arith.MinUIOp, [fb.ssa(index), last], ir_type(index.type)))


def resolve_part(fb: FunctionBuilder, target: ast.Subscript | ast.Attribute) -> Part:
    """Evaluates everything of an assignment's target but the store.

    Raises:
        CompileError: it is no part of an array or of a variable.
    """
    place = array_part(fb, target)
    if place is not None:
        if place.swizzle is not None:
            raise _swizzle_target(fb, target)
        return place
    steps: list[ast.Subscript | ast.Attribute] = []
    root: ast.expr = target
    while isinstance(root, ast.Subscript | ast.Attribute):
        steps.append(root)
        root = root.value
    base = fb.evaluate(root) if isinstance(root, ast.Name) and fb.is_local(root.id) else None
    if base is None or not isinstance(base, Composite | FixedArray) or not isinstance(root, ast.Name):
        if isinstance(target, ast.Attribute):
            raise fb.error(
                target,
                "kernels cannot assign to an attribute of anything but a vector or struct",
                "LP2053",
                hint="assign to a variable, an array element a[i], or a member of a struct",
            )
        element = resolve_element(fb, target)
        return ElementPart(element, element.array.type.element)
    kind: Type = base.type
    path: list[tuple[Step, ...]] = []
    for node in reversed(steps):
        if isinstance(node, ast.Attribute) and isinstance(kind, VecType) and len(node.attr) > 1:
            raise _swizzle_target(fb, node)
        more, kind = _steps(fb, kind, node)
        path.append(more)
    return VariablePart(root.id, base, tuple(path))


def _swizzle_target(fb: FunctionBuilder, node: ast.Attribute | ast.Subscript) -> Exception:
    return fb.error(
        node,
        f"the swizzle '{ast.unparse(node)}' cannot be assigned to",
        "LP2053",
        hint="assign the components one by one: v.x = …",
    )


# ---- values of variables ----


def load_part(fb: FunctionBuilder, part: Part, node: ast.AST) -> Value:
    """Returns the value of a part."""
    if isinstance(part, ElementPart):
        return _load_place(fb, part, node)
    value = part.base
    for steps in part.path:
        value = _step_into(fb, value, steps, node)
    return value


def _step_into(fb: FunctionBuilder, value: Value, steps: tuple[Step, ...], node: ast.AST) -> Value:
    if isinstance(value, FixedArray):
        return load_fixed(fb, value, [_scalar_step(s) for s in steps], node)
    assert isinstance(value, Composite)
    (step,) = steps
    return value.items[step] if isinstance(step, int) else _chosen(fb, value, step)


def _scalar_step(step: Step) -> Scalar:
    return constant(step) if isinstance(step, int) else step


def _chosen(fb: FunctionBuilder, value: Composite, index: Scalar) -> Scalar:
    """Emits the choice of a vector's component by a run-time index."""
    assert isinstance(value.type, VecType)
    kind = value.type.element
    result = value.items[0]
    assert isinstance(result, Scalar)
    if fb.is_dry:
        return Scalar(kind)
    ssa = fb.ssa(result)
    for position, item in enumerate(value.items[1:], start=1):
        assert isinstance(item, Scalar)
        is_this = _is_index(fb, index, position)
        ssa = fb.emit(arith.SelectOp, [is_this, fb.ssa(item), ssa], ir_type(kind))
    return Scalar(kind, ssa)


def _is_index(fb: FunctionBuilder, index: Scalar, position: int) -> SSAValue | None:
    operands = [fb.ssa(index), fb.constant(position, index.type)]
    return fb.emit(arith.CmpiOp, operands, ir_type(BOOL), CMPI["eq"])


def store_part(fb: FunctionBuilder, part: Part, value: Value, node: ast.AST, value_node: ast.AST) -> None:
    """Stores a value into a part.

    Args:
        node: the target, blamed where it cannot be written.
        value_node: the value, blamed where it does not convert.

    Raises:
        CompileError: the array is read-only, or the value does not convert.
    """
    if isinstance(part, ElementPart):
        _store_place(fb, part, value, node, value_node)
        return
    from .assignment import assign_name

    assign_name(fb, part.name, _replaced(fb, part.base, part.path, value, node, value_node), value_node)


def _replaced(
    fb: FunctionBuilder,
    base: Value,
    path: tuple[tuple[Step, ...], ...],
    value: Value,
    node: ast.AST,
    value_node: ast.AST,
) -> Value:
    """Returns `base` with the part at `path` replaced."""
    if not path:
        return convert_composite(fb, value, value_type(base), value_node, "the part")
    steps, rest = path[0], path[1:]
    if isinstance(base, FixedArray):
        indices = [_scalar_step(s) for one in path for s in one]
        stored = store_convert(fb, value, base.type.element, value_node, "the element")
        return insert_fixed(fb, base, indices, stored, node)
    assert isinstance(base, Composite)
    (step,) = steps
    if isinstance(step, int):
        new = _replaced(fb, base.items[step], rest, value, node, value_node)
        return base.with_items((*base.items[:step], new, *base.items[step + 1 :]))
    assert isinstance(base.type, VecType)
    stored = store_convert(fb, value, base.type.element, value_node, "the component")
    return base.with_items(
        [_select_component(fb, step, position, stored, item) for position, item in enumerate(base.items)]
    )


def _select_component(fb: FunctionBuilder, index: Scalar, position: int, new: Scalar, old: Value) -> Scalar:
    assert isinstance(old, Scalar)
    if fb.is_dry:
        return Scalar(old.type)
    operands = [_is_index(fb, index, position), fb.ssa(new), fb.ssa(old)]
    return Scalar(old.type, fb.emit(arith.SelectOp, operands, ir_type(old.type)))


def value_type(value: Value) -> Type:
    """Returns the type of a number, vector, struct or fixed array."""
    assert isinstance(value, Scalar | Composite | FixedArray)
    return value.type


def convert_composite(fb: FunctionBuilder, value: Value, wanted: Type, node: ast.AST, what: str) -> Value:
    """Converts a value as storing does: components within a kind, structs not at all.

    Raises:
        CompileError: it is of another type.
    """
    if isinstance(wanted, ScalarType):
        return store_convert(fb, value, wanted, node, what)
    if isinstance(value, Composite) and value.type == wanted:
        return value
    if isinstance(value, FixedArray) and value.type == wanted and not value.prefix:
        return value
    source = value.type if isinstance(value, Composite) else None
    if isinstance(source, VecType) and isinstance(wanted, VecType) and source.size == wanted.size:
        assert isinstance(value, Composite)
        items = [store_convert(fb, item, wanted.element, node, what) for item in value.items]
        return Composite(tuple(items), wanted)
    raise fb.error(
        node,
        f"{what} holds {wanted!r}, found {describe(value)}",
        "LP2033",
        hint=f"make one: {wanted!r}(…)",
    )


def typed_composite(kind: VecType | StructType) -> Composite:
    """Returns some value of a type, for type inference."""
    if isinstance(kind, VecType):
        return Composite(tuple(Scalar(kind.element) for _ in range(kind.size)), kind)
    return Composite(tuple(typed_value_of(f.type) for f in kind.fields), kind)


def typed_value_of(kind: Type) -> Value:
    """Returns some value of a type, for type inference."""
    if isinstance(kind, VecType | StructType):
        return typed_composite(kind)
    if isinstance(kind, FixedArrayType):
        return FixedArray(kind, None)
    assert isinstance(kind, ScalarType)
    return Scalar(kind)


def composite_attribute(fb: FunctionBuilder, base: Composite, node: ast.Attribute) -> Value:
    """Compiles ``v.x``, swizzles such as ``v.zyx``, and members of structs.

    Raises:
        CompileError: there is no such component or member.
    """
    kind = base.type
    if isinstance(kind, StructType):
        (step,), _ = _member(fb, kind, node)
        assert isinstance(step, int)
        return base.items[step]
    if node.attr == "dtype":
        from .values import Static

        return Static(kind.element, kind.element.name)
    if len(node.attr) == 1:
        return base.items[_component(fb, kind, node)]
    return _swizzled(base, _swizzle_positions(fb, kind, node))


def _swizzled(base: Composite, positions: tuple[int, ...]) -> Composite:
    assert isinstance(base.type, VecType)
    return Composite(tuple(base.items[p] for p in positions), VecType(base.type.element, len(positions)))


def composite_item(fb: FunctionBuilder, base: Composite, node: ast.Subscript) -> Value:
    """Compiles ``v[k]``."""
    if not isinstance(base.type, VecType):
        raise fb.error(
            node, f"{describe(base)} cannot be indexed in kernels", "LP2033", hint="name its member"
        )
    return _step_into(fb, base, (_vector_index(fb, base.type, node),), node)


# ---- memory ----


def _load_place(fb: FunctionBuilder, place: ElementPart, node: ast.AST) -> Value:
    array = place.element.array
    if isinstance(array.type.element, ScalarType):
        return load_element(fb, place.element, node)
    require_readable(fb, array, node)
    fb.accesses[array.parameter].reads = True
    value = _load(fb, place.element, place.type, place.path)
    if place.swizzle is None:
        return value
    assert isinstance(value, Composite)
    return _swizzled(value, place.swizzle)


def _load(fb: FunctionBuilder, element: Element, kind: Type, path: tuple[Step, ...]) -> Value:
    if fb.is_dry:
        return typed_value_of(kind)
    if isinstance(kind, ScalarType):
        return _load_scalar(fb, element, kind, path)
    if isinstance(kind, VecType):
        if not path and is_loaded_whole(kind):
            return _load_vector(fb, element, kind)
        items = [_load_scalar(fb, element, kind.element, (*path, i)) for i in range(kind.size)]
        return Composite(tuple(items), kind)
    if isinstance(kind, StructType):
        items = [_load(fb, element, f.type, (*path, i)) for i, f in enumerate(kind.fields)]
        return Composite(tuple(items), kind)
    assert isinstance(kind, FixedArrayType)
    leaves = [_load_scalar(fb, element, kind.element, (*path, *index)) for index in _indices(kind)]
    return construct_fixed(fb, kind, [fb.ssa(leaf) for leaf in leaves])


def _indices(kind: FixedArrayType) -> Iterator[tuple[int, ...]]:
    import numpy as np

    yield from np.ndindex(*kind.shape)


def _load_vector(fb: FunctionBuilder, element: Element, kind: VecType) -> Composite:
    array = element.array
    whole = fb.emit(memref.LoadOp, [array.ssa, *element.indices], element_type(kind))
    return Composite(tuple(extract(fb, whole, kind.element, i) for i in range(kind.size)), kind)


def extract(fb: FunctionBuilder, whole: SSAValue | None, kind: ScalarType, *path: int) -> Scalar:
    """Returns a scalar of an IR value that is a composite."""
    indices = ArrayAttr([IntegerAttr(i, i32) for i in path])
    return Scalar(kind, fb.emit(CompositeExtractOp, [whole], ir_type(kind), {"indices": indices}))


def _path_properties(path: Sequence[Step]) -> dict[str, Attribute]:
    return {"path": LoadFieldOp.path_attribute([s if isinstance(s, int) else None for s in path])}


def _path_operands(fb: FunctionBuilder, path: Sequence[Step]) -> list[SSAValue | None]:
    return [_narrow(fb, step) for step in path if not isinstance(step, int)]


def _narrow(fb: FunctionBuilder, index: Scalar) -> SSAValue | None:
    if index.type.bits == 64:
        return fb.emit(arith.TruncIOp, [fb.ssa(index)], i32)
    return fb.ssa(index)


def _load_scalar(fb: FunctionBuilder, element: Element, kind: ScalarType, path: tuple[Step, ...]) -> Scalar:
    operands = [element.array.ssa, *element.indices, *_path_operands(fb, path)]
    loaded = fb.emit(LoadFieldOp, operands, storage_type(kind), _path_properties(path))
    if kind is not BOOL:
        return Scalar(kind, loaded)
    byte = storage_type(BOOL)
    zero = fb.prologue_value(
        ("i8", 0), arith.ConstantOp, byte, properties={"value": integer_attribute(0, byte)}
    )
    return Scalar(BOOL, fb.emit(arith.CmpiOp, [loaded, zero], ir_type(BOOL), CMPI["ne"]))


def _store_place(
    fb: FunctionBuilder, place: ElementPart, value: Value, node: ast.AST, value_node: ast.AST
) -> None:
    array = place.element.array
    if isinstance(array.type.element, ScalarType):
        store_element(fb, place.element, value, node, value_node)
        return
    require_writable(fb, array, node)
    fb.accesses[array.parameter].writes = True
    stored = convert_composite(fb, value, place.type, value_node, f"'{array.name}'")
    if not fb.is_dry:
        _store(fb, place.element, place.type, place.path, stored, node)


def _store(
    fb: FunctionBuilder, element: Element, kind: Type, path: tuple[Step, ...], value: Value, node: ast.AST
) -> None:
    if isinstance(kind, ScalarType):
        assert isinstance(value, Scalar)
        _store_scalar(fb, element, value, path)
    elif isinstance(kind, VecType) and not path and is_loaded_whole(kind):
        assert isinstance(value, Composite)
        parts = [fb.ssa(item) for item in value.items if isinstance(item, Scalar)]
        whole = fb.emit(CompositeConstructOp, parts, element_type(kind))
        assert whole is not None and element.array.ssa is not None
        fb.append(memref.StoreOp.create(operands=[whole, element.array.ssa, *element.indices]))
    elif isinstance(kind, FixedArrayType):
        assert isinstance(value, FixedArray)
        for index in _indices(kind):
            part = load_fixed(fb, value, [constant(i) for i in index], node)
            assert isinstance(part, Scalar)
            _store_scalar(fb, element, part, (*path, *index))
    else:
        assert isinstance(value, Tuple) and isinstance(kind, VecType | StructType)
        kinds = [kind.element] * kind.size if isinstance(kind, VecType) else [f.type for f in kind.fields]
        for position, (item, part_kind) in enumerate(zip(value.items, kinds, strict=True)):
            _store(fb, element, part_kind, (*path, position), item, node)


def _store_scalar(fb: FunctionBuilder, element: Element, value: Scalar, path: tuple[Step, ...]) -> None:
    ssa = fb.ssa(value)
    if value.type is BOOL:
        ssa = fb.emit(arith.ExtUIOp, [ssa], storage_type(BOOL))
    operands = [ssa, element.array.ssa, *element.indices, *_path_operands(fb, path)]
    fb.append(
        StoreFieldOp.create(
            operands=[operand for operand in operands if operand is not None],
            properties=_path_properties(path),
        )
    )


def build_value(fb: FunctionBuilder, kind: Type, leaf: Callable[[ScalarType], Scalar]) -> Value:
    """Makes a value of a type from its scalars, asked for in C order."""
    if isinstance(kind, ScalarType):
        return leaf(kind)
    if isinstance(kind, VecType):
        return Composite(tuple(leaf(kind.element) for _ in range(kind.size)), kind)
    if isinstance(kind, StructType):
        return Composite(tuple(build_value(fb, f.type, leaf) for f in kind.fields), kind)
    assert isinstance(kind, FixedArrayType)
    return construct_fixed(fb, kind, [fb.ssa(leaf(kind.element)) for _ in range(kind.size)])
