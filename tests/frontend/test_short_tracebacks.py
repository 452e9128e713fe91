"""Errors in a kernel show where it is launched, or defined, and the message; not the compiler."""

from __future__ import annotations

import traceback

import pytest

import lapilli as lp


@lp.kernel
def wrong(x: lp.Array[lp.f32]):
    x[0] = "text"


@pytest.mark.device
def test_frames_of_the_compiler_are_left_out(device: lp.Device) -> None:
    for _ in range(2):  # the second time too
        with pytest.raises(lp.CompileError, match="text") as caught:
            wrong[1](lp.zeros(1, device=device))
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [frame.name for frame in frames] == ["test_frames_of_the_compiler_are_left_out", "__call__"]


def test_so_does_a_definition() -> None:
    for decorate in (lp.kernel, lp.kernel()):
        with pytest.raises(lp.CompileError, match="'n' has no annotation") as caught:

            @decorate
            def untyped(x: lp.Array[lp.f32], n): ...

        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [frame.name for frame in frames] == [
            "test_so_does_a_definition",
            "kernel" if decorate is lp.kernel else "decorate",
            "_define",
        ]
