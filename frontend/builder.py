"""Kernels to kernel-level IR: `build_module`.

The result is a `builtin.module` of `func.func` (see DESIGN.md section 1): the specialization constants, the helpers,
the kernels.  Every op has the place of its Python code.  A kernel without a barrier skips the work-items beyond the
range itself: its body stands in an `scf.if` over ``global_id < global_range``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ..ir.dialects import aspect
from ..ir.dialects.kernel import (
    ANY_RANK,
    GPU_KERNEL,
    MASKED,
    NO_CONTRACTION,
    PARAMETERS,
    RANK,
    KernelParameter,
    parameters_attribute,
)

# The modules that fill the dispatch tables.
from . import (
    arithmetic,
    assignment,
    atomics,
    barriers,
    builtins,
    calls,
    checks,
    comparisons,
    group_functions,
    handlers,
    intrinsic_functions,
    local_arrays,
    math_functions,
    math_integers,
    math_mixing,
    names,
    statements,
    sub_groups,
    subscripts,
    vectors,
    work_items,
)
from .analysis import FunctionFacts
from .annotations import Signature
from .aspect_lowering import ir_attributes, note_struct, struct_table, use_struct
from .captures import Captures
from .composites import build_value
from .control_flow import build_statements
from .conversions import CMPI
from .definition import KernelOptions
from .errors import compile_error
from .external_functions import build_external
from .externals import ExternalFunction
from .function_attributes import attributes_of
from .function_builder import AccessUse, FunctionBuilder
from .inference import infer_types
from .ir_types import ir_type, memref_type
from .module_builder import ModuleBuilder
from .source import FunctionSource
from .spec_parameters import IN_KERNEL
from .specialization import read_specialization
from .struct_types import StructType, scalar_leaves
from .types import MAX_DIMENSIONS, ArrayType, FixedArrayType, ScalarType, Type
from .values import Array, FixedArray, Scalar, Static, Value
from .vector_types import VecType
from .work_items import RankTooSmallError, work_item_index

REGISTERED = (
    arithmetic,
    assignment,
    atomics,
    barriers,
    builtins,
    calls,
    checks,
    comparisons,
    group_functions,
    handlers,
    intrinsic_functions,
    local_arrays,
    math_functions,
    math_integers,
    math_mixing,
    names,
    statements,
    sub_groups,
    subscripts,
    vectors,
    work_items,
)
"""The modules whose import fills `dispatch`."""


class KernelDefinition(Protocol):
    """What the builder needs of a kernel; `kernel.KernelFunction` is one."""

    @property
    def name(self) -> str:
        """What it is called in the module."""
        ...

    @property
    def options(self) -> KernelOptions:
        """What ``@lp.kernel(…)`` says."""
        ...

    @property
    def signature(self) -> Signature:
        """Its parameters."""
        ...

    @property
    def source(self) -> FunctionSource:
        """The kernel's text."""
        ...


def build_module(
    kernels: Sequence[KernelDefinition],
    *,
    rank: int | None = None,
    captures: Captures | None = None,
    optional_aspects: Iterable[int] = (),
    checks: str = "asserts",
    any_rank: bool = False,
    externals: Sequence[ExternalFunction] = (),
    clamps_indices: bool = True,
) -> ModuleOp:
    """Compiles kernels and exported functions of one translation unit into one module.

    Args:
        kernels: of distinct names.
        rank: dimensions of the launch range, 1 to 3; None: as many as each kernel uses.
        captures: gets every name that the kernels and their helpers read from around themselves.
        optional_aspects: of the device, see `TargetEnv.optional_aspects`; group functions depend on them.
        checks: what kernels check as they run, see `TargetEnv.checks`.
        any_rank: compile kernels that name no dimension for a range of three, and mark them: they can be launched
            with fewer.  Only without `rank`.
        externals: functions that the module exports.
        clamps_indices: keeps indices into memory that no robustness covers in range; the interpreter wants
            them as they were written.

    Returns:
        The module, every op with a location.  Verify it before use where it matters.

    Raises:
        CompileError: a kernel breaks a rule of the kernel language.
    """
    assert rank is None or 1 <= rank <= MAX_DIMENSIONS, f"rank {rank} of a launch range"
    module = ModuleBuilder(symbols={kernel.name for kernel in kernels}, captures=captures or Captures())
    module.optional_aspects, module.checks = frozenset(optional_aspects), checks
    sources = [kernel.source.function for kernel in kernels] + [external.function for external in externals]
    module.unit = sources[0].__module__ if sources else ""
    for external in externals:
        build_external(module, external)
    module.clamps_indices = clamps_indices
    for kernel in kernels:
        _build_kernel(module, kernel, rank, any_rank=any_rank and rank is None)
    result = ModuleOp([*module.spec_constants.values(), *module.functions])
    if module.struct_aspects:
        result.attributes[aspect.TYPES_THAT_USE_ASPECTS] = struct_table(module.struct_aspects)
    barriers.check_barriers(module, result)
    return result


