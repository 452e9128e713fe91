"""The `aspect` dialect: optional kernel features in the IR, as discardable attributes only.

It has no operations and no types.  Numbers are those of `lapilli.Aspect` unless the module brings its own
table, `aspect.aspect_values`.  Follows DPC++'s design for optional kernel features: `aspect.declared` is its
sycl_declared_aspects, `aspect.used` its sycl_used_aspects, and so on.

On functions
    aspect.declared             [5 : i32, …]   device_has: may use these and no others; an empty list counts
    aspect.used                 [5 : i32, …]   uses these; also on any other operation
    aspect.fixed_targets        ["name", …]    runs only there; empty: compiled without fixed targets
    aspect.reqd_work_group_size array<i32: …>  1 to 3 sizes, slowest dimension first
    aspect.reqd_sub_group_size  16 : i32, or "primary" or "automatic"
    aspect.external             unit           exported to other modules (SYCL_EXTERNAL)
    aspect.unit                 "name"         translation unit that defines it
On modules
    aspect.types_that_use_aspects  {Name = [5 : i32, …], …}   aspects of named structs
    aspect.aspect_values           {fp16 = 5 : i32, …}        at most one per program
    aspect.requirements            written by compute-requirements, one per image
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import elements, integer, integers
from ..walk import block_operations, region_blocks
from .kernel import Function, is_kernel

DECLARED = "aspect.declared"
USED = "aspect.used"
FIXED_TARGETS = "aspect.fixed_targets"
REQD_WORK_GROUP_SIZE = "aspect.reqd_work_group_size"
REQD_SUB_GROUP_SIZE = "aspect.reqd_sub_group_size"
EXTERNAL = "aspect.external"
UNIT = "aspect.unit"
TYPES_THAT_USE_ASPECTS = "aspect.types_that_use_aspects"
ASPECT_VALUES = "aspect.aspect_values"
REQUIREMENTS = "aspect.requirements"

NAMED_SUB_GROUP_SIZES = ("primary", "automatic")
"""Sub-group sizes that leave the choice to the driver and restrict no device."""

REQUIREMENT_KEYS = ("aspect", "reqd_work_group_size", "reqd_sub_group_size", "fixed_target")
"""Keys of `aspect.requirements`: the properties of the set "SYCL/device requirements"."""


def aspects_attribute(aspects: Iterable[int]) -> ArrayAttr[Attribute]:
    """Returns a list of i32, ascending and without repetition."""
    return ArrayAttr([IntegerAttr(aspect, i32) for aspect in sorted(set(aspects))])


def strings(attribute: Attribute | None) -> tuple[str, ...] | None:
    """Returns the strings of `["a", …]`; None for anything else."""
    parts = elements(attribute)
    if parts is None:
        return None
    values = [part.data for part in parts if isinstance(part, StringAttr)]
    return tuple(values) if len(values) == len(parts) else None


def declared(op: Operation) -> frozenset[int] | None:
    """Returns the aspects that `device_has` lists, None where the function has no such attribute."""
    numbers = integers(op.attributes.get(DECLARED))
    return None if numbers is None else frozenset(numbers)


def used(op: Operation) -> frozenset[int]:
    """Returns the aspects in `aspect.used`."""
    return frozenset(integers(op.attributes.get(USED)) or ())


def fixed_targets(op: Operation) -> frozenset[str] | None:
    """Returns the fixed targets: empty where compiled without, None where a later pass made the function."""
    names = strings(op.attributes.get(FIXED_TARGETS))
    return None if names is None else frozenset(names)


def reqd_work_group_size(op: Operation) -> tuple[int, ...] | None:
    """Returns the required work-group size as declared, slowest dimension first, or None."""
    return integers(op.attributes.get(REQD_WORK_GROUP_SIZE))


def reqd_sub_group_size(op: Operation) -> int | None:
    """Returns the required sub-group size where it is a number; None for named sizes too."""
    return integer(op.attributes.get(REQD_SUB_GROUP_SIZE))


def has_primary_sub_group_size(op: Operation) -> bool:
    """Returns whether the function asks for the device's primary sub-group size by name."""
    size = op.attributes.get(REQD_SUB_GROUP_SIZE)
    return isinstance(size, StringAttr) and size.data == "primary"


def unit(op: Operation) -> str:
    """Returns the translation unit; "" where the function does not say."""
    name = op.attributes.get(UNIT)
    return name.data if type(name) is StringAttr else ""


def is_same_unit(one: Operation, other: Operation) -> bool:
    """Returns whether two functions are of one translation unit; one that does not say is of any."""
    names = unit(one), unit(other)
    return "" in names or names[0] == names[1]


def is_external(op: Operation) -> bool:
    """Returns whether the function is exported."""
    return EXTERNAL in op.attributes


def types_that_use_aspects(op: Operation) -> dict[str, frozenset[int]]:
    """Returns the type table in force at `op`: that of the innermost module around it that has one, else those of the
    modules in it."""
    found: dict[str, frozenset[int]] = {}
    for table in _tables(op, TYPES_THAT_USE_ASPECTS):
        for name, value in table.data.items():
            found[name] = found.get(name, frozenset()) | frozenset(integers(value) or ())
    return found


