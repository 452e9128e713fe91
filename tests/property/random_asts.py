"""Random kernel texts, most of them wrong: syntax trees put together with no regard for types or sense.

Half of a text's expressions come from a grammar of names that exist, so that enough of them get far into the
compiler; the other half may be any node that Python has.
"""

from __future__ import annotations

import ast
import random

HEADER = """import lapilli as lp
import numpy as np
import math
SPEC = lp.SpecializationId(lp.i32, 4)
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)
ROW = (1, 2.5, True)
@lp.struct
class S:
    a: lp.f32
    b: lp.i32
def helper(p, q=1):
    if p > q:
        return p
    return q
def writer(array, i, v):
    array[i] = v
"""
SIGNATURES = (
    "x: lp.Array[lp.f32], y: lp.Array[lp.i32], n: lp.i32",
    "x: lp.In[lp.f32], y: lp.Out[lp.i32], n: lp.u32",
    "x: lp.Array[lp.f32, 2], y: lp.Array[lp.f32x4], n: lp.f32",
    "x: lp.Array[S], y: lp.LocalArray[lp.f32], n: lp.Const[lp.i32] = 3",
    "x: lp.NdItem[2], y: lp.Id[2], n: S",
    "x: lp.Item[1], y: lp.Array[lp.bool_], n: lp.FixedArray[lp.f32, 3]",
    "x: lp.Group[1], y: lp.Array[lp.f32], n: lp.f32x3",
)
NAMES = [
    "x",
    "y",
    "n",
    "a",
    "b",
    "c",
    "i",
    "SPEC",
    "TABLE",
    "ROW",
    "S",
    "helper",
    "writer",
    "lp",
    "math",
    "np",
    "missing",
]
CALLS = [
    "lp.global_id",
    "lp.local_id",
    "lp.barrier",
    "lp.f32",
    "lp.i32",
    "lp.u8",
    "lp.bool_",
    "lp.f32x4",
    "lp.f32x2",
    "int",
    "float",
    "bool",
    "min",
    "max",
    "abs",
    "round",
    "len",
    "range",
    "divmod",
    "pow",
    "enumerate",
    "zip",
    "lp.static_range",
    "lp.math.sqrt",
    "lp.math.floor",
    "lp.math.dot",
    "math.sin",
    "lp.select",
    "lp.bitcast",
    "lp.shuffle",
    "helper",
    "writer",
    "S",
    "lp.local.array",
    "lp.private.array",
    "lp.atomic.add",
    "lp.atomic.compare_exchange",
    "lp.group.reduce",
    "lp.sub_group.shuffle",
    "lp.sub_group.size",
    "lp.mem_fence",
    "lp.group_barrier",
    "lp.FixedArray",
    "lp.global_linear_id",
    "lp.f64",
    "lp.i64",
    "lp.f16",
]
ATTRIBUTES = [
    "shape",
    "size",
    "ndim",
    "dtype",
    "x",
    "xy",
    "w",
    "a",
    "b",
    "get_id",
    "get_global_id",
    "get_group",
    "get_range",
    "f32",
    "leader",
    "numpy",
    "barrier",
    "get_sub_group",
    "zz",
]
LITERALS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    1 << 31,
    1 << 64,
    0.0,
    1.5,
    1e39,
    1e400,
    True,
    False,
    None,
    "text",
    "add",
    b"b",
    2j,
    ...,
)
ODD_EXPRESSIONS = (
    "[1, 2]",
    "{1: 2}",
    "{1}",
    "lambda: 1",
    "[v for v in ROW]",
    "f'{n}'",
    "x[:]",
    "helper(*ROW)",
    "lp.Vec[lp.f32, 3]",
    "lp.FixedArray[lp.f32, 2]",
    "(yield_ := 1)",
    "print(n)",
    "isinstance(x, int)",
    "super()",
    "x.y.z",
    "lp.f32x4()",
)
BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd,
          ast.BitOr, ast.BitXor, ast.MatMult)  # fmt: skip
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Generator:
    """Makes one text.

    Args:
        seed: the same seed gives the same text.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fuel = self.random.choice((15, 40, 90))

    def text(self) -> str:
        """Returns a module with one kernel, `k`."""
        body = self.block(0)
        if self.random.random() < 0.3:
            body = [*ast.parse("a = 0\nb = 1.5\nc = n\ni = lp.global_id(0)").body, *body]
        source = ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
        lines = "".join(f"    {line}\n" for line in source.splitlines())
        options = self.random.choice(
            ("", "(local_size=8)", "(contract=False)", "(opt_level=0)", "(opt_level=2)")
        )
        return f"{HEADER}@lp.kernel{options}\ndef k({self.random.choice(SIGNATURES)}):\n{lines}"

    def block(self, depth: int) -> list[ast.stmt]:
        return [self.statement(depth) for _ in range(self.random.randint(1, 4))]

    def statement(self, depth: int) -> ast.stmt:
        self.fuel -= 1
        pick = self.random.random()
        if self.fuel < 0 or depth > 4:
            return ast.Pass()
        if pick < 0.45:
            return ast.Assign([self.target()], self.expression(0))
        if pick < 0.55:
            return ast.AugAssign(self.target(), self.random.choice(BINARY)(), self.expression(0))
        if pick < 0.62:
            return ast.Expr(self.expression(0))
        if pick < 0.72:
            return ast.If(self.expression(0), self.block(depth + 1), self.maybe_block(depth + 1))
        if pick < 0.82:
            return ast.For(self.target(), self.iterable(), self.block(depth + 1), self.maybe_block(depth + 1))
        if pick < 0.86:
            return ast.While(
                self.expression(0), [*self.block(depth + 1), ast.Break()], self.maybe_block(depth + 1)
            )
        return self.odd_statement(depth)

    def odd_statement(self, depth: int) -> ast.stmt:
        choices = (
            lambda: ast.Return(self.random.choice((None, self.expression(0)))),
            lambda: ast.Assert(self.expression(0), None),
            lambda: ast.AnnAssign(ast.Name("a", ast.Store()), self.expression(1), self.expression(0), 1),
            lambda: ast.AnnAssign(self.target(), self.expression(2), None, 0),
            lambda: ast.Delete([ast.Name(self.name(), ast.Del())]),
            lambda: ast.Raise(self.expression(1), None),
            lambda: ast.With([ast.withitem(self.expression(1), None)], self.block(depth + 1)),
            lambda: ast.Try(self.block(depth + 1), [], [], self.block(depth + 1)),
            lambda: ast.parse("def inner():\n    pass").body[0],
            lambda: ast.parse("class Inner:\n    pass").body[0],
            lambda: ast.parse("import os").body[0],
            lambda: ast.parse("match n:\n    case 1:\n        pass\n    case _:\n        pass").body[0],
            lambda: ast.Assign([self.target(), self.target()], self.expression(0)),
        )
        return self.random.choice(choices)()

    def maybe_block(self, depth: int) -> list[ast.stmt]:
        return self.block(depth) if self.random.random() < 0.3 else []

    def name(self) -> str:
        return self.random.choice(NAMES)

    def target(self) -> ast.expr:
        pick = self.random.random()
        if pick < 0.5:
            return ast.Name(self.random.choice(("a", "b", "c", "i", "x", "n")), ast.Store())
        if pick < 0.8:
            return ast.Subscript(ast.Name(self.name(), ast.Load()), self.index(), ast.Store())
        if pick < 0.9:
            return ast.Attribute(self.expression(2), self.random.choice(ATTRIBUTES), ast.Store())
        return ast.Tuple([self.target() for _ in range(self.random.randint(1, 3))], ast.Store())

    def index(self) -> ast.expr:
        pick = self.random.random()
        if pick < 0.4:
            return ast.parse("lp.global_id(0)", mode="eval").body
        if pick < 0.5:
            return ast.Slice(None, self.expression(2), None)
        if pick < 0.7:
            return ast.Tuple([self.expression(2) for _ in range(self.random.randint(1, 3))], ast.Load())
        return self.expression(2)

    def iterable(self) -> ast.expr:
        pick = self.random.random()
        if pick < 0.7:
            name = self.random.choice(("range", "range", "lp.static_range", "enumerate", "zip"))
            arguments = [self.random.choice((ast.Constant(3), ast.Name("n", ast.Load()), self.expression(2)))]
            return ast.Call(ast.parse(name, mode="eval").body, arguments, [])
        return self.expression(1)

    def expression(self, depth: int) -> ast.expr:
        self.fuel -= 1
        if depth > 4 or self.fuel < 0 or self.random.random() < 0.3:
            if self.random.random() < 0.6:
                return ast.Name(self.name(), ast.Load())
            return ast.Constant(self.random.choice(LITERALS))
        inner = depth + 1
        choices = (
            *[lambda: ast.BinOp(self.expression(inner), self.random.choice(BINARY)(), self.expression(inner))]
            * 4,
            *[lambda: self.call(inner)] * 5,
            *[lambda: ast.Subscript(self.expression(inner), self.index(), ast.Load())] * 3,
            *[lambda: ast.Attribute(self.expression(inner), self.random.choice(ATTRIBUTES), ast.Load())] * 3,
            *[lambda: self.comparison(inner)] * 2,
            lambda: ast.UnaryOp(
                self.random.choice((ast.USub, ast.Not, ast.Invert, ast.UAdd))(), self.expression(inner)
            ),
            lambda: ast.BoolOp(
                self.random.choice((ast.And, ast.Or))(), [self.expression(inner), self.expression(inner)]
            ),
            lambda: ast.IfExp(self.expression(inner), self.expression(inner), self.expression(inner)),
            lambda: ast.Tuple([self.expression(inner) for _ in range(self.random.randint(0, 3))], ast.Load()),
            lambda: ast.NamedExpr(ast.Name("b", ast.Store()), self.expression(inner)),
            lambda: self.odd_expression(inner),
        )
        return self.random.choice(choices)()

    def comparison(self, depth: int) -> ast.expr:
        count = self.random.choice((1, 1, 1, 2))
        operators = [self.random.choice(COMPARISONS)() for _ in range(count)]
        return ast.Compare(self.expression(depth), operators, [self.expression(depth) for _ in range(count)])

    def call(self, depth: int) -> ast.expr:
        called = ast.parse(self.random.choice(CALLS), mode="eval").body
        if self.random.random() < 0.15:
            called = ast.Attribute(
                ast.Name(self.name(), ast.Load()), self.random.choice(ATTRIBUTES), ast.Load()
            )
        arguments = [self.expression(depth) for _ in range(self.random.randint(0, 4))]
        keywords = []
        if self.random.random() < 0.15:
            word = self.random.choice(("op", "order", "scope", "lane", "q", "dtype", "strict", None))
            keywords = [ast.keyword(word, self.expression(depth))]
        return ast.Call(called, arguments, keywords)

    def odd_expression(self, depth: int) -> ast.expr:
        return ast.parse(self.random.choice(ODD_EXPRESSIONS), mode="eval").body
