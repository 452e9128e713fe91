"""Random kernels as Python source, typed so that the language accepts them; every loop ends, every index is in range.

An expression is asked for by type, and built from what gives that type: variables, array elements, arithmetic on
types that meet in it, conversions from any other, conditional expressions, calls of helpers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .typed_python import BOOL, INDEX, TYPES, Type, promote

FLUSHED = 2.0**-126
"""Numbers of 32 bits below this may be 0 on a device, see docs/math.md."""
WORK_ITEMS = 8
ROWS, COLUMNS = 2, 4
"""Extents of each work-item's own part of the arrays that kernels write."""

COMMON = ("i32", "u32", "f32")
"""Types that every device has."""
WIDE = ("i8", "i16", "i64", "u8", "u16", "u64", "f16", "f64")
"""Types that lavapipe has as well."""

SPECS = (("SI", "i32", -3), ("SU", "u32", 5), ("SF", "f32", 1.5), ("SB", "bool_", True))
TABLES = (("TI", "i32", (4,), [3, -7, 11, 2]), ("TF", "f32", (2, 3), [[0.5, 1, -2], [4, 8.25, -0.5]]))
HEADER = "\n".join(
    [
        "import lapilli as lp",
        *(f"{name} = lp.SpecializationId(lp.{kind}, {value})" for name, kind, value in SPECS),
        *(
            f"{name} = lp.SpecializationId(lp.FixedArray[lp.{kind}, {', '.join(map(str, shape))}], {value})"
            for name, kind, shape, value in TABLES
        ),
        "",
    ]
)
"""What a file of kernels begins with."""


@dataclass
class Scope:
    """The names that an expression may use."""

    variables: dict[str, Type]
    arrays: dict[str, Type]
    """Arrays of shape (WORK_ITEMS,), read-only."""
    work: tuple[str, ...] = ()
    """i32 arrays of shape (WORK_ITEMS, ROWS, COLUMNS); the work-item's own part may be written."""
    helpers: list[Helper] = field(default_factory=list)
    result: tuple[Type, ...] = ()
    is_kernel: bool = False


@dataclass
class Helper:
    """A function that expressions may call."""

    name: str
    parameters: tuple[Type, ...]
    result: tuple[Type, ...]
    default: str | None = None
    """The last parameter's default."""


