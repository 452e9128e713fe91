"""``lp.math.prod``: the product of what a tuple, a vector or a fixed array holds."""

from __future__ import annotations

import ast

from .arithmetic import binary
from .builtins import expect_count
from .composite_arrays import is_array
from .dispatch import intrinsic
from .fixed_arrays import scalars_of
from .function_builder import FunctionBuilder
from .values import FixedArray, Scalar, Tuple, Value, constant, describe


@intrinsic("math.prod")
def compile_prod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``prod(values, start=1)``, first to last as in Python."""
    expect_count(fb, node, arguments, "lp.math.prod", 1, 1)
    given = {keyword.arg: fb.evaluate(keyword.value) for keyword in node.keywords}
    result = given.get("start", constant(1))
    for item in _items(fb, arguments[0], node):
        result = binary(fb, "Mult", result, item, node)
    return result


def _items(fb: FunctionBuilder, value: Value, node: ast.Call) -> list[Value]:
    if isinstance(value, FixedArray):
        return [*scalars_of(fb, value, node)]
    if isinstance(value, Tuple) and not is_array(value):
        return list(value.items)
    hint = (
        "the product of several numbers is a * b * c" if isinstance(value, Scalar) else "multiply in a loop"
    )
    raise fb.error(
        node.args[0],
        f"lp.math.prod takes a tuple, a vector or a fixed array, found {describe(value)}",
        "LP2033",
        hint=hint,
    )
