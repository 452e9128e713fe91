"""`lapilli doctor` on machines that lack something: what it finds, what it says to do, its exit status."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from lapilli.tools import cli, doctor, doctor_software, doctor_vulkan, driver_probe, swiftshader
from lapilli.tools.doctor_findings import Finding, Section, missing, note, ok, repairs
from lapilli.vk_runtime import loader
from lapilli.vk_runtime.driver_report import driver_manifests
from lapilli.vk_runtime.errors import VulkanError
from lapilli.vk_runtime.runtime import runtime

VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES", "LAPILLI_SWIFTSHADER")


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command in its own process, because drivers are loaded once in a process."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = (sys.executable, "-m", "lapilli", "doctor", *args)
    return subprocess.run(command, capture_output=True, text=True, check=False, env=clean | env)


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def manifest(path: Path, library: str) -> Path:
    path.write_text(json.dumps({"ICD": {"library_path": library, "api_version": "1.3.0"}}))
    return path


def finding_of(section: Section, subject: str) -> Finding:
    return next(finding for finding in section.findings if finding.subject.startswith(subject))


def require_loader() -> None:
    try:
        loader.open_loader()
    except loader.EntryPointError as error:
        pytest.skip(f"no Vulkan loader: {error}")


def test_without_any_driver_the_status_is_1_and_repairs_are_named() -> None:
    done = run(VK_DRIVER_FILES="/nowhere/icd.json", LAPILLI_SWIFTSHADER="/nowhere/lib.so")
    assert done.returncode == 1
    assert "!!  devices: no usable Vulkan device" in done.stdout
    assert "!!  SwiftShader: there is no file /nowhere/lib.so" in done.stdout
    assert "To repair this" in done.stdout
    assert "\n  unset LAPILLI_SWIFTSHADER; lapilli doctor --install-swiftshader\n" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_variable_that_names_no_file_is_to_be_unset() -> None:
    require_loader()
    done = run(VK_DRIVER_FILES="/nowhere/icd.json", LAPILLI_SWIFTSHADER="")
    assert "--  VK_DRIVER_FILES: /nowhere/icd.json" in done.stdout
    assert "!!  driver /nowhere/icd.json: there is no such file" in done.stdout
    assert "\n  unset VK_DRIVER_FILES\n" in done.stdout


def test_every_variable_that_is_in_the_way_is_named_at_once() -> None:
    require_loader()
    wrong = {"VK_DRIVER_FILES": "/nowhere/icd.json", "VK_ICD_FILENAMES": "/nowhere/old.json"}
    done = run(**wrong, LAPILLI_SWIFTSHADER="")
    assert "!!  driver /nowhere/old.json: there is no such file" in done.stdout
    assert "\n  unset VK_DRIVER_FILES\n  unset VK_ICD_FILENAMES\n" in done.stdout


def test_a_variable_that_names_an_empty_folder_is_to_be_unset(tmp_path: Path) -> None:
    require_loader()
    done = run(VK_DRIVER_FILES=str(tmp_path), LAPILLI_SWIFTSHADER="")
    assert f"!!  driver {tmp_path}: this folder has no manifest (*.json)" in done.stdout
    assert "\n  unset VK_DRIVER_FILES\n" in done.stdout


def test_piped_output_has_neither_colours_nor_boxes() -> None:
    done = run(VK_DRIVER_FILES="/nowhere/icd.json", LAPILLI_SWIFTSHADER="", FORCE_COLOR="")
    assert "\x1b" not in done.stdout
    assert not set(done.stdout) & set("│─╭╮┃")


@pytest.mark.device
def test_variables_that_are_wrong_are_named_and_every_device_is_listed() -> None:
    wrong = {"LAPILLI_DEBGU": "1", "LAPILLI_HANG_TIMEOUT": "soon", "LAPILLI_DEVICE": "voodoo"}
    done = run(**wrong, LAPILLI_DISABLE_ASPECTS="image")
    for name in wrong:
        assert f"!!  {name}: " in done.stdout and f"\n  unset {name}\n" in done.stdout
    assert "did you mean LAPILLI_DEBUG?" in done.stdout and "Nothing to repair" not in done.stdout
    for device in runtime().devices:  # each is another device than that of its driver
        assert f"\n{device.selector} " in done.stdout
    assert done.returncode == 0


@pytest.mark.device
def test_an_option_that_names_no_device_does_not_end_the_report() -> None:
    done = run(LAPILLI_VISIBLE_DEVICES="voodoo")
    assert "!!  devices: LAPILLI_VISIBLE_DEVICES: 'voodoo' matches no device" in done.stdout
    assert done.stdout.endswith("To repair this\n  unset LAPILLI_VISIBLE_DEVICES\n")
    assert done.returncode == 1


@pytest.mark.usefixtures("no_variables")
def test_a_library_that_is_no_driver_is_reported_with_the_linkers_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib.so").write_text("no library")
    monkeypatch.setenv("LAPILLI_SWIFTSHADER", str(tmp_path / "lib.so"))
    finding = finding_of(doctor_vulkan.vulkan_section(), "SwiftShader")
    assert finding.status == "missing"
    assert "of unknown origin" in finding.subject
    assert "lib.so" in finding.text


@pytest.mark.usefixtures("no_variables")
def test_each_broken_manifest_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_loader()
    (tmp_path / "text.json").write_text("no json")
    manifest(tmp_path / "absent.json", "./absent.so")
    monkeypatch.setenv("VK_DRIVER_FILES", f"{tmp_path}/text.json{os.pathsep}{tmp_path}/absent.json")
    section = doctor_vulkan.vulkan_section()
    assert "cannot be read" in finding_of(section, f"driver {tmp_path}/text.json").text
    assert "./absent.so does not exist" in finding_of(section, f"driver {tmp_path}/absent.json").text


@pytest.mark.usefixtures("no_variables")
def test_what_the_loader_cannot_load_has_the_linkers_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader answers VK_ERROR_INCOMPATIBLE_DRIVER, whatever the reason."""
    require_loader()
    (tmp_path / "text.so").write_text("no library")
    files = (manifest(tmp_path / "text.json", "./text.so"), manifest(tmp_path / "other.json", "libc.so.6"))
    monkeypatch.setenv("VK_DRIVER_FILES", os.pathsep.join(map(str, files)))
    text, other = (finding_of(doctor_vulkan.vulkan_section(), f"driver {path}") for path in files)
    assert text.status == other.status == "missing"
    assert "text.so: file too short" in text.text
    assert other.text == "libc.so.6 is no Vulkan driver: it has no vk_icdGetInstanceProcAddr"


