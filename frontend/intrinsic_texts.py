"""What ``help(lp.global_id)`` says: signature and meaning of each function that exists only inside of kernels.

Loaded when somebody asks.  `tests/frontend/test_help.py` compares the signatures with those of the stubs.
"""

from __future__ import annotations

import textwrap

_WIDTH = 100
_WHERE = "Inside of kernels only."

_INDEX = "An i32 (i64 with @lp.kernel(index=lp.i64)); dimension 0 is the slowest, and the default."

_ITEMS = {
    "global_id(dimension=0)": f"The index of this work-item in the range of the launch. {_INDEX}",
    "local_id(dimension=0)": f"The index of this work-item in its work-group. {_INDEX}",
    "group_id(dimension=0)": f"The index of this work-item's work-group. {_INDEX}",
    "global_range(dimension=0)": f"The extent of the launch, n of kernel[n], not rounded up to whole groups. {_INDEX}",
    "local_range(dimension=0)": f"The extent of a work-group. {_INDEX}",
    "group_range(dimension=0)": f"The number of work-groups. {_INDEX}",
    "global_linear_id()": "The index of this work-item in the range counted in C order, an i32 (or i64).",
    "local_linear_id()": "The index of this work-item in its work-group counted in C order, an i32 (or i64).",
    "group_linear_id()": "The index of this work-item's work-group counted in C order, an i32 (or i64).",
}

_OTHERS = {
    "static_range(start, stop, step=1)": "A range whose loop is unrolled: its bounds are known when the kernel is "
    "compiled, and its variable is a constant of each round. static_range(stop) begins at 0.",
    "barrier()": "All work-items of the work-group get here before any goes on, and see what the others wrote to "
    "shared memory and arrays. Every work-item of the group must reach it. The launch needs a local size.",
    "group_barrier(group, scope=…)": "The barrier of a group, g: lp.Group[1], or of lp.sub_group; scope is one of "
    '"work_item", "sub_group", "work_group", "device".',
    'mem_fence(scope="work_group", order="acq_rel")': "Orders this work-item's accesses to memory, waits for nobody. "
    'scope is one of "work_item", "sub_group", "work_group", "device", order one of "relaxed", "acquire", "release", '
    '"acq_rel".',
    "select(condition, if_true, if_false)": "One of two values, both of which are evaluated; of vectors by component. "
    "`a if c else b` evaluates one only.",
    "bitcast(value, type)": "The bits of a number or vector as another type of the same size, the first component in "
    "the lowest bits: lp.bitcast(x, lp.u32) of an f32, lp.bitcast(v, lp.u64) of an f32x2.",
    "shuffle(a, b, indices)": "A vector of components of two vectors: indices is a tuple of literals that counts "
    "through a, then b.",
    "popcount(n)": "How many bits of an integer are 1, in its type.",
    "clz(n)": "How many bits of an integer above the highest 1 are 0, in its type; the width where it is 0.",
    "ctz(n)": "How many bits of an integer below the lowest 1 are 0, in its type; the width where it is 0.",
    "reverse_bits(n)": "An integer with its bits in the opposite order.",
    "local.array(shape, dtype)": "Makes memory that the work-group shares: lp.local.array((16, 16), lp.f32). The "
    "shape is of literals, captured constants, lp.Const, specialization constants and arithmetic of these. What is "
    "in it is undefined. Not in loops or under conditions.",
    "private.array(shape, dtype)": "Makes memory of this work-item alone; shape and contents as of lp.local.array.",
}

_PLACE = (
    "i is an index, a tuple of them, or (i, 'field') of a struct, (i, 'inner', 'values', k) inside of it."
)
_ORDERS = 'order is "relaxed", "acquire", "release" or "acq_rel"; scope is "work_group" or "device".'
_KEYWORDS = 'order="relaxed", scope="device"'

_ATOMIC = {
    **{
        f"atomic.{name}(a, i, v, *, {_KEYWORDS})": f"{what} as one step that no other work-item interrupts; "
        f"returns what was there before. {_PLACE} {_ORDERS}"
        for name, what in {
            "add": "Adds v to a[i]",
            "sub": "Subtracts v from a[i]",
            "min": "Stores the smaller one of a[i] and v",
            "max": "Stores the larger one of a[i] and v",
            "and_": "Stores the bits that both a[i] and v have",
            "or_": "Stores the bits that a[i] or v has",
            "xor": "Stores the bits in which a[i] and v differ",
            "exchange": "Stores v",
        }.items()
    },
    f"atomic.compare_exchange(a, i, expected, v, *, {_KEYWORDS})": "Stores v if a[i] is `expected`, in one step; "
    f"returns what was there before, so that it was stored if that is `expected`. {_PLACE} {_ORDERS}",
    f"atomic.load(a, i, *, {_KEYWORDS})": f"Reads a[i] whole. {_PLACE} {_ORDERS}",
    f"atomic.store(a, i, v, *, {_KEYWORDS})": f"Writes a[i] whole. {_PLACE} {_ORDERS}",
}

