"""Functions of `math` in modules written for MLIR become calls of `math_library`, as accurate as ``lp.math``.

    %y = math.log %x : f32      %y = func.call @log_f32(%x) : (f32) -> f32
    %y = math.log %x : f16      %w = arith.extf %x : f16 to f32
                                %v = func.call @log_f32(%w) : (f32) -> f32
                                %y = arith.truncf %v : f32 to f16

Each function is compiled once for a module, behind `lower-upstream`, which has divided the vectors.  An operation
with ``fastmath<afn>``, or with ``fast``, which has it, stays as it is: the device's own instruction computes it, but
of f64, for which there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, func, gpu
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    LocationAttr,
    ModuleOp,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.attributes import symbol_reference
from ..ir.create import create
from ..ir.dialects.math import is_device_function
from ..ir.location import location_of
from ..ir.narrowing import is_float_attribute
from ..ir.target_env import TargetEnv
from ..ir.walk import enclosing
from .math_library_calls import compile_library
from .module_builder import ModuleBuilder
from .types import ScalarType
from .types import f32 as single
from .types import f64 as double

_NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp"),
    *("exp2", "expm1", "log", "log10", "log1p", "log2", "powf", "sin", "sinh", "tan", "tanh"),
)
_LIBRARY = {f"math.{name}": name for name in _NAMES} | {"math.powf": "pow"}
"""What the library calls each operation that it has."""
_SCALARS: dict[type[Attribute], ScalarType] = {Float32Type: single, Float64Type: double}
_IN_F32 = frozenset(
    f"math.{name}"
    for name in ("absf", "ceil", "copysign", "floor", "round", "roundeven", "rsqrt", "sqrt", "trunc", *_NAMES)
)
"""What of bf16 is computed in f32, as no device computes in bf16."""
_PRODUCTS = 8
"""Largest whole exponent, of either sign, of the powers that stay: the lowering multiplies, as C's compilers do."""


def use_math_library(module: ModuleOp, env: TargetEnv) -> None:
    """Replaces the functions of a module whose vectors are divided.

    Args:
        module: changed in place; gets the functions that it needs.
        env: of the device, which has a form of some functions for itself.
    """
    found = [op for op in module.walk() if _is_from_library(op) or _is_in_f32(op)]
    if not found:
        return
    libraries: dict[Operation, _Library] = {}
    symbols = _symbols(module)
    for op in found:
        around = _module_of(op)
        library = libraries.get(around)
        if library is None:
            library = libraries[around] = _Library(symbols, env)
        _replace(op, library)
    for around, library in libraries.items():
        library.add_to(around)


def _is_from_library(op: Operation) -> bool:
    """Whether the library computes an operation."""
    if op.name not in _LIBRARY or _is_product(op):
        return False
    type_ = op.results[0].type
    if isinstance(type_, Float64Type):
        return True
    return isinstance(type_, Float16Type | BFloat16Type | Float32Type) and not is_device_function(op)


def _is_in_f32(op: Operation) -> bool:
    """Whether an operation of 16 bits is computed in f32 and rounded."""
    type_ = op.results[0].type if op.results else None
    if isinstance(type_, BFloat16Type):
        return op.name in _IN_F32
    # Devices may be off by two units in the last place of f16.
    is_coarse = op.name == "math.rsqrt" and not is_device_function(op)
    return isinstance(type_, Float16Type) and (is_coarse or _is_from_library(op))


def _is_product(op: Operation) -> bool:
    """Whether an operation is a power with a small whole literal as its exponent."""
    number = _literal(op.operands[1]) if op.name == "math.powf" else None
    return number is not None and number.is_integer() and abs(number) <= _PRODUCTS


def _literal(value: SSAValue) -> float | None:
    """Returns the number that a float is, None where that is not written."""
    op = value.owner
    known = op.value if isinstance(op, arith.ConstantOp) else None
    return known.value.data if known is not None and is_float_attribute(known) else None


def _module_of(op: Operation) -> Operation:
    """Returns the module in which an operation looks for what it calls: the innermost."""
    return next(outer for outer in enclosing(op) if isinstance(outer, ModuleOp | gpu.ModuleOp))


class _Library:
    """The functions that a module needs, each compiled where the first operation wants it."""

    def __init__(self, symbols: set[str], env: TargetEnv) -> None:
        """Makes one without functions; `symbols` are those in use, and get the new ones."""
        self._builder = ModuleBuilder(symbols=symbols, runs_all_branches=env.runs_all_branches)
        self._known: dict[tuple[str, ScalarType], str] = {}

    def symbol(self, name: str, scalar: ScalarType, place: LocationAttr) -> str:
        """Returns the symbol of a function of a type; `place`: of who calls it."""
        key = name, scalar
        if key not in self._known:
            self._known[key] = compile_library(self._builder, name, scalar, location_of(place))
        return self._known[key]

    def add_to(self, module: Operation) -> None:
        """Puts what was compiled into the module."""
        module.regions[0].block.add_ops(self._builder.functions)


def _symbols(module: ModuleOp) -> set[str]:
    """Returns the symbols of a module and of all in it: images hold functions of several modules."""
    names = (op.get_attr_or_prop("sym_name") for op in module.walk())
    return {name for found in names if isinstance(name := getattr(found, "data", None), str)}


def _replace(op: Operation, library: _Library) -> None:
    """Puts a call of the library, or the operation in f32, in the place of an operation."""
    result = op.results[0]
    operands, type_ = op.operands, result.type
    is_in_f32 = _is_in_f32(op)
    if is_in_f32:
        operands, type_ = [_widened(op, value) for value in operands], f32
    if _is_from_library(op):
        callee = library.symbol(_LIBRARY[op.name], _SCALARS[type(type_)], op.location)
        value = _put(op, func.CallOp, operands, type_, {"callee": symbol_reference(callee)})
    else:
        value = _put(op, type(op), operands, type_, op.properties)
    if is_in_f32:
        value = _put(op, arith.TruncFOp, [value], result.type)
    value.name_hint = result.name_hint
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _widened(op: Operation, value: SSAValue) -> SSAValue:
    """Returns an operand of 16 bits as an f32; a whole literal as one, which the lowering of powers looks for."""
    number = _literal(value)
    if number is not None and number.is_integer() and abs(number) <= _PRODUCTS:
        return _put(op, arith.ConstantOp, [], f32, {"value": FloatAttr(number, f32)})
    return _put(op, arith.ExtFOp, [value], f32)


def _put(
    op: Operation,
    kind: type[Operation],
    operands: Sequence[SSAValue],
    type_: Attribute,
    properties: Mapping[str, Attribute] = {},
) -> SSAValue:
    """Puts an operation of one result in front of another, whose place in the text it has."""
    made = create(kind, operands, (type_,), dict(properties), location=op.location)
    block = op.parent
    assert block is not None, "it is in a function"
    block.insert_op_before(made, op)
    return made.results[0]
