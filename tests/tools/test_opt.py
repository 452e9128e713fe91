"""``lapilli opt``: input, output, errors; what passes do is in tests/filecheck."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from lapilli.ir.errors import InvalidError
from lapilli.passes.registry import pass_names
from lapilli.tools.opt import command
from lapilli.tools.output import write_output

KERNEL = """func.func @k(%x: memref<?xf32>) attributes {gpu.kernel, kernel.rank = 1 : i32} {
  %i = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<?xf32>
  %r = math.sqrt %v : f32
  memref.store %r, %x[%i] : memref<?xf32>
  func.return
}
"""
WITH_F64 = KERNEL.replace("@k", "@d").replace("xf32", "xf64").replace(": f32", ": f64")


def opt(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(command, arguments, input=stdin, catch_exceptions=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    return path


def test_standard_input_is_the_default(file: Path) -> None:
    from_file = opt(str(file))
    assert from_file.exit_code == 0
    assert from_file.stdout.startswith("builtin.module {\n  func.func @k")
    assert opt(stdin=KERNEL).stdout == opt("-", stdin=KERNEL).stdout == from_file.stdout


def test_no_pass_runs_that_is_not_named(file: Path) -> None:
    assert "aspect." not in opt(str(file)).stdout
    assert "aspect.fixed_targets" in opt(str(file), "-p", "propagate-aspects").stdout


REMAINDERS = KERNEL.replace("math.sqrt %v", "arith.remf %v, %v")
SAXPY = """func.func @k(%x: memref<?xf32>, %y: memref<?xf32>)
    attributes {gpu.kernel, kernel.rank = 1 : i32, kernel.masked} {
  %i = gpu.global_id x
  %n = kernel.global_range 0
  %c = arith.cmpi slt, %i, %n : index
  scf.if %c {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("expand-remainders", REMAINDERS, "kernel.settles"),
        ("coarsen", SAXPY, "kernel.lanes"),
    ],
)
def test_what_a_pass_writes_is_read_again(name: str, text: str, written: str) -> None:
    made = opt("-p", name, stdin=text)
    assert made.exit_code == 0 and written in made.stdout
    again = opt(stdin=made.stdout)
    assert (again.exit_code, again.stdout) == (0, made.stdout)
    assert opt("-t", "spirv", stdin=made.stdout).stdout_bytes[:4] == b"\x03\x02\x23\x07"


