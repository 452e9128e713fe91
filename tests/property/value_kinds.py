"""Types with parts and their values in Python: vectors, fixed arrays and structs are copied where named."""

from __future__ import annotations

import ast
import builtins
import itertools
import operator
from dataclasses import dataclass

import numpy as np

from .host_language import Language
from .typed_python import BOOL, I32, TYPES, Number, Type, convert, number

LETTERS = "xyzw"


@dataclass(frozen=True)
class Vector:
    """`size` components of a scalar type."""

    element: Type
    size: int

    def parts(self):
        return {f".{letter}": self.element for letter in LETTERS[: self.size]}

    def spelled(self):
        return f"lp.{self.element.name.rstrip('_')}x{self.size}"


@dataclass(frozen=True)
class Fixed:
    """A fixed array."""

    element: Kind
    shape: tuple[int, ...]

    def parts(self):
        inner = self.element if len(self.shape) == 1 else Fixed(self.element, self.shape[1:])
        return {f"[{k}]": inner for k in range(self.shape[0])}

    def spelled(self):
        return f"lp.FixedArray[{spelled(self.element)}, {', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Struct:
    """A class with `lp.struct`."""

    name: str
    fields: tuple[tuple[str, Kind], ...]

    def parts(self):
        return {f".{name}": kind for name, kind in self.fields}

    def spelled(self):
        return self.name

    def text(self):
        lines = [f"    {name}: {spelled(kind)}" for name, kind in self.fields]
        return f"@lp.struct\nclass {self.name}:\n" + "\n".join(lines) + "\n"


Kind = Type | Vector | Fixed | Struct


def spelled(kind):
    return f"lp.{kind.name}" if isinstance(kind, Type) else kind.spelled()


def leaves(kind, text=""):
    """Yields each scalar of a kind: how it is reached, its type."""
    if isinstance(kind, Type):
        yield text, kind
        return
    for part, inner in kind.parts().items():
        yield from leaves(inner, text + part)


# Values.


class Value:
    """A value with parts: `items` are numbers and values."""

    def __init__(self, kind, items=None):
        object.__setattr__(self, "kind", kind)
        if items is None:
            items = [default(inner) for inner in kind.parts().values()]
        object.__setattr__(self, "items", list(items))

    def copied(self):
        return Value(self.kind, [copied(item) for item in self.items])

    def _places(self, name):
        if isinstance(self.kind, Vector):
            return [LETTERS.index(letter) for letter in name]
        return [[n for n, _ in self.kind.fields].index(name)]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = [self.items[place] for place in self._places(name)]
        return found[0] if len(found) == 1 else Value(Vector(self.kind.element, len(found)), found)

    def __setattr__(self, name, value):
        places = self._places(name)
        values = value.items if len(places) > 1 else [value]
        inner = list(self.kind.parts().values())
        for place, part in zip(places, list(values), strict=True):
            self.items[place] = stored(part, inner[place])

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        found = self.items[operator.index(index[0])]
        return found[index[1:]] if len(index) > 1 else found

    def __setitem__(self, index, value):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 1:
            self.items[operator.index(index[0])][index[1:]] = value
        else:
            place = operator.index(index[0])
            self.items[place] = stored(value, list(self.kind.parts().values())[place])

    def __iter__(self):
        return iter(list(self.items))

    def __eq__(self, other):
        if isinstance(self.kind, Vector):
            return self._each(other, operator.eq)
        return Number(all(a == b for a, b in zip(flattened(self), flattened(other), strict=True)), BOOL)

    def __ne__(self, other):
        if isinstance(self.kind, Vector):
            return self._each(other, operator.ne)
        return Number(not (self == other), BOOL)

    __hash__ = None

    def _each(self, other, function, *, swapped=False):
        others = other.items if isinstance(other, Value) else [other] * len(self.items)
        items = [
            number(function(b, a) if swapped else function(a, b))
            for a, b in zip(self.items, others, strict=True)
        ]
        kind = items[0].type if isinstance(items[0], Number) else None
        if isinstance(self.kind, Vector):
            return Value(Vector(kind, len(items)), items)
        inner = kind or items[0].kind
        if isinstance(inner, Fixed):
            return Value(Fixed(inner.element, (len(items), *inner.shape)), items)
        return Value(Fixed(inner, (len(items),)), items)

    def __neg__(self):
        return self._each(0, lambda a, _: -a)

    def __abs__(self):
        return self._each(0, lambda a, _: abs(a))

    def __invert__(self):
        return self._each(0, lambda a, _: ~a)


def _operators():
    for name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
        function = getattr(operator, name)
        plain = name.rstrip("_")
        setattr(Value, f"__{plain}__", lambda a, b, f=function: a._each(b, f))
        setattr(Value, f"__r{plain}__", lambda a, b, f=function: a._each(b, f, swapped=True))
    for name in ("lt", "le", "gt", "ge"):
        function = getattr(operator, name)
        setattr(Value, f"__{name}__", lambda a, b, f=function: a._each(b, f))


_operators()


def default(kind):
    return convert(0, kind) if isinstance(kind, Type) else Value(kind)


def copied(value):
    """Returns what an assignment or a call gets of a value."""
    if isinstance(value, Value):
        return value.copied()
    return tuple(copied(part) for part in value) if isinstance(value, tuple) else value


def stored(value, kind):
    return convert(value, kind) if isinstance(kind, Type) else value.copied()


