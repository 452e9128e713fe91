"""``lapilli inspect``."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools.inspect import command, printable

from .hostile import joined, split

OUTLINED = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %a "a"
OpEntryPoint GLCompute %b "b"
OpExecutionMode %a LocalSize 1 1 1
OpExecutionMode %b LocalSize 1 1 1
OpName %helper "helper"
%void = OpTypeVoid
%type = OpTypeFunction %void
%helper = OpFunction %void None %type
%h0 = OpLabel
OpReturn
OpFunctionEnd
%a = OpFunction %void None %type
%a0 = OpLabel
%a1 = OpFunctionCall %void %helper
OpReturn
OpFunctionEnd
%b = OpFunction %void None %type
%b0 = OpLabel
OpReturn
OpFunctionEnd
"""


def shown(*arguments):
    done = CliRunner().invoke(command, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_bundle_file(project):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    text = shown(file)
    assert text.endswith(f"written by lapilli {lp.__version__}\n")
    for word in ("scaled", "doubled", "fp64", "FACTOR", "TILE", "2.0", "bytes", "spirv"):
        assert word in text
    data = json.loads(shown(file, "--json"))
    assert data["producer"] == f"lapilli {lp.__version__}"
    assert data["kind"] == "lpk" and len(data["images"]) == 2
    assert data["kernels"][f"{project.name}.doubled"] == [1]
    assert data["images"][1]["aspects"] == ["fp64"]


def test_a_graph(project):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    text = shown(file, "--dot")
    assert text.startswith("digraph") and f'"kernel {project.name}.doubled" -> "image 1"' in text
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True, timeout=60)


SPLIT = """
import lapilli as lp


def helper(v: lp.f32):
    for i in range(10):
        v = v * 1.5 + lp.f32(i)
    return v


@lp.kernel
def plain(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = helper(x[0])


@lp.kernel
def wide(x: lp.Array[lp.f64]):
    x[lp.global_id(0)] = lp.f64(helper(lp.f32(x[0])))


@lp.reqd_work_group_size(4, 8)
@lp.reqd_sub_group_size(8)
@lp.kernel
def sized(x: lp.Array[lp.f32, 2]):
    x[lp.global_id(0), lp.global_id(1)] = 1.0
"""


@pytest.mark.behaviour("SPL-15", "SPL-18")
def test_a_split_module_is_drawn_with_all_that_divides_it(make_project):
    project = make_project(SPLIT)
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    images = {image["kernels"][0]: image for image in json.loads(shown(file, "--json"))["images"]}
    rows = {line.split()[0]: line.split() for line in shown(file).splitlines() if line.split()[:1]}
    graph = shown(file, "--dot")
    for number, (kernel, needs) in enumerate(
        [
            ("plain", []),
            ("wide", ["fp64"]),
            ("sized", ["work-group 4×8", "sub-group 8"]),
        ]
    ):
        name = f"{project.name}.{kernel}"
        size = f"{images[name]['size_bytes']} bytes"
        label = "\\n".join([f"image {number}: spirv", *needs, size])
        assert f'"image {number}" [label="{label}"];' in graph
        assert f'"kernel {name}" -> "image {number}";' in graph
        assert rows[name][1] == str(number)
    assert rows["helper"] == ["helper", "0,", "1"]
    assert [f'"image {n}" -> "function helper";' in graph for n in range(3)] == [True, True, False]


def test_a_table(project):
    table = project.folder / "out.table"
    project.build("-o", f"swiftshader,{table}")
    data = json.loads(shown(table, "--json"))
    assert [image["size_bytes"] is None for image in data["images"]] == [False, True]


def test_a_module_and_its_functions(tmp_path):
    from lapilli.spirv.tools import spirv_tools

    file = tmp_path / "x.spv"
    file.write_bytes(spirv_tools().assemble(OUTLINED, "vulkan1.1"))
    data = json.loads(shown(file, "--json"))
    assert data["images"][0]["callees"] == {"a": ["helper"], "b": []}


def test_damaged_code_does_not_hide_the_rest(project):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    data = bytearray(file.read_bytes())
    data[-40] ^= 1
    file.write_bytes(data)
    text = shown(file)
    assert "damaged" in text and "doubled" in text


def test_names_do_nothing_to_terminals(project):
    assert printable("a\x1b[2Jb\n") == "a\\x1b[2Jb\\x0a"
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    header, code = split(file.read_bytes())
    header["kernels"][0]["qualified_name"] = 'x\x1b[2J"; digraph'
    file.write_bytes(joined(header, code))
    assert "\x1b" not in shown(file)
    assert '\\"; digraph' in shown(file, "--dot")


@pytest.mark.parametrize("data", [b"", b"[", b"\x03\x02\x23\x07", b"\x89LPK\r\n\x1a\n"])
def test_other_files(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    done = CliRunner().invoke(command, [str(tmp_path / "x")])
    assert done.exit_code == 1 and done.output and isinstance(done.exception, SystemExit)
    assert CliRunner().invoke(command, [str(tmp_path / "absent")]).exit_code == 1


def test_what_is_none_of_these_is_named(tmp_path):
    (tmp_path / "k.py").write_text("import lapilli as lp\n")
    done = CliRunner().invoke(command, [str(tmp_path / "k.py")])
    assert f"{tmp_path / 'k.py'}: expected a bundle file, a file table or a SPIR-V module" in done.output
