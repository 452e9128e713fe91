"""``lapilli build`` of several inputs: files of IR are translation units as Python modules are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.spirv.lpk import LpkFile
from lapilli.vk_runtime.bundle_launch import launch_kernel

KERNEL = """
func.func @{name}(%x: memref<?xf32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
  %i = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<?xf32>
  %r = {call} : (f32) -> f32
  memref.store %r, %x[%i] : memref<?xf32>
  func.return
}}
"""
LIBRARY = """
func.func @{name}(%v: f32) -> f32 attributes {{aspect.external}} {{
  %r = arith.addf %v, %v : f32
  func.return %r : f32
}}
"""
DECLARED = "func.func private @{name}(%v: f32) -> f32 attributes {{aspect.external}}"
PYTHON = """
import lapilli as lp

@lp.extern("ir_twice")
def ir_twice(v: lp.f32) -> lp.f32: ...

@lp.external
def py_thrice(v: lp.f32) -> lp.f32:
    return 3.0 * v

@lp.kernel
def python_user(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = ir_twice(x[lp.global_id(0)])
"""


def ir(path: Path, name: str, symbol: str) -> Path:
    path.write_text(KERNEL.format(name=name, call=f"func.call @{symbol}(%v)") + DECLARED.format(name=symbol))
    return path


@pytest.mark.device
@pytest.mark.behaviour("EXT-10", "SPL-02")
def test_kernels_call_what_other_inputs_export(make_project, tmp_path, context, device):
    library = tmp_path / "library.mlir"
    library.write_text(LIBRARY.format(name="ir_twice"))
    users = [ir(tmp_path / f"user_{s}.mlir", f"user_of_{s}", s) for s in ("ir_twice", "py_thrice")]
    project, out = make_project(PYTHON), tmp_path / "out.lpk"
    assert "unresolved symbol 'ir_twice'" in project.run_build("-o", out).output
    project.build(library, *users, "-o", out)
    project.forget()
    loaded = lp.load_kernel_bundle(context, out)
    for name, expected in (("python_user", 10.0), ("user_of_ir_twice", 10.0), ("user_of_py_thrice", 15.0)):
        x = lp.full(1, 5.0, device=device)
        launch_kernel(device.default_queue, loaded.get_kernel(name), lp.NdRange(1, 1), (x,))
        assert x.numpy().tolist() == [expected]


@pytest.mark.device
@pytest.mark.behaviour("EXT-10", "SC-33", "SPL-02")
@pytest.mark.parametrize("mode", ["native", "emulated"])
def test_constants_of_imported_functions_are_in_the_file(
    make_project, tmp_path, monkeypatch, context, device, mode
):
    """The module of the function is no input: only linking finds that the kernel reads its constant."""
    library = f"library_of_{tmp_path.name}"
    (tmp_path / f"{library}.py").write_text(
        f"import lapilli as lp\nlp.compile_options(spec_constants={mode!r})\n"
        "ADDED = lp.SpecializationId(lp.f32, 1.0)\n"
        "@lp.external\ndef added(x: lp.f32) -> lp.f32:\n    return x + ADDED\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    project, out = (
        make_project(
            f"import lapilli as lp\nimport {library}\nlp.compile_options(spec_constants={mode!r})\n"
            "OWN = lp.SpecializationId(lp.f32, 2.0)\n"
            "@lp.kernel\ndef calls(x: lp.Array[lp.f32]):\n"
            f"    x[lp.global_id(0)] = OWN * {library}.added(x[lp.global_id(0)])\n"
        ),
        tmp_path / "out.lpk",
    )
    project.build("-o", out)
    monkeypatch.delitem(sys.modules, library)
    project.forget()
    parts = lp.load_kernel_bundle(context, out, state=lp.BundleState.INPUT)
    constants = {constant.name: constant for constant in parts.specialization_constants}
    assert {name: constant.default for name, constant in constants.items()} == {"OWN": 2.0, "ADDED": 1.0}
    results = []
    for value in (1.0, 10.0):
        parts.set_specialization_constant(constants["ADDED"], value)
        x = lp.full(1, 5.0, device=device)
        launch_kernel(device.default_queue, lp.build(parts).get_kernel("calls"), 1, (x,))
        results += x.numpy().tolist()
    assert results == [12.0, 30.0]


@pytest.mark.behaviour("SPL-03")
def test_off_brings_files_of_ir_together_with_the_others(make_project, tmp_path):
    files = [tmp_path / "one.mlir", tmp_path / "two.mlir"]
    for file in files:
        file.write_text(
            f"func.func @{file.stem}(%x: memref<?xf32>) attributes {{gpu.kernel}} {{ func.return }}"
        )
    source = (
        "import lapilli as lp\n@lp.kernel\ndef three(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = 1.0\n"
    )
    for mode, expected in (
        ("off", [("three", "one", "two")]),
        ("per_source", [("three",), ("one",), ("two",)]),
    ):
        project, out = make_project(source), tmp_path / "out.lpk"
        project.build(*files, "-o", out, "--device-code-split", mode)
        images = LpkFile.open(out).header.images
        assert [tuple(kernel.name for kernel in image.kernels) for image in images] == expected
        project.forget()


@pytest.mark.parametrize("spelt", ["{file}", "{folder}/./{name}.py", "lavapipe,{file}"])
def test_an_input_is_not_overwritten(project, spelt):
    text = project.file.read_text()
    output = spelt.format(file=project.file, folder=project.folder, name=project.name)
    done = project.run_build("-o", output)
    assert done.exit_code == 1
    assert "would overwrite the input" in done.output
    assert project.file.read_text() == text
