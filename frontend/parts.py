"""Parts of things: components of vectors, members of structs, elements of arrays, and whole paths of these.

Finds what an expression or the target of an assignment names.  `part_memory` loads and stores parts of array elements,
`variable_parts` those of variables, `images` pixels.
"""

from __future__ import annotations

import ast
import inspect

from .composite_arrays import has_memory, without_rows
from .conversions import literal_position
from .fixed_arrays import index_in_range
from .function_builder import FunctionBuilder
from .images import Pixel, load_pixel, store_pixel
from .part_memory import ElementPart, Step, load_place, store_place, swizzled
from .struct_types import StructType
from .subscripts import image_pixel, index_values, resolve_element
from .types import FixedArrayType, ScalarType, Type
from .values import (
    Array,
    BoundMethod,
    Composite,
    FixedArray,
    Image,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    describe,
    index_count,
)
from .variable_parts import VariablePart, load_variable_part, step_into, store_variable_part
from .vector_types import CompositeArrayType, VecType

COMPONENTS = "xyzw"
"""Names of a vector's components."""


Part = ElementPart | VariablePart | Pixel


def array_part(fb: FunctionBuilder, node: ast.expr) -> ElementPart | None:
    """Returns the part of an array element that an expression names, None where it names something else.

    Elements of scalar arrays are none: `subscripts` reads them.
    """
    root: ast.expr = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        array = _array_named(fb, root.value) if isinstance(root, ast.Subscript) else None
        if array is not None:
            is_place = not isinstance(array, Image) and not isinstance(array.type.element, ScalarType)
            return _part_below(fb, node, root) if is_place else None
        root = root.value
    return None


def _array_named(fb: FunctionBuilder, node: ast.expr) -> Array | None:
    """Returns the array that a local variable is, or an item of one that is a tuple; None for everything else."""
    if isinstance(node, ast.Name) and fb.is_local(node.id):
        # While types are inferred, a variable that holds an array is only known by its type.
        fb.read_types.add(node.id)
        found = fb.variable_types.get(node.id) if fb.is_dry else None
        found = fb.env.get(node.id) if found is None else found
        return found if isinstance(found, Array) else None
    root = node
    while isinstance(root, ast.Subscript) and not any(
        isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(root.slice)
    ):
        root = root.value
    if node is root or not isinstance(root, ast.Name) or not fb.is_local(root.id):
        return None
    if type(fb.evaluate(root)) is not Tuple:
        return None
    found = fb.evaluate(node)  # safe: it only picks items of tuples, one after the other
    return found if isinstance(found, Array) else None


def _part_below(fb: FunctionBuilder, node: ast.expr, root: ast.expr) -> ElementPart | None:
    assert isinstance(node, ast.Attribute | ast.Subscript)
    if node is root:
        assert isinstance(node, ast.Subscript)
        return ElementPart(element := resolve_element(fb, node), element.array.type.element)
    outer = _part_below(fb, node.value, root)
    if outer is None:
        return None
    if outer.swizzle is not None:
        return _below_swizzle(fb, outer, outer.swizzle, node)
    if isinstance(node, ast.Attribute) and isinstance(outer.type, VecType) and len(node.attr) > 1:
        positions = _swizzle_positions(fb, outer.type, node)
        return ElementPart(outer.element, outer.type, outer.path, positions)
    if isinstance(node, ast.Attribute) and _is_of_value(outer.type, node.attr):
        return None  # asked of the element that is read
    steps, kind = _steps(fb, outer.type, node)
    return ElementPart(outer.element, kind, (*outer.path, *steps))


