"""`LAPILLI_DUMP` and `LAPILLI_DUMP_DIR`: which stages of which kernels are written, and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.frontend.stage_dumps import SUFFIXES


def make_kernel():
    """A kernel that nobody has compiled yet."""

    @lp.kernel
    def doubled(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = x[lp.global_id(0)] * 2.0

    return doubled


@pytest.mark.device
def test_all_stages_go_to_files_at_the_first_launch(device: lp.Device, tmp_path: Path) -> None:
    kernel, x = make_kernel(), lp.ones(8, device=device)
    folder = tmp_path / "made" / "here"
    with lp.config.override(dump="doubled:all", dump_dir=folder):
        kernel[8](x)
        assert (x.numpy() == 2).all()
        files = {path.name for path in folder.iterdir()}
        for path in folder.iterdir():
            path.unlink()
        kernel[8](x)  # compiled already
    selector = device.selector.replace(":", "-")
    stem = f"doubled-{selector}-1d"
    assert files == {
        "doubled.py",
        *(stem + suffix for stage, suffix in SUFFIXES.items() if stage != "python"),
    }
    assert list(folder.iterdir()) == []


@pytest.mark.device
def test_files_hold_the_stages(device: lp.Device, tmp_path: Path) -> None:
    kernel, x = make_kernel(), lp.ones(8, device=device)
    with lp.config.override(dump=("doubled:binary", "d*:ir", "doubled:metadata"), dump_dir=tmp_path):
        kernel[8](x)
    found = {path.suffix: path for path in tmp_path.iterdir()}
    assert set(found) == {".spv", ".mlir", ".json"}
    assert found[".spv"].read_bytes()[:4] == b"\x03\x02\x23\x07"
    assert found[".mlir"].read_text("utf-8").startswith("builtin.module")
    assert json.loads(found[".json"].read_text("utf-8"))["kernels"][0]["name"] == "doubled"


@pytest.mark.device
def test_a_kernel_may_be_named_with_its_module(device: lp.Device, capsys: pytest.CaptureFixture[str]) -> None:
    kernel, x = make_kernel(), lp.ones(8, device=device)
    name = kernel.qualified_name
    assert name.startswith(f"{__name__}.") and name.endswith("doubled")
    with lp.config.override(dump=(f"{name}:python", "other.*:ir")):
        kernel[8](x)
    assert capsys.readouterr().err.count("// doubled: ") == 1


@pytest.mark.device
def test_without_a_folder_stages_go_to_standard_error(
    device: lp.Device, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, x = make_kernel(), lp.ones(8, device=device)
    with lp.config.override(dump="other:ir,doubled:spirv"):
        kernel[8](x)
    error = capsys.readouterr().err
    assert error.startswith(f"// doubled: spirv, {device.selector}\n")
    assert "OpEntryPoint GLCompute" in error and "builtin.module" not in error


@pytest.mark.device
@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ("doubled", r"take KERNEL:STAGE,… with a stage of python, ir, .*; found 'doubled'"),
        ("doubled:llvm", "found 'doubled:llvm'"),
        (":ir", "found ':ir'"),
        ("doubled:binary", "'doubled:binary' is binary: name a folder"),
    ],
)
def test_other_words_are_refused(device: lp.Device, dump: str, message: str) -> None:
    kernel, x = make_kernel(), lp.ones(8, device=device)
    with lp.config.override(dump=dump), pytest.raises(lp.InvalidError, match=message):
        kernel[8](x)
    kernel[8](x)
    assert (x.numpy() == 2).all()


@pytest.mark.device
def test_stages_before_a_mistake_are_written(device: lp.Device, tmp_path: Path) -> None:
    @lp.kernel
    def wrong(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = missing  # noqa: F821

    with lp.config.override(dump="wrong:all", dump_dir=tmp_path), pytest.raises(lp.CompileError):
        wrong[8](lp.ones(8, device=device))
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.py"]


@pytest.mark.device
def test_a_folder_that_cannot_be_says_so(device: lp.Device, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "folder"
    with (
        lp.config.override(dump="doubled:ir", dump_dir=folder),
        pytest.raises(lp.InvalidError, match="DUMP_DIR"),
    ):
        make_kernel()[8](lp.ones(8, device=device))


@pytest.mark.device
def test_kernels_of_bundles_are_written(device: lp.Device, tmp_path: Path) -> None:
    kernel = make_kernel()
    with lp.config.override(dump="doubled:ir", dump_dir=tmp_path):
        ids = [lp.get_kernel_id(kernel)]
        state = lp.BundleState.EXECUTABLE
        lp.get_kernel_bundle(lp.Context([device]), state=state, kernel_ids=ids)
    assert [path.name.endswith(".mlir") for path in tmp_path.iterdir()] == [True]
