"""Kernels of the device tests, changed: names, types, operators, calls, statements exchanged, lost, doubled, wrapped.

Unlike `random_asts`, nearly all of a text makes sense, so that what does not is met late in the compiler.

python -m tests.property.changed_kernels --seconds 300 --start 0
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import io
import math
import random
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import TargetEnv

from .random_asts import ATTRIBUTES, BINARY, CALLS, COMPARISONS, LITERALS, ODD_EXPRESSIONS
from .variants import Variant

TESTS = Path(__file__).parents[1]
TYPES = ("lp.bool_", "lp.i8", "lp.u16", "lp.i32", "lp.u32", "lp.i64", "lp.u64", "lp.f16", "lp.bf16", "lp.f32", "lp.f64",
         "lp.f32x4", "lp.i32x2", "lp.f64x3", "lp.FixedArray[lp.f32, 3]", "lp.FixedArray[lp.u8, 2, 2]",
         "lp.Array[lp.f32]", "lp.In[lp.f32, 2]", "lp.Out[lp.i32]", "lp.LocalArray[lp.f32]", "lp.Const[lp.i32]",
         "lp.Spec[lp.u32]", "lp.NdItem[1]", "lp.KernelHandler")  # fmt: skip
_WRAPPERS = ("if {0}:\n    pass", "while {0}:\n    pass", "for v in range({0}):\n    pass",
             "for v in range(3):\n    pass\nelse:\n    pass", "for v in lp.static_range(2):\n    pass",
             "while True:\n    break\nelse:\n    pass")  # fmt: skip
_STATEMENTS = ("return", "break", "continue", "pass", "return 1", "return 1, 2.5", "lp.barrier()", "assert False",
               "del i", "i = 1.5", "global i", "i: lp.f32", "x, y = y, x")  # fmt: skip


class Origin:
    """The kernels of one test file, and what stands around them.

    Args:
        path: of the file; what of it runs by itself is run.
    """

    def __init__(self, path: Path) -> None:
        self.names: dict[str, object] = {"lp": lp, "np": np, "math": math, "__name__": path.stem}
        self.functions: dict[str, ast.FunctionDef] = {}
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                if not node.name.startswith("test_") and not _is_of_pytest(node):
                    self.functions[node.name] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.ClassDef)):
                with contextlib.suppress(Exception):  # what needs something else of the file
                    exec(compile(ast.Module([node], []), str(path), "exec"), self.names)
        self.kernels = [n for n, f in self.functions.items() if _is_kernel(f)]


def _is_of_pytest(node: ast.FunctionDef) -> bool:
    return any("pytest" in ast.unparse(d) for d in node.decorator_list)


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(d).startswith("lp.kernel") for d in node.decorator_list)


@cache
def origins() -> tuple[Origin, ...]:
    """Returns the files with kernels, in the order of their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [Origin(path) for path in sorted((TESTS / "device").glob("test_*.py"))]
    return tuple(origin for origin in found if origin.kernels)


