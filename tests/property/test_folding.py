"""Folding, numbering and hoisting keep results: kernels of constants and random programs at every opt_level."""

from __future__ import annotations

import random

import numpy as np
import pytest

import lapilli as lp

from .scalars import Int

pytestmark = pytest.mark.device

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
NEEDED = {
    "i8": "VK_INT8", "u8": "VK_INT8", "i16": "VK_INT16", "u16": "VK_INT16", "i64": "VK_INT64", "u64": "VK_INT64",
    "f16": "FP16", "f64": "FP64",
}  # fmt: skip
INTEGER_OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
FLOAT_OPERATORS = ("+", "-", "*")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


def _require(device, dtype: str) -> None:
    aspect = NEEDED.get(dtype)
    if aspect is not None and not device.has(lp.Aspect[aspect]):
        pytest.skip(f"the device lacks {aspect.lower()}")


def _operand(dtype: str, generator: random.Random) -> str:
    if dtype in FLOATS:
        return repr(generator.choice((0.0, -0.0, 1.5, -2.25, 0.1, 1000.0, generator.uniform(-9, 9))))
    kind = getattr(lp, dtype)
    edges = (
        0,
        1,
        2,
        kind.maximum,
        kind.minimum,
        kind.bits - 1,
        generator.randint(kind.minimum, kind.maximum),
    )
    return str(generator.choice(edges))


def _cases(dtype: str, generator: random.Random) -> list[tuple[str, str, str]]:
    """Returns (operator, left, right) of literals, several of each operator."""
    operators = (*(FLOAT_OPERATORS if dtype in FLOATS else INTEGER_OPERATORS), *COMPARISONS, "min", "max")
    return [
        (op, _operand(dtype, generator), _operand(dtype, generator)) for op in operators for _ in range(6)
    ]


def _text(op: str, left: str, right: str) -> str:
    return f"{op}({left}, {right})" if op in ("min", "max") else f"({left} {op} {right})"


def _kernel(dtype: str, cases, level: int, *, folded: bool):
    """Returns a kernel that computes the cases: of constants, or of the same numbers read from an array."""
    rows = []
    for row, (op, left, right) in enumerate(cases):
        a, b = (
            f"lp.{dtype}({v})" if folded else f"lp.{dtype}(v[{2 * row + k}])"
            for k, v in enumerate((left, right))
        )
        value = _text(op, "a", "b")
        if op in COMPARISONS:
            value = f"lp.{dtype}(1) if {value} else lp.{dtype}(0)"
        storage = _storage(dtype)
        rows.append(f"    a = {a}\n    b = {b}\n    out[{row}] = lp.{storage}({value})\n")
    return lp.kernel_from_source(
        f"@lp.kernel(contract=False, opt_level={level})\n"
        f"def compute(v: lp.In[lp.{_storage(dtype)}], out: lp.Array[lp.{_storage(dtype)}]):\n{''.join(rows)}"
    )


def _storage(dtype: str) -> str:
    """Returns a type that holds the numbers exactly in arrays of every device that computes in `dtype`."""
    if dtype in FLOATS:
        return "f64" if dtype == "f64" else "f32"
    return dtype if dtype.endswith("64") else "u32" if dtype == "u32" else "i32"


def _exact(dtype: str, op: str, left: str, right: str) -> float:
    if dtype in FLOATS:
        kind = np.dtype(getattr(lp, dtype).dtype).type
        a, b = kind(float(left)), kind(float(right))
    else:
        kind = getattr(lp, dtype)
        a, b = (Int(0, kind.bits, kind.is_signed)._of(int(v)) for v in (left, right))
    with np.errstate(all="ignore"):
        result = eval(_text(op, "a", "b"), {"min": min, "max": max}, {"a": a, "b": b})
    return result.value if isinstance(result, Int) else result


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_constants_fold_to_what_the_device_and_numpy_compute(device, dtype):
    _require(device, dtype)
    cases = _cases(dtype, random.Random(f"folding {dtype}"))
    kind = np.dtype(getattr(lp, _storage(dtype)).dtype)
    number = float if dtype in FLOATS else int
    values = np.array([number(v) for _, left, right in cases for v in (left, right)], dtype=kind)
    expected = np.array([_exact(dtype, *case) for case in cases], dtype=kind)
    for level, folded in ((2, True), (0, False)):
        out = lp.zeros(len(cases), kind, device=device)
        _kernel(dtype, cases, level, folded=folded)[1](lp.asarray(values, device=device), out)
        found = out.numpy()
        wrong = [(case, f, e) for case, f, e in zip(cases, found, expected, strict=True) if f != e]
        assert not wrong, (level, folded, wrong[:5])


def test_cases_of_constants_are_folded():
    cases = [("^", "3", "5"), ("|", "8", "5")]
    text = _kernel("i32", cases, 1, folded=True).inspect("spirv")
    assert "OpBitwiseXor" not in text and "OpBitwiseOr" not in text
    assert "OpBitwiseXor" in _kernel("i32", cases, 1, folded=False).inspect("spirv")


def _program(generator: random.Random) -> str:
    """Returns statements with repeated expressions, invariants of loops, and branches."""
    lines = ["p = x[i]", "q = y[i]", "r = p ^ q"]
    for _ in range(6):
        a, b, target = (generator.choice("pqr") for _ in range(3))
        op = generator.choice(("+", "-", "*", "&", "|", "^", "//", "%"))
        expression = f"({a} {op} {b}) + ({a} {op} {b})"
        match generator.randrange(4):
            case 0:
                lines.append(f"{target} = {expression}")
            case 1:
                lines += ["for k in range(q & 7):", f"    {target} = {target} + ({a} {op} {b}) * (p + 3)"]
            case 2:
                lines += [
                    f"if {a} > {b}:",
                    f"    {target} = {expression}",
                    "else:",
                    f"    {target} = {a} {op} 7",
                ]
            case _:
                lines += [
                    f"{target} = {expression} if {a} < 5 else {b}",
                    f"x[i] = {target}",
                    f"{target} = x[i] + q",
                ]
    return "\n".join(f"    {line}" for line in [*lines, "out[i] = p + q * 3 + r"])


@pytest.mark.parametrize("seed", range(12))
def test_programs_give_the_same_at_every_level(device, seed):
    body = _program(random.Random(seed))
    values = np.random.default_rng(seed)
    x, y = (values.integers(-(2**31), 2**31, 64).astype(np.int32) for _ in range(2))
    x[:8], y[:8] = [0, 1, -1, 5, 2**31 - 1, -(2**31), 7, 3], [0, -1, 1, 0, -1, -1, 5, 2]
    results = []
    for level in (0, 1, 2):
        kernel = lp.kernel_from_source(
            f"@lp.kernel(opt_level={level})\n"
            f"def compute(x: lp.Array[lp.i32], y: lp.In[lp.i32], out: lp.Out[lp.i32]):\n"
            f"    i = lp.global_id(0)\n{body}\n"
        )
        out, array = lp.zeros(64, lp.i32, device=device), lp.asarray(x, device=device)
        kernel[64](array, lp.asarray(y, device=device), out)
        results.append((out.numpy(), array.numpy()))
    for level in (1, 2):
        np.testing.assert_array_equal(results[level], results[0], body)
