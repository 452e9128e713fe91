"""Upstream's custom syntax of the `spirv` operations that are no pattern: modules, functions, memory, control flow.

spirv.func @f(%x: f32) -> f32 "None" { … }
%v = spirv.Load "StorageBuffer" %p ["Aligned", 4] : f32
spirv.BranchConditional %c [5, 10], ^then, ^else(%x : f32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser, UnresolvedOperand

from .dialects import spirv
from .dialects.spirv import attributes, enums
from .dialects.spirv.constants import ConstantOp
from .dialects.spirv.memory import CopyMemoryOp, VariableOp
from .dialects.spirv.spec_constants import SpecConstantCompositeOp, SpecConstantOp, SpecConstantOperationOp
from .dialects.spirv.types import PointerType
from .narrowing import is_array_attribute, is_dense, is_scalar_attribute


def spelled(parser: Parser, enumeration: Any, text: str) -> Any:
    """Returns the enumerant, or the flags, that a string spells."""
    value = None
    for word in text.split("|"):
        name = word if word in enumeration.__members__ else f"{word}_"
        if name not in enumeration.__members__:
            parser.raise_error(f"{word!r} is no {enumeration.__name__}")
        value = enumeration[name] if value is None else value | enumeration[name]
    return value


def _enumerant(parser: Parser, enumeration: Any) -> Any:
    return spelled(parser, enumeration, parser.parse_str_literal())


def _module(parser: Parser) -> Operation:
    name = parser.parse_optional_symbol_name()
    properties: dict[str, Attribute] = {} if name is None else {"sym_name": name}
    addressing = attributes.parse_enumerant(parser, enums.AddressingModel)
    properties["addressing_model"] = attributes.AddressingModelAttr(addressing)
    memory = attributes.parse_enumerant(parser, enums.MemoryModel)
    properties["memory_model"] = attributes.MemoryModelAttr(memory)
    if parser.parse_optional_keyword("requires") is not None:
        properties["vce_triple"] = parser.parse_attribute()
    given = parser.parse_optional_attr_dict_with_keyword()
    body = parser.parse_region()
    if not body.blocks:
        body.add_block(Block())
    return spirv.ModuleOp.create(
        properties=properties, attributes={} if given is None else given.data, regions=[body]
    )


def _function(parser: Parser) -> Operation:
    name = parser.parse_symbol_name()

    def argument() -> tuple[Parser.Argument | None, Attribute, dict[str, Attribute]]:
        found = parser.parse_optional_argument()
        type_ = parser.parse_type() if found is None else found.type  # a declaration names no arguments
        return found, type_, parser.parse_optional_dictionary_attr_dict()

    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
    results: Sequence[Attribute] = ()
    if parser.parse_optional_punctuation("->") is not None:
        several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        results = [parser.parse_type()] if several is None else several
    control = attributes.FunctionControlAttr(_enumerant(parser, enums.FunctionControl))
    given = parser.parse_optional_attr_dict_with_keyword()
    found: dict[str, Attribute] = {} if given is None else dict(given.data)
    entry = [argument for argument, _, _ in arguments if argument is not None]
    properties: dict[str, Attribute] = {
        "sym_name": name,
        "function_type": FunctionType.from_lists([type_ for _, type_, _ in arguments], results),
        "function_control": control,
    }
    if "linkage_attributes" in found:
        properties["linkage_attributes"] = found.pop("linkage_attributes")
    if any(row for _, _, row in arguments):
        properties["arg_attrs"] = ArrayAttr([DictionaryAttr(row) for _, _, row in arguments])
    body = parser.parse_optional_region(entry) or Region()
    return spirv.FuncOp.create(properties=properties, attributes=found, regions=[body])


def _global(parser: Parser) -> Operation:
    properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
    found: dict[str, Attribute] = {}
    while (word := parser.parse_optional_keyword("initializer") or _binding(parser)) is not None:
        with parser.in_parens():
            if word == "initializer":
                properties["initializer"] = SymbolRefAttr(parser.parse_symbol_name())
            elif word == "bind":
                properties["descriptor_set"] = IntegerAttr(parser.parse_integer(), i32)
                parser.parse_punctuation(",")
                properties["binding"] = IntegerAttr(parser.parse_integer(), i32)
            else:
                found["built_in"] = StringAttr(parser.parse_str_literal())
    found.update(parser.parse_optional_attr_dict())
    parser.parse_punctuation(":")
    properties["type"] = parser.parse_type()
    for name in ("binding", "descriptor_set"):
        if name in found:
            properties[name] = found.pop(name)
    return spirv.GlobalVariableOp.create(properties=properties, attributes=found)


def _binding(parser: Parser) -> str | None:
    return parser.parse_optional_keyword("bind") or parser.parse_optional_keyword("built_in")


def _spec_constant(parser: Parser) -> Operation:
    properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
    found: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("spec_id") is not None:
        with parser.in_parens():
            found["spec_id"] = IntegerAttr(parser.parse_integer(), i32)
    parser.parse_punctuation("=")
    properties["default_value"] = parser.parse_attribute()
    return SpecConstantOp.create(properties=properties, attributes=found)


def _spec_composite(parser: Parser) -> Operation:
    name = parser.parse_symbol_name()
    parts = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_symbol_name)
    parser.parse_punctuation(":")
    return SpecConstantCompositeOp.create(
        properties={
            "sym_name": name,
            "type": parser.parse_type(),
            "constituents": ArrayAttr([SymbolRefAttr(part) for part in parts]),
        }
    )


def _spec_operation(parser: Parser) -> Operation:
    parser.parse_keyword("wraps")
    start = parser.pos
    operation = parser.parse_operation()
    if len(operation.results) != 1:
        parser.raise_error("an operation of specialization constants has one result", start)
    return SpecConstantOperationOp(operation)


def _entry_point(parser: Parser) -> Operation:
    model = attributes.ExecutionModelAttr(_enumerant(parser, enums.ExecutionModel))
    function = SymbolRefAttr(parser.parse_symbol_name())
    interface: list[Attribute] = []
    while parser.parse_optional_punctuation(",") is not None:
        interface.append(SymbolRefAttr(parser.parse_symbol_name()))
    return spirv.EntryPointOp.create(
        properties={"execution_model": model, "fn": function, "interface": ArrayAttr(interface)}
    )


def _execution_mode(parser: Parser) -> Operation:
    function = SymbolRefAttr(parser.parse_symbol_name())
    mode = attributes.ExecutionModeAttr(_enumerant(parser, enums.ExecutionMode))
    values: list[Attribute] = []
    while parser.parse_optional_punctuation(",") is not None:
        values.append(IntegerAttr(parser.parse_integer(), i32))
    return spirv.ExecutionModeOp.create(
        properties={"fn": function, "execution_mode": mode, "values": ArrayAttr(values)}
    )


def _constant(parser: Parser) -> Operation:
    start = parser.pos
    value = parser.parse_attribute()
    if parser.parse_optional_punctuation(":") is not None:
        type_ = parser.parse_type()
    elif is_scalar_attribute(value):
        type_ = value.type
    elif is_dense(value):
        type_ = value.get_type()
    else:
        parser.raise_error(
            "the type of a constant is missing" if is_array_attribute(value) else "no constant", start
        )
    return ConstantOp.create(properties={"value": value}, result_types=[type_])


def _variable(parser: Parser) -> Operation:
    given = None
    if parser.parse_optional_keyword("init") is not None:
        with parser.in_parens():
            given = parser.parse_unresolved_operand()
    found = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, PointerType):
        parser.raise_error(f"expected !spirv.ptr<…, Function>, found {type_}", start)
    op = VariableOp(type_, None if given is None else parser.resolve_operand(given, type_.pointee))
    op.attributes.update(found)
    return op


def _pointer(parser: Parser) -> tuple[enums.StorageClass, UnresolvedOperand]:
    storage_class = _enumerant(parser, enums.StorageClass)
    return storage_class, parser.parse_unresolved_operand()


def _memory_access(parser: Parser, prefix: str = "") -> dict[str, Attribute]:
    """Reads ``["Aligned", 4]``, if it is there."""
    if parser.parse_optional_punctuation("[") is None:
        return {}
    access = _enumerant(parser, enums.MemoryAccess)
    found: dict[str, Attribute] = {f"{prefix}memory_access": attributes.MemoryAccessAttr(access)}
    if parser.parse_optional_punctuation(",") is not None:
        found[f"{prefix}alignment"] = IntegerAttr(parser.parse_integer(), i32)
    parser.parse_punctuation("]")
    return found


def _load(parser: Parser) -> Operation:
    storage_class, pointer = _pointer(parser)
    properties = _memory_access(parser)
    found = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    operand = parser.resolve_operand(pointer, PointerType.get(type_, storage_class))
    return spirv.LoadOp.create(
        operands=[operand], result_types=[type_], properties=properties, attributes=found
    )


def _store(parser: Parser) -> Operation:
    storage_class, pointer = _pointer(parser)
    parser.parse_punctuation(",")
    value = parser.parse_unresolved_operand()
    properties = _memory_access(parser)
    found = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    types = [PointerType.get(type_, storage_class), type_]
    operands = parser.resolve_operands([pointer, value], types, parser.pos)
    return spirv.StoreOp.create(operands=operands, properties=properties, attributes=found)


def _copy(parser: Parser) -> Operation:
    target_class, target = _pointer(parser)
    parser.parse_punctuation(",")
    source_class, source = _pointer(parser)
    properties = _memory_access(parser)
    # MLIR 19 writes a comma here also where nothing follows.
    if parser.parse_optional_punctuation(",") is not None:
        properties.update(_memory_access(parser, "source_"))
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    types = [PointerType.get(type_, target_class), PointerType.get(type_, source_class)]
    operands = parser.resolve_operands([target, source], types, parser.pos)
    return CopyMemoryOp.create(operands=operands, properties=properties)


def _successor(parser: Parser) -> tuple[Block, list[Any]]:
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, []
    values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, list(parser.resolve_operands(values, types, parser.pos))


def _branch(parser: Parser) -> Operation:
    block, values = _successor(parser)
    return spirv.BranchOp.create(operands=values, successors=[block])


def _branch_conditional(parser: Parser) -> Operation:
    from xdsl.dialects.builtin import i1

    condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
    properties: dict[str, Attribute] = {}
    weights = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if weights is not None:
        properties["branch_weights"] = ArrayAttr([IntegerAttr(weight, i32) for weight in weights])
    parser.parse_punctuation(",")
    true_block, true_values = _successor(parser)
    parser.parse_punctuation(",")
    false_block, false_values = _successor(parser)
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(
        i32, [1, len(true_values), len(false_values)]
    )
    return spirv.BranchConditionalOp.create(
        operands=[condition, *true_values, *false_values],
        properties=properties,
        successors=[true_block, false_block],
    )


def _construct(kind: type[Operation], name: str, attribute: Any) -> Callable[[Parser], Operation]:
    """A selection or a loop."""

    def read(parser: Parser) -> Operation:
        control = next(iter(attribute.enumeration.__members__.values()))
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            results = several or parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if parser.parse_optional_keyword("control") is not None:
            with parser.in_parens():
                control = attributes.parse_enumerant(parser, attribute.enumeration)
                while parser.parse_optional_punctuation("|") is not None:
                    control |= attributes.parse_enumerant(parser, attribute.enumeration)
        body = parser.parse_region()
        return kind.create(result_types=results, properties={name: attribute(control)}, regions=[body])

    return read


STRUCTURE_SYNTAX: dict[str, Callable[[Parser], Operation]] = {
    "spirv.module": _module,
    "spirv.func": _function,
    "spirv.GlobalVariable": _global,
    "spirv.SpecConstant": _spec_constant,
    "spirv.SpecConstantComposite": _spec_composite,
    "spirv.SpecConstantOperation": _spec_operation,
    "spirv.EntryPoint": _entry_point,
    "spirv.ExecutionMode": _execution_mode,
    "spirv.Constant": _constant,
    "spirv.Variable": _variable,
    "spirv.Load": _load,
    "spirv.Store": _store,
    "spirv.CopyMemory": _copy,
    "spirv.Branch": _branch,
    "spirv.BranchConditional": _branch_conditional,
    "spirv.mlir.selection": _construct(
        spirv.SelectionOp, "selection_control", attributes.SelectionControlAttr
    ),
    "spirv.mlir.loop": _construct(spirv.LoopOp, "loop_control", attributes.LoopControlAttr),
}
"""What reads each operation behind its name."""
