"""Calls of functions of other translation units, and the functions that a unit exports.

A caller has a declaration and no body, so arguments and result have exactly the annotated types: a vector or
struct is passed as its scalars, a fixed array whole, and of a kernel handler nothing: constants are known by symbol.
"""

from __future__ import annotations

import ast

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Region, SSAValue

from ..ir.attribute_values import integers
from ..ir.dialects.aspect import DECLARED, EXTERNAL, UNIT, USED, aspects_attribute
from ..ir.dialects.kernel import LINKAGE_NAME
from ..ir.errors import LinkError
from .composites import convert_composite, typed_value_of
from .errors import compile_error
from .externals import EXTERNALS, ExternalFunction
from .fixed_arrays import fixed_array_type
from .function_attributes import attributes_of
from .function_builder import FunctionBuilder
from .helper_arguments import annotated, bound_arguments
from .helper_results import leaves_of, rebuilt
from .helpers import HelperInstance, call_helper, compile_helper
from .ir_types import ir_type
from .module_builder import ModuleBuilder
from .spec_parameters import IN_KERNEL
from .types import MAX_DIMENSIONS, Type
from .values import FixedArray, Scalar, Static, Tuple, Value, describe


def call_external(fb: FunctionBuilder, function: ExternalFunction, node: ast.Call) -> Value:
    """Compiles a call of an exported or declared function; in its own unit it is an ordinary function.

    So it is where it checks what it does, in debug mode or by an assert, as only a kernel has a report, and in the
    interpreter, which links nothing.

    Raises:
        CompileError: arguments that do not match.
        LinkError: two functions are known to the linker by one name.
    """
    here = _compiled_here(fb.module, function)
    if here is function:
        return call_helper(fb, function.function, node)
    values = bound_arguments(fb, function.function, function.source, node)
    fb.node = node
    values = annotated(fb, function.source, values, node)
    for name in function.signature.handlers:  # a handler exists in the kernel only: no value is passed
        if not (isinstance(found := values[name], Static) and found.obj is IN_KERNEL):
            raise fb.error(
                node,
                f"parameter '{name}' of '{function.__name__}' is an lp.KernelHandler, found {describe(values[name])}",
                "LP2045",
                hint="hand on the kernel's own handler",
            )
    operands = [
        leaf
        for parameter in function.signature.parameters
        for leaf in _operands(fb, parameter.name, parameter.type, values[parameter.name], node)
    ]
    if here is not None:
        return _called_as_declared(fb, here, function, operands, node)
    symbol = _declared(fb, function, node)
    result = Static(None, "None") if function.result is None else typed_value_of(function.result)
    if fb.is_dry:
        return rebuilt(result, None, [])
    call = func.CallOp.create(
        operands=operands,
        result_types=_types_of(function.result),
        properties={"callee": SymbolRefAttr(symbol)},
    )
    fb.append(call)
    return rebuilt(result, iter(call.results), [])


def _called_as_declared(
    fb: FunctionBuilder,
    exported: ExternalFunction,
    declared: ExternalFunction,
    operands: list[SSAValue],
    node: ast.Call,
) -> Value:
    """Compiles a call of the function that a declaration means, as linking would make it: by position, whatever the
    names, the defaults and the structs are of the one and of the other."""
    passed = None if fb.is_dry else iter(operands)
    values: dict[str, Value] = {name: Static(IN_KERNEL, name) for name in exported.signature.handlers}
    for parameter in exported.signature.parameters:
        values[parameter.name] = rebuilt(typed_value_of(parameter.type), passed, [])
    result = call_helper(fb, exported.function, node, values)
    if declared.result is None:
        return result
    returned = None if fb.is_dry else iter(leaves_of(fb, result))
    return rebuilt(typed_value_of(declared.result), returned, [])


def _compiled_here(module: ModuleBuilder, function: ExternalFunction) -> ExternalFunction | None:
    """Returns the function that is compiled with its caller, None where it is linked later."""
    if function.is_defined:
        is_here = function.unit == module.unit or module.is_interpreted or _checks_something(module, function)
        return function if is_here else None
    found = EXTERNALS.exporting(function.symbol) if module.is_interpreted else ()
    return found[0] if len(found) == 1 and not differ(found[0], function) else None


def _checks_something(module: ModuleBuilder, function: ExternalFunction) -> bool:
    return module.checks == "debug" or (module.checks == "asserts" and function.has_asserts)


def _operands(fb: FunctionBuilder, name: str, kind: Type, value: Value, node: ast.AST) -> list[SSAValue]:
    converted = convert_composite(fb, value, kind, node, f"parameter '{name}'")
    return [] if fb.is_dry else leaves_of(fb, converted)


def _types_of(kind: Type | None) -> list[Attribute]:
    """Returns the IR types that a value of a type is passed as."""
    return [] if kind is None else _leaf_types(typed_value_of(kind))


def _leaf_types(value: Value) -> list[Attribute]:
    match value:
        case Scalar(type=scalar):
            return [ir_type(scalar)]
        case FixedArray(type=fixed):
            return [fixed_array_type(fixed)]
        case Tuple(items=items):
            return [type_ for item in items for type_ in _leaf_types(item)]
        case _:
            raise AssertionError(f"a value that is {describe(value)}")


def _signature(function: ExternalFunction) -> FunctionType:
    inputs = [type_ for p in function.signature.parameters for type_ in _types_of(p.type)]
    return FunctionType.from_lists(inputs, _types_of(function.result))


