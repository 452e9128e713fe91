"""Shapes that many spirv operations share, with their verifiers.

An operation class states its name and the kind of its operands; the shape's `verify_` does the rest.
Operands and results carry no xDSL constraints on purpose: one hand-written check per shape is faster than
generic constraint solving and its message names the operation, what it expects and what it found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

from xdsl.dialects.builtin import BFloat16Type, Float64Type, StringAttr, SymbolRefAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...narrowing import is_integer_type, is_vector_type
from .attributes import MemorySemanticsAttr
from .enums import MemorySemantics
from .matrix_types import CooperativeMatrixType
from .scalars import bit_width, component_count, has_spirv_length, is_bool, is_float, is_integer, scalar_of
from .types import without_sign

Predicate = Callable[[Attribute], bool]


def _is_arithmetic_float(type_: Attribute) -> bool:
    # SPV_KHR_bfloat16 has conversions and dot products only.
    return is_float(type_) and not isinstance(type_, BFloat16Type)


def _is_narrow_float(type_: Attribute) -> bool:
    # GLSL.std.450: "component type is 16-bit or 32-bit floating-point".
    return _is_arithmetic_float(type_) and not isinstance(type_, Float64Type)


def _is_bits(type_: Attribute) -> bool:
    return is_integer(type_) or is_bool(type_)


def _is_int32(type_: Attribute) -> bool:
    return is_integer_type(type_) and type_.width.data == 32


KINDS: dict[str, tuple[Predicate, str]] = {
    "integer": (is_integer, "an integer of 8, 16, 32 or 64 bits"),
    "int32": (_is_int32, "a 32-bit integer"),
    "float": (_is_arithmetic_float, "a float of 16, 32 or 64 bits (bf16 has no arithmetic)"),
    "narrow_float": (_is_narrow_float, "a float of 16 or 32 bits"),
    "any_float": (is_float, "a float"),
    "bool": (is_bool, "i1"),
    "number": (lambda t: is_integer(t) or is_float(t), "an integer or a float"),
    "integer_or_bool": (_is_bits, "an integer or i1"),
}
"""Kinds of scalar that a shape can ask for, with their names in messages."""


def fail(op: Operation, message: str) -> NoReturn:
    """Raises VerifyException about `op`."""
    raise VerifyException(f"'{op.name}' {message}")


def check_kind(op: Operation, what: str, type_: Attribute, kind: str) -> None:
    """Checks that `type_` is a scalar or vector of `kind`; VerifyException names `what`."""
    predicate, expected = KINDS[kind]
    if not predicate(scalar_of(type_)):
        fail(op, f"expects {what} to be {expected} or a vector of these, found {type_}")
    if is_vector_type(type_):
        check_length(op, what, type_)


def check_scalar(op: Operation, what: str, type_: Attribute, kind: str) -> None:
    """Checks that `type_` is a scalar of `kind`; VerifyException names `what`."""
    predicate, expected = KINDS[kind]
    if not predicate(type_):
        fail(op, f"expects {what} to be {expected}, found {type_}")


def check_length(op: Operation, what: str, type_: VectorType[Attribute]) -> None:
    """Checks that SPIR-V has vectors as long as `type_`; VerifyException names `what`."""
    if not has_spirv_length(type_):
        fail(op, f"expects {what} to be a vector of 2, 3 or 4 components, found {type_}")


_ORDERS = (
    MemorySemantics.Acquire,
    MemorySemantics.Release,
    MemorySemantics.AcquireRelease,
    MemorySemantics.SequentiallyConsistent,
)


def check_semantics(op: Operation, what: str, semantics: MemorySemanticsAttr) -> None:
    """Checks that memory semantics have at most one order; VerifyException names `what`."""
    orders = [order.name or "" for order in _ORDERS if order in semantics.data]
    if len(orders) > 1:
        fail(op, f"has at most one memory order in {what}, found {', '.join(orders)}")


def check_same(op: Operation, what: str, found: Attribute, expected: Attribute) -> None:
    """Checks that two types are equal; VerifyException names `what`."""
    if found != expected:
        fail(op, f"expects {what} to be of type {expected}, found {found}")


def check_alike(op: Operation, what: str, found: Attribute, expected: Attribute) -> None:
    """Checks that two types are equal but for the sign of integers, which most instructions ignore."""
    if found != expected and without_sign(found) != without_sign(expected):
        fail(op, f"expects {what} to be of type {expected}, found {found}")


def check_same_count(op: Operation, what: str, found: Attribute, like: Attribute) -> None:
    """Checks that two types have equally many components; VerifyException names `what`."""
    if component_count(found) != component_count(like):
        fail(op, f"expects {what} to have {component_count(like)} components like {like}, found {found}")


def _element(type_: Attribute) -> Attribute:
    """Returns the type of a cooperative matrix's elements, any other type itself."""
    return type_.element_type if isinstance(type_, CooperativeMatrixType) else type_


def _shape(type_: Attribute) -> tuple[Attribute, ...]:
    """Returns what cooperative matrices have in common that are converted into each other."""
    if not isinstance(type_, CooperativeMatrixType):
        return ()
    return type_.rows, type_.columns, type_.scope, type_.use


class SpirvOp(IRDLOperation):
    """Base of the operations that are one instruction each."""


