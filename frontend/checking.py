"""What kernels check as they run: the one place that decides it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.target_env import TargetEnv

if TYPE_CHECKING:
    from .kernel import KernelFunction

DEBUG_VARIABLE = "LAPILLI_DEBUG"
"""Environment variable that turns debug mode on for all kernels; read when a kernel is first launched."""


def checks_of(module_name: str) -> str:
    """Returns what the kernels of a Python module check, one of `target_env.CHECKS`.

    Debug mode by LAPILLI_DEBUG; else ``assert`` statements, as in Python: ``python -O`` leaves them out.
    """
    if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
        return "debug"
    return "asserts" if __debug__ else "none"


def kernel_env(env: TargetEnv, kernel: KernelFunction) -> TargetEnv:
    """Returns the environment that a kernel is compiled for on a device with environment `env`."""
    checks = checks_of(kernel.function.__module__)
    level = env.optimisation_level if kernel.options.opt_level is None else kernel.options.opt_level
    if env.checks == checks and env.optimisation_level == level:
        return env
    return replace(env, checks=checks, optimisation_level=level)
