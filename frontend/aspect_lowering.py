"""The attributes of functions and structs in the IR, as the `aspect` dialect spells them.

A struct is its scalars in the IR, so where a value of a struct with aspects comes into being a constant carries
`aspect.used`: the first propagation reads it for its messages, the optimiser removes it.  The function has it too:
what is said of a struct holds whatever becomes of its values.  In arrays structs have names, and the module's table
says what the names use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute

from ..ir.dialects import aspect
from .function_attributes import FunctionAttributes, SubGroupSize, aspects_of_struct
from .function_builder import FunctionBuilder
from .struct_types import StructType
from .types import ArrayType, FixedArrayType, Type
from .vector_types import CompositeArrayType

INT64_MAX = 2**63 - 1


def ir_attributes(attributes: FunctionAttributes, also_used: Iterable[int] = ()) -> dict[str, Attribute]:
    """Returns what the IR's function gets; `also_used` are aspects beside those of `@lp.uses_aspects`."""
    found: dict[str, Attribute] = {}
    if attributes.device_has is not None:
        found[aspect.DECLARED] = aspect.aspects_attribute(attributes.device_has)
    if used := attributes.uses_aspects.union(also_used):
        found[aspect.USED] = aspect.aspects_attribute(used)
    if attributes.reqd_work_group_size is not None:
        # Sizes have no limit in Python; what i64 cannot hold no device can run either.
        sizes = (min(size, INT64_MAX) for size in attributes.reqd_work_group_size)
        found[aspect.REQD_WORK_GROUP_SIZE] = aspect.sizes_attribute(sizes)
    size = attributes.reqd_sub_group_size
    if isinstance(size, SubGroupSize):
        found[aspect.REQD_SUB_GROUP_SIZE] = StringAttr(size.value)
    elif size is not None:
        found[aspect.REQD_SUB_GROUP_SIZE] = IntegerAttr(size, i32)
    return found


def note_struct(fb: FunctionBuilder, kind: Type) -> frozenset[int]:
    """Enters the aspects of the structs in a type into the module's table; returns them all."""
    found: set[int] = set()
    for struct in _structs_in(kind):
        aspects = aspects_of_struct(struct.python_class)
        if aspects:
            table = fb.module.struct_aspects
            table[struct.name] = table.get(struct.name, frozenset()) | aspects
            found |= aspects
    return frozenset(found)


def use_struct(fb: FunctionBuilder, kind: Type) -> None:
    """Marks the place that is being compiled as one that makes or takes a value of a type."""
    aspects = note_struct(fb, kind)
    if aspects and not fb.is_dry:
        fb.struct_aspects |= aspects
        mark = arith.ConstantOp(IntegerAttr(0, i32))
        mark.attributes[aspect.USED] = aspect.aspects_attribute(aspects)
        fb.append(mark)


def struct_table(struct_aspects: dict[str, frozenset[int]]) -> Attribute:
    """Returns the module's `aspect.types_that_use_aspects`."""
    rows = {name: aspect.aspects_attribute(numbers) for name, numbers in struct_aspects.items()}
    return DictionaryAttr(dict[str, Attribute | ArrayAttr[Attribute]](rows))


def _structs_in(kind: Type) -> Iterator[StructType]:
    if isinstance(kind, ArrayType | FixedArrayType | CompositeArrayType):
        yield from _structs_in(kind.element)
    elif isinstance(kind, StructType):
        yield kind
        for field in kind.fields:
            yield from _structs_in(field.type)
