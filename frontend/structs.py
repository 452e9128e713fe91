"""Structs and fixed arrays made in kernels: ``Particle(position, mass=1.0)``, ``lp.FixedArray[lp.f32, 3](…)``."""

from __future__ import annotations

import ast

from .aspect_lowering import use_struct
from .composites import build_value, convert_composite
from .conversions import convert, store_convert
from .fixed_arrays import construct_fixed
from .function_builder import FunctionBuilder
from .struct_types import StructType
from .struct_values import defaults_of, host_value, leaf_values
from .types import FixedArrayType, ScalarType, Type
from .values import Composite, FixedArray, Scalar, Tuple, Value, describe
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
            f"struct '{kind.name}' has {len(names)} members, found {len(node.args)} values",
            "LP2045",
            hint=f"its members are {', '.join(names)}",
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

    Raises:
        CompileError: another number of elements, or one that does not convert.
    """
    if not arguments:
        return FixedArray(kind, None)
    if len(arguments) == 1 and isinstance(arguments[0], FixedArray):
        return convert_composite(fb, arguments[0], kind, node, "the value")
    leaves: list[Scalar] = []
    for argument, where in zip(arguments, node.args, strict=True):
        if not isinstance(argument, Scalar):
            hint = (
                "write its items out, without brackets around them" if isinstance(argument, Tuple) else None
            )
            raise fb.error(
                where, f"{kind!r} is made of numbers, found {describe(argument)}", "LP2033", hint=hint
            )
        leaves.append(store_convert(fb, argument, kind.element, where, "the element"))
    if len(leaves) == 1:
        leaves *= kind.size
    if len(leaves) != kind.size:
        raise fb.error(
            node,
            f"{kind!r} has {kind.size} elements, found {len(leaves)}",
            "LP2045",
            hint="give all of them in C order, or one number for all",
        )
    return construct_fixed(fb, kind, [fb.ssa(convert(fb, leaf, kind.element)) for leaf in leaves])
