"""The state of compiling one function, and the few primitives that everything else emits ops through.

A function is built in one walk over its syntax tree.  Where a variable is assigned more than once the same walk
runs first without emitting anything (`is_dry`), to find the one type that the variable has (see `inference`).
Constants, ids and extents go into the prologue, a block that dominates the body, once each.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..ir.create import append, create
from ..ir.errors import CompileError, Diagnostic
from ..ir.location import file_location
from .dispatch import EXPRESSIONS
from .errors import compile_error
from .ir_types import IR_INDEX, constant_attribute, ir_type
from .source import FunctionSource
from .spec_constant import SpecializationId
from .struct_types import StructType
from .types import FixedArrayType, ScalarType
from .values import Array, Binding, Composite, FixedArray, Scalar, Static, Value, describe
from .vector_types import CompositeArrayType, VecType

if TYPE_CHECKING:
    from .analysis import FunctionFacts
    from .module_builder import ModuleBuilder

VariableType = (
    ScalarType
    | VecType
    | StructType
    | CompositeArrayType
    | tuple["VariableType", ...]
    | Array
    | FixedArray
    | Static
)
"""What a variable is in the whole function: a scalar, vector or struct type, a tuple, or the one compile-time
object that it names."""


class UnknownTypeError(Exception):
    """While types are inferred: an operand's type is not known yet."""


_INTEGERS_WANTED = frozenset(("LP2033", "LP2036", "LP2041", "LP2050"))
"""Codes of messages about a float where an integer is wanted, among others."""


@dataclass
class AccessUse:
    """What a function does with one of its array parameters."""

    reads: bool = False
    writes: bool = False


class _Into:
    """What `FunctionBuilder.into` returns; a class, as a generator takes three times as long."""

    __slots__ = ("_block", "_builder", "_outer", "_scopes")

    def __init__(self, builder: FunctionBuilder, block: Block, scopes: list[dict[object, SSAValue]]) -> None:
        self._builder, self._block, self._scopes, self._outer = builder, block, scopes, builder.block

    def __enter__(self) -> None:
        self._builder.block = self._block
        self._scopes.append({})

    def __exit__(self, *_error: object) -> None:
        self._scopes.pop()
        self._builder.block = self._outer


