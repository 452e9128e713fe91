"""Assignments: to variables, array elements and tuples of these; plain, augmented, annotated and ``:=``."""

from __future__ import annotations

import ast

from ..ir.errors import CompileError
from .analysis import VALUE
from .arithmetic import binary
from .composite_arrays import elements_along, has_memory, shape_of, without_rows
from .composites import convert_composite
from .conversions import settle, store_convert
from .dispatch import expression, statement
from .fixed_cells import in_memory
from .function_builder import FunctionBuilder, VariableType
from .ir_types import I32, WEAK_FLOAT, WEAK_INT
from .literal_choices import held_by
from .named_objects import named_object
from .parameter_types import LocalArrayType
from .parts import load_part, resolve_part, store_part
from .promotion import fits, join
from .struct_types import StructType, value_type_of
from .types import MAX_DIMENSIONS, ArrayType, FixedArrayType, ScalarType, scalar_of
from .values import (
    Array,
    Binding,
    Composite,
    Elements,
    FixedArray,
    Iteration,
    LocalArray,
    RangeValue,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    constant,
    describe,
)
from .vector_types import CompositeArrayType, VecType
from .work_items import BY_DIMENSION


def assign_target(fb: FunctionBuilder, target: ast.expr, value: Value, node: ast.AST) -> None:
    """Stores `value` into the target of an assignment or a for loop.

    Raises:
        CompileError: kernels have no such target, or the value does not go into it.
    """
    match target:
        case ast.Name(id=name):
            assign_name(fb, name, value, node)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for part, item in zip(targets, _unpacked(fb, targets, value, node), strict=True):
                assign_target(fb, part, item, node)
        case ast.Subscript() | ast.Attribute():
            store_part(fb, resolve_part(fb, target), value, target, node)
        case _:
            raise fb.error(
                target,
                f"kernels cannot assign to {_target_kind(target)}",
                "LP2053",
                hint="assign to a variable, an array element a[i], or a tuple of these",
            )


def _target_kind(target: ast.expr) -> str:
    return "an attribute" if isinstance(target, ast.Attribute) else "this expression"


def _unpacked(fb: FunctionBuilder, targets: list[ast.expr], value: Value, node: ast.AST) -> tuple[Value, ...]:
    for target in targets:
        if isinstance(target, ast.Starred):
            raise fb.error(
                target, "kernels have no starred assignment", "LP2030", hint="name each item of the tuple"
            )
    if shape_of(value) is not None:
        value = Tuple(tuple(elements_along(fb, value)))
    if not isinstance(value, Tuple) or (isinstance(value, Composite) and not value.is_vector):
        raise fb.error(
            node,
            f"expected a tuple of {len(targets)} values, found {describe(value)}",
            "LP2033",
            hint=_values_to_write(node, targets),
        )
    if len(value.items) != len(targets):
        wanted, found = len(targets), len(value.items)
        raise fb.error(
            node,
            f"expected {wanted} value{'s' * (wanted != 1)} to unpack, found {found}",
            "LP2033",
            hint=f"name {found} variable{'s' * (found != 1)}, or index the tuple",
        )
    return value.items


def _values_to_write(node: ast.AST, targets: list[ast.expr]) -> str:
    """What to write where several names would share one value, which may be an id of one dimension."""
    function = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if function.rpartition(".")[2] in BY_DIMENSION and len(targets) <= MAX_DIMENSIONS:
        calls = ", ".join(f"{function}({dimension})" for dimension in range(len(targets)))
        return f"{function} gives one dimension: {', '.join(map(ast.unparse, targets))} = {calls}"
    return "write as many values as there are names: a, b = v, w"


