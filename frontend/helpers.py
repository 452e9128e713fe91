"""Plain Python functions that kernels call: compiled once for each combination of argument types.

A literal argument stays a literal inside of the helper, so `scale(x, 2)` has the type of `x`.  Arrays are passed by
reference, and what the helper does with them counts as done by the caller.
"""

from __future__ import annotations

import ast
import types as python_types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from ..ir.attributes import function_type, symbol_reference, text_attribute
from ..ir.create import create, move_all, region_of
from ..ir.dialects.kernel import LIBRARY, NO_CONTRACTION, SOURCE_NAME, UNIFORM_RESULTS
from . import group_library
from .analysis import RETURN, VALUE, FunctionFacts
from .aspect_lowering import ir_attributes, note_struct, use_struct
from .assignment import assign_name, variable_type
from .control_flow import build_statements
from .fixed_arrays import fixed_array_type
from .function_attributes import attributes_of
from .function_builder import AccessUse, FunctionBuilder
from .helper_arguments import annotated, annotation_type, bound_arguments, parameter_names
from .helper_results import flattened, is_open, leaves_of, open_result, rebuilt
from .images import ir_image_type
from .inference import infer_types
from .ir_types import ir_type, memref_type
from .joins import IncompatibleError, zero_like
from .local_arrays import local_array_parameter, local_memref_type
from .lost_stores import note_lost_stores
from .names import typed_value
from .source import FunctionSource
from .struct_types import StructType
from .types import FixedArrayType, ScalarType
from .values import (
    Array,
    Composite,
    FixedArray,
    Image,
    LocalArray,
    Scalar,
    Static,
    Tuple,
    Unset,
    Value,
    describe,
)
from .vector_types import CompositeArrayType, VecType

if TYPE_CHECKING:
    from .module_builder import ModuleBuilder


@dataclass(eq=False)
class HelperInstance:
    """A helper compiled for one combination of argument types."""

    symbol: str
    kernel: str | None
    """The only kernel that may call it, where it depends on the launch range."""
    result: Value = field(default_factory=lambda: Static(None, "None"))
    """What it returns; scalars without a constant are results of the call, in order."""
    result_types: tuple[Attribute, ...] = ()
    accesses: dict[int, AccessUse] = field(default_factory=dict[int, AccessUse])
    uses_barrier: bool = False
    uses_work_items: bool = False
    arguments: tuple[Value, ...] = ()
    """What it was compiled for: the objects whose ids are in its key live as long as it."""


def call_helper(
    fb: FunctionBuilder,
    function: python_types.FunctionType,
    node: ast.Call,
    values: dict[str, Value] | None = None,
) -> Value:
    """Compiles a call of a plain Python function.

    Args:
        values: the argument of each parameter, where they are not those of `node`.

    Raises:
        CompileError: arguments that do not match, recursion, or anything wrong inside of the helper.
    """
    module = fb.module
    source = module.source_of(function, fb, node)
    is_as_written = values is None
    values = bound_arguments(fb, function, source, node) if values is None else values
    fb.node = node
    values = annotated(fb, source, values, node, is_as_written=is_as_written)
    with module.entering(fb, function, node):
        if fb.is_dry and is_open(values.values()):
            return rebuilt(open_result(_begun(module, source, values)[0]), None, list(values.values()))
        instance = _instance(fb, function, source, values)
    _count_uses(fb, instance, list(values.values()))
    if fb.is_dry:
        return rebuilt(instance.result, None, list(values.values()))
    operands = [leaf for value in values.values() for leaf in leaves_of(fb, value)]
    call = create(
        func.CallOp,
        operands=operands,
        result_types=instance.result_types,
        properties={"callee": symbol_reference(instance.symbol)},
    )
    fb.append(call)
    if instance.uses_barrier:
        module.barriers[fb.location()] = fb.source, node
    return rebuilt(instance.result, iter(call.results), list(values.values()))


def _instance(
    fb: FunctionBuilder, function: python_types.FunctionType, source: FunctionSource, values: dict[str, Value]
) -> HelperInstance:
    """Returns the helper compiled for these arguments, compiling it at the first call."""
    module = fb.module
    options = tuple(module.function_attributes.items()), module.device_functions
    key = (function, options, tuple(_key(value) for value in values.values()))
    for instance in module.helpers.setdefault(key, []):
        if instance.kernel in (None, module.kernel_name):
            return instance
    instance = compile_helper(module, source, values)
    module.helpers[key].append(instance)
    return instance