def _build_kernel(
    module: ModuleBuilder, kernel: KernelDefinition, rank: int | None, *, any_rank: bool
) -> None:
    """Compiles one kernel, again with a higher rank as long as it uses more dimensions than assumed."""
    module.is_rank_given = rank is not None
    module.kernel_name = kernel.name
    module.device_functions = kernel.options.device_functions
    module.may_contract = kernel.options.contract
    required = attributes_of(kernel.source.function).reqd_work_group_size or kernel.options.local_size or ()
    for assumed in range(rank or len(required) or 1, MAX_DIMENSIONS + 1):
        module.rank, module.calls, module.names_dimension = assumed, [], False
        snapshot = len(module.functions), set(module.symbols)
        try:
            module.functions.append(_kernel_function(module, kernel))
        except RankTooSmallError:
            _take_back(module, *snapshot)
            continue
        except RecursionError:
            raise compile_error(
                kernel.source,
                None,
                f"kernel '{kernel.name}' is nested too deeply to be compiled",
                code="LP2030",
                hint="split its expressions into statements, or its statements into functions",
            ) from None
        if any_rank and not module.names_dimension:
            if not required:
                _take_back(module, *snapshot)
                module.rank = MAX_DIMENSIONS
                module.functions.append(_kernel_function(module, kernel))
            module.functions[-1].attributes[ANY_RANK] = UnitAttr()
        return


def _take_back(module: ModuleBuilder, count: int, symbols: set[str]) -> None:
    """Drops all functions but the first `count`, and what belongs to them."""
    del module.functions[count:]
    module.symbols = symbols
    kept = {f.sym_name.data for f in module.functions}
    module.imports = {name: symbol for name, symbol in module.imports.items() if symbol in kept}
    for instances in module.helpers.values():
        instances[:] = [i for i in instances if i.symbol in kept]


def _kernel_function(module: ModuleBuilder, kernel: KernelDefinition) -> func.FuncOp:
    source = kernel.source
    fb = FunctionBuilder(module=module, source=source, facts=FunctionFacts.of(source.tree), is_kernel=True)
    fb.node = source.tree
    parameter_names = [
        *(p.name for p in kernel.signature.parameters),
        *kernel.signature.specialization_ids,
        *kernel.signature.handlers,
    ]
    fb.local_names = frozenset(parameter_names) | frozenset(fb.facts.assignments)
    types = _bind_parameters(fb, kernel.signature)
    infer_types(fb)
    for use in fb.accesses.values():
        use.reads = use.writes = False
    fb.uses_barrier = False
    fb.node = source.tree
    with fb.into(fb.block):
        build_statements(fb, source.tree.body, frozenset())
    fb.node = source.tree
    _finish_body(fb)
    return func.FuncOp.create(
        properties={
            "sym_name": StringAttr(kernel.name),
            "function_type": FunctionType.from_lists(types, []),
        },
        attributes=_attributes(fb, kernel),
        regions=[Region(fb.prologue)],
        location=fb.location(),
    )


def _bind_parameters(fb: FunctionBuilder, signature: Signature) -> list[Attribute]:
    types: list[Attribute] = []
    for position, parameter in enumerate(signature.parameters):
        kind, name = parameter.type, parameter.name
        if isinstance(kind, ArrayType):
            note_struct(fb, kind)
            types.append(memref_type(kind))
            fb.accesses[position] = AccessUse()
            argument = fb.prologue.insert_arg(types[-1], len(types) - 1)
            fb.env[name] = Array(kind, position, name, argument)
            if name.isascii():  # what MLIR's text can spell
                argument.name_hint = name
        else:
            first = len(types)
            fb.env[name] = _by_value(fb, kind, types)
            for argument, (path, _, _) in zip(fb.prologue.args[first:], scalar_leaves(kind), strict=True):
                hint = name + "".join(c if c.isalnum() else "_" for c in path)
                if hint.isascii():
                    argument.name_hint = hint
            if fb.facts.assignments[name]:
                _declare_variable(fb, name, kind)
    for name, constant in signature.specialization_ids.items():
        if fb.facts.assignments[name]:  # a variable that begins with the constant's value
            fb.env[name] = read_specialization(fb, constant)
            _declare_variable(fb, name, constant.type)
        else:
            fb.spec_parameters[name] = constant
    for name in signature.handlers:
        fb.env[name] = Static(IN_KERNEL, name)
    return types