def assign_name(fb: FunctionBuilder, name: str, value: Value, node: ast.AST) -> None:
    """Gives a variable a value, in the variable's type.

    Raises:
        CompileError: the value has no type that joins with the variable's other values.
    """
    if has_memory(value) and _is_same(fb.env.get(name), value):
        return  # an element was stored
    value = _copied(fb, value, fb.env.get(name))
    _refuse_other_array(fb, name, value, node)
    if isinstance(value, LocalArray) and value.name.startswith("lp."):
        value.name = name  # for messages: until now it is called by what made it
    if fb.is_dry:
        _join_type(fb, name, value, node)
        fb.known.pop(name, None)
        if isinstance(value, Scalar) and value.const is not None:
            fb.known[name] = value
            if value.type is WEAK_INT and not fits(value.const, I32):
                fb.large_literals.add(name)
        return
    if isinstance(value, LocalArray) and value.ssa is not None and not value.ssa.name_hint and name.isascii():
        value.ssa.name_hint = name
    wanted = fb.variable_types.get(name)
    if name in fb.literals and isinstance(value, Scalar) and value.const is not None:
        is_float = fb.literals[name] is WEAK_FLOAT
        fb.env[name] = constant(float(value.const) if is_float else value.const)
    else:
        held = (
            settled_value(fb, value, node)
            if wanted is None
            else _converted(fb, value, wanted, node, _called(name))
        )
        held = held_by(name, held, None if name in fb.declared else value)
        fb.env[name] = in_memory(fb, (name,), held, node)


def _copied(fb: FunctionBuilder, value: Value, held: Binding | None) -> Value:
    """Returns a value in which what lies in a variable's memory is copied, but where it is the same member of the
    variable that it is given to: only others were stored."""
    if isinstance(value, FixedArray) and value.cell is not None and held is value:
        return value
    if isinstance(value, Composite) and isinstance(held, Composite) and held.matches(value):
        pairs = zip(value.items, held.items, strict=True)
        return value.with_items([_copied(fb, new, old) for new, old in pairs])
    return without_rows(fb, value)


def _is_same(held: Binding | None, value: Value) -> bool:
    """Whether a value is what a variable holds, or made of the same parts."""
    if isinstance(held, Composite) and isinstance(value, Composite) and held.matches(value):
        return all(_is_same(old, new) for old, new in zip(held.items, value.items, strict=True))
    return held is value


def _refuse_other_array(fb: FunctionBuilder, name: str, value: Value, node: ast.AST) -> None:
    """Raises CompileError where the name of an array parameter is given to another array.

    Which array a name means would depend on the way to it: the next round of a loop, or what follows a jump.
    """
    held = fb.env.get(name)
    if not isinstance(held, Array) or not isinstance(value, Array) or held.ssa is value.ssa:
        return
    arguments = fb.source.tree.args
    if any(a.arg == name for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)):
        raise _no_join(fb, name, held, value, node)


def settled_value(fb: FunctionBuilder, value: Value, node: ast.AST) -> Value:
    """Gives the literals in a value their own types."""
    if isinstance(value, Scalar):
        return settle(fb, value, node)
    if isinstance(value, Tuple):
        return value.with_items(settled_value(fb, item, node) for item in value.items)
    return value


def _called(name: str) -> str:
    """Returns what messages call a variable."""
    return "the returned value" if name == VALUE else f"variable '{name}'"


def _converted(fb: FunctionBuilder, value: Value, wanted: VariableType, node: ast.AST, what: str) -> Value:
    if isinstance(wanted, ScalarType):
        return store_convert(fb, value, wanted, node, what)
    if isinstance(wanted, VecType | StructType | CompositeArrayType):
        return convert_composite(fb, value, wanted, node, what)
    if isinstance(wanted, FixedArray) and not (isinstance(value, FixedArray) and value.type == wanted.type):
        return convert_composite(fb, value, wanted.type, node, what)
    if isinstance(wanted, tuple) and isinstance(value, Tuple) and len(wanted) == len(value.items):
        pairs = zip(value.items, wanted, strict=True)
        return Tuple(tuple(_converted(fb, item, kind, node, what) for item, kind in pairs))
    return value