def _is_of_value(kind: Type, name: str) -> bool:
    """Whether it is no part: a struct's method, ``m.T`` and ``m.shape`` of a fixed array, ``v.dtype``."""
    if isinstance(kind, StructType):
        return kind.index_of(name) is None and kind.method(name) is not None
    return isinstance(kind, FixedArrayType | CompositeArrayType) or (
        isinstance(kind, VecType) and name == "dtype"
    )


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
        from .suggestions import vector_member_hint  # only for messages

        raise fb.error(
            node,
            f"{kind!r} has no swizzle '{node.attr}'",
            "LP2046",
            hint=vector_member_hint(node.attr)
            or f"a swizzle is 2 to 4 of {', '.join(COMPONENTS[: kind.size])}",
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
    if isinstance(kind, FixedArrayType | CompositeArrayType):
        indices = index_values(fb, node)
        if len(indices) > kind.ndim:
            raise fb.error(node, f"{kind!r} takes {index_count(kind.ndim)}, found {len(indices)}", "LP2041")
        steps = [bounded_step(fb, i, n, node) for i, n in zip(indices, kind.shape, strict=False)]
        return tuple(steps), kind.row(len(indices))
    hint = indexed_struct_hint(node) if isinstance(kind, StructType) else None
    raise fb.error(node, f"{kind!r} cannot be indexed in kernels", "LP2033", hint=hint)


def indexed_struct_hint(node: ast.Subscript) -> str:
    """Returns what to write instead of ``s["x"]``, as records of NumPy are read."""
    match node.slice:
        case ast.Constant(value=str() as name) if name.isidentifier():
            return f"name its member: {ast.unparse(node.value)}.{name}"
        case _:
            return "name its member"


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
            hint=_missing_member_hint(kind, node),
        )
    return (position,), kind.fields[position].type


def _missing_member_hint(kind: StructType, node: ast.Attribute) -> str:
    """Returns what to write instead of a member that a struct has not, which its class may have."""
    found = inspect.getattr_static(kind.python_class, node.attr, None)
    if isinstance(found, property):
        return f"kernels have no properties: make it a method, {ast.unparse(node)}()"
    if isinstance(found, int | float | tuple):
        return f"it is of the class: write {kind.name}.{node.attr}"
    return f"it has {', '.join(f.name for f in kind.fields)}"


def _vector_index(fb: FunctionBuilder, kind: VecType, node: ast.Subscript) -> Step:
    indices = index_values(fb, node, "a vector")
    if len(indices) != 1:
        raise fb.error(node, f"{kind!r} takes one index, found {len(indices)}", "LP2041")
    return bounded_step(fb, indices[0], kind.size, node, "a vector")


def bounded_step(
    fb: FunctionBuilder, index: Scalar, length: int, node: ast.AST, of: str = "a fixed array"
) -> Step:
    """Returns an index into a value that is in range: a literal is checked, others are clamped unless known to be."""
    position = literal_position(fb, index, length, node)
    return index_in_range(fb, index, length, of, node) if position is None else position


def resolve_part(fb: FunctionBuilder, target: ast.Subscript | ast.Attribute) -> Part:
    """Evaluates everything of an assignment's target but the store.

    Raises:
        CompileError: it is no part of an array or of a variable.
    """
    place = array_part(fb, target)
    if place is not None:
        if place.swizzle is not None:
            _require_distinct(fb, place.swizzle, target)
        return place
    pixel = image_pixel(fb, target)
    if pixel is not None:
        return pixel
    steps: list[ast.Subscript | ast.Attribute] = []
    root: ast.expr = target
    while isinstance(root, ast.Subscript | ast.Attribute):
        steps.append(root)
        root = root.value
    base = _held(fb, root) if isinstance(root, ast.Name) and fb.is_local(root.id) else None
    if base is None or not isinstance(base, Composite | FixedArray) or not isinstance(root, ast.Name):
        if steps and target is not steps[-1] and image_pixel(fb, steps[-1]) is not None:
            raise fb.error(
                target,
                "a pixel of an image is stored whole, not a part of it",
                "LP2053",
                hint=f"read it, change it, store it: p = {ast.unparse(steps[-1])}; p.x = …; "
                f"{ast.unparse(steps[-1])} = p",
            )
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
    swizzle = None
    for node in reversed(steps):
        if isinstance(node, ast.Attribute) and isinstance(kind, VecType) and len(node.attr) > 1:
            swizzle = _target_swizzle(fb, kind, node, is_last=node is target)
        else:
            more, kind = _steps(fb, kind, node)
            path.append(more)
    return VariablePart(root.id, base, tuple(path), swizzle)


