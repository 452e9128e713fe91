"""Checks in kernels: ``assert``, and in debug mode indices, divisors and NaN.

A failed check reports the first work-item to the host, which raises KernelTrap; the kernel goes on.  What is checked
says `TargetEnv.checks`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue

from ..ir.dialects.kernel_reports import CheckOp
from .conversions import CMPF, CMPI, adapt, as_index, condition, convert
from .dispatch import statement
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, ir_type
from .texts import Text, add_expression
from .types import bf16, i64
from .values import Array, Scalar


def is_debug(fb: FunctionBuilder) -> bool:
    """Whether the kernel is compiled in debug mode, and not merely looked at for types."""
    return fb.module.checks == "debug" and not fb.is_dry


@statement(ast.Assert)
def compile_assert(fb: FunctionBuilder, node: ast.Assert) -> None:
    """Compiles ``assert``: the message is evaluated where it fails, as in Python."""
    if fb.module.checks == "none":
        return
    if isinstance(node.test, ast.Tuple):
        raise fb.error(
            node.test,
            "an assert of a tuple, which is always true",
            "LP2033",
            hint='write assert condition, "message" without brackets',
        )
    test = condition(fb, fb.evaluate(node.test), node.test)
    if test.const is True:
        return
    fb.node = node

    outer, block = dict(fb.env), Block()
    with fb.into(block):
        text = Text()
        text.add(f"assert {ast.unparse(node.test)}")
        if node.msg is not None:
            text.add(": ")
            add_expression(fb, text, node.msg)
        _add_operands(fb, text, node.test)
        text.check(fb, node)
        fb.node = node
        if not fb.is_dry:
            always = fb.constant(True, BOOL)
            _report(fb, "assert", always, text, node)
            fb.append(scf.YieldOp.create())
    fb.env = outer
    if not fb.is_dry:
        failed = fb.emit(arith.XOrIOp, [fb.ssa(test), fb.constant(True, BOOL)], ir_type(BOOL))
        assert failed is not None
        fb.append(scf.IfOp.create(operands=[failed], regions=[Region(block), Region()]))


def _add_operands(fb: FunctionBuilder, text: Text, test: ast.expr) -> None:
    """Adds the variables of a test that are numbers, with their values, in the order of the source."""
    shown: list[str] = []
    names = [part for part in ast.walk(test) if isinstance(part, ast.Name)]
    for part in sorted(names, key=lambda name: (name.lineno, name.col_offset)):
        if part.id in shown:
            continue
        value = fb.env.get(part.id)
        if isinstance(value, Scalar) and value.const is None:
            text.add(("; " if not shown else ", ") + f"{part.id} is ")
            text.add_value(fb, value, part)
            shown.append(part.id)


def _report(fb: FunctionBuilder, kind: str, failed: SSAValue | None, text: Text, node: ast.AST) -> None:
    """Emits a check."""
    assert failed is not None
    fb.node = node
    fb.module.uses_reports = True
    fb.append(
        CheckOp.create(
            operands=[failed, *text.values],
            properties=CheckOp.properties_of(kind, text.template, text.dtypes),
        )
    )


def check_index(
    fb: FunctionBuilder, array: Array, dimension: int, index: Scalar, extent: Scalar, node: ast.AST
) -> None:
    """Checks in debug mode that an index of an array is in range, see `check_range`."""
    check_range(fb, index, extent, f"dimension {dimension} of '{array.name}'", node)


def check_range(
    fb: FunctionBuilder, index: Scalar, extent: Scalar, of: str, node: ast.AST, *, is_hidden: bool = False
) -> None:
    """Checks in debug mode that an index is in range `of` something; negative ones are not, but for literals.

    Args:
        is_hidden: for the interpreter instead, to which no operation shows the index.
    """
    literal = index.const is not None
    is_wanted = fb.module.is_interpreted and not is_debug(fb) if is_hidden else is_debug(fb)
    if not is_wanted or (literal and extent.const is not None):
        return  # two literals were checked when they were compiled
    if extent.const is not None and index.bounds is not None:
        low, high = index.bounds
        if low >= 0 and high < extent.const:
            return
    index = as_index(fb, index, node, "an index")
    if literal and int(index.const or 0) < 0:
        index = Scalar(index.type, const=-int(index.const or 0) - 1)  # a[-1] needs an extent above 0
    if extent.type.bits == i64.bits and index.type.bits < i64.bits:
        index = convert(fb, index, i64)
    wide = index.type
    limit = convert(fb, extent, wide) if wide.bits == i64.bits else extent
    if limit.is_weak:
        limit = adapt(fb, limit, wide, node)
    # As unsigned numbers, negative indices are the largest.
    failed = fb.emit(arith.CmpiOp, [fb.ssa(index), fb.ssa(limit)], ir_type(BOOL), CMPI["uge"])
    text = Text()
    text.add("index ")
    text.add_value(fb, index, node)
    text.add(f" is out of range of {of}, whose extent is ")
    text.add_value(fb, extent, node)
    _report(fb, "index", failed, text, fb.node or node)


def check_divisor(fb: FunctionBuilder, left: Scalar, right: Scalar) -> None:
    """Checks in debug mode that an integer divisor is not 0."""
    if not is_debug(fb) or (right.const is not None and right.const != 0):
        return
    zero = fb.constant(0, right.type)
    failed = fb.emit(arith.CmpiOp, [fb.ssa(right), zero], ir_type(BOOL), CMPI["eq"])
    node = fb.node or fb.source.tree

    text = Text()
    text.add("integer division of ")
    text.add_value(fb, left, node)
    text.add(" by zero")
    _report(fb, "division", failed, text, node)


def check_step(fb: FunctionBuilder, step: Scalar, node: ast.AST) -> None:
    """Checks in debug mode that the step of a range is not 0, which Python refuses."""
    if not is_debug(fb) or step.const is not None:
        return
    zero = fb.constant(0, step.type)
    failed = fb.emit(arith.CmpiOp, [fb.ssa(step), zero], ir_type(BOOL), CMPI["eq"])
    _report(fb, "step", failed, Text("the step of range is 0"), node)


def check_nan(fb: FunctionBuilder, array: Array, indices: Sequence[SSAValue], value: Scalar) -> None:
    """Checks in debug mode that what is stored into an array at `indices` is no NaN."""
    if not is_debug(fb) or not value.type.is_float or value.const is not None:
        return
    checked = convert(fb, value, F32) if value.type is bf16 else value
    ssa = fb.ssa(checked)
    failed = fb.emit(arith.CmpfOp, [ssa, ssa], ir_type(BOOL), CMPF["une"])
    node, kind = fb.node or fb.source.tree, fb.module.index_type
    text = Text()
    text.add(f"NaN is stored into '{array.name}' at [")
    for number, index in enumerate(indices):
        text.add(", " if number else "")
        text.add_value(fb, Scalar(kind, fb.emit(arith.IndexCastOp, [index], ir_type(kind))), node)
    text.add("]")
    _report(fb, "nan", failed, text, node)
