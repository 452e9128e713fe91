"""What kernels check as they run: the one place that decides it."""

from __future__ import annotations

import os
from dataclasses import replace

from ..ir.target_env import TargetEnv

DEBUG_VARIABLE = "LAPILLI_DEBUG"
"""Environment variable that turns debug mode on for all kernels; read when a kernel is first launched."""


def checks_of(module_name: str) -> str:
    """Returns what the kernels of a Python module check, one of `target_env.CHECKS`.

    Debug mode by LAPILLI_DEBUG; else ``assert`` statements, as in Python: ``python -O`` leaves them out.
    """
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        return "debug"
    return "asserts" if __debug__ else "none"


def with_checks(env: TargetEnv, module_name: str) -> TargetEnv:
    """Returns the environment that the kernels of a module are compiled for on a device with environment `env`."""
    checks = checks_of(module_name)
    return env if env.checks == checks else replace(env, checks=checks)