class Generator:
    """Writes kernels; the same seed gives the same text."""

    def __init__(self, seed, types=COMMON):
        self.random = random.Random(seed)
        self.types = [TYPES[name] for name in types]
        self.lines: list[str] = []
        self.count = 0

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def any_type(self):
        return self.random.choice([*self.types, *self.types, BOOL])

    # Functions.

    def kernel(self, name, opt_level, known=()):
        """Writes one kernel, after its helpers, and returns the text and the rank; it may call `known` helpers, too."""
        self.lines = []
        helpers: list[Helper] = list(known)
        for _ in range(self.random.randrange(3)):
            helpers.append(self.helper(name, list(helpers)))
        rank = self.random.choice([1, 1, 2, 3])
        inputs = {f"x{t.name}": t for t in self.types}
        parameters = [f"{n}: lp.In[lp.{t.name}]" for n, t in inputs.items()]
        parameters += [f"{n}: lp.Array[lp.i32, 3]" for n in ("w", "v")]
        parameters += ["out: lp.Out[lp.i32, 2]", "outf: lp.Out[lp.f32, 2]"]
        self.random.shuffle(parameters)
        self.line(0, f"@lp.kernel(contract=False, opt_level={opt_level})")
        self.line(0, f"def {name}({', '.join(parameters)}):")
        self.line(1, "i = " + ["lp.global_id(0)", "lp.global_id(0) * 4 + lp.global_id(1)",
                  "(lp.global_id(0) * 2 + lp.global_id(1)) * 2 + lp.global_id(2)"][rank - 1])  # fmt: skip
        scope = Scope({"i": INDEX}, inputs, ("w", "v"), helpers, is_kernel=True)
        self.declare(scope, 1)
        for _ in range(self.random.randrange(1, 4)):
            self.block(scope, 1, 0, False)
        self.results(scope)
        return "\n".join(self.lines) + "\n", rank

    def results(self, scope):
        slots = [0, 0]
        for name, kind in scope.variables.items():
            if kind is INDEX:
                continue
            if kind.is_float:
                self.line(1, f"outf[i, {slots[1]}] = lp.f32({name})")
                slots[1] += 1
            else:
                parts = [f"lp.i32({name})"] + ([f"lp.i32({name} >> 32)"] if kind.bits == 64 else [])
                for part in parts:
                    self.line(1, f"out[i, {slots[0]}] = {part}")
                    slots[0] += 1

    def helper(self, kernel, helpers):
        parameters = tuple(self.any_type() for _ in range(self.random.randrange(1, 4)))
        result = tuple(self.any_type() for _ in range(self.random.choice([1, 1, 2])))
        helper = Helper(f"{kernel}_h{len(helpers)}", parameters, result)
        names = {f"p{k}": t for k, t in enumerate(parameters)}
        spelled = list(names)
        if parameters[-1] is not BOOL and self.random.random() < 0.4:
            helper.default = f"lp.{parameters[-1].name}({self.literal(parameters[-1])})"
        annotated = self.random.random() < 0.5
        if annotated:
            spelled = [f"{n}: lp.{t.name}" for n, t in names.items()]
        if helper.default:
            helper.default = self.literal(parameters[-1]) if annotated else None
        if helper.default:
            spelled[-1] += f" = {helper.default}"
        self.line(0, f"def {helper.name}({', '.join(spelled)}):")
        scope = Scope(dict(names), {}, (), helpers, result)
        self.declare(scope, 1)
        self.block(scope, 1, 1, False)
        self.line(1, f"return {self.result(scope)}")
        return helper

    def result(self, scope):
        return ", ".join(self.converted(scope, kind, 1) for kind in scope.result)

    def declare(self, scope, indent):
        for _ in range(self.random.randrange(2, 5)):
            kind, name = self.any_type(), self.name("a")
            style = self.random.randrange(3)
            value = self.converted(scope, kind, 1)
            if style == 0:
                self.line(indent, f"{name}: lp.{kind.name} = {value}")
            else:
                self.line(indent, f"{name} = {value}")
            scope.variables[name] = kind

    # Statements.

    def targets(self, scope):
        return [n for n, t in scope.variables.items() if n.startswith(("a", "p")) and t is not INDEX]

    def block(self, scope, indent, depth, in_loop):
        for _ in range(self.random.randrange(1, 4)):
            if self.statement(scope, indent, depth, in_loop):
                return

    def statement(self, scope, indent, depth, in_loop):
        """Writes one statement; returns whether nothing may follow."""
        pick = self.random
        kind = pick.randrange(16)
        if kind < 5 or depth > 3:
            self.assign(scope, indent)
        elif kind < 8:
            self.line(indent, f"if {self.test(scope)}:")
            self.inner(scope, indent, depth, in_loop)
            if pick.random() < 0.3:
                self.line(indent, f"elif {self.test(scope)}:")
                self.inner(scope, indent, depth, in_loop)
            self.maybe_else(scope, indent, depth, in_loop, 0.5)
        elif kind < 11:
            self.loop(scope, indent, depth, in_loop)
        elif kind == 11 and in_loop:
            self.line(indent, pick.choice(["break", "continue"]))
            return True
        elif kind == 12 and (scope.is_kernel or scope.result) and depth > 0 and pick.random() < 0.5:
            self.line(indent, "return" if scope.is_kernel else f"return {self.result(scope)}")
            return True
        elif kind == 13 and scope.work:
            work = f"{pick.choice(scope.work)}[i, {self.index(scope, ROWS)}, {self.index(scope, COLUMNS)}]"
            self.line(
                indent,
                f"{work} {pick.choice(['=', '=', '+=', '-=', '^='])} {self.expression(scope, TYPES['i32'], 1)}",
            )
        elif kind == 14:
            self.augment(scope, indent)
        else:
            self.several(scope, indent)
        return False

    def inner(self, scope, indent, depth, in_loop):
        known = dict(scope.variables)
        self.block(scope, indent + 1, depth + 1, in_loop)
        scope.variables = known

    def assign(self, scope, indent):
        name = self.random.choice(self.targets(scope))
        self.line(indent, f"{name} = {self.converted(scope, scope.variables[name], 0)}")

    def augment(self, scope, indent):
        name = self.random.choice(self.targets(scope))
        kind = scope.variables[name]
        if kind is BOOL:
            self.line(indent, f"{name} {self.random.choice(['&=', '|=', '^='])} {self.test(scope)}")
        elif kind.is_float:
            self.line(
                indent, f"{name} {self.random.choice(['+=', '-=', '*='])} {self.operand(scope, kind, 1)}"
            )
        else:
            symbol = self.random.choice(["+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>="])
            self.line(indent, f"{name} {symbol} {self.operand(scope, kind, 1)}")

    def several(self, scope, indent):
        pick, targets = self.random, self.targets(scope)
        tuples = [h for h in scope.helpers if len(h.result) == 2]
        for helper in tuples:
            names = [[n for n in targets if scope.variables[n] == t] for t in helper.result]
            if all(names) and pick.random() < 0.7:
                left = ", ".join(pick.choice(n) for n in names)
                self.line(indent, f"{left} = {self.call(scope, helper, 1)}")
                return
        a, b = pick.choice(targets), pick.choice(targets)
        first, second = (self.converted(scope, scope.variables[n], 1) for n in (a, b))
        # Not "a, a = x, y": CPython 3.11.2 keeps x, so it could not be the oracle.
        self.line(indent, f"{a}, {b} = {first}, {second}" if a != b else f"{a} = {second}")

    def loop(self, scope, indent, depth, in_loop):
        pick, name = self.random, self.name("v")
        known = dict(scope.variables)
        kind = pick.randrange(6)
        if kind < 3:
            bound = pick.choice(["4", "3", f"{self.small(scope, 4)} + 1", f"{self.small(scope, 5)}"])
            start, step = pick.randrange(-2, 3), pick.choice([1, 1, 1, 2, 3])
            header = (
                f"range({start}, {bound}, {step})"
                if (start, step) != (0, 1) or pick.random() < 0.3
                else f"range({bound})"
            )
            if pick.random() < 0.25:
                header = f"range({bound}, {start - 2}, {pick.choice([-1, -1, -2])})"
            if pick.random() < 0.15:
                header = f"range({start}, {bound}, {self.small(scope, 2)} * 3 - 1)"
            self.line(indent, f"for {name} in {header}:")
            scope.variables[name] = I32_LIKE
        elif kind == 3:
            items = (self.converted(scope, TYPES["i32"], 2) for _ in range(pick.randrange(1, 4)))
            self.line(indent, f"for {name} in ({', '.join(items)},):")
            scope.variables[name] = TYPES["i32"]
        elif kind == 4:
            other = self.name("v")
            self.line(
                indent,
                f"for {other}, {name} in enumerate(({self.converted(scope, TYPES['i32'], 2)}, lp.i32(7))):",
            )
            scope.variables[name] = TYPES["i32"]
        else:
            walrus = pick.random() < 0.4
            self.line(indent, f"{name} = lp.i32({'-1' if walrus else '0'})")
            if walrus:
                self.line(
                    indent, f"while ({name} := {name} + 1) < {pick.randrange(2, 5)} and {self.test(scope)}:"
                )
            elif pick.random() < 0.4:
                self.line(indent, "while True:")
                self.line(indent + 1, f"if {name} >= {pick.randrange(1, 5)}:")
                self.line(indent + 2, "break")
            else:
                self.line(indent, f"while {name} < {pick.randrange(2, 5)} and {self.test(scope)}:")
            scope.variables[name] = TYPES["i32"]
            if not walrus:
                self.line(indent + 1, f"{name} += 1")
        self.block(scope, indent + 1, depth + 1, True)
        scope.variables = known
        self.maybe_else(scope, indent, depth, in_loop, 0.3)

    def maybe_else(self, scope, indent, depth, in_loop, probability):
        if self.random.random() < probability:
            self.line(indent, "else:")
            self.inner(scope, indent, depth, in_loop)

    # Expressions.

    def literal(self, kind):
        pick = self.random
        if kind.is_float:
            return pick.choice(["0.5", "1.25", "-3.0", "2", "2.0", "-0.0", "0", "7.75"])
        edges = {0, 1, 2, 3, 5, 7, (1 << (kind.bits - 1)) - 1}
        edges |= {(1 << kind.bits) - 1} if kind.kind == "uint" else {-1, -3, -(1 << (kind.bits - 1))}
        return str(pick.choice(sorted(edges)))

    def operand(self, scope, kind, depth):
        """A literal that fits, or an expression whose type gives way to `kind`."""
        if self.random.random() < 0.35:
            return self.literal(kind)
        return self.expression(scope, self.random.choice(self.partners(kind)), depth)

    def partners(self, kind):
        found = [kind, kind, kind]
        if kind is not BOOL:
            found += [
                t
                for t in (*self.types, BOOL)
                if promote(t, kind) == kind and not (kind.is_float and t.kind != "float" and t.bits > 16)
            ]
        return found

    def converted(self, scope, kind, depth):
        """An expression of exactly `kind` that also fixes the type of a variable."""
        if kind is BOOL:
            return self.test(scope, depth + 1)
        if self.random.random() < 0.5:
            return self.expression(scope, kind, depth)
        return f"lp.{kind.name}({self.expression(scope, self.random.choice([*self.types, BOOL]), depth)})"

    def leaf(self, scope, kind):
        pick = self.random
        found = [n for n, t in scope.variables.items() if t == kind]
        found += [f"{n}[{self.index(scope, WORK_ITEMS)}]" for n, t in scope.arrays.items() if t == kind]
        if kind.name == "i32":
            found += [f"{n}[i, {self.index(scope, ROWS)}, {self.index(scope, COLUMNS)}]" for n in scope.work]
            found += [f"TI[{self.index(scope, 4)}]"]
        if kind.name == "f32" and pick.random() < 0.3:
            found += [
                pick.choice(
                    [f"TF[{self.index(scope, 2)}, {self.index(scope, 3)}]", f"TF[1][{self.index(scope, 3)}]"]
                )
            ]
        found += [n for n, t, _ in SPECS if t == kind.name]
        if not found or pick.random() < 0.1:
            return f"lp.{kind.name}({self.literal(kind)})"
        return pick.choice(found)

    def small(self, scope, limit):
        """An i32-like expression in range(limit)."""
        return f"({self.expression(scope, TYPES['i32'], 3)}) % {limit}"

    def index(self, scope, extent):
        pick = self.random.randrange(4)
        if pick == 0:
            return str(self.random.randrange(extent))
        if pick == 1 and scope.is_kernel and extent == WORK_ITEMS:
            return "i"
        name = self.random.choice(
            [n for n, t in scope.variables.items() if not t.is_float and t is not BOOL] or ["3"]
        )
        if pick == 2:
            return f"({name} + {self.random.randrange(3)}) % {extent}"
        return f"({name}) % {extent}"

    def expression(self, scope, kind, depth):
        pick = self.random
        if kind is BOOL:
            return self.test(scope, depth + 1)
        choice = pick.randrange(15 if depth < 3 else 5)
        part = lambda: self.operand(scope, kind, depth + 1)  # noqa: E731
        same = lambda: self.expression(scope, kind, depth + 1)  # noqa: E731
        if choice < 4:
            return self.leaf(scope, kind)
        if choice == 4:
            return f"lp.{kind.name}({self.expression(scope, pick.choice([*self.types, BOOL]), depth + 1)})"
        if choice < 8:
            symbols = ["+", "-", "*"] if kind.is_float else ["+", "-", "*", "&", "|", "^"]
            left, right = same(), part()
            if pick.random() < 0.3:
                left, right = right, left
            return f"({left} {pick.choice(symbols)} {right})"
        if choice == 8:
            if kind.is_float:
                return f"({same()} {pick.choice(['//', '%'])} {pick.choice(['2', '0.5', '4.0'])})"
            return f"({same()} {pick.choice(['//', '%'])} {part()})"
        if choice == 9:
            if kind.is_float:
                return f"lp.math.{pick.choice(['floor', 'ceil', 'trunc'])}({same()})"
            count = pick.choice(
                [
                    str(pick.randrange(70)),
                    self.expression(scope, pick.choice([t for t in self.types if not t.is_float]), depth + 1),
                ]
            )
            return f"({same()} {pick.choice(['<<', '>>'])} {count})"
        if choice == 10:
            if pick.random() < 0.5:  # a literal joins the other side; on the host it stays a literal
                return f"lp.{kind.name}({same()} if {self.test(scope, depth + 1)} else {self.literal(kind)})"
            return f"({same()} if {self.test(scope, depth + 1)} else {same()})"
        if choice == 11:
            return f"{pick.choice(['min', 'max'])}({same()}, {part()})"
        if choice == 12:
            if kind.kind == "uint":
                return pick.choice([f"(~{same()})", f"(-{same()})", f"abs({same()})"])
            return pick.choice(
                [f"(-{same()})", f"abs({same()})", f"(+{same()})", f"({same()} ** {pick.randrange(1, 4)})"]
            )
        if choice == 13:
            return self.special(scope, kind, depth)
        helpers = [h for h in scope.helpers if h.result == (kind,)]
        return self.call(scope, pick.choice(helpers), depth) if helpers else same()

    def special(self, scope, kind, depth):
        pick = self.random
        inner = lambda t: self.expression(scope, TYPES[t], depth + 1)  # noqa: E731
        if kind.name == "i32":
            return pick.choice(
                [
                    f"round({inner('f32')})",
                    f"lp.bitcast({inner('u32')}, lp.i32)",
                    f"({self.comparison(scope)} + {self.comparison(scope)})",
                    f"int({inner(pick.choice(self.types).name)})",
                    f"divmod({inner('i32')}, {inner('i32')})[{pick.randrange(2)}]",
                    f"pow({inner('i32')}, 3)",
                    f"(-{self.comparison(scope)})",
                ]
            )
        if kind.name == "f32":
            return pick.choice(
                [
                    f"float({inner(pick.choice([t.name for t in self.types if t.name != 'f64']))})",
                    f"min({inner('f32')}, {inner('f32')}, 2.0)",
                ]
            )
        if kind.name == "u32":
            return f"lp.bitcast({inner('i32')}, lp.u32)"
        chosen = ", ".join(self.expression(scope, kind, depth + 1) for _ in range(2))
        return f"lp.select({self.test(scope, depth + 1)}, {chosen})"

    def call(self, scope, helper, depth):
        arguments = [self.converted(scope, kind, 2) for kind in helper.parameters]
        if helper.default and self.random.random() < 0.5:
            arguments.pop()
        elif self.random.random() < 0.3:
            arguments[-1] = f"p{len(arguments) - 1}={arguments[-1]}"
        return f"{helper.name}({', '.join(arguments)})"

    def comparison(self, scope):
        kind = self.random.choice(self.types)
        symbol = lambda: self.random.choice(["<", ">", "==", "!=", "<=", ">="])  # noqa: E731
        text = f"{self.expression(scope, kind, 2)} {symbol()} {self.operand(scope, kind, 2)}"
        if self.random.random() < 0.2:
            text += f" {symbol()} {self.expression(scope, kind, 2)}"
        return f"({text})"

    def test(self, scope, depth=0):
        pick = self.random
        kind = pick.randrange(8)
        names = [n for n, t in scope.variables.items() if t is BOOL]
        if kind == 7 and names:
            return pick.choice(names)
        if kind < 4 or depth > 2:
            return self.comparison(scope)
        if kind == 4:
            return f"(not {self.test(scope, depth + 1)})"
        if kind == 5:
            return f"lp.bool_({self.expression(scope, pick.choice(self.types), 2)})"
        return f"({self.test(scope, depth + 1)} {pick.choice(['and', 'or'])} {self.test(scope, depth + 1)})"


I32_LIKE = INDEX
"""Loop variables of literal bounds are indices; beside an i32 they are i32 as well."""
