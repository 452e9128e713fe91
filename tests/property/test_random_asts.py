"""Whatever a kernel's text holds, it compiles or raises `lp.Error`: no other exception, no crash, no hang."""

from __future__ import annotations

import signal
import threading
import types
import warnings
from collections.abc import Generator as Iterator
from contextlib import contextmanager

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.target_env import TargetEnv

from .random_asts import Generator

SEEDS = 300
"""Texts of one run of the suite; `fuzz` with other seeds finds the rest."""
SECONDS = 60
"""More than any text takes, on the slowest machine."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Raises TimeoutError where a block takes longer than `SECONDS`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: types.FrameType | None) -> None:
        raise TimeoutError("the compiler did not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(text: str) -> str:
    """Returns the code of the error that compiling a text gives, "" where it compiles."""
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("ignore")  # SyntaxWarning: "is" with a literal
        try:
            kernel = lp.kernel_from_source(text)
            compile_kernels([kernel], TargetEnv())
        except lp.Error as error:
            assert str(error).strip(), "an error says what is wrong"
            return error.code
    return ""


@pytest.mark.parametrize("start", range(0, SEEDS, 50))
def test_random_texts_compile_or_are_refused(start):
    found: set[str] = set()
    for seed in range(start, start + 50):
        text = Generator(seed).text()
        try:
            found.add(outcome(text))
        except lp.Error:
            raise
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{text}") from error
    assert len(found) > 3  # the texts reach different parts of the compiler
