"""Structs and fixed arrays made in kernels: ``Particle(position, mass=1.0)``, ``lp.FixedArray[lp.f32, 3](…)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .aspect_lowering import use_struct
from .composites import build_value, convert_composite
from .conversions import convert, store_convert
from .fixed_arrays import construct_fixed, scalars_of
from .function_builder import FunctionBuilder
from .struct_types import StructType
from .struct_values import defaults_of, host_value, leaf_values
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Tuple, Value, describe, number_hint
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
    fb: FunctionBuilder, kind: FixedArrayType, arguments: list[Value], node: ast.Call
) -> Value:
    """Compiles ``lp.FixedArray[lp.f32, 3](…)``: nothing, a number for all elements, or all in C order.

    Tuples, vectors, other fixed arrays and their rows stand for the numbers in them.

    Raises:
        CompileError: another number of elements, or one that does not convert.
    """
    if not arguments:
        return FixedArray(kind, None)
    leaves = [
        store_convert(fb, leaf, kind.element, where, "the element")
        for argument, where in zip(arguments, node.args, strict=True)
        for leaf in _leaves(fb, kind, argument, where)
    ]
    if len(arguments) == 1 and isinstance(arguments[0], Scalar):
        leaves *= kind.size
    if len(leaves) != kind.size:
        raise fb.error(
            node,
            f"{kind!r} has {kind.size} elements, found {len(leaves)}",
            "LP2045",
            hint="give all of them in C order, or one number for all",
        )
    return construct_fixed(fb, kind, [fb.ssa(convert(fb, leaf, kind.element)) for leaf in leaves])


def _leaves(fb: FunctionBuilder, kind: FixedArrayType, value: Value, node: ast.AST) -> Iterator[Scalar]:
    """Yields the numbers that a value is made of."""
    match value:
        case Scalar():
            yield value
        case FixedArray():
            yield from scalars_of(fb, value, node)
        case Tuple(items=items) if not isinstance(value, Composite) or value.is_vector:
            for item in items:
                yield from _leaves(fb, kind, item, node)
        case _:
            message = f"{kind!r} is made of numbers, found {describe(value)}"
            raise fb.error(node, message, "LP2033", hint=number_hint(value))