@dataclass
class FunctionBuilder:
    """One function on its way to IR."""

    module: ModuleBuilder
    source: FunctionSource
    facts: FunctionFacts
    is_kernel: bool
    local_names: frozenset[str] = frozenset()
    """Parameters and assigned variables: names that mean nothing around the function."""
    accesses: dict[int, AccessUse] = field(default_factory=dict[int, AccessUse])
    """By position of the array parameter."""
    spec_parameters: dict[str, SpecializationId] = field(default_factory=dict[str, SpecializationId])
    """Parameters that are specialization constants and keep their value, by name."""
    variable_types: dict[str, VariableType] = field(default_factory=dict[str, VariableType])
    """Of declared variables and those that inference ran for; the others have their one value's type."""
    declared: set[str] = field(default_factory=set[str])
    """Variables whose type an annotation fixes."""
    assigned_at: dict[str, ast.AST] = field(default_factory=dict[str, ast.AST])
    """First assignment seen, for messages about types that do not join."""
    round_names: frozenset[str] = frozenset()
    """Variables that only unrolled loops set: what is no number may be another array, type, … each round."""
    literals: dict[str, ScalarType] = field(default_factory=dict[str, ScalarType])
    """Variables that stay literals in every round of the unrolled loops that set them, and of which kind: floats, and
    integers too large for the i32 that they would become."""
    large_literals: set[str] = field(default_factory=set[str])
    """While inferring: the variables that were assigned an integer literal which is no i32."""
    env: dict[str, Binding] = field(default_factory=dict[str, Binding])
    known: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    """While inferring: the variables that are constants at this place."""
    is_dry: bool = False
    changed: set[str] = field(default_factory=set[str])
    """While inferring: the variables whose types changed after they were read in this walk."""
    read_types: set[str] = field(default_factory=set[str])
    """While inferring: the variables whose types were asked for in this walk."""
    block: Block = field(default_factory=Block)
    prologue: Block = field(default_factory=Block)
    node: ast.AST | None = None
    """What is being compiled: where emitted ops come from."""
    callee: str = ""
    """Name of the intrinsic whose call is being compiled."""
    loop_depth: int = 0
    handed_on: frozenset[str] = frozenset()
    """Variables that a loop outside may leave with although they are unset at the beginning of its rounds."""
    set_at_jumps: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By the flag of a jump: the variables that are set at each such jump of the innermost loop so far."""
    rows: dict[SSAValue, tuple[SSAValue, tuple[SSAValue | None, ...]]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, tuple["SSAValue | None", ...]]]
    )
    """Rows read from variables that hold fixed arrays: the variable, which goes on to hold that array for as long as
    the row is there, and the indices; what is read of a row is read there."""
    unrolled_rounds: int = 0
    """Rounds of unrolled loops in this walk so far."""
    local_arrays: dict[int, int] = field(default_factory=dict[int, int])
    """Numbers of the arrays that the function makes, below 0, by ``id`` of the call."""
    calls_by_position: dict[int, ast.Call] = field(default_factory=dict[int, ast.Call])
    """Calls whose keyword arguments are at their positions, by ``id`` of the call as it is written."""
    cells: dict[tuple[tuple[str, ...], FixedArrayType | CompositeArrayType], FixedArray | Composite] = field(
        default_factory=dict[
            tuple[tuple[str, ...], "FixedArrayType | CompositeArrayType"], "FixedArray | Composite"
        ]
    )
    """The variables, and members of them, that have memory (`fixed_cells`), by name and type."""
    cell_names: frozenset[tuple[str, ...]] | None = None
    """Those that get it; None before anybody asked."""
    cell_nodes: list[ast.AST] = field(default_factory=list[ast.AST])
    """What their arrays are told apart by."""
    captured: dict[int, tuple[object, Value]] = field(default_factory=dict[int, tuple[object, Value]])
    """Captured arrays and structs and the values of the prologue that they are, by ``id``."""
    uses_work_items: bool = False
    uses_barrier: bool = False
    """Whether its work-items work together: barriers, group functions, shared arrays."""
    struct_aspects: set[int] = field(default_factory=set[int])
    """What the structs use that it makes or takes values of."""
    statics: dict[str, Static] = field(default_factory=dict[str, Static])
    """What names from around the function are that stand for no values: functions, modules, types."""
    static_attributes: dict[int, tuple[ast.Attribute, Static]] = field(
        default_factory=dict[int, "tuple[ast.Attribute, Static]"]
    )
    """What attributes of these are likewise, by ``id`` of the node."""
    _memo: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    _locations: dict[tuple[int, int], FileLineColLoc] = field(
        default_factory=dict[tuple[int, int], FileLineColLoc]
    )
    _scopes: list[dict[object, SSAValue]] = field(default_factory=lambda: [dict[object, SSAValue]()])
    """Values that may be taken again, by what they are, in each block around the current place."""

    # Emitting.

    def location(self) -> FileLineColLoc:
        """Returns the place of the node that is being compiled; of the call, in a function of `math_library`."""
        if self.module.library_call is not None:
            return self.module.library_call
        node = self.node
        if isinstance(node, ast.expr):  # nearly always
            key = node.lineno, node.col_offset
        else:
            key = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = file_location(self.source.file, *self.source.position(node))
        return found

    def emit(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue | None],
        result: Attribute,
        properties: Mapping[str, Attribute] = {},
    ) -> SSAValue | None:
        """Appends an op with one result; None while inferring."""
        if self.is_dry:
            return None
        op = create(
            op_class,
            operands,  # pyright: ignore[reportArgumentType] - None only while inferring
            (result,),
            properties,
            location=self.location(),
        )
        append(self.block, op)
        (made,) = op.results
        return made

    def append(self, op: Operation) -> None:
        """Appends a new op that was made elsewhere, at the current location."""
        op.location = self.location()
        append(self.block, op)

    def prologue_value(
        self,
        key: object,
        make: type[Operation],
        result: Attribute,
        operands: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] = {},
    ) -> SSAValue:
        """Returns the result of an op of the prologue, emitted at the first use of `key`.

        Args:
            key: what the value is; equal keys share the op.
            make: op class with one result.
            result: its type.
            operands: of the op.
            properties: of the op.
        """
        found = self._memo.get(key)
        if found is None:
            op = create(make, operands, (result,), properties, location=self.location())
            append(self.prologue, op)
            found = self._memo[key] = op.results[0]
        return found

    def constant(self, value: float, scalar: ScalarType) -> SSAValue | None:
        """Returns a constant of `scalar`."""
        if self.is_dry:
            return None
        if value != value:
            from .nan_payloads import pattern_of  # which few programs need

            pattern = pattern_of(value, scalar)
            if pattern is not None:
                integer = self.constant(*pattern)
                assert integer is not None
                key = ("bits", scalar.name, pattern[0])
                return self.prologue_value(key, arith.BitcastOp, ir_type(scalar), operands=(integer,))
        # repr tells -0.0 from 0.0 and finds NaN again; a bool and the integer 1 differ by type.
        # Types of IR by identity, as `ir_type` has one of each: hashing visits all of an attribute.
        key = (scalar.name, repr(value)) if scalar.is_float else (id(ir_type(scalar)), value)
        found = self._memo.get(key)
        if found is None:
            attribute = constant_attribute(value, scalar)
            found = self.prologue_value(
                key, arith.ConstantOp, ir_type(scalar), properties={"value": attribute}
            )
        return found

    def ssa(self, value: Scalar) -> SSAValue | None:
        """Returns the IR value of a strong scalar; None while inferring."""
        if value.const is not None:
            return self.constant(value.const, value.type)
        return value.ssa

    def cast_to_index(self, value: SSAValue) -> SSAValue:
        """Returns an integer value as ``index``, reusing a cast that dominates."""
        found = self.kept(value)
        if found is not None:
            return found
        result = self.emit(arith.IndexCastOp, [value], IR_INDEX)
        assert result is not None
        return self.keep(value, result)

    def kept(self, key: object) -> SSAValue | None:
        """Returns a value that `keep` was given where it dominates the current place, None where there is none."""
        for scope in reversed(self._scopes):
            found = scope.get(key)
            if found is not None:
                return found
        return None

    def keep(self, key: object, value: SSAValue) -> SSAValue:
        """Lets a value that was just emitted be found by what it is, to the end of its block; returns it."""
        self._scopes[-1][key] = value
        return value

    def cast_from_index(self, index: SSAValue, key: object) -> SSAValue:
        """Returns an ``index`` of the prologue as i32, casting which back gives `index` itself, or as i64 in kernels
        whose ids have 64 bits."""
        from xdsl.dialects.builtin import i32, i64

        if self.module.index_type.bits == 64:
            return self.prologue_value(("i64", key), arith.IndexCastOp, i64, operands=(index,))
        result = self.prologue_value(("i32", key), arith.IndexCastOp, i32, operands=(index,))
        self._scopes[0][result] = index
        return result

    def into(self, block: Block) -> _Into:
        """Emits into `block` while the context lasts."""
        return _Into(self, block, self._scopes)

    @property
    def is_nested(self) -> bool:
        """Whether what is compiled now stands in a loop, or under a condition known at run time only."""
        return self.loop_depth > 0 or len(self._scopes) > 2

    # Evaluating.

    def is_local(self, name: str) -> bool:
        """Whether `name` is a variable of the function."""
        return name in self.local_names

    def evaluate(self, node: ast.expr) -> Value:
        """Compiles an expression.

        Raises:
            CompileError: the expression breaks a rule of the kernel language.
        """
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            from .unsupported import unsupported_error

            raise unsupported_error(self.source, node)
        outer = self.node
        self.node = node
        value = handler(self, node)
        self.node = outer
        return value

    def scalar(self, node: ast.expr, what: str = "this expression") -> Scalar:
        """Compiles an expression that must be a number or a bool."""
        value = self.evaluate(node)
        if not isinstance(value, Scalar):
            raise self.error(node, f"{what} must be a number or a bool, found {describe(value)}", "LP2033")
        return value

    # Mistakes.

    def error(
        self,
        node: ast.AST | None,
        message: str,
        code: str,
        *,
        hint: str | None = None,
        notes: Sequence[Diagnostic] = (),
    ) -> CompileError:
        """Makes the error for `node`, with the calls that led into this function as notes."""
        return compile_error(
            self.source,
            node,
            message,
            code=code,
            hint=hint,
            notes=[*notes, *self._joined_notes(node, code), *self.module.call_notes()],
        )

    def _joined_notes(self, node: ast.AST | None, code: str) -> Sequence[Diagnostic]:
        """Returns where variables in `node` became floats, if it stands where integers do."""
        if node is None or code not in _INTEGERS_WANTED:
            return ()
        from .joined_floats import joined_floats  # only for messages

        return joined_floats(self.source, node, self.variable_types)

    def warn(self, node: ast.AST, message: str) -> None:
        """Adds a warning: what stands at `node` runs, and may not be meant."""
        found = self.source.diagnostic(node, message, severity="warning")
        self.module.findings.append((self.source.function, found))

    def too_large(self, node: ast.AST, what: str) -> CompileError:
        """Makes the error for an integer that is longer than literals may be."""
        return self.error(
            node,
            f"{what} is too large for any type",
            "LP2035",
            hint="write it as a float, such as 1e30, or compute modulo the type's width",
        )