def _key(value: Value) -> object:
    """Returns what tells arguments apart that need different code."""
    match value:
        case Scalar(type=scalar, const=const) if value.is_weak:
            return (scalar.name, repr(const))
        case Scalar(type=scalar):
            return scalar.name
        case LocalArray(type=array):
            return (array, value.shape, value.is_shared)
        case Array(type=array):
            return array
        case FixedArray(type=fixed):
            return fixed
        case Composite(type=kind, items=items):
            return (kind, *(_key(item) for item in items))
        case Tuple(items=items):
            return tuple(_key(item) for item in items)
        case Static(obj=obj):
            return ("static", obj if isinstance(obj, str | None) else id(obj))
        case _:
            raise AssertionError(f"an argument that is {describe(value)}")


def compile_helper(
    module: ModuleBuilder, source: FunctionSource, values: dict[str, Value], *, has_fixed_result: bool = False
) -> HelperInstance:
    """Compiles a helper into the module.

    Args:
        module: gets the function.
        source: the helper's text.
        values: what each parameter is bound to; only types and literals count.
        has_fixed_result: whether every scalar of the result is returned, also where it is a known constant.
    """
    helper, types = _begun(module, source, values)
    infer_types(helper)
    for use in helper.accesses.values():
        use.reads = use.writes = False
    _store_parameters(helper)
    with helper.into(helper.prologue):
        for value in values.values():
            if isinstance(value, Composite | Array):
                (use_struct if isinstance(value, Composite) else note_struct)(helper, value.type)
    if VALUE in helper.variable_types:
        helper.env[VALUE] = _placeholder(helper)
    with helper.into(helper.block):
        build_statements(helper, source.tree.body, frozenset((VALUE,)))
        result = _returned(helper)
        leaves: list[SSAValue] = []
        result = flattened(helper, result, leaves, keeps_constants=not has_fixed_result)
        helper.node = source.tree
        helper.append(create(func.ReturnOp, operands=leaves))
    note_lost_stores(helper, values)
    _note_work_group_size(helper)
    move_all(helper.block, helper.prologue)
    symbol = module.unique_symbol(source.name)
    module.captures.functions[symbol] = source.function
    instance = HelperInstance(
        symbol=symbol,
        kernel=module.kernel_name if helper.uses_work_items else None,
        result=result,
        result_types=tuple(leaf.type for leaf in leaves),
        accesses={position: use for position, use in helper.accesses.items() if position >= 0},
        uses_barrier=helper.uses_barrier,
        uses_work_items=helper.uses_work_items,
        arguments=tuple(values.values()),
    )
    module.functions.append(_function(helper, instance, types))
    return instance


def _note_work_group_size(helper: FunctionBuilder) -> None:
    """Adds a warning for a helper with `@lp.reqd_work_group_size`, which says something of launches alone."""
    if (size := attributes_of(helper.source.function).reqd_work_group_size) is None:
        return
    written = ", ".join(map(str, size))
    helper.warn(
        helper.source.tree,
        f"@lp.reqd_work_group_size({written}) does nothing on the helper '{helper.source.name}'; "
        "put it on the kernels that call it",
    )


def _function(helper: FunctionBuilder, instance: HelperInstance, types: list[Attribute]) -> func.FuncOp:
    """Returns the IR of a helper that is compiled; `types` are those of its block arguments."""
    module, source = helper.module, helper.source
    return create(
        func.FuncOp,
        properties={
            "sym_name": text_attribute(instance.symbol),
            "function_type": function_type(types, instance.result_types),
            "sym_visibility": text_attribute("private"),
        },
        attributes={
            **module.function_attributes,
            **ir_attributes(attributes_of(source.function), helper.struct_aspects),
            **({} if module.library_call is None else _NO_CONTRACTION),
            **({} if instance.symbol == source.name else {SOURCE_NAME: text_attribute(source.name)}),
            **(_LIBRARY if source.function.__module__ == group_library.__name__ else {}),
            **(_UNIFORM if source.function in group_library.UNIFORM else {}),
        },
        regions=[region_of(helper.prologue)],
        location=helper.location(),
    )


def _begun(
    module: ModuleBuilder, source: FunctionSource, values: dict[str, Value]
) -> tuple[FunctionBuilder, list[Attribute]]:
    """Returns the builder of a helper, whose parameters are bound, and the types of its block arguments."""
    helper = FunctionBuilder(module=module, source=source, facts=_facts(source), is_kernel=False)
    helper.local_names = frozenset(values) | frozenset(helper.facts.assignments)
    helper.node = source.tree
    _declare_result(helper, source)
    return helper, _bind_parameters(helper, values)


# Of the library's functions too: what they round, and what they do not, must be so on every device.
_NO_CONTRACTION: dict[str, Attribute] = {NO_CONTRACTION: UnitAttr()}
_LIBRARY: dict[str, Attribute] = {LIBRARY: UnitAttr()}
_UNIFORM: dict[str, Attribute] = {UNIFORM_RESULTS: UnitAttr()}


