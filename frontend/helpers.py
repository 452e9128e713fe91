"""Plain Python functions that kernels call: compiled once for each combination of argument types.

A literal argument stays a literal inside of the helper, so `scale(x, 2)` has the type of `x`.  Arrays are passed by
reference, and what the helper does with them counts as done by the caller.
"""

from __future__ import annotations

import ast
import types as python_types
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Region, SSAValue

from .analysis import RETURN, VALUE, FunctionFacts
from .assignment import assign_name
from .branches import IncompatibleError, zero_like
from .control_flow import build_statements
from .conversions import store_convert
from .fixed_arrays import fixed_array_type
from .function_builder import AccessUse, FunctionBuilder, UnknownTypeError
from .inference import infer_types
from .ir_types import F32, ir_type, memref_type
from .names import captured, typed_value
from .source import FunctionSource
from .types import ScalarType, scalar_of
from .values import Array, FixedArray, Scalar, Static, Tuple, Unset, Value, describe


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


def call_helper(fb: FunctionBuilder, function: python_types.FunctionType, node: ast.Call) -> Value:
    """Compiles a call of a plain Python function.

    Raises:
        CompileError: arguments that do not match, recursion, or anything wrong inside of the helper.
    """
    module = fb.module
    source = module.source_of(function, fb, node)
    values = _bound_arguments(fb, function, source, node)
    fb.node = node
    with module.entering(fb, function, source, node):
        values = _annotated(fb, source, values, node)
        instance = _instance(fb, function, source, values)
    _count_uses(fb, instance, list(values.values()))
    if fb.is_dry:
        return _rebuilt(instance.result, None, list(values.values()))
    operands = [leaf for value in values.values() for leaf in _leaves(fb, value)]
    call = func.CallOp.create(
        operands=operands,
        result_types=instance.result_types,
        properties={"callee": SymbolRefAttr(instance.symbol)},
    )
    fb.append(call)
    return _rebuilt(instance.result, iter(call.results), list(values.values()))


def _instance(
    fb: FunctionBuilder, function: python_types.FunctionType, source: FunctionSource, values: dict[str, Value]
) -> HelperInstance:
    """Returns the helper compiled for these arguments, compiling it at the first call."""
    module = fb.module
    key = (function, tuple(_key(value) for value in values.values()))
    for instance in module.helpers.setdefault(key, []):
        if instance.kernel in (None, module.kernel_name):
            return instance
    instance = _compiled(fb, source, values)
    module.helpers[key].append(instance)
    return instance


def _key(value: Value) -> object:
    """Returns what tells arguments apart that need different code."""
    match value:
        case Scalar(type=scalar, const=const) if value.is_weak:
            if const is None:
                raise UnknownTypeError
            return (scalar.name, repr(const))
        case Scalar(type=scalar):
            return scalar.name
        case Array(type=array):
            return array
        case FixedArray(type=fixed):
            return fixed
        case Tuple(items=items):
            return tuple(_key(item) for item in items)
        case Static(obj=obj):
            return ("static", obj if isinstance(obj, str | None) else id(obj))
        case _:
            raise AssertionError(f"an argument that is {describe(value)}")


def _bound_arguments(
    fb: FunctionBuilder, function: python_types.FunctionType, source: FunctionSource, node: ast.Call
) -> dict[str, Value]:
    """Returns the value of each parameter of a call, defaults included.

    Raises:
        CompileError: missing, extra or unknown arguments, or parameters that kernels do not have.
    """
    arguments = source.tree.args
    name = function.__name__
    if arguments.vararg or arguments.kwarg:
        extra = arguments.vararg or arguments.kwarg
        raise fb.error(
            node,
            f"'{name}' has the parameter *{extra.arg if extra else ''}, which kernels cannot call",
            "LP2030",
            hint="give it a fixed list of parameters",
        )
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    given: dict[str, Value] = {}
    for position, part in enumerate(node.args):
        if isinstance(part, ast.Starred):
            raise fb.error(part, "kernels have no '*' arguments", "LP2030", hint="write the arguments out")
        if position >= len(positional):
            raise fb.error(
                part,
                f"'{name}' takes {len(positional)} positional arguments, found {len(node.args)}",
                "LP2045",
            )
        given[positional[position]] = _argument(fb, part)
    known = [*(a.arg for a in arguments.args), *(a.arg for a in arguments.kwonlyargs)]
    for keyword in node.keywords:
        if keyword.arg is None:
            raise fb.error(
                keyword, "kernels have no '**' arguments", "LP2030", hint="write the arguments out"
            )
        if keyword.arg not in known:
            raise fb.error(keyword, f"'{name}' has no parameter '{keyword.arg}'", "LP2045")
        if keyword.arg in given:
            raise fb.error(keyword, f"'{name}' gets '{keyword.arg}' twice", "LP2045")
        given[keyword.arg] = _argument(fb, keyword.value)
    return {p: given[p] if p in given else _default(fb, function, p, node) for p in _parameters(source)}