def _declare_variable(fb: FunctionBuilder, name: str, kind: Type) -> None:
    """Fixes the type of a parameter that the kernel assigns again."""
    assert isinstance(kind, ScalarType | VecType | StructType | FixedArrayType)
    fb.variable_types[name] = FixedArray(kind, None) if isinstance(kind, FixedArrayType) else kind
    fb.declared.add(name)


def _by_value(fb: FunctionBuilder, kind: Type, types: list[Attribute]) -> Value:
    """Returns the value of an argument; each of its scalars is an argument of the function."""

    def leaf(scalar: ScalarType) -> Scalar:
        types.append(ir_type(scalar))
        return Scalar(scalar, fb.prologue.insert_arg(types[-1], len(types) - 1))

    if isinstance(kind, ScalarType):
        return leaf(kind)
    with fb.into(fb.prologue):
        use_struct(fb, kind)
        return build_value(fb, kind, leaf)


def _finish_body(fb: FunctionBuilder) -> None:
    """Puts the body after the prologue, under the guard unless the kernel has a barrier."""
    body, prologue = fb.block, fb.prologue
    if fb.uses_barrier or body.first_op is None:
        for op in list(body.ops):
            op.detach()
            prologue.add_op(op)
    else:
        with fb.into(prologue):
            test = _guard(fb)
        body.add_op(_located(fb, scf.YieldOp.create()))
        guard = scf.IfOp.create(operands=[test], regions=[Region(body), Region()])
        prologue.add_op(_located(fb, guard))
    prologue.add_op(_located(fb, func.ReturnOp.create()))


def _located(fb: FunctionBuilder, op: Operation) -> Operation:
    op.location = fb.location()
    return op


def _guard(fb: FunctionBuilder) -> SSAValue:
    """Emits whether the work-item lies in the range."""
    test = None
    for dimension in range(fb.module.rank):
        index, end = (work_item_index(fb, name, dimension) for name in ("global_id", "global_range"))
        inside = fb.emit(arith.CmpiOp, [index, end], i1, CMPI["slt"])
        test = inside if test is None else fb.emit(arith.AndIOp, [test, inside], i1)
    assert test is not None
    return test


def _attributes(fb: FunctionBuilder, kernel: KernelDefinition) -> dict[str, Attribute]:
    parameters: list[KernelParameter] = []
    for i, p in enumerate(kernel.signature.parameters):
        if isinstance(p.type, ArrayType):
            parameters.append(
                KernelParameter(
                    name=p.name,
                    dtype=p.type.element.spelling,
                    ndim=p.type.ndim,
                    access=_access(fb, i, p.type),
                    may_alias=p.type.access == "read_write",
                )
            )
            continue
        for path, scalar, _ in scalar_leaves(p.type):
            parameters.append(KernelParameter(name=p.name + path, dtype=scalar.spelling))
    attributes: dict[str, Attribute] = {
        GPU_KERNEL: UnitAttr(),
        PARAMETERS: parameters_attribute(parameters),
        RANK: IntegerAttr(fb.module.rank, i32),
    }
    if not fb.uses_barrier:
        attributes[MASKED] = UnitAttr()
    if not kernel.options.contract:
        attributes[NO_CONTRACTION] = UnitAttr()
    attributes |= ir_attributes(attributes_of(kernel.source.function))
    return attributes


def _access(fb: FunctionBuilder, position: int, array: ArrayType) -> str:
    """Returns what the kernel does with an array: as declared, or for lp.Array as found in the whole call graph."""
    if array.access != "read_write":
        return array.access
    use = fb.accesses[position]
    if use.reads and use.writes:
        return "read_write"
    return "write" if use.writes else "read"
