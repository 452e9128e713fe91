"""Modules, functions, entry points and globals (SPIR-V 1.6 §2.4 and §3.52.9).

Their constructors call that of `Operation`: IRDL's sorts operands and results into segments, of which there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    IsolatedFromAbove,
    NoTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)

from ...attributes import i32_attribute, symbol_reference, text_attribute
from ...create import append_all, empty_block, initialise, region_of
from ...narrowing import is_array_attribute
from .attributes import (
    AddressingModelAttr,
    DecorationAttr,
    ExecutionModeAttr,
    ExecutionModelAttr,
    FunctionControlAttr,
    LinkageAttributesAttr,
    MemoryModelAttr,
    VerCapExtAttr,
)
from .base import check_in_module, check_same, fail, inside_spirv_module, lookup_symbol
from .constants import is_constant_for
from .enums import (
    AddressingModel,
    Decoration,
    ExecutionMode,
    ExecutionModel,
    FunctionControl,
    LinkageType,
    MemoryModel,
    StorageClass,
)
from .types import PointerType


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """One SPIR-V module: globals, functions and entry points in one block without terminator.

    The attribute `member_names = {Node = ["next", "value"]}` names members of structs, which types cannot: in upstream
    as here, a struct is compared by its name and members.  MLIR keeps the attribute and writes no OpMemberName.
    """

    name = "spirv.module"

    addressing_model = prop_def(AddressingModelAttr)
    memory_model = prop_def(MemoryModelAttr)
    vce_triple = opt_prop_def(VerCapExtAttr)
    sym_name = opt_prop_def(StringAttr)
    body = region_def("single_block")

    member_names = opt_attr_def(DictionaryAttr)

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolTable())

    def __init__(
        self,
        ops: Sequence[Operation] = (),
        *,
        addressing_model: AddressingModel = AddressingModel.Logical,
        memory_model: MemoryModel = MemoryModel.GLSL450,
        vce_triple: VerCapExtAttr | None = None,
        sym_name: str | None = None,
    ):
        properties: dict[str, Attribute] = {
            "addressing_model": AddressingModelAttr(addressing_model),
            "memory_model": MemoryModelAttr(memory_model),
        }
        if vce_triple is not None:
            properties["vce_triple"] = vce_triple
        if sym_name is not None:
            properties["sym_name"] = StringAttr(sym_name)
        body = empty_block()
        append_all(body, ops)
        initialise(self, properties, regions=(region_of(body),))

    def names_of_members(self, struct: str) -> tuple[str, ...]:
        """Returns the names of the members of the struct of a name, empty ones where members have none."""
        names = None if self.member_names is None else self.member_names.data.get(struct)
        parts = names.data if names is not None and is_array_attribute(names) else ()
        return tuple(part.data for part in parts if isinstance(part, StringAttr))

    def verify_(self) -> None:
        for names in () if self.member_names is None else self.member_names.data.values():
            if not (is_array_attribute(names) and all(isinstance(name, StringAttr) for name in names)):
                fail(self, f"expects member_names to give a list of strings for each struct, found {names}")
        entry_points: set[tuple[str, Attribute]] = set()
        for op in self.body.block.ops:
            if not op.name.startswith("spirv."):
                fail(self, f"holds operations of the spirv dialect, found {op.name}")
            if isinstance(op, EntryPointOp):
                key = (op.exported_name, op.execution_model)
                if key in entry_points:
                    fail(op, f"@{op.exported_name} is there twice for one execution model")
                entry_points.add(key)


@cache
def _control(control: FunctionControl) -> FunctionControlAttr:
    return FunctionControlAttr(control)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function: at most one result, its body a CFG, symbol `sym_name`.

    With `linkage_attributes` it is a symbol of the linker as well; an import has no body.  `arg_attrs` may decorate
    each parameter once, as in upstream: `[{spirv.decoration = #spirv.decoration<AliasedPointer>}]`.
    """

    name = "spirv.func"

    function_type = prop_def(FunctionType)
    sym_name = prop_def(StringAttr)
    function_control = prop_def(FunctionControlAttr)
    linkage_attributes = opt_prop_def(LinkageAttributesAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def()

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        body: Region | None = None,
        function_control: FunctionControl = FunctionControl.None_,
        linkage_attributes: LinkageAttributesAttr | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": text_attribute(name),
            "function_type": function_type,
            "function_control": _control(function_control),
        }
        if linkage_attributes is not None:
            properties["linkage_attributes"] = linkage_attributes
        body = body or Region(Block(arg_types=function_type.inputs.data))
        initialise(self, properties, regions=(body,))

    @property
    def decorations(self) -> tuple[Decoration | None, ...]:
        """Those of the parameters in order; none where no parameter has one."""
        rows = () if self.arg_attrs is None else self.arg_attrs.data
        found = [row.data.get(DecorationAttr.name) for row in rows]
        return tuple(part.data if isinstance(part, DecorationAttr) else None for part in found)

    @property
    def is_import(self) -> bool:
        """Whether another module defines it."""
        linkage = self.linkage_attributes
        return linkage is not None and linkage.linkage_type is LinkageType.Import

    def verify_(self) -> None:
        check_in_module(self)
        if self.linkage_attributes is not None and not self.linkage_attributes.linkage_name:
            fail(self, f"@{self.sym_name.data} has an empty linkage name")
        if len(self.function_type.outputs.data) > 1:
            fail(self, f"@{self.sym_name.data} can have one result, found {self.function_type}")
        if self.arg_attrs is not None and len(self.arg_attrs) != len(self.function_type.inputs):
            fail(
                self, f"@{self.sym_name.data} has one of arg_attrs for each parameter, found {self.arg_attrs}"
            )
        entry = self.body.blocks.first
        if self.is_import:
            if entry is not None:
                fail(self, f"@{self.sym_name.data} is imported, so it has no body here")
            return
        if entry is None:
            if inside_spirv_module(self):
                fail(self, f"@{self.sym_name.data} has no body, and no linkage_attributes that import it")
            return
        if tuple(entry.arg_types) != self.function_type.inputs.data:
            found = ", ".join(map(str, entry.arg_types))
            fail(
                self,
                f"@{self.sym_name.data} has type {self.function_type}, but its entry block takes ({found})",
            )