def _parameters(source: FunctionSource) -> list[str]:
    arguments = source.tree.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _argument(fb: FunctionBuilder, node: ast.expr) -> Value:
    value = fb.evaluate(node)
    if not isinstance(value, Scalar | Array | FixedArray | Tuple | Static):
        raise fb.error(node, f"{describe(value)} cannot be an argument", "LP2045")
    if isinstance(value, FixedArray) and value.prefix:
        raise fb.error(
            node, "a row of a fixed array cannot be an argument", "LP2045", hint="pass the whole array"
        )
    return value


def _default(
    fb: FunctionBuilder, function: python_types.FunctionType, parameter: str, node: ast.Call
) -> Value:
    defaults = dict(function.__kwdefaults__ or {})
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    defaults.update(zip(names[len(names) - len(values) :], values, strict=True))
    if parameter not in defaults:
        raise fb.error(node, f"'{function.__name__}' gets no value for '{parameter}'", "LP2045")
    return captured(fb, defaults[parameter], f"the default of '{parameter}'", node)


def _annotated(
    fb: FunctionBuilder, source: FunctionSource, values: dict[str, Value], node: ast.Call
) -> dict[str, Value]:
    """Converts arguments to the scalar types that the helper's annotations name."""
    arguments = source.tree.args
    result = dict(values)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        wanted = annotation_type(fb, source, argument.annotation)
        value = values[argument.arg]
        if wanted is None or not isinstance(value, Scalar):
            continue
        if isinstance(wanted, ScalarType):
            result[argument.arg] = store_convert(fb, value, wanted, node, f"parameter '{argument.arg}'")
        elif wanted is float and not value.type.is_float:
            result[argument.arg] = store_convert(fb, value, F32, node, f"parameter '{argument.arg}'")
    return result


