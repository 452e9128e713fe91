"""Structs and fixed arrays made in kernels: ``Particle(position, mass=1.0)``, ``lp.FixedArray[lp.f32, 3](…)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .aspect_lowering import use_struct
from .composite_arrays import all_elements, gathered, shape_of
from .composites import build_value, convert_composite
from .conversions import convert, store_convert
from .fixed_arrays import scalars_of
from .function_builder import FunctionBuilder
from .struct_types import StructType, scalar_count
from .struct_values import defaults_of, host_value, leaf_values
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Tuple, Value, describe, number_hint
from .vector_types import CompositeArrayType, VecType
from .vectors import zero_value


def construct_struct(fb: FunctionBuilder, kind: StructType, node: ast.Call) -> Value:
    """Compiles ``S(…)``: members by position or name; those left out are zero or what the class says.

    Raises:
        CompileError: an unknown member, one twice, or a value of another type.
    """
    given: dict[str, tuple[Value, ast.expr]] = {}
    names = [f.name for f in kind.fields]
    if len(node.args) > len(names):
        raise fb.error(
            node,
            f"struct '{kind.name}' has {len(names)} member{'s' * (len(names) != 1)}, found {len(node.args)} values",
            "LP2045",
            hint=f"it has {', '.join(names)}",
        )
    for name, part in zip(names, node.args, strict=False):
        if isinstance(part, ast.Starred):
            raise fb.error(part, "kernels have no '*' arguments", "LP2030", hint="write the arguments out")
        given[name] = fb.evaluate(part), part
    for keyword in node.keywords:
        if keyword.arg is None:
            raise fb.error(keyword, "kernels have no '**' arguments", "LP2030", hint="write them out")
        if keyword.arg not in names:
            raise fb.error(
                keyword,
                f"struct '{kind.name}' has no member '{keyword.arg}'",
                "LP2045",
                hint=f"it has {', '.join(names)}",
            )
        if keyword.arg in given:
            raise fb.error(
                keyword,
                f"struct '{kind.name}' gets '{keyword.arg}' twice",
                "LP2045",
                hint="give it by position or by name",
            )
        given[keyword.arg] = fb.evaluate(keyword.value), keyword.value
    items: list[Value] = []
    for field in kind.fields:
        if field.name in given:
            value, where = given[field.name]
            items.append(convert_composite(fb, value, field.type, where, f"'{kind.name}.{field.name}'"))
        else:
            items.append(_default(fb, kind, field.name, field.type))
    use_struct(fb, kind)
    return Composite(tuple(items), kind)


def _default(fb: FunctionBuilder, kind: StructType, name: str, field_type: Type) -> Value:
    """Returns what a member is that was not given."""
    default = defaults_of(kind).get(name)
    if default is None:
        if isinstance(field_type, StructType):
            return host_constant(fb, field_type, field_type.python_class())
        if isinstance(field_type, CompositeArrayType):
            return _default_array(fb, field_type)
        return zero_value(fb, field_type)
    return host_constant(fb, field_type, host_value(field_type, default, f"'{kind.name}.{name}'"))


def host_constant(fb: FunctionBuilder, kind: Type, value: object) -> Value:
    """Returns a host value as constants."""
    leaves = iter(leaf_values(kind, value, "a constant"))

    def leaf(scalar: ScalarType) -> Scalar:
        number = next(leaves)
        bounds = (number, number) if scalar.is_integer else None
        return Scalar(scalar, const=number, bounds=bounds)

    return build_value(fb, kind, leaf)


def construct_fixed_array(
    fb: FunctionBuilder, kind: FixedArrayType | CompositeArrayType, arguments: list[Value], node: ast.Call
) -> Value:
    """Compiles ``lp.FixedArray[lp.f32, 3](…)``: nothing, a number for all elements, or all in C order.

    Tuples, vectors, other fixed arrays and their rows stand for the numbers in them; of structs for the structs.

    Raises:
        CompileError: another number of elements, or one that does not convert.
    """
    use_struct(fb, kind)
    if not arguments:
        return _default_array(fb, kind)
    given = list(zip(arguments, node.args, strict=True))
    if isinstance(kind, CompositeArrayType) and isinstance(kind.element, StructType):
        return _array_of_structs(fb, kind, kind.element, given, node)
    scalar = kind.element.element if isinstance(kind.element, VecType) else kind.element
    assert isinstance(scalar, ScalarType)
    leaves = [
        store_convert(fb, leaf, scalar, where, "the element")
        for argument, where in given
        for leaf in _leaves(fb, kind, argument, where)
    ]
    count = scalar_count(kind)
    if len(arguments) == 1 and isinstance(arguments[0], Scalar):
        leaves *= count
    if len(leaves) != count:
        what = "elements" if isinstance(kind, FixedArrayType) else "components"
        raise fb.error(
            node,
            f"{kind!r} has {count} {what}, found {len(leaves)}",
            "LP2045",
            hint="give all of them in C order, or one number for all",
        )
    numbers = (convert(fb, leaf, scalar) for leaf in leaves)
    return build_value(fb, kind, lambda _: next(numbers))


def _default_array(fb: FunctionBuilder, kind: FixedArrayType | CompositeArrayType) -> Value:
    """Returns an array of zeros, or of what a struct is whose members are not given."""
    if isinstance(kind, CompositeArrayType) and isinstance(kind.element, StructType):
        return host_constant(fb, kind, kind())
    return zero_value(fb, kind)


def _array_of_structs(
    fb: FunctionBuilder,
    kind: CompositeArrayType,
    element: StructType,
    given: Sequence[tuple[Value, ast.expr]],
    node: ast.Call,
) -> Value:
    found = [struct for value, where in given for struct in _structs(fb, element, value, where)]
    if len(found) != kind.size:
        message = f"{kind!r} has {kind.size} elements, found {len(found)}"
        raise fb.error(node, message, "LP2045", hint="give all of them in C order, or nothing")
    return gathered(fb, kind, found)


def _structs(fb: FunctionBuilder, element: StructType, value: Value, node: ast.expr) -> Iterator[Value]:
    """Yields the structs that a value is made of."""
    if shape_of(value) is not None and isinstance(value, Composite):
        for part in all_elements(fb, value):
            yield convert_composite(fb, part, element, node, "the element")
    elif isinstance(value, Tuple) and not isinstance(value, Composite):
        for item in value.items:
            yield from _structs(fb, element, item, node)
    else:
        yield convert_composite(fb, value, element, node, "the element")


def _leaves(fb: FunctionBuilder, kind: Type, value: Value, node: ast.AST) -> Iterator[Scalar]:
    """Yields the numbers that a value is made of."""
    match value:
        case Scalar():
            yield value
        case FixedArray():
            yield from scalars_of(fb, value, node)
        case Composite(type=CompositeArrayType(element=VecType())):
            for element in all_elements(fb, value):
                yield from _leaves(fb, kind, element, node)
        case Tuple(items=items) if not isinstance(value, Composite) or value.is_vector:
            for item in items:
                yield from _leaves(fb, kind, item, node)
        case _:
            message = f"{kind!r} is made of numbers, found {describe(value)}"
            raise fb.error(node, message, "LP2033", hint=number_hint(value))
