# ruff: noqa: B007, C416, E731, F401, F821, F841, RET503, RUF015, RUF059, SIM105 - the kernels are wrong on purpose
"""Wrong kernels: each is refused with its code, a message that names the thing, and the caret under the place.

The last argument of `case` is the text that the caret underlines.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.frontend.codes import BODY_CODES

LIST = [1, 2, 3]
TABLE = np.zeros(3000)
FOUR = 4
SPEC = lp.SpecializationId(lp.u32, 3)
COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3])


def recursive(n):
    return recursive(n - 1) if n > 0 else 0


def even(n):
    return odd(n - 1) if n > 0 else 1


def odd(n):
    return even(n - 1) if n > 0 else 0


def variadic(*values):
    return values


def no_value_on_some_path(v):
    if v > 0:
        return v


def writes(a, i):
    a[i] = 0.0


def two_arguments(a, b):
    return a + b


CASES = []


def case(code, message, underlined):
    def register(function):
        CASES.append((function, code, message, underlined))
        return function

    return register


@case("LP2031", "unknown name 'nothing'", "nothing")
def unknown_name(x: lp.Array[lp.f32]):
    x[0] = nothing


@case("LP2031", "unknown name 'ressult'", "ressult")
def store_into_an_unknown_name(result: lp.Array[lp.f32]):
    ressult[0] = 1.0


@case("LP2031", "unknown name 'gl_WorkGroupID'", "gl_WorkGroupID")
def name_of_glsl(x: lp.Array[lp.f32]):
    x[gl_WorkGroupID.x] = 1.0


@case("LP2041", "found function 'lp.global_id'", "lp.global_id")
def function_as_index(x: lp.Array[lp.f32]):
    x[lp.global_id] = 1.0


@case("LP2031", "unknown name 'np_missing'", "np_missing")
def unknown_call(x: lp.Array[lp.f32]):
    x[0] = np_missing(1)


@case("LP2032", "'LIST', a captured object of type list", "LIST")
def captured_list(x: lp.Array[lp.f32]):
    x[0] = LIST[0]


@case("LP2032", "NumPy array 'TABLE' has 24000 bytes", "TABLE")
def captured_array(x: lp.Array[lp.f64]):
    x[0] = TABLE[0]


@case("LP2039", "'x' is lp.In[lp.f32], which is read-only", "x[0]")
def write_in(x: lp.In[lp.f32]):
    x[0] = 1.0


@case("LP2040", "'x' is lp.Out[lp.f32], which is write-only", "x[0]")
def read_out(x: lp.Out[lp.f32], y: lp.Array[lp.f32]):
    y[0] = x[0]


@case("LP2040", "write-only", "x[0]")
def augmented_out(x: lp.Out[lp.f32]):
    x[0] += 1.0


@case("LP2034", "operator + mixes signed lp.i32 with unsigned lp.u32", "a + b")
def mixed_signs(a: lp.i32, b: lp.u32, y: lp.Array[lp.i32]):
    y[0] = a + b


@case("LP2034", "mixes signed lp.i32 with unsigned lp.u64", "a * b")
def mixed_signs_wider(a: lp.i32, b: lp.u64, y: lp.Array[lp.i32]):
    y[0] = a * b


@case("LP2034", "operator < mixes signed", "a < b")
def mixed_comparison(a: lp.i32, b: lp.u32, y: lp.Array[lp.i32]):
    if a < b:
        y[0] = 1


@case("LP2035", "the literal -1 does not fit lp.u32", "-1")
def literal_sign(b: lp.u32, y: lp.Array[lp.u32]):
    y[0] = b + -1


@case("LP2035", "the literal 300 does not fit lp.u8 (0 to 255)", "300")
def literal_stored(y: lp.Array[lp.u8]):
    y[0] = 300


@case("LP2035", "does not fit lp.f16", "1e6")
def literal_half(a: lp.f16, y: lp.Array[lp.f16]):
    y[0] = a * 1e6


@case("LP2035", "the literal 3000000000 does not fit lp.i32", "3000000000")
def literal_variable(y: lp.Array[lp.i64]):
    n = 3000000000
    y[0] = n


@case("LP2036", "'y' holds lp.i32, found lp.f32", "a")
def float_to_integer(a: lp.f32, y: lp.Array[lp.i32]):
    y[0] = a


@case("LP2036", "a float, expected lp.i32", "0.5")
def float_literal_to_integer(y: lp.Array[lp.i32]):
    y[0] = 0.5


@case("LP2036", "found lp.i32", "a")
def integer_to_bool(a: lp.i32, y: lp.Array[lp.bool_]):
    y[0] = a


@case("LP2037", "variable 'r' is lp.bool_ in one place and lp.i32 in another", "a")
def bool_and_integer(a: lp.i32, y: lp.Array[lp.i32]):
    r = a > 0
    if a > 3:
        r = a
    y[0] = r


@case("LP2037", "variable 'r' is lp.u32 in one place and lp.i32 in another", "a")
def signed_and_unsigned(a: lp.i32, b: lp.u32, y: lp.Array[lp.i32]):
    r = b
    r = a
    y[0] = r


@case("LP2038", "variable 'r' may be unset: the if of line", "r")
def unset_after_if(a: lp.i32, y: lp.Array[lp.i32]):
    if a > 0:
        r = 1
    y[0] = r


@case("LP2038", "variable 'k' may be unset: the loop of line", "k")
def unset_after_loop(a: lp.i32, y: lp.Array[lp.i32]):
    for k in range(a):
        pass
    y[0] = k


@case("LP2038", "variable 'r' is read before it is assigned", "r")
def unset_before(y: lp.Array[lp.i32]):
    y[0] = r
    r = 1


@case("LP2041", "takes 2 indices, found 1", "x[0]")
def too_few_indices(x: lp.Array[lp.f32, 2]):
    x[0] = 1.0


@case("LP2041", "takes 1 index, found 2", "x[0, 1]")
def too_many_indices(x: lp.Array[lp.f32]):
    x[0, 1] = 1.0


@case("LP2041", "an index of 'x' must be an integer, found lp.f32", "a")
def float_index(a: lp.f32, x: lp.Array[lp.f32]):
    x[a] = 1.0


@case("LP2041", "must be an integer, found lp.bool_", "a > 0")
def bool_index(a: lp.f32, x: lp.Array[lp.f32]):
    x[a > 0] = 1.0


@case("LP2030", "kernels have no slices", "0:2")
def slices(x: lp.Array[lp.f32]):
    x[0:2] = 1.0


@case("LP2042", "index 3 is out of range of a dimension of length 3", "COEFF[1, 3]")
def fixed_array_range(x: lp.Array[lp.f32]):
    x[0] = COEFF[1, 3]


@case("LP2042", "index 2 is out of range of a tuple of 2", "2")
def tuple_range(x: lp.Array[lp.f32, 2]):
    x[0, 0] = x.shape[2]


@case("LP2051", "the index of a tuple must be known", "i")
def tuple_run_time_index(i: lp.i32, x: lp.Array[lp.f32, 2]):
    x[0, 0] = x.shape[i]


@case("LP2051", "the index of a tuple must be known", "SPEC")
def specialization_as_tuple_index(x: lp.Array[lp.f32, 2]):
    x[0, 0] = x.shape[SPEC]


@case("LP2051", "static_range takes literals", "lp.static_range(SPEC)")
def specialization_unrolled(x: lp.Array[lp.f32]):
    for k in lp.static_range(SPEC):
        x[k] = 1.0


@case("LP2057", "takes a specialization id by its name", "n")
def constant_by_value(kh: lp.KernelHandler, n: lp.i32, x: lp.Array[lp.f32]):
    x[0] = kh.get_specialization_constant(n)


@case("LP2043", "an integer to a negative power", "a**-1")
def negative_power(a: lp.i32, x: lp.Array[lp.f32]):
    x[0] = a**-1


@case("LP2044", "recursion: recursive → recursive", "recursive(n - 1)")
def direct_recursion(x: lp.Array[lp.i32]):
    x[0] = recursive(lp.global_id(0))


@case("LP2044", "recursion: even → odd → even", "even(n - 1)")
def mutual_recursion(x: lp.Array[lp.i32]):
    x[0] = even(lp.global_id(0))


@case("LP2045", "'two_arguments' gets no value for 'b'", "two_arguments(1)")
def missing_argument(x: lp.Array[lp.i32]):
    x[0] = two_arguments(1)


@case("LP2045", "'two_arguments' takes 2 positional arguments, found 3", "3")
def extra_argument(x: lp.Array[lp.i32]):
    x[0] = two_arguments(1, 2, 3)


@case("LP2045", "'two_arguments' has no parameter 'c'", "c=2")
def unknown_keyword(x: lp.Array[lp.i32]):
    x[0] = two_arguments(1, c=2)


@case("LP2045", "lp.math.sqrt takes 1 argument, found 2", "lp.math.sqrt(x[0], x[1])")
def intrinsic_arguments(x: lp.Array[lp.f32]):
    x[0] = lp.math.sqrt(x[0], x[1])


@case("LP2046", "arrays have no attribute 'T' in kernels", "x.T")
def array_attribute(x: lp.Array[lp.f32]):
    x[0] = x.T


@case("LP2046", "'lp.math' has no attribute 'sqroot'", "lp.math.sqroot")
def module_attribute(x: lp.Array[lp.f32]):
    x[0] = lp.math.sqroot(2.0)


@case("LP2047", "lp.global_id has dimensions 0 to 2, found 3", "3")
def dimension_range(x: lp.Array[lp.f32]):
    x[lp.global_id(3)] = 1.0


@case("LP2047", "must be a literal integer", "d")
def dimension_run_time(d: lp.i32, x: lp.Array[lp.f32]):
    x[lp.global_id(d)] = 1.0


@case("LP2049", "a kernel returns nothing", "return 1")
def kernel_returns(x: lp.Array[lp.f32]):
    return 1


@case("LP2049", "'no_value_on_some_path' returns a value on some paths only", "no_value_on_some_path")
def incomplete_helper(x: lp.Array[lp.f32]):
    x[0] = no_value_on_some_path(x[1])


@case("LP2050", "range takes integers, found lp.f32", "a")
def float_range(a: lp.f32, x: lp.Array[lp.f32]):
    for k in range(a):
        x[k] = 1.0


@case("LP2050", "the step of range must not be 0", "0")
def zero_step(x: lp.Array[lp.f32]):
    for k in range(0, 4, 0):
        x[k] = 1.0


@case("LP2033", "for loops run over range, tuples", "x")
def loop_over_array(x: lp.Array[lp.f32, 2]):
    for row in x:
        x[0, 0] = row[0]


@case("LP2033", "operator + takes numbers and vectors, found lp.Array[lp.f32]", "x + 1")
def array_arithmetic(x: lp.Array[lp.f32]):
    x[0] = x + 1


@case("LP2033", "operator & takes integers, found lp.f32", "a & 1")
def float_bits(a: lp.f32, x: lp.Array[lp.f32]):
    x[0] = a & 1


@case("LP2033", "expected 3 values to unpack, found 2", "x.shape")
def unpack_count(x: lp.Array[lp.f32, 2]):
    a, b, c = x.shape


@case("LP2033", "lp.bitcast needs types of one size", "lp.bitcast(a, lp.u64)")
def bitcast_width(a: lp.f32, x: lp.Array[lp.u64]):
    x[0] = lp.bitcast(a, lp.u64)


@case("LP2033", "cannot be called in kernels", "FOUR")
def call_number(x: lp.Array[lp.f32]):
    x[0] = FOUR(1)


@case(
    "LP2033",
    "the value is lp.Array[lp.f32] on one path and tuple of 2 on the other",
    "x if a > 0 else (1, 2)",
)
def choice_of_objects(a: lp.i32, x: lp.Array[lp.f32]):
    x[0] = (x if a > 0 else (1, 2))[0]


@case("LP2053", "kernels cannot assign to an attribute", "x.value")
def assign_attribute(x: lp.Array[lp.f32]):
    x.value = 1.0


@case("LP2030", "kernels have no 'try'", "try:")
def try_statement(x: lp.Array[lp.f32]):
    try:
        x[0] = 1.0
    except ValueError:
        pass


@case("LP2030", "kernels have no 'with'", "with x:")
def with_statement(x: lp.Array[lp.f32]):
    with x:
        x[0] = 1.0


@case("LP2030", "kernels have no 'lambda'", "lambda v: v")
def lambda_expression(x: lp.Array[lp.f32]):
    f = lambda v: v


@case("LP2030", "kernels have no list comprehensions", "[v for v in (1, 2)]")
def comprehension(x: lp.Array[lp.f32]):
    x[0] = [v for v in (1, 2)][0]


@case("LP2030", "kernels have no nested functions", "def")
def nested_function(x: lp.Array[lp.f32]):
    def inner():
        pass


@case("LP2030", "kernels have no 'import'", "import math")
def import_statement(x: lp.Array[lp.f32]):
    import math


@case("LP2030", "kernels have no 'raise'", "raise ValueError")
def raise_statement(x: lp.Array[lp.f32]):
    raise ValueError


@case("LP2030", "kernels have no dicts", "{1: 2.0}")
def dict_display(x: lp.Array[lp.f32]):
    x[0] = {1: 2.0}[1]


@case("LP2030", "kernels have no f-strings", 'f"{x}"')
def format_string(x: lp.Array[lp.f32]):
    f = f"{x}"


@case("LP2058", "kernels cannot print lp.Array[lp.f32]", "x")
def print_array(x: lp.Array[lp.f32]):
    print("all of it:", x)


@case("LP2058", "has no format 'd'", "x[0]")
def print_float_as_integer(x: lp.Array[lp.f32]):
    print(f"{x[0]:d}")


@case("LP2058", "a short literal", "x[0]")
def print_with_computed_format(x: lp.Array[lp.f32]):
    print(f"{x[0]:{FOUR}}")


@case("LP2058", "33 numbers are shown at once, at most 32", "print(c)")
def print_too_much(x: lp.Array[lp.f32], c: lp.FixedArray[lp.f32, 33]):
    print(c)


@case("LP2058", "no '!a'", "x[0]")
def print_ascii(x: lp.Array[lp.f32]):
    print(f"{x[0]!a}")


@case("LP2033", "file of print is a parameter that is an lp.Stream, found None", "None")
def print_to_file(x: lp.Array[lp.f32]):
    print(x[0], file=None)


@case("LP2033", "sep of print is a literal string", "4")
def print_separated_by_number(x: lp.Array[lp.f32]):
    print(x[0], x[0], sep=4)


@case("LP2033", "a condition is a number or a bool", "x")
def assert_array(x: lp.Array[lp.f32]):
    assert x


@case("LP2030", "kernels have no 'global'", "global FOUR")
def global_statement(x: lp.Array[lp.f32]):
    global FOUR


@case("LP2030", "kernels have no 'match'", "match 1:")
def match_statement(x: lp.Array[lp.f32]):
    match 1:
        case _:
            pass


@case("LP2030", "operator 'in' looks into a tuple or a range, found lp.Array[lp.f32]", "1.0 in x")
def membership(a: lp.i32, x: lp.Array[lp.f32]):
    if 1.0 in x:
        x[0] = 1.0


@case("LP2030", "kernels have no '*' arguments", "*x.shape")
def starred_call(x: lp.Array[lp.f32]):
    x[0] = two_arguments(*x.shape)


@case("LP2030", "which kernels cannot call", "variadic(1)")
def variadic_helper(x: lp.Array[lp.f32]):
    x[0] = variadic(1)


@case("LP2039", "'a' is lp.In[lp.f32], which is read-only", "a[i]")
def helper_writes_in(x: lp.In[lp.f32]):
    writes(x, 0)


@case("LP2055", "stands in a loop or under a condition", "lp.local.array(4, lp.i32)")
def local_array_in_loop(x: lp.Array[lp.f32]):
    for _ in range(3):
        a = lp.local.array(4, lp.i32)


@case("LP2055", "computed from integers, found a float", "lp.i32(T)")
def length_of_a_float(x: lp.Array[lp.f32], *, T: lp.Spec[lp.f32] = 4.0):
    a = lp.private.array(lp.i32(T), lp.f32)


@case("LP2056", "not every work-item of the work-group reaches this barrier", "lp.barrier()")
def divergent_barrier(x: lp.Array[lp.f32]):
    if lp.local_id(0) > 1:
        lp.barrier()


def _error(function):
    with pytest.raises(lp.CompileError) as caught:
        build_module([lp.kernel(function)])
    return caught.value


@pytest.mark.parametrize(
    ("function", "code", "message", "underlined"), CASES, ids=[c[0].__name__ for c in CASES]
)
def test_wrong_kernel_is_refused_at_its_place(function, code, message, underlined):
    error = _error(function)
    head, line, caret = str(error).splitlines()[:3]

    assert code == error.code
    assert code in BODY_CODES
    assert message in error.diagnostics[0].message
    assert head.startswith(f"{__file__}:{error.location.line}:{error.location.column}: error: ")
    assert line[4:] == Path(__file__).read_text().splitlines()[error.location.line - 1]
    assert 4 + error.location.column - 1 == caret.index("^")
    assert underlined == line[caret.index("^") : len(caret)]


def test_error_in_helper_notes_the_call():
    error = _error(helper_writes_in)

    assert "in 'writes', called here" in str(error)
    assert [d.severity for d in error.diagnostics] == ["error", "note"]


def test_dimension_beyond_given_rank_is_refused():
    @lp.kernel
    def k(x: lp.Array[lp.f32]):
        x[lp.global_id(1)] = 1.0

    with pytest.raises(
        lp.CompileError, match=r"lp.global_id\(1\) in a launch range of 1 dimension"
    ) as caught:
        build_module([k], rank=1)
    assert caught.value.code == "LP2047"


def test_intrinsics_on_the_host_are_refused():
    with pytest.raises(lp.InvalidError, match=r"lp\.global_id works only inside a kernel"):
        lp.global_id(0)
    with pytest.raises(lp.InvalidError, match=r"lp\.math\.sqrt works only inside a kernel"):
        lp.math.sqrt(2.0)
    assert lp.math.pi == math.pi


def test_every_mistake_has_a_test():
    tested = {case[1] for case in CASES}
    assert sorted(set(BODY_CODES) - tested) == []


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (store_into_an_unknown_name, "did you mean 'result'?"),
        (name_of_glsl, "write lp.group_id(d); GLSL's x is the last dimension, which is unit-stride"),
        (function_as_index, "call it: lp.global_id(0)"),
    ],
)
def test_slips_say_what_to_write(function, hint):
    assert _error(function).diagnostics[0].hint == hint