def _declared(fb: FunctionBuilder, function: ExternalFunction, node: ast.Call) -> str:
    """Returns the symbol of the function's declaration in this module."""
    module = fb.module
    known = module.captures.imports.setdefault(function.symbol, function)
    if known is not function and ((known.is_defined and function.is_defined) or differ(known, function)):
        found = fb.error(
            node,
            f"'{function.symbol}' is the linker's name of two functions, of {known.unit} and of {function.unit}",
            LinkError.code,
            hint='give one of them another name with @lp.external("name")',
        )
        raise LinkError(found.message, diagnostics=found.diagnostics)
    if function.is_defined and not known.is_defined:
        module.captures.imports[function.symbol] = function
    symbol = module.imports.get(function.symbol)
    if symbol is None:
        symbol = module.imports[function.symbol] = module.unique_symbol(function.symbol)
        declaration = func.FuncOp.create(
            properties={
                "sym_name": StringAttr(symbol),
                "function_type": _signature(function),
                "sym_visibility": StringAttr("private"),
            },
            attributes=_attributes(function, symbol),
            regions=[Region()],
            location=fb.location(),
        )
        module.functions.append(declaration)
    elif known is not function:
        _declare_more(next(f for f in module.functions if f.sym_name.data == symbol), function)
    return symbol


def _declare_more(declaration: func.FuncOp, function: ExternalFunction) -> None:
    """Adds what another declaration of the same function says of it: all of them hold, as in C++."""
    more = _attributes(function, declaration.sym_name.data)
    for name in more.keys() & {DECLARED, USED}:
        known = integers(declaration.attributes.get(name)) or ()
        more[name] = aspects_attribute((*known, *(integers(more[name]) or ())))
    declaration.attributes |= more


def differ(one: ExternalFunction, other: ExternalFunction) -> bool:
    """Whether two functions take or return other types; the IR does not tell i32 from u32."""
    return _numbers(one) != _numbers(other)


def _numbers(function: ExternalFunction) -> tuple[list[str], list[str]]:
    """Returns the types of the numbers that a function takes, and of those that it returns."""
    taken = [name for p in function.signature.parameters for name in _spelled(typed_value_of(p.type))]
    return taken, [] if function.result is None else _spelled(typed_value_of(function.result))


def _spelled(value: Value) -> list[str]:
    match value:
        case Scalar(type=kind) | FixedArray(type=kind):
            return [repr(kind)]
        case Tuple(items=items):
            return [name for item in items for name in _spelled(item)]
        case _:
            raise AssertionError(f"a value that is {describe(value)}")


def _attributes(function: ExternalFunction, symbol: str) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {EXTERNAL: UnitAttr()}
    if function.is_defined:
        attributes[UNIT] = StringAttr(function.unit)
    if symbol != function.symbol:
        attributes[LINKAGE_NAME] = StringAttr(function.symbol)
    if function.declared_aspects is not None:
        attributes[DECLARED] = aspects_attribute(function.declared_aspects)
    used = attributes_of(function.function).uses_aspects
    if used and not function.is_defined:  # all that is known of a function that only another unit has
        attributes[USED] = aspects_attribute(used)
    return attributes


def build_external(module: ModuleBuilder, function: ExternalFunction) -> None:
    """Compiles an exported function into a module.

    Raises:
        CompileError: its body breaks a rule, uses what only a launched kernel has, or returns something else than
            annotated.
    """
    # Ids are refused below, with a better message than one about dimensions.
    module.kernel_name, module.rank, module.is_rank_given = function.symbol, MAX_DIMENSIONS, True
    values = {p.name: typed_value_of(p.type) for p in function.signature.parameters}
    values |= {name: Static(IN_KERNEL, name) for name in function.signature.handlers}
    checks, module.uses_reports = module.checks, False
    # A caller that knows the symbol alone has no report buffer for it: the function's own asserts are left out, and
    # those of helpers are noticed, which `_check_body` refuses.
    module.checks = "none" if function.has_asserts or checks == "none" else "asserts"
    instance = compile_helper(module, function.source, values, has_fixed_result=True)
    _check_body(function, instance, uses_reports=module.uses_reports)
    module.checks = checks
    made = module.functions[-1]
    assert made.sym_name.data == instance.symbol, "the function is the last that was compiled"
    made.sym_visibility = None  # public: an exported function is a root
    made.attributes.update(_attributes(function, instance.symbol))


def _check_body(function: ExternalFunction, instance: HelperInstance, *, uses_reports: bool) -> None:
    for is_used, what in (
        (instance.uses_barrier, "barriers, group functions or shared arrays"),
        (instance.uses_work_items, "ids or sizes of the launch"),
        (uses_reports, "print, or a helper with assert"),
    ):
        if is_used:
            raise compile_error(
                function.source,
                None,
                f"external function '{function.__name__}' uses {what}, which only a launched kernel has",
                code="LP2082",
                hint="pass the values as arguments, or make it a plain function, which is compiled with its caller",
            )
    if list(instance.result_types) != _types_of(function.result):
        raise compile_error(
            function.source,
            function.source.tree.returns,
            f"external function '{function.__name__}' returns {describe(instance.result)}; its annotation says "
            f"{function.result}",
            code="LP2049",
            hint="return a value of the annotated type on every path",
        )
