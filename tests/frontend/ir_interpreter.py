"""Runs kernel-level IR on the CPU with NumPy, one work-item after the other: an oracle for the frontend's tests.

Only ops that the frontend emits.  Undefined behaviour (division by zero, the smallest integer by -1, shift counts
beyond the width, float to integer out of range, array indices out of range) raises `UndefinedError`.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np
from xdsl.dialects import builtin


class UndefinedError(Exception):
    """SPIR-V leaves what the op does undefined."""


_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def _width(kind):
    return 32 if isinstance(kind, builtin.IndexType) else kind.width.data


def _signed(value, width):
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _unsigned(value, width):
    return value & ((1 << width) - 1)


def _divide(left, right, width):
    if right == 0 or (right == -1 and left == -(1 << (width - 1))):
        raise UndefinedError(f"{left} / {right}")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _shift(function):
    def shift(left, right, width):
        if not 0 <= right < width:
            raise UndefinedError(f"shift by {right}")
        return function(left, right, width)

    return shift


def _unsigned_divide(function):
    def divide(left, right, width):
        if _unsigned(right, width) == 0:
            raise UndefinedError("unsigned division by zero")
        return function(_unsigned(left, width), _unsigned(right, width))

    return divide


_INTEGER = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "divsi": _divide,
    "divui": _unsigned_divide(operator.floordiv),
    "remui": _unsigned_divide(operator.mod),
    "shli": _shift(lambda a, b, w: a << b),
    "shrsi": _shift(lambda a, b, w: a >> b),
    "shrui": _shift(lambda a, b, w: _unsigned(a, w) >> b),
    "minsi": lambda a, b, w: min(a, b),
    "maxsi": lambda a, b, w: max(a, b),
    "minui": lambda a, b, w: min(_unsigned(a, w), _unsigned(b, w)),
    "maxui": lambda a, b, w: max(_unsigned(a, w), _unsigned(b, w)),
}
_FLOAT = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
}
_COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_MATH = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "absf": np.abs,
    "roundeven": np.rint,
    "powf": np.power,
    "atan2": np.arctan2,
    "copysign": np.copysign,
}


class _Machine:
    def __init__(self, module, specs):
        self.functions = {f.sym_name.data: f for f in module.ops if f.name == "func.func"}
        self.declared = {d.sym_name.data: d for d in module.ops if d.name == "spec_constant.declare"}
        self.specs = specs

    def run(self, name, arguments, ids):
        self.ids = ids
        return self.call(self.functions[name], arguments)

    def call(self, function, arguments):
        return self.block(function.body.block, arguments, {})

    def block(self, block, arguments, values):
        values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op.name in ("scf.yield", "scf.condition", "func.return"):
                return [values[o] for o in op.operands]
            dialect, _, name = op.name.partition(".")
            results = getattr(self, f"do_{dialect}")(op, name, [values[o] for o in op.operands], values)
            values.update(zip(op.results, results, strict=True))
        return []

    def do_arith(self, op, name, operands, values):
        kind = op.results[0].type
        if name == "constant":
            value = op.properties["value"]
            if isinstance(value, builtin.FloatAttr):
                return [_FLOATS.get(str(kind), np.float32)(value.value.data)]
            return [value.value.data & 1 if kind == builtin.i1 else value.value.data]
        if name == "select":
            return [operands[1] if operands[0] & 1 else operands[2]]
        if name in _INTEGER:
            width = _width(kind)
            result = _INTEGER[name](*operands, width)
            return [result & 1 if width == 1 else _signed(result, width)]
        if name in _FLOAT:
            return [_FLOAT[name](*operands)]
        if name == "negf":
            return [-operands[0]]
        if name in ("cmpi", "cmpf"):
            return [self.compare(op, name, operands)]
        return [self.cast(name, operands[0], op.operands[0].type, kind)]

    def compare(self, op, name, operands):
        predicate = op.properties["predicate"].value.data
        if name == "cmpf":
            if predicate == 13:
                return int(operands[0] != operands[1])
            return int(_COMPARE[[None, 0, 4, 5, 2, 3][predicate]](*operands))
        if predicate >= 6:
            operands = [_unsigned(v, _width(op.operands[0].type)) for v in operands]
            predicate -= 4
        return int(_COMPARE[predicate](*operands))

    def cast(self, name, value, source, target):
        if name in ("extf", "truncf"):
            return _FLOATS[str(target)](value)
        if name == "sitofp":
            return _FLOATS[str(target)](value)
        if name == "uitofp":
            return _FLOATS[str(target)](_unsigned(value, _width(source)))
        if name in ("fptosi", "fptoui"):
            width = _width(target)
            low, high = (-(1 << (width - 1)), 1 << (width - 1)) if name == "fptosi" else (0, 1 << width)
            if not low - 1 < float(value) < high:
                raise UndefinedError(f"{value} as integer")
            return _signed(int(value), width)
        if name == "extui":
            return _unsigned(value, _width(source))
        if name == "bitcast":
            dtype = _FLOATS.get(str(target)) or f"int{_width(target)}"
            source_dtype = value.dtype if isinstance(value, np.floating) else f"int{_width(source)}"
            result = np.array([value], source_dtype).view(dtype)[0]
            return result if isinstance(result, np.floating) else int(result)
        assert name in ("index_cast", "extsi", "trunci"), name
        return _signed(value, _width(target))

    def do_math(self, op, name, operands, values):
        return [_MATH[name](*operands)] if name != "fma" else [operands[0] * operands[1] + operands[2]]

    def do_scf(self, op, name, operands, values):
        if name == "if":
            region = op.regions[0 if operands[0] & 1 else 1]
            return self.block(region.block, [], values) if region.blocks else []
        if name == "for":
            low, high, step, *carried = operands
            assert step > 0
            while low < high:
                carried = self.block(op.regions[0].block, [low, *carried], values)
                low += step
                assert low < 2**31, "the loop variable wraps"
            return carried
        before, after = op.regions[0].block, op.regions[1].block
        for _ in range(100_000):
            test, *operands = self.block(before, operands, values)
            if not test:
                return operands
            operands = self.block(after, operands, values)
        raise AssertionError("the loop does not end")

    def do_memref(self, op, name, operands, values):
        if name == "dim":
            return [operands[0].shape[operands[1]]]
        stored, array, *index = operands if name == "store" else (None, *operands)
        if not all(0 <= i < n for i, n in zip(index, array.shape, strict=True)):
            raise UndefinedError(f"index {index} of shape {array.shape}")
        if name == "load":
            value = array[tuple(index)]
            return [
                value if isinstance(value, np.floating) else _signed(int(value), array.dtype.itemsize * 8)
            ]
        array[tuple(index)] = (
            stored if isinstance(stored, np.floating) else np.array(stored).astype(array.dtype)
        )
        return []

    def do_gpu(self, op, name, operands, values):
        if name == "barrier":
            return []
        axis = "xyz".index(op.properties["dimension"].data.value)
        return [self.ids[name][len(self.ids["shape"]) - 1 - axis]]

    def do_kernel(self, op, name, operands, values):
        return [self.ids["shape"][op.properties["dimension"].value.data]]

    def do_func(self, op, name, operands, values):
        return self.call(self.functions[op.properties["callee"].string_value()], operands)

    def do_spec_constant(self, op, name, operands, values):
        symbol = op.properties["constant"].string_value()
        if symbol in self.specs:
            return [self.specs[symbol]]
        leaves = [leaf.value.data for leaf in self.declared[symbol].properties["default"].data]
        return [leaves[0] if "array" not in str(op.results[0].type) else leaves]

    def do_spirv(self, op, name, operands, values):
        if name == "Variable":
            return [operands[0]]
        if name == "Load":
            return [operands[0]]
        path = operands[1:]
        if name == "CompositeExtract":
            path = [i.value.data for i in op.properties["indices"].data]
        value = operands[0]
        for index in path:
            if not 0 <= index < len(value):
                raise UndefinedError(f"index {index} of a fixed array of {len(value)}")
            value = value[index]
        return [value]


def run_kernel(module, name, arguments, shape, *, local=None, specs=None):
    """Runs a kernel over `shape` rounded up to whole groups of `local`; arrays among `arguments` are changed."""
    local = local or (4,) * len(shape)
    groups = [-(-n // size) for n, size in zip(shape, local, strict=True)]
    machine = _Machine(module, specs or {})
    with np.errstate(all="ignore"):
        for index in itertools.product(*(range(g * n) for g, n in zip(groups, local, strict=True))):
            ids = {
                "shape": shape,
                "global_id": index,
                "thread_id": [i % n for i, n in zip(index, local, strict=True)],
                "block_id": [i // n for i, n in zip(index, local, strict=True)],
                "block_dim": local,
            }
            machine.run(name, list(arguments), ids)
