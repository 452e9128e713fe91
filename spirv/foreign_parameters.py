"""The parameters of a foreign entry point, and their order.

Names ``arg0``, ``arg1``, … decide where they are present.  Other parameters follow: buffers and images by
(set, binding), members of the push constants by offset, shared arrays whose length is a specialization constant.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.errors import FeatureNotSupportedError
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    LocalParameter,
    Parameter,
    ScalarParameter,
    ValueLeaf,
    ValueParameter,
)
from .binary import Instruction
from .clspv import ClspvArgument
from .foreign_images import image_parameter, is_image
from .foreign_types import ForeignTypes
from .module_view import ModuleView
from .reflection import DescriptorBinding, EntryPoint
from .tables import Decoration, Op, StorageClass

_NUMBERED = re.compile(r"arg(\d{1,6})")

_WIDE = frozenset({"i32", "u32", "i64", "u64", "f32", "f64"})
"""Scalars that lie in the argument block as they are."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What a launch has to give an entry point."""

    parameters: tuple[Parameter, ...]
    """In the order of the arguments."""
    bindings: Mapping[int, int]
    """The binding, in set 0, of each buffer variable by id."""
    block_bytes: int
    """Bytes of the argument block, a multiple of 4."""
    block_binding: int | None = None
    """The binding, in set 0, of the buffer that is the argument block; None: the push constants."""
    is_block_uniform: bool = False
    """Whether that is a uniform buffer; else it is a storage buffer."""


