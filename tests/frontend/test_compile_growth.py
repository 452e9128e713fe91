"""What the compiler does must grow as the kernel does: a walk of everything for each statement, branch, helper or
parameter is found here.

Calls of Python functions are counted, not time.  A first compilation, of the largest size, fills caches: of constants
too, of which each size has others.  Then the counts of sizes n, 2n and 4n are compared by their differences: the second
is twice the first where the growth is linear, and four times where it is quadratic.
"""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.config import config
from lapilli.ir.target_env import TargetEnv

TraceFunction = Callable[[FrameType, str, object], object]

_HEAD = "@lp.kernel\ndef k(x: lp.Array[lp.i32], n: lp.i32):\n    i = lp.global_id(0)\n"


def _body(*lines: str) -> str:
    return _HEAD + "".join(f"    {line}\n" for line in lines)


def _pairs(n: int, *lines: str) -> list[str]:
    return [line.replace("@", str(j)) for j in range(n) for line in lines]


def _joined(n: int, text: str, between: str) -> str:
    return between.join(_pairs(n, text))


def _struct(n: int, body: str) -> str:
    return "@lp.struct\nclass S:\n" + "".join(f"    {line}\n" for line in _pairs(n, "f@: lp.i32")) + body


def _elif_chain(n: int) -> str:
    return _body("a = 0", "if n < 0:", "    a = 1", *_pairs(n, "elif n == @:", "    a = x[@]"), "x[i] = a")


KINDS = {
    "statements": lambda n: _body("a = n", *_pairs(n, "a = a * 3 + x[@]"), "x[i] = a"),
    "stores": lambda n: _body(*_pairs(n, "x[i + @] = n + @")),
    "one place": lambda n: _body(*_pairs(n, "x[i] = x[i] + @")),
    "sum": lambda n: _body(f"x[i] = {_joined(n, 'x[@]', ' + ')}"),
    "and": lambda n: _body(f"if {_joined(n, 'x[@] > n', ' and ')}:", "    x[i] = 1"),
    "or": lambda n: _body(f"x[i] = int({_joined(n, 'x[@] > n', ' or ')})"),
    "elif": lambda n: _elif_chain(n + 64),  # 32 arms and more are compiled in another way
    "if": lambda n: _body(*_pairs(n, "if n > @:", "    x[i + @] = @")),
    "conditional expression": lambda n: _body(f"x[i] = {''.join(_pairs(n, '@ if x[@] == @ else '))} n"),
    "early return": lambda n: _body(*_pairs(n, "if x[@] > n:", "    return"), "x[i] = 1"),
    "nested ifs": lambda n: _body(
        *("    " * depth + f"if x[{depth}] > n:" for depth in range(n)), "    " * n + "x[i] = n"
    ),
    "loops": lambda n: _body(*_pairs(n, "for j in range(n):", "    x[j] = x[j] + @")),
    "while": lambda n: _body("a = 0", *_pairs(n, "while a < n:", "    a += x[@] + 1"), "x[i] = a"),
    "carried variables": lambda n: _body(
        *_pairs(n, "a@ = @"), "for j in range(n):", *_pairs(n, "    a@ += j"), *_pairs(n, "x[i + @] = a@")
    ),
    "calls": lambda n: (
        "def h(a):\n    return a * a + 1\n" + _body("a = n", *_pairs(n, "a = h(a)"), "x[i] = a")
    ),
    "helpers": lambda n: (
        "".join(f"{line}\n" for line in _pairs(n, "def h@(a):", "    return a + @"))
        + _body("a = n", *_pairs(n, "a = h@(a)"), "x[i] = a")
    ),
    "atomics": lambda n: _body(*_pairs(n, "lp.atomic.add(x, @, n)")),
    "prints": lambda n: _body(*_pairs(n, "print('v', @, x[@])")),
    "asserts": lambda n: _body(*_pairs(n, "assert x[@] > 0, 'bad @'")),
    "barriers": lambda n: _body(*_pairs(n, "lp.barrier()", "x[i] = x[i] + @")),
    "fields of an argument": lambda n: _struct(
        n,
        "@lp.kernel\ndef k(x: lp.Array[lp.i32], s: S):\n"
        + "".join(f"    x[{j}] = s.f{j}\n" for j in range(n)),
    ),
    "fields of an element": lambda n: _struct(  # whole vectors of four, as which they are loaded
        n // 4 * 4, "@lp.kernel\ndef k(x: lp.Array[S]):\n    s = x[0]\n    x[1] = s\n"
    ),
    "fixed array": lambda n: (
        "@lp.kernel\ndef k(x: lp.Array[lp.f32], p: lp.FixedArray[lp.f32, " + f"{n}]):\n    x[0] = p[x.size]\n"
    ),
    "unrolled loop": lambda n: _body(f"for v in ({_joined(n, '@', ', ')}):", "    x[i + v] = v * n"),
    "specialization constants": lambda n: (
        "".join(f"{line}\n" for line in _pairs(n, "C@ = lp.SpecializationId(lp.i32, @)"))
        + _body("a = 0", *_pairs(n, "a += C@"), "x[i] = a")
    ),
}
"""Texts of kernels by what they have n of."""
KINDS |= {
    "helpers that call each other": lambda n: (
        "def h0(a):\n    return a + 1\n"
        + "".join(f"def h{j}(a):\n    return h{j - 1}(a) * {j}\n" for j in range(1, n))
        + _body(f"x[i] = h{n - 1}(n)")
    ),
    "while on a driver that ends loops": KINDS["while"],
    "helpers beside a barrier": lambda n: KINDS["helpers"](n) + "    lp.barrier()\n",
    "calls on a driver that ends loops": lambda n: (
        "".join(f"{line}\n" for line in _pairs(n, "def h@(a):", "    return a + @"))
        + _body("a = n", "for j in range(n):", *_pairs(n, "    a = h@(a) + h@(j)"), "x[i] = a")
    ),
    "helpers in debug mode": lambda n: KINDS["helpers"](n) + "    lp.barrier()\n",
}
ENVIRONMENTS = {
    "while on a driver that ends loops": TargetEnv(loop_iteration_cap=1000),
    "calls on a driver that ends loops": TargetEnv(loop_iteration_cap=1000),
    "helpers in debug mode": TargetEnv(checks="debug"),
}
"""What they are compiled for, where it is not the default."""


