"""Specialization constants of a module: one `spirv.SpecConstant` with a SpecId a scalar, composites above.

SpecIds count from 0 in the order in which the image first uses the constants.  Where the environment emulates
constants, their scalars are hidden fields of the argument block instead, under the same numbers; those that array
lengths are computed from, or that exported functions read, stay native.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    StringAttr,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.attribute_values import integers
from ...ir.call_graph import CallGraph
from ...ir.create import create
from ...ir.dialects import aspect, spirv
from ...ir.dialects.spec_constant import HOST_DTYPES, HOST_LAYOUT, DeclareOp, GetOp
from ...ir.dialects.spirv.types import element_count, element_type_at
from ...ir.kernel_info import SpecConstantInfo, SpecConstantLeaf
from ...ir.narrowing import is_array_attribute, is_float_attribute, is_integer_attribute, is_integer_type
from ...ir.walk import operations
from ..errors import PassError
from .types import integer_attribute

if TYPE_CHECKING:
    from .function_lowering import FunctionLowering
    from .module_lowering import ModuleLowering

_FLOAT_FORMATS: dict[type[Attribute], tuple[str, str]] = {
    Float16Type: ("f16", "<e"),
    Float32Type: ("f32", "<f"),
    Float64Type: ("f64", "<d"),
}
_INTEGER_FORMATS = {8: "<b", 16: "<h", 32: "<i", 64: "<q"}


@dataclass(frozen=True, slots=True)
class _Constant:
    symbol: str
    type: Attribute
    declaration: DeclareOp
    first_spec_id: int
    is_emulated: bool = False


class SpecConstantTable:
    """Constants used so far."""

    def __init__(self, module: ModuleLowering) -> None:
        self._module = module
        self._constants: dict[str, _Constant] = {}
        self.next_spec_id = 0
        """First SpecId that no user's constant has."""
        self.spec_ids: dict[str, int] = {}
        """SpecIds of scalars by symbol."""
        self.ops: list[Operation] = []
        """Definitions, each after what it is made of."""
        self.native_symbols: set[str] = set()
        """Constants that are never emulated, see `survey`."""

    def survey(self, kernel_ir: Operation) -> None:
        """Finds out which constants stay native: what array lengths depend on, and what exported functions read,
        which do not have the arguments of the kernels that call them."""
        for op in operations(kernel_ir):
            if op.name in ("memref.alloc", "memref.alloca"):
                for operand in op.operands:
                    self._keep_native(operand)
        graph = CallGraph.of(kernel_ir)
        for function in graph.reachable(filter(aspect.is_external, graph.functions)):
            reads = (op for op in function.walk() if isinstance(op, GetOp))
            self.native_symbols.update(op.constant.string_value() for op in reads)

    def _keep_native(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, GetOp):
            self.native_symbols.add(owner.constant.string_value())
        elif isinstance(owner, Operation):
            for operand in owner.operands:
                self._keep_native(operand)

    def is_emulated(self, op: GetOp) -> bool:
        """Whether the constant that `op` reads travels with the arguments."""
        return (
            self._module.env.emulates_spec_constants and op.constant.string_value() not in self.native_symbols
        )

    def emulated(self, fn: FunctionLowering, op: GetOp) -> SSAValue:
        """Returns the value of an emulated constant, put together at the kernel's start."""
        symbol = op.constant.string_value()
        known = self._constants.get(symbol)
        if known is None:
            declaration = self._declaration(fn, op)
            type_ = self._module.types(declaration.const_type)
            known = self._constants[symbol] = _Constant(
                symbol, type_, declaration, self.next_spec_id, is_emulated=True
            )
            self.next_spec_id += len(declaration.default.data)
        entry, ids = fn.entry, itertools.count(known.first_spec_id)
        assert entry is not None, "functions that read emulated constants are inlined"
        return _assembled(fn, known.type, lambda type_: entry.spec_constant(next(ids), type_))

    def frozen(self, fn: FunctionLowering, op: GetOp) -> SSAValue:
        """Returns the default of a constant as a value of plain constants."""
        declaration = self._declaration(fn, op)
        leaves = (_device_leaf(leaf) for leaf in declaration.default.data)

        def leaf(type_: Attribute) -> SSAValue:
            return fn.constant_of(next(leaves), type_)

        return _assembled(fn, self._module.types(declaration.const_type), leaf)

    def emulated_leaves(self) -> list[SpecConstantLeaf]:
        """Returns the scalars of the emulated constants used so far."""
        infos = (_info(symbol, constant, 0) for symbol, constant in self._constants.items())
        return [leaf for info in infos if info.is_emulated for leaf in info.leaves]

    def _declaration(self, fn: FunctionLowering, op: GetOp) -> DeclareOp:
        found = self._module.kernel_symbols.resolve(op, op.constant)
        declaration = found if isinstance(found, DeclareOp) else op.declaration()
        if declaration is None:
            symbol = op.constant.string_value()
            raise PassError(f"@{symbol} is not declared in this module", op, function=fn.name)
        return declaration

    def reference(self, fn: FunctionLowering, op: GetOp) -> spirv.ReferenceOfOp:
        """Returns a new reference to the constant that `op` reads."""
        symbol = op.constant.string_value()
        known = self._constants.get(symbol)
        if known is None:
            known = self._constants[symbol] = self._define(self._declaration(fn, op))
        return create(
            spirv.ReferenceOfOp,
            properties={"spec_const": self._module.symbol(known.symbol)},
            result_types=(known.type,),
        )

    def _define(self, declaration: DeclareOp) -> _Constant:
        first = self.next_spec_id
        type_ = self._module.types(declaration.const_type)
        symbol = self._composite(declaration.sym_name.data, type_, iter(declaration.default.data))
        return _Constant(symbol, type_, declaration, first)

    def _composite(self, name: str, type_: Attribute, leaves: Iterator[Attribute]) -> str:
        count = element_count(type_)
        symbol = self._module.reserve(name)
        if count is None:
            self.add_scalar(symbol, _device_leaf(next(leaves)), self.next_spec_id)
            self.next_spec_id += 1
            return symbol
        constituents: list[str] = []
        for index in range(count):
            element = element_type_at(type_, index)
            assert element is not None
            constituents.append(self._composite(f"{name}.{index}", element, leaves))
        references = ArrayAttr([self._module.symbol(name) for name in constituents])
        self.ops.append(
            create(
                spirv.SpecConstantCompositeOp,
                properties={"type": type_, "sym_name": StringAttr(symbol), "constituents": references},
            )
        )
        return symbol

    def add_scalar(self, symbol: str, default: Attribute, spec_id: int) -> None:
        """Defines one OpSpecConstant."""
        self.spec_ids[symbol] = spec_id
        self.ops.append(
            create(
                spirv.SpecConstantOp,
                properties={"sym_name": StringAttr(symbol), "default_value": default},
                attributes={"spec_id": integer_attribute(spec_id, 32)},
            )
        )

    def infos(self) -> tuple[SpecConstantInfo, ...]:
        """Returns the metadata of the constants in SpecId order; offsets pack the host values tightly."""
        infos: list[SpecConstantInfo] = []
        offset = 0
        for symbol, constant in self._constants.items():
            info = _info(symbol, constant, offset)
            infos.append(info)
            offset += info.size_bytes
        return tuple(infos)


