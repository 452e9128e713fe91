"""What to write instead of what CUDA, OpenCL, Numba, Triton, NumPy and plain Python would have: hints of messages."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable

from ..ir.errors import closest
from .builtins import BUILTINS
from .elsewhere import IN_A_LOOP, IN_KERNELS
from .intrinsics import ATOMIC_FUNCTIONS, MATH_CONSTANTS, MATH_FUNCTIONS, WORK_ITEM_FUNCTIONS
from .types import SCALAR_TYPES, Type
from .values import Composite, FixedArray, Static, Tuple, Value, number_hint
from .vector_types import CompositeArrayType, VecType

_ATOMIC = {
    "inc": "lp.atomic.add(a, i, 1)",
    "dec": "lp.atomic.sub(a, i, 1)",
    "increment": "lp.atomic.add(a, i, 1)",
    "decrement": "lp.atomic.sub(a, i, 1)",
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
    **dict.fromkeys(("bin", "hex", "oct"), 'print formats numbers: print(f"{n:#x}"), print(f"{n:032b}")'),
    "open": "files are read on the host; pass their data as an array",
    "input": "pass values as arguments",
}
_OPERATIONS = {"sum": "add", "plus": "add", "prod": "mul", "minimum": "min", "maximum": "max"} | {
    "+": "add",
    "*": "mul",
    "&": "and",
    "|": "or",
    "^": "xor",
}
"""What others call the operations of group functions."""
_OF_GROUPS = {
    **dict.fromkeys(("cumsum", "scan"), 'write lp.group.inclusive_scan(v, "add")'),
    **dict.fromkeys(("barrier", "sync", "wait"), "write lp.barrier()"),
    **dict.fromkeys(("local_id", "thread_id"), "write lp.local_id(d)"),
    **dict.fromkeys(("group_id", "id", "index"), "write lp.group_id(d)"),
    **dict.fromkeys(("local_range", "range", "size"), "write lp.local_range(d)"),
    **dict.fromkeys(("count", "group_range"), "write lp.group_range(d)"),
}
"""What to write instead of members of `lp.group` that it has not, or that `lp.sub_group` alone has."""
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


_MEMORY = "write lp.private.array(shape, dtype) for memory of one work-item, lp.local.array for the group's"
_LIMITS = "bind it to a name outside of the kernel: LARGEST = np.finfo(np.float32).max"
_TIMES = "measure on the host: event.elapsed_ns of a queue made with profiling=True"
_FUNCTIONS = {
    **dict.fromkeys(("array", "empty", "full", "ones", "zeros"), _MEMORY),
    **dict.fromkeys(("cumsum", "fsum", "mean", "sum"), IN_A_LOOP),
    "sumprod": "write lp.math.dot(a, b) of two vectors, or add up the products in a loop",
    "signbit": "write lp.math.copysign(1.0, x) < 0.0",
    "isnormal": "compare with the least normal number: lp.math.isfinite(x) and abs(x) >= 2.0**-126 of an f32",
    "issubnormal": "compare with the least normal number: x != 0.0 and abs(x) < 2.0**-126 of an f32",
    **dict.fromkeys(("finfo", "iinfo"), _LIMITS),
    **dict.fromkeys(("monotonic", "perf_counter", "perf_counter_ns", "time", "time_ns"), _TIMES),
    **dict.fromkeys(
        ("gauss", "normal", "rand", "randint", "randn", "random", "uniform"), f"write {IN_KERNELS['random']}"
    ),
    **dict.fromkeys(("absolute", "fabs"), "write abs(x)"),
    **dict.fromkeys(("around", "lrint", "lround", "nearbyint", "rint"), "write round(x)"),
    **dict.fromkeys(("maximum", "fmax"), "write max(a, b)"),
    **dict.fromkeys(("minimum", "fmin"), "write min(a, b)"),
    **{
        f"arc{name}": f"write lp.math.a{name}(…)"
        for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")
    },
    **{f"logical_{name}": f"write {name}" for name in ("and", "or", "not")},
    "add": "write a + b",
    "allclose": "write abs(a - b) <= tolerance",
    "arange": "write range(n)",
    "bitwise_and": "write a & b",
    "bitwise_or": "write a | b",
    "bitwise_xor": "write a ^ b",
    "clip": "write lp.math.clamp(x, low, high)",
    "deg2rad": "write lp.math.radians(x)",
    "divide": "write a / b",
    "fdim": "write max(a - b, 0.0)",
    "fix": "write lp.math.trunc(x)",
    "float_power": "write a ** b",
    "floor_divide": "write a // b",
    "invert": "write ~a",
    "isclose": "write abs(a - b) <= tolerance",
    "left_shift": "write a << n",
    "mod": "write a % b",
    "mul": "write a * b",
    "multiply": "write a * b",
    "negative": "write -a",
    "norm": "write lp.math.length(v)",
    "power": "write a ** b",
    "rad2deg": "write lp.math.degrees(x)",
    **dict.fromkeys(("rcp", "reciprocal"), "write 1.0 / x"),
    "remainder": "write a % b",
    "right_shift": "write a >> n",
    "square": "write x * x",
    "sub": "write a - b",
    "subtract": "write a - b",
    "true_divide": "write a / b",
    "where": f"write {IN_KERNELS['where']}",
}
"""What to write instead of functions of `_OTHERS`."""
_OF_MATRICES = {
    **dict.fromkeys(("matmul", "mul", "mv", "mm"), "write a @ b"),
    **dict.fromkeys(
        ("det", "determinant"), "write its formula as a helper: m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]"
    ),
    **dict.fromkeys(("inv", "inverse"), "write its formula as a helper, or pass the inverse"),
    **dict.fromkeys(
        ("outer", "outer_product"), "make a fixed array of the products, or fill one in two loops"
    ),
    "transpose": "write m.T",
    "trace": "add the diagonal: m[0, 0] + m[1, 1]",
}
"""What others have for matrices."""
_OTHERS = frozenset(("_operator", "cupy", "math", "numpy", "random", "time"))
"""Packages whose functions kernels cannot call."""
_OF_NUMBERS = {
    **dict.fromkeys(("astype", "cast", "to"), "convert with the type's name: lp.i32(x)"),
    **dict.fromkeys(("copy", "item", "real", "value", "x"), "it is a number as it stands"),
    "bit_count": "write lp.popcount(n)",
    "bit_length": "write 32 - lp.clz(n)",
    "is_integer": "write x == lp.math.floor(x)",
}


def number_member_hint(name: str) -> str | None:
    """Returns what to write instead of a member of a number; None where nothing is known."""
    if name in MATH_FUNCTIONS:
        return f"write lp.math.{name}(x)"
    return _OF_NUMBERS.get(name)


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
    if inner == "group" and name in _OF_GROUPS:
        return _OF_GROUPS[name]
    if inner in WORK_ITEM_FUNCTIONS and name in ("x", "y", "z"):
        return f"write {base}(d); CUDA's x is the last dimension, which is unit-stride"
    if inner in ("math", "sub_group"):
        if name in BUILTINS:
            return f"write {name}(…)"
        if name in IN_KERNELS:
            return f"write {IN_KERNELS[name]}"
        is_of_vectors = name in _OF_VECTORS or name in ("all", "any")
        known = vector_member_hint(name) if is_of_vectors else _FUNCTIONS.get(name) or _OF_MATRICES.get(name)
        if inner == "math" and known is not None:
            return known
    if inner in SCALAR_TYPES and name in ("eps", "epsilon", "lowest", "max", "min", "tiny"):
        return _LIMITS
    if base == namespace:
        if name in MATH_CONSTANTS:
            return f"write {base}.math.{name}"
        if name in IN_KERNELS:
            return f"write {IN_KERNELS[name]}"
        if name in BUILTINS:
            return f"write {name}(…)"
        if name in MATH_FUNCTIONS:
            return f"did you mean {base}.math.{name}?"
        if name in ATOMIC_FUNCTIONS:
            return f"did you mean {base}.atomic.{name}?"
    others = _of_others(name) if base == namespace or inner == "math" else None
    meant = None if others else closest(name, names)
    return others or (f"did you mean {base}.{meant}?" if meant else "check the spelling")


def _of_others(name: str) -> str | None:
    """Returns what to write instead of a function of NumPy, or one of C with its f: ``sqrtf``."""
    known = _FUNCTIONS.get(name) or _OF_MATRICES.get(name)
    if known is None and name[-1:] == "f" and name[:-1] in MATH_FUNCTIONS:
        known = f"write lp.math.{name[:-1]}(…)"
    return known or (_of_others(name[:-1]) if name in ("fabsf", "fmaxf", "fminf", "rintf") else None)


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
    if name in ("all", "any", "max", "min", "sum"):
        return f"write {name}(v)"
    if name in ("ndim", "shape", "size"):
        return "len(v) is the number of its components"
    function = _OF_VECTORS.get(name, name)
    if function not in MATH_FUNCTIONS:
        return None
    return f"write lp.math.{function}({'a, b' if function in ('dot', 'cross') else 'v'})"


def matrix_member_hint(name: str) -> str:
    """Returns what to write instead of a member of a fixed array."""
    return _OF_MATRICES.get(name, "there are shape, size, ndim, dtype and T")


def element_member_hint(kind: Type, node: ast.Attribute) -> str | None:
    """Returns what to write instead of a member of a fixed array of vectors or structs."""
    if not isinstance(kind, CompositeArrayType):
        return None
    indices = ", ".join("ijk"[: kind.ndim]) if kind.ndim <= 3 else "…"
    return f"index an element: {ast.unparse(node.value)}[{indices}].{node.attr}"


def operand_hint(wrong: Value, other: Value) -> str | None:
    """Returns what to write where an operator takes no `wrong`, beside `other`; None where nothing is known."""
    vector = other.type if isinstance(other, Composite) else None
    if isinstance(wrong, FixedArray) and isinstance(vector, VecType):
        return "a matrix and a vector multiply with @; by component they are both vectors"
    if isinstance(vector, VecType) and isinstance(wrong, Tuple) and len(wrong.items) == vector.size:
        return f"make it a vector: {vector!r}(…)"
    if isinstance(wrong, Static) and isinstance(wrong.obj, str):
        return 'kernels put no texts together: write print("n =", n) or print(f"n = {n}")'
    return number_hint(wrong)


def builtin_hint(name: str) -> str:
    """Returns what to write instead of a builtin of Python that kernels have not."""
    known = f"there are {', '.join(BUILTINS)}, int, float and bool"
    return _BUILTIN.get(name) or f"{known}; write the rest as loops"


def function_hint(obj: object) -> str:
    """Returns what to write instead of a callable object that is no plain function."""
    name = getattr(obj, "__name__", "")
    is_of_others = not _OTHERS.isdisjoint(_packages(obj))
    if is_of_others and name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if isinstance(obj, types.MethodType) and not is_of_others:
        return f"make it a plain function or a staticmethod: '{name}' gets an object that kernels do not have"
    if name in MATH_FUNCTIONS:
        return f"write lp.math.{name}(…)"
    if name in BUILTINS:
        return f"write {name}(…)"
    if is_of_others:
        return "NumPy and Python's modules do not run on devices; use lp.math and the builtins, or write a helper"
    inner = getattr(obj, "__wrapped__", None) or getattr(obj, "func", None)
    if callable(inner):
        return "call the plain function that it wraps: kernels have neither decorators nor partial arguments"
    return (
        "only plain functions written with def, lapilli's functions and the builtins of kernels can be called"
    )


def _packages(obj: object) -> set[str]:
    """Returns the packages that a callable may be of: ufuncs and bound methods name only that of their type."""
    owner: object = getattr(obj, "__self__", None)
    modules = (getattr(obj, "__module__", None), obj.__class__.__module__, owner.__class__.__module__)
    return {str(module).partition(".")[0] for module in modules}


def word_hint(word: object, words: Iterable[str]) -> str | None:
    """Returns what to write instead of a word, or a function by that name, that is none of `words`."""
    name = word if isinstance(word, str) else getattr(word, "name", getattr(word, "__name__", ""))
    if not isinstance(name, str):
        return None
    known = _MEMORY_ORDERS.get(name) or _MEMORY_SCOPES.get(name)
    meant = _OPERATIONS.get(name, name)
    return f'write "{meant}"' if known is None and meant in words else known