@irdl_op_definition
class EntryPointOp(IRDLOperation):
    """Exports function `fn` under its symbol's name; `interface` lists the globals that it uses.

    `entry_name`, which upstream lacks, is another name: one function may be several entry points.
    """

    name = "spirv.EntryPoint"

    execution_model = prop_def(ExecutionModelAttr)
    fn = prop_def(FlatSymbolRefAttr)
    interface = prop_def(ArrayAttr[FlatSymbolRefAttr])
    entry_name = opt_attr_def(StringAttr)

    def __init__(
        self,
        fn: str,
        interface: Sequence[str] = (),
        execution_model: ExecutionModel = ExecutionModel.GLCompute,
        entry_name: str | None = None,
    ):
        properties: dict[str, Attribute] = {
            "execution_model": ExecutionModelAttr(execution_model),
            "fn": symbol_reference(fn),
            "interface": ArrayAttr(map(symbol_reference, interface)),
        }
        attributes = {} if entry_name is None else {"entry_name": text_attribute(entry_name)}
        initialise(self, properties, attributes)

    @property
    def exported_name(self) -> str:
        """The name of the entry point."""
        return self.fn.root_reference.data if self.entry_name is None else self.entry_name.data

    def verify_(self) -> None:
        check_in_module(self)
        function = lookup_symbol(self, self.fn)
        if not isinstance(function, FuncOp):
            fail(self, f"@{self.fn.root_reference.data} is no spirv.func but {function.name}")
        if function.function_type.inputs.data or function.function_type.outputs.data:
            fail(self, f"@{function.sym_name.data} takes and returns nothing, found {function.function_type}")
        for reference in self.interface:
            if not isinstance(lookup_symbol(self, reference), GlobalVariableOp):
                fail(self, f"interface @{reference.root_reference.data} is no spirv.GlobalVariable")


_MODE_VALUES = {
    ExecutionMode.LocalSize: 3,
    ExecutionMode.LocalSizeId: 3,
    ExecutionMode.LocalSizeHint: 3,
    ExecutionMode.ContractionOff: 0,
    ExecutionMode.SubgroupUniformControlFlowKHR: 0,
    ExecutionMode.MaximallyReconvergesKHR: 0,
}