def test_a_driver_that_refuses_the_machine_has_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mesa's virtio driver says so where there is no such card: VK_ERROR_INCOMPATIBLE_DRIVER."""
    require_loader()
    drivers = [found for found in driver_manifests() if not found.problem]
    if not drivers:
        pytest.skip("no Vulkan driver for the loader")

    def refuse(entry: object) -> None:
        raise VulkanError("vkCreateInstance", -9)

    monkeypatch.setattr(driver_probe, "Instance", refuse)
    answer = driver_probe.probe(drivers[0].library_path, by_loader=True)
    assert answer == {"devices": [], "refused": []}
    assert doctor_vulkan._judge("driver", answer).status == "note"


@pytest.mark.usefixtures("no_variables")
def test_without_driver_files_mesa_is_to_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_loader()
    monkeypatch.setattr(doctor_vulkan, "driver_manifests", lambda: ())
    finding = finding_of(doctor_vulkan.vulkan_section(), "drivers")
    assert finding.repair is not None
    assert finding.repair.endswith("mesa-vulkan-drivers")


def test_without_loader_its_package_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise loader.EntryPointError("libvulkan.so.1: cannot open shared object file")

    monkeypatch.setattr(doctor_vulkan, "open_loader", absent)
    finding = finding_of(doctor_vulkan.vulkan_section(), "loader")
    assert finding.status == "missing"
    assert "libvulkan.so.1" in finding.text
    assert finding.repair is not None and "libvulkan1" in finding.repair


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("kill -SEGV $$", "ends the process with signal 11"),
        ("echo first >&2; echo 'ImportError: last' >&2; exit 3", "ImportError: last"),
        ("exit 3", "ends the process with status 3"),
    ],
)
def test_a_driver_that_ends_its_process_does_not_end_the_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert driver_probe.probe_apart((), {}) == {"devices": [], "refused": [expected]}


def test_a_driver_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 20\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(driver_probe, "TIMEOUT_S", 0.1)
    assert driver_probe.probe_apart((), {})["refused"] == ["does not answer within 0.1 s"]


