"""Names, literals, attributes and tuples: where the values of a kernel come from."""

from __future__ import annotations

import ast
import enum
import types as python_types

import numpy as np

from ..ir.errors import CompileError, closest
from ..ir.stream import Manipulator, Stream
from .builtins import BUILTINS, BuiltinFunction
from .captured_objects import captured, whole_number
from .composite_arrays import has_memory, is_array, shape_of, without_rows
from .composites import typed_composite
from .conversions import convert
from .dispatch import expression
from .externals import ExternalFunction
from .function_builder import FunctionBuilder, UnknownTypeError, VariableType
from .named_objects import named_object
from .parts import array_part, composite_attribute, load_part
from .scope import MISSING
from .spec_constant import SpecializationId
from .specialization import read_specialization
from .streams import KernelStream
from .struct_types import StructType
from .subscripts import array_attribute, held_value, read_now
from .types import ArrayType, FixedArrayType, ScalarType
from .values import (
    Array,
    Composite,
    FixedArray,
    NamedTuple,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    constant,
    describe,
)
from .vector_types import CompositeArrayType, VecType
from .work_item_members import id_member, member
from .work_item_values import WorkItem


@expression(ast.Constant)
def compile_constant(fb: FunctionBuilder, node: ast.Constant) -> Value:
    """Compiles a literal."""
    value = node.value
    if isinstance(value, int):
        return whole_number(fb, value, "this literal", node)
    if isinstance(value, float):
        return constant(value)
    if value is None or isinstance(value, str):
        return Static(value, repr(value))
    hint = "kernels have numbers, True, False, None, texts for options, and tuples"
    if isinstance(value, complex):
        hint = "numbers are integers or floats; use two floats for a complex number"
    elif value is ...:
        hint = "name each index, a[i, j], in a loop over the elements"
    raise fb.error(node, f"kernels have no {type(value).__name__} literals", "LP2030", hint=hint)


@expression(ast.Tuple)
def compile_tuple(fb: FunctionBuilder, node: ast.Tuple) -> Value:
    """Compiles ``(a, b)``."""
    for item in node.elts:
        if isinstance(item, ast.Starred):
            raise fb.error(item, "kernels have no starred items", "LP2030", hint="write the items out")
    return Tuple(tuple(fb.evaluate(item) for item in node.elts))


@expression(ast.Name)
def compile_name(fb: FunctionBuilder, node: ast.Name) -> Value:
    """Compiles the read of a variable, or of a name from around the kernel."""
    name = node.id
    constant = fb.spec_parameters.get(name)
    if constant is not None:
        return read_specialization(fb, constant)
    if fb.is_local(name):
        if fb.is_dry:
            return _variable_of_type(fb, name)
        value = _variable(fb, name, node)
        return without_rows(fb, value) if fb.cells and has_memory(value) else value
    static = fb.statics.get(name)
    if static is not None:
        return static
    found = fb.source.resolve(name)
    if found is MISSING:
        raise fb.error(node, f"unknown name '{name}'", "LP2031", hint=_unknown_hint(fb, name))
    fb.module.captures.read_name(fb.source, name, found)
    value = captured(fb, found, name, node)
    if isinstance(value, Static):
        fb.statics[name] = value
    return value


_OURS = (
    "kernels have lapilli's names: lp.global_id(0), lp.barrier(), lp.atomic.add(a, i, v); docs/kernel-language.md has "
    "them beside those of CUDA, Numba, Triton and Taichi"
)
_OTHERS = {
    **dict.fromkeys(("cuda", "taichi", "ti", "tl", "triton", "wp"), _OURS),
    **dict.fromkeys(
        ("cp", "cupy", "np", "numpy"), "NumPy does not run on devices; use lp.math and the builtins"
    ),
    **dict.fromkeys(
        ("jax", "jnp", "torch"),
        "tensors do not run in kernels; use lp.math and the builtins on their elements",
    ),
}
"""What to write instead of modules that other kernels use."""


def _unknown_hint(fb: FunctionBuilder, name: str) -> str:
    if name in _OTHERS:
        return _OTHERS[name]
    own = [n for n in fb.local_names if n != name and not n.startswith("$")]
    meant = closest(name, own + list(BUILTINS))
    from .suggestions import public_name_hint  # only for messages

    known = public_name_hint(name)
    if meant or known:
        return known or f"did you mean '{meant}'?"
    return "check the spelling, or define it before the kernel is compiled"


