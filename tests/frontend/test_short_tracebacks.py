"""Errors in a kernel show where it is launched, or defined, and the message; not the compiler."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.device
def test_a_traceback_names_the_code_and_the_text_does_not(device: lp.Device) -> None:
    with pytest.raises(lp.CompileError) as caught:
        wrong[1](lp.zeros(1, device=device))
    last = traceback.format_exception(caught.value)[-1]
    assert last == f"lapilli explain {caught.value.code} says more\n"
    assert caught.value.code not in str(caught.value)


@lp.kernel
def right(x: lp.Array[lp.f32]):
    x[0] = 1.0


@pytest.mark.device
def test_nor_do_wrong_arguments_show_how_they_are_checked(device: lp.Device) -> None:
    x = lp.zeros(1, device=device)
    for _ in range(3):  # at the first launch, at the next, and on the short way
        with pytest.raises(lp.KernelArgumentError, match="f64") as caught:
            right[1](lp.zeros(1, lp.f64, device=device))
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [frame.name for frame in frames] == [
            "test_nor_do_wrong_arguments_show_how_they_are_checked",
            "__call__",
        ]
        right[1](x)


def test_without_the_compilers_packages_the_error_says_so() -> None:
    program = (
        "import sys; sys.modules['xdsl'] = None; import lapilli as lp\n"
        "from lapilli.frontend.compile import load_compiler\n"
        "try: load_compiler()\nexcept lp.BuildError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "'xdsl', which is not installed here: pip install xdsl" in done.stdout


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


def test_so_does_an_exported_function() -> None:
    with pytest.raises(lp.CompileError, match="arrays cannot be passed") as caught:

        @lp.external
        def element(x: lp.Array[lp.f32]) -> lp.f32: ...

    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames] == ["test_so_does_an_exported_function", "external", "_define"]
    assert "help: pass the elements by value" in caught.value.log
