"""``lapilli dump``: finding the file and the kernel; the stages are `frontend.compile.inspect`'s."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapilli.ir.errors import InvalidError, UnknownKernelError
from lapilli.tools.dump import command, dump, find_kernel, load_module

PROGRAM = """
import lapilli as lp
from helper_of_dump_test import SCALE

@lp.kernel
def scale(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * SCALE

@lp.kernel(name="halve")
def half(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * 0.5

if __name__ == "__main__":
    raise RuntimeError("the program was run")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper_of_dump_test.py").write_text("SCALE = 2.0\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_file_is_imported_and_not_run(program: Path) -> None:
    before = list(sys.path)
    module = load_module(program)
    assert module.__name__ == "program"
    assert sys.path == before


def test_kernels_are_found_by_variable_and_by_name(program: Path) -> None:
    module = load_module(program)
    assert find_kernel(module, "half", program) is find_kernel(module, "halve", program)
    assert find_kernel(module, "scale", program).name == "scale"


CLASSES = """
import lapilli as lp

class First:
    class Inner:
        @staticmethod
        @lp.kernel
        def fill(x: lp.Array[lp.f32]):
            x[lp.global_id(0)] = 1.0
    Itself = Inner

    @lp.kernel
    def scale(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] *= 2.0

class Second:
    @lp.kernel
    def fill(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 2.0
"""


def test_kernels_of_classes_are_found(tmp_path: Path) -> None:
    path = tmp_path / "classes.py"
    path.write_text(CLASSES)
    module = load_module(path)
    assert find_kernel(module, "First.Inner.fill", path) is module.First.Inner.fill
    assert find_kernel(module, "Second.fill", path) is module.Second.fill
    assert find_kernel(module, "scale", path) is find_kernel(module, "First.scale", path)
    listed = "expected one of: First.Inner.fill, First.scale, Second.fill, scale"
    with pytest.raises(UnknownKernelError, match=listed):  # two kernels are called fill
        find_kernel(module, "fill", path)


@pytest.mark.parametrize(("name", "message"), [("blur", "no kernel 'blur'"), (None, "several kernels")])
def test_an_unknown_kernel_lists_those_present(program: Path, name: str | None, message: str) -> None:
    with pytest.raises(UnknownKernelError, match=f"{message}; expected one of: half, halve, scale"):
        find_kernel(load_module(program), name, program)


def test_python_stage_is_the_source(program: Path) -> None:
    result = CliRunner().invoke(command, [f"{program}:halve", "--stage", "python"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "def half(x: lp.Array[lp.f32]):" in result.stdout


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("ir", "func.func @halve"),
        ("split", "aspect.requirements = {}"),
        ("spirv-dialect", '"spirv.module"'),
        ("disassembly", "OpEntryPoint GLCompute"),
        ("metadata", '"entry_point": "halve"'),
    ],
)
def test_text_stages(program: Path, stage: str, part: str) -> None:
    result = dump(f"{program}:halve", stage)
    assert isinstance(result, str)
    assert part in result


def test_spirv_stage_is_the_binary_in_a_file_and_text_on_standard_output(
    program: Path, tmp_path: Path
) -> None:
    out = tmp_path / "halve.spv"
    arguments = [f"{program}:halve", "--stage", "spirv", "-o", str(out)]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert (result.exit_code, result.output) == (0, "")
    assert out.read_bytes()[:4] == b"\x03\x02\x23\x07"
    result = CliRunner().invoke(command, arguments[:-2], catch_exceptions=False)
    assert result.exit_code == 0 and "OpEntryPoint GLCompute" in result.output


def test_what_the_program_prints_is_no_part_of_the_stage(program: Path) -> None:
    program.write_text(f"print('loud')\n{PROGRAM}")
    result = CliRunner().invoke(command, [f"{program}:halve"], catch_exceptions=False)
    assert result.stdout.startswith("builtin.module") and "loud" not in result.stdout
    assert result.stderr == "loud\n"


def test_errors_say_what_to_do(program: Path) -> None:
    program.write_text("import lapilli as lp\n\n@lp.external\ndef f(x: lp.Array[lp.f32]) -> lp.f32: ...\n")
    result = CliRunner().invoke(command, [f"{program}:f"], catch_exceptions=False)
    assert "arrays cannot be passed" in result.stderr
    assert result.stderr.rstrip().splitlines()[-1].startswith("    help: pass the elements by value")


def test_a_missing_file_and_a_file_that_raises_are_errors(program: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"no file .*none\.py'; expected FILE:KERNEL"):
        dump(f"{tmp_path / 'none.py'}:k", "ir")
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(InvalidError, match="cannot be executed: ZeroDivisionError: division by zero"):
        dump(f"{broken}:k", "ir")
    exits = tmp_path / "exits.py"
    exits.write_text("raise SystemExit(3)\n")
    with pytest.raises(InvalidError, match="cannot be executed: SystemExit: 3"):
        dump(f"{exits}:k", "ir")


def test_errors_are_printed_with_status_1(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [f"{tmp_path / 'none.py'}:k"], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no file ")


def test_a_file_without_kernels_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.py"
    path.write_text("x = 1\n")
    for name in ("", ":scale"):
        with pytest.raises(UnknownKernelError, match=r"has no kernel; expected a function with @lp\.kernel"):
            dump(f"{path}{name}", "ir")


def test_a_file_that_raises_is_located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("raises.py").write_text("def f():\n    raise ValueError('boo')\n\nf()\n")
    with pytest.raises(InvalidError, match=r"raises.py:2 cannot be executed: ValueError: boo"):
        dump("raises.py", "ir")


@pytest.mark.parametrize("text", [":scale", "x" * 5000, "", ":"])
def test_what_is_no_file_is_named(text: str) -> None:
    with pytest.raises(InvalidError, match=r"no file '.*expected FILE:KERNEL"):
        dump(text, "ir")


def test_a_file_of_a_package_has_its_relative_imports(tmp_path: Path) -> None:
    inner = tmp_path / "packed_for_dump" / "inner"
    inner.mkdir(parents=True)
    (inner / "__init__.py").write_text("")
    (inner.parent / "__init__.py").write_text("")
    (inner.parent / "scales.py").write_text("SCALE = 2.0\n")
    (inner / "beside_for_dump.py").write_text("SHIFT = 1.0\n")
    path = inner / "kernels.py"
    path.write_text(
        "import lapilli as lp\nimport beside_for_dump\nfrom ..scales import SCALE\n\n"
        "@lp.kernel\ndef scale(x: lp.Array[lp.f32]):\n    x[0] = x[0] * SCALE + beside_for_dump.SHIFT\n"
    )
    before = list(sys.path)
    assert "2.000000e+00" in dump(f"{path}:scale", "ir")
    assert sys.path == before


def test_a_package_that_imports_the_file_has_it_once(tmp_path: Path) -> None:
    folder = tmp_path / "importing_for_dump"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .kernels import scale\n")
    path = folder / "kernels.py"
    path.write_text("import lapilli as lp\n@lp.kernel\ndef scale(x: lp.Array[lp.f32]):\n    x[0] = 2.0\n")
    assert load_module(path) is sys.modules["importing_for_dump.kernels"]


def test_a_package_s_own_file_is_executed_once_as_the_package(tmp_path: Path) -> None:
    package, log = tmp_path / "itself_for_dump", tmp_path / "log"
    (package / "inner").mkdir(parents=True)
    (package / "scales.py").write_text("SCALE = 2.0\n")
    text = (
        f"with open({str(log)!r}, 'a') as log:\n    log.write(__name__ + ' ')\n"
        "import lapilli as lp\nfrom {dots}scales import SCALE\n\n"
        "@lp.kernel\ndef scale(x: lp.Array[lp.f32]):\n    x[0] = x[0] * SCALE\n"
    )
    for folder, dots in ((package, "."), (package / "inner", "..")):
        (folder / "__init__.py").write_text(text.format(dots=dots))
    assert "2.000000e+00" in dump(f"{package / '__init__.py'}:scale", "ir")
    assert "2.000000e+00" in dump(f"{package / 'inner' / '__init__.py'}:scale", "ir")
    assert log.read_text().split() == ["itself_for_dump", "itself_for_dump.inner"]


def test_a_file_may_take_its_folder_from_the_search_path(tmp_path: Path) -> None:
    file = tmp_path / "alone.py"
    file.write_text(
        "import sys\nsys.path.pop(0)\nimport lapilli as lp\n\n"
        "@lp.kernel\ndef one(x: lp.Array[lp.f32]):\n    x[0] = 1.0\n"
    )
    assert "1.000000e+00" in dump(f"{file}:one", "ir")
