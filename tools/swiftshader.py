"""Brings SwiftShader, a Vulkan driver in one library that needs no loader, into the user's data directory.

The library comes from Debian's ``chromium-common``: apt fetches the package (and checks its signature),
nothing of it is installed or run, only ``libvk_swiftshader.so`` and the copyright file are read out.
SwiftShader is under Apache-2.0; the licence and Debian's copyright file are kept beside the library, and
``origin.json`` says where it is from.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import platformdirs

from ..ir.errors import Error, InvalidError
from .deb_archive import read_files

PACKAGE = "chromium-common"
LIBRARY_NAME = "libvk_swiftshader.so"
_LIBRARY_MEMBER = f"usr/lib/chromium/{LIBRARY_NAME}"
_COPYRIGHT_MEMBER = f"usr/share/doc/{PACKAGE}/copyright"
_ORIGIN_NAME = "origin.json"
_FROM_FILE = f"lapilli doctor --install-swiftshader --deb {PACKAGE}_VERSION_ARCH.deb"
_DEBIAN_LICENCE = Path("/usr/share/common-licenses/Apache-2.0")


class InstallError(Error):
    """SwiftShader cannot be fetched on this machine; the message says what is needed."""

    code = "LP5001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an installed library is from."""

    package: str
    version: str
    """Debian version of `package`."""
    architecture: str
    """Debian's name: ``amd64``."""
    archive_sha256: str
    """Of the package file."""
    library_sha256: str
    """Of the library, compared before an installation is believed."""
    licence: str = "Apache-2.0"


def default_directory() -> Path:
    """Returns the folder that the library is installed to and that the runtime opens it from."""
    return Path(platformdirs.user_data_dir("lapilli")) / "swiftshader"


def installed_origin(directory: Path) -> Origin | None:
    """Returns the origin of the library in `directory`; None where it is absent, incomplete or altered."""
    try:
        origin = Origin(**json.loads((directory / _ORIGIN_NAME).read_text("utf-8")))
        library = (directory / LIBRARY_NAME).read_bytes()
    except (OSError, ValueError, TypeError):
        return None
    return origin if hashlib.sha256(library).hexdigest() == origin.library_sha256 else None


def install(directory: Path, *, archive: Path | None = None, force: bool = False) -> tuple[Origin, bool]:
    """Installs the library into `directory`.

    Args:
      directory: made if absent.
      archive: a ``chromium-common`` package already on this machine; by default apt downloads one.
      force: also where a sound installation is present.

    Returns:
      The origin, and whether anything was installed.

    Raises:
      InstallError: there is no apt, or it could not download the package.
      InvalidError: `archive` is not such a package.
    """
    origin = installed_origin(directory)
    if origin is not None and not force:
        return origin, False
    if archive is not None:
        return _install_from(archive, directory), True
    with tempfile.TemporaryDirectory(prefix="lapilli-") as scratch:
        return _install_from(_download(Path(scratch)), directory), True


def _install_from(archive: Path, directory: Path) -> Origin:
    files = read_files(archive, "data", (_LIBRARY_MEMBER, _COPYRIGHT_MEMBER))
    fields = _control_fields(archive)
    origin = Origin(
        package=fields.get("Package", PACKAGE),
        version=fields.get("Version", "unknown"),
        architecture=fields.get("Architecture", "unknown"),
        archive_sha256=_sha256_of(archive),
        library_sha256=hashlib.sha256(files[_LIBRARY_MEMBER]).hexdigest(),
    )
    directory.mkdir(parents=True, exist_ok=True)
    _replace(directory / "copyright", files[_COPYRIGHT_MEMBER])
    _replace(directory / "LICENSE", _licence_text())
    _replace(directory / LIBRARY_NAME, files[_LIBRARY_MEMBER])
    # Last, because its presence says that the rest is complete.
    _replace(directory / _ORIGIN_NAME, json.dumps(asdict(origin), indent=2).encode() + b"\n")
    return origin


def _download(directory: Path) -> Path:
    """Lets apt download the package into `directory`; works for any user."""
    if shutil.which("apt-get") is None:
        raise InstallError(
            f"SwiftShader is taken out of Debian's package {PACKAGE}, and this machine has no apt-get.\n"
            f"Fetch the package for this processor and run: {_FROM_FILE}"
        )
    command = ("apt-get", "download", "--quiet", PACKAGE)
    env = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
    archives = sorted(directory.glob(f"{PACKAGE}_*.deb"))
    if done.returncode == 0 and archives:
        return archives[0]
    reason = next((line for line in done.stderr.splitlines() if line.startswith("E:")), done.stderr.strip())
    sudo = "" if os.geteuid() == 0 else "sudo "
    raise InstallError(
        f"apt-get could not download {PACKAGE}: {reason}\n"
        f"If apt's package lists are empty or old, run: {sudo}apt-get update\n"
        f"Where the distribution lacks the package (Ubuntu), fetch Debian's and run: {_FROM_FILE}"
    )


def _control_fields(archive: Path) -> dict[str, str]:
    """Returns the one-line fields of the package's control file."""
    text = read_files(archive, "control", ("control",))["control"].decode("utf-8", "replace")
    pairs = (
        line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith((" ", "\t"))
    )
    return {name: value.strip() for name, value in pairs}


def _licence_text() -> bytes:
    """The text of Apache-2.0, which Debian's copyright file only names; it is lapilli's own licence too."""
    try:
        text = metadata.distribution("lapilli").read_text("licenses/LICENSE")
    except metadata.PackageNotFoundError:
        text = None
    if text:
        return text.encode()
    if _DEBIAN_LICENCE.exists():
        return _DEBIAN_LICENCE.read_bytes()
    raise InvalidError(
        "the text of Apache-2.0 is missing from this installation of lapilli; install lapilli again"
    )


def _replace(path: Path, content: bytes) -> None:
    """Writes beside `path` and renames: a process that opens `path` sees the old file or the new one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.close()
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