def _variable_of_type(fb: FunctionBuilder, name: str) -> Value:
    """Returns a value of a variable's type, while types are inferred."""
    fb.read_types.add(name)
    kind = fb.variable_types.get(name)
    known = fb.known.get(name)
    if known is not None and isinstance(kind, ScalarType):
        return _known_value(fb, known, kind)
    if kind is not None:
        return typed_value(kind)
    bound = fb.env.get(name)
    if bound is None or isinstance(bound, Unset):
        raise UnknownTypeError
    return bound


def _known_value(fb: FunctionBuilder, known: Scalar, kind: ScalarType) -> Scalar:
    """Returns the constant that a variable holds, in the type that the variable has so far."""
    if kind.bits:
        return convert(fb, known, kind)
    assert known.const is not None
    return constant(float(known.const)) if kind.is_float else constant(known.const)


def typed_value(kind: VariableType) -> Value:
    """Returns some value of a variable's type."""
    if isinstance(kind, ScalarType):
        return Scalar(kind)
    if isinstance(kind, VecType | StructType | CompositeArrayType):
        return typed_composite(kind)
    return Tuple(tuple(typed_value(item) for item in kind)) if isinstance(kind, tuple) else kind


def _variable(fb: FunctionBuilder, name: str, node: ast.Name) -> Value:
    bound = fb.env.get(name)
    if bound is not None and not isinstance(bound, Unset):
        return bound
    if bound is None or bound.where is None:
        raise _never_set(fb, name, node)
    path = f" {bound.path}" if bound.path else ""
    note = fb.source.diagnostic(bound.where, f"'{name}' is not assigned here{path}", severity="note")
    raise fb.error(
        node,
        f"variable '{name}' may be unset: the {_kind(bound.where)} of line {getattr(bound.where, 'lineno', 0)} "
        f"does not assign it{path}",
        "LP2038",
        hint=f"give '{name}' a value before that line",
        notes=[note],
    )


def _never_set(fb: FunctionBuilder, name: str, node: ast.Name) -> CompileError:
    """Returns what is wrong where a variable has no value on any path yet."""
    is_known = fb.source.resolve(name) is not MISSING
    assignment = _first_assignment(fb, name)
    if assignment is None and not is_known:
        return fb.error(node, f"unknown name '{name}'", "LP2031", hint=_unknown_hint(fb, name))
    if assignment is None:
        return fb.error(
            node,
            f"'{name}' is a constant from around the kernel, and cannot be written",
            "LP2038",
            hint="pass what changes as an argument, an lp.Array",
        )
    if not is_known:
        message, hint = f"variable '{name}' is read before it is assigned", f"assign '{name}' first"
        return fb.error(node, message, "LP2038", hint=hint)
    where = "makes it a variable of the whole function: the one around the kernel is hidden"
    line = assignment.lineno
    is_passed_by = line < node.lineno  # it stands in another arm, or in a loop without rounds
    return fb.error(
        node,
        f"'{name}' is read where line {line}, which assigns it, has not run"
        if is_passed_by
        else f"'{name}' is read before line {line} assigns it",
        "LP2038",
        hint="call the variable something else; what a kernel changes, it is given as an argument",
        notes=[fb.source.diagnostic(assignment, f"this assignment {where}", severity="note")],
    )


