"""Sets a checkout up: ``python3 tools/setup/bootstrap.py --for demo``; called by the Makefile, stdlib only.

Steps, each skipped where it is done already: the virtual environment, the Python dependencies, the Debian
packages (as root), SwiftShader.  Only the first two are needed to go on; of the others it says what is
missing and why.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import system_packages
import virtual_environment

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENT = PROJECT / ".venv"

EXTRAS = {
    "demo": ("demo",),
    "test": ("test", "demo"),
    "lint": ("lint", "test"),
    "bench": ("bench",),
    "all": ("demo", "test", "lint", "bench"),
}
"""Extras of pyproject.toml that each purpose needs; lint type-checks against what the tests import."""

_MLIR = (
    system_packages.MLIR_PACKAGES,
    "the tests that compare with upstream MLIR, which are skipped without",
)
_KHRONOS = (system_packages.KHRONOS_PACKAGES, "the tests on glslang's shaders and on the generated tables")
_GLSL = (system_packages.GLSL_PACKAGES, "the hand-written kernels that the benchmarks compare with")

PACKAGES = {
    "demo": (),
    "test": (_MLIR, _KHRONOS),
    "lint": (),
    "bench": (_GLSL,),
    "all": (_MLIR, _KHRONOS, _GLSL),
}
"""Debian packages that a purpose uses beyond the Vulkan ones."""


def main() -> int:
    """Runs the steps; returns the exit status, 1 where the purpose cannot be served."""
    parser = argparse.ArgumentParser(description="Sets the checkout up.")
    parser.add_argument("--for", dest="purpose", choices=sorted(EXTRAS), default="all")
    purpose: str = parser.parse_args().purpose
    try:
        virtual_environment.ensure_virtual_environment(ENVIRONMENT)
        virtual_environment.install_extras(ENVIRONMENT, PROJECT, EXTRAS[purpose])
    except virtual_environment.SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    if purpose != "lint":
        _set_up_drivers(purpose)
    return 0


def _set_up_drivers(purpose: str) -> None:
    system_packages.ensure_packages(
        system_packages.VULKAN_PACKAGES, "Vulkan drivers, loader and validation layer"
    )
    for packages, reason in PACKAGES[purpose]:
        system_packages.ensure_packages(packages, reason)
    status, output = _install_swiftshader()
    if status and system_packages.update_lists_without("chromium-common"):
        status, output = _install_swiftshader()
    if status:
        print(
            f"set-up: {output}\nset-up: going on without SwiftShader, the driver that needs no loader",
            flush=True,
        )
    elif "already" not in output:
        print(f"set-up: {output}", flush=True)


def _install_swiftshader() -> tuple[int, str]:
    """Returns the exit status and output of the command that downloads SwiftShader unless it is there."""
    python = virtual_environment.python_of(ENVIRONMENT)
    command = (str(python), "-m", "lapilli", "doctor", "--install-swiftshader")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
