"""Kernels to kernel-level IR: `build_module`.

The result is a `builtin.module` of `func.func` (see DESIGN.md section 1): the specialization constants, the helpers,
the kernels.  Every op has the place of its Python code.  A kernel without a barrier skips the work-items beyond the
range itself: its body stands in an `scf.if` over ``global_id < global_range``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i1
from xdsl.ir import Attribute, SSAValue

from ..ir.attributes import function_type, i32_attribute, text_attribute
from ..ir.create import append, append_all, create, empty_block, move_all, region_of
from ..ir.dialects import aspect
from ..ir.dialects.kernel import (
    ANY_RANK,
    GPU_KERNEL,
    MASKED,
    NO_CONTRACTION,
    OPT_LEVEL,
    PARAMETERS,
    RANK,
    WIDE,
    KernelParameter,
    parameters_attribute,
)
from ..ir.errors import KernelWarning

# The modules that fill the dispatch tables.
from . import (
    arithmetic,
    assignment,
    barriers,
    builtins,
    calls,
    checks,
    comparisons,
    handlers,
    names,
    statements,
    subscripts,
    work_items,
)
from .analysis import FunctionFacts
from .aspect_lowering import ir_attributes, struct_table
from .aspect_warnings import warn_once
from .captures import Captures
from .constant_arguments import NO_CONSTANTS, Constants, Leaves
from .control_flow import build_statements
from .conversions import CMPI
from .deep_stack import with_deep_stack
from .definition import KernelOptions
from .errors import compile_error
from .externals import ExternalFunction
from .function_attributes import attributes_of
from .function_builder import FunctionBuilder
from .image_types import ImageType
from .inference import infer_types
from .ir_types import INDEX_TYPE
from .module_builder import ModuleBuilder
from .parameter_types import ConstType, LocalArrayType, StreamType
from .parameter_values import bind_parameters, constant_values, has_shared_parameters
from .signature import ParameterSpec, Signature
from .source import FunctionSource
from .struct_types import scalar_leaves
from .types import MAX_DIMENSIONS, ArrayType, i64
from .unnamed_dimensions import note_unnamed_dimensions
from .work_items import RankTooSmallError, work_item_index, work_item_value

REGISTERED = (
    arithmetic,
    assignment,
    barriers,
    builtins,
    calls,
    checks,
    comparisons,
    handlers,
    names,
    statements,
    subscripts,
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
    runs_all_branches: bool = False,
    any_rank: bool = False,
    externals: Sequence[ExternalFunction] = (),
    is_interpreted: bool = False,
    constants: Mapping[str, Constants] = {},
) -> ModuleOp:
    """Compiles kernels and exported functions of one translation unit into one module.

    Args:
        kernels: of distinct names.
        rank: dimensions of the launch range, 1 to 3; None: as many as each kernel uses.
        captures: gets every name that the kernels and their helpers read from around themselves.
        optional_aspects: of the device, see `TargetEnv.optional_aspects`; group functions depend on them.
        checks: what kernels check as they run, see `TargetEnv.checks`.
        runs_all_branches: of the device, see `TargetEnv.runs_all_branches`.
        any_rank: compile kernels that name no dimension for a range of three, and mark them: they can be launched
            with fewer.  Only without `rank`.
        externals: functions that the module exports.
        is_interpreted: for the interpreter, which wants indices as they were written, also into memory that no
            robustness covers, and functions of other units with their callers.
        constants: values of `lp.Const` parameters by kernel name; what is not there has its default.

    Returns:
        The module, every op with a location.  Verify it before use where it matters.

    Raises:
        CompileError: a kernel breaks a rule of the kernel language.
        InvalidError: a constant parameter has neither value nor default.
    """
    assert rank is None or 1 <= rank <= MAX_DIMENSIONS, f"rank {rank} of a launch range"
    aspects = frozenset(optional_aspects)

    def build() -> ModuleOp:
        module = ModuleBuilder(symbols={kernel.name for kernel in kernels}, captures=captures or Captures())
        module.optional_aspects, module.is_interpreted = aspects, is_interpreted
        module.checks, module.runs_all_branches = checks, runs_all_branches
        return _fill(module, kernels, externals, rank, constants, any_rank=any_rank)

    with refusing_depth(kernels, externals):
        return with_deep_stack(build)


def _fill(
    module: ModuleBuilder,
    kernels: Sequence[KernelDefinition],
    externals: Sequence[ExternalFunction],
    rank: int | None,
    constants: Mapping[str, Constants],
    *,
    any_rank: bool,
) -> ModuleOp:
    """Compiles everything into a new module; see `build_module`."""
    sources = [kernel.source.function for kernel in kernels] + [external.function for external in externals]
    module.unit = sources[0].__module__ if sources else ""
    for external in externals:
        from .external_functions import build_external

        build_external(module, external)
    for kernel in kernels:
        given = kernel.signature.rank or rank
        values = constant_values(kernel.name, kernel.signature, constants.get(kernel.name, NO_CONSTANTS))
        _build_kernel(module, kernel, given, values, any_rank=any_rank and given is None)
    body = empty_block()
    append_all(body, (*module.spec_constants.values(), *module.functions))
    result = create(ModuleOp, regions=(region_of(body),))
    if module.struct_aspects:
        result.attributes[aspect.TYPES_THAT_USE_ASPECTS] = struct_table(module.struct_aspects)
    barriers.check_barriers(module, result)
    module.captures.has_findings |= bool(module.findings)
    warn_once(module.findings, KernelWarning)
    return result


@contextmanager
def refusing_depth(
    kernels: Sequence[KernelDefinition], externals: Sequence[ExternalFunction] = ()
) -> Generator[None]:
    """Turns a RecursionError of the compiler into a CompileError that names the kernels, or functions without any."""
    try:
        yield
    except RecursionError:
        kind, names = "kernel", [kernel.name for kernel in kernels]
        if not names:
            kind, names = "external function", [external.__name__ for external in externals]
        raise compile_error(
            (kernels or externals)[0].source,
            None,
            f"{kind} {', '.join(map(repr, names))} is nested too deeply to be compiled",
            code="LP2030",
            hint="split its expressions into statements, or its statements into functions",
        ) from None


def _build_kernel(
    module: ModuleBuilder,
    kernel: KernelDefinition,
    rank: int | None,
    constants: Mapping[str, Leaves],
    *,
    any_rank: bool,
) -> None:
    """Compiles one kernel, again with a higher rank as long as it uses more dimensions than assumed."""
    module.is_rank_given = rank is not None
    module.kernel_name = kernel.name
    module.captures.functions[kernel.name] = kernel.source.function
    module.index_type = i64 if kernel.options.index is i64 else INDEX_TYPE
    module.function_attributes = _option_attributes(kernel.options)
    module.device_functions = kernel.options.device_functions
    required = attributes_of(kernel.source.function).reqd_work_group_size or kernel.options.local_size or ()
    for assumed in range(rank or len(required) or 1, MAX_DIMENSIONS + 1):
        module.rank, module.calls = assumed, []
        module.named_dimensions, module.uses_linear_ids = set(), False
        snapshot = len(module.functions), set(module.symbols)
        try:
            module.functions.append(_kernel_function(module, kernel, constants))
        except RankTooSmallError:
            _take_back(module, *snapshot)
            continue
        if any_rank and not module.named_dimensions:
            if not required:
                _take_back(module, *snapshot)
                module.rank = MAX_DIMENSIONS
                module.functions.append(_kernel_function(module, kernel, constants))
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


def _kernel_function(
    module: ModuleBuilder, kernel: KernelDefinition, constants: Mapping[str, Leaves]
) -> func.FuncOp:
    source = kernel.source
    fb = FunctionBuilder(module=module, source=source, facts=FunctionFacts.of(source.tree), is_kernel=True)
    fb.node = source.tree
    parameter_names = [
        *(p.name for p in kernel.signature.parameters),
        *kernel.signature.specialization_ids,
        *kernel.signature.handlers,
        *kernel.signature.work_items,
    ]
    fb.local_names = frozenset(parameter_names) | frozenset(fb.facts.assignments)
    types = bind_parameters(fb, kernel.signature, constants)
    infer_types(fb)
    for use in fb.accesses.values():
        use.reads = use.writes = False
    fb.uses_barrier = has_shared_parameters(kernel.signature)
    fb.node = source.tree
    with fb.into(fb.block):
        build_statements(fb, source.tree.body, frozenset())
    fb.node = source.tree
    _finish_body(fb)
    made = create(
        func.FuncOp,
        properties={
            "sym_name": text_attribute(kernel.name),
            "function_type": function_type(types, ()),
        },
        attributes=_attributes(fb, kernel),
        regions=[region_of(fb.prologue)],
        location=fb.location(),
    )
    if kernel.signature.rank is None:
        note_unnamed_dimensions(fb, made)
    return made


def _finish_body(fb: FunctionBuilder) -> None:
    """Puts the body after the prologue, under the guard unless the kernel has a barrier."""
    body, prologue = fb.block, fb.prologue
    if fb.uses_barrier or body.first_op is None:
        move_all(body, prologue)
    else:
        with fb.into(prologue):
            test = _guard(fb)
        append(body, create(scf.YieldOp, location=fb.location()))
        regions = region_of(body), region_of()
        append(prologue, create(scf.IfOp, (test,), location=fb.location(), regions=regions))
    append(prologue, create(func.ReturnOp, location=fb.location()))


def _guard(fb: FunctionBuilder) -> SSAValue:
    """Emits whether the work-item lies in the range."""
    test = None
    for dimension in range(fb.module.rank):
        index, end = (_guarded(fb, name, dimension) for name in ("global_id", "global_range"))
        inside = fb.emit(arith.CmpiOp, [index, end], i1, CMPI["slt"])
        test = inside if test is None else fb.emit(arith.AndIOp, [test, inside], i1)
    assert test is not None
    return test


def _guarded(fb: FunctionBuilder, name: str, dimension: int) -> SSAValue | None:
    if fb.module.index_type is INDEX_TYPE:
        return work_item_index(fb, name, dimension)
    return fb.ssa(work_item_value(fb, name, dimension))


def _attributes(fb: FunctionBuilder, kernel: KernelDefinition) -> dict[str, Attribute]:
    parameters = [made for i, p in enumerate(kernel.signature.parameters) for made in _described(fb, i, p)]
    attributes: dict[str, Attribute] = {
        GPU_KERNEL: UnitAttr(),
        PARAMETERS: parameters_attribute(parameters),
        RANK: i32_attribute(fb.module.rank),
    }
    if not fb.uses_barrier:
        attributes[MASKED] = UnitAttr()
    declared = attributes_of(kernel.source.function)
    also_used = fb.struct_aspects.union(kernel.options.accuracy_aspects)
    return attributes | fb.module.function_attributes | ir_attributes(declared, also_used)


def _described(fb: FunctionBuilder, position: int, parameter: ParameterSpec) -> list[KernelParameter]:
    """Returns what the IR says of a parameter: of a struct or vector its scalars, of a constant nothing."""
    name, type_ = parameter.name, parameter.type
    if isinstance(type_, ArrayType):
        is_image = isinstance(type_, ImageType)
        described = KernelParameter(
            name=name,
            dtype=type_.element_spelling,
            ndim=type_.ndim,
            access=_access(fb, position, type_),
            may_alias=type_.access == "read_write" and not is_image,
            is_image=is_image,
        )
        return [described]
    if isinstance(type_, LocalArrayType):
        return [KernelParameter(name=name, dtype=type_.element_spelling, ndim=type_.ndim, is_shared=True)]
    if isinstance(type_, StreamType):
        return [KernelParameter(name=name, dtype=type_.spelling)]
    if isinstance(type_, ConstType):
        return []
    return [
        KernelParameter(name=name + path, dtype=scalar.spelling) for path, scalar, _ in scalar_leaves(type_)
    ]


def _option_attributes(options: KernelOptions) -> dict[str, Attribute]:
    """Returns what a kernel's options say about its code and that of its helpers."""
    attributes: dict[str, Attribute] = {}
    if not options.contract:
        attributes[NO_CONTRACTION] = UnitAttr()
    if options.index is i64:
        attributes[WIDE] = UnitAttr()
    if options.opt_level is not None:
        attributes[OPT_LEVEL] = i32_attribute(options.opt_level)
    return attributes


def _access(fb: FunctionBuilder, position: int, array: ArrayType) -> str:
    """Returns what the kernel does with an array: as declared, or for lp.Array as found in the whole call graph."""
    if array.access != "read_write":
        return array.access
    use = fb.accesses[position]
    if use.reads and use.writes:
        return "read_write"
    return "write" if use.writes else "read"