_TOGETHER = "Every work-item of the {} must get here."
_WORD = 'op is "add", "mul", "min", "max", "and", "or" or "xor".'


def _collective(name: str, noun: str) -> dict[str, str]:
    every = _TOGETHER.format(noun)
    return {
        f"{name}.reduce(v, op)": f"The v of all work-items of the {noun} put together, for each. {_WORD} {every}",
        f"{name}.inclusive_scan(v, op)": f"The v of the work-items up to this one put together. {_WORD} {every}",
        f"{name}.exclusive_scan(v, op)": f"The v of the work-items before this one put together. {_WORD} {every}",
        f"{name}.broadcast(v, lane=0)": f"The v of work-item number `lane` of the {noun}. {every}",
        f"{name}.any(c)": f"Whether c is true in some work-item of the {noun}. {every}",
        f"{name}.all(c)": f"Whether c is true in all work-items of the {noun}. {every}",
    }


_SUB_GROUP = {
    "sub_group.size()": "How many work-items a sub-group (a warp) has at most, an i32.",
    "sub_group.id()": "The number of this work-item in its sub-group: its lane, an i32.",
    "sub_group.index()": "The number of this sub-group in its work-group, an i32.",
    "sub_group.count()": "How many sub-groups the work-group has, an i32.",
    "sub_group.shuffle(v, lane)": "The v of work-item number `lane` of the sub-group; each may name another.",
    "sub_group.shuffle_xor(v, mask)": "The v of the work-item whose number is this one's ^ mask.",
    "sub_group.shuffle_up(v, delta)": "The v of the work-item `delta` lanes below; undefined where there is none.",
    "sub_group.shuffle_down(v, delta)": "The v of the work-item `delta` lanes above; undefined where there is none.",
    "sub_group.ballot(c)": "A bit for each work-item of the sub-group in which c is true, as lp.u32x4.",
    "sub_group.barrier()": "All work-items of the sub-group get here before any goes on.",
}

_REAL = (
    "Of a float in its type, of an integer in f32, of a vector by component; docs/math.md has the accuracy."
)

_REAL_FUNCTIONS = {
    "acos(x)": "The angle in radians, 0 to pi, whose cosine is x; NaN outside of -1 to 1.",
    "acosh(x)": "The inverse hyperbolic cosine; NaN below 1.",
    "asin(x)": "The angle in radians, -pi/2 to pi/2, whose sine is x; NaN outside of -1 to 1.",
    "asinh(x)": "The inverse hyperbolic sine.",
    "atan(x)": "The angle in radians, -pi/2 to pi/2, whose tangent is x.",
    "atan2(y, x)": "The angle in radians, -pi to pi, of the point (x, y).",
    "atanh(x)": "The inverse hyperbolic tangent; NaN outside of -1 to 1.",
    "cbrt(x)": "The cube root, of negative numbers too.",
    "ceil(x)": "The least whole number that is not below x, as a float.",
    "copysign(x, y)": "x with the sign of y.",
    "cos(x)": "The cosine of an angle in radians.",
    "cosh(x)": "The hyperbolic cosine.",
    "degrees(x)": "An angle in radians in degrees.",
    "erf(x)": "The error function.",
    "erfc(x)": "1 - erf(x), without its loss of digits for large x.",
    "exp(x)": "e to the power of x.",
    "exp2(x)": "2 to the power of x.",
    "expm1(x)": "exp(x) - 1, without its loss of digits for small x.",
    "fabs(x)": "x without its sign; abs keeps integers integers.",
    "floor(x)": "The largest whole number that is not above x, as a float.",
    "fma(x, y, z)": "x * y + z, rounded once where the device can.",
    "fmod(x, y)": "The remainder of x / y with the sign of x; x % y has that of y.",
    "fract(x)": "x - floor(x).",
    "frexp(x)": "(m, e) with x == m * 2**e and m from 0.5 to below 1.",
    "gamma(x)": "The gamma function.",
    "hypot(x, *others)": "sqrt(x * x + y * y + …), without overflow in between.",
    "isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0)": "Whether a and b are that near, as in Python.",
    "isfinite(x)": "Whether x is neither infinite nor NaN.",
    "isinf(x)": "Whether x is infinite.",
    "isnan(x)": "Whether x is NaN.",
    "ldexp(x, exponent)": "x * 2**exponent.",
    "lgamma(x)": "The logarithm of the absolute value of the gamma function.",
    "log(x, base=e)": "The logarithm, the natural one without a base; NaN below 0.",
    "log10(x)": "The logarithm of base 10; NaN below 0.",
    "log1p(x)": "log(1 + x), without its loss of digits for small x.",
    "log2(x)": "The logarithm of base 2; NaN below 0.",
    "mix(x, y, a)": "x * (1 - a) + y * a.",
    "modf(x)": "(fraction, whole), both with the sign of x.",
    "nextafter(x, y)": "The number next to x on the way to y.",
    "pow(x, y)": "x to the power of y, in floats; `x ** y` of integers is an integer.",
    "radians(x)": "An angle in degrees in radians.",
    "remainder(x, y)": "x - n * y with the whole n that is nearest to x / y, the even one of two.",
    "rsqrt(x)": "1 / sqrt(x).",
    "sin(x)": "The sine of an angle in radians.",
    "sinh(x)": "The hyperbolic sine.",
    "smoothstep(edge0, edge1, x)": "0 up to edge0, 1 from edge1 on, t * t * (3 - 2 * t) between them.",
    "sqrt(x)": "The square root; NaN below 0.",
    "step(edge, x)": "0.0 where x < edge, else 1.0.",
    "tan(x)": "The tangent of an angle in radians.",
    "tanh(x)": "The hyperbolic tangent.",
    "trunc(x)": "x without its fraction, as a float.",
    "ulp(x)": "The distance from x to the next larger number of its type.",
}

