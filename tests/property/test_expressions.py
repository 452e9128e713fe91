"""Random expression kernels against the same Python source, evaluated with the language's semantics."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from . import scalars
from .expressions import float_expressions, int_expressions

pytestmark = pytest.mark.device

SETTINGS = settings(
    max_examples=40,
    deadline=None,  # times are the business of benchmarks/
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
EDGE_INTS = [0, 1, 2, 3, 7, 31, 32, 33, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2, 0x55555555, 12345]
EDGE_FLOATS = [0.0, -0.0, 1.0, -1.5, 3.25, 1e10, -7.5e-10, 123456.7, np.inf, -np.inf, np.nan]

_serial = itertools.count()


def compile_source(tmp_path, dtype: str, expression: str):
    """Returns the kernel ``out[i] = expression`` over a, b, c of `dtype`, from a file of its own."""
    name = f"generated_{next(_serial)}"
    path = tmp_path / f"{name}.py"
    path.write_text(
        "import lapilli as lp\n\n"
        "@lp.kernel(contract=False)\n"
        f"def evaluate(xs: lp.In[lp.{dtype}], ys: lp.In[lp.{dtype}], zs: lp.In[lp.{dtype}], out: lp.Out[lp.{dtype}]):\n"
        "    i = lp.global_id(0)\n"
        "    a = xs[i]\n    b = ys[i]\n    c = zs[i]\n"
        f"    out[i] = {expression}\n"
    )
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.evaluate


def run(kernel, device, columns):
    arrays = [lp.asarray(column, device=device) for column in columns]
    out = lp.empty(columns[0].shape, columns[0].dtype, device=device)
    kernel[out.size](*arrays, out)
    return out.numpy()


def run_in_interpreter(kernel, columns):
    out = np.empty_like(columns[0])
    interpret(kernel, out.size, (*columns, out))
    return out


def columns_of(values, dtype):
    triples = list(itertools.product(values, repeat=3))[:: max(1, len(values) ** 3 // 600)]
    return [np.array(column, dtype=dtype) for column in zip(*triples, strict=True)]


def expected_values(expression: str, make, columns, dtype):
    code = compile(expression, "<expression>", "eval")
    names = {"min": min_of, "max": max_of, "abs": abs}
    results = []
    with np.errstate(all="ignore"):
        for a, b, c in zip(*columns, strict=True):
            value = eval(code, names, {"a": make(a), "b": make(b), "c": make(c)})
            results.append(value.value if isinstance(value, scalars.Int) else value)
    return np.array(results, dtype=dtype)


def min_of(a, b):
    """IEEE minNum for floats (a NaN gives the other operand), Python's min for integers."""
    return np.fmin(a, b) if isinstance(a, np.floating) else min(a, b)


def max_of(a, b):
    """IEEE maxNum for floats, Python's max for integers."""
    return np.fmax(a, b) if isinstance(a, np.floating) else max(a, b)


@SETTINGS
@given(expression=int_expressions(("a", "b", "c"), signed=True))
def test_signed_integer_expressions_match_python(device, tmp_path, expression):
    columns = columns_of([v - 2**32 if v >= 2**31 else v for v in EDGE_INTS], np.int32)
    kernel = compile_source(tmp_path, "i32", expression)
    expected = expected_values(expression, scalars.i32, columns, np.int32)
    np.testing.assert_array_equal(run(kernel, device, columns), expected, expression)
    np.testing.assert_array_equal(run_in_interpreter(kernel, columns), expected, expression)


@SETTINGS
@given(expression=int_expressions(("a", "b", "c"), signed=False))
def test_unsigned_integer_expressions_match_python(device, tmp_path, expression):
    columns = columns_of(EDGE_INTS, np.uint32)
    kernel = compile_source(tmp_path, "u32", expression)
    expected = expected_values(expression, scalars.u32, columns, np.uint32)
    np.testing.assert_array_equal(run(kernel, device, columns), expected, expression)
    np.testing.assert_array_equal(run_in_interpreter(kernel, columns), expected, expression)


@SETTINGS
@given(expression=float_expressions(("a", "b", "c")))
def test_float_expressions_match_numpy(device, tmp_path, expression):
    columns = columns_of(EDGE_FLOATS, np.float32)
    kernel = compile_source(tmp_path, "f32", expression)
    expected = expected_values(expression, scalars.f32, columns, np.float32)
    # min and max may return either zero of (-0, +0): IEEE 754 leaves the sign open, so compare by value.
    np.testing.assert_array_equal(run(kernel, device, columns), expected, expression)
    np.testing.assert_array_equal(run_in_interpreter(kernel, columns), expected, expression)


@SETTINGS
@given(start=st.integers(-40, 40), stop=st.integers(-40, 40), step=st.integers(-7, 7).filter(bool))
def test_range_loops_match_python(device, start, stop, step):
    out = lp.zeros(3, lp.i32, device=device)
    loop_summary[1](start, stop, step, out)
    values = list(range(start, stop, step))
    assert out.numpy().tolist() == [len(values), sum(values), values[-1] if values else -1000]


@lp.kernel
def loop_summary(start: lp.i32, stop: lp.i32, step: lp.i32, out: lp.Out[lp.i32]):
    count = 0
    total = 0
    last = -1000
    for i in range(start, stop, step):
        count += 1
        total += i
        last = i
    out[0] = count
    out[1] = total
    out[2] = last