def _held(fb: FunctionBuilder, node: ast.Name) -> Value:
    """Returns the value of a variable; where it has memory, the memory."""
    held = None if fb.is_dry else fb.env.get(node.id)
    return (
        held if held is not None and not isinstance(held, Unset) and has_memory(held) else fb.evaluate(node)
    )


def _target_swizzle(
    fb: FunctionBuilder, kind: VecType, node: ast.Attribute, *, is_last: bool
) -> tuple[int, ...]:
    positions = _swizzle_positions(fb, kind, node)
    if not is_last:
        raise fb.error(
            node,
            f"a part of the swizzle '{ast.unparse(node)}' cannot be assigned to",
            "LP2053",
            hint="assign to the component itself: v.x = …",
        )
    _require_distinct(fb, positions, node)
    return positions


def _require_distinct(fb: FunctionBuilder, positions: tuple[int, ...], node: ast.expr) -> None:
    twice = next((p for p in positions if positions.count(p) > 1), None)
    if twice is not None:
        raise fb.error(
            node,
            f"'{ast.unparse(node)}' names the component {COMPONENTS[twice]} twice; it cannot be assigned to",
            "LP2053",
            hint="name each component once",
        )


def load_part(fb: FunctionBuilder, part: Part, node: ast.AST) -> Value:
    """Returns the value of a part."""
    if isinstance(part, ElementPart):
        return load_place(fb, part, node)
    if isinstance(part, Pixel):
        return load_pixel(fb, part, node)
    return load_variable_part(fb, part, node)


def store_part(fb: FunctionBuilder, part: Part, value: Value, node: ast.AST, value_node: ast.AST) -> None:
    """Stores a value into a part.

    Args:
        node: the target, blamed where it cannot be written.
        value_node: the value, blamed where it does not convert.

    Raises:
        CompileError: the array is read-only, or the value does not convert.
    """
    if isinstance(part, ElementPart):
        store_place(fb, part, value, node, value_node)
        return
    if isinstance(part, Pixel):
        store_pixel(fb, part, value, node, value_node)
        return
    store_variable_part(fb, part, value, node, value_node)


def composite_attribute(fb: FunctionBuilder, base: Composite, node: ast.Attribute) -> Value:
    """Compiles ``v.x``, swizzles such as ``v.zyx``, and members of structs.

    Raises:
        CompileError: there is no such component or member.
    """
    kind = base.type
    if isinstance(kind, StructType):
        method = kind.method(node.attr) if kind.index_of(node.attr) is None else None
        if method is not None:
            receiver = without_rows(fb, base)
            assert isinstance(receiver, Composite)
            return Static(BoundMethod(method, receiver, node.attr), ast.unparse(node))
        (step,), _ = _member(fb, kind, node)
        assert isinstance(step, int)
        return base.items[step]
    assert isinstance(kind, VecType), describe(base)
    if node.attr == "dtype":
        return Static(kind.element, kind.element.name)
    if len(node.attr) == 1:
        return base.items[_component(fb, kind, node)]
    return swizzled(base, _swizzle_positions(fb, kind, node))


def composite_item(fb: FunctionBuilder, base: Composite, node: ast.Subscript) -> Value:
    """Compiles ``v[k]``."""
    if not isinstance(base.type, VecType):
        raise fb.error(
            node,
            f"{describe(base)} cannot be indexed in kernels",
            "LP2033",
            hint=indexed_struct_hint(node),
        )
    return step_into(fb, base, (_vector_index(fb, base.type, node),), node)