def _first_assignment(fb: FunctionBuilder, name: str) -> ast.Name | None:
    """Returns where a variable is given a value; ``x[0] = v`` only stores into what it has."""
    found = (
        node
        for node in ast.walk(fb.source.tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    )
    return min(found, key=lambda node: (node.lineno, node.col_offset), default=None)


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return "if"
    return "loop" if isinstance(node, ast.For | ast.While) else "expression"


@expression(ast.Attribute)
def compile_attribute(fb: FunctionBuilder, node: ast.Attribute) -> Value:
    """Compiles ``a.shape``, ``lp.math``, ``math.pi``."""
    static = fb.static_attributes.get(id(node))
    if static is not None:
        return static[1]
    place = array_part(fb, node)
    if place is not None:
        return load_part(fb, place, node)
    number = _enum_value(fb, node)
    if number is not None:
        return number
    return read_now(fb, attribute_of(fb, held_value(fb, node.value), node))


def attribute_of(fb: FunctionBuilder, base: Value, node: ast.Attribute) -> Value:
    """Returns an attribute of a value; rows of fixed arrays are not read yet."""
    if isinstance(base, NamedTuple) and node.attr in base.names:
        return base.items[base.names.index(node.attr)]
    if isinstance(base, Static) and isinstance(base.obj, WorkItem):
        return member(fb, base.obj, node)
    if isinstance(base, Static) and isinstance(base.obj, KernelStream):
        return _stream_member(fb, base, node)
    of_id = id_member(fb, base, node)
    if of_id is not None:
        return of_id
    if isinstance(base, FixedArray) or is_array(base):
        return _fixed_attribute(fb, base, node)
    if isinstance(base, Composite):
        return composite_attribute(fb, base, node)
    if isinstance(base, Array):
        return array_attribute(fb, base, node)
    if isinstance(base, Static) and not isinstance(base.obj, str | BuiltinFunction | None):
        return _static_attribute(fb, base, node)
    raise fb.error(
        node,
        f"{describe(base)} has no attribute '{node.attr}' in kernels",
        "LP2046",
        hint=_member_hint(base, node.attr),
    )


def _member_hint(base: Value, name: str) -> str | None:
    """Returns what to write instead of a member that only hosts have."""
    if isinstance(base, NamedTuple):
        return f"its items are {', '.join(base.names)}"
    if isinstance(base, Static) and isinstance(base.obj, str):
        return 'texts are written out: print(f"{x:.3f}"), or print("x =", x)'
    from .suggestions import number_member_hint  # only for messages

    return number_member_hint(name) if isinstance(base, Scalar) else None


def _enum_value(fb: FunctionBuilder, node: ast.Attribute) -> Value | None:
    """Returns what ``Kind.FAST.value`` is, None for any other attribute."""
    found = named_object(fb, node.value) if node.attr == "value" else None
    return captured(fb, found.value, ast.unparse(node), node) if isinstance(found, enum.Enum) else None


def _stream_member(fb: FunctionBuilder, base: Static, node: ast.Attribute) -> Value:
    """Returns a manipulator by way of the stream: ``out.endl``."""
    found = getattr(Stream, node.attr, None)
    if isinstance(found, Manipulator):
        return Static(found, f"{base.name}.{node.attr}")
    names = [name for name in vars(Stream) if isinstance(getattr(Stream, name), Manipulator)]
    raise fb.error(
        node,
        f"a stream has no attribute '{node.attr}' in kernels",
        "LP2046",
        hint=f"write values with <<; its manipulators are {', '.join(names)}",
    )


def _static_attribute(fb: FunctionBuilder, base: Static, node: ast.Attribute) -> Value:
    obj, spelling = base.obj, f"{base.name}.{node.attr}"
    if isinstance(obj, python_types.FunctionType | ExternalFunction | ArrayType):
        raise fb.error(node, f"'{base.name}' has no attribute '{node.attr}' in kernels", "LP2046")
    try:
        found = getattr(obj, node.attr)
    except AttributeError:
        from .suggestions import attribute_hint  # only for messages

        hint = attribute_hint(base.name, node.attr, dir(obj))
        raise fb.error(node, f"'{base.name}' has no attribute '{node.attr}'", "LP2046", hint=hint) from None
    fb.module.captures.read_attribute(obj, node.attr, found)
    if isinstance(obj, python_types.ModuleType | type) and isinstance(found, SpecializationId):
        found.suggest_name(node.attr)
    value = captured(fb, found, spelling, node)
    if isinstance(value, Static) and _is_from_around(fb, node.value):
        fb.static_attributes[id(node)] = node, value
    return value


def _is_from_around(fb: FunctionBuilder, node: ast.expr) -> bool:
    """Whether an expression is always the same function, module or type; a variable of an unrolled loop is not."""
    if isinstance(node, ast.Name):
        return node.id in fb.statics and not fb.is_local(node.id)
    return id(node) in fb.static_attributes


def _fixed_attribute(fb: FunctionBuilder, base: FixedArray | Composite, node: ast.Attribute) -> Value:
    shape, kind = shape_of(base), base.type
    assert shape is not None and isinstance(kind, FixedArrayType | CompositeArrayType)
    match node.attr:
        case "shape":
            return Tuple(tuple(constant(n) for n in shape))
        case "size":
            return constant(int(np.prod(shape)))
        case "ndim":
            return constant(len(shape))
        case "dtype":
            return Static(
                kind.element, kind.element.name if isinstance(kind, FixedArrayType) else str(kind.element)
            )
        case "T" if isinstance(base, FixedArray):
            from .matrix_products import transposed  # few kernels have any

            return transposed(fb, base, node)
        case _:
            from .suggestions import element_member_hint, matrix_member_hint  # only for messages

            raise fb.error(
                node,
                f"{kind!r} has no attribute '{node.attr}' in kernels",
                "LP2046",
                hint=element_member_hint(kind, node) or matrix_member_hint(node.attr),
            )