def _join_type(fb: FunctionBuilder, name: str, value: Value, node: ast.AST) -> None:
    """Joins the type of `value` into the variable's, while types are inferred."""
    found = variable_type(value)
    known = fb.variable_types.get(name)
    if known is not None and name in fb.round_names and isinstance(found, Array | Static):
        fb.variable_types[name] = found
        return
    if known is None:
        fb.variable_types[name] = found
        fb.assigned_at[name] = node
        fb.changed |= fb.read_types & {name}
        return
    if name in fb.declared:
        _converted(fb, value, known, node, _called(name))
        return
    joined = _joined(known, found)
    if joined is None:
        raise _no_join(fb, name, known, value, node)
    if joined != known:
        fb.variable_types[name] = joined
        fb.changed |= fb.read_types & {name}


def _no_join(
    fb: FunctionBuilder, name: str, known: VariableType, found: Value, node: ast.AST
) -> CompileError:
    is_result = name == VALUE
    what = _called(name)
    message = (
        f"{what} is {_spelled(known)} in one place and {describe(found)} in another: the types do not join"
    )
    hint = "convert the values to one type, or " + (
        "write two functions" if is_result else "use two variables"
    )
    if isinstance(known, Array) and isinstance(found, Array):
        message = (
            f"{what} names the array '{known.name}' in one place and '{found.name}' in another; "
            "it can name one array only"
        )
        hint = "choose by an index, a[k, i] of one array with one dimension more, or call a helper with either array"
    first = fb.assigned_at.get(name)
    verb = "returned" if is_result else "assigned"
    notes = [] if first is None else [fb.source.diagnostic(first, f"first {verb} here", severity="note")]
    return fb.error(node, message, "LP2049" if is_result else "LP2037", hint=hint, notes=notes)


def variable_type(value: Value) -> VariableType:
    """Returns what kind of variable holds `value`."""
    if isinstance(value, Scalar):
        return value.type
    if isinstance(value, Composite):
        return value.type
    if isinstance(value, Tuple):
        return tuple(variable_type(item) for item in value.items)
    if isinstance(value, RangeValue | Iteration | Elements):
        return Static(value, "iterator")
    return value


def _joined(known: VariableType, found: VariableType) -> VariableType | None:
    if isinstance(known, ScalarType) and isinstance(found, ScalarType):
        return join(known, found)
    if isinstance(known, VecType | StructType | CompositeArrayType):
        return known if known == found else None
    if isinstance(known, tuple) and isinstance(found, tuple) and len(known) == len(found):
        items = [_joined(a, b) for a, b in zip(known, found, strict=True)]
        return None if any(item is None for item in items) else tuple(i for i in items if i is not None)
    if isinstance(known, Static) and isinstance(found, Static):
        return known if known.obj is found.obj else None
    if isinstance(known, Array) and isinstance(found, Array) and known.parameter == found.parameter:
        # Arrays in one tuple are one parameter; those that the function makes are made anew in every walk.
        return known if known.parameter < 0 or known.ssa is found.ssa else None
    if isinstance(known, FixedArray) and isinstance(found, FixedArray) and known.type == found.type:
        return known
    return None


def _spelled(kind: VariableType) -> str:
    if isinstance(kind, ScalarType):
        return describe(Scalar(kind))
    if isinstance(kind, VecType | StructType | CompositeArrayType):
        return repr(kind)
    return f"a tuple of {len(kind)}" if isinstance(kind, tuple) else describe(kind)


@statement(ast.Assign)
def compile_assign(fb: FunctionBuilder, node: ast.Assign) -> None:
    """Compiles ``a = b = value``; the right side of a swap is evaluated before anything is stored."""
    value = fb.evaluate(node.value)
    for target in node.targets:
        fb.node = node
        assign_target(fb, target, value, node.value)


@statement(ast.AugAssign)
def compile_augmented(fb: FunctionBuilder, node: ast.AugAssign) -> None:
    """Compiles ``a += v``; the indices of an element are evaluated once."""
    operator = type(node.op).__name__
    match node.target:
        case ast.Name(id=name) as target:
            old = fb.evaluate(target)
            assign_name(fb, name, binary(fb, operator, old, fb.evaluate(node.value), node), node)
        case (ast.Subscript() | ast.Attribute()) as target:
            part = resolve_part(fb, target)
            old = load_part(fb, part, target)
            value = binary(fb, operator, old, fb.evaluate(node.value), node)
            fb.node = node
            store_part(fb, part, value, target, node)