def annotation_type(fb: FunctionBuilder, source: FunctionSource, annotation: ast.expr | None) -> object:
    """Returns the scalar type that a helper's annotation names, or Python's own int, float, bool; else None."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return None
    parts: list[str] = []
    while isinstance(annotation, ast.Attribute):
        parts.append(annotation.attr)
        annotation = annotation.value
    if not isinstance(annotation, ast.Name):
        return None  # an array or something that only type checkers read
    obj = source.resolve(annotation.id)
    for part in reversed(parts):
        obj = getattr(obj, part, None)
    if isinstance(obj, ScalarType):
        return obj
    return obj if isinstance(obj, type) and scalar_of(obj) is not None else None


def _compiled(fb: FunctionBuilder, source: FunctionSource, values: dict[str, Value]) -> HelperInstance:
    """Compiles a helper into the module."""
    module = fb.module
    helper = FunctionBuilder(module=module, source=source, facts=_facts(source), is_kernel=False)
    helper.local_names = frozenset(values) | frozenset(helper.facts.assignments)
    helper.node = source.tree
    _declare_result(helper, source)
    types = _bind_parameters(helper, values)
    infer_types(helper)
    for use in helper.accesses.values():
        use.reads = use.writes = False
    _store_parameters(helper)
    if VALUE in helper.variable_types:
        helper.env[VALUE] = _placeholder(helper)
    with helper.into(helper.block):
        build_statements(helper, source.tree.body, frozenset((VALUE,)))
        result = _returned(helper)
        leaves: list[SSAValue] = []
        result = _flattened(helper, result, leaves)
        helper.node = source.tree
        helper.append(func.ReturnOp.create(operands=leaves))
    for op in list(helper.block.ops):
        op.detach()
        helper.prologue.add_op(op)
    instance = HelperInstance(
        symbol=module.unique_symbol(source.name),
        kernel=module.kernel_name if helper.uses_work_items else None,
        result=result,
        result_types=tuple(leaf.type for leaf in leaves),
        accesses=helper.accesses,
        uses_barrier=helper.uses_barrier,
        uses_work_items=helper.uses_work_items,
    )
    module.functions.append(
        func.FuncOp.create(
            properties={
                "sym_name": StringAttr(instance.symbol),
                "function_type": FunctionType.from_lists(types, list(instance.result_types)),
                "sym_visibility": StringAttr("private"),
            },
            regions=[Region(helper.prologue)],
            location=helper.location(),
        )
    )
    return instance


def _facts(source: FunctionSource) -> FunctionFacts:
    facts = FunctionFacts.of(source.tree)
    if len(facts.returns) == 1 and facts.returns[0] is not source.tree.body[-1]:
        facts.assignments[VALUE] += 1  # its type must be known where the other paths begin
    for parameter in _parameters(source):
        if facts.assignments[parameter]:
            facts.assignments[parameter] += 1
    return facts


def _declare_result(helper: FunctionBuilder, source: FunctionSource) -> None:
    wanted = annotation_type(helper, source, source.tree.returns)
    if isinstance(wanted, ScalarType) and helper.facts.returns:
        helper.variable_types[VALUE] = wanted
        helper.declared.add(VALUE)


def _bind_parameters(helper: FunctionBuilder, values: dict[str, Value]) -> list[Attribute]:
    """Gives the parameters their block arguments; returns the types of these."""
    types: list[Attribute] = []
    for position, (name, value) in enumerate(values.items()):
        bound = _parameter(helper, name, position, value, types)
        helper.env[name] = bound
        if helper.facts.assignments[name]:
            from .assignment import variable_type

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
        case Array(type=array):
            helper.accesses[position] = AccessUse()
            return Array(array, position, name, argument(memref_type(array)))
        case FixedArray(type=fixed):
            return FixedArray(fixed, argument(fixed_array_type(fixed)))
        case Tuple(items=items):
            return Tuple(tuple(_parameter(helper, name, position, item, types) for item in items))
        case _:
            return value


def _store_parameters(helper: FunctionBuilder) -> None:
    """Brings parameters that the helper assigns again to the type that the variable has."""
    with helper.into(helper.block):
        for name in _parameters(helper.source):
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


def _flattened(helper: FunctionBuilder, value: Value, leaves: list[SSAValue]) -> Value:
    """Collects the IR values of a result; returns what remains of it without them."""
    match value:
        case Scalar(type=scalar, const=const) if const is None:
            ssa = helper.ssa(value)
            assert ssa is not None
            leaves.append(ssa)
            return Scalar(scalar, bounds=value.bounds)
        case Tuple(items=items):
            return Tuple(tuple(_flattened(helper, item, leaves) for item in items))
        case FixedArray(type=fixed, ssa=ssa) if ssa is not None:
            leaves.append(ssa)
            return FixedArray(fixed, None)
        case _:
            return value


def _rebuilt(shape: Value, results: object, arguments: list[Value]) -> Value:
    """Builds the value of a call from its results; `results` is None while types are inferred."""
    from collections.abc import Iterator
    from typing import cast

    leaves = cast("Iterator[SSAValue] | None", results)
    match shape:
        case Scalar(type=scalar, const=const) if const is None:
            return Scalar(scalar, None if leaves is None else next(leaves), bounds=shape.bounds)
        case FixedArray(type=fixed):
            return FixedArray(fixed, None if leaves is None else next(leaves))
        case Tuple(items=items):
            return Tuple(tuple(_rebuilt(item, results, arguments) for item in items))
        case Array(parameter=parameter):
            return arguments[parameter]
        case _:
            return shape


def _leaves(fb: FunctionBuilder, value: Value) -> list[SSAValue]:
    """Returns the operands that an argument is passed as."""
    match value:
        case Scalar() if not value.is_weak:
            ssa = fb.ssa(value)
            assert ssa is not None
            return [ssa]
        case Array(ssa=ssa) | FixedArray(ssa=ssa) if ssa is not None:
            return [ssa]
        case Tuple(items=items):
            return [leaf for item in items for leaf in _leaves(fb, item)]
        case _:
            return []


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