def _assembled(fn: FunctionLowering, type_: Attribute, leaf: Callable[[Attribute], SSAValue]) -> SSAValue:
    """Returns a value of a device type at the function's start; `leaf` makes each scalar, in C order."""
    count = element_count(type_)
    if count is None:
        return leaf(type_)
    parts: list[SSAValue] = []
    for index in range(count):
        element = element_type_at(type_, index)
        assert element is not None
        parts.append(_assembled(fn, element, leaf))
    return fn.first(create(spirv.CompositeConstructOp, operands=parts, result_types=(type_,)))


def _device_leaf(leaf: Attribute) -> Attribute:
    if is_float_attribute(leaf) and isinstance(leaf.type, BFloat16Type):
        return IntegerAttr(bf16_bits(leaf.value.data), i16)
    if is_integer_attribute(leaf) and isinstance(leaf.type, IndexType):
        return IntegerAttr(leaf.value.data, i32)
    return leaf


def bf16_bits(value: float) -> int:
    """Returns the 16 bits of a number that bf16 holds exactly, as a signed integer."""
    return struct.unpack("<hh", struct.pack("<f", value))[1]


def _info(symbol: str, constant: _Constant, offset_bytes: int) -> SpecConstantInfo:
    declaration = constant.declaration
    spelled = None if declaration.lapilli_type is None else declaration.lapilli_type.data
    dtype_of = _unsigned_dtypes if spelled is not None and _names_unsigned(spelled) else _signed_dtypes
    layout = integers(declaration.attributes.get(HOST_LAYOUT))
    dtypes = _host_dtypes(declaration)
    leaves: list[SpecConstantLeaf] = []
    default = bytearray()
    for number, leaf in enumerate(declaration.default.data):
        data = _host_bytes(leaf)
        if layout is not None:
            default += bytes(layout[number] - len(default))
        leaves.append(
            SpecConstantLeaf(
                spec_id=constant.first_spec_id + number,
                dtype=dtypes[number] if dtypes else dtype_of(leaf),
                offset_bytes=len(default),
                size_bytes=len(data),
            )
        )
        default += data
    if layout is not None:
        default += bytes(layout[-1] - len(default))
    return SpecConstantInfo(
        symbol=symbol,
        name=declaration.display_name,
        type=spelled or str(declaration.const_type),
        offset_bytes=offset_bytes,
        size_bytes=len(default),
        default=bytes(default),
        leaves=tuple(leaves),
        is_emulated=constant.is_emulated,
    )


