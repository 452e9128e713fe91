"""``lapilli build``: outputs, targets, file tables."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.ir.property_set import requirements_of_properties
from lapilli.ir.target_env import SPIRV_TARGET
from lapilli.spirv.empty_module import EMPTY_MODULE
from lapilli.spirv.file_table import HEADER, read_table
from lapilli.spirv.lpk import LpkFile, write_file
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools
from lapilli.tools.build import command

SPLIT = """
import lapilli as lp


@lp.kernel
def plain(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
def wide(x: lp.Array[lp.f64]):
    x[lp.global_id(0)] = 1.0


@lp.reqd_work_group_size(512)
@lp.kernel
def large(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 2.0
"""


def header(path):
    return LpkFile.open(path).header


def names(record, found):
    return {found.kernels[position].name for position in record.ids}


def test_the_empty_module_is_valid_and_does_nothing():
    assert spirv_tools().validate(EMPTY_MODULE, "spv1.0") is None
    assert reflect(EMPTY_MODULE).entry_points == ()


@pytest.mark.behaviour("SPL-18", "AOT-04", "AOT-06", "AOT-07", "AOT-08", "AOT-10")
def test_tables_one_for_each_output(make_project):
    project = make_project(SPLIT)
    folder = project.folder
    done = project.build(
        "-o",
        folder / "out.table",
        "-o",
        f"swiftshader,{folder / 'sw.table'}",
        "-o",
        f"lavapipe,{folder / 'lv.table'}",
    )
    assert "note" not in done.output
    plain, swiftshader, lavapipe = (read_table(folder / f"{n}.table") for n in ("out", "sw", "lv"))
    lines = [(folder / f"{n}.table").read_text().splitlines() for n in ("out", "sw")]
    assert lines[0][0] == lines[1][0] == HEADER == "[Code|Properties|Symbols]"
    assert len(plain) == len(swiftshader) == len(lavapipe) == 3
    assert [row.symbols for row in plain] == [row.symbols for row in swiftshader]
    by_kernel = {row.symbols: row for row in plain}
    for filtered, unsupported in ((swiftshader, {("wide",), ("large",)}), (lavapipe, set())):
        for row in filtered:
            assert row.is_empty == (row.symbols in unsupported)
            assert row.properties == by_kernel[row.symbols].properties
            assert row.is_empty or row.code == by_kernel[row.symbols].code
    for before, after in zip(lines[0][1:], lines[1][1:], strict=True):
        assert before.split("|")[1:] == after.split("|")[1:]
    wide = by_kernel["wide",]
    assert lp.Aspect.FP64 in requirements_of_properties(wide.properties).aspects
    assert [e.name for e in reflect(wide.code).entry_points] == ["wide"]
    data = json.loads((folder / lines[0][1 + plain.index(wide)].split("|")[1]).read_text())
    assert data == {"SYCL/device requirements": {"aspect": {"type": "BYTE_ARRAY", "data": "06000000"}}}


@pytest.mark.behaviour("AOT-05")
def test_no_spirv_writes_no_plain_table(make_project):
    project = make_project(SPLIT)
    folder = project.folder
    done = project.build("--no-spirv", "-o", folder / "out.table", "-o", f"lavapipe,{folder / 'lv.table'}")
    assert not (folder / "out.table").exists() and (folder / "lv.table").exists()
    assert "not written" in done.output


def test_unknown_targets(make_project):
    project = make_project(SPLIT)
    folder = project.folder
    for option in ("--targets", "--fixed-targets"):
        done = project.run_build("-o", folder / "out.lpk", option, "vk_nothing")
        assert done.exit_code == 1 and "vk_nothing" in done.output and "swiftshader" in done.output
        assert not (folder / "out.lpk").exists()
    done = project.build("-o", folder / "out.table", "-o", f"vk_nothing,{folder / 'x.table'}")
    assert "note" in done.output and "vk_nothing" in done.output
    assert read_table(folder / "x.table") == read_table(folder / "out.table")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Missing option"),
        (("-o", "a.lpk", "-o", "b.lpk"), "one -o FILE"),
        (("-o", ",b.lpk"), "TARGET,FILE"),
        (("-o", "a.lpk", "--device-code-split", "never"), "never"),
        (("-o", "a.lpk", "--no-spirv"), "no code"),
        (("-o", "/nowhere/at/all/a.lpk"), "cannot write"),
        (("-o", "a.lpk", "--device-config", "absent.json"), "absent.json"),
        (("-o", "-"), "not written to standard output"),
        (("-o", "a.lpk", "--disable-pass", "nope"), "--disable-pass takes one of canonicalize, coarsen"),
    ],
)
def test_mistakes_in_options(make_project, monkeypatch, options, message):
    project = make_project(SPLIT)
    monkeypatch.chdir(project.folder)
    done = project.run_build(*options)
    assert done.exit_code != 0 and message in done.output, done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("absent.py", None, "no such file"),
        ("json.py", "", "another module"),
        ("aot_raises.py", "def f():\n    1 / 0\n\n\nf()", "failed at aot_raises.py:2: ZeroDivisionError"),
        ("aot_exits.py", "raise SystemExit(3)", "SystemExit"),
        ("aot_syntax.py", "def", "SyntaxError"),
        ("aot_empty.py", "", "no kernels"),
        ("aot-dash.py", "", "no name of a module"),
        ("kernels.txt", "", "'kernels.txt' is something else"),
        ("aot_text.mlir", "this is no IR", "error"),
        ("no_such_package", None, "no module"),
        ("what is this", None, "takes a .py file"),
    ],
)
def test_mistakes_in_inputs(tmp_path, monkeypatch, name, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text)
    done = CliRunner().invoke(command, [name, "-o", "out.lpk"])
    assert done.exit_code == 1 and message in done.output, done.output
    assert not (tmp_path / "out.lpk").exists()


def test_a_kernel_that_cannot_be_compiled_fails_the_build(make_project):
    project = make_project(
        "import lapilli as lp\n\n\n@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = nothing\n"
    )
    done = project.run_build("-o", project.folder / "out.lpk")
    assert done.exit_code == 1 and f"{project.file}:6:12: error" in done.output
    assert not (project.folder / "out.lpk").exists()


def test_packages_and_ir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "aot_package"
    (package / "inner").mkdir(parents=True)
    kernel = (
        "import lapilli as lp\n\n\n@lp.kernel\ndef {}(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = 1.0\n"
    )
    (package / "__init__.py").write_text(kernel.format("top"))
    (package / "part.py").write_text(kernel.format("middle"))
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "deep.py").write_text(kernel.format("bottom"))
    ir = tmp_path / "plain.mlir"
    ir.write_text(
        "func.func @fill(%x: memref<?xf32>) attributes {gpu.kernel} {\n"
        '  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index\n  %c = arith.constant 4.0 : f32\n'
        "  memref.store %c, %x[%i] : memref<?xf32>\n  return\n}\n"
    )
    for inputs in (["aot_package"], [str(package)]):
        done = CliRunner().invoke(command, [*inputs, str(ir), "-o", "out.lpk"])
        assert done.exit_code == 0, done.output
        found = {kernel.qualified_name for kernel in header(tmp_path / "out.lpk").kernels}
        assert found == {
            "aot_package.top",
            "aot_package.part.middle",
            "aot_package.inner.deep.bottom",
            "plain.fill",
        }
    done = CliRunner().invoke(command, [str(package / "inner" / "deep.py"), "-o", "one.lpk"])
    assert done.exit_code == 0, done.output
    assert [k.qualified_name for k in header(tmp_path / "one.lpk").kernels] == [
        "aot_package.inner.deep.bottom"
    ]


@pytest.mark.device
@pytest.mark.behaviour("AOT-01", "AOT-11", "AOT-12", "KB-05")
def test_native_images_are_tagged_and_hold_no_spirv(make_project, device):
    project = make_project(SPLIT)
    file = project.folder / "out.lpk"
    project.build("-o", file, "--targets", device.selector)
    found = header(file)
    native = [image for image in found.images if image.native is not None]
    assert {image.target for image in found.images} == {SPIRV_TARGET, device.selector}
    assert native
    for image in native:
        assert image.native.device_uuid == device.physical.device_uuid
        assert image.native.driver_uuid == device.physical.driver_uuid
        assert LpkFile.open(file).blob(image.native_code)[:4] != b"\x03\x02\x23\x07"
        sources = [i for i in found.images if i.target == SPIRV_TARGET and i.ids == image.ids]
        assert [i.code for i in sources] == [image.code]  # one copy, which the native image refers to
    bundle = lp.load_kernel_bundle(lp.Context([device]), file)
    holding = [image for image in bundle if image.has_kernel("plain")]
    assert {image.target for image in holding} == {device.selector, SPIRV_TARGET} and len(holding) == 2


@pytest.mark.device
@pytest.mark.behaviour("FT-03")
def test_native_code_is_for_targets_in_both_lists(make_project):
    project = make_project(SPLIT.replace("lp.f64", "lp.f32").replace("@lp.reqd_work_group_size(512)\n", ""))
    present = {device.selector for device in lp.devices()}
    if not {"lavapipe", "swiftshader"} <= present:
        pytest.skip("needs lavapipe and SwiftShader")
    file = project.folder / "out.lpk"
    fixed = ("--fixed-targets", "swiftshader", "--fixed-targets", "nvidia_h200")  # as in one list
    project.build("-o", file, "--targets", "lavapipe,swiftshader", *fixed)
    assert {image.target for image in header(file).images} == {SPIRV_TARGET, "swiftshader"}
    with pytest.raises(lp.KernelNotSupportedError, match="-fsycl-fixed-targets=swiftshader,nvidia_h200"):
        lp.load_kernel_bundle(lp.Context([lp.device("lavapipe")]), file).get_kernel("plain")
    assert lp.load_kernel_bundle(lp.Context([lp.device("swiftshader")]), file).has_kernel("plain")


@pytest.mark.device
@pytest.mark.behaviour("AOT-09", "AOT-10")
def test_drivers_see_only_what_their_target_can_run(make_project, device):
    project = make_project(SPLIT)
    file = project.folder / "out.lpk"
    with lp.trace() as trace:
        project.build("-o", file, "--targets", device.selector)
    made = sorted(event.kernel for event in trace.events if event.kind == "pipeline")
    able = [k for k in ("large", "plain", "wide") if device.info.max_work_group_size >= 512 or k == "plain"]
    assert made == able
    assert {event.device for event in trace.events if event.kind == "pipeline"} == {device.selector}


@pytest.mark.device
@pytest.mark.behaviour("AOT-07", "AOT-09")
def test_images_of_fixed_targets_are_filtered_by_what_their_kernels_use(make_project, device):
    """What was asserted of the targets need not be true; the driver of one without fp64 must not get its code."""
    project = make_project(SPLIT)
    folder, fixed = project.folder, ("--fixed-targets", "swiftshader,lavapipe")
    tables = [f"{name},{folder / name}.table" for name in ("swiftshader", "lavapipe")]
    project.build("-o", folder / "out.table", *(part for table in tables for part in ("-o", table)), *fixed)
    (row,) = read_table(folder / "out.table")
    assert not row.is_empty and row.symbols == ("plain", "wide", "large")
    (row,) = read_table(folder / "swiftshader.table")
    assert row.is_empty and row.symbols == ("plain", "wide", "large")
    assert not read_table(folder / "lavapipe.table")[0].is_empty
    with lp.trace() as trace:
        project.build("-o", folder / "out.lpk", "--targets", device.selector, *fixed)
    can_run = device.has(lp.Aspect.FP64) and device.info.max_work_group_size >= 512
    assert bool(trace.count("pipeline")) is (
        can_run and bool({"swiftshader", "lavapipe"} & set(device.targets))
    )


@pytest.mark.behaviour("AOT-02", "AOT-03", "AOT-14")
def test_targets_of_ones_own(make_project):
    project = make_project(SPLIT)
    folder = project.folder
    config = folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "targets": {
                    "my_gpu": {"device": "10de:abcd", "aspects": ["gpu", "fp64"], "max_work_group_size": 256}
                }
            }
        )
    )
    for name in ("my_gpu", "vk_10de_abcd", "10de:abcd"):
        done = project.build(
            "--device-config", config, "-o", folder / "out.table", "-o", f"{name},{folder / 'mine.table'}"
        )
        assert "note" not in done.output
        empty = {row.symbols for row in read_table(folder / "mine.table") if row.is_empty}
        assert empty == {("large",)}
    assert "my_gpu" in project.run_build("-o", folder / "x.lpk", "--targets", "my_gpu").output


def test_targets_whose_device_is_absent_are_noted(make_project):
    project = make_project(SPLIT)
    file = project.folder / "out.lpk"
    done = project.build("-o", file, "--targets", "raspberry_pi_5")
    assert "note: target raspberry_pi_5" in done.output
    assert {image.target for image in header(file).images} == {SPIRV_TARGET}


@pytest.mark.parametrize(("mode", "count"), [("per_kernel", 2), ("off", 1)])
def test_code_split(make_project, mode, count):
    kernel = "@lp.kernel\ndef {}(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = 1.0\n\n\n"
    project = make_project("import lapilli as lp\n\n\n" + kernel.format("one") + kernel.format("two"))
    project.build("-o", project.folder / "out.lpk", "--device-code-split", mode)
    assert len(header(project.folder / "out.lpk").images) == count


TWO_MODULES = """
import lapilli as lp

ADDED = lp.SpecializationId(lp.i32, {value})


@lp.kernel
def {name}(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    x[i] = x[i] + ADDED


@lp.kernel
def wide_{name}(x: lp.Array[lp.f64]):
    x[lp.global_id(0)] = 1.0
"""


@pytest.mark.device
@pytest.mark.behaviour("SPL-03", "FT-04")
def test_kernels_of_several_files_share_images(make_project, device):
    project = make_project(TWO_MODULES.format(name="by_two", value=2))
    file, other = project.folder / "out.lpk", project.folder / f"other_of_{project.name}.py"
    other.write_text(TWO_MODULES.format(name="by_three", value=3), "utf-8")

    def built(*options: str) -> list[list[str]]:
        project.build(other, "-o", file, *options)
        return sorted(sorted(kernel.name for kernel in image.kernels) for image in header(file).images)

    wide = ["wide_by_three", "wide_by_two"]
    assert len(built("--device-code-split", "per_source")) == 4
    fixed = ("--device-code-split", "off", "--fixed-targets", "lavapipe,swiftshader")
    assert built(*fixed) == [["by_three", "by_two", *wide]]
    assert built("--device-code-split", "off") == [["by_three", "by_two"], wide]
    context = lp.Context([device])
    parts = lp.load_kernel_bundle(context, file, state=lp.BundleState.INPUT)
    (added,) = (id_ for id_, value in parts.specialization_constants.items() if value == 3)
    parts.set_specialization_constant(added, 30)
    bundle = lp.build(parts)
    x = lp.zeros(4, lp.i32, device=device)
    for name in ("by_two", "by_three"):
        lp.Queue(device, context=context).parallel_for(4, bundle.get_kernel(name), x).wait()
    assert x.numpy().tolist() == [32] * 4


@pytest.mark.device
@pytest.mark.behaviour("SPL-03", "FT-04", "SPL-18")
@pytest.mark.parametrize("fixed", [(), ("--fixed-targets", "lavapipe,swiftshader")])
def test_kernels_of_one_name_share_an_image(make_project, tmp_path, device, fixed):
    """Seed of -fsycl-device-code-split: ``off`` guarantees one image for all kernels of equal fixed targets."""
    text = (
        "import lapilli as lp\n@lp.kernel\ndef same(x: lp.Array[lp.i32]):\n    x[lp.global_id(0)] = {}\n"
        "@lp.kernel\ndef only_{}(x: lp.Array[lp.i32]):\n    x[lp.global_id(0)] = {}\n"
    )
    project = make_project(text.format(0, 0, 10))
    others = [tmp_path / f"other_{n}_of_{project.name}.py" for n in (1, 2)]
    for number, other in enumerate(others, start=1):
        other.write_text(text.format(number, number, 10 + number), "utf-8")
    file, table = tmp_path / "out.lpk", tmp_path / "out.table"
    for output in (file, table):
        project.build(*others, "-o", output, "--device-code-split", "off", *fixed)
    (image,) = header(file).images
    kernels = ["same", "only_0", "same~2", "only_1", "same~3", "only_2"]
    assert [kernel.name for kernel in image.kernels] == kernels
    assert (tmp_path / "out_0.sym").read_text().split() == kernels and not (tmp_path / "out_1.sym").exists()
    if fixed and device.selector not in fixed[-1]:
        pytest.skip("the image is for other devices")
    context = lp.Context([device])
    bundle = lp.load_kernel_bundle(context, file)
    assert sorted(bundle.get_kernel_names()) == sorted(["same"] * 3 + [f"only_{n}" for n in range(3)])
    modules = [project.name, *(other.stem for other in others)]
    for number, module in enumerate(modules):
        for name, expected in (("same", number), (f"only_{number}", 10 + number)):
            x = lp.full(4, -1, lp.i32, device=device)
            kernel = bundle.get_kernel(f"{module}.{name}")
            lp.Queue(device, context=context).parallel_for(4, kernel, x).wait()
            assert x.numpy().tolist() == [expected] * 4


def test_levels_and_debug_information(make_project):
    project = make_project(SPLIT)
    sizes = {}
    for options in (
        ("-O0",),
        ("-O1",),
        ("-O2",),
        ("-g",),
        ("--disable-pass", "dce", "--disable-pass", "cse"),
    ):
        project.build("-o", project.folder / "out.lpk", *options)
        found = LpkFile.open(project.folder / "out.lpk")
        env = found.header.images[0].target_env
        assert env.optimisation_level == {"-O0": 0, "-O2": 2}.get(options[0], 1)
        assert env.debug_info == (options == ("-g",))
        assert env.disabled_passes == (("cse", "dce") if "dce" in options else ())
        sizes[options] = len(found.blob(0))
    assert sizes["-g",] > sizes["-O1",]


NARROW = """import lapilli as lp


def boo(x: lp.f32):
    return lp.f64(x) * 3.0


@lp.device_has()
@lp.kernel
def foo(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = lp.f32(boo(x[i]))
"""
HEAD = "warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\nuse is from this call chain:\n"


@pytest.mark.behaviour("WRN-03", "WRN-04", "WRN-05")
@pytest.mark.parametrize("given", ["file", "here", "below", "module"])
def test_a_build_prints_aspect_warnings_as_compilers_do(make_project, monkeypatch, tmp_path, given):
    project = make_project(NARROW)
    name = project.file.name
    folder = tmp_path.parent if given == "below" else tmp_path
    monkeypatch.chdir(folder)
    text = {
        "file": str(project.file),
        "here": f"./{name}",
        "below": f"{tmp_path.name}/{name}",
        "module": project.name,
    }[given]
    shown = {"file": str(project.file), "below": f"{tmp_path.name}/{name}"}.get(given, name)

    def output(*options):
        done = CliRunner().invoke(command, [text, "-o", str(tmp_path / "out.lpk"), *options])
        assert done.exit_code == 0, done.output
        return done.output

    wrote = f"wrote {tmp_path / 'out.lpk'}\n"
    plain = HEAD + "  foo()\n  boo()\ncompile with '-g' to get source location\n"
    for _ in range(2):  # each build says it
        assert output() == plain + wrote
    assert output("-g") == f"{shown}:5:12: {HEAD}  foo()\n  boo() {shown}:12:19\n{wrote}"


def test_errors_name_files_as_given(tmp_path, monkeypatch):
    text = "import lapilli as lp\n\n\n@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = y\n"
    (tmp_path / "aot_wrong.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["aot_wrong.py", "-o", "out.lpk"])
    assert done.exit_code == 1 and done.output.startswith("aot_wrong.py:6:12: error: ")


@pytest.mark.behaviour("ASP-20", "AOT-10")
def test_nothing_is_said_of_what_a_target_lacks(make_project):
    project = make_project(SPLIT)
    folder = project.folder
    tables = [f"swiftshader,{folder / 'sw.table'}", f"raspberry_pi_5,{folder / 'pi.table'}"]
    done = project.build("-o", folder / "out.lpk", "-o", tables[0], "-o", tables[1])
    assert "warning" not in done.output and "note" not in done.output
    fixed = project.build("-o", folder / "out.lpk", "--fixed-targets", "swiftshader,lavapipe")
    assert (
        "warning: function 'wide' uses aspect 'fp64' not supported by fixed target 'swiftshader'"
        in fixed.output
    )


def test_warnings_about_ir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "narrow.mlir").write_text(
        "func.func @k() attributes {gpu.kernel, aspect.declared = []} {\n"
        '  %d = arith.constant 1.0 : f64 loc("k.py":7:9)\n  func.return\n}\n'
    )
    done = CliRunner().invoke(command, ["narrow.mlir", "-o", "out.lpk", "-g"])
    assert done.exit_code == 0, done.output
    assert (
        "k.py:7:9: warning: function 'k' uses aspect 'fp64' not listed in 'sycl::device_has'" in done.output
    )


@pytest.mark.device
def test_a_file_keeps_the_checks_that_it_was_built_with(make_project, monkeypatch, device, tmp_path):
    project = make_project(
        "import lapilli as lp\n\n\n@lp.kernel\ndef beyond(x: lp.Array[lp.f32]):\n    x[lp.global_id(0) + 5] = 1.0\n"
    )
    monkeypatch.setenv("LAPILLI_DEBUG", "1")
    project.build("-o", tmp_path / "debug.lpk")
    project.forget()
    monkeypatch.delenv("LAPILLI_DEBUG")
    bundle = lp.load_kernel_bundle(device.default_context, tmp_path / "debug.lpk", [device])
    with pytest.raises(lp.KernelTrap, match="index 8 is out of range"):
        device.default_queue.parallel_for(8, bundle.get_kernel("beyond"), lp.zeros(8, device=device)).wait()


@pytest.mark.device
def test_files_of_ir_are_checked_in_debug_mode(tmp_path, monkeypatch, device):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shift.mlir").write_text(
        "gpu.module @m {\n  gpu.func @shift(%x: memref<?xf32>) kernel {\n    %i = gpu.global_id x\n"
        "    %n = arith.constant 3 : index\n    %j = arith.addi %i, %n : index\n"
        "    %v = memref.load %x[%j] : memref<?xf32>\n    memref.store %v, %x[%i] : memref<?xf32>\n"
        "    gpu.return\n  }\n}\n"
    )
    for options, traps in ((["-g"], True), ([], False)):
        done = CliRunner().invoke(command, ["shift.mlir", "-o", "out.lpk", *options])
        assert done.exit_code == 0, done.output
        bundle = lp.load_kernel_bundle(lp.Context([device]), "out.lpk", [device])
        x = lp.ones(4, device=device)
        queue = lp.Queue(device, context=bundle.context)
        event = queue.parallel_for(lp.NdRange(4, 4), bundle.get_kernel("shift"), x)
        if traps:
            with pytest.raises(lp.KernelTrap, match="out of range of dimension 0 of 'x'") as caught:
                event.wait()
            assert str(caught.value.location) == "shift.mlir:6:5"
        else:
            event.wait()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX systems")
def test_what_is_no_file_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        write_file(pipe, b"bytes")
        assert pipe.is_fifo()
        assert os.read(reader, 100) == b"bytes"
    finally:
        os.close(reader)