class Change:
    """A kernel's text with some places changed.

    Args:
        seed: the same gives the same.
    """

    def __init__(self, seed: int) -> None:
        self.random = pick = random.Random(seed)
        self.origin = pick.choice(origins())
        self.kernel = pick.choice(self.origin.kernels)
        called = self._reached(self.kernel)
        chosen = {n: copy.deepcopy(self.origin.functions[n]) for n in called}
        others = [f for f in self.origin.functions.values() if f.body]
        self.expressions = [*_expressions([*chosen.values(), pick.choice(others)]), ast.Constant(1)]
        for _ in range(pick.choice((1, 1, 2, 3))):
            self._change(chosen[pick.choice(called)])
        module = ast.fix_missing_locations(ast.Module([*chosen.values()], []))
        self.text = "from __future__ import annotations\n" + ast.unparse(module) + "\n"

    def _reached(self, kernel: str) -> list[str]:
        """Returns the functions that a kernel needs, itself last."""
        found, left = [kernel], [kernel]
        while left:
            for node in ast.walk(self.origin.functions[left.pop()]):
                name = node.id if isinstance(node, ast.Name) else None
                if name in self.origin.functions and name not in found:
                    assert name is not None
                    found.append(name)
                    left.append(name)
        return found[::-1]

    def _change(self, function: ast.FunctionDef) -> None:
        self.random.choice((self._expression, self._expression, self._expression, self._statement, self._statement,
                            self._small, self._small, self._type, self._call))(function)  # fmt: skip

    def _any_expression(self) -> ast.expr:
        pick = self.random
        choice = pick.randrange(10)
        if choice < 6:
            return copy.deepcopy(pick.choice(self.expressions))
        if choice == 6:
            return ast.Constant(pick.choice(LITERALS))
        if choice == 7:
            return ast.parse(pick.choice(ODD_EXPRESSIONS), mode="eval").body
        if choice == 8:
            return ast.Attribute(
                copy.deepcopy(pick.choice(self.expressions)), pick.choice(ATTRIBUTES), ast.Load()
            )
        arguments = [copy.deepcopy(pick.choice(self.expressions)) for _ in range(pick.randrange(4))]
        return ast.Call(ast.parse(pick.choice(CALLS), mode="eval").body, arguments, [])

    def _expression(self, function: ast.FunctionDef) -> None:
        """An expression of the body becomes another."""
        places = [(node, name, at) for node in _inside(function) for name, at, _ in _parts(node, ast.expr)]
        places = [p for p in places if not isinstance(getattr(_at(*p), "ctx", None), (ast.Store, ast.Del))]
        places = [p for p in places if not isinstance(p[0], ast.JoinedStr)]
        if places:
            _put(*self.random.choice(places), self._any_expression())

    def _statement(self, function: ast.FunctionDef) -> None:
        """A statement is gone, twice, elsewhere, or in a branch or loop."""
        pick = self.random
        blocks = [
            getattr(n, f)
            for n in ast.walk(function)
            for f in ("body", "orelse")
            if isinstance(getattr(n, f, None), list)
        ]
        blocks = [b for b in blocks if b]
        block = pick.choice(blocks)
        at = pick.randrange(len(block))
        form = pick.randrange(6)
        if form == 0 and len(block) > 1:
            del block[at]
        elif form == 1:
            pick.choice(blocks).append(copy.deepcopy(block[at]))
        elif form == 2:
            other = pick.choice(blocks)
            k = pick.randrange(len(other))
            block[at], other[k] = copy.deepcopy(other[k]), copy.deepcopy(block[at])
        elif form == 3:
            block.insert(at, ast.parse(pick.choice(_STATEMENTS)).body[0])
        else:
            test = self._any_expression()
            if isinstance(test, (ast.Slice, ast.Tuple)):  # which may not stand everywhere
                test = ast.Constant(2)
            wrapper = ast.parse(pick.choice(_WRAPPERS).format(f"({ast.unparse(test)})")).body[0]
            assert isinstance(wrapper, (ast.If, ast.For, ast.While))
            part = block[at:] if form == 4 else [block[at]]
            wrapper.body = [*(b for b in wrapper.body if pick.random() < 0.3), *copy.deepcopy(part)]
            block[at : at + len(part)] = [wrapper]

    def _small(self, function: ast.FunctionDef) -> None:
        """An operator, a name, a number or an attribute becomes another."""
        pick = self.random
        nodes = [n for n in _inside(function) if isinstance(n, (ast.BinOp, ast.AugAssign, ast.Compare, ast.Name,
                 ast.Constant, ast.Attribute, ast.UnaryOp, ast.BoolOp))]  # fmt: skip
        if not nodes:
            return
        node = pick.choice(nodes)
        names = [n.id for n in ast.walk(function) if isinstance(n, ast.Name)]
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            node.op = pick.choice(BINARY)()
        elif isinstance(node, ast.Compare):
            node.ops = [pick.choice(COMPARISONS)() for _ in node.ops]
        elif isinstance(node, ast.Name):
            node.id = pick.choice(names)
        elif isinstance(node, ast.Constant):
            node.value = pick.choice(LITERALS)
        elif isinstance(node, ast.Attribute):
            others = [n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)]
            node.attr = pick.choice((*others, *ATTRIBUTES))
        elif isinstance(node, ast.UnaryOp):
            node.op = pick.choice((ast.USub, ast.Not, ast.Invert, ast.UAdd))()
        else:
            node.op = pick.choice((ast.And, ast.Or))()

    def _type(self, function: ast.FunctionDef) -> None:
        """A parameter has another type, none, or another default."""
        pick, arguments = self.random, function.args.args + function.args.kwonlyargs
        if not arguments:
            return
        argument = pick.choice(arguments)
        others = [a.annotation for a in arguments if a.annotation is not None]
        form = pick.randrange(5)
        if form < 3:
            argument.annotation = ast.parse(pick.choice(TYPES), mode="eval").body
        elif form == 3 and others:
            argument.annotation = pick.choice(others)
        else:
            argument.annotation = None

    def _call(self, function: ast.FunctionDef) -> None:
        """A call has an argument more or less, or calls something else."""
        pick = self.random
        calls = [n for n in _inside(function) if isinstance(n, ast.Call)]
        if not calls:
            return
        call = pick.choice(calls)
        form = pick.randrange(5)
        if form == 0 and call.args:
            del call.args[pick.randrange(len(call.args))]
        elif form == 1:
            call.args.insert(pick.randrange(len(call.args) + 1), self._any_expression())
        elif form == 2:
            pick.shuffle(call.args)
        elif form == 3:
            call.keywords.append(
                ast.keyword(
                    pick.choice(("order", "op", "lane", "dtype", "scope", "q")), self._any_expression()
                )
            )
        else:
            call.func = ast.parse(pick.choice(CALLS), mode="eval").body


