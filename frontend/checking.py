"""What kernels check as they run: the one place that decides it."""

from __future__ import annotations

from ..ir.config import config
from .compile_options import CompileOptions


def checks_of(options: CompileOptions) -> str:
    """Returns what the kernels of a Python module with these options check, one of `target_env.CHECKS`.

    Debug mode by LAPILLI_DEBUG, ``lp.config.debug`` or ``lp.compile_options(debug=True)``; else ``assert`` statements,
    as in Python: ``python -O`` leaves them out.
    """
    if config.debug or options.debug:
        return "debug"
    return "asserts" if __debug__ else "none"