def interface_of(
    entry: EntryPoint,
    types: ForeignTypes,
    fixed_spec_ids: frozenset[int],
    arguments: Sequence[ClspvArgument] | None = None,
) -> Interface:
    """Returns the interface of an entry point.

    Args:
        entry: of a module that has no other.
        types: of the module.
        fixed_spec_ids: lengths that are no parameters: SpecIds of the local size and those that have a value.
        arguments: what clspv says about them, which then decides.

    Raises:
        FeatureNotSupportedError: arrays of descriptors, images that are no plain ones, pointers in push constants.
        SpirvError: a layout that is not explicit.
    """
    pairs = sorted({(found.descriptor_set, found.binding) for found in entry.bindings})
    bindings = {
        found.variable_id: pairs.index((found.descriptor_set, found.binding)) for found in entry.bindings
    }
    block = _block_of(entry, arguments or ())
    buffers: list[BufferParameter | ImageParameter] = []
    for binding, pair in enumerate(pairs):
        if pair == block:
            continue
        same = [found for found in entry.bindings if (found.descriptor_set, found.binding) == pair]
        is_picture = is_image(same[0], types)
        buffers.append(image_parameter(same, binding, types) if is_picture else _buffer(same, binding, types))
    values = sorted(_values(entry, types, block), key=lambda value: value.offset_bytes or 0)
    shared = _shared_arrays(entry, types, fixed_spec_ids)
    size = entry.push_constants.size_bytes if entry.push_constants else 0
    size = max([size, *(_end(value) for value in values)])
    if arguments is None:
        parameters = _in_order([*buffers, *values, *shared])
    else:
        by_pair = {pairs[buffer.binding]: buffer for buffer in buffers}
        by_id = {parameter.spec_ids[0]: parameter for parameter in shared}
        parameters = [_of_clspv(argument, by_pair, values, by_id) for argument in arguments]
        size = max([size, *(_end(p) for p in parameters if isinstance(p, ScalarParameter | ValueParameter))])
    place = None if block is None or block not in pairs else pairs.index(block)
    is_uniform = place is not None and _is_uniform(entry, types, pairs[place])
    # Drivers read uniform buffers by vectors of 16 bytes.
    unit = 16 if is_uniform else 4
    return Interface(_distinct(parameters), bindings, -(-size // unit) * unit, place, is_uniform)


def _is_uniform(entry: EntryPoint, types: ForeignTypes, pair: tuple[int, int]) -> bool:
    """Whether the variables at a set and binding, buffers, are uniform ones.

    Raises:
        FeatureNotSupportedError: they are no buffers, or of both kinds.
    """
    same = [found for found in entry.bindings if (found.descriptor_set, found.binding) == pair]
    for found in same:
        _require_buffer(found, types.view)
    kinds = {_Block(types, found).is_uniform for found in same}
    if len(kinds) > 1:
        raise FeatureNotSupportedError(
            f"set {pair[0]}, binding {pair[1]} is a uniform and a storage buffer; expected one of the two"
        )
    return kinds.pop()


def _block_of(entry: EntryPoint, arguments: Sequence[ClspvArgument]) -> tuple[int, int] | None:
    """Returns set and binding of the buffer that has the plain arguments, None where none has."""
    blocks = {argument.block for argument in arguments if argument.place[0] == "value"}
    if len(blocks) > 1 or (blocks - {None} and entry.push_constants is not None):
        raise FeatureNotSupportedError(
            "plain arguments lie in several buffers, or in push constants too; compile with clspv's "
            "-cluster-pod-kernel-args or -pod-pushconstant"
        )
    return blocks.pop() if blocks else None


def _of_clspv(
    argument: ClspvArgument,
    buffers: Mapping[tuple[int, int], BufferParameter | ImageParameter],
    values: Sequence[ScalarParameter | ValueParameter],
    shared: Mapping[int | None, LocalParameter],
) -> Parameter:
    """Returns the parameter of an argument; one that the code does not use is a value that goes nowhere."""
    kind, first, second = argument.place
    name = argument.name or f"arg{argument.ordinal}"
    if kind == "value":
        return _plain_value(name, first, second, values)
    found = buffers.get((first, second)) if kind == "binding" else shared.get(first)
    if found is None:
        raise FeatureNotSupportedError(
            f"argument '{name}' ({argument.ordinal}) is used by no code, so that nothing says what it takes; remove it "
            "from the kernel"
        )
    return replace(found, name=name)


def _plain_value(
    name: str, offset: int, size: int, values: Sequence[ScalarParameter | ValueParameter]
) -> ScalarParameter | ValueParameter:
    """Returns the value at some bytes of the argument block, whose struct may hold several arguments."""
    leaves: list[ValueLeaf] = []
    for value in values:
        start = value.offset_bytes or 0
        inner = (
            value.leaves
            if isinstance(value, ValueParameter)
            else (ValueLeaf(path="", dtype=value.dtype, offset_bytes=0),)
        )
        leaves += [
            replace(leaf, path=f"[{len(leaves)}]", offset_bytes=start + leaf.offset_bytes - offset)
            for leaf in inner
            if offset <= start + leaf.offset_bytes < offset + size
        ]
    if len(leaves) == 1 and leaves[0].dtype in _WIDE:
        return ScalarParameter(name=name, dtype=leaves[0].dtype, offset_bytes=offset)
    same = {leaf.dtype for leaf in leaves}
    spelling = f"{same.pop()}[{len(leaves)}]" if len(same) == 1 else f"{size} bytes"
    return ValueParameter(
        name=name, dtype=spelling, offset_bytes=offset, size_bytes=size, shape=(), leaves=tuple(leaves)
    )


def _in_order(parameters: Iterable[Parameter]) -> list[Parameter]:
    numbered: list[tuple[int, Parameter]] = []
    others: list[Parameter] = []
    for parameter in parameters:
        match = _NUMBERED.fullmatch(parameter.name)
        if match:
            numbered.append((int(match[1]), parameter))
        else:
            others.append(parameter)
    return [*(p for _, p in sorted(numbered, key=lambda pair: pair[0])), *others]


def _distinct(parameters: list[Parameter]) -> tuple[Parameter, ...]:
    """Returns parameters of which no two have one name: they can be given by name."""
    taken: set[str] = set()
    found: list[Parameter] = []
    for place, parameter in enumerate(parameters):
        name = stem = parameter.name or f"argument{place}"
        count = 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name)
        found.append(replace(parameter, name=name))
    return tuple(found)


# Buffers


def _buffer(same: list[DescriptorBinding], binding: int, types: ForeignTypes) -> BufferParameter:
    """Returns the parameter of the variables with one set and binding: views of the same buffer."""
    for found in same:
        _require_buffer(found, types.view)
    blocks = [_Block(types, found) for found in same]
    first = blocks[0]
    is_read = any(not found.non_readable for found in same)
    is_written = any(not block.is_uniform and not block.found.non_writable for block in blocks)
    element_types: tuple[str, ...] = first.element_types
    for block in blocks[1:]:
        element_types = tuple(name for name in element_types if name in block.element_types)
    return BufferParameter(
        name=next((block.name for block in blocks if block.name), ""),
        dtype=first.spelling,
        ndim=0,
        access={(True, True): "read_write", (False, True): "write"}.get((is_read, is_written), "read"),
        may_alias=not any(types.view.is_decorated(f.variable_id, Decoration.Restrict) for f in same),
        binding=binding,
        element_types=element_types,
        is_uniform=all(block.is_uniform for block in blocks),
        least_bytes=max(block.least_bytes for block in blocks),
    )


def _require_buffer(found: DescriptorBinding, view: ModuleView) -> None:
    where = f"{found.name or 'a variable'!r} (set {found.descriptor_set}, binding {found.binding})"
    if found.storage_class == StorageClass.UniformConstant or not found.is_block:
        raise FeatureNotSupportedError(
            f"{where} is no buffer and no image; kernels from source take these only"
        )
    pointee = view.definitions[
        view.definitions[view.definitions[found.variable_id].result_type or 0].operands[1]
    ]
    if pointee.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        raise FeatureNotSupportedError(
            f"{where} is an array of descriptors; expected one buffer at each binding"
        )


class _Block:
    """The struct of a buffer variable."""

    def __init__(self, types: ForeignTypes, found: DescriptorBinding) -> None:
        self.types, self.found, self.view = types, found, types.view
        pointer = self.view.definitions[self.view.definitions[found.variable_id].result_type or 0]
        self.struct = types.definition(pointer.operands[1])
        self.number = self.struct.result_id or 0

    @property
    def is_uniform(self) -> bool:
        """Whether it is a uniform buffer; before SPIR-V 1.3 storage buffers have its storage class too."""
        return self.found.storage_class == StorageClass.Uniform and not self.view.is_decorated(
            self.number, Decoration.BufferBlock
        )

    @property
    def name(self) -> str:
        """The variable's name, else that of its only member where it is a number of an argument, else the block's."""
        own = self.view.names.get(self.found.variable_id)
        member = self.view.member_names.get((self.number, 0), "")
        is_only = len(self.struct.operands) == 1 and _NUMBERED.fullmatch(member)
        return own or (member if is_only else self.view.names.get(self.number, ""))

    @property
    def _elements(self) -> Instruction | None:
        """The run-time array that is all of the block, or None."""
        if len(self.struct.operands) != 1:
            return None
        member = self.types.definition(self.struct.operands[0])
        return member if member.opcode == Op.TypeRuntimeArray else None

    @property
    def element_types(self) -> tuple[str, ...]:
        """The element types that arrays may have; () for any."""
        array = self._elements
        if array is None:
            return ()
        stride = self.view.decoration(array.result_id or 0, Decoration.ArrayStride)
        return self.types.element_types(array.operands[0], stride[0] if stride else 0)

    @property
    def spelling(self) -> str:
        """What messages call the content."""
        array = self._elements
        return self.types.spelling(self.number if array is None else array.operands[0])

    @property
    def least_bytes(self) -> int:
        """Bytes up to the end of the last member with a fixed size."""
        least = 0
        for index, member in enumerate(self.struct.operands):
            info = self.types.table.get(member)
            if info is not None and info.size_bytes is not None:
                least = max(least, self.types.member_offset(self.number, index) + info.size_bytes)
        return least


# Values


def _values(
    entry: EntryPoint, types: ForeignTypes, block: tuple[int, int] | None
) -> list[ScalarParameter | ValueParameter]:
    """Returns the members of the argument block: of the push constants, or of the buffer at `block`."""
    ids = [found.variable_id for found in entry.bindings if (found.descriptor_set, found.binding) == block]
    if not ids and entry.push_constants is None:
        return []
    variable = next(
        item
        for item in types.view.of_opcode(Op.Variable)
        if item.result_id in ids or (not ids and item.operands[0] == StorageClass.PushConstant)
    )
    struct = types.definition(types.view.definitions[variable.result_type or 0].operands[1])
    number = struct.result_id or 0
    return [_value(types, number, index, member) for index, member in enumerate(struct.operands)]


def _value(types: ForeignTypes, struct: int, index: int, kind: int) -> ScalarParameter | ValueParameter:
    name = types.view.member_names.get((struct, index), "")
    what = f"plain argument {name or index!r}"
    layout = types.layout(kind, types.member_matrix(struct, index), what)
    offset = types.member_offset(struct, index)
    if layout.spelling in _WIDE:
        return ScalarParameter(name=name, dtype=layout.spelling, offset_bytes=offset)
    return ValueParameter(
        name=name,
        dtype=layout.spelling,
        offset_bytes=offset,
        size_bytes=layout.size_bytes,
        shape=layout.shape or (),
        leaves=layout.leaves,
    )


def _end(value: ScalarParameter | ValueParameter) -> int:
    if isinstance(value, ValueParameter):
        return value.offset_bytes + value.size_bytes
    return (value.offset_bytes or 0) + int(value.dtype[1:]) // 8


# Shared memory


def _shared_arrays(
    entry: EntryPoint, types: ForeignTypes, fixed_spec_ids: frozenset[int]
) -> list[LocalParameter]:
    """Returns a parameter for each SpecId that is the length of shared arrays."""
    found: dict[int, LocalParameter] = {}
    for variable in entry.workgroup_variables:
        spec_id = variable.length_spec_id
        if spec_id is None or spec_id in fixed_spec_ids or spec_id in found:
            continue
        pointer = types.view.definitions[types.view.definitions[variable.variable_id].result_type or 0]
        array = types.definition(pointer.operands[1])
        found[spec_id] = LocalParameter(
            name=variable.name, dtype=_local_dtype(types, array.operands[0]), ndim=1, spec_ids=(spec_id,)
        )
    return list(found.values())


def _local_dtype(types: ForeignTypes, number: int) -> str:
    item = types.definition(number)
    if item.opcode == Op.TypeVector:
        return f"Vec[{types.spelling(item.operands[0])}, {item.operands[1]}]"
    if item.opcode in (Op.TypeInt, Op.TypeFloat, Op.TypeBool):
        return types.spelling(number)
    return f"{{{types.spelling(number)}}}"