class UnaryOp(SpirvOp):
    """`result = op(operand)`, both of one type of `kind`."""

    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = False
    """Whether it takes cooperative matrices as well, element by element."""

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: Attribute | None = None):
        value = SSAValue.get(operand)
        super().__init__(operands=[value], result_types=[result_type or value.type])

    def verify_(self) -> None:
        operand = self.operand.type
        check_kind(self, "its operand", _element(operand) if self.TAKES_MATRICES else operand, self.KIND)
        check_alike(self, "its result", self.result.type, operand)


class BinaryOp(SpirvOp):
    """`result = op(lhs, rhs)`, all of one type of `kind`."""

    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = False
    """Whether it takes cooperative matrices as well, element by element."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, result_type: Attribute | None = None
    ):
        left = SSAValue.get(lhs)
        super().__init__(operands=[left, rhs], result_types=[result_type or left.type])

    def verify_(self) -> None:
        lhs = self.lhs.type
        check_kind(self, "its operands", _element(lhs) if self.TAKES_MATRICES else lhs, self.KIND)
        check_alike(self, "the second operand", self.rhs.type, lhs)
        check_alike(self, "its result", self.result.type, lhs)


class TernaryOp(SpirvOp):
    """`result = op(x, y, z)`, all of one type of `kind`."""

    KIND: ClassVar[str] = "float"

    x = operand_def()
    y = operand_def()
    z = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, x: SSAValue | Operation, y: SSAValue | Operation, z: SSAValue | Operation):
        first = SSAValue.get(x)
        super().__init__(operands=[first, y, z], result_types=[first.type])

    def verify_(self) -> None:
        x = self.x.type
        check_kind(self, "its operands", x, self.KIND)
        check_alike(self, "the second operand", self.y.type, x)
        check_alike(self, "the third operand", self.z.type, x)
        check_alike(self, "its result", self.result.type, x)


def bool_like(type_: Attribute) -> Attribute:
    """Returns i1, or the vector of i1 with as many components as `type_`."""
    from xdsl.dialects.builtin import VectorType, i1

    return VectorType(i1, type_.get_shape()) if is_vector_type(type_) else i1


class ComparisonOp(SpirvOp):
    """`result = lhs <op> rhs`: operands of one type of `kind`, the result i1 or a vector of it."""

    KIND: ClassVar[str] = "integer"

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        left = SSAValue.get(lhs)
        super().__init__(operands=[left, rhs], result_types=[bool_like(left.type)])

    def verify_(self) -> None:
        lhs = self.lhs.type
        check_kind(self, "its operands", lhs, self.KIND)
        check_alike(self, "the second operand", self.rhs.type, lhs)
        check_kind(self, "its result", self.result.type, "bool")
        check_same_count(self, "its result", self.result.type, lhs)


class ConversionOp(SpirvOp):
    """`result = op(operand)` from one kind of scalar or vector to another, component by component."""

    FROM_KIND: ClassVar[str] = "integer"
    TO_KIND: ClassVar[str] = "integer"
    CHANGES_WIDTH: ClassVar[bool] = False
    """Whether source and result must differ in width."""

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        source, target = self.operand.type, self.result.type
        if _shape(source) != _shape(target):
            fail(self, f"expects cooperative matrices of one shape, found {source} and {target}")
        source, target = _element(source), _element(target)
        check_kind(self, "its operand", source, self.FROM_KIND)
        check_kind(self, "its result", target, self.TO_KIND)
        check_same_count(self, "its result", target, source)
        # f16 <-> bf16 is a conversion although the widths agree.
        if self.CHANGES_WIDTH and (
            source == target or (bit_width(source) == bit_width(target) and not _has_bf16(source, target))
        ):
            fail(self, f"expects operand and result of different widths, found {source} and {target}")


def _has_bf16(source: Attribute, target: Attribute) -> bool:
    return isinstance(scalar_of(source), BFloat16Type) or isinstance(scalar_of(target), BFloat16Type)


def enclosing_module(op: Operation) -> Operation | None:
    """Returns the nearest `spirv.module` or `builtin.module` around `op`."""
    parent = op.parent_op()
    while parent is not None and parent.name not in ("spirv.module", "builtin.module"):
        parent = parent.parent_op()
    return parent


def lookup_symbol(op: Operation, reference: SymbolRefAttr) -> Operation:
    """Returns what `reference` names in the module around `op`; VerifyException if there is nothing."""
    module = enclosing_module(op)
    wanted = reference.root_reference.data
    if module is not None:
        for candidate in module.regions[0].block.ops:
            name = candidate.properties.get("sym_name")
            if isinstance(name, StringAttr) and name.data == wanted:
                return candidate
    fail(op, f"refers to @{wanted}, which its module does not define")


def check_in_module(op: Operation) -> None:
    """Checks that `op`, which declares a symbol, stands in a module and not in a function."""
    parent = op.parent_op()
    if parent is not None and not parent.name.endswith(".module"):
        fail(op, f"stands in a module, found it in {parent.name}")


def inside_spirv_module(op: Operation) -> bool:
    """Whether a `spirv.module` encloses `op`, that is, its symbols can be resolved."""
    module = enclosing_module(op)
    return module is not None and module.name == "spirv.module"
