"""The state of building one module: its functions, specialization constants, and the calls being compiled."""

from __future__ import annotations

import ast
import types as python_types
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Attribute

from ..ir.dialects.spec_constant import DeclareOp
from ..ir.errors import Diagnostic
from .captures import Captures
from .ir_types import INDEX_TYPE
from .source import FunctionSource
from .types import ScalarType

if TYPE_CHECKING:
    from .function_builder import FunctionBuilder
    from .helpers import HelperInstance


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a helper that is being compiled."""

    caller: FunctionSource
    node: ast.Call
    function: python_types.FunctionType


@dataclass
class ModuleBuilder:
    """One module on its way to IR."""

    rank: int = 1
    """Dimensions of the launch range of the kernel that is being compiled."""
    is_rank_given: bool = False
    """Whether the caller fixed it; otherwise the builder starts again with more where a kernel uses more."""
    kernel_name: str = ""
    unit: str = ""
    """The translation unit: name of the Python module whose kernels are compiled."""
    index_type: ScalarType = INDEX_TYPE
    """Of ids, sizes and shapes in the kernel that is being compiled: `INDEX_TYPE` or i64."""
    function_attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Of the kernel that is being compiled and its helpers: what the kernel's options say about code."""
    functions: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    spec_constants: dict[str, DeclareOp] = field(default_factory=dict[str, DeclareOp])
    """By symbol, in order of first use."""
    helpers: dict[object, list[HelperInstance]] = field(default_factory=dict[object, "list[HelperInstance]"])
    """By function and argument types."""
    imports: dict[str, str] = field(default_factory=dict[str, str])
    """Symbols in this module of the declared functions of other units, by the linker's symbol."""
    symbols: set[str] = field(default_factory=set[str])
    calls: list[Call] = field(default_factory=list[Call])
    """The calls that lead to the helper that is being compiled, outermost first."""
    _entered: set[python_types.FunctionType] = field(default_factory=set[python_types.FunctionType])
    """The functions of `calls`."""
    captures: Captures = field(default_factory=Captures)
    """What the compilation read from around the functions."""
    optional_aspects: frozenset[int] = frozenset()
    """Aspects of the device that the code may rely on, see `TargetEnv.optional_aspects`."""
    checks: str = "asserts"
    """What kernels check as they run, see `TargetEnv.checks`."""
    runs_all_branches: bool = False
    """Of the device, see `TargetEnv.runs_all_branches`."""
    uses_reports: bool = False
    """Whether something was compiled that needs a kernel's report buffer: ``assert``, ``print``."""
    device_functions: frozenset[str] = frozenset()
    """Functions of ``lp.math`` that the kernel wants as the device has them, see `KernelOptions.math_accuracy`."""
    library_call: FileLineColLoc | None = None
    """Where `math_library` was called, while a function of it is being compiled."""
    is_interpreted: bool = False
    """Whether the module is for the interpreter: no index is kept in range, and nothing is linked to it."""
    struct_aspects: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    """Aspects of the structs that functions refer to, by name."""
    named_dimensions: set[int] = field(default_factory=set[int])
    """Dimensions that the kernel that is being compiled names, as in ``lp.global_id(0)``."""
    uses_linear_ids: bool = False
    """Whether it asks for an id over all dimensions, as ``lp.global_linear_id()`` is."""
    barriers: dict[FileLineColLoc, tuple[FunctionSource, ast.AST]] = field(
        default_factory=dict[FileLineColLoc, tuple[FunctionSource, ast.AST]]
    )
    """What every work-item of a group must reach: where it stands in the source, by the op's location."""
    findings: list[tuple[Callable[..., object], Diagnostic]] = field(
        default_factory=list[tuple[Callable[..., object], Diagnostic]]
    )
    """Warnings about what runs, and may not be meant, each with the function."""
    _sources: dict[python_types.FunctionType, FunctionSource] = field(
        default_factory=dict[python_types.FunctionType, FunctionSource]
    )

    def unique_symbol(self, name: str) -> str:
        """Claims `name`, with a number where it is taken."""
        symbol, count = name, 0
        while symbol in self.symbols:
            count += 1
            symbol = f"{name}_{count}"
        self.symbols.add(symbol)
        return symbol

    def source_of(
        self, function: python_types.FunctionType, fb: FunctionBuilder, node: ast.Call
    ) -> FunctionSource:
        """Returns the text of a helper.

        Raises:
            CompileError: it has none, at the helper; the call is in the notes.
        """
        found = self._sources.get(function)
        if found is None:
            self.calls.append(Call(fb.source, node, function))
            try:
                found = self._sources[function] = FunctionSource.of(function, self.call_notes)
            finally:
                self.calls.pop()
            self.captures.read_function(function)
        return found

    @contextmanager
    def entering(
        self, fb: FunctionBuilder, function: python_types.FunctionType, node: ast.Call
    ) -> Generator[None]:
        """Remembers that `function` is being compiled for a call.

        Raises:
            CompileError: it is being compiled already: recursion.
        """
        if function in self._entered or id(fb.source.function) == id(function):
            chain: list[object] = [call.function for call in self.calls]
            begin = chain.index(function) if function in self._entered else len(chain)
            names = [call.function.__name__ for call in self.calls[begin:]] or [function.__name__]
            cycle = " → ".join([*names, function.__name__])
            raise fb.error(
                node,
                f"recursion: {cycle}",
                "LP2044",
                hint="devices have no call stack; write a loop",
            )
        self.calls.append(Call(fb.source, node, function))
        self._entered.add(function)
        try:
            yield
        finally:  # also after an error: type inference gives up on an unknown type and tries again
            self.calls.pop()
            self._entered.discard(function)

    def call_notes(self) -> list[Diagnostic]:
        """Returns where the function that is being compiled was called from, innermost first."""
        return [
            call.caller.diagnostic(call.node, f"in '{call.function.__name__}', called here", severity="note")
            for call in reversed(self.calls)
        ]
