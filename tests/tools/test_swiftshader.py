"""Taking SwiftShader out of a Debian package, from packages made here: no network, no apt."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from lapilli.ir.errors import InvalidError
from lapilli.tools import deb_archive, swiftshader
from lapilli.vk_runtime import loader

LIBRARY = b"\x7fELF not really" * 1000
COPYRIGHT = b"Files: *\nLicense: Apache-2.0\n"
CONTROL = b"Package: chromium-common\nVersion: 1:156.0-1\nArchitecture: amd64\nDescription: x\n Home: none\n"
MEMBERS = {
    "./usr/lib/chromium/libvk_swiftshader.so": LIBRARY,
    "./usr/share/doc/chromium-common/copyright": COPYRIGHT,
}


def tar_of(members: dict[str, bytes], compression: str = "xz", links: dict[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return buffer.getvalue()


def ar_of(members: dict[str, bytes]) -> bytes:
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        parts += [header.encode(), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


def package(path: Path, data: bytes, control: bytes | None = None) -> Path:
    if control is None:
        control = tar_of({"./control": CONTROL})
    members = {"debian-binary": b"2.0\n", "control.tar.xz": control, "data.tar.xz": data}
    path.write_bytes(ar_of(members))
    return path


@pytest.fixture
def deb(tmp_path: Path) -> Path:
    return package(tmp_path / "renamed.deb", tar_of(MEMBERS))


def test_installs_library_licence_copyright_and_origin(deb: Path, tmp_path: Path) -> None:
    target = tmp_path / "data" / "swiftshader"
    origin, was_installed = swiftshader.install(target, archive=deb)
    assert was_installed
    assert (target / "libvk_swiftshader.so").read_bytes() == LIBRARY
    assert (target / "copyright").read_bytes() == COPYRIGHT
    assert "Apache License" in (target / "LICENSE").read_text("utf-8")
    assert sorted(path.name for path in target.iterdir()) == [
        "LICENSE",
        "copyright",
        "libvk_swiftshader.so",
        "origin.json",
    ]
    written = json.loads((target / "origin.json").read_text("utf-8"))
    assert written["version"] == origin.version == "1:156.0-1"
    assert written["architecture"] == "amd64"
    assert written["library_sha256"] == hashlib.sha256(LIBRARY).hexdigest()
    assert written["archive_sha256"] == hashlib.sha256(deb.read_bytes()).hexdigest()


def test_second_install_changes_nothing(deb: Path, tmp_path: Path) -> None:
    swiftshader.install(tmp_path / "s", archive=deb)
    before = (tmp_path / "s" / "libvk_swiftshader.so").stat()
    origin, was_installed = swiftshader.install(tmp_path / "s", archive=tmp_path / "absent.deb")
    assert not was_installed
    assert origin == swiftshader.installed_origin(tmp_path / "s")
    assert (tmp_path / "s" / "libvk_swiftshader.so").stat().st_ino == before.st_ino


def test_force_replaces_the_file_and_leaves_an_open_one_alone(deb: Path, tmp_path: Path) -> None:
    swiftshader.install(tmp_path / "s", archive=deb)
    library = tmp_path / "s" / "libvk_swiftshader.so"
    with library.open("rb") as opened:
        _, was_installed = swiftshader.install(tmp_path / "s", archive=deb, force=True)
        assert was_installed
        assert library.stat().st_ino != os.fstat(opened.fileno()).st_ino


@pytest.mark.parametrize("name", ["libvk_swiftshader.so", "origin.json"])
def test_altered_installation_is_not_believed(deb: Path, tmp_path: Path, name: str) -> None:
    swiftshader.install(tmp_path / "s", archive=deb)
    path = tmp_path / "s" / name
    path.write_bytes(path.read_bytes()[:-30])
    assert swiftshader.installed_origin(tmp_path / "s") is None
    _, was_installed = swiftshader.install(tmp_path / "s", archive=deb)
    assert was_installed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin with"),
        (b"PK\x03\x04", "does not begin with"),
        (ar_of({"debian-binary": b"2.0\n"}), "no section data.tar"),
        (ar_of({"data.tar.xz": b"no tar at all"}), "data.tar.xz cannot be read"),
        (b"!<arch>\n" + b"x" * 60, "damaged member header at byte 8"),
        (ar_of({"data.tar.xz": tar_of(MEMBERS)})[:-100], "cannot be read|lacks usr"),
        (ar_of({"data.tar.xz": tar_of({"./usr/bin/x": b""})}), "lacks usr/lib/chromium/libvk_swiftshader.so"),
    ],
)
def test_a_file_that_is_no_such_package_is_an_error(tmp_path: Path, content: bytes, message: str) -> None:
    bad = tmp_path / "bad.deb"
    bad.write_bytes(content)
    with pytest.raises(InvalidError, match=message):
        swiftshader.install(tmp_path / "s", archive=bad)
    assert not (tmp_path / "s").exists()


def test_a_link_in_place_of_the_library_is_refused(tmp_path: Path) -> None:
    links = {"./usr/lib/chromium/libvk_swiftshader.so": "/etc/passwd"}
    bad = package(tmp_path / "bad.deb", tar_of({}, links=links))
    with pytest.raises(InvalidError, match="expected a regular file"):
        swiftshader.install(tmp_path / "s", archive=bad)


def test_only_files_asked_for_leave_the_archive(tmp_path: Path) -> None:
    deb = package(tmp_path / "x.deb", tar_of({"../../evil": b"evil", **MEMBERS}, compression="gz"))
    names = ("usr/share/doc/chromium-common/copyright",)
    assert deb_archive.read_files(deb, "data", names) == {names[0]: COPYRIGHT}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.deb"]


def test_runtime_looks_where_the_tool_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAPILLI_SWIFTSHADER", raising=False)
    assert loader.embedded_library() == swiftshader.default_directory() / swiftshader.LIBRARY_NAME


def test_without_apt_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(swiftshader.InstallError, match="no apt-get") as caught:
        swiftshader.install(tmp_path / "s")
    assert "--install-swiftshader --deb" in str(caught.value)


def test_a_failing_download_gives_apts_reason_and_the_repair(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text("#!/bin/sh\necho 'W: noise' >&2; echo 'E: Unable to locate package' >&2; exit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:{os.environ['PATH']}")
    with pytest.raises(swiftshader.InstallError, match="E: Unable to locate package") as caught:
        swiftshader.install(tmp_path / "s")
    assert "apt-get update" in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_downloads_with_apt_into_a_folder_that_is_removed(
    monkeypatch: pytest.MonkeyPatch, deb: Path, tmp_path: Path
) -> None:
    scratch, apt = tmp_path / "scratch", tmp_path / "bin" / "apt-get"
    scratch.mkdir()
    apt.parent.mkdir()
    apt.write_text(f"#!/bin/sh\ncp {deb} ./chromium-common_1%3a156.0-1_amd64.deb\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    swiftshader.install(tmp_path / "s")
    assert (tmp_path / "s" / "libvk_swiftshader.so").read_bytes() == LIBRARY
    assert list(scratch.iterdir()) == []


def test_reads_what_dpkg_deb_builds(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name, content in {**MEMBERS, "DEBIAN/control": CONTROL + b"Maintainer: nobody\n"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    build = ("dpkg-deb", "-Zxz", "--root-owner-group", "-b", str(root), str(tmp_path / "built.deb"))
    try:
        subprocess.run(build, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"dpkg-deb cannot build a package here: {error}")
    origin, _ = swiftshader.install(tmp_path / "s", archive=tmp_path / "built.deb")
    assert origin.version == "1:156.0-1"
    assert (tmp_path / "s" / "libvk_swiftshader.so").read_bytes() == LIBRARY