def test_output_goes_to_the_file(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    result = opt(str(file), "-o", str(out))
    assert (result.exit_code, result.output) == (0, "")
    assert out.read_text() == opt(str(file)).stdout


def test_ir_is_printed_after_each_pass(file: Path) -> None:
    result = opt(str(file), "-p", "cse,propagate-aspects", "--print-ir-after-all")
    heads = [line for line in result.stderr.splitlines() if line.startswith("//")]
    assert heads == [
        "// -----// IR Dump After cse //----- //",
        "// -----// IR Dump After propagate-aspects //----- //",
    ]


def test_spirv_is_written_as_binary(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "k.spv"
    result = opt(str(file), "-t", "spirv", "-o", str(out), "--print-ir-after-all")
    assert result.exit_code == 0, result.output
    assert out.read_bytes()[:4] == b"\x03\x02\x23\x07"
    assert "IR Dump After convert-to-spirv" in result.stderr


SPIRV_MODULE = """
    "spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>,
        memory_model = #spirv.memory_model<GLSL450>}> ({
      "spirv.func"() <{sym_name = "k", function_type = () -> (),
          function_control = #spirv.function_control<None>}> ({
        "spirv.Return"() : () -> ()
      }) : () -> ()
      "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k,
          interface = []}> : () -> ()
      "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>,
          values = [1 : i32, 1 : i32, 1 : i32]}> : () -> ()
    }) : () -> ()
    """


def test_a_spirv_module_is_only_encoded() -> None:
    result = opt("-t", "spirv", stdin=SPIRV_MODULE)
    assert result.exit_code == 0, result.output
    assert result.stdout_bytes[:4] == b"\x03\x02\x23\x07"


@pytest.mark.parametrize(
    ("named", "written"), [("v1.0", 3), ("v1.3", 3), ("v1.4", 5), ("v1.5", 5), ("v1.6", 6)]
)
def test_a_spirv_module_keeps_its_version(named: str, written: int) -> None:
    triple = f"vce_triple = #spirv.vce<{named}, [Shader], []>"
    result = opt("-t", "spirv", stdin=SPIRV_MODULE.replace("GLSL450>}>", f"GLSL450>, {triple}}}>"))
    assert result.exit_code == 0, result.output
    assert tuple(result.stdout_bytes[4:8]) == (0, written, 1, 0)


def test_a_spirv_module_that_makes_none_is_the_users() -> None:
    triple = "vce_triple = #spirv.vce<v1.3, [Shaders], []>"
    unknown = opt("-t", "spirv", stdin=SPIRV_MODULE.replace("GLSL450>}>", f"GLSL450>, {triple}}}>"))
    assert unknown.exit_code == 1
    assert unknown.stderr.startswith(
        "<stdin>:2:5: error: cannot emit 'spirv.module' as SPIR-V: vce_triple names"
    )
    twice = SPIRV_MODULE.replace("LocalSize>,", "ContractionOff>,").replace(
        "[1 : i32, 1 : i32, 1 : i32]", "[]"
    )
    invalid = opt("-t", "spirv", stdin=twice.replace("<GLSL450>", "<OpenCL>"))
    assert invalid.exit_code == 1
    assert invalid.stderr.startswith("<stdin>:2:5: error: the SPIR-V of this module: not valid: ")


@pytest.mark.parametrize("options", [[], ["-t", "spirv"], ["--freeze-spec-constants"], ["-p", "cse"]])
def test_binaries_are_verified(options: list[str]) -> None:
    """Also where they are only passed on."""
    module = (Path(__file__).parents[1] / "shaders" / "saxpy.spv").read_bytes()
    assert opt(*options, stdin=module).exit_code == 0
    cut = opt(*options, stdin=module[:296])
    assert (cut.exit_code, cut.stdout_bytes) == (1, b"")
    assert "<stdin>: OpName has 3 words, but only 2 are left (at word 72)" in cut.stderr
    invalid = opt(*options, stdin=module[:-4])  # without OpFunctionEnd
    assert (invalid.exit_code, invalid.stdout_bytes) == (1, b"")
    assert "error: <stdin>: not valid: Missing OpFunctionEnd at end of module" in invalid.stderr


def test_text_in_a_spv_file_is_no_module(tmp_path: Path) -> None:
    file = tmp_path / "k.spv"
    file.write_text("OpCapability Shader")
    result = opt(str(file))
    assert result.exit_code == 1
    assert "is no SPIR-V module" in result.stderr


def test_python_is_sent_to_dump(tmp_path: Path) -> None:
    program = tmp_path / "blur.py"
    program.write_text("import lapilli as lp\n")
    result = opt(str(program))
    assert result.exit_code == 1
    assert "blur.py is Python; its IR: lapilli dump" in result.stderr


def test_a_terminal_gets_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    write_output(b"\x03\x02\x23\x07", os.devnull)
    with pytest.raises(InvalidError, match="name a file with -o"):
        write_output(b"\x03\x02\x23\x07", None)


def test_several_images_are_no_single_binary() -> None:
    result = opt("-t", "spirv", stdin=KERNEL + WITH_F64)
    assert result.exit_code == 1
    assert "the module makes 2 device images, expected one" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @k() {\n  %0 = kernel.global_range 7\n  func.return\n}",
            "<stdin>:2:3: error: 'kernel.global_range'",
        ),
        (
            "\nfunc.func @k() attributes {kernel.masked} {\n  func.return\n}",
            "<stdin>:2:1: error: 'func.func' 'kernel.masked'",
        ),
        (
            'func.func @k() {\n  func.call @f() : () -> () loc("k.py":8:3)\n  func.return\n}',
            "k.py:8:3: error: ",
        ),
        ("func.func @k() {\n  nothing.known\n}", "<stdin>:2:3: error: "),
        # At its last use, and not at another value whose name begins alike.
        (
            "func.func @k() {\n  %zz = arith.constant 1 : i32\n  %0 = arith.addi %zz, %z : i32\n  func.return\n}",
            "<stdin>:3:24: error: values used but not defined: [%z]",
        ),
        (
            "func.func @k() {\n  foo.bar\n}",
            "<stdin>:2:3: error: Operation foo.bar is not registered; kernels are made of the dialects builtin, func, ",
        ),
        ("func.func @k() {\n  arith.addd\n}", "<stdin>:2:3: error: Operation arith.addd is not registered\n"),
        (
            "func.func @k(%n: index) {\n  gpu.set_default_device %n\n}",
            "<stdin>:2:26: error: Operation gpu.set_default_device does not have a custom format here; write it",
        ),
        (
            "func.func @k() { func.return }\nfunc.func @k() { func.return }",
            "<stdin>:2:1: error: 'func.func' redefinition of symbol \"k\"; name each once",
        ),
        ("func.func @k(", "<stdin>:1:14: error: "),
        ("", "<stdin>:1:1: error: the text is empty, expected a module"),
    ],
)
def test_errors_have_a_place_and_status_1(text: str, message: str) -> None:
    result = opt(stdin=text)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(message)