@statement(ast.AnnAssign)
def compile_annotated(fb: FunctionBuilder, node: ast.AnnAssign) -> None:
    """Compiles ``x: lp.f32 = 0.0``; the type was read before (see `declare_annotated`)."""
    if node.value is not None:
        value = fb.evaluate(node.value)
        fb.node = node
        assign_target(fb, node.target, value, node.value)


def declare_annotated(fb: FunctionBuilder, node: ast.AnnAssign) -> None:
    """Fixes the type of an annotated variable for the whole function.

    Raises:
        CompileError: the annotation is no scalar type, or another one stands elsewhere.
    """
    if not isinstance(node.target, ast.Name):
        raise fb.error(
            node.target, "only variables are annotated in kernels", "LP2053", hint="leave the annotation out"
        )
    if getattr(named_object(fb, node.annotation), "__module__", None) == "typing":
        return  # Final and the like say nothing about the type
    if _is_of_array(fb, node.annotation):
        raise fb.error(
            node.annotation,
            f"a variable's annotation is a type such as lp.f32, found {ast.unparse(node.annotation)}",
            "LP2012",
            hint="leave it out: the name is another one of that array",
        )
    written = _unquoted(node.annotation)
    if isinstance(written, ast.Name) and fb.is_local(written.id):
        message = f"'{written.id}' is a variable of this function, and no annotation"
        hint = f"write the type, or give it its name around the function: {written.id} = lp.f32"
        raise fb.error(node.annotation, message, "LP2012", hint=hint)
    annotation = fb.evaluate(written)
    obj = annotation.obj if isinstance(annotation, Static) else None
    scalar = scalar_of(obj)
    kind: VariableType | None = scalar
    composite = value_type_of(obj)
    if kind is None and isinstance(composite, VecType | StructType | CompositeArrayType):
        kind = composite
    elif isinstance(composite, FixedArrayType):
        kind = FixedArray(composite, None)
    if kind is None:
        raise fb.error(
            node.annotation,
            f"a variable's annotation is a type such as lp.f32, found {describe(annotation)}",
            "LP2012",
            hint="leave it out: the type of a variable follows from its values",
        )
    name = node.target.id
    known = fb.variable_types.get(name, kind)
    if _joined(known, kind) is None or (isinstance(kind, ScalarType) and known != kind):
        raise fb.error(
            node, f"variable '{name}' is annotated with two types", "LP2037", hint="use two variables"
        )
    fb.variable_types[name] = kind
    fb.declared.add(name)
    fb.assigned_at[name] = node


def _is_of_array(fb: FunctionBuilder, annotation: ast.expr) -> bool:
    from .helper_arguments import annotation_type  # which assigns to parameters

    return isinstance(annotation, ast.Subscript) and isinstance(
        annotation_type(fb, fb.source, annotation), ArrayType | LocalArrayType
    )


def _unquoted(annotation: ast.expr) -> ast.expr:
    """Returns the expression that an annotation is, where it is written as a text: ``x: "lp.f32" = 0.0``."""
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    try:
        written = ast.parse(annotation.value, mode="eval").body
    except (SyntaxError, ValueError):  # said as of any text that is no type
        return annotation
    for part in ast.walk(written):
        ast.copy_location(part, annotation)
    return written


@expression(ast.NamedExpr)
def compile_named(fb: FunctionBuilder, node: ast.NamedExpr) -> Value:
    """Compiles ``(x := value)``."""
    value = fb.evaluate(node.value)
    fb.node = node
    assign_name(fb, node.target.id, value, node)
    bound = fb.env.get(node.target.id)
    return value if bound is None or isinstance(bound, Unset) or fb.is_dry else bound
