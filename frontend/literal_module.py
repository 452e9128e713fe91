"""Reads a Python module of kernels without executing it: imports of lapilli, constants, structs, functions.

Expressions at the top of the module, in annotations and in decorators are evaluated here: literals, arithmetic on
numbers, names of the module, and attributes and subscripts of lapilli's own types.  Only ``NAME =
lp.SpecializationId(…)`` and lapilli's decorators are calls.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir.errors import CompileError, Diagnostic, Error, InvalidError, Location
from .externals import ExternalFunction, checked_symbol
from .function_attributes import attributes_of
from .spec_constant import SpecializationId
from .struct_types import StructType, value_type_of

MAX_POWER = 1024
"""Largest exponent of a constant: `10 ** 10 ** 10` would not end."""
MAX_BITS = 1 << 14
"""Largest integer of a constant."""

_DECORATORS = frozenset(
    {
        "device_has",
        "uses_aspects",
        "reqd_work_group_size",
        "reqd_sub_group_size",
        "work_group_size_hint",
    }
)
"""Decorators of lapilli that only note what they are given."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


@dataclass(slots=True)
class LiteralModule:
    """What a module's text defines."""

    names: dict[str, object]
    """Its globals."""
    functions: dict[str, object] = field(default_factory=dict[str, object])
    """Kernels and helpers as plain functions."""
    kernels: dict[str, Mapping[str, object]] = field(default_factory=dict[str, "Mapping[str, object]"])
    """The options of ``@lp.kernel`` by the function's name."""
    externals: dict[str, ExternalFunction] = field(default_factory=dict[str, ExternalFunction])
    """What it exports, by the function's name."""

    @property
    def spec_constants(self) -> dict[str, SpecializationId]:
        """Its specialization constants, by name."""
        return {name: found for name, found in self.names.items() if isinstance(found, SpecializationId)}


def read_module(text: str, file: str, lines: Sequence[str]) -> LiteralModule:
    """Reads a module.

    Args:
        text: of the module.
        file: its name for messages.
        lines: the text in lines.

    Raises:
        CompileError: the text is no Python, or something in it would have to be executed; with its line.
    """
    try:
        tree = ast.parse(text, file)
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or 1
        shown = lines[line - 1] if 0 < line <= len(lines) else None
        finding = Diagnostic(error.msg, Location(file, line, error.offset or 1), source_line=shown)
        raise CompileError(str(finding), code="LP2005", diagnostics=[finding]) from error
    # ValueError: a NUL in the text; the others: nested too deeply for Python's parser.
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError(f"{file}: error: the text cannot be parsed: {error}", code="LP2005") from error
    return _Reader(file, lines, code).read(tree)


