"""Texts that Python, or the depth of its stack, refuses before a kernel is made of them."""

# pyright: reportArgumentType=false

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend import deep_stack
from lapilli.frontend.builder import build_module


def test_deep_nesting_is_an_error_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = " + "-" * 1500 + "x[0]\n"
    )
    monkeypatch.setattr(deep_stack, "FRAMES", 2000)
    with pytest.raises(lp.CompileError, match="kernel 'k' is nested too deeply"):
        build_module([kernel])


@pytest.mark.parametrize("text", ["x = " + "-" * 100_000 + "1", "x = 1\0", "x = " + "(" * 1000])
def test_text_that_python_cannot_compile_is_refused(text: str) -> None:
    with pytest.raises(lp.CompileError) as caught:
        lp.kernel_from_source(text)
    assert caught.value.code == "LP2005"