def aspect_values(op: Operation) -> dict[str, int]:
    """Returns the aspect table in force at `op`, name to number; empty where no module has one."""
    numbers = {n: integer(value) for t in _tables(op, ASPECT_VALUES) for n, value in t.data.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _tables(op: Operation, name: str) -> list[DictionaryAttr]:
    scope: Operation | None = op
    while scope is not None and name not in scope.attributes:
        scope = scope.parent_op()
    found = [scope.attributes[name]] if scope is not None else [*_inner(op, name)]
    return [table for table in found if type(table) is DictionaryAttr]


def _inner(op: Operation, name: str) -> Iterator[Attribute]:
    if type(op) is ModuleOp:  # isinstance and xDSL's iterators would take most of the time
        for block in region_blocks(op.regions[0]):
            for inner in block_operations(block):
                if type(inner) is ModuleOp:
                    if name in inner.attributes:
                        yield inner.attributes[name]
                    yield from _inner(inner, name)


def verify_attributes(op: Operation) -> None:
    """Checks the `aspect.*` attributes of one operation; raises `VerifyException`.

    * each has the shape that the head of this file gives it, and no other name begins with `aspect.`
    * function attributes stand on functions, module attributes on modules; `aspect.used` anywhere
    * work-group sizes are 1 to 3 positive sizes, and not on exported functions that are no kernels
    """
    for name, value in op.attributes.items():
        if not name.startswith("aspect."):
            continue
        check = _MODULE_CHECKS.get(name) or _FUNCTION_CHECKS.get(name)
        if check is None:
            known = ", ".join(sorted(_MODULE_CHECKS | _FUNCTION_CHECKS))
            raise VerifyException(f"unknown attribute '{name}', expected one of {known}")
        if name in _MODULE_CHECKS and not isinstance(op, ModuleOp):
            raise VerifyException(f"'{name}' may stand on a builtin.module only, found it on {op.name}")
        if name in _FUNCTION_CHECKS and name != USED and not isinstance(op, Function):
            raise VerifyException(f"'{name}' may stand on functions only, found it on {op.name}")
        if expected := check(value):
            raise VerifyException(f"'{name}' must be {expected}, found {value}")
    if REQD_WORK_GROUP_SIZE in op.attributes and is_external(op) and not is_kernel(op):
        raise VerifyException(f"'{REQD_WORK_GROUP_SIZE}' is not allowed on an exported function")


def _is_i32_list(value: Attribute) -> bool:
    return integers(value, i32) is not None


def _check_aspects(value: Attribute) -> str | None:
    return None if _is_i32_list(value) else "a list of i32, [5 : i32, 6 : i32]"


def _check_strings(value: Attribute) -> str | None:
    return None if strings(value) is not None else 'a list of strings, ["name"]'


def _check_string(value: Attribute) -> str | None:
    return None if isinstance(value, StringAttr) else "a string"


def _check_unit(value: Attribute) -> str | None:
    return None if isinstance(value, UnitAttr) else "a unit attribute"


def _check_work_group_size(value: Attribute) -> str | None:
    sizes = integers(value)
    if sizes is not None and 1 <= len(sizes) <= 3 and min(sizes) >= 1:
        return None
    return "1 to 3 sizes of at least 1, slowest dimension first"


def _check_sub_group_size(value: Attribute) -> str | None:
    if (integer(value, i32) or 0) >= 1:
        return None
    if isinstance(value, StringAttr) and value.data in NAMED_SUB_GROUP_SIZES:
        return None
    return 'an i32 of at least 1, "primary" or "automatic"'


def _check_types_table(value: Attribute) -> str | None:
    if isinstance(value, DictionaryAttr) and all(map(_is_i32_list, value.data.values())):
        return None
    return "a dictionary from type names to lists of i32, {Name = [5 : i32]}"


def _check_values_table(value: Attribute) -> str | None:
    expected = "a dictionary from distinct aspect names to distinct i32, {fp16 = 5 : i32}"
    if not isinstance(value, DictionaryAttr):
        return expected
    numbers = {integer(element, i32) for element in value.data.values()} - {None}
    return None if len(numbers) == len(value.data) else expected


def _check_requirements(value: Attribute) -> str | None:
    if isinstance(value, DictionaryAttr) and value.data.keys() <= set(REQUIREMENT_KEYS):
        return None
    return f"a dictionary with keys among {', '.join(REQUIREMENT_KEYS)}"


_FUNCTION_CHECKS = {
    DECLARED: _check_aspects,
    USED: _check_aspects,
    FIXED_TARGETS: _check_strings,
    REQD_WORK_GROUP_SIZE: _check_work_group_size,
    REQD_SUB_GROUP_SIZE: _check_sub_group_size,
    EXTERNAL: _check_unit,
    UNIT: _check_string,
}
_MODULE_CHECKS = {
    TYPES_THAT_USE_ASPECTS: _check_types_table,
    ASPECT_VALUES: _check_values_table,
    REQUIREMENTS: _check_requirements,
}


def sizes_attribute(sizes: Iterable[int]) -> DenseArrayBase:
    """Returns array<i32: …>, or array<i64: …> where a size needs it."""
    values = list(sizes)
    fits = all(-(2**31) <= value < 2**31 for value in values)
    return DenseArrayBase.from_list(i32 if fits else i64, values)


ASPECT = Dialect("aspect")
"""The dialect, for `Context.load_dialect`."""