def _host_dtypes(declaration: DeclareOp) -> list[str] | None:
    """Returns the scalar type of each leaf where the declaration says it."""
    names = declaration.attributes.get(HOST_DTYPES)
    if not is_array_attribute(names):
        return None
    return [name.data for name in names.data if isinstance(name, StringAttr)]


def _names_unsigned(spelled: str) -> bool:
    """Whether the element type in lapilli's spelling is unsigned: ``u32``, ``FixedArray[u8, 4]``."""
    return spelled.removeprefix("FixedArray[").removeprefix("Vec[").startswith(("u8", "u16", "u32", "u64"))


def _signed_dtypes(leaf: Attribute) -> str:
    return _dtype(leaf, "i")


def _unsigned_dtypes(leaf: Attribute) -> str:
    return _dtype(leaf, "u")


def _dtype(leaf: Attribute, integer_prefix: str) -> str:
    if is_integer_attribute(leaf):
        if isinstance(leaf.type, IndexType):
            return "i32"
        width = leaf.type.width.data
        return "bool" if width == 1 else f"{integer_prefix}{width}"
    assert is_float_attribute(leaf)
    return "bf16" if isinstance(leaf.type, BFloat16Type) else _FLOAT_FORMATS[type(leaf.type)][0]


def _host_bytes(leaf: Attribute) -> bytes:
    if is_integer_attribute(leaf):
        width = leaf.type.width.data if is_integer_type(leaf.type) else 32
        if width == 1:
            return bytes([1 if leaf.value.data else 0])
        return struct.pack(_INTEGER_FORMATS[width], leaf.value.data)
    assert is_float_attribute(leaf)
    if isinstance(leaf.type, BFloat16Type):
        return struct.pack("<h", bf16_bits(leaf.value.data))
    return struct.pack(_FLOAT_FORMATS[type(leaf.type)][1], leaf.value.data)


def lower_get(fn: FunctionLowering, op: Operation) -> None:
    """Lowers `spec_constant.get` to `spirv.mlir.referenceof`, once per function and constant."""
    assert isinstance(op, GetOp)
    table = fn.module.spec_constants
    symbol = op.constant.string_value()
    known = fn.spec_constants.get(symbol)
    if known is None:
        if fn.module.env.freezes_spec_constants:
            known = table.frozen(fn, op)
        elif table.is_emulated(op):
            known = table.emulated(fn, op)
        else:
            known = fn.add_constant(table.reference(fn, op))
        fn.spec_constants[symbol] = known
    fn.values[op.results[0]] = known


HANDLERS: dict[type[Operation], Callable[[FunctionLowering, Operation], None]] = {
    GetOp: lower_get,
}
"""Handlers of the spec_constant dialect."""
