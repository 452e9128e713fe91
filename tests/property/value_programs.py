"""Random kernels of structs, vectors and fixed arrays in each other: by value, in memory, stored by parts and swizzles,
in helpers with several results, swapped, chosen, unpacked.
"""

from __future__ import annotations

import numpy as np

from .programs import HEADER, Generator, Helper, Scope
from .typed_python import INDEX, TYPES, Type
from .value_kinds import LETTERS, Fixed, Struct, Vector, leaves, spelled

SLOTS = 160
"""Numbers of each kind that a work-item writes."""


class ValueGenerator(Generator):
    """Writes one kernel with its structs and helpers; the same seed gives the same text."""

    def kinds(self):
        """Makes the structs, and what else has parts."""
        pick = self.random
        self.structs: list[Struct] = []
        for number in range(pick.randrange(1, 4)):
            fields = tuple((f"f{k}", self.some_kind(1)) for k in range(pick.randrange(1, 4)))
            self.structs.append(Struct(f"S{number}", fields))
        self.composites = [*self.structs, *(self.some_composite(0) for _ in range(2))]

    def some_kind(self, depth):
        return self.some_composite(depth) if self.random.random() < 0.5 else self.random.choice(self.types)

    def some_composite(self, depth):
        pick = self.random
        choice = pick.randrange(6)
        if choice == 0 and self.structs:
            return pick.choice(self.structs)
        if choice < 3:
            return Vector(pick.choice(self.types), pick.randrange(2, 5))
        shape = pick.choice([(2,), (3,), (2, 2), (2, 3)] if depth < 2 else [(2,)])
        element = pick.randrange(5)
        if element == 0 and self.structs:
            return Fixed(pick.choice(self.structs), shape[:1])
        if element == 1:
            return Fixed(Vector(pick.choice(self.types), pick.randrange(2, 5)), shape)
        return Fixed(pick.choice(self.types), shape)

    def text(self, *, debug=False):
        self.lines = []
        self.kinds()
        helpers: list[Helper] = []
        for _ in range(self.random.randrange(1, 4)):
            helpers.append(self.value_helper(helpers))
        inputs = {f"x{t.name}": t for t in self.types}
        parameters = [f"{n}: lp.In[lp.{t.name}]" for n, t in inputs.items()]
        parameters += ["w: lp.Array[lp.i32, 3]", "v: lp.Array[lp.i32, 3]"]
        parameters += ["out: lp.Out[lp.i32, 2]", "outf: lp.Out[lp.f32, 2]"]
        self.memory = {f"m{k}": self.random.choice(self.composites) for k in range(2)}
        parameters += [f"{n}: lp.Array[{spelled(t)}]" for n, t in self.memory.items()]
        self.given = {f"g{k}": self.random.choice(self.composites) for k in range(self.random.randrange(3))}
        parameters += [f"{n}: {spelled(t)}" for n, t in self.given.items()]
        self.random.shuffle(parameters)
        level = self.random.choice((0, 1, 1, 2))
        self.line(0, f"@lp.kernel(contract=False, opt_level={level}, debug={debug})")
        self.line(0, f"def k({', '.join(parameters)}):")
        self.line(1, "i = lp.global_id(0)")
        scope = Scope({"i": INDEX, **self.given}, inputs, ("w", "v"), helpers, is_kernel=True)
        self.declare(scope, 1)
        for _ in range(self.random.randrange(1, 4)):
            self.block(scope, 1, 0, False)
        self.results(scope)
        structs = "".join(s.text() for s in self.structs)
        return "from __future__ import annotations\n" + HEADER + structs + "\n".join(self.lines) + "\n"

    def value_helper(self, helpers):
        pick = self.random
        kinds = lambda n: tuple(  # noqa: E731
            pick.choice(self.composites) if pick.random() < 0.6 else self.any_type() for _ in range(n)
        )
        parameters, result = kinds(pick.randrange(1, 4)), kinds(pick.choice([1, 1, 2]))
        helper = Helper(f"k_h{len(helpers)}", parameters, result)
        names = {f"p{k}": t for k, t in enumerate(parameters)}
        text = [f"{n}: {spelled(t)}" for n, t in names.items()] if pick.random() < 0.5 else list(names)
        self.line(0, f"def {helper.name}({', '.join(text)}):")
        self.memory = {}
        scope = Scope(dict(names), {}, (), list(helpers), result)
        self.declare(scope, 1)
        self.block(scope, 1, 1, False)
        self.line(1, f"return {self.result(scope)}")
        return helper

    def declare(self, scope, indent):
        super().declare(scope, indent)
        for _ in range(self.random.randrange(1, 4)):
            kind, name = self.random.choice(self.composites), self.name("a")
            annotated = f": {spelled(kind)}" if self.random.random() < 0.3 else ""
            self.line(indent, f"{name}{annotated} = {self.composite(scope, kind, 1)}")
            scope.variables[name] = kind

    def results(self, scope):
        slots = [0, 0]
        for name, kind in scope.variables.items():
            if kind is INDEX:
                continue
            for path, inner in leaves(kind):
                text = name + path
                parts = [f"lp.f32({text})"] if inner.is_float else [f"lp.i32({text})"]
                if inner.bits == 64 and not inner.is_float:
                    parts.append(f"lp.i32({text} >> 32)")
                for part in parts:
                    if slots[inner.is_float] < SLOTS:
                        array = "outf" if inner.is_float else "out"
                        self.line(1, f"{array}[i, {slots[inner.is_float]}] = {part}")
                        slots[inner.is_float] += 1

    # Places: parts of variables and of what lies in memory.

    def targets(self, scope):
        return [n for n in super().targets(scope) if isinstance(scope.variables[n], Type)]

    def roots(self, scope, *, writable=False):
        pick = self.random
        found = [
            (n, t)
            for n, t in scope.variables.items()
            if not isinstance(t, Type) and not (writable and n in getattr(self, "given", {}))
        ]
        if scope.is_kernel:
            found += [(f"{n}[i]", t) for n, t in self.memory.items()]
        pick.shuffle(found)
        return found

    def place(self, scope, wanted, *, writable=False):
        """Returns the text of a part of some value that has the type; None where there is none."""
        for text, kind in self.roots(scope, writable=writable):
            found = [*self.parts_of(kind, wanted)]
            if found:
                return text + self.filled(scope, self.random.choice(found))
        return None

    def parts_of(self, kind, wanted):
        """Yields ways to parts of a type: tuples of names, extents and counts of a swizzle."""
        if kind == wanted:
            yield ()
        if isinstance(kind, Type):
            return
        if isinstance(kind, Vector):
            if wanted == kind.element:
                yield (("component", kind.size),)
            elif isinstance(wanted, Vector) and wanted.element == kind.element and wanted.size <= kind.size:
                yield (("swizzle", kind.size, wanted.size),)
        elif isinstance(kind, Struct):
            for name, inner in kind.fields:
                for rest in self.parts_of(inner, wanted):
                    yield (("field", name), *rest)
        else:
            inner = kind.element if len(kind.shape) == 1 else Fixed(kind.element, kind.shape[1:])
            for rest in self.parts_of(inner, wanted):
                yield (("index", kind.shape[0]), *rest)

    def filled(self, scope, way):
        pick, text = self.random, ""
        for kind, *rest in way:
            if kind == "field":
                text += f".{rest[0]}"
            elif kind == "swizzle":
                text += "." + "".join(pick.sample(LETTERS[: rest[0]], rest[1]))
            elif kind == "component" and pick.random() < 0.6:
                text += "." + pick.choice(LETTERS[: rest[0]])
            else:
                text += f"[{self.index(scope, rest[0])}]"
        return text

    def index(self, scope, extent):
        if self.random.random() < 0.05:
            names = [n for n, t in scope.variables.items() if t == TYPES["i32"] and n.startswith("a")]
            if names:
                name = self.random.choice(names)
                return f"({name} := {name} + 1) % {extent}"
        variables, scope.variables = (
            scope.variables,
            {n: t for n, t in scope.variables.items() if isinstance(t, Type)},
        )
        text = super().index(scope, extent)
        scope.variables = variables
        return text

    # Expressions.

    def leaf(self, scope, kind):
        if self.random.random() < 0.5:
            found = self.place(scope, kind)
            if found:
                return found
        return super().leaf(scope, kind)

    def test(self, scope, depth=0):
        if self.random.random() < 0.06 and depth < 2:
            kind = self.random.choice(self.composites)
            if isinstance(kind, Struct):
                sides = (self.composite(scope, kind, 2) for _ in range(2))
                return "({} {} {})".format(next(sides), self.random.choice(["==", "!="]), next(sides))
        return super().test(scope, depth)

    def converted(self, scope, kind, depth):
        if isinstance(kind, Type):
            return super().converted(scope, kind, depth)
        return self.composite(scope, kind, depth)

    def composite(self, scope, kind, depth):
        pick = self.random
        choice = pick.randrange(8 if depth < 3 else 3)
        if choice < 3:
            return self.place(scope, kind) or self.made(scope, kind, depth)
        if choice == 3:
            arms = [self.composite(scope, kind, depth + 1) for _ in range(2)]
            return f"({arms[0]} if {self.test(scope, 2)} else {arms[1]})"
        if choice == 4:
            helpers = [h for h in scope.helpers if h.result == (kind,)]
            if helpers:
                return self.call(scope, pick.choice(helpers), depth)
        if choice < 7 and not isinstance(kind, Struct) and self.numbers_of(kind):
            return self.arithmetic(scope, kind, depth)
        return self.made(scope, kind, depth)

    def numbers_of(self, kind):
        """Returns the type of the numbers of a vector or fixed array of numbers or vectors, else None."""
        element = kind.element.element if isinstance(kind.element, Vector) else kind.element
        return element if isinstance(element, Type) else None

    def arithmetic(self, scope, kind, depth):
        pick, element = self.random, self.numbers_of(kind)
        one = self.composite(scope, kind, depth + 1)
        symbols = ["+", "-", "*"] if element.is_float else ["+", "-", "*", "&", "|", "^", "//", "%", "<<"]
        choice = pick.randrange(6)
        if choice < 2:
            return f"({one} {pick.choice(symbols)} {self.composite(scope, kind, depth + 1)})"
        if choice == 2:
            return f"({one} {pick.choice(symbols)} {self.operand(scope, element, 3)})"
        if choice == 3:
            return f"(-{one})"
        if isinstance(kind, Vector):
            if choice == 4:
                return f"{pick.choice(['min', 'max'])}({one}, {self.composite(scope, kind, depth + 1)})"
            symbol = pick.choice(["<", "==", ">=", "!="])
            test = f"{one} {symbol} {self.composite(scope, kind, depth + 1)}"
            return f"lp.select({test}, {self.composite(scope, kind, 3)}, {self.composite(scope, kind, 3)})"
        return f"({self.expression(scope, element, 3)} * {one})"

    def made(self, scope, kind, depth):
        pick = self.random
        if isinstance(kind, Vector):
            if pick.random() < 0.2:
                return f"{spelled(kind)}({self.expression(scope, kind.element, 3)})"
            parts, left = [], kind.size
            while left:
                size = pick.choice([1, 1, min(2, left)])
                found = self.place(scope, Vector(kind.element, size)) if size > 1 else None
                parts.append(found or self.expression(scope, kind.element, 3))
                left -= size if found or size == 1 else 1
            return f"{spelled(kind)}({', '.join(parts)})"
        if isinstance(kind, Struct):
            if pick.random() < 0.1:
                return f"{kind.name}()"
            values = [(name, self.converted(scope, inner, depth + 1)) for name, inner in kind.fields]
            named = pick.random() < 0.4
            if named and pick.random() < 0.4:
                values = values[: pick.randrange(len(values)) + 1]
            return f"{kind.name}({', '.join(f'{n}={v}' if named else v for n, v in values)})"
        count = int(np.prod(kind.shape))
        if pick.random() < 0.15:
            return f"{spelled(kind)}()"
        return f"{spelled(kind)}({', '.join(self.converted(scope, kind.element, depth + 2) for _ in range(count))})"

    # Statements.

    def assign(self, scope, indent):
        if self.random.random() < 0.4:
            super().assign(scope, indent)
            return
        roots = self.roots(scope, writable=True)
        if not roots:
            super().assign(scope, indent)
            return
        text, kind = roots[0]
        while not isinstance(kind, Type) and self.random.random() < 0.65:
            is_vector = isinstance(kind, Vector)
            text, kind = self.part(scope, text, kind)
            if is_vector:
                break
        pick = self.random
        numeric = isinstance(kind, Type) or (not isinstance(kind, Struct) and self.numbers_of(kind))
        if numeric and pick.random() < 0.3:
            element = kind if isinstance(kind, Type) else numeric
            symbol = pick.choice(["+=", "-=", "*="])
            right = self.operand(scope, kind, 1) if isinstance(kind, Type) else self.composite(scope, kind, 1)
            assert element
            self.line(indent, f"{text} {symbol} {right}")
        else:
            self.line(indent, f"{text} = {self.converted(scope, kind, 0)}")

    def part(self, scope, text, kind):
        """Returns a random part of a place."""
        pick = self.random
        if isinstance(kind, Struct):
            name, inner = pick.choice(kind.fields)
            return f"{text}.{name}", inner
        if isinstance(kind, Fixed):
            inner = kind.element if len(kind.shape) == 1 else Fixed(kind.element, kind.shape[1:])
            return f"{text}[{self.index(scope, kind.shape[0])}]", inner
        size = pick.randrange(1, kind.size + 1)
        if size == 1 or "[i]" in text:  # a swizzle in memory cannot be stored to
            return text + self.filled(scope, (("component", kind.size),)), kind.element
        return text + self.filled(scope, (("swizzle", kind.size, size),)), Vector(kind.element, size)

    def several(self, scope, indent):
        pick = self.random
        names = {n: t for n, t in scope.variables.items() if n.startswith("a")}
        for helper in [h for h in scope.helpers if len(h.result) == 2]:
            found = [[n for n, t in names.items() if t == wanted] for wanted in helper.result]
            if all(found) and pick.random() < 0.7:
                left = ", ".join(pick.choice(n) for n in found)
                self.line(indent, f"{left} = {self.call(scope, helper, 1)}")
                return
        kind = pick.choice([*names.values(), *self.composites])
        places = [self.place(scope, kind, writable=True) for _ in range(2)]
        if None in places or isinstance(kind, Type) or places[0] == places[1]:
            super().several(scope, indent)
        elif pick.random() < 0.3:
            self.line(indent, f"{places[0]} = {places[1]} = {self.composite(scope, kind, 1)}")
        elif pick.random() < 0.5:
            self.line(indent, f"{places[0]}, {places[1]} = {places[1]}, {places[0]}")
        else:
            left, right = (self.composite(scope, kind, 1) for _ in range(2))
            self.line(indent, f"{places[0]}, {places[1]} = {left}, {right}")