def _calls_of_compiling(text: str, env: TargetEnv) -> int:
    """Returns how many Python functions a compilation calls."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    kernel, limit = lp.kernel_from_source(text), sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # what does not fit is compiled again in a thread with a deep stack
    sys.setprofile(note)
    try:
        compile_kernels([kernel], env)
    finally:
        sys.setprofile(None)
        sys.setrecursionlimit(limit)
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_work_grows_as_the_kernel_does(kind, monkeypatch):
    monkeypatch.setattr(config, "verify", False)  # our own validator is for tests only
    env = ENVIRONMENTS.get(kind, TargetEnv())
    compile_kernels([lp.kernel_from_source(KINDS[kind](56))], env)
    small, middle, large = (_calls_of_compiling(KINDS[kind](n), env) for n in (14, 28, 56))
    assert large - middle < 2.2 * (middle - small)


_SHARED = {
    "sums of products": ("a = a * b + b * a", "b = b * a + a * b"),
    "choices": ("a = lp.select(x[@] > 0, a, b) * max(a, b)", "b = lp.select(x[@] > 0, b, a) + a * b"),
}


@pytest.mark.parametrize("kind", _SHARED)
def test_what_drivers_know_of_shared_values_is_found_out_once(kind, monkeypatch):
    """Each operand is used twice: were every way to it followed, there would be hundreds of them for each product."""
    monkeypatch.setattr(config, "verify", False)
    text = _body("a = lp.f32(n)", "b = a + 1.0", *_pairs(24, *_SHARED[kind]), "x[i] = lp.i32(a)")
    compile_kernels([lp.kernel_from_source(text)], TargetEnv(folds_zeros=True))
    plain, hiding = (_calls_of_compiling(text, TargetEnv(folds_zeros=hides)) for hides in (False, True))
    assert hiding < 4 * plain


def _lines_of_compiling(count: int, mode: str) -> int:
    """Returns how many lines of Python run while so many kernels become a module: rounds of loops are counted, too."""
    lines = 0

    def note(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return note

    kernels = [
        lp.kernel_from_source(
            f"def h{j}(a):\n    return a + {j}\n{_HEAD.replace('def k', f'def k{j}')}    x[i] = h{j}(n)\n"
        )
        for j in range(count)
    ]
    before = sys.gettrace()
    sys.settrace(note)
    try:
        compile_kernels(kernels, mode=mode)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("mode", ["off", "per_kernel"])
def test_work_grows_as_a_module_of_kernels_does(mode, monkeypatch):
    monkeypatch.setattr(config, "verify", False)
    _lines_of_compiling(3, mode)
    small, middle, large = (_lines_of_compiling(n, mode) for n in (12, 24, 48))
    assert large - middle < 2.04 * (middle - small)