class _Reader:
    def __init__(self, file: str, lines: Sequence[str], code: types.CodeType) -> None:
        self.file, self.lines = file, lines
        self.code_by_line = {
            (item.co_name, item.co_firstlineno): item
            for item in code.co_consts
            if isinstance(item, types.CodeType)
        }
        self.lapilli: Any = importlib.import_module("..", __package__)
        # `lp` without an import too, as in lp.kernel_from_source.
        self.module = LiteralModule({"__name__": file, "__builtins__": builtins, "lp": self.lapilli})

    def read(self, tree: ast.Module) -> LiteralModule:
        for statement in tree.body:
            try:
                self.statement(statement)
            except RecursionError:
                raise self.refused(statement, "this is nested too deeply") from None
        return self.module

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports(node)
        elif isinstance(node, ast.FunctionDef):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            self.struct(node)
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            self.assign(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            self.assign(node.target.id, node.value)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(
            node, ast.Pass
        ):
            raise self.refused(
                node,
                "source text is not executed; expected imports of lapilli, constants, functions and @lp.struct classes",
            )

    def assign(self, name: str, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and self.value(node.func) is self.lapilli.SpecializationId:
            args, members = self.arguments(node)
            if not args:
                raise self.refused(node, "expected lp.SpecializationId(type, default)")
            self.module.names[name] = self.guarded(
                node, lambda: SpecializationId.of_text(self.file, name, args[0], args[1:], members)
            )
        else:
            self.module.names[name] = self.value(node)

    def arguments(self, call: ast.Call) -> tuple[tuple[Any, ...], dict[str, object]]:
        """Returns what a call gives by position and by keyword."""
        if any(k.arg is None for k in call.keywords):
            raise self.refused(call, "** cannot be read")
        return tuple(map(self.value, call.args)), {k.arg: self.value(k.value) for k in call.keywords if k.arg}

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            if node.module == "__future__":
                return
            if node.module != self.lapilli.__name__ or node.level:
                raise self.refused(node, f"only lapilli and math can be imported, found {node.module!r}")
            for alias in node.names:
                self.module.names[alias.asname or alias.name] = self.member(self.lapilli, alias.name, node)
            return
        for alias in node.names:
            if alias.name not in (self.lapilli.__name__, "math"):
                raise self.refused(node, f"only lapilli and math can be imported, found {alias.name!r}")
            found = math if alias.name == "math" else self.lapilli
            self.module.names[alias.asname or alias.name] = found

    # Functions and structs

    def function(self, node: ast.FunctionDef) -> None:
        function = self.plain_function(node)
        self.module.names[node.name] = function
        self.module.functions[node.name] = function
        self.module.kernels.pop(node.name, None)
        self.module.externals.pop(node.name, None)
        linking = [d for d in node.decorator_list if self.linkage(d) is not None]
        for decorator in reversed([d for d in node.decorator_list if d not in linking]):
            self.decorate(node, function, decorator)
        for decorator in linking:  # last, so that all other attributes are known
            self.link(node, function, decorator)

    def plain_function(self, node: ast.FunctionDef) -> types.FunctionType:
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        code = self.code_by_line.get((node.name, first))
        if code is None or code.co_freevars:
            raise self.refused(node, f"function '{node.name}' cannot be read")
        arguments = node.args
        defaults = tuple(self.value(default) for default in arguments.defaults)
        function = types.FunctionType(code, self.module.names, node.name, defaults or None)
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        keywords = {a.arg: self.value(default) for a, default in named if default is not None}
        function.__kwdefaults__ = keywords or None
        annotated = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        annotations = {a.arg: self.annotation(a.annotation) for a in annotated if a.annotation is not None}
        if node.returns is not None:
            annotations["return"] = self.annotation(node.returns)
        function.__annotations__ = annotations
        function.__module__ = self.file
        return function

    def linkage(self, decorator: ast.expr) -> str | None:
        """Returns which of ``@lp.external`` and ``@lp.extern`` a decorator is."""
        found = self.value(decorator.func if isinstance(decorator, ast.Call) else decorator)
        return next((kind for kind in ("external", "extern") if found is getattr(self.lapilli, kind)), None)

    def link(self, node: ast.FunctionDef, function: types.FunctionType, decorator: ast.expr) -> None:
        """Exports a function, or declares it; not in `EXTERNALS`, which is what the program exports."""
        kind = self.linkage(decorator)
        given = decorator.args if isinstance(decorator, ast.Call) and not decorator.keywords else []
        if len(given) > 1 or (kind == "extern" and not given):
            raise self.refused(decorator, f'expected @lp.{kind}("symbol")')
        if node.name in self.module.kernels or self.module.names[node.name] is not function:
            raise self.refused(decorator, f"'{node.name}' has another decorator that says what it is")
        symbol = (
            self.guarded(decorator, lambda: checked_symbol(str(kind), self.value(given[0])))
            if given
            else None
        )
        made = ExternalFunction(function, symbol, is_defined=kind == "external")
        if made.is_defined:
            if any(made.symbol == other.symbol for other in self.module.externals.values()):
                raise self.refused(decorator, f"symbol '{made.symbol}' is exported twice")
            self.module.externals[node.name] = made
        self.module.names[node.name] = made

    def decorate(self, node: ast.FunctionDef, function: types.FunctionType, decorator: ast.expr) -> None:
        call = decorator if isinstance(decorator, ast.Call) else None
        found = self.value(decorator if call is None else call.func)
        args, keywords = ((), {}) if call is None else self.arguments(call)
        if found is self.lapilli.kernel and not args:
            self.module.kernels[node.name] = keywords
        elif found is self.lapilli.func and call is None:
            return
        elif call is not None and any(found is getattr(self.lapilli, n, None) for n in _DECORATORS):
            decorated = self.guarded(decorator, lambda: found(*args, **keywords)(function))
            function.__dict__.update(decorated.__dict__)
            assert attributes_of(function) == attributes_of(decorated), "a decorator only notes attributes"
        else:
            raise self.refused(
                decorator,
                "expected @lp.kernel, @lp.func, @lp.external, @lp.extern or a decorator of lapilli for attributes",
            )

    def struct(self, node: ast.ClassDef) -> None:
        is_plain = not node.keywords and len(node.decorator_list) == 1
        decorator = node.decorator_list[0] if is_plain else None
        options: dict[str, object] = {}
        if isinstance(decorator, ast.Call) and not decorator.args:
            options = {k.arg: self.value(k.value) for k in decorator.keywords if k.arg}
            decorator = decorator.func
        if decorator is None or self.value(decorator) is not self.lapilli.struct:
            raise self.refused(
                node, f"class '{node.name}': expected a plain class with the decorator @lp.struct"
            )
        bases = tuple(self.value(base) for base in node.bases)
        for base, written in zip(bases, node.bases, strict=True):
            if not isinstance(base, type) or not isinstance(value_type_of(base), StructType):
                raise self.refused(
                    written, f"class '{node.name}': expected a struct of this text as its base"
                )
        body: dict[str, object] = {"__module__": self.file, "__qualname__": node.name}
        annotations: dict[str, object] = {}
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                annotations[item.target.id] = self.annotation(item.annotation)
                if item.value is not None:
                    body[item.target.id] = self.value(item.value)
            elif not isinstance(item, ast.Pass) and not (
                isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
            ):
                raise self.refused(item, "a struct has members and nothing else: name: type")
        made = self.guarded(node, lambda: type(node.name, bases, {**body, "__annotations__": annotations}))
        self.module.names[node.name] = self.guarded(node, lambda: self.lapilli.struct(**options)(made))

    def annotation(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                raise self.refused(node, f"annotation {node.value!r} is no expression") from None
            for part in ast.walk(inner):
                ast.copy_location(part, node)
            return self.value(inner)
        return self.value(node)

    # Expressions

    def value(self, node: ast.expr) -> Any:
        """Returns what an expression means."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.UnaryOp):
            operand = self.number(node.operand)
            return self.guarded(node, lambda: _UNARY[type(node.op)](operand))
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Attribute):
            return self.member(self.value(node.value), node.attr, node)
        if isinstance(node, ast.Subscript):
            base, key = self.value(node.value), self.value(node.slice)
            if not self.is_own(base):
                raise self.refused(node, "only lapilli's types can be subscripted here")
            return self.guarded(node, lambda: base[key])
        raise self.refused(
            node, "source text is not executed; expected literals, arithmetic on them, or lapilli's names"
        )

    def name(self, node: ast.Name) -> object:
        if node.id in self.module.names and node.id != "__builtins__":
            return self.module.names[node.id]
        if node.id in ("int", "float", "bool"):
            return getattr(builtins, node.id)
        raise self.refused(node, f"name '{node.id}' is not defined above")

    def number(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not isinstance(value, bool | int | float):
            raise self.refused(node, f"expected a number, found {value!r:.60}")
        return value

    def binary(self, node: ast.BinOp) -> object:
        left, right = self.number(node.left), self.number(node.right)
        compute = _BINARY.get(type(node.op))
        if compute is None:
            raise self.refused(node, "this operator cannot be computed here")
        is_growing = isinstance(node.op, ast.Pow | ast.LShift)
        if is_growing and abs(right) > MAX_POWER:
            raise self.refused(node, f"constants are computed up to an exponent of {MAX_POWER}")
        result = self.guarded(node, lambda: compute(left, right))
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise self.refused(node, f"constants have at most {MAX_BITS} bits")
        return result

    def member(self, owner: object, name: str, node: ast.AST) -> Any:
        """Returns a public attribute of lapilli, of one of its enums or of math."""
        is_open = owner is self.lapilli or owner is math or self.is_own(owner)
        if not is_open or name.startswith("_"):
            raise self.refused(node, f"attribute '{name}' cannot be read here")
        found = self.guarded(node, lambda: getattr(owner, name))
        if owner is math and not isinstance(found, float):
            raise self.refused(node, f"math.{name} is no constant; kernels may call it")
        return found

    def is_own(self, value: object) -> bool:
        """Whether a value is one of lapilli's types or namespaces, and no function that does something."""
        kind = value if isinstance(value, type) else type(value)
        package = str(self.lapilli.__name__)
        return str(kind.__module__).partition(".")[0] == package and not isinstance(value, types.FunctionType)

    def guarded(self, node: ast.AST, compute: Callable[[], Any]) -> Any:
        """Computes something of lapilli's own; what it raises becomes a finding at a node."""
        try:
            return compute()
        except (Error, InvalidError) as error:
            raise self.refused(node, error.message) from error
        except (ArithmeticError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise self.refused(node, str(error) or type(error).__name__) from error

    def refused(self, node: ast.AST, message: str) -> CompileError:
        """Returns the finding at a node."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = len(text.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace")) + 1
        finding = Diagnostic(message, Location(self.file, line, column), source_line=text.rstrip("\r\n"))
        return CompileError(str(finding), code="LP2006", diagnostics=[finding])