@irdl_op_definition
class ExecutionModeOp(IRDLOperation):
    """A mode of entry point `fn`, for instance LocalSize with values (x, y, z).

    The attribute `spec_constant.local_size_ids = array<i32: x, y, z>` beside LocalSize holds SpecIds: the
    local size is then specialisable, and the values are its default.  Values of LocalSizeId (not in upstream
    MLIR) are symbols of specialization constants, or numbers.
    """

    name = "spirv.ExecutionMode"

    fn = prop_def(FlatSymbolRefAttr)
    execution_mode = prop_def(ExecutionModeAttr)
    values = prop_def(ArrayAttr[IntegerAttr | SymbolRefAttr])

    def __init__(self, fn: str, execution_mode: ExecutionMode, values: Sequence[int | SymbolRefAttr] = ()):
        numbers = [v if isinstance(v, SymbolRefAttr) else i32_attribute(v) for v in values]
        properties: dict[str, Attribute] = {
            "fn": symbol_reference(fn),
            "execution_mode": ExecutionModeAttr(execution_mode),
            "values": ArrayAttr(numbers),
        }
        initialise(self, properties)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The values that are numbers."""
        return tuple(value.value.data for value in self.values if isinstance(value, IntegerAttr))

    def verify_(self) -> None:
        check_in_module(self)
        mode = self.execution_mode.data
        expected = _MODE_VALUES.get(mode, 1)
        if len(self.values) != expected:
            fail(self, f"{mode.name} takes {expected} values, found {len(self.values)}")
        for value in self.values:
            if isinstance(value, SymbolRefAttr):
                if mode is not ExecutionMode.LocalSizeId:
                    fail(self, f"{mode.name} takes numbers, found {value}")
                lookup_symbol(self, value)
            elif mode in (ExecutionMode.LocalSize, ExecutionMode.LocalSizeId) and value.value.data < 1:
                fail(self, f"{mode.name} is at least 1, found {list(self.numbers)}")
        lookup_symbol(self, self.fn)


@irdl_op_definition
class GlobalVariableOp(IRDLOperation):
    """A variable of the module: buffer, push constants, built-in, work-group memory; `type` is a pointer.

    Beyond MLIR 19, `initializer` may be a constant instead of the symbol of one.
    """

    name = "spirv.GlobalVariable"

    sym_name = prop_def(StringAttr)
    type = prop_def(PointerType)
    binding = opt_prop_def(IntegerAttr)
    descriptor_set = opt_prop_def(IntegerAttr)
    initializer = opt_prop_def(Attribute)
    built_in = opt_attr_def(StringAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        name: str,
        type_: PointerType,
        *,
        binding: int | None = None,
        descriptor_set: int | None = None,
        initializer: str | Attribute | None = None,
        built_in: str | None = None,
    ):
        properties: dict[str, Attribute] = {"sym_name": text_attribute(name), "type": type_}
        if binding is not None:
            properties["binding"] = i32_attribute(binding)
        if descriptor_set is not None:
            properties["descriptor_set"] = i32_attribute(descriptor_set)
        if initializer is not None:
            is_symbol = isinstance(initializer, str)
            properties["initializer"] = symbol_reference(initializer) if is_symbol else initializer
        attributes = {} if built_in is None else {"built_in": text_attribute(built_in)}
        initialise(self, properties, attributes)

    def verify_(self) -> None:
        check_in_module(self)
        storage_class = self.type.storage_class.data
        if storage_class in (StorageClass.Function, StorageClass.Generic):
            fail(self, f"@{self.sym_name.data} cannot be in storage class {storage_class.name}")
        if (self.binding is None) != (self.descriptor_set is None):
            fail(self, f"@{self.sym_name.data} has either both binding and descriptor_set or neither")
        if isinstance(self.initializer, SymbolRefAttr):
            lookup_symbol(self, self.initializer)
        elif self.initializer is not None and not is_constant_for(self.initializer, self.type.pointee):
            fail(self, f"@{self.sym_name.data} of {self.type.pointee} cannot start as {self.initializer}")


@irdl_op_definition
class AddressOfOp(IRDLOperation):
    """The pointer to global variable `variable`."""

    name = "spirv.mlir.addressof"

    variable = prop_def(FlatSymbolRefAttr)
    pointer = result_def()

    traits = traits_def(Pure())

    def __init__(self, variable: str, type_: PointerType):
        Operation.__init__(self, properties={"variable": symbol_reference(variable)}, result_types=[type_])

    def verify_(self) -> None:
        if not inside_spirv_module(self):
            return
        variable = lookup_symbol(self, self.variable)
        if not isinstance(variable, GlobalVariableOp):
            fail(self, f"@{self.variable.root_reference.data} is no spirv.GlobalVariable but {variable.name}")
        check_same(self, "its result", self.pointer.type, variable.type)


OPS: list[type[Operation]] = [
    ModuleOp,
    FuncOp,
    EntryPointOp,
    ExecutionModeOp,
    GlobalVariableOp,
    AddressOfOp,
]
