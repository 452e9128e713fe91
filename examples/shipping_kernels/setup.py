"""Compiles the kernels into the package before its files are collected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PACKAGE = Path(__file__).resolve().parent / "brightness"


class BuildKernels(build_py):
    """Runs ``lapilli build`` first."""

    def run(self) -> None:
        kernels, output = PACKAGE / "_kernels.py", PACKAGE / "kernels.lpk"
        subprocess.run([sys.executable, "-m", "lapilli", "build", kernels, "-o", output], check=True)
        super().run()


setup(cmdclass={"build_py": BuildKernels})
