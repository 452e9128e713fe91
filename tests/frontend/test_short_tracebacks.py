"""A launch of a kernel that cannot be compiled shows the launch and the message, not the compiler."""

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