def construct(kind, arguments, named):
    if isinstance(kind, Struct):
        made = Value(kind)
        for (name, _), value in zip(kind.fields, arguments, strict=False):
            setattr(made, name, value)
        for name, value in named.items():
            setattr(made, name, value)
        return made
    made = Value(kind)
    if isinstance(kind, Vector):
        flat = [p for a in arguments for p in (a.items if isinstance(a, Value) else [a])]
        made.items[:] = [convert(a, kind.element) for a in (flat * kind.size if len(flat) == 1 else flat)]
    elif arguments:
        places = list(itertools.product(*map(range, kind.shape)))
        for place, value in zip(places, arguments, strict=True):
            made[place] = value
    return made


# Memory.


class ValueArray:
    """An array parameter of a kind; what is stored is copied."""

    def __init__(self, data, kind):
        self.kind, self.items = kind, [from_numpy(kind, element) for element in data]

    def __getitem__(self, index):
        return self.items[operator.index(index)]

    def __setitem__(self, index, value):
        self.items[operator.index(index)] = stored(value, self.kind)


def from_numpy(kind, element):
    """Returns the value that an element of a NumPy array holds."""
    if isinstance(kind, Type):
        return convert(element.item(), kind)
    if isinstance(kind, Struct):
        return Value(kind, [from_numpy(inner, element[name]) for name, inner in kind.fields])
    return Value(kind, [from_numpy(inner, element[k]) for k, inner in enumerate(kind.parts().values())])


def scalars_of(kind, element):
    """Yields the scalars of an element of a NumPy array in the order of `leaves`."""
    if isinstance(kind, Type):
        yield element
    elif isinstance(kind, Struct):
        for name, inner in kind.fields:
            yield from scalars_of(inner, element[name])
    else:
        for k, inner in enumerate(kind.parts().values()):
            yield from scalars_of(inner, element[k])


def fill(kind, element, pick):
    """Sets all scalars of an element of a NumPy array, a view of it."""
    for name, inner in kind.fields if isinstance(kind, Struct) else enumerate(kind.parts().values()):
        if isinstance(inner, Type):
            element[name] = pick(inner)
        else:
            fill(inner, element[name], pick)


def flattened(value):
    """Yields the scalars of a value in the order of `leaves`."""
    if isinstance(value, Value):
        for item in value.items:
            yield from flattened(item)
    else:
        yield value.value


# The language.


class Copying(ast.NodeTransformer):
    """Puts a copy where the language makes one."""

    def wrapped(self, node):
        return ast.Call(ast.Name("copied__", ast.Load()), [node], [])

    def visit_Assign(self, node):
        self.generic_visit(node)
        if len(node.targets) > 1:  # each target gets a copy of its own
            parts = [ast.Assign([ast.Name("several__", ast.Store())], self.wrapped(node.value))]
            parts += [ast.Assign([t], self.wrapped(ast.Name("several__", ast.Load()))) for t in node.targets]
            return parts
        node.value = self.wrapped(node.value)
        return node

    def _value(self, node):
        self.generic_visit(node)
        if node.value is not None:
            node.value = self.wrapped(node.value)
        return node

    visit_AnnAssign = visit_NamedExpr = visit_Return = _value

    def visit_For(self, node):
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Name):
            name = ast.Name(target.id, ast.Load())
            node.body.insert(0, ast.Assign([ast.Name(target.id, ast.Store())], self.wrapped(name)))
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        node.args = [self.wrapped(a) for a in node.args]
        for word in node.keywords:
            word.value = self.wrapped(word.value)
        return node


class _Maker:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, *arguments, **named):
        return construct(self.kind, arguments, named)


class _FixedArrays:
    def __getitem__(self, item):
        kind = item[0].kind if isinstance(item[0], _Maker) else item[0]
        return _Maker(Fixed(kind, tuple(item[1:])))


class ValueLanguage(Language):
    """What a program of values sees as ``lp`` on the host."""

    def __init__(self, structs, spec_values=()):
        super().__init__(spec_values)
        self.makers = {s.name: _Maker(s) for s in structs}
        self.FixedArray = _FixedArrays()
        for kind in TYPES.values():
            for size in (2, 3, 4):
                setattr(self, f"{kind.name}x{size}", _Maker(Vector(kind, size)))
        for size in (2, 3, 4):
            setattr(self, f"boolx{size}", _Maker(Vector(BOOL, size)))

    def struct(self, made):
        return self.makers[made.__name__]

    def select(self, condition, if_true, if_false):
        if isinstance(condition, Value):
            pick = [a if c else b for c, a, b in zip(condition, if_true, if_false, strict=True)]
            return Value(if_true.kind, pick)
        return super().select(condition, if_true, if_false)

    def SpecializationId(self, kind, default):
        if isinstance(kind, _Maker):
            value = next(self._values, default)
            shape_of = np.asarray(value)
            made = Value(kind.kind)
            for place in np.ndindex(*kind.kind.shape):
                made[place] = shape_of[place].item()
            return made
        return super().SpecializationId(kind, default)

    def builtins(self):
        names = super().builtins()
        for name in ("min", "max"):
            names[name] = _by_component(names[name])
        names["len"] = lambda a: Number(len(a.items), I32) if isinstance(a, Value) else builtins.len(a)
        return names


def _by_component(function):
    def call(*values):
        vector = next((v for v in values if isinstance(v, Value)), None)
        if vector is None:
            return function(*values)
        columns = [v.items if isinstance(v, Value) else [v] * len(vector.items) for v in values]
        return Value(vector.kind, [function(*column) for column in zip(*columns, strict=True)])

    return call
