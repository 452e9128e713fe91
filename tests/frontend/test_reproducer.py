"""Faults of the compiler: they become errors that say so and, with `LAPILLI_REPRODUCER`, leave its input."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.passes import pipeline
from lapilli.passes.errors import PassError
from lapilli.tools.cli import group

pytestmark = pytest.mark.device


def launch(device: lp.Device) -> None:
    """Compiles a kernel that nobody has compiled yet."""

    @lp.kernel
    def tripled(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = x[lp.global_id(0)] * 3.0

    tripled[8](lp.ones(8, device=device))


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """A compiler whose lowering raises what is in the list."""
    faults: list[Exception] = []

    def lower_image(*_: Any, **__: Any) -> Any:
        raise faults[0]

    monkeypatch.setattr(pipeline, "lower_image", lower_image)
    return faults


def test_any_exception_is_a_build_error_with_a_file(
    device: lp.Device, faulty: list[Exception], tmp_path: Path
) -> None:
    faulty.append(KeyError("arith.addf"))
    folder = tmp_path / "faults"
    with lp.config.override(reproducer=folder), pytest.raises(lp.BuildError) as caught:
        launch(device)
    (path,) = folder.iterdir()
    assert caught.value.code == "LP2190"
    assert str(path) in str(caught.value)
    assert "the compiler failed on 'tripled': KeyError: 'arith.addf' (test_reproducer.py:" in str(
        caught.value
    )
    text = path.read_text("utf-8")
    assert (
        text.startswith("// 'tripled' could not be compiled") and "// xdsl 0" in text and "TargetEnv(" in text
    )
    result = CliRunner().invoke(group, ["opt", str(path)])  # it is input for the passes
    assert result.exit_code == 0 and "@tripled" in result.output


def test_an_error_of_a_pass_keeps_its_kind(
    device: lp.Device, faulty: list[Exception], tmp_path: Path
) -> None:
    faulty.append(PassError("cannot lower this"))
    with lp.config.override(reproducer=tmp_path), pytest.raises(PassError) as caught:
        launch(device)
    (path,) = tmp_path.iterdir()
    assert (
        str(caught.value).splitlines()[1]
        == f"the compiler's input is in {path}; please report the error with it"
    )


def test_without_the_option_it_says_how(device: lp.Device, faulty: list[Exception]) -> None:
    faulty.append(AssertionError("no"))
    with pytest.raises(lp.BuildError, match="set LAPILLI_REPRODUCER=DIR"):
        launch(device)


def test_where_there_is_no_ir_the_source_is_kept(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lapilli.frontend import builder

    def build_module(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("front end")

    monkeypatch.setattr(builder, "build_module", build_module)
    with lp.config.override(reproducer=tmp_path), pytest.raises(lp.BuildError, match="ZeroDivisionError"):
        launch(device)
    (path,) = tmp_path.iterdir()
    text = path.read_text("utf-8")
    assert re.search(r"^// +x\[lp.global_id\(0\)\] = x\[lp.global_id\(0\)\] \* 3.0$", text, re.MULTILINE)


def test_a_folder_that_cannot_be_does_not_hide_the_fault(
    device: lp.Device, faulty: list[Exception], tmp_path: Path
) -> None:
    faulty.append(KeyError("fault"))
    (tmp_path / "file").write_text("")
    with lp.config.override(reproducer=tmp_path / "file" / "x"), pytest.raises(lp.BuildError) as caught:
        launch(device)
    assert "KeyError: 'fault'" in str(caught.value) and "could not be kept" in str(caught.value)


def test_mistakes_of_the_user_leave_nothing(device: lp.Device, tmp_path: Path) -> None:
    @lp.kernel
    def wrong(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = missing  # noqa: F821

    with lp.config.override(reproducer=tmp_path), pytest.raises(lp.CompileError) as caught:
        wrong[8](lp.ones(8, device=device))
    assert "REPRODUCER" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