def test_an_unknown_pass_lists_the_known_ones(file: Path) -> None:
    result = opt(str(file), "-p", "licm")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: unknown pass 'licm', expected one of canonicalize, carry-results, coarsen, "
        "compute-requirements, cse, dce, expand-remainders, flatten-nests, hoist-invariants, inline, "
        "join-loads, lift-breaks, lift-cf-to-scf, limit-loops, linearise-indices, lower-upstream, "
        "lower-vectors, narrow-barriers, pair-rounds, promote-arrays, propagate-aspects, reduce-strength, "
        "rotate-barriers, speculate-rounds, split-modules, trap-accesses, trap-cooperation, unroll-barriers, "
        "unroll-short\n"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x03\x02\x23\x07\x00", "a SPIR-V module has whole words"),
        (b"\xff\xfe", "<stdin>:1:1: error: this is not UTF-8 text: invalid start byte"),
        (b"module {\n  \xe9 }", "<stdin>:2:3: error: this is not UTF-8 text"),
    ],
)
def test_input_that_is_no_text_is_refused(data: bytes, message: str) -> None:
    result = opt(stdin=data)
    assert result.exit_code == 1
    assert message in result.stderr


def test_files_that_cannot_be_read_or_written(file: Path, tmp_path: Path) -> None:
    assert "error: cannot read " in opt(str(tmp_path / "none.mlir")).stderr
    assert "error: cannot write " in opt(str(file), "-o", str(tmp_path / "no" / "folder")).stderr


def test_a_module_without_kernels_makes_no_spirv() -> None:
    result = opt("-t", "spirv", stdin="func.func @f() attributes {aspect.external} {\n  func.return\n}\n")
    assert result.exit_code == 1
    assert "the module has no kernel" in result.stderr
    result = opt("-t", "spirv", stdin="func.func @f() {\n  func.return\n}\n")
    assert result.exit_code == 1
    assert "the module has no kernel" in result.stderr


def test_constants_of_binaries_are_set_and_frozen(tmp_path: Path) -> None:
    from lapilli.spirv.reflect import reflect
    from lapilli.spirv.tools import spirv_tools

    text = """
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionMode %main LocalSize 1 1 1
    OpDecorate %n SpecId 3
    %void = OpTypeVoid
    %type = OpTypeFunction %void
    %int = OpTypeInt 32 0
    %n = OpSpecConstant %int 5
    %main = OpFunction %void None %type
    %label = OpLabel
    OpReturn
    OpFunctionEnd
    """
    source, out = tmp_path / "in.spv", tmp_path / "out.spv"
    source.write_bytes(spirv_tools().assemble(text, "vulkan1.3"))

    def run(*options: str):
        return CliRunner().invoke(command, [str(source), *options, "-o", str(out)])

    assert run("--set-spec-constants=3:7").exit_code == 0
    assert [constant.default for constant in reflect(out.read_bytes()).spec_constants] == [7]
    assert run("--set-spec-constants=3:7", "--freeze-spec-constants").exit_code == 0
    assert reflect(out.read_bytes()).spec_constants == ()
    assert "OpConstant %uint 7" in spirv_tools().disassemble(out.read_bytes())
    for options, message in (
        (["--set-spec-constants=9:7"], "SpecId 9; it has 3"),
        (["--set-spec-constants=x"], "expected SPEC_ID:VALUE pairs"),
    ):
        done = run(*options)
        assert (done.exit_code, message in done.stderr) == (1, True), done.stderr
    assert run("-t", "mlir").exit_code == 0
    assert "default_value = 5 : i32}> {spec_id = 3 : i32}" in out.read_text()
    source.with_suffix(".spvasm").write_text(text)
    done = CliRunner().invoke(command, [str(source.with_suffix(".spvasm")), "-t", "mlir"])
    assert done.stdout == out.read_text()
    assert "<stdin>:1:14: Invalid capability" in opt(stdin="OpCapability None\n").stderr


def test_passes_are_listed_with_what_they_do() -> None:
    result = opt("-p", "help")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines() if "{" not in line)
    assert result.exit_code == 0 and lines["cse"] == "Computes equal values once."
    assert set(lines) < set(pass_names()) and all(text.endswith(".") for text in lines.values())
    assert "split-modules{mode}" in result.stdout


@pytest.mark.parametrize("text", ["module {", "func.func @f() { func.return"])
def test_text_that_ends_early_says_what_is_missing(text: str) -> None:
    result = opt(stdin=text)
    assert result.exit_code == 1
    assert "error: expected an operation, a block or }" in result.stderr


@pytest.mark.parametrize(
    ("rest", "message"), [("module {}", "Unexpected character: ;"), ("OpNothing", "OpNothing")]
)
def test_comments_in_front_cost_no_time(rest: str, message: str) -> None:
    """Whether they begin SPIR-V's assembly is said at once, however many ways there are to read them."""
    result = opt(stdin=f"{';' * 200}\n{'; by hand  ' * 2}\n{rest}")
    assert result.exit_code == 1 and message in result.stderr
