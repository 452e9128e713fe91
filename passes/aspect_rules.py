"""Which aspects a type and an operation use by themselves, as tables.

Follows DPC++'s SYCLPropagateAspectsUsage: f16 uses fp16, f64 uses fp64, a struct listed in
`aspect.types_that_use_aspects` uses what the list says.  Types are looked through: arrays, vectors and
structs use what their parts use; a pointer or memref uses nothing, loading through it does.  What SYCL takes
for granted and Vulkan makes optional, such as 64-bit integers, uses vendor aspects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ..ir.aspects import Aspect
from ..ir.attribute_values import memref_element_type
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function
from ..ir.dialects.kernel_atomic import NATIVE, AtomicOp
from ..ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ..ir.dialects.kernel_image import ImageType
from ..ir.dialects.spirv.attributes import StorageClassAttr
from ..ir.dialects.spirv.types import PointerType
from ..ir.narrowing import is_memref_type
from ..ir.type_structure import held_types, struct_name
from ..ir.walk import region_blocks
from .select_instructions import native_aspect


class Need(NamedTuple):
    """One aspect and what needs it, in words for a message."""

    aspect: int
    what: str
    is_declared: bool = False
    """Whether a declaration says so, and nothing in the code shows it."""


_INTEGER_ASPECTS: dict[int | None, Aspect] = {8: Aspect.VK_INT8, 16: Aspect.VK_INT16, 64: Aspect.VK_INT64}
_STORAGE_ASPECTS: dict[int | None, Aspect] = {8: Aspect.VK_STORAGE_8BIT, 16: Aspect.VK_STORAGE_16BIT}

_SUB_GROUP_ASPECTS = {
    "Elect": Aspect.VK_SUBGROUP_BASIC,
    "AllEqual": Aspect.VK_SUBGROUP_VOTE,
    "All": Aspect.VK_SUBGROUP_VOTE,
    "Any": Aspect.VK_SUBGROUP_VOTE,
    "Ballot": Aspect.VK_SUBGROUP_BALLOT,
    "Broadcast": Aspect.VK_SUBGROUP_BALLOT,
    "Shuffle": Aspect.VK_SUBGROUP_SHUFFLE,
    "ShuffleXor": Aspect.VK_SUBGROUP_SHUFFLE,
    "ShuffleUp": Aspect.VK_SUBGROUP_SHUFFLE_RELATIVE,
    "ShuffleDown": Aspect.VK_SUBGROUP_SHUFFLE_RELATIVE,
}
"""What follows `_SUB_GROUP_PREFIX`; all else there is arithmetic (SPIR-V 1.6 section 3.42.24)."""

_ACCESSES = (memref.LoadOp, memref.StoreOp, LoadFieldOp, StoreFieldOp)
_SUB_GROUP_PREFIX = "spirv.GroupNonUniform"
_SUB_GROUP_IDS = ("gpu.lane_id", "gpu.subgroup_id", "gpu.num_subgroups", "gpu.subgroup_size")
_ALLOCATIONS = (
    "memref.alloca",
    "memref.alloc",
    "memref.get_global",
    "spirv.Variable",
    "spirv.mlir.addressof",
)
_MEMBER_ACCESSES = ("spirv.AccessChain", "spirv.InBoundsAccessChain")
_ATOMIC_PREFIXES = (
    "kernel.atomic_",
    "spirv.Atomic",
    "spirv.EXT.Atomic",
    "memref.atomic_rmw",
    "memref.generic_atomic_rmw",
)


def bit_width(type_: Attribute) -> int | None:
    """Returns the bits of an integer or float, None for other types (`index` too: the device decides)."""
    width = getattr(type_, "bitwidth", None)
    return width if isinstance(width, int) else None


@dataclass
class AspectRules:
    """The rules, with the tables of one module; remembers types it has seen."""

    scope: Operation
    """The module whose tables count."""
    _structs: dict[str, frozenset[int]] = field(init=False)
    _values: dict[str, int] = field(init=False)
    _of_type: dict[int, tuple[Attribute, tuple[Need, ...]]] = field(
        init=False, default_factory=dict[int, tuple[Attribute, tuple[Need, ...]]]
    )
    """By the identity of the type, which is kept with it: hashing visits all of an attribute."""
    _of_element: dict[int, tuple[Attribute, tuple[Need, ...]]] = field(
        init=False, default_factory=dict[int, tuple[Attribute, tuple[Need, ...]]]
    )
    """What reaching elements of a type in a buffer needs, as `_of_type`."""

    def __post_init__(self) -> None:
        self._structs = aspect.types_that_use_aspects(self.scope)
        self._values = aspect.aspect_values(self.scope)

    def number(self, member: Aspect) -> int:
        """Returns the number of an implied aspect: the module's table decides where it has the name."""
        return self._values.get(member.spelling, int(member))

    def of_type(self, type_: Attribute) -> tuple[Need, ...]:
        """Returns what holding a value of the type needs."""
        found = self._of_type.get(id(type_))
        if found is None:
            needs = tuple(need for held in held_types(type_) for need in self._of_held_type(held))
            found = self._of_type[id(type_)] = type_, needs
        return found[1]

    def _of_held_type(self, type_: Attribute) -> Iterator[Need]:
        kind = type(type_)
        if kind is Float64Type:
            yield Need(self.number(Aspect.FP64), "f64 value")
        elif kind is Float16Type:
            yield Need(self.number(Aspect.FP16), "f16 value")
        elif kind is BFloat16Type:  # the device keeps it as its 16 bits
            yield Need(self.number(Aspect.VK_INT16), "bf16 value")
        elif kind is ImageType:
            yield Need(self.number(Aspect.IMAGE), "image")
        elif (width := bit_width(type_)) in _INTEGER_ASPECTS:
            yield Need(self.number(_INTEGER_ASPECTS[width]), f"{width}-bit integer")
        elif (name := struct_name(type_)) is not None:
            for number in sorted(self._structs.get(name, ())):
                yield Need(number, f"value of type '{name}'", is_declared=True)

    def attached_to(self, op: Operation) -> tuple[Need, ...]:
        """Returns what `aspect.used` on an operation says; of a function it is no operation's need."""
        if not op.attributes or isinstance(op, Function):
            return ()
        what = "value of a type" if op.name == "arith.constant" else f"'{op.name}'"
        used = sorted(aspect.used(op))
        return tuple(Need(number, f"{what} with uses_aspects", is_declared=True) for number in used)

    def is_plain(self, op: Operation) -> bool:
        """Whether one look shows that an operation needs nothing: `of_op` may find the same of others."""
        if op.attributes or op.regions or _has_own_rule(type(op)):
            return False
        known = self._of_type
        for result in op.results:
            found = known.get(id(result.type))
            if found is None or found[1]:
                return False
        return True

    def of_op(self, op: Operation) -> tuple[Need, ...]:
        """Returns what one operation needs, operations inside it left out.

        Operands are not looked at: something in the same function made them and counts there.
        """
        found = self.attached_to(op)
        for result in op.results:
            known = self._of_type.get(id(type_ := result.type))
            found += self.of_type(type_) if known is None else known[1]
        for region in op.regions:
            for block in region_blocks(region):
                for argument in block.args:
                    found += self.of_type(argument.type)
        if _has_own_rule(type(op)):
            found += tuple(self._of_memory(op))
        return found

    def _of_memory(self, op: Operation) -> Iterator[Need]:
        name = op.name
        if isinstance(op, _ACCESSES):
            yield from self._of_access(op.memref)
        elif name in _ALLOCATIONS:
            yield from self.of_type(_pointee(op.results[0].type))
        elif name in _MEMBER_ACCESSES:  # reaching into a value takes its type, whatever part is read
            yield from self.of_type(_pointee(op.operands[0].type))
        elif name.startswith(_ATOMIC_PREFIXES):
            if any(bit_width(value.type) == 64 for value in (*op.results, *op.operands)):
                yield Need(self.number(Aspect.ATOMIC64), "64-bit atomic operation")
            if isinstance(op, AtomicOp):
                yield from self._of_atomic(op)
        elif name in _SUB_GROUP_IDS:
            yield Need(self.number(Aspect.VK_SUBGROUP_BASIC), f"'{name}'")
        elif name.startswith(_SUB_GROUP_PREFIX):
            kind = name.removeprefix(_SUB_GROUP_PREFIX)
            member = _SUB_GROUP_ASPECTS.get(kind, Aspect.VK_SUBGROUP_ARITHMETIC)
            yield Need(self.number(member), f"sub-group operation '{kind}'")

    def _of_atomic(self, op: AtomicOp) -> Iterator[Need]:
        if not (op.is_narrow or op.keeps_bits):  # those access the buffer as 32-bit words
            yield from self._of_access(op.array)
        if NATIVE in op.attributes:
            yield Need(native_aspect(op), "atomic operation on f32")
        elif isinstance(op.element_type, Float64Type):  # done on its 64 bits as an integer
            yield Need(self.number(Aspect.VK_INT64), "atomic operation on f64")

    def _of_access(self, memory: SSAValue) -> Sequence[Need]:
        # The 8- and 16-bit storage features are about buffers, not about a kernel's own variables.
        if type(memory) is OpResult and memory.op.name in _ALLOCATIONS:
            return ()
        if is_memref_type(memory.type) and type(memory.type.memory_space) is StorageClassAttr:
            return ()
        pointee = _pointee(memory.type)
        found = self._of_element.get(id(pointee))
        if found is None:
            found = self._of_element[id(pointee)] = pointee, tuple(self._of_stored_type(pointee))
        return found[1]

    def _of_stored_type(self, pointee: Attribute) -> Iterator[Need]:
        for held in held_types(pointee):
            width = bit_width(held)
            member = _STORAGE_ASPECTS.get(width)
            if member is not None:
                whole = f"array of {width}-bit elements"
                yield Need(
                    self.number(member), whole if held is pointee else f"array with {width}-bit members"
                )
            elif width == 64 or struct_name(held) is not None:
                # Declaring the type needs as much as a value.
                yield from self._of_held_type(held)


@cache
def _has_own_rule(kind: type[Operation]) -> bool:
    """Whether `AspectRules` has more to say of operations of a class than the types of their results."""
    name = kind.name
    return (
        issubclass(kind, _ACCESSES)
        or name in (*_ALLOCATIONS, *_MEMBER_ACCESSES)
        or name in _SUB_GROUP_IDS
        or name.startswith((*_ATOMIC_PREFIXES, _SUB_GROUP_PREFIX))
    )


def _pointee(type_: Attribute) -> Attribute:
    if type(type_) is PointerType:
        return type_.pointee
    return memref_element_type(type_) or type_
