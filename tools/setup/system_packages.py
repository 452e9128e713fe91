"""Debian packages that pip cannot bring: Vulkan's loader, a software driver, test oracles.  Stdlib only.

Nothing here fails the set-up: without root, without apt or without a network the missing packages and the
command that brings them are printed, and the caller carries on with what the machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

VULKAN_PACKAGES = ("mesa-vulkan-drivers", "libvulkan1", "vulkan-validationlayers")
"""Drivers (lavapipe among them), loader, Khronos validation layer: 300 MB with what they depend on."""

MLIR_PACKAGES = ("mlir-19-tools",)
"""mlir-opt and mlir-translate, against which tests hold the dialects; not in every Debian release."""

KHRONOS_PACKAGES = ("glslang-tools", "spirv-headers")
"""glslangValidator, whose shaders the validation tests read, and the SPIR-V grammar behind the tables."""

GLSL_PACKAGES = ("glslang-tools", "spirv-tools")
"""glslangValidator and spirv-opt, which compile the hand-written kernels of the benchmarks."""

_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


def is_root() -> bool:
    """Whether this process may install packages."""
    return os.geteuid() == 0


def missing_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Returns those of `packages` that dpkg does not know as installed, in the same order."""
    query = ("dpkg-query", "-W", "-f", "${binary:Package} ${db:Status-Status}\n", *packages)
    lines = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    # A name may carry its architecture: libvulkan1:amd64.
    installed = {line.split()[0].split(":")[0] for line in lines if line.endswith(" installed")}
    return tuple(package for package in packages if package not in installed)


def install_command(packages: Sequence[str]) -> str:
    """Returns the shell command that installs `packages`, for a user who is not root."""
    return f"sudo {' '.join((*_INSTALL, *packages))}"


def ensure_packages(packages: Sequence[str], purpose: str) -> bool:
    """Installs what is missing of `packages`, or prints how to.

    Args:
      packages: Debian package names.
      purpose: what they are for, printed with the names.

    Returns:
      Whether all are installed now.
    """
    if shutil.which("dpkg-query") is None or shutil.which("apt-get") is None:
        print(
            f"set-up: no apt on this machine; for {purpose} install the equivalents of {', '.join(packages)}"
        )
        return False
    missing = missing_packages(packages)
    if not missing:
        return True
    if not is_root():
        print(f"set-up: not root; for {purpose} run\n    {install_command(missing)}")
        return False
    print(f"set-up: installing {' '.join(missing)} ({purpose})", flush=True)
    # The lists may be absent (a container image) or name a version that the archive has dropped since.
    if _apt(*_INSTALL, *missing) or (_apt("apt-get", "update") and _apt(*_INSTALL, *missing, is_last=True)):
        return True
    print(f"set-up: could not install {' '.join(missing)}; going on without ({purpose})")
    return False


def update_lists_without(package: str) -> bool:
    """Fetches apt's lists if they lack `package` and this process may; returns whether they are new."""
    if shutil.which("apt-cache") is None or not is_root():
        return False
    policy = subprocess.run(
        ("apt-cache", "policy", package), capture_output=True, text=True, check=False
    ).stdout
    has_candidate = "Candidate:" in policy and "Candidate: (none)" not in policy
    return not has_candidate and _apt("apt-get", "update")


def _apt(*command: str, is_last: bool = False) -> bool:
    """Runs apt without questions; its output is shown only where the last attempt fails."""
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(
        command,
        env=env,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode and is_last:
        print(done.stdout)
    return done.returncode == 0
