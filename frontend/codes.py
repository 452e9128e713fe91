"""The stable codes of mistakes in kernel bodies, a paragraph each.

The codes of signatures, launches and the host stand in `errors.CODES`, which takes these in.
"""

from __future__ import annotations

BODY_CODES: dict[str, str] = {
    "LP2030": (
        "Kernels are compiled from a subset of Python: numbers, tuples, if, for, while, functions, assert "
        "and print. Exceptions, with, lambda, comprehensions, lists, dicts and slices have no counterpart "
        "on a device. The message names the construct and what to write instead; docs/kernel-language.md "
        "has all that there is."
    ),
    "LP2031": "The name means nothing where the kernel was defined: it is neither a variable of the kernel, nor "
    "captured, nor global, nor a builtin that kernels have. Check the spelling, or define it above the kernel.",
    "LP2032": "A kernel may capture numbers, bools, tuples of these, lapilli types, functions, modules and "
    "specialization constants. Any other object has no counterpart on a device: pass it as an argument.",
    "LP2033": (
        "An operator, function or statement got a value of a type that it does not take. Values in kernels "
        "are numbers, bools, vectors, structs, fixed arrays, tuples and arrays, and the type of each "
        "follows from parameters, literals and conversions. The message names what was found: convert a "
        "number with lp.i32(x) or lp.f32(x), index an array, take one component of a vector."
    ),
    "LP2034": "A signed and an unsigned integer of the same width have no common type that holds both. Convert one "
    "of them: lp.i32(x) or lp.u32(x).",
    "LP2035": (
        "A literal takes the type of the value beside it, and this literal does not fit that type: 300 "
        "beside an lp.u8, say. Convert the other value to a wider type, lp.i32(x), or write a literal that "
        "fits."
    ),
    "LP2036": (
        "Storing converts within a kind and from integers to floats, but a float becomes an integer, and a "
        "number a bool, only by an explicit conversion. Write lp.i32(x) or bool(x); of two integers // "
        "gives an integer."
    ),
    "LP2037": "A local variable has one type in a whole function, joined over its assignments, and these "
    "assignments have no common type. Use two variables, or convert the values.",
    "LP2038": (
        "On some path through the function the variable has no value when it is read, such as a branch that "
        "does not assign it, or a loop that may run no round. Assign it before the branch or loop."
    ),
    "LP2039": (
        "lp.In arrays are read-only: the compiler merges their loads and orders launches by that. Declare "
        "the parameter lp.Array where the kernel reads and writes it, or lp.Out where it only writes."
    ),
    "LP2040": (
        "lp.Out arrays are write-only: a launch need not wait for what they held before. Declare the "
        "parameter lp.Array where the kernel reads and writes it, or lp.In where it only reads. a[i] += v "
        "reads, too."
    ),
    "LP2041": "An array of n dimensions takes exactly n integer indices: a[i] for one dimension, a[i, j] for two. "
    "There are no slices and no partial indices.",
    "LP2042": (
        "A literal index lies outside of a fixed array or a tuple. Indices go from 0 to the length minus "
        "one, or from minus the length to -1, counted from the end."
    ),
    "LP2043": (
        "A negative literal exponent of an integer has no integer result. Convert the base to a float: "
        "lp.f32(n) ** -2."
    ),
    "LP2044": "A function calls itself, directly or through others. Devices have no call stack: write a loop.",
    "LP2045": (
        "The arguments of a call do not match the parameters of the function: one is missing, too many, "
        "unknown, or given twice. The message shows the call as it should be."
    ),
    "LP2046": (
        "The object has no such attribute in kernels. Arrays have shape, size, ndim and dtype, vectors "
        "their components x, y, z, w, structs their members and methods; functions of numbers stand in "
        "lp.math. The message says what to write where it knows the name from another system."
    ),
    "LP2047": (
        "The dimension of a work-item function is a literal from 0 (slowest) to the number of dimensions of "
        "the launch range minus one. Launch the kernel over as many dimensions as it names: k[rows, "
        "columns](…)."
    ),
    "LP2049": "The return statements of a function must agree in number and types of their values, and a function "
    "whose value is used must return one on every path. A kernel returns nothing.",
    "LP2050": (
        "range takes one to three integers, and a step that is not the literal 0. Floats are converted "
        "first, lp.i32(x); a step that is computed may be of either sign."
    ),
    "LP2051": "The value must be known when the kernel is compiled: a literal or a captured constant. A "
    "specialization constant is neither: it gets its value later, when a pipeline is made.",
    "LP2055": "lp.local.array and lp.private.array make an array once for each call of their function, of a size "
    "that is known before the kernel runs: literals, captured numbers, specialization constants and integer "
    "expressions of these. They stand at the top level of a function, in no loop and under no condition.",
    "LP2056": "Every work-item of a work-group must reach the same barriers and group functions. This one stands "
    "under a condition, or in a loop, that depends on which work-item runs: some would wait for ever. Move it out, "
    "and put only the other statements under the condition.",
    "LP2057": (
        "kh.get_specialization_constant reads a constant by reference, so its argument is the name of an "
        "lp.SpecializationId. A value that is computed from one is none."
    ),
    "LP2058": "Kernels show numbers, bools, vectors, structs, tuples of these and strings, in print, in f-strings of "
    "print and in the messages of assert; at most 32 numbers at once, with formats that are short literals.",
    "LP2053": (
        "The target of an assignment is a variable, an element of an array, a component or member of it, or "
        "a tuple of these. Slices and calls are no targets: store each element, in a loop."
    ),
}
"""What each code means and what to do."""