def _facts(source: FunctionSource) -> FunctionFacts:
    facts = FunctionFacts.of(source.tree)
    if len(facts.returns) == 1 and facts.returns[0] is not source.tree.body[-1]:
        facts.assignments[VALUE] += 1  # its type must be known where the other paths begin
    for parameter in parameter_names(source):
        if facts.assignments[parameter]:
            facts.assignments[parameter] += 1
    return facts


def _declare_result(helper: FunctionBuilder, source: FunctionSource) -> None:
    wanted = annotation_type(helper, source, source.tree.returns)
    if not helper.facts.returns:
        return
    if isinstance(wanted, ScalarType | VecType | StructType | FixedArrayType | CompositeArrayType):
        helper.variable_types[VALUE] = (
            FixedArray(wanted, None) if isinstance(wanted, FixedArrayType) else wanted
        )
        helper.declared.add(VALUE)


def _bind_parameters(helper: FunctionBuilder, values: dict[str, Value]) -> list[Attribute]:
    """Gives the parameters their block arguments; returns the types of these."""
    types: list[Attribute] = []
    for position, (name, value) in enumerate(values.items()):
        bound = _parameter(helper, name, position, value, types)
        helper.env[name] = bound
        if helper.facts.assignments[name]:
            helper.variable_types[name] = variable_type(bound)
            helper.assigned_at[name] = helper.source.tree
    return types


def _parameter(
    helper: FunctionBuilder, name: str, position: int, value: Value, types: list[Attribute]
) -> Value:
    def argument(ir: Attribute) -> SSAValue:
        types.append(ir)
        return helper.prologue.insert_arg(ir, len(types) - 1)

    match value:
        case Scalar(type=scalar):
            return value if value.is_weak else Scalar(scalar, argument(ir_type(scalar)))
        case LocalArray():
            helper.accesses[position] = AccessUse()
            return local_array_parameter(helper, value, position, name, argument(local_memref_type(value)))
        case Image(type=image):
            helper.accesses[position] = AccessUse()
            return Image(image, position, name, argument(ir_image_type(image)))
        case Array(type=array):
            helper.accesses[position] = AccessUse()
            return Array(array, position, name, argument(memref_type(array)))
        case FixedArray(type=fixed):
            return FixedArray(fixed, argument(fixed_array_type(fixed)))
        case Tuple(items=items):
            return value.with_items([_parameter(helper, name, position, item, types) for item in items])
        case _:
            return value


def _store_parameters(helper: FunctionBuilder) -> None:
    """Brings parameters that the helper assigns again to the type that the variable has."""
    with helper.into(helper.block):
        for name in parameter_names(helper.source):
            bound = helper.env[name]
            if helper.facts.assignments[name] and not isinstance(bound, Unset):
                assign_name(helper, name, bound, helper.source.tree)


def _placeholder(helper: FunctionBuilder) -> Value:
    """Returns what the returned value is before a return: nobody reads it, but all paths must agree on its type."""
    value = typed_value(helper.variable_types[VALUE])
    try:
        return zero_like(value)
    except IncompatibleError:
        return value


def _returned(helper: FunctionBuilder) -> Value:
    """Returns the helper's value.

    Raises:
        CompileError: it returns one on some paths only.
    """
    returns = helper.facts.returns
    value = helper.env.get(VALUE, Static(None, "None"))
    ended = helper.env.get(RETURN)
    is_complete = isinstance(ended, Scalar) and ended.const is True
    gives_value = any(r.value is not None and not _is_none_literal(r.value) for r in returns)
    if gives_value and (not is_complete or isinstance(value, Unset)):
        raise helper.error(
            None,
            f"'{helper.source.name}' returns a value on some paths only",
            "LP2049",
            hint="end the function with a return",
        )
    return value if gives_value and not isinstance(value, Unset) else Static(None, "None")


def _is_none_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _count_uses(fb: FunctionBuilder, instance: HelperInstance, values: list[Value]) -> None:
    """Adds what the helper does with its arguments to what the caller does."""
    fb.uses_barrier |= instance.uses_barrier
    fb.uses_work_items |= instance.uses_work_items
    for position, use in instance.accesses.items():
        for array in _arrays(values[position]):
            mine = fb.accesses[array.parameter]
            mine.reads |= use.reads
            mine.writes |= use.writes


def _arrays(value: Value) -> list[Array]:
    if isinstance(value, Tuple):
        return [array for item in value.items for array in _arrays(item)]
    return [value] if isinstance(value, Array) else []
