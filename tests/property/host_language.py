"""`Language` stands for ``lapilli`` when a program runs on the host: its builtins and functions, on `Number`."""

from __future__ import annotations

import builtins
import operator
import types

import numpy as np

from .typed_python import BOOL, F32, I32, INDEX, TYPES, HostArray, HostTable, Number, convert, promote


class _FixedArray:
    """In an annotation, a type; ``lp.FixedArray[lp.f32, 4]()`` is a `HostArray`."""

    def __getitem__(self, item):
        return _FixedType(item) if isinstance(item, tuple) else item


class _FixedType(tuple[object, ...]):
    def __call__(self):
        return _Private.array(self[1], self[0])


class _Private:
    @staticmethod
    def array(length, kind):
        return HostArray(np.zeros(length, kind.numpy), kind)


def _rounded(function, value):
    value = value if isinstance(value, Number) and value.type.is_float else convert(value, F32)
    return Number(function(value.value), value.type)


class _Math:
    floor = staticmethod(lambda x: _rounded(np.floor, x))
    ceil = staticmethod(lambda x: _rounded(np.ceil, x))
    trunc = staticmethod(lambda x: _rounded(np.trunc, x))


class Language:
    """What a program sees as ``lp`` on the host."""

    In = Out = Array = FixedArray = _FixedArray()
    bool_ = BOOL
    math = _Math
    private = _Private

    def __init__(self, spec_values=()):
        self.ids = (0,)
        self._values = iter(spec_values)
        for name, kind in TYPES.items():
            setattr(self, name, kind)

    def kernel(self, function=None, **_):
        return function if function is not None else lambda f: f

    def external(self, function):
        return function if callable(function) else lambda f: f

    def SpecializationId(self, kind, default):
        value = next(self._values, default)
        return HostTable(value, kind[0]) if isinstance(kind, tuple) else convert(value, kind)

    def global_id(self, dimension):
        return Number(self.ids[dimension], INDEX)

    def select(self, condition, if_true, if_false):
        return if_true if condition else if_false

    def bitcast(self, value, kind):
        value = _typed(value)
        return Number(np.array(value.value, value.type.numpy).view(kind.numpy)[()].item(), kind)

    def builtins(self):
        """Returns what Python's builtins mean in a kernel."""
        return {
            "range": _range, "min": _choose(operator.lt, np.fmin), "max": _choose(operator.gt, np.fmax),
            "abs": abs, "round": _round, "divmod": lambda a, b: (a // b, a % b), "pow": lambda a, b: a**b,
            "int": I32, "float": lambda v: v if getattr(v, "type", None) == TYPES["f64"] else convert(v, F32),
            "bool": BOOL, "len": lambda a: Number(len(a), INDEX) if isinstance(a, HostArray) else len(a),
            "enumerate": enumerate, "zip": zip,
        }  # fmt: skip


def _range(*bounds):
    kind = INDEX
    for bound in bounds:
        if isinstance(bound, Number):
            kind = bound.type if kind is INDEX and bound.type.bits >= 32 else promote(kind, bound.type)
    for value in builtins.range(*(operator.index(b) for b in bounds)):
        yield Number(value, kind)


def _typed(value):
    """Returns a literal, or what Python makes of literals alone, as the number that a variable of it holds."""
    if isinstance(value, Number):
        return value
    return Number(value, TYPES["f32"] if isinstance(value, float) else I32)


def _choose(is_better, for_floats):
    def choose(*values):
        if not any(isinstance(value, Number) for value in values):
            return (max if is_better(2, 1) else min)(values)
        result = values[0]
        for value in values[1:]:
            zero = result * 0 if isinstance(result, Number) else value * 0
            kind = (zero + result * 0 + value * 0).type
            a, b = convert(result, kind), convert(value, kind)
            if kind.is_float:
                result = Number(for_floats(a.value, b.value), kind)
            else:
                result = b if is_better(b.value, a.value) else a
        return result

    return choose


def _round(value):
    if not value.type.is_float:
        return value
    return convert(Number(np.rint(value.value), value.type), I32)


def type_defaults(names):
    """Gives the default of each helper's last parameter the type of its annotation."""
    helpers = [f for f in names.values() if isinstance(f, types.FunctionType) and f.__defaults__]
    for function in helpers:
        last = function.__code__.co_varnames[function.__code__.co_argcount - 1]
        kind = TYPES[function.__annotations__[last].removeprefix("lp.")]
        function.__defaults__ = (kind(function.__defaults__[0]),)
