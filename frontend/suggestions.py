"""What to write instead of what CUDA, OpenCL, Numba, Triton, NumPy and plain Python would have: hints of messages."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.errors import closest
from .builtins import BUILTINS
from .elsewhere import IN_KERNELS
from .intrinsics import ATOMIC_FUNCTIONS, MATH_FUNCTIONS, WORK_ITEM_FUNCTIONS
from .types import SCALAR_TYPES

_ATOMIC = {
    "inc": "lp.atomic.add(a, i, 1)",
    "dec": "lp.atomic.sub(a, i, 1)",
    "cas": "lp.atomic.compare_exchange(a, i, expected, v)",
    "compare_and_swap": "lp.atomic.compare_exchange(a, i, expected, v)",
    "compare_exchange_strong": "lp.atomic.compare_exchange(a, i, expected, v)",
    "compare_exchange_weak": "lp.atomic.compare_exchange(a, i, expected, v)",
    "exch": "lp.atomic.exchange(a, i, v)",
    "swap": "lp.atomic.exchange(a, i, v)",
    "fetch_add": "lp.atomic.add(a, i, v), which returns the old value",
    "fetch_sub": "lp.atomic.sub(a, i, v), which returns the old value",
    "and": "lp.atomic.and_(a, i, v)",
    "or": "lp.atomic.or_(a, i, v)",
}
_BUILTIN = {
    "sum": "add up in a loop, or with lp.group.reduce over a work-group",
    "any": "join the conditions with or; lp.group.any asks a work-group",
    "all": "join the conditions with and; lp.group.all asks a work-group",
    "reversed": "count down: range(n - 1, -1, -1)",
    "sorted": "sort on the host, or write the sort as loops",
    "map": "write a loop",
    "filter": "write a loop with an if",
    "list": "use a tuple, or lp.private.array(shape, dtype)",
    "tuple": "write the items out: (a, b)",
    "dict": "use an lp.struct, or arrays",
    "isinstance": "types are known when a kernel is compiled: write one helper for each",
    "type": "a.dtype is the type of an array's elements",
    "complex": "use a vector of two: lp.f32x2",
    "str": "print formats values; kernels have no strings",
    "open": "files are read on the host; pass their data as an array",
    "input": "pass values as arguments",
}
_OPERATIONS = {"sum": "add", "plus": "add", "prod": "mul", "minimum": "min", "maximum": "max"}
"""What others call the operations of group functions."""
_MEMORY_ORDERS = {
    "seq_cst": 'the Vulkan memory model has no sequential consistency: "acq_rel" is the strongest order',
    "consume": 'use "acquire"',
}
_MEMORY_SCOPES = {
    "system": 'the host sees what a kernel wrote when it has ended; within a kernel "device" is the widest scope',
    "all_devices": 'within a kernel "device" is the widest scope',
    "block": 'use "work_group"',
    "warp": 'use "sub_group"',
    "thread": 'use "work_item"',
}


def attribute_hint(base: str, name: str, names: Iterable[str]) -> str:
    """Returns what to write instead of ``base.name``.

    Args:
        base: as the source spells it: ``lp``, ``lp.atomic``.
        name: the attribute that it has not.
        names: those that it has.
    """
    if base.endswith("atomic") and name in _ATOMIC:
        return f"write {_ATOMIC[name]}"
    if base.endswith("group") and name in (*_OPERATIONS, "add", "min", "max", "mul"):
        return f'write {base}.reduce(v, "{_OPERATIONS.get(name, name)}")'
    namespace, _, inner = base.partition(".")
    if inner in WORK_ITEM_FUNCTIONS and name in ("x", "y", "z"):
        return f"write {base}(d); CUDA's x is the last dimension, which is unit-stride"
    if inner in ("math", "sub_group"):
        if name in BUILTINS:
            return f"write {name}(…)"
        if name in IN_KERNELS:
            return f"write {IN_KERNELS[name]}"
    if base == namespace:
        if name in IN_KERNELS:
            return f"write {IN_KERNELS[name]}"
        if name in BUILTINS:
            return f"write {name}(…)"
        if name in MATH_FUNCTIONS:
            return f"did you mean {base}.math.{name}?"
        if name in ATOMIC_FUNCTIONS:
            return f"did you mean {base}.atomic.{name}?"
    meant = closest(name, names)
    return f"did you mean {base}.{meant}?" if meant else "check the spelling"


def public_name_hint(name: str) -> str | None:
    """Returns where a name is that was written without its module, None where lapilli has none like it."""
    if name in MATH_FUNCTIONS:
        return f"did you mean lp.math.{name}?"
    if name in IN_KERNELS:
        return f"write {IN_KERNELS[name]}"
    return f"did you mean lp.{name}?" if name in WORK_ITEM_FUNCTIONS or name in SCALAR_TYPES else None


_OF_VECTORS = {"norm": "length", "normalized": "normalize", "magnitude": "length"}
"""What others call the functions of vectors."""


def vector_member_hint(name: str) -> str | None:
    """Returns what to write instead of a method of a vector, None where lapilli has no such function."""
    function = _OF_VECTORS.get(name, name)
    if function not in MATH_FUNCTIONS:
        return None
    return f"write lp.math.{function}({'a, b' if function in ('dot', 'cross') else 'v'})"


def builtin_hint(name: str) -> str:
    """Returns what to write instead of a builtin of Python that kernels have not."""
    known = f"there are {', '.join(BUILTINS)}, int, float and bool"
    return _BUILTIN.get(name) or f"{known}; write the rest as loops"


def function_hint(obj: object) -> str:
    """Returns what to write instead of a callable object that is no plain function."""
    name = getattr(obj, "__name__", "")
    if name in MATH_FUNCTIONS:
        return f"write lp.math.{name}(…)"
    if name in BUILTINS:
        return f"write {name}(…)"
    if name in ("zeros", "empty", "ones", "full", "array"):
        return (
            "write lp.private.array(shape, dtype) for memory of one work-item, lp.local.array for the group's"
        )
    inner = getattr(obj, "__wrapped__", None) or getattr(obj, "func", None)
    if callable(inner):
        return "call the plain function that it wraps: kernels have neither decorators nor partial arguments"
    return (
        "only plain functions written with def, lapilli's functions and the builtins of kernels can be called"
    )


def word_hint(word: object, words: Iterable[str]) -> str | None:
    """Returns what to write instead of a word, or a function by that name, that is none of `words`."""
    name = word if isinstance(word, str) else getattr(word, "name", getattr(word, "__name__", ""))
    if not isinstance(name, str):
        return None
    known = _MEMORY_ORDERS.get(name) or _MEMORY_SCOPES.get(name)
    meant = _OPERATIONS.get(name, name)
    return f'write "{meant}"' if known is None and meant in words else known