_WRAPPED = "modulo 2**bits of the type; 0 where k is above n or one is below 0."

_OTHER_MATH = {
    "add_carry(a, b)": "(sum, carry): the sum of two integers of one type, and the carry out of its highest bit.",
    "clamp(x, low, high)": "min(max(x, low), high), in the type of the arguments; of vectors by component.",
    "comb(n, k)": f"The ways to choose k of n things, {_WRAPPED}",
    "cross(a, b)": "The cross product of two vectors of three components.",
    "dist(a, b)": "length(a - b) of two vectors, or of two tuples of as many numbers.",
    "dot(a, b)": "The sum of the products of the components of two vectors.",
    "factorial(n)": "1 * 2 * … * n, modulo 2**bits of the type; 0 below 0.",
    "gcd(a, *others)": "The greatest common divisor of integers, not negative.",
    "isqrt(n)": "The whole part of the square root of an integer; 0 below 0.",
    "lcm(a, *others)": "The least common multiple of integers, not negative.",
    "length(v)": "The square root of dot(v, v).",
    "mul_hi(a, b)": "The upper half of the bits of the product of two integers of one type.",
    "normalize(v)": "v / length(v).",
    "perm(n, k=n)": f"n * (n - 1) * … of k factors, {_WRAPPED}",
    "prod(values, *, start=1)": "The product of start and the items of a tuple, vector, shape or fixed array.",
    "sign(x)": "-1, 0 or 1 in the type of x; a zero keeps its sign, NaN gives 0; of vectors by component.",
}

TEXTS = {
    signature.partition("(")[0]: (f"lp.{signature}", f"{meaning} {_WHERE}")
    for signature, meaning in {
        **_ITEMS,
        **_OTHERS,
        **_ATOMIC,
        **_collective("group", "work-group"),
        **_collective("sub_group", "sub-group"),
        **_SUB_GROUP,
        **{f"math.{signature}": f"{meaning} {_REAL}" for signature, meaning in _REAL_FUNCTIONS.items()},
        **{f"math.{signature}": meaning for signature, meaning in _OTHER_MATH.items()},
    }.items()
}
"""Signature and meaning by the name of the function, without ``lp.``."""

NAMESPACES = {
    "math": "Functions of numbers and vectors, and pi, e, tau, inf and nan: lp.math.sin(x). docs/math.md: accuracy.",
    "atomic": "Operations on an element of an array that no other work-item interrupts: lp.atomic.add(a, i, v).",
    "group": "Functions of all work-items of a work-group together: lp.group.reduce(v, 'add').",
    "sub_group": "Functions of the work-items that a device runs in lockstep (a warp): lp.sub_group.shuffle(v, lane).",
    "local": "lp.local.array(shape, dtype) makes memory that a work-group shares, in a kernel; lp.local(shape) is the "
    "argument for a parameter tile: lp.LocalArray[…].",
    "private": "lp.private.array(shape, dtype) makes memory of one work-item, in a kernel.",
}
"""What each group of functions is for."""


def text_of_function(name: str) -> str | None:
    """Returns what ``help(lp.global_id)`` says, None where the name is unknown."""
    found = TEXTS.get(name)
    return None if found is None else f"{found[0]}\n\n{textwrap.fill(found[1], _WIDTH)}"


def parameter_names(name: str) -> list[str]:
    """Returns the parameters of a function that its signature names, in order; none where the name is unknown."""
    signature = TEXTS[name][0] if name in TEXTS else "()"
    parts = signature[signature.index("(") + 1 : signature.index(")")].split(", ")
    return [part.partition("=")[0] for part in parts if part]


def text_of_namespace(name: str, members: list[str]) -> str:
    """Returns what ``help(lp.math)`` says."""
    text = f"{NAMESPACES.get(name, '')}\n\nMembers: {', '.join(members)}"
    return "\n\n".join(textwrap.fill(part, _WIDTH) for part in text.split("\n\n"))
