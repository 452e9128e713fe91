"""Handlers of spirv operations that stand in kernel-level IR: the same operation with the device's types."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.dialects import spirv
from ...ir.dialects.spirv.types import PointerType
from .function_lowering import FunctionLowering, Handler
from .packed_tables import is_packed, packed_number, packed_variable
from .result_variables import is_held, note_copy

_STRUCTURAL = frozenset(
    (
        "spirv.module",
        "spirv.func",
        "spirv.EntryPoint",
        "spirv.ExecutionMode",
        "spirv.GlobalVariable",
        "spirv.SpecConstant",
        "spirv.SpecConstantComposite",
        "spirv.mlir.addressof",
        "spirv.mlir.referenceof",
        "spirv.mlir.selection",
        "spirv.mlir.loop",
        "spirv.mlir.merge",
        "spirv.FunctionCall",
        "spirv.Branch",
        "spirv.BranchConditional",
        "spirv.Return",
        "spirv.ReturnValue",
        "spirv.Variable",
    )
)
"""Operations that make sense in a `spirv.module` only, or have a handler of their own."""


def _same(fn: FunctionLowering, op: Operation) -> None:
    copy = type(op).create(
        operands=tuple(fn.value(value) for value in op.operands),
        result_types=[fn.type(result.type) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    fn.add(copy)
    fn.values.update(zip(op.results, copy.results, strict=True))


def _variable(fn: FunctionLowering, op: Operation) -> None:
    """Moves the variable to the function's start, where SPIR-V wants it.

    A constant initial value goes along where that changes nothing: outside of loops, and where nothing is
    ever stored.  Else it is stored where the operation stood.
    """
    assert isinstance(op, spirv.VariableOp)
    if is_packed(fn, op):
        fn.tables[op.results[0]] = packed_variable(fn, op)
        return
    type_ = fn.type(op.results[0].type)
    assert isinstance(type_, PointerType)
    initial = fn.value(op.operands[0]) if op.operands else None
    if initial is None:
        pointer = fn.values[op.results[0]] = fn.variable(type_.pointee)
        note_copy(fn, op, pointer)
    elif fn.is_constant(initial) and (fn.loop_depth == 0 or _is_only_read(op)):
        fn.values[op.results[0]] = fn.variable(type_.pointee, initial)
    else:
        pointer = fn.values[op.results[0]] = fn.variable(type_.pointee)
        fn.store(pointer, initial)


def _composite(fn: FunctionLowering, op: Operation) -> None:
    if not is_packed(fn, op):
        _same(fn, op)


def _access_chain(fn: FunctionLowering, op: Operation) -> None:
    if op.operands[0] not in fn.tables:
        _same(fn, op)


def _load(fn: FunctionLowering, op: Operation) -> None:
    chain = op.operands[0].owner
    table = fn.tables.get(chain.operands[0]) if isinstance(chain, spirv.AccessChainOp) else None
    if table is None or not isinstance(chain, spirv.AccessChainOp):
        _same(fn, op)
    else:
        fn.values[op.results[0]] = packed_number(fn, table, chain, fn.type(op.results[0].type))


def _store(fn: FunctionLowering, op: Operation) -> None:
    if not is_held(fn, op):
        _same(fn, op)


def _is_only_read(op: Operation) -> bool:
    """Whether a pointer is used for loads alone, directly or through access chains."""
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, spirv.AccessChainOp):
            if not _is_only_read(user):
                return False
        elif not isinstance(user, spirv.LoadOp):
            return False
    return True


class _Handlers(dict[type[Operation], Handler]):
    """Has a handler for every operation that is not structural."""

    def __missing__(self, kind: type[Operation]) -> Handler:
        if kind.name in _STRUCTURAL:
            raise KeyError(kind)
        return _same


HANDLERS = _Handlers(
    {
        spirv.VariableOp: _variable,
        spirv.CompositeConstructOp: _composite,
        spirv.AccessChainOp: _access_chain,
        spirv.LoadOp: _load,
        spirv.StoreOp: _store,
    }
)
"""Handlers of the spirv dialect in kernel-level IR."""