def _inside(function: ast.FunctionDef) -> list[ast.AST]:
    """Returns the nodes of a function's body; format strings may only hold some kinds and are left whole."""
    found: list[ast.AST] = [*function.body]
    for node in found:
        if not isinstance(node, ast.JoinedStr):
            found += ast.iter_child_nodes(node)
    return found


def _parts(node: ast.AST, kind: type[ast.AST]):
    for name, value in ast.iter_fields(node):
        if isinstance(value, kind):
            yield name, None, value
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, kind):
                    yield name, at, item


def _at(node: ast.AST, name: str, at: int | None) -> ast.AST:
    return getattr(node, name) if at is None else getattr(node, name)[at]


def _put(node: ast.AST, name: str, at: int | None, new: ast.AST) -> None:
    if at is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[at] = new


def _expressions(functions: Sequence[ast.FunctionDef]) -> list[ast.expr]:
    """Returns the expressions of functions that are read."""
    nodes = [n for f in functions for n in _inside(f)]
    return [
        n
        for n in nodes
        if isinstance(n, ast.expr) and not isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del))
    ]


def compile_changed(seed: int) -> str:
    """Compiles the text of a seed; returns the code of the error, "" where it compiles.

    Raises:
        AssertionError: anything but an error of ours with a place came of it.
    """
    change, pick = Change(seed), random.Random(seed)
    env = TargetEnv(checks=pick.choice(("asserts", "debug")), optimisation_level=pick.choice((0, 1, 2)))
    if pick.random() < 0.3:
        env = Variant(seed, "flags").environment(env)
    kernel: KernelFunction | None = None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            kernel = lp.kernel_from_source(change.text, name=change.kernel, namespace=change.origin.names)
            compile_kernels([kernel], env, rank=pick.choice((None, 1, 2, 3)))
    except lp.Error as error:
        text = str(error)
        assert text.strip(), f"seed {seed}: says nothing"
        if kernel is not None and isinstance(error, lp.CompileError):
            assert error.location is not None, f"seed {seed}: no place: {text}\n{change.text}"
        return error.code
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{change.text}") from error
    return ""


def main() -> int:
    """Runs until the time is up; returns 1 where something failed."""
    parser = argparse.ArgumentParser(description="changed kernels compile or are refused with a place")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    options = parser.parse_args()
    end, seed, failures, compiled = time.monotonic() + options.seconds, options.start, 0, 0
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            compiled += not compile_changed(seed)
        except AssertionError as error:
            failures += 1
            cause = error.__cause__
            print(error, *(traceback.format_exception(cause)[-4:] if cause else ()), flush=True)
        if time.monotonic() - began > 20:
            print(f"seed {seed} took {time.monotonic() - began:.0f} s", flush=True)
        seed += 1
    print(f"seeds {options.start} to {seed - 1}: {compiled} compiled, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