def test_repairs_are_listed_once_in_order() -> None:
    first = Section(heading="a", findings=(missing("x", "is gone", "one"), ok("y", "1.0"), note("z", "odd")))
    second = Section(heading="b", findings=(missing("x", "is gone", "two"), missing("w", "too", "one")))
    assert repairs((first, second)) == ("one", "two")


def test_a_missing_package_is_to_be_installed_with_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_software, "PACKAGES", ("lapilli", "no-such-package"))
    section = doctor_software.software_section()
    assert finding_of(section, "lapilli").status == "ok"
    assert finding_of(section, "no-such-package").repair == f"{sys.executable} -m pip install no-such-package"


def test_cache_directory_is_reported_with_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "entry").write_bytes(bytes(1_500_000))
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "3000000")
    assert cache_finding() == ok("cache", f"{tmp_path} (1.5 of 3.0 MB)")


def cache_finding() -> Finding:
    return finding_of(doctor_software.software_section(), "cache")


def test_a_cache_that_is_not_used_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("LAPILLI_CACHE", "0")
    assert cache_finding().status == "note" and "switched off" in cache_finding().text
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    assert cache_finding() == note("cache", f"{tmp_path / 'mine'} (not made yet)")
    (tmp_path / "mine").symlink_to(tmp_path / "nowhere")
    assert cache_finding().status == "missing" and "is no folder" in cache_finding().text
    (tmp_path / "nowhere" / "v1").mkdir(parents=True)
    (tmp_path / "nowhere" / "v1").chmod(0o777)
    assert "chmod go-w" in cache_finding().text and cache_finding().status == "missing"
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "a lot")
    assert "LAPILLI_CACHE_SIZE takes a number of bytes" in cache_finding().text


def test_brackets_in_findings_are_printed_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=200)
    doctor._print_section(console, Section(heading="H", findings=(ok("driver", "[red] [/] path[0]"),)))
    assert isinstance(console.file, io.StringIO)
    assert "ok  driver: [red] [/] path[0]" in console.file.getvalue()


def test_install_option_installs_from_a_package_and_reports_no_devices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    origin = swiftshader.Origin(
        package="chromium-common", version="1", architecture="amd64", archive_sha256="", library_sha256=""
    )
    calls: list[tuple[Path, Path | None, bool]] = []

    def install(directory: Path, *, archive: Path | None, force: bool) -> tuple[swiftshader.Origin, bool]:
        calls.append((directory, archive, force))
        return origin, True

    monkeypatch.setattr(swiftshader, "install", install)
    deb = tmp_path / "x.deb"
    deb.touch()
    result = CliRunner().invoke(cli.group, ["doctor", "--install-swiftshader", "--force", "--deb", str(deb)])
    assert result.exit_code == 0
    assert calls == [(swiftshader.default_directory(), deb, True)]
    assert result.output.startswith(f"SwiftShader installed {swiftshader.default_directory()}")
    assert "Devices" not in result.output


def test_install_options_alone_are_refused() -> None:
    result = CliRunner().invoke(cli.group, ["doctor", "--force"])
    assert result.exit_code == 2
    assert "belong to --install-swiftshader" in result.output


@pytest.mark.device
def test_with_a_device_the_status_is_0_and_it_is_listed() -> None:
    devices = importlib.import_module("lapilli.vk_runtime.runtime").runtime().devices
    done = subprocess.run(
        (sys.executable, "-m", "lapilli", "doctor"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    for device in devices:
        assert f"\n{device.selector} " in done.stdout


def test_a_variable_that_is_in_the_way_is_to_be_unset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = tmp_path / "driver.so"
    text.write_text("this is no library")
    monkeypatch.setenv("LAPILLI_SWIFTSHADER", str(text))
    embedded = finding_of(doctor_vulkan.vulkan_section(), "SwiftShader")
    assert (embedded.status, embedded.repair) == ("missing", "unset LAPILLI_SWIFTSHADER")
    monkeypatch.setenv("LAPILLI_SWIFTSHADER", "x" * 5000)  # pathlib raises where a name is too long
    assert "there is no file" in finding_of(doctor_vulkan.vulkan_section(), "SwiftShader").text
    done = run(LAPILLI_SPIRV_TOOLS="/nowhere", LAPILLI_DEVICE="nope", LAPILLI_SWIFTSHADER="x" * 5000)
    assert "\n  unset LAPILLI_SPIRV_TOOLS\n" in done.stdout
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert "!!  LAPILLI_DEVICE: LAPILLI_DEVICE='nope' matches no device" in done.stdout
